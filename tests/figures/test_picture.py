import re
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

import matchbandit as mb
from matchbandit.figures import Chart, Line, draw_to

CHART = Chart(
    "one", "Regret", "round", "regret",
    (Line("uts", np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.5]), key="uts"),), caption="5 runs, seed 1.",
)  # fmt: skip


def test_a_picture_is_the_one_file_that_was_named(tmp_path):
    assert draw_to(CHART, tmp_path / "a.png") == tmp_path / "a.png"
    assert {path.name for path in tmp_path.iterdir()} == {"a.png"}
    assert draw_to(CHART, str(tmp_path / "b.svg")).read_text().count("<svg") == 1
    assert draw_to(CHART, tmp_path / "c.PDF").read_bytes().startswith(b"%PDF")
    assert {path.name for path in tmp_path.iterdir()} == {"a.png", "b.svg", "c.PDF"}


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_chart_gives_the_same_bytes_whatever_the_users_settings(tmp_path, kind):
    first = draw_to(CHART, tmp_path / f"a.{kind}").read_bytes()
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "svg.hashsalt": "other", "axes.grid": True}):
        assert draw_to(CHART, tmp_path / f"a.{kind}").read_bytes() == first
        assert mpl.rcParams["font.size"] == 30
    assert b"CreationDate" not in first


def test_a_picture_that_cannot_be_written_leaves_the_former_one(tmp_path, monkeypatch):
    place = tmp_path / "a.svg"
    place.write_text("former")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(mb.MatchbanditError, match=r"cannot write '.*a\.svg': No space left on device\."):
        draw_to(CHART, place)
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]
    assert place.read_text() == "former"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.jpg", "a picture is written as .png, .pdf or .svg; got"),
        ("a", "a picture is written as"),
        ("nowhere/a.png", "there is no folder"),
    ],
)
def test_a_name_that_is_no_pictures_is_refused_in_words(tmp_path, name, words):
    with pytest.raises(mb.MatchbanditError, match=re.escape(words)):
        draw_to(CHART, tmp_path / name)


@pytest.mark.slow
def test_numbers_need_no_matplotlib():
    code = "import sys, matchbandit.placement, matchbandit.figures, matchbandit.results.plotting, matchbandit as mb\n"
    code += "import matchbandit.theory as t; t.report(mb.Monopartite([0.9, 0.5, 0.2, 0.1]), delta=0.05)\n"
    code += "mb.plot_bounds, mb.plot, matchbandit.figures.draw\n"
    code += "sys.exit(any(name.split('.')[0] == 'matplotlib' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_drawing_without_matplotlib_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    slots = mb.Bipartite([0.9, 0.3, 0.2], [0.9, 0.5, 0.1])
    for call in (
        lambda: draw_to(CHART, tmp_path / "x.png"),
        lambda: mb.plot_bounds(slots, path=tmp_path / "x.png", horizon=100),
    ):
        with pytest.raises(mb.MatchbanditError, match=r"drawing needs matplotlib, which is not installed\. .*lab"):
            call()
