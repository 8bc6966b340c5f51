from itertools import product

import numpy as np

import matchbandit as mb
from matchbandit.cli.completion import OTHER_FIGURES, PAPER_FIGURES
from matchbandit.lab.paper.claims import published
from matchbandit.lab.paper.figure import BESIDE
from matchbandit.lab.paper.figures import FIGURES, count_plays
from matchbandit.lab.tables import RunTable

SAM = "simple-adaptive-matching"


def table(rows):
    """A table of these rows, of seed 0 unless they say otherwise."""
    rows = [{"seed": 0, "run": 0, **row} for row in rows]
    return RunTable({name: [row[name] for row in rows] for name in rows[0]})


def test_runs_that_do_not_differ_are_not_judged_by_where_they_split():
    single = table({"policy": SAM, "n": n, "regret": 100.0 * n} for n in range(2, 12))
    assert [verdict.outcome for verdict in FIGURES["over-n"].judge(single).values()][1:] == ["not judged"] * 2
    assert len(FIGURES["over-n"].charts(single)) == 2


def test_plays_are_counted_by_how_many_of_their_items_are_sub_optimal(tmp_path):
    (study,) = FIGURES["windows"].studies(3, seed=1)
    study = study.with_(sweep={"pair-elim.cap_windows": [False, True], "horizon": [500]})
    runs = count_plays(study.run(tmp_path, workers=1).runs()).where({"pair-elim.cap_windows": False})
    problem = mb.family("spiked", n=8, u1=0.9, gap=0.75).draw(seed=3)
    plays = mb.simulate(problem, "pair-elim", horizon=500, runs=3, seed=1, checkpoints=[500]).plays
    assert (runs["doubly"] + runs["singly"] + plays[:, 0, 0] == 500).all()
    assert runs["doubly"].tolist() == [int(of_run[1:, 1:].sum()) for of_run in plays]


def test_comparison_shows_measured_ratios_and_those_of_the_bounds():
    seconds = [0.003, 0.01, 0.03, 0.3, 1.0]
    runs = table(
        {"policy": policy, "second": x, "third": third, "run": run, "regret": (9.0 + 2 * run) * factor}
        for third, x, run in product((0.9, 0.3), seconds, range(2))
        for policy, factor in (("adaptive-matching", x**-2), ("exploration-first", 1.0))
    )
    (chart,) = FIGURES["comparison"].charts(runs)
    for measured, bound in (chart.series[:2], chart.series[2:]):
        assert np.allclose(measured.y, [x**-2 for x in seconds])
        assert (np.diff(bound.y[:4]) < 0).all()
        assert (measured.key, measured.dash, bound.dash) == (bound.key, "solid", "dotted")
    bounded, growing, *_ = FIGURES["comparison"].judge(runs).values()
    assert bounded.measured == "U_D/U_I at most 0.9, R_D/R_I at most 1"
    assert growing.measured.endswith("and (u₂/u₁)^-2.00")


def test_policies_without_a_proof_have_hollow_markers_and_dashes():
    lost = {SAM: ("over-mu", 1000), "rank1-certify": ("practical", 100), "rank1-thompson": ("practical", 30)}
    runs = table(
        {"study": study, "policy": policy, "mean": mean, "run": run, "regret": regret + run}
        for policy, (study, regret) in lost.items()
        for mean, run in product((0.5, 0.8), range(3))
    )
    (chart,) = FIGURES["practical"].charts(runs)
    assert [(line.label, line.key, line.dash, line.is_hollow, line.is_bold) for line in chart.series] == [
        (SAM, SAM, "solid", False, False),
        ("rank1-certify", "rank1-certify", "solid", False, True),
        ("rank1-thompson †", "rank1-thompson", "dashed", True, True),
    ]
    assert "3 runs of the two in Figure 3, 3 runs of those that use the products, seed 0" in chart.caption


def test_studies_of_one_name_are_the_same_and_judged_ones_have_20_runs():
    seen = {}
    for figure in FIGURES.values():
        for study in figure.studies(2):
            assert seen.setdefault(study.name, study) == study
            assert study.runs == (4 if study.name == "over-gap-instances" else 2)
        for study in figure.studies(seed=3):
            least = 100 if figure.is_of_paper else 20
            assert study.seed == 3
            assert study.runs >= least or study.name in BESIDE
    drawn = [name for figure in FIGURES.values() for name in figure.chart_names]
    assert drawn == [*PAPER_FIGURES, *OTHER_FIGURES]  # the order of the paper, of the page and of the command's help
    assert [figure.name for figure in FIGURES.values() if not figure.is_default] == ["click-models"]
    (time,), (over_n,) = FIGURES["over-time"].studies(), FIGURES["over-n"].studies()
    assert set(published("over-time")["x"]) <= {*time.checkpoints, time.horizon}
    assert over_n.sweep["n"] == published("over-n")["x"].tolist()
