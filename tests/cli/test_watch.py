import json
import sys
from contextlib import contextmanager

import pytest

import matchbandit as mb
from matchbandit import numba_cache, progress
from matchbandit.cli import main

SLOTS = ["--u", "0.9", "0.3", "--v", "0.8", "0.4"]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Type a command in an empty folder; gives exit code, stdout and stderr. Pictures are drawn coarsely."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "FIRST_LINE_S", 1e9)
    monkeypatch.setattr(numba_cache, "NOTICE_AFTER_S", 1e6)
    monkeypatch.setattr("matchbandit.figures.matplotlib_renderer.DPI", 30)

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["matchbandit", "watch", *words])
        with pytest.raises(SystemExit) as end:
            main()
        out = capsys.readouterr()
        return end.value.code or 0, out.out, out.err

    return typed


@pytest.mark.slow
def test_watch_tells_what_happens_and_writes_three_files(run, tmp_path):
    code, out, err = run("pair-elim", *SLOTS, "--horizon", "1e5", "--seed", "1")
    assert (code, err) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["watch.html", "watch.png", "watch.svg"]
    seen = mb.watch(mb.Bipartite(u=[0.9, 0.3], v=[0.8, 0.4]), "pair-elim", horizon=10**5, seed=1)
    output = " ".join(out.split())
    for frame in seen.frames:
        if frame.event:
            assert frame.sentence in output
    assert "the run ends with a regret of" in output
    assert output.endswith("the picture is watch.svg and watch.png; open watch.html to play it back")
    assert (tmp_path / "watch.html").read_text("utf-8") == seen.page()


def test_while_it_loads_and_draws_it_says_so(run, monkeypatch):
    stages = []

    @contextmanager
    def stage(words):
        stages.append(words)
        yield
        stages.append("over")

    monkeypatch.setattr(sys.modules["matchbandit.cli.watch"], "stage", stage)
    assert run("pair-elim", *SLOTS, "--horizon", "100", "--frames", "2")[0] == 0
    assert stages == ["watching pair-elim: loading", "over", "watching pair-elim: drawing", "over"]


@pytest.mark.slow
def test_json_holds_every_frame_and_nothing_else_is_printed(run):
    code, out, err = run("pair-elim", *SLOTS, "--delta", "0.1", "--seed", "1", "--json", "--out", "deep.png")
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert data["files"] == ["deep.svg", "deep.png", "deep.html"]
    assert data["frames"][-1]["done"]
    assert data["frames"][-1]["round"] == mb.identify(
        mb.Bipartite(u=[0.9, 0.3], v=[0.8, 0.4]), "pair-elim", delta=0.1, seed=1
    ).rounds[0]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        ("did you mean 'pair-elim'?", ["pair-elm", *SLOTS, "--horizon", "10"]),
        ("needs a horizon: give horizon= (--horizon)", ["pair-elim", *SLOTS]),
        ("--horizon takes numbers such as 20 or 2e6; got 'ten'", ["pair-elim", *SLOTS, "--horizon", "ten"]),
        ("there is no folder 'nowhere'", ["pair-elim", *SLOTS, "--horizon", "10", "--out", "nowhere/x"]),
        ("is not a file name", ["pair-elim", *SLOTS, "--horizon", "10", "--out", "."]),
        ("give either --u (and --v for a bipartite problem) or --family", ["pair-elim", "--horizon", "10"]),
        ("frames must be a whole number", ["pair-elim", *SLOTS, "--horizon", "10", "--frames", "1"]),
    ],
)
def test_mistakes_end_in_one_line_and_write_nothing(run, tmp_path, words, typed):
    code, out, err = run(*typed)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert [*tmp_path.iterdir()] == []
