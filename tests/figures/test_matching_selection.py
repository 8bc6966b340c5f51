import numpy as np
import pytest
from matplotlib.figure import Figure

from matchbandit.experiments.reproduce import published
from matchbandit.experiments.studies import STUDIES
from matchbandit.figures import DRAWINGS, draw
from matchbandit.results import Row

SAM = "simple-adaptive-matching"
ROUNDS = (50_000, 100_000, 200_000)
ROWS = [Row("over-n", SAM, n, run, 200_000, 1000.0 * n + run) for n in range(2, 12) for run in range(5)] + [
    Row("over-mu", policy, mu, run, at, scale * at * mu + run)
    for policy, scale in ((SAM, 0.01), ("escb", 0.02))
    for mu in (0.5, 0.6, 0.7, 0.8)
    for run in range(5)
    for at in ROUNDS
]


def drawn(name):
    """The lines of a picture by label, and its axes."""
    axes = Figure().add_subplot()
    DRAWINGS[name](axes, rows=ROWS, published=published())
    return {str(line.get_label()): line for line in axes.get_lines()}, axes


@pytest.mark.parametrize("name", ["fig2", "fig3-top", "fig3-bottom"])
def test_the_figures_of_matching_selection_are_drawn(name, tmp_path):
    path = draw(name, lambda axes: DRAWINGS[name](axes, rows=ROWS, published=published()), tmp_path)
    assert path == tmp_path / f"{name}.png"
    assert path.stat().st_size > 10_000
    assert path.with_suffix(".pdf").exists()


def test_figure_2_is_regret_over_n_beside_c_n_log_n_through_the_last_place():
    lines, axes = drawn("fig2")
    ours = lines["Simple Adaptive Matching: mean, 5–95 %"]
    assert ours.get_xdata().tolist() == list(range(2, 12))
    assert np.allclose(ours.get_ydata(), 1000 * np.arange(2, 12) + 2)
    law = lines["c N log N through N = 11"].get_ydata()
    assert np.isclose(law[-1], 11_002)
    assert np.isclose(law[0], 11_002 * 2 * np.log(2) / (11 * np.log(11)))
    marks = axes.containers[0].lines[0]
    assert list(marks.get_ydata())[:3] == [1333, 4800, 11386]


def test_figure_3_top_is_regret_over_time_at_one_half():
    lines, axes = drawn("fig3-top")
    ours, theirs = lines["Simple Adaptive Matching: mean, 5–95 %"], lines["ESCB-2: mean, 5–95 %"]
    assert ours.get_xdata().tolist() == theirs.get_xdata().tolist() == list(ROUNDS)
    assert np.allclose(ours.get_ydata(), [252, 502, 1002])
    assert np.allclose(theirs.get_ydata(), [502, 1002, 2002])
    ends = [(list(c.lines[0].get_xdata()), list(c.lines[0].get_ydata())) for c in axes.containers]
    assert ends == [([200_000], [1634]), ([200_000], [2451])]
    dots = [line for line in axes.get_lines() if len(line.get_xdata()) == 9]
    assert [list(line.get_ydata())[:2] for line in dots] == [[527, 857]]


def test_figure_3_bottom_is_regret_over_mu_at_the_horizon_with_both_records():
    lines, axes = drawn("fig3-bottom")
    assert np.allclose(lines["Simple Adaptive Matching: mean, 5–95 %"].get_ydata(), [1002, 1202, 1402, 1602])
    assert np.allclose(lines["ESCB-2: mean, 5–95 %"].get_ydata(), [2002, 2402, 2802, 3202])
    assert list(lines["second record"].get_ydata()) == [1748]
    marks = [list(c.lines[0].get_ydata()) for c in axes.containers]
    assert marks == [[1634, 1245, 900, 689], [2451, 2376, 2437, 2400]]


def test_practical_tells_policies_with_a_proof_by_line_mark_and_word():
    rows = [
        Row("practical", policy, mu, run, 200_000, scale * mu + run)
        for policy, scale in ((SAM, 1000.0), ("rank1-certify", 100.0), ("rank1-thompson", 30.0))
        for mu in (0.5, 0.8)
        for run in range(5)
    ]
    axes = Figure().add_subplot()
    DRAWINGS["practical"](axes, rows=rows, published=published())
    lines = {str(line.get_label()): line for line in axes.get_lines()}
    looks = {name: (line.get_linestyle(), line.get_fillstyle()) for name, line in lines.items()}
    proved, unproved = ("-", "full"), ("--", "none")
    assert looks == {f"_{SAM}": proved, "_rank1-certify": proved, "_rank1-thompson": unproved}
    assert {text.get_text() for text in axes.texts} == {
        f"{SAM}, proved",
        "rank1-certify, proved",
        "rank1-thompson, no proof",
    }
    assert np.allclose(lines["_rank1-certify"].get_ydata(), [52, 82])
    assert (
        len({line.get_color() for line in lines.values()}) == len({line.get_marker() for line in lines.values()}) == 3
    )


def test_every_policy_of_the_study_is_in_the_picture():
    rows = [Row("practical", policy, 0.5, 0, 200_000, 10.0) for policy in STUDIES["practical"].policies]
    axes = Figure().add_subplot()
    DRAWINGS["practical"](axes, rows=rows, published=published())
    assert len(axes.get_lines()) == len(STUDIES["practical"].policies)
