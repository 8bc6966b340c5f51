"""`matchbandit run`, in this process and in one that gets signals."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from reference.folders import held_policy, leftovers, tables_of, waiting_process

import matchbandit as mb
from matchbandit import numba_cache, progress
from matchbandit.cli import main

GAPS = """
name = "gaps"
runs = 3
seed = 7
horizon = 1e3
policies = ["uts", {name = "pair-elim", growth = [1.05, 4]}]
[problem]
family = "spiked"
n = 3
u1 = 0.9
gap = [0.5, 0.6]
"""
SEEK = """
name = "seek"
runs = 4
delta = 0.1
policies = ["pair-elim"]
[problem]
u = [0.9, 0.3]
v = [0.8, 0.4]
"""
HELD = """
name = "held"
runs = 3
seed = 7
horizon = 1e3
policies = ["pair-elim", "{module}:Held"]
[problem]
family = "spiked"
n = 3
u1 = 0.9
gap = 0.5
"""


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Type `matchbandit run …` in an empty folder; gives exit code, stdout and stderr."""
    monkeypatch.setattr(progress, "FIRST_LINE_S", 1e9)  # however slow the machine, no line of progress,
    monkeypatch.setattr(numba_cache, "NOTICE_AFTER_S", 1e6)  # nor one that code is being compiled
    monkeypatch.chdir(tmp_path)
    Path("gaps.toml").write_text(GAPS)
    Path("seek.toml").write_text(SEEK)

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["matchbandit", "run", *words])
        with pytest.raises(SystemExit) as end:
            main()
        out = capsys.readouterr()
        return end.value.code or 0, out.out, out.err

    return typed


def test_a_study_is_run_into_a_folder_of_its_name_and_ends_with_a_table(run):
    code, out, err = run("gaps.toml", "--workers", "1")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["policy", "point", "mean", "regret", "s.e.", "5", "%", "95", "%"]
    spiked = mb.family("spiked", n=3, u1=0.9, gap=0.6)
    final = mb.simulate(spiked, mb.policy("pair-elim", growth=4), horizon=1000, runs=3, seed=7).final
    numbers = (final.mean(), np.std(final, ddof=1) / np.sqrt(3), *np.percentile(final, [5, 95]))
    row = ["pair-elim,", "growth", "=", "4", "gap", "=", "0.6", *(f"{number:.1f}" for number in numbers)]
    assert lines[7].split() == row
    assert lines[8].startswith("3 runs each, saved in gaps (18 parts, ")
    assert lines[9] == "next: matchbandit report gaps"
    assert sorted(path.name for path in Path("gaps").iterdir()) == [".lock", "details", "manifest.json", "rows"]


def test_json_is_one_object_on_stdout_and_nothing_else(run):
    code, out, err = run("gaps.toml", "--json", "--out", "here", "--workers", "2", "--part-runs", "2")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["study"], told["folder"], told["parts"], told["runs"]) == ("gaps", "here", 12, 18)
    first = told["results"][0]
    spiked = mb.family("spiked", n=3, u1=0.9, gap=0.5)
    assert first["mean"] == pytest.approx(mb.simulate(spiked, "uts", horizon=1000, runs=3, seed=7).final.mean())
    assert (first["policy"], first["runs"], first["settings"]) == ("uts", 3, {"gap": 0.5})
    assert first["p5"] <= first["mean"] <= first["p95"]
    again = json.loads(run("gaps.toml", "--json", "--out", "here")[1])
    assert again == told


def test_an_identification_says_how_many_are_correct(run):
    code, out, _ = run("seek.toml", "--workers", "1")
    assert code == 0
    assert out.splitlines()[0].split() == ["policy", "mean", "rounds", "s.e.", "5", "%", "95", "%", "correct"]
    assert "4 of 4" in out
    told = json.loads(run("seek.toml", "--json")[1])
    assert (told["results"][0]["correct"], told["results"][0]["identified"]) == (4, 4)


def test_mistakes_end_in_one_line_and_exit_code_2(run):
    Path("bad.toml").write_text(GAPS.replace("horizon", "horzion"))
    Path("other.toml").write_text(GAPS.replace("seed = 7", "seed = 8"))
    Path("file").write_text("")
    assert run("gaps.toml", "--workers", "1")[0] == 0
    for words, told in {
        ("bad.toml",): "bad.toml, line 5: unknown key 'horzion'; did you mean 'horizon'?",
        ("nothing.toml",): "nothing.toml",
        ("gaps.toml", "--part-runs", "0"): "--part-runs",
        ("gaps.toml", "--part-runs", "5000"): "part_runs must be a whole number, between 1 and 2000; got 5000",
        ("gaps.toml", "--workers", "x"): "--workers",
        ("gaps.toml", "--out", ""): "the folder of a study needs a name",
        ("gaps.toml", "--out", "file"): "cannot write into the folder 'file': File exists",
        ("gaps.toml", "--out", "."): "'.' is not the folder of a study: it has no manifest.json",
        ("other.toml",): "'gaps' holds parts of another study: seed was 7, is now 8. Undo that, or choose another",
    }.items():
        code, out, err = run(*words)
        assert (code, out) == (2, ""), words
        assert told in err
        assert err.count("\n") == 1
        assert err.startswith("error: ")


