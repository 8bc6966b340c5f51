"""Charts of studies: hand-made runs in, lines, axes and captions out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit import MatchbanditError
from matchbandit.lab.studies.charts import charts_of
from matchbandit.lab.studies.study import Study
from matchbandit.lab.tables import RunTable

RUNS = 4
SPIKED = {"family": "spiked", "n": 4, "u1": 0.9, "gap": 0.5}
TASKS = {"cucb": "one matching per round", "matching-id": "the best matching", "clucb": "the best matching"}


def study_of(*policies, problem=SPIKED, runs=RUNS, **sweep):
    """A study of these policies; what is not swept of the problem has one value, and so has the horizon."""
    ends = {} if {"delta", "budget", "horizon"} & sweep.keys() else {"horizon": 100}
    fixed = {name: value for name, value in problem.items() if name not in sweep}
    return Study(name="it", policies=policies, problem=fixed, runs=runs, seed=7, sweep=sweep, **ends)


def runs_of(study, checkpoints=(10, 100), **measured):
    """A row for each run of each point; each column is a function of the values that vary, the run and the round."""
    rows = []
    for point, run in product(study.points, range(study.runs)):
        at = {"policy": point.policy["name"], **point.sweep}
        task = TASKS.get(at["policy"], "one pair per round" if point.horizon else "the best pair")
        row = {**at, "label": point.label, "point": point.key, "task": task, "run": run}
        if "regret" in measured:
            curve = [float(measured["regret"](at, run, each)) for each in checkpoints]
            row |= {"regret": curve[-1], "rounds": np.array(checkpoints), "regrets": np.array(curve)}
        else:
            row |= {"identified": True, "correct": True} | {name: of(at, run) for name, of in measured.items()}
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return RunTable({name: [row.get(name) for row in rows] for name in names})


def labels(chart):
    return [line.label for line in chart.series]


def test_charts_of_a_numeric_sweep_has_a_line_with_mean_and_band_for_each_policy():
    study = study_of("uts", "pair-elim", gap=[0.7, 0.5, 0.6])
    height = {"uts": 1.0, "pair-elim": 5.0}
    (chart,) = charts_of(study, runs_of(study, regret=lambda at, run, t: (height[at["policy"]] + at["gap"] + run) * t))
    assert labels(chart) == [line.key for line in chart.series] == ["uts", "pair-elim"]
    for line in chart.series:
        runs = 100 * (height[line.label] + np.array([[0.5], [0.6], [0.7]]) + np.arange(RUNS))
        assert line.x.tolist() == [0.5, 0.6, 0.7]
        assert line.y == pytest.approx(runs.mean(axis=1))
        assert np.array([line.low, line.high]) == pytest.approx(np.percentile(runs, (5, 95), axis=1))
    assert (chart.name, chart.title) == ("it-over-gap", "it: regret over gap")
    assert (chart.x_label, chart.y_label) == ("gap", "regret")
    assert (chart.x_log, chart.y_log, chart.x_ticks) == (False, False, (0.5, 0.6, 0.7))
    assert "n = 4, u1 = 0.9, horizon = 100, bernoulli rewards; one pair per round; 4 runs, seed 7." in chart.caption


def test_charts_of_a_study_without_sweep_draws_the_regret_over_the_rounds():
    study = study_of("uts", "pair-elim")
    factor = {"uts": 1, "pair-elim": 40}
    runs = runs_of(study, (10, 100, 200), regret=lambda at, run, t: factor[at["policy"]] * (t + run))
    (chart,) = charts_of(study, runs)
    assert chart.series[1].x.tolist() == [10, 100, 200]
    assert chart.series[1].y == pytest.approx([460, 4060, 8060])
    assert chart.series[1].high == pytest.approx([514, 4114, 8114])
    assert (chart.x_label, chart.x_log, chart.y_log) == ("round", True, True)  # their ends are far apart
    over_one = charts_of(study, runs_of(study, (100,), regret=lambda at, run, t: run))
    assert [(chart.title, chart.categories) for chart in over_one] == [("it: regret by policy", ("uts", "pair-elim"))]
    two_values = study_of("pair-elim", **{"pair-elim.growth": [1.05, 4.0]})
    (chart,) = charts_of(two_values, runs_of(two_values, regret=lambda at, run, t: t))
    assert (chart.x_label, labels(chart)) == ("round", ["pair-elim, growth = 1.05", "pair-elim, growth = 4"])


def test_charts_of_several_sweeps_has_the_longest_as_axis_and_a_chart_for_each_combination_of_the_others():
    study = study_of("uts", gap=[0.5, 0.6], n=[4, 8, 16], horizon=[100, 200])
    runs = runs_of(study, regret=lambda at, run, t: at["n"] * at["gap"] * at["horizon"])
    charts = charts_of(study, runs)
    places = list(product((0.5, 0.6), (100, 200)))
    assert [chart.title for chart in charts] == [
        f"it: regret of uts over n, gap = {g}, horizon = {h}" for g, h in places
    ]
    assert [chart.name for chart in charts] == [f"it-over-n-{number}" for number in (1, 2, 3, 4)]
    for chart, (gap, horizon) in zip(charts, places, strict=True):
        assert chart.series[0].y == pytest.approx([n * gap * horizon for n in (4, 8, 16)])
    assert [chart.x_label for chart in charts_of(study, runs, x="gap")] == ["gap"] * 6
    assert len(charts_of(study, runs, x="round")) == 12
    with pytest.raises(MatchbanditError, match="unknown x 'gab'; did you mean 'gap'"):
        charts_of(study, runs, x="gab")


def test_charts_of_swept_options_has_a_line_for_each_value_or_an_axis():
    sweep = {"gap": [0.5, 0.6], "pair-elim.growth": [1.05, 2.0, 4.0, 8.0]}
    study = study_of("uts", "pair-elim", **sweep)
    runs = runs_of(study, regret=lambda at, run, t: at.get("pair-elim.growth", 30))
    (lines,) = charts_of(study, runs)
    assert labels(lines) == ["uts", *(f"pair-elim, growth = {value}" for value in ("1.05", "2", "4", "8"))]
    assert [line.key for line in lines.series] == labels(lines)  # more than three do not share a colour
    axis = charts_of(study, runs, x="pair-elim.growth")[0]
    assert labels(axis) == ["uts", "pair-elim"]
    level, line = axis.series
    assert (level.kind, level.x.tolist(), level.y.tolist()) == ("reference", [1.05, 8.0], [30, 30])
    assert line.y.tolist() == [1.05, 2.0, 4.0, 8.0]


def test_charts_of_many_checkpoints_adds_the_curves_at_the_middle_of_the_sweep():
    study = study_of("uts", gap=[0.7, 0.5, 0.8, 0.6])
    over, curves = charts_of(study, runs_of(study, (1, 2, 4, 8, 16), regret=lambda at, run, t: t * at["gap"]))
    assert (over.x_label, curves.title) == ("gap", "it: regret of uts over the rounds, gap = 0.7")
    assert curves.series[0].y == pytest.approx(0.7 * np.array([1, 2, 4, 8, 16]))


def test_charts_of_identifications_are_over_one_by_delta_and_count_wrong_answers():
    study = study_of("matching-id", "clucb", problem={"u": [0.9, 0.5, 0.3, 0.1]}, delta=[0.2, 0.001])
    rounds = {"rounds": lambda at, run: 100 + run - 10 * np.log10(at["delta"]), "identified": lambda _, run: run < 2}
    (chart,) = charts_of(study, runs_of(study, **rounds, correct=lambda _, run: run == 0))
    assert chart.series[0].x == pytest.approx([5, 1000])
    assert study.points[0].position == "δ = 0.2"  # as titles and captions say it
    assert chart.series[0].y == pytest.approx([101.5 - 10 * np.log10(0.2), 131.5])
    assert (chart.x_log, chart.y_log, chart.x_label, chart.y_label) == (True, True, "1/δ", "rounds until the answer")
    assert "Wrong answers: matching-id 2 of 8; clucb 2 of 8." in chart.caption
    assert "Without an answer in time: matching-id 4 of 8; clucb 4 of 8." in chart.caption


def test_charts_of_budgets_show_the_share_of_correct_answers_without_bands():
    study = study_of("sequential-halving", problem={"u": [0.9, 0.3], "v": [0.8, 0.2]}, budget=[30, 120])
    correct = {"rounds": lambda at, run: at["budget"], "correct": lambda at, run: run < at["budget"] / 40}
    (chart,) = charts_of(study, runs_of(study, **correct))
    assert (chart.series[0].y.tolist(), chart.series[0].low, chart.y_log) == ([0.25, 0.75], None, False)
    assert chart.y_range[0] < 0 < 1 < chart.y_range[1]  # markers at the ends are seen whole


def test_charts_of_an_unfinished_study_say_how_few_and_how_many_runs_there_are():
    study = study_of("uts", "pair-elim", gap=[0.5, 0.6])
    runs = runs_of(study, regret=lambda at, run, t: run)
    some = runs.select((runs["run"] == 2) | (runs["policy"] == "uts"))
    assert "; 1 to 4 runs, seed 7." in charts_of(study, some)[0].caption
    (single,) = charts_of(study, runs.where(run=2))
    assert "; 1 run, seed 7." in single.caption
    assert {line.low for line in single.series} == {None}


def test_charts_of_pairs_and_matchings_are_apart():
    study = study_of("uts", "cucb", "kl-ucb", gap=[0.5, 0.6])
    charts = charts_of(study, runs_of(study, regret=lambda at, run, t: run))
    assert [labels(chart) for chart in charts] == [["uts", "kl-ucb"], ["cucb"]]
    assert charts[1].title == "it: regret of cucb over gap, one matching per round"
    assert all(chart.caption.endswith(" Policies that play something else are in another chart.") for chart in charts)


@settings(max_examples=20, deadline=None)
@given(
    policies=st.lists(st.sampled_from(["uts", "kl-ucb", "cucb", "pair-elim"]), min_size=1, unique=True),
    sweep=st.fixed_dictionaries(
        {},
        optional={
            "gap": st.just([0.5, 0.6, 0.7]),
            "horizon": st.just([20, 50]),
            "pair-elim.growth": st.just([2.0, 3.0, 4.0]),
        },
    ),
    rounds=st.sampled_from([(100,), (1, 100), (1, 2, 4, 8, 16)]),
)
def test_charts_of_any_study_show_every_point(policies, sweep, rounds):
    sweep = {key: values for key, values in sweep.items() if key != "pair-elim.growth" or "pair-elim" in policies}
    study = study_of(*policies, runs=2, **sweep)
    number = {str({"policy": point.policy["name"], **point.sweep}): at for at, point in enumerate(study.points, 1)}
    charts = charts_of(study, runs_of(study, rounds, regret=lambda at, run, t: number[str(at)]))
    assert {float(y) for chart in charts for line in chart.series for y in line.y} == {*map(float, number.values())}
    assert len({chart.name for chart in charts}) == len(charts)
