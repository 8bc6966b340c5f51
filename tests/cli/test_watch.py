import json
import sys

import pytest

import matchbandit as mb
from matchbandit import numba_cache, progress
from matchbandit.cli import main

SLOTS = ["--u", "0.9", "0.3", "--v", "0.8", "0.4"]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Type a command in an empty folder; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "FIRST_LINE_S", 1e9)
    monkeypatch.setattr(numba_cache, "NOTICE_AFTER_S", 1e6)

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["matchbandit", "watch", *words])
        with pytest.raises(SystemExit) as end:
            main()
        out = capsys.readouterr()
        return end.value.code or 0, out.out, out.err

    return typed


@pytest.mark.slow
def test_watch_prints_events_and_writes_three_files(run, tmp_path):
    code, out, err = run("pair-elim", *SLOTS, "--horizon", "1e5", "--seed", "1")
    assert (code, err) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["watch.html", "watch.png", "watch.svg"]
    seen = mb.watch(mb.Bipartite(u=[0.9, 0.3], v=[0.8, 0.4]), "pair-elim", horizon=10**5, seed=1)
    output = " ".join(out.split())
    assert all(frame.sentence in output for frame in (*seen.events, seen.frames[-1]))
    assert output.endswith("the picture is watch.svg and watch.png; open watch.html to play it back")
    assert (tmp_path / "watch.html").read_text("utf-8") == seen.page()


@pytest.mark.slow
def test_watch_json_has_frames_and_tables_and_prints_nothing_else(run):
    code, out, err = run("pair-elim", *SLOTS, "--delta", "0.1", "--seed", "1", "--json", "--out", "deep.png")
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert data["files"] == ["deep.svg", "deep.png", "deep.html"]
    found = mb.identify(mb.Bipartite(u=[0.9, 0.3], v=[0.8, 0.4]), "pair-elim", delta=0.1, seed=1)
    assert (data["frames"][-1]["done"], data["frames"][-1]["round"]) == (True, found.rounds[0])
    assert sum(row["played"] for row in data["pairs"]) == found.rounds[0]


@pytest.mark.slow
def test_watch_log_reads_the_columns_that_are_named(run, tmp_path):
    (tmp_path / "clicks.csv").write_text("ad,slot,clicked\na,top,1\na,side,0\nb,top,1\nb,side,0\n")
    code, out, err = run("rank1-certify", "--log", "clicks.csv", "--column", "reward=clicked", "--json")
    assert (code, err) == (0, "")
    frames = json.loads(out)["frames"]
    assert frames[-1]["round"] == 4
    assert frames[-1]["sentence"].startswith("After 4 rounds, the recording ends; the policy recommends (")


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        ("plays to a horizon: give horizon= (--horizon)", ["pair-elim", *SLOTS]),
        ("there is no folder", ["pair-elim", *SLOTS, "--horizon", "10", "--out", "nowhere/x"]),
        ("is not a file name", ["pair-elim", *SLOTS, "--horizon", "10", "--out", "."]),
        ("--log takes the place of --u", ["uts", *SLOTS, "--log", "games.csv"]),
        ("--column goes with --log", ["uts", *SLOTS, "--horizon", "10", "--column", "reward=won"]),
        ("games.csv cannot be read", ["uts", "--log", "games.csv"]),
    ],
)
def test_watch_a_mistake_ends_in_one_line_and_writes_nothing(run, tmp_path, words, typed):
    code, out, err = run(*typed)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert [*tmp_path.iterdir()] == []
