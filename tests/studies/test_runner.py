import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import nbclient
import nbformat
import pyarrow.parquet as pq
import pytest
from reference.folders import held_policy, leftovers, tables_of, waiting_process

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.progress import StudyProgress
from matchbandit.studies import parts, processes, runner, versions
from matchbandit.studies.changes import changes
from matchbandit.studies.folder import StudyFolder
from matchbandit.studies.parts import MAX_PART_RUNS, Part, plan, play_part
from matchbandit.studies.runner import StoppedStudy, run_study
from matchbandit.studies.study import Study
from matchbandit.user_code import UserCodeError

SPIKED = {"family": "spiked", "n": 3, "u1": 0.9, "gap": [0.5, 0.6]}
SMALL = Study(name="small", problem=SPIKED, policies=["pair-elim", "uts"], horizon=1000, runs=6, seed=7)


def same(a, b):
    return all(one.equals(other) for one, other in zip(tables_of(a), tables_of(b), strict=True))


def names(out):
    return sorted(path.name for path in (Path(out) / "rows").iterdir())


def intervals(out):
    return sorted({(part.first, part.runs) for part in StudyFolder.open(out).parts})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The study in one go, on one worker, a part for each point."""
    out = tmp_path_factory.mktemp("whole") / "small"
    run_study(SMALL, out, workers=1, part_runs=6)
    return out


# --- the same numbers, whatever the way ---


@pytest.mark.parametrize(("workers", "part_runs"), [(2, 1), (3, 4), (None, None)])
def test_rows_do_not_depend_on_workers_or_parts(whole, tmp_path, workers, part_runs):
    run_study(SMALL, tmp_path / "out", workers=workers, part_runs=part_runs)
    assert same(tmp_path / "out", whole)


def test_an_identification_is_kept_as_it_is_played(tmp_path):
    slots = {"u": [0.9, 0.3], "v": [0.8, 0.4]}
    study = Study(name="seek", problem=slots, policies=["pair-elim"], delta=[0.1, 0.05], runs=5, seed=3)
    kept = run_study(study, tmp_path / "seek", workers=2, part_runs=2)
    for point, found in zip(study.points, kept.results(), strict=True):
        bare = mb.identify(mb.Bipartite(**slots), "pair-elim", delta=point.delta, runs=5, seed=3)
        assert found.rounds.tolist() == bare.rounds.tolist()
        assert (found.answers == bare.answers).all()
    assert kept.rows().names[:6] == ["study", "policy", "options", "family", "u", "v"]
    assert kept.rows().distinct("delta") == [0.1, 0.05]


@pytest.mark.slow
def test_a_process_that_may_not_have_children_plays_by_itself(whole, tmp_path):
    out = tmp_path / "out"
    context = multiprocessing.get_context("fork")
    child = context.Process(target=run_study, args=(SMALL, out), kwargs={"workers": 2}, daemon=True)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert same(out, whole)


def test_nothing_is_left_running(tmp_path):
    before = set(os.listdir("/proc/self/fd"))
    run_study(SMALL, tmp_path / "out", workers=2)
    assert multiprocessing.active_children() == []
    assert leftovers(tmp_path) == []
    assert len(set(os.listdir("/proc/self/fd")) - before) <= 1  # Python keeps one for its resource tracker


# --- parts ---


def test_parts_have_at_most_2000_runs_and_there_are_256_unless_they_are_small():
    points = SMALL.points
    sizes = {runs: plan(points, {}, runs, None)[0].runs for runs in (1, 6, 64, 1000, 10**4, 10**6)}
    assert sizes == {1: 1, 6: 1, 64: 4, 1000: 50, 10**4: 157, 10**6: MAX_PART_RUNS}
    assert len(plan(points[:1], {}, 10**5, None)) == 256
    assert plan(points * 6, {}, 400, None)[0].runs == 50
    assert plan(points, {}, 1000, None, threads=1000)[0].runs == 1
    with pytest.raises(MatchbanditError, match="part_runs must be a whole number, between 1 and 2000; got 2001"):
        run_study(SMALL, "nowhere", part_runs=2001)


def test_a_plan_covers_every_run_once_whatever_is_kept():
    points = SMALL.points[:2]
    kept = {points[0].key: [(7, 9), (0, 3)], points[1].key: [(0, 11)]}
    planned = plan(points, kept, 11, 2)
    assert [(points.index(part.point), part.first, part.runs) for part in planned] == [
        (0, 3, 2), (0, 5, 2), (0, 9, 2),
    ]  # fmt: skip
    assert [part.first for part in plan(points, {}, 4, 2)] == [0, 0, 2, 2]


def test_names_of_parts_suit_any_file_system(monkeypatch):
    part = Part(SMALL.points[0], 0, 2)
    monkeypatch.setattr(type(part.point.spec), "name", "a/b: ../c" + "x" * 300)
    assert part.name.startswith("a-b-..-c")
    assert len(part.name) < 120
    assert "/" not in part.name


# --- going on ---


def test_what_is_there_is_not_played_again(whole, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run_study(SMALL.with_(runs=2), out, workers=1, part_runs=2)
    before = {path: path.stat().st_mtime_ns for path in (out / "rows").iterdir()}
    run_study(SMALL, out, workers=2, part_runs=3)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert intervals(out) == [(0, 2), (2, 3), (5, 1)]
    assert same(out, whole)
    monkeypatch.setattr(runner, "play_in_processes", None)  # a call would fail
    run_study(SMALL, out)


@pytest.mark.slow
def test_policies_and_places_are_added(tmp_path):
    out = tmp_path / "out"
    run_study(SMALL.with_(policies=["uts"], problem={**SPIKED, "gap": 0.6}), out, workers=1)
    added = SMALL.with_(policies=["pair-elim", "uts"], problem={**SPIKED, "gap": [0.5, 0.6, 0.7]})
    kept = run_study(added, out, workers=2)
    assert kept.study == added
    assert kept.rows().distinct("gap") == [0.5, 0.6, 0.7]
    fresh = run_study(added, tmp_path / "fresh", workers=1, part_runs=6)
    assert same(out, fresh.path)


@pytest.mark.slow
def test_new_columns_widen_what_is_there(tmp_path):
    out = tmp_path / "out"
    slots = {"u": [0.9, 0.3], "v": [0.8, 0.4]}
    alone = Study(name="wide", problem=SPIKED, policies=["uts"], horizon=500, runs=2, seed=1)
    both = alone.with_(problem=[SPIKED, {"family": "fixed-mean", "n": 3, "u1": 0.5, "mean": 0.3}, slots])
    run_study(alone, out, workers=1)
    kept = run_study(both, out, workers=1)
    schemas = {
        tuple(zip(s.names, map(str, s.types), strict=True)) for s in map(pq.read_schema, (out / "rows").iterdir())
    }
    assert len(schemas) == 1
    assert [name for name, _ in schemas.pop()][4:10] == ["n", "u1", "gap", "mean", "u", "v"]
    fresh = run_study(both, tmp_path / "fresh", workers=1)
    assert same(out, fresh.path)
    assert run_study(both, out).is_complete  # what was widened is still whole
    assert len(kept.results()) == len(both.points)


# --- what would orphan a part ---


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 8}, "seed was 7, is now 8"),
        ({"horizon": 2000}, "horizon was 1,000, is now 2,000"),
        ({"problem": {**SPIKED, "gap": [0.5, 0.7]}}, "gap no longer has 0.6"),
        ({"problem": {**SPIKED, "n": 4}}, "n was 3, is now 4"),
        ({"policies": ["uts"]}, "policies no longer has pair-elim"),
        ({"policies": [{"name": "pair-elim", "growth": 2}, "uts"]}, "pair-elim's growth was not given, is now 2"),
        ({"checkpoints": [10]}, "checkpoints was not given, is now 10"),
        (
            {"problem": [{**SPIKED, "gap": 0.5}]},
            "gap no longer has 0.6",
        ),
        ({"name": "smaller"}, "name was small, is now smaller"),
    ],
)
def test_a_change_that_would_orphan_a_part_is_refused_by_name(whole, change, words):
    before = {path: path.stat().st_mtime_ns for path in Path(whole).rglob("*") if path.name != ".lock"}
    with pytest.raises(MatchbanditError) as error:
        run_study(SMALL.with_(**change), whole)
    assert f"holds parts of another study: {words}. Undo that, or choose another folder (--out)." in str(error.value)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_fewer_runs_are_the_first_of_those_that_are_there(whole, tmp_path):
    before = {path: path.read_bytes() for path in Path(whole).rglob("*.parquet")}
    three = run_study(SMALL.with_(runs=3), whole, part_runs=3)
    assert {path: path.read_bytes() for path in Path(whole).rglob("*.parquet")} == before
    fresh = run_study(SMALL.with_(runs=3), tmp_path / "fresh", workers=1)
    assert three.is_complete
    assert three.study == fresh.study
    assert three.runs == fresh.runs == 3 * len(SMALL.points)
    for point in SMALL.points:
        assert three.rows_of(point.key)["regret"].tolist() == fresh.rows_of(point.key)["regret"].tolist()
    ours, theirs = ([(runs.final.tolist(), runs.plays.tolist()) for runs in f.results()] for f in (three, fresh))
    assert ours == theirs
    assert len(SMALL.with_(runs=3).rows(whole)) == len(fresh.rows())
    assert StudyFolder.open(whole).is_complete
    assert StudyFolder.open(whole).study == SMALL


def test_what_no_part_needs_may_change(tmp_path):
    out = tmp_path / "out"
    run_study(SMALL.with_(problem={**SPIKED, "gap": 0.5}, runs=1), out, workers=1)
    for part in (out / "rows").iterdir():
        if part.name.startswith("pair-elim"):
            (out / "details" / part.name).unlink()
            part.unlink()
    run_study(SMALL.with_(policies=["uts"], runs=1), out, workers=1)
    assert {part.path.name[:3] for part in StudyFolder.open(out).parts} == {"uts"}


def test_changes_in_words():
    before = {"policies": ["uts", {"name": "pair-elim", "growth": 1.05}], "delta": 0.1, "problem": [{"n": 3}]}
    after = {"policies": ["uts"], "horizon": 5, "problem": {"n": [3, 4], "u1": 0.5}}
    assert changes(before, after) == [
        "policies no longer has pair-elim (growth = 1.05)",
        "delta was 0.1, is now not given",
        "u1 was not given, is now 0.5",
        "horizon was not given, is now 5",
    ]
    assert changes({"u": [0.9, 0.5], "checkpoints": [1]}, {"u": [0.9, 0.4], "checkpoints": [1, 2]}) == [
        "u was 0.9 0.5, is now 0.9 0.4",
        "checkpoints was 1, is now 1 2",
    ]


def test_what_a_policy_that_stays_no_longer_has_is_said_of_its_option():
    def told(before, after):
        return changes({"policies": ["uts", before]}, {"policies": ["uts", after]})

    swept = {"name": "pair-elim", "growth": [2, 4]}
    assert told(swept, {"name": "pair-elim", "growth": 4}) == ["pair-elim's growth no longer has 2"]
    assert told(swept, {"name": "pair-elim", "growth": [4, 8]}) == ["pair-elim's growth no longer has 2"]
    assert told(swept, {"name": "pair-elim", "growth": [4, 2, 8]}) == []
    assert told(swept, {"name": "pair-elim", "growth": 8}) == ["pair-elim's growth was 2 4, is now 8"]
    assert told(swept, "pair-elim") == ["pair-elim's growth was 2 4, is now not given"]
    alone = {"policies": [swept]}, {"policies": [{"name": "pair-elim", "growth": 4}]}
    assert changes(*alone) == ["pair-elim's growth no longer has 2"]
    twice = [{"name": "pair-elim", "growth": 2}, {"name": "pair-elim", "growth": 4}]
    assert changes({"policies": twice}, {"policies": twice[1:]}) == ["policies no longer has pair-elim (growth = 2)"]
    assert changes({"u": [0.9, 0.5]}, {"u": [[0.9, 0.5], [0.9, 0.4]]}) == []
    assert changes({"runs": 20, "problem": {"gap": 0.5}}, {"runs": 50, "problem": {"gap": [0.4, 0.5]}}) == []


def test_two_parts_with_the_same_runs_are_refused(tmp_path):
    out = tmp_path / "out"
    run_study(SMALL, out, workers=1, part_runs=3)
    for kind in ("rows", "details"):
        file = min((out / kind).iterdir())
        file.with_name(file.name.replace("000000002", "000000004")).write_bytes(file.read_bytes())
    with pytest.raises(MatchbanditError, match=r"hold the same runs\. Remove one of them"):
        run_study(SMALL, out)


# --- other versions ---


@pytest.mark.slow
def test_going_on_with_other_versions_is_refused_unless_told(whole, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run_study(SMALL.with_(runs=2), out, workers=1, part_runs=2)
    now = versions.versions()
    monkeypatch.setattr(runner, "versions", lambda: {**now, "numpy": "9.9.9"})
    with pytest.raises(MatchbanditError) as error:
        run_study(SMALL, out)
    assert f"numpy was {now['numpy']}, is now 9.9.9" in str(error.value)
    assert "--allow-other-versions" in str(error.value)
    run_study(SMALL, out, workers=1, allow_other_versions=True)
    assert same(out, whole)


def test_another_python_is_recorded_but_no_reason_to_stop(tmp_path, monkeypatch):
    out = tmp_path / "out"
    kept = run_study(SMALL.with_(runs=1), out, workers=1)
    assert kept.parts[0].versions == versions.versions()
    now = versions.versions()
    monkeypatch.setattr(runner, "versions", lambda: {**now, "python": "4.0"})
    run_study(SMALL.with_(runs=2), out, workers=1)


OWN = """
from matchbandit.policies.pair.pair_elim import PairElim
from {helper} import GROWTH

