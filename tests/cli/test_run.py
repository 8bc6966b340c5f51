"""`matchbandit run`: what it prints, as a table or JSON, and what it refuses."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import matchbandit as mb
from matchbandit import numba_cache, progress
from matchbandit.cli import main

GAPS = """
name = "gaps"
runs = 3
seed = 7
horizon = 1e3
policies = ["uts", "pair-elim"]
[problem]
family = "spiked"
n = 3
u1 = 0.9
[sweep]
"pair-elim.growth" = [1.05, 4]
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


def test_run_prints_mean_and_range_of_each_point_and_the_next_command(run):
    code, out, err = run("gaps.toml", "--workers", "1")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["policy", "position", "mean", "regret", "s.e.", "5", "%", "95", "%"]
    spiked = mb.family("spiked", n=3, u1=0.9, gap=0.6)
    final = mb.simulate(spiked, mb.policy("pair-elim", growth=4), horizon=1000, runs=3, seed=7).final
    numbers = (final.mean(), np.std(final, ddof=1) / np.sqrt(3), *np.percentile(final, [5, 95]))
    row = ["pair-elim,", "growth", "=", "4", "gap", "=", "0.6", *(f"{number:.1f}" for number in numbers)]
    assert row in [line.split() for line in lines]
    assert lines[-1] == "next: matchbandit report gaps"
    assert sorted(path.name for path in Path("gaps").iterdir()) == ["parts", "study.json"]


def test_run_with_json_prints_one_object_which_a_second_call_repeats(run):
    code, out, err = run("gaps.toml", "--json", "--out", "here", "--workers", "1", "--part-runs", "2")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["study"], told["folder"], told["runs"], len(told["results"])) == ("gaps", "here", 18, 6)
    first = told["results"][0]
    spiked = mb.family("spiked", n=3, u1=0.9, gap=0.5)
    assert first["mean"] == pytest.approx(mb.simulate(spiked, "uts", horizon=1000, runs=3, seed=7).final.mean())
    assert (first["policy"], first["runs"], first["sweep"]) == ("uts", 3, {"gap": 0.5})
    assert json.loads(run("gaps.toml", "--json", "--out", "here")[1]) == told


def test_run_of_an_identification_counts_correct_answers(run):
    code, out, _ = run("seek.toml", "--workers", "1")
    assert code == 0
    assert out.splitlines()[0].split() == ["policy", "mean", "rounds", "s.e.", "5", "%", "95", "%", "correct"]
    assert "4 of 4" in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("bad.toml",), "bad.toml: horzion: unknown key 'horzion'; did you mean 'horizon'?"),
        (("nothing.toml",), "nothing.toml"),
        (("gaps.toml", "--part-runs", "0"), "--part-runs"),
        (("gaps.toml", "--part-runs", "5000"), "part_runs must be a whole number, between 1 and 2000; got 5000"),
        (("gaps.toml", "--workers", "x"), "--workers"),
        (("gaps.toml", "--out", ""), "the folder of a study needs a name"),
        (("gaps.toml", "--out", "file"), "cannot write into the folder 'file'"),
        (("gaps.toml", "--dask", "nonsense"), "nonsense"),
    ],
)
def test_run_with_a_mistake_ends_in_one_line_and_exit_code_2(run, words, text):
    Path("bad.toml").write_text(GAPS.replace("seed = 7", "horzion = 7"))
    Path("file").write_text("")
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ")
    assert text in err


def test_run_of_a_faulty_policy_is_one_line_or_all_of_it(run, monkeypatch):
    Path("faulty_own.py").write_text(
        "from matchbandit.policies.pair.pair_elim import PairElim\n\n\nclass Mine(PairElim):\n    name = 'mine'\n\n"
        "    def learn(self, tally):\n        raise KeyError('oh')\n"
    )
    Path("own.toml").write_text(SEEK.replace("pair-elim", "faulty_own:Mine"))
    code, out, err = run("own.toml", "--workers", "1")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "KeyError: 'oh' (faulty_own.py, line 8)." in err
    monkeypatch.setenv("MATCHBANDIT_TRACEBACK", "1")
    code, _, err = run("own.toml", "--workers", "1")
    assert code == 2
    assert "raise KeyError('oh')" in err
    sys.modules.pop("faulty_own", None)


def test_run_over_a_damaged_part_is_one_warning(run):
    run("gaps.toml", "--workers", "1")
    part = min(Path("gaps/parts").iterdir())
    part.write_bytes(part.read_bytes()[:100])
    code, _, err = run("gaps.toml", "--workers", "1")
    assert code == 0
    assert (err.count("\n"), part.name in err) == (1, True)
    assert run("gaps.toml", "--workers", "1")[2] == ""
