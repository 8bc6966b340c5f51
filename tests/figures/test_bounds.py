import re
import subprocess
import sys

import pytest

import matchbandit as mb

SLOTS = mb.Bipartite([0.9, 0.3, 0.2], [0.9, 0.5, 0.1])
PLAYERS = mb.Monopartite([0.9, 0.8, 0.5, 0.4])


def test_results_are_drawn_over_bounds(tmp_path):
    runs = [mb.simulate(SLOTS, name, horizon=5000, runs=4, seed=2) for name in ("pair-elim", "uts")]
    path = mb.draw_bounds(SLOTS, runs, path=tmp_path / "regret.png")
    assert path == tmp_path / "regret.png"
    assert path.stat().st_size > 10_000
    assert path.with_suffix(".pdf").exists()
    found = mb.identify(PLAYERS, mb.policy("matching-id", delta=0.1), runs=3, seed=1)
    assert mb.draw_bounds(PLAYERS, [found], path=tmp_path / "rounds.png").stat().st_size > 10_000


def test_bounds_are_drawn_without_results_too(tmp_path):
    assert mb.draw_bounds(SLOTS, path=tmp_path / "a.png", horizon=1000).exists()
    assert mb.draw_bounds(PLAYERS, path=tmp_path / "b.png", delta=0.05).exists()
    assert mb.draw_bounds(mb.Monopartite([0.9, 0.5, 0.2]), path=tmp_path / "c.png", delta=0.05).exists()


@pytest.mark.parametrize(("name", "words"), [("x.svg", "written as .png and .pdf"), ("no/x.png", "there is no folder")])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path, name, words, monkeypatch):
    monkeypatch.setattr("matchbandit.figures.bounds.overlay_of", lambda *_, **__: pytest.fail("worked"))
    with pytest.raises(mb.MatchbanditError, match=re.escape(words)):
        mb.draw_bounds(SLOTS, path=tmp_path / name, horizon=100)


def ends(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_bounds_need_no_matplotlib():
    code = "import sys, matchbandit.placement, matchbandit.figures, matchbandit.experiments, matchbandit.theory as t\n"
    code += "import matchbandit as mb; t.report(mb.Monopartite([0.9, 0.5, 0.2, 0.1]), delta=0.05); mb.draw_bounds\n"
    code += "sys.exit(any(name.split('.')[0] == 'matplotlib' for name in sys.modules))"
    assert ends(code).returncode == 0


def test_drawing_without_matplotlib_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for call in (
        lambda: mb.draw_bounds(SLOTS, path=tmp_path / "x.png", horizon=100),
        lambda: mb.reproduce(["u1-ratio"], out=tmp_path),
    ):
        with pytest.raises(mb.MatchbanditError, match=r"drawing needs matplotlib, which is not installed\. .*lab"):
            call()