class Mine(PairElim):
    name = "mine"

    def __init__(self, setting, rng, *, growth=GROWTH):
        super().__init__(setting, rng, growth=growth)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A policy of one's own in a module that imports another from the same folder; both are forgotten at the end."""
    module, helper = f"own_{os.getpid()}_{tmp_path.name}", f"helper_{os.getpid()}_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(OWN.format(helper=helper))
    (tmp_path / f"{helper}.py").write_text("GROWTH = 2.0\n")
    monkeypatch.chdir(tmp_path)
    yield module, helper
    for name in (module, helper):
        sys.modules.pop(name, None)


def with_own(module):
    return Study(name="own", problem=SPIKED, policies=[f"{module}:Mine"], horizon=500, runs=3, seed=1)


def test_a_policy_of_ones_own_is_played_and_its_fingerprint_kept(own, tmp_path):
    module, _ = own
    kept = run_study(with_own(module), tmp_path / "out", workers=2)
    bare = mb.simulate(kept.study.points[0].problem, mb.policy("pair-elim", growth=2.0), horizon=500, runs=3, seed=1)
    assert kept.rows_of(kept.study.points[0].key).at_end()["run"].tolist() == [0, 1, 2]
    assert bare.rounds.tolist() == kept.rows_of(kept.study.points[0].key).distinct("round")
    assert {part.metadata["own"][module] for part in kept.parts} == {kept.manifest["own"][module]}


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.slow
def test_a_changed_module_is_refused_unless_told(own, tmp_path, which):
    module, _ = own
    run_study(with_own(module), tmp_path / "out", workers=1)
    file = tmp_path / f"{own[which]}.py"
    file.write_text(f"# a word\n\n{file.read_text()}")
    assert run_study(with_own(module), tmp_path / "out").is_complete
    file.write_text(file.read_text() + "MORE = 1\n")
    with pytest.raises(MatchbanditError, match=f"the module {module}.* has changed on disk since it was imported here"):
        run_study(with_own(module), tmp_path / "out")
    for name in own:  # as in a new process
        del sys.modules[name]
    changed = rf"{module}\.py, or what it imports, has changed since \([0-9a-f]{{8}}, now [0-9a-f]{{8}}\)\."
    with pytest.raises(MatchbanditError, match=changed):
        run_study(with_own(module), tmp_path / "out")
    more = with_own(module).with_(runs=4)
    assert run_study(more, tmp_path / "out", workers=1, allow_other_versions=True).is_complete


