"""Studies that run: the same numbers wherever and however they are played, and after any interruption."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.lab.studies.folder import StudyFolder
from matchbandit.lab.studies.run import StoppedStudy
from matchbandit.lab.studies.study import Study

SPIKED = {"family": "spiked", "n": 3, "u1": 0.9}
SMALL = Study(
    name="small", problem=SPIKED, sweep={"gap": [0.5, 0.6]}, policies=["pair-elim"], horizon=300, runs=5, seed=7
)
POLICY = """\
from matchbandit.policies.pair.pair_elim import PairElim
from own_share import LIMIT


class Mine(PairElim):
    name = "mine"

    def learn(self, tally):
        if LIMIT < 50:
            raise RuntimeError("too few")
        super().learn(tally)
"""


def columns(folder):
    """Return all columns of the runs, in an order that depends on the numbers of the runs only."""
    runs = StudyFolder.open(folder).runs()
    return {name: [str(value) for value in runs[name]] for name in sorted(runs.names)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    SMALL.run(folder, workers=1)
    return columns(folder)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Write the user's own code into a folder of its own, which is left out of `sys.path` afterwards."""
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])

    def write(limit):
        for name in [name for name in sys.modules if name.startswith("own_")]:
            del sys.modules[name]
        (folder / "own_policy.py").write_text(POLICY)
        (folder / "own_share.py").write_text(f"LIMIT = {limit}\n")
        return Study(
            name="own", problem={"u": [0.9, 0.3], "v": [0.8, 0.4]}, policies=["own_policy:Mine"], horizon=500, runs=4
        )

    yield write
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def test_runs_and_results_are_those_of_simulate_and_identify(tmp_path):
    folder = SMALL.run(tmp_path, workers=1, part_runs=2)
    expected = mb.simulate(mb.family("spiked", n=3, u1=0.9, gap=0.6), "pair-elim", horizon=300, runs=5, seed=7)
    runs = folder.runs().where(gap=0.6)
    assert (runs["regret"].tolist(), runs["run"].tolist()) == (expected.final.tolist(), [0, 1, 2, 3, 4])
    result = folder.results().select(gap=0.6).results[0]
    assert (result.regret == expected.regret).all()
    assert (result.plays == expected.plays).all()
    assert (result.eliminations, result.about.study) == (expected.eliminations, "small")
    strengths = {"u": [0.9, 0.3], "v": [0.8, 0.4]}
    seeking = Study(name="i", problem=strengths, policies=["pair-elim"], delta=0.1, runs=3).run(tmp_path, workers=1)
    sought = mb.identify(mb.Bipartite(**strengths), "pair-elim", delta=0.1, runs=3)
    assert seeking.runs()["rounds"].tolist() == sought.rounds.tolist()
    assert (seeking.results().results[0].answers == sought.answers).all()


def test_numbers_do_not_depend_on_executor_or_parts(whole, tmp_path):
    with ThreadPoolExecutor(2) as executor:
        SMALL.run(tmp_path / "threads", executor=executor, part_runs=2)
    SMALL.run(tmp_path / "processes", workers=2, part_runs=3)
    assert columns(tmp_path / "threads") == columns(tmp_path / "processes") == whole


def test_what_is_there_is_not_played_again(whole, tmp_path):
    fewer, calls = SMALL.with_(runs=2, sweep={"gap": [0.5]}), []
    fewer.run(tmp_path, workers=1)
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "parts").iterdir()}
    SMALL.run(tmp_path, workers=1, progress=lambda *counts: calls.append(counts))
    assert calls[0] == (2, 10)
    assert calls[-1] == (10, 10)
    assert {file: file.stat().st_mtime_ns for file in files} == files
    assert columns(tmp_path) == whole
    assert len(fewer.run(tmp_path, workers=1).runs()) == 2  # the folder holds more


def test_an_edited_helper_of_a_users_policy_is_played_anew(own, tmp_path):
    folder = own(100).run(tmp_path, workers=1)
    before = set(folder.parts_folder.iterdir())
    own("100  # a comment").run(tmp_path, workers=1)
    assert set(folder.parts_folder.iterdir()) == before
    again = own(101).run(tmp_path, workers=2)  # the worker must not have the old one
    assert len(set(folder.parts_folder.iterdir())) == 2 * len(before)
    assert not again.missing
    back = own(100).with_(seed=1).run(tmp_path, workers=2)  # nor forget it
    assert not back.missing
    assert not own(101).with_(seed=1).run(tmp_path, workers=2).missing


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_error_in_a_users_policy_is_one_line(own, tmp_path, workers):
    with pytest.raises(MatchbanditError) as error:
        own(20).run(tmp_path, workers=workers)
    assert re.search(r"mine, runs (\d) to \1: RuntimeError: too few \(own_policy.py, line 10\)", str(error.value))
    assert "0 of 4 runs are kept" in str(error.value)
    assert "\n" not in str(error.value)


