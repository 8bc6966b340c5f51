"""`matchbandit run`: its table, its JSON, and one line for each mistake."""

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


def test_a_study_ends_with_a_table_or_one_json_object(run):
    code, out, err = run("gaps.toml", "--workers", "1")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["policy", "position", "mean", "regret", "s.e.", "5", "%", "95", "%"]
    spiked = mb.family("spiked", n=3, u1=0.9, gap=0.6)
    final = mb.simulate(spiked, mb.policy("pair-elim", growth=4), horizon=1000, runs=3, seed=7).final
    numbers = (final.mean(), np.std(final, ddof=1) / np.sqrt(3), *np.percentile(final, [5, 95]))
    row = ["pair-elim,", "growth", "=", "4", "gap", "=", "0.6", *(f"{number:.1f}" for number in numbers)]
    assert lines[7].split() == row
    assert lines[8].startswith("3 runs each, saved in gaps (")
    assert lines[9] == "next: matchbandit report gaps"
    code, out, err = run("gaps.toml", "--json", "--out", "here", "--workers", "2", "--part-runs", "2")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert (data["study"], data["folder"], data["runs"]) == ("gaps", "here", 18)
    last = data["results"][-1]
    assert last["sweep"] == {"gap": 0.6, "pair-elim.growth": 4}
    assert [last[name] for name in ("mean", "se", "p5", "p95")] == pytest.approx(numbers)
    assert sorted(path.name for path in Path("here").iterdir()) == ["parts", "study.json"]


def test_an_identification_says_how_many_are_correct(run):
    code, out, _ = run("seek.toml", "--workers", "1")
    assert code == 0
    assert out.splitlines()[0].split() == ["policy", "mean", "rounds", "s.e.", "5", "%", "95", "%", "correct"]
    assert "4 of 4" in out


def test_mistakes_end_in_one_line_and_exit_code_2(run):
    Path("bad.toml").write_text(GAPS.replace("horizon", "horzion").replace("runs = 3", "runs = 0"))
    Path("file").write_text("")
    for words, told in {
        ("bad.toml",): "bad.toml: horzion: unknown key 'horzion'; did you mean 'horizon'?",
        ("nothing.toml",): "nothing.toml",
        ("gaps.toml", "--part-runs", "0"): "--part-runs",
        ("gaps.toml", "--part-runs", "5000"): "part_runs must be a whole number, between 1 and 2000; got 5000",
        ("gaps.toml", "--workers", "x"): "--workers",
        ("gaps.toml", "--out", ""): "the folder of a study needs a name",
        ("gaps.toml", "--out", "file"): "cannot write into the folder 'file': Not a directory",
    }.items():
        code, out, err = run(*words)
        assert (code, out) == (2, ""), words
        assert told in err
        lines = err.splitlines()
        assert len(lines) == 1 + (words == ("bad.toml",))
        assert all(line.startswith("error: ") for line in lines)


def test_an_error_in_a_policy_of_ones_own_is_one_line(run):
    Path("faulty_own.py").write_text(
        "from matchbandit.policies.pair.pair_elim import PairElim\n\n\nclass Mine(PairElim):\n    name = 'mine'\n\n"
        "    def learn(self, tally):\n        raise KeyError('oh')\n"
    )
    Path("own.toml").write_text(SEEK.replace("pair-elim", "faulty_own:Mine"))
    code, out, err = run("own.toml", "--workers", "1")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "KeyError: 'oh' (faulty_own.py, line 8)." in err
    assert err.endswith("Set MATCHBANDIT_TRACEBACK=1 to see the traceback.\n")
    sys.modules.pop("faulty_own", None)


@pytest.mark.filterwarnings("always::UserWarning")
def test_a_damaged_part_is_one_warning_line(run):
    run("gaps.toml", "--workers", "1")
    part = min(Path("gaps/parts").iterdir())
    part.write_bytes(part.read_bytes()[:100])
    code, _, err = run("gaps.toml", "--workers", "1")
    assert code == 0
    assert err == f"warning: in 'gaps/parts', damaged or renamed, and ignored: {part.name}.\n"