def test_an_error_in_a_policy_of_ones_own_is_one_line(own, tmp_path):
    module, _ = own
    file = tmp_path / f"{module}.py"
    file.write_text(file.read_text() + "\n    def learn(self, tally):\n        raise KeyError('oh')\n")
    with pytest.raises(MatchbanditError) as error:
        run_study(with_own(module), tmp_path / "out", workers=2)
    where = r"mine at gap = 0\.[56], runs (\d) to \1"  # the first part to fail, which may be any of them
    assert re.match(rf"{where}: KeyError: 'oh' \({module}.py, line 12\)\. ", str(error.value))
    assert "0 of 6 parts are kept" in str(error.value)


def test_an_error_in_what_a_policy_calls_is_placed_in_the_policy(own, tmp_path):
    module, _ = own
    file = tmp_path / f"{module}.py"
    fault = "import numpy as np\n        np.linalg.inv(np.zeros((2, 2)))\n"
    file.write_text(file.read_text() + f"\n    def learn(self, tally):\n        {fault}")
    with pytest.raises(UserCodeError, match=rf"LinAlgError: Singular matrix \({module}\.py, line 13\)\. 0 of"):
        run_study(with_own(module), tmp_path / "out", workers=2)


@pytest.mark.slow
def test_files_of_own_modules_are_those_of_their_folder(own, tmp_path):
    module, helper = own
    package = tmp_path / "pack"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "deep" / "__init__.py").write_text("from .. import near\n")
    (package / "near.py").write_text(f"import json, {helper}\n")
    (package / "far.py").write_text("")
    with_own(module)
    assert sorted(versions.user_files(module)) == sorted([f"{module}.py", f"{helper}.py"])
    found = sorted(versions.user_files("pack.deep"))
    assert found == sorted(["pack/__init__.py", "pack/deep/__init__.py", "pack/near.py", f"{helper}.py"])
    assert sorted(versions.user_files("typer.main"))[0].startswith("typer/")
    assert versions.user_files("typer.main", also_installed=False) == {}