def test_an_error_in_a_policy_of_ones_own_is_one_line_or_all_of_it(run, monkeypatch):
    Path("faulty_own.py").write_text(
        "from matchbandit.policies.pair.pair_elim import PairElim\n\n\nclass Mine(PairElim):\n    name = 'mine'\n\n"
        "    def learn(self, tally):\n        raise KeyError('oh')\n"
    )
    Path("own.toml").write_text(SEEK.replace("pair-elim", "faulty_own:Mine"))
    code, out, err = run("own.toml", "--workers", "1")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "KeyError: 'oh' (faulty_own.py, line 8)." in err
    assert err.endswith("Set MATCHBANDIT_TRACEBACK=1 to see the traceback.\n")
    assert "TRACEBACK" not in run("nothing.toml")[2]
    monkeypatch.setenv("MATCHBANDIT_TRACEBACK", "1")
    code, _, err = run("own.toml", "--workers", "1")
    assert code == 2
    assert "raise KeyError('oh')" in err
    sys.modules.pop("faulty_own", None)


@pytest.mark.filterwarnings("always::UserWarning")
def test_a_damaged_shard_is_one_warning_line(run):
    run("gaps.toml", "--workers", "1")
    shard = min(Path("gaps/rows").iterdir())
    shard.write_bytes(shard.read_bytes()[:100])
    code, _, err = run("gaps.toml", "--workers", "1")
    assert code == 0
    assert err == f"warning: in 'gaps', rows/{shard.name} is damaged; played again.\n"


def same(a, b):
    return all(one.equals(other) for one, other in zip(tables_of(a), tables_of(b), strict=True))


@pytest.fixture
def held(tmp_path, monkeypatch):
    """A study of which some parts wait: a function that starts it, and the file that makes it wait."""
    module = f"held_{os.getpid()}_{tmp_path.name.partition('[')[0]}"
    hold = held_policy(tmp_path, module)
    (tmp_path / "held.toml").write_text(HELD.format(module=module))
    monkeypatch.chdir(tmp_path)

    def start(ignored=None, **options):
        def begin():
            if ignored is not None:
                signal.signal(ignored, signal.SIG_IGN)

        words = [sys.executable, "-m", "matchbandit", "run", "held.toml", "--part-runs", "1", "--workers", "2"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(words, preexec_fn=begin, **pipes, **options)  # noqa: PLW1509

    return start, hold


def until_kept(folder, parts):
    end = time.monotonic() + 60
    while len(list((folder / "rows").glob("*.parquet"))) < parts:
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("deadly", "group"),
    [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGHUP, True)],
    ids=["Ctrl-C", "TERM", "HUP"],
)
def test_a_signal_keeps_what_is_finished_and_the_same_command_goes_on(held, tmp_path, deadly, group):
    start, hold = held
    process = start(start_new_session=True)
    waiting = waiting_process(tmp_path)
    until_kept(tmp_path / "held", 2)
    os.killpg(process.pid, deadly) if group else process.send_signal(deadly)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + deadly
    assert out == ""
    lines = [line for line in err.splitlines() if line.startswith("stopped")]
    assert len(lines) == 1
    assert "Traceback" not in err
    kept = len(list((tmp_path / "held" / "rows").iterdir()))
    assert lines[0] == f"stopped: {kept} of 6 parts are kept in 'held'; the same command goes on from there."
    assert not Path(f"/proc/{waiting}").exists()
    assert leftovers(tmp_path) == []
    hold.unlink()
    study = mb.Study.from_toml("held.toml")
    assert study.run("held", workers=2).is_complete
    assert same("held", study.run("alone", workers=1).path)


@pytest.mark.slow
def test_hup_is_ignored_after_nohup(held, tmp_path):
    start, hold = held
    process = start(ignored=signal.SIGHUP)
    waiting_process(tmp_path)
    process.send_signal(signal.SIGHUP)
    hold.unlink()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "3 runs each, saved in held (6 parts" in out