def test_ctrl_c_keeps_what_is_finished_and_it_can_be_read_meanwhile(whole, tmp_path):
    def press(done, _total):
        folder = StudyFolder.open(tmp_path)
        rows = 10 - sum(folder.missing.values())
        assert rows == (len(folder.runs()) if rows else 0)
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(StoppedStudy, match=r"3 of 10 runs are kept in .*; the same call, or command, continues"):
        SMALL.run(tmp_path, workers=1, part_runs=1, progress=press)
    SMALL.run(tmp_path, workers=2)
    assert columns(tmp_path) == whole


SCRIPT = """
import os, sys
import matchbandit as mb
from matchbandit.lab.studies.study import Study
from matchbandit.policies.pair.pair_elim import PairElim

def die_once():
    try:
        os.open({marker!r}, os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return
    os.kill(os.getpid(), 9)

class Typed(PairElim):
    name = "typed"
    def learn(self, tally):
        die_once()
        super().learn(tally)

study = Study(name="typed", problem={{"u": [.9, .3], "v": [.8, .4]}}, policies=[Typed], horizon=500, runs=4)
for _ in range(2):
    try:
        print(study.run({folder!r}, workers=2, part_runs=1).runs()["regret"].sum())
    except mb.MatchbanditError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_script_without_guard_plays_its_own_policy_and_names_a_dead_worker(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(marker=str(tmp_path / "died"), folder=str(tmp_path / "out")))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=True)
    first, second = done.stdout.splitlines()
    assert "a worker died: it was killed, or memory ran out" in first
    assert float(second) > 0


FILE = """
name = "longer"
runs = 40
seed = 7
horizon = 2e4
policies = ["pair-elim", "uts"]
[problem]
family = "spiked"
n = 5
u1 = 0.9
[sweep]
gap = [0.5, 0.6, 0.7]
"""


def start(folder, *options, runs=40):
    (folder / "longer.toml").write_text(FILE.replace("runs = 40", f"runs = {runs}"))
    arguments = ["run", str(folder / "longer.toml"), "--out", str(folder / "out"), *options]
    command = [sys.executable, "-m", "matchbandit", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_parts(folder, number):
    until = time.monotonic() + 120
    while len(list((folder / "out").glob("parts/*.parquet"))) < number and time.monotonic() < until:
        time.sleep(0.02)


@pytest.mark.slow
def test_a_study_killed_twice_continues_elsewhere_with_the_same_numbers(tmp_path):
    for options, number in ((("--workers", "1"), 3), (("--workers", "2"), 8)):
        process = start(tmp_path, *options)
        wait_for_parts(tmp_path, number)
        process.kill()
        process.wait()
    process = start(tmp_path, "--dask", "local", "--workers", "2", "--json")
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert json.loads(out)["runs"] == 240
    study = Study.from_toml(tmp_path / "longer.toml")
    study.run(tmp_path / "whole", workers=1, part_runs=40)
    assert columns(tmp_path / "out") == columns(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_command_with_its_code_and_keeps_parts(tmp_path, number, code):
    process = start(tmp_path, "--workers", "2", "--part-runs", "2", runs=4000)
    wait_for_parts(tmp_path, 2)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "runs are kept in" in err
    assert len(StudyFolder.open(tmp_path / "out").runs()) >= 4


@pytest.mark.slow
def test_two_processes_in_one_folder_lose_nothing(tmp_path):
    both = [start(tmp_path, "--workers", "1", "--part-runs", size) for size in ("3", "5")]
    outputs = [process.communicate(timeout=240) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    Study.from_toml(tmp_path / "longer.toml").run(tmp_path / "whole", workers=1)
    assert columns(tmp_path / "out") == columns(tmp_path / "whole")
    assert StudyFolder.open(tmp_path / "out").damaged == []


@pytest.mark.slow
def test_a_lost_dask_worker_costs_nothing_and_user_code_travels(own, tmp_path, monkeypatch):
    import distributed

    study = own(10**9).with_(runs=60, horizon=3000)
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=True) as cluster:
        lost = []

        def lose(done, _total):
            if done >= 5 and not lost:
                lost.append(next(iter(cluster.workers.values())).pid)
                os.kill(lost[0], signal.SIGKILL)

        study.run(tmp_path / "dask", dask=cluster.scheduler_address, part_runs=1, progress=lose)
    assert lost
    study.run(tmp_path / "whole", workers=1)
    assert columns(tmp_path / "dask") == columns(tmp_path / "whole")


def test_wrong_arguments_are_refused(tmp_path):
    for options, text in (
        ({"workers": 0}, "workers must be"),
        ({"part_runs": 2001}, "part_runs must be"),
        ({"dask": "nowhere"}, "there is no dask scheduler at 'nowhere'"),
    ):
        with pytest.raises(MatchbanditError, match=text):
            SMALL.run(tmp_path, **options)
    (tmp_path / "file").write_text("")
    with pytest.raises(MatchbanditError, match="cannot write into the folder"):
        SMALL.run(tmp_path / "file")
    with pytest.raises(MatchbanditError, match="Use at most runs="):
        SMALL.with_(runs=10**15).run(tmp_path)