NOTEBOOK = """
import matchbandit as mb
from matchbandit.policies.pair.pair_elim import PairElim
from matchbandit.studies.versions import fingerprints

def half():
    return {value}

class Base(PairElim):
    def learn(self, tally):
        half()
        super().learn(tally)

class Mine(Base):
    name = "mine"

class Other(PairElim):
    name = "other"

def near(gap: float, *, rewards, rng):
    return mb.Bipartite([{top}, {top} - gap], [0.8, 0.2], rewards=rewards)

problem = {{"family": near, "gap": 0.5}}
study = mb.Study(name="typed", problem=problem, policies=[Other, Mine], horizon=100, runs=2)
print(len(study.run("typed", workers=2).parts), fingerprints(study.points)["__main__:Mine"])
"""


@pytest.mark.slow
def test_a_policy_that_is_typed_in_has_a_fingerprint_of_its_code(tmp_path):
    """Without a file, as in a notebook; what it calls counts, the rest does not."""

    def typed(value=1, top=0.9, *, before="", by_stdin=False):
        text = before + NOTEBOOK.format(value=value, top=top)
        call, given = ([sys.executable, "-"], text) if by_stdin else ([sys.executable, "-c", text], None)
        done = subprocess.run(call, input=given, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout.split(), done.stderr

    (parts, first), _ = typed()
    assert parts == "4"
    assert typed(before="a = 1")[0] == ["4", first]
    assert typed(by_stdin=True)[0] == ["4", first]
    out, err = typed(2)
    assert out == []
    assert f"Mine, or what it calls, has changed since ({first[:8]}, now" in err
    assert "Other, or" not in err
    assert "near, or what it calls, has changed since" in typed(top=0.8)[1]


# --- stopping ---


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished(whole, tmp_path):
    out = tmp_path / "out"

    def stop(done, total):
        if done >= 6:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(StoppedStudy, match=r"parts are kept in .*; the same command goes on"):
        run_study(SMALL, out, workers=2, part_runs=1, progress=stop)
    assert multiprocessing.active_children() == []
    some = len(names(out))
    assert 0 < some < 24
    assert "running" not in json.loads((out / "manifest.json").read_text())
    run_study(SMALL, out, workers=2, part_runs=1)
    assert same(out, whole)


def test_a_worker_that_is_killed_is_named_and_nothing_lost(tmp_path, monkeypatch):
    module = f"held_{os.getpid()}"
    hold = held_policy(tmp_path, module)
    monkeypatch.chdir(tmp_path)
    study = SMALL.with_(policies=["pair-elim", f"{module}:Held"], problem={**SPIKED, "gap": 0.5}, runs=3)

    killer = threading.Thread(target=lambda: os.kill(waiting_process(tmp_path), signal.SIGKILL))
    killer.start()
    with pytest.raises(MatchbanditError) as error:
        run_study(study, tmp_path / "out", workers=2, part_runs=1)
    killer.join()
    assert "a worker process was killed" in str(error.value)
    assert "of 6 parts are kept in" in str(error.value)
    assert multiprocessing.active_children() == []
    hold.unlink()
    kept = names(tmp_path / "out")
    run_study(study, tmp_path / "out", workers=2, part_runs=1)
    assert set(kept) < set(names(tmp_path / "out"))
    assert same(tmp_path / "out", run_study(study, tmp_path / "fresh", workers=1).path)


# --- many runs ---

MANY = r"""
import re, resource, sys
from pathlib import Path
import matchbandit as mb
slots = {{"u": [0.9, 0.3], "v": [0.8, 0.4]}}
study = mb.Study(name="many", problem=slots, policies=["pair-elim"], horizon=1000, runs={runs}, seed=1)
kept = study.run(sys.argv[1], workers=2)
assert kept.last_rows_of(study.points[0].key)["run"].tolist() == list(range({runs}))
parent = int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])  # of this program alone
worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print((parent + 2 * worker) // 1024)
"""


@pytest.mark.slow
def test_a_hundred_thousand_runs_fit_into_a_gibibyte(tmp_path):
    words = [sys.executable, "-c", MANY.format(runs=100_000), str(tmp_path / "many")]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert int(done.stdout) < 1024  # MiB, of all three processes
    sizes = {part.runs for part in StudyFolder.open(tmp_path / "many").parts}
    assert max(sizes) <= MAX_PART_RUNS


# --- how far it is ---


@pytest.mark.slow
def test_progress_counts_runs_and_what_was_there(tmp_path):
    told = []
    run_study(SMALL.with_(runs=2), tmp_path / "out", workers=1, part_runs=1)
    run_study(SMALL, tmp_path / "out", workers=2, part_runs=3, progress=lambda *now: told.append(now))
    assert {total for _, total in told} == {24}
    assert told[0][0] >= 8
    assert told[-1] == (24, 24)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_runs_under_way_are_told_before_their_part_is_finished(tmp_path):
    part = Part(SMALL.points[0], 2, 3)
    told = []
    finished = play_part(part, {}, {}, lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert finished.name == part.name


def test_compiling_is_said_and_done_once_for_each_policy(monkeypatch):
    compiled = []
    monkeypatch.setattr(processes, "compile_first", lambda job: compiled.append(job.spec.name))
    said = []
    processes.compile_points([*SMALL.points, *SMALL.points], lambda done, doing: said.append(doing))
    assert compiled == ["uts"]
    assert said == ["compiling uts", "compiled uts"]


def test_seconds_of_a_part_do_not_hold_its_compiling(monkeypatch):
    """Of a worker that is the first to need the code."""
    clock, played = [0.0], []
    monkeypatch.setattr(parts, "_compiled_here", set())
    monkeypatch.setattr(parts, "thread_time", lambda: clock[0])
    point = next(point for point in SMALL.points if point.spec.name == "uts")

    def compile_first(job):
        played.append(job.spec.name)
        clock[0] += 30

    monkeypatch.setattr(parts, "compile_first", compile_first)
    assert [play_part(Part(point, first, 1), {}, {}).seconds for first in (0, 1)] == [0, 0]
    assert played == ["uts"]


def test_a_bar_is_shown_when_asked_for(tmp_path, monkeypatch):
    shown = []

    class Bar:
        def __enter__(self):
            return shown.append

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(runner, "study_bar", lambda title: Bar())
    run_study(SMALL, tmp_path / "out", workers=1, part_runs=6, progress=True)
    assert shown[-1] == StudyProgress(24, 24, 4, 4)


@pytest.mark.parametrize(("progress", "in_notebook", "shows"), [
    (None, False, False), (None, True, True), (True, False, True), (False, True, False),
])  # fmt: skip
def test_by_default_only_a_notebook_shows_progress(monkeypatch, progress, in_notebook, shows):
    titles = []
    monkeypatch.setattr(runner, "in_notebook", lambda: in_notebook)
    monkeypatch.setattr(runner, "study_bar", lambda title: titles.append(title) or nullcontext(lambda now: None))
    with runner._progress_display("gaps", progress):
        pass
    assert titles == ["gaps"] * shows


@pytest.mark.slow
def test_a_notebook_shows_the_progress_of_a_study(tmp_path):
    code = (
        "import matchbandit as mb\n"
        "study = mb.Study(name='it', problem={'u': [0.9, 0.3]}, policies='uniform', horizon=50, runs=4)\n"
        "study.run('it', workers=1);"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    (output,) = [output for output in book.cells[0].outputs if output.output_type == "display_data"]
    assert output.data["text/plain"].startswith("it: 4 of 4 runs")
    assert output.data["text/html"].startswith('<progress value="4" max="4"')
