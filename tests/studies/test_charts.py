"""The figures of any study, as numbers: made-up rows in, lines, axes and words out."""

import json
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matchbandit as mb
from matchbandit.policies import CATALOGUE
from matchbandit.results import Rows
from matchbandit.studies.charts import charts_of, study_charts

RUNS = 4
TYPES = {"u": pa.list_(pa.float64()), "n": pa.int64(), "gap": pa.float64(), "players": pa.bool_()}


def rows_of(points, *, rounds=(10, 100), regret=lambda policy, place, run, at: 1.0 + run):
    """Rows of regret: every point is (policy, options, place), a dict of columns."""
    parameters = list(dict.fromkeys(key for _, _, place in points for key in place))
    parameters = [key for key in parameters if key not in ("family", "rewards", "horizon")]
    told = []
    for (policy, options, place), run in product(points, range(RUNS)):
        horizon = place.get("horizon") or rounds[-1]
        for at in [*(at for at in rounds if at < horizon), horizon]:
            told.append(
                {
                    "study": "it", "policy": policy, "options": json.dumps(options, sort_keys=True),
                    "family": place.get("family", ""), **{key: place.get(key) for key in parameters},
                    "rewards": place.get("rewards", "bernoulli"), "horizon": horizon, "run": run, "seed": 7,
                    "round": at, "regret": float(regret(policy, {**place, **options}, run, at)),
                }
            )  # fmt: skip
    return table_of(told)


def identified(points, *, rounds, wrong=(), none=()):
    """Rows of identification; `wrong` and `none` are runs without a right answer, and without any."""
    told = [
        {
            "study": "it", "policy": policy, "options": json.dumps(options), "family": place.get("family", ""),
            **{key: value for key, value in place.items() if key not in ("family", "delta")},
            "rewards": "bernoulli", "delta": place.get("delta", 0.1), "run": run, "seed": 7,
            "rounds": int(rounds(policy, place, run)), "pairs": 1, "identified": run not in none,
            "correct": run not in (*none, *wrong),
        }
        for (policy, options, place), run in product(points, range(RUNS))
    ]  # fmt: skip
    return table_of(told)


def table_of(told):
    kinds = {key: TYPES[key] for key in told[0] if key in TYPES}
    columns = {key: pa.array([row[key] for row in told], kinds.get(key)) for key in told[0]}
    return Rows.from_table(pa.table(columns))


def over_gap(policies=("uts", "pair-elim"), gaps=(0.7, 0.5, 0.6), **more):
    return [(policy, {}, {"family": "spiked", "n": 4, "gap": gap, **more}) for policy in policies for gap in gaps]


def labels(chart):
    return [line.label for line in chart.lines]


def test_the_numeric_sweep_is_the_axis_and_every_policy_a_line_with_mean_and_band():
    heights = {"uts": 1.0, "pair-elim": 5.0}
    rows = rows_of(over_gap(), regret=lambda policy, place, run, at: heights[policy] + 10 * place["gap"] + run)
    (chart,) = charts_of(rows, name="gaps")
    assert labels(chart) == ["uts", "pair-elim"]
    assert [line.key for line in chart.lines] == ["uts", "pair-elim"]
    for line in chart.lines:
        runs = np.array([[heights[line.label] + 10 * gap + run for run in range(RUNS)] for gap in (0.5, 0.6, 0.7)])
        assert line.x.tolist() == [0.5, 0.6, 0.7]
        assert line.y == pytest.approx(runs.mean(axis=1))
        assert line.low == pytest.approx(np.percentile(runs, 5, axis=1))
        assert line.high == pytest.approx(np.percentile(runs, 95, axis=1))
    assert (chart.name, chart.title) == ("gaps-over-gap", "gaps: regret over gap")
    assert (chart.x_label, chart.y_label, chart.x_ticks) == ("gap", "regret", (0.5, 0.6, 0.7))
    assert (chart.x_log, chart.y_log) == (False, False)
    assert chart.caption == (
        "family spiked, n = 4, horizon = 100, bernoulli rewards; one pair per round; 4 runs, seed 7. "
        "Lines: mean; bands: 5–95 % of the runs."
    )


def test_only_the_end_of_each_run_counts_along_a_parameter():
    rows = rows_of(over_gap(), regret=lambda policy, place, run, at: at)
    assert charts_of(rows, name="it")[0].lines[0].y.tolist() == [100.0] * 3


def test_without_a_sweep_the_regret_is_drawn_over_the_rounds():
    rows = rows_of(over_gap(gaps=[0.5]), rounds=(1, 10, 100), regret=lambda policy, place, run, at: at + run)
    (chart,) = charts_of(rows, name="it")
    assert chart.lines[1].x.tolist() == [1, 10, 100]
    assert chart.lines[1].y.tolist() == [2.5, 11.5, 101.5]
    assert (chart.x_label, chart.x_log, chart.y_log) == ("round", True, False)
    assert chart.title == "it: regret over the rounds"
    assert "gap = 0.5, horizon = 100" in chart.caption


def test_where_policies_end_far_apart_the_axis_is_logarithmic_and_keeps_rounds_without_a_loss():
    regret = {"uts": lambda at: np.sqrt(at) if at > 1 else 0.0, "pair-elim": lambda at: at * 10.0}
    rows = rows_of(over_gap(gaps=[0.5]), rounds=(1, 10, 100), regret=lambda policy, place, run, at: regret[policy](at))
    (chart,) = charts_of(rows, name="it")
    assert chart.y_log
    assert [line.x.tolist() for line in chart.lines] == [[1, 10, 100], [1, 10, 100]]
    assert all(len(line.low) == len(line.high) == len(line.y) for line in chart.lines)


@pytest.mark.parametrize(("factor", "log"), [(29, False), (31, True), (0, False)])
def test_means_that_span_more_than_a_factor_thirty_are_on_a_log_axis(factor, log):
    scale = {"uts": 2.0, "pair-elim": 2.0 * factor}
    rows = rows_of(over_gap(), regret=lambda policy, place, run, at: scale[policy])
    assert charts_of(rows, name="it")[0].y_log is log


def test_the_sweep_with_the_most_values_is_the_axis_and_others_are_charts_of_their_own():
    points = [
        ("uts", {}, {"family": "spiked", "gap": gap, "n": n, "horizon": horizon})
        for gap, n, horizon in product((0.5, 0.6), (4, 8, 16), (100, 200))
    ]
    rows = rows_of(points, regret=lambda policy, place, run, at: place["n"] * place["gap"] * place["horizon"])
    charts = charts_of(rows, name="it")
    assert [chart.title for chart in charts] == [
        f"it: regret of uts over n, gap = {gap}, horizon = {horizon}"
        for gap, horizon in product((0.5, 0.6), (100, 200))
    ]
    assert [chart.name for chart in charts] == [f"it-over-n-{k}" for k in (1, 2, 3, 4)]
    for chart, (gap, horizon) in zip(charts, product((0.5, 0.6), (100, 200)), strict=True):
        assert chart.lines[0].y == pytest.approx([n * gap * horizon for n in (4, 8, 16)])


def test_the_axis_can_be_chosen():
    points = [("uts", {}, {"gap": gap, "n": n}) for gap, n in product((0.5, 0.6), (4, 8, 16))]
    rows = rows_of(points, regret=lambda policy, place, run, at: place["gap"] * at)
    over = charts_of(rows, name="it", x="gap")
    assert [chart.title for chart in over] == [f"it: regret of uts over gap, n = {n}" for n in (4, 8, 16)]
    assert len(charts_of(rows, name="it", x="round")) == 6
    with pytest.raises(mb.MatchbanditError, match="unknown x 'gab'; did you mean 'gap'"):
        charts_of(rows, name="it", x="gab")
    with pytest.raises(mb.MatchbanditError, match="x must be a sweep of numbers; family is not one"):
        charts_of(rows, name="it", x="family")


def test_options_that_vary_are_lines_of_their_own():
    policies = [("uts", {"gamma": 2}), *(("pair-elim", {"cap": False, "growth": growth}) for growth in (1.05, 4.0))]
    points = [(*policy, {"gap": gap}) for policy in policies for gap in (0.5, 0.6)]
    rows = rows_of(points, regret=lambda policy, place, run, at: place.get("growth", 0.0))
    (chart,) = charts_of(rows, name="it")
    assert labels(chart) == ["uts", "pair-elim, growth = 1.05", "pair-elim, growth = 4"]
    assert [line.y[0] for line in chart.lines] == [0.0, 1.05, 4.0]
    assert [line.key for line in chart.lines] == ["uts", "pair-elim", "pair-elim"]


def test_many_variants_of_a_policy_have_colours_of_their_own():
    points = [("pair-elim", {"growth": growth}, {"gap": gap}) for growth in (1.1, 2.0, 3.0, 4.0) for gap in (0.5, 0.6)]
    (chart,) = charts_of(rows_of(points), name="it")
    assert [line.key for line in chart.lines] == labels(chart)
    assert len(set(labels(chart))) == 4


def test_an_option_is_the_axis_when_it_is_the_only_sweep():
    points = [("pair-elim", {"cap": cap, "growth": growth}, {}) for cap in (False, True) for growth in (4.0, 1.5, 2.0)]
    points.append(("uts", {"gamma": 2}, {}))
    rows = rows_of(
        points, regret=lambda policy, place, run, at: 2 * place.get("growth", 30) + place.get("cap", 0) + run
    )
    (chart,) = charts_of(rows, name="it")
    assert labels(chart) == ["pair-elim, cap = false", "pair-elim, cap = true", "uts"]
    plain, capped, level = chart.lines
    assert plain.x.tolist() == capped.x.tolist() == [1.5, 2.0, 4.0]
    assert plain.y.tolist() == [4.5, 5.5, 9.5]
    assert capped.y.tolist() == [5.5, 6.5, 10.5]
    assert (level.kind, level.x.tolist(), level.y.tolist()) == ("reference", [1.5, 4.0], [61.5, 61.5])
    assert chart.x_label == "growth"


def test_two_values_of_an_option_are_two_lines_unless_it_is_asked_for():
    points = [("pair-elim", {"growth": growth}, {}) for growth in (1.05, 4.0)]
    rows = rows_of(points)
    assert charts_of(rows, name="it")[0].x_label == "round"
    assert charts_of(rows, name="it", x="growth")[0].lines[0].x.tolist() == [1.05, 4.0]
    assert charts_of(rows, name="it", x="pair-elim.growth")[0].lines[0].x.tolist() == [1.05, 4.0]


def test_one_chart_over_the_rounds_stands_beside_those_over_a_parameter():
    rows = rows_of(over_gap(), rounds=(1, 2, 4, 8, 16), regret=lambda policy, place, run, at: at * place["gap"])
    over, time = charts_of(rows, name="it")
    assert over.x_label == "gap"
    assert time.title == "it: regret over the rounds, gap = 0.6"
    assert time.lines[0].y == pytest.approx(0.6 * np.array([1, 2, 4, 8, 16]))
    assert len(charts_of(rows, name="it", x="gap")) == 1


def test_problems_of_several_kinds_have_charts_of_their_own():
    points = [
        *over_gap(["uts"]),
        ("uts", {}, {"u": (0.9, 0.3)}),
        ("uts", {}, {"u": (0.9, 0.3), "rewards": "gaussian:0.5"}),
    ]
    charts = charts_of(rows_of(points), name="it")
    assert [chart.title for chart in charts] == [
        "it: regret of uts over gap, family spiked",
        "it: regret of uts over the rounds, no family, bernoulli rewards",
        "it: regret of uts over the rounds, no family, gaussian:0.5 rewards",
    ]
    assert "u = 0.9 0.3, horizon = 100, gaussian:0.5 rewards;" in charts[2].caption
    assert "n = 4" in charts[0].caption


def test_what_a_problem_has_not_is_not_told_of_it():
    points = [("uts", {}, {"u": (0.9, 0.1)}), ("uts", {}, {"family": "spiked", "n": 4, "gap": 0.5})]
    points += [("uts", {}, {"players": True})]
    assert not any("none" in chart.title + chart.caption for chart in charts_of(rows_of(points), name="it"))


def test_an_axis_that_only_some_problems_have_is_drawn_for_those():
    points = [*over_gap(["uts"]), ("uts", {}, {"u": (0.9, 0.3)})]
    (chart,) = charts_of(rows_of(points), name="it", x="gap")
    assert chart.title == "it: regret of uts over gap, family spiked"
    chosen = [("uts", {"share": share}, {"u": (share,)}) for share in (0.2, 0.3)]  # by the policy, for each problem
    with pytest.raises(mb.MatchbanditError, match="share does not vary where all else is the same"):
        charts_of(rows_of(chosen), name="it", x="share")


def test_no_chart_is_dropped_however_many_there_are():
    points = [("uts", {}, {"gap": 0.5 + gap / 100, "n": n}) for gap in range(20) for n in range(15)]
    charts = charts_of(rows_of(points, rounds=(10,)), name="it")
    assert [chart.title for chart in charts] == [f"it: regret of uts over gap, n = {n}" for n in range(15)]


def test_every_point_of_the_sweep_has_curves_over_the_rounds():
    points = [("uts", {}, {"gap": gap, "n": n}) for n in (4, 8) for gap in (0.7, 0.5, 0.6)]
    rows = rows_of(
        points, rounds=(1, 2, 4, 8, 16), regret=lambda policy, place, run, at: at * place["gap"] * place["n"]
    )
    charts = study_charts(rows, name="it")
    assert [label for label, _ in charts.over_sweep] == ["n = 4", "n = 8"]
    pairs = [(n, gap) for n in (4, 8) for gap in (0.5, 0.6, 0.7)]
    assert [label for label, _ in charts.over_rounds] == [f"n = {n}, gap = {gap}" for n, gap in pairs]
    for (n, gap), (_, chart) in zip(pairs, charts.over_rounds, strict=True):
        assert chart.lines[0].y == pytest.approx(n * gap * np.array([1, 2, 4, 8, 16]))
    every = [chart.name for _, chart in (*charts.over_sweep, *charts.over_rounds)]
    assert len({*every}) == len(every)
    assert study_charts(rows_of(over_gap()), name="it").over_rounds == ()  # two checkpoints are not a curve


def test_rounds_until_the_answer_are_on_a_log_axis_with_the_wrong_ones_counted():
    points = [(policy, {}, {"delta": delta}) for policy in ("matching-id", "clucb") for delta in (0.1, 1e-3, 1e-5)]
    rows = identified(
        points, rounds=lambda policy, place, run: 100 + run - 10 * np.log10(place["delta"]), wrong=[1], none=[2, 3]
    )
    (chart,) = charts_of(rows, name="it")
    assert chart.lines[0].x == pytest.approx([10, 1e3, 1e5])
    assert chart.lines[0].y.tolist() == [111.5, 131.5, 151.5]
    assert all((line.low < line.y).all() and (line.high > line.y).all() for line in chart.lines)
    assert (chart.x_log, chart.y_log, chart.y_label) == (True, True, "rounds until the answer")
    assert (chart.x_label, chart.title) == ("1/δ", "it: rounds until the answer over 1/δ")
    assert not any(line.hollow for line in chart.lines)
    assert "Wrong answers: matching-id 3 of 12; clucb 3 of 12." in chart.caption
    assert "Without an answer in time: matching-id 6 of 12; clucb 6 of 12." in chart.caption


def test_delta_is_on_a_log_axis_however_near_its_values_are():
    rows = identified([("matching-id", {}, {"delta": d}) for d in (0.2, 0.1)], rounds=lambda policy, place, run: 9)
    assert charts_of(rows, name="it")[0].x_log


def test_identifications_without_a_sweep_are_rows_of_a_chart_that_lies():
    rows = identified([("matching-id", {}, {}), ("clucb", {}, {})], rounds=lambda policy, place, run: len(policy) + run)
    (chart,) = charts_of(rows, name="it")
    assert chart.rows == ("matching-id", "clucb")
    assert [(line.x.tolist(), line.y.tolist(), line.kind) for line in chart.lines] == [
        ([0.0], [12.5], "points"), ([1.0], [6.5], "points"),
    ]  # fmt: skip
    assert chart.caption.endswith("Points: mean; bars: 5–95 % of the runs. No answer was wrong.")
    assert "δ = 0.1" in chart.caption
    with pytest.raises(mb.MatchbanditError, match="unknown x 'round'"):
        charts_of(rows, name="it", x="round")


def test_a_study_of_one_checkpoint_lies_too():
    (chart,) = charts_of(rows_of(over_gap(gaps=[0.5]), rounds=(10,)), name="it")
    assert chart.rows == ("uts", "pair-elim")
    assert chart.title == "it: regret by policy"


def test_long_lists_are_cut_in_words():
    points = [("uts", {}, {"u": tuple(0.01 * k for k in range(50))})]
    (chart,) = charts_of(rows_of(points), name="it")
    assert "u = 0 0.01 0.02" in chart.caption
    assert " …, horizon" in chart.caption
    assert len(chart.caption) < 200


def test_policies_without_a_proof_have_empty_markers_and_so_have_unknown_ones():
    (chart,) = charts_of(rows_of(over_gap(["uts", "rank1-thompson", "mine"])), name="it")
    assert [line.hollow for line in chart.lines] == [False, True, True]
    assert chart.caption.endswith("Empty markers: no proof of its regret.")
    (proved,) = charts_of(rows_of(over_gap(["pair-elim"])), name="it")
    assert proved.caption.endswith("5–95 % of the runs.")


def test_a_single_run_has_no_band():
    (chart,) = charts_of(rows_of(over_gap(["pair-elim"])).where(run=2), name="it")
    assert chart.lines[0].low is None
    assert chart.lines[0].high is None
    assert chart.caption.endswith("1 run, seed 7.")


def test_where_runs_are_missing_the_caption_says_how_few_and_how_many_there_are():
    whole = rows_of(over_gap())
    for missing in ({"policy": "uts", "gap": 0.6}, {"policy": "uts", "gap": 0.7}):
        kept = [whole.where(policy=p, gap=g) for p in ("uts", "pair-elim") for g in (0.5, 0.6, 0.7)]
        kept = [part for part in kept if any(part.distinct(key) != [value] for key, value in missing.items())]
        unfinished = Rows.together([*kept, whole.where(**missing, run=2)])
        over_the_gaps = charts_of(unfinished, name="it")[0]
        assert "; 1 to 4 runs, seed 7." in over_the_gaps.caption
        assert "; 1 to 4 runs, seed 7." in charts_of(unfinished.where(gap=missing["gap"]), name="it")[0].caption
    assert "; 4 runs, seed 7." in charts_of(whole, name="it")[0].caption


def test_no_rows_no_charts():
    rows = rows_of(over_gap()).where(policy="none")
    with pytest.raises(mb.MatchbanditError, match="the study gaps has no rows yet"):
        charts_of(rows, name="gaps")


def test_what_plays_pairs_and_what_plays_matchings_have_charts_of_their_own():
    points = [(policy, {}, {"gap": gap}) for policy in ("uts", "cucb", "kl-ucb") for gap in (0.5, 0.6)]
    both = [("uniform", {"selection": each}, {"gap": gap}) for each in ("pair", "matching") for gap in (0.5, 0.6)]
    pairs, matchings = charts_of(rows_of(points + both), name="it")
    assert (labels(pairs), labels(matchings)) == (["uts", "kl-ucb", "uniform"], ["cucb", "uniform"])
    assert pairs.title == "it: regret over gap, one pair per round"
    assert matchings.title == "it: regret over gap, one matching per round"
    assert "; one matching per round; 4 runs" in matchings.caption
    (alone,) = charts_of(rows_of(points[:2] + points[4:]), name="it")
    assert alone.title == "it: regret over gap"
    assert "; one pair per round; 4 runs" in alone.caption
    assert pairs.caption.endswith(" Policies that play something else are in another chart.")
    assert "something else" not in alone.caption


def test_what_is_sought_not_what_is_played_tells_charts_of_identification_apart():
    points = [
        (policy, {}, {"delta": delta})
        for policy in ("pair-select", "matching-id", "pair-elim")
        for delta in (0.1, 0.01)
    ]
    charts = charts_of(identified(points, rounds=lambda policy, place, run: 10 + run), name="it")
    assert [labels(chart) for chart in charts] == [["pair-select", "matching-id"], ["pair-elim"]]
    assert [chart.title.rpartition(", ")[2] for chart in charts] == ["the best matching", "the best pair"]


def test_a_policy_of_which_nothing_is_known_goes_with_the_others_and_one_that_is_imported_where_it_belongs():
    (chart,) = charts_of(rows_of(over_gap(["uts", "nobody-knows"])), name="it")
    assert labels(chart) == ["uts", "nobody-knows"]
    assert "a round" not in chart.caption

    class Params(CATALOGUE["cucb"]):
        name = "one-of-matchings"

    charts = charts_of(rows_of(over_gap(["uts", Params.name])), name="it")
    assert [labels(chart) for chart in charts] == [["uts"], ["one-of-matchings"]]


def test_a_chart_of_one_policy_names_it():
    (chart,) = charts_of(rows_of(over_gap(["uts"])), name="it")
    assert chart.title == "it: regret of uts over gap"


def test_the_charts_of_a_real_study_are_those_of_its_runs():
    study = mb.Study(
        name="real", horizon=300, runs=3, policies=["uts", "pair-elim"],
        problem={"family": "spiked", "n": 3, "u1": 0.9, "gap": [0.5, 0.7]},
    )  # fmt: skip
    played = {(point.label, point.settings["gap"]): point.play(0, 3) for point in study.points}
    charts = study.charts(Rows.together([runs.rows("real") for runs in played.values()]))
    assert [chart.x_label for chart in charts] == ["gap", "round"]
    for line in charts[0].lines:
        finals = np.array([played[line.label, gap].final for gap in (0.5, 0.7)])
        assert line.y == pytest.approx(finals.mean(axis=1))
        assert line.low == pytest.approx(np.percentile(finals, 5, axis=1))
    for line in charts[1].lines:
        assert line.y[-1] == pytest.approx(played[line.label, 0.7].final.mean())


@settings(max_examples=25, deadline=None)
@given(
    policies=st.lists(st.sampled_from(["uts", "kl-ucb", "mine"]), min_size=1, unique=True),
    growths=st.lists(st.sampled_from([1.05, 2.0, 3.0, 4.0]), max_size=4, unique=True),
    kinds=st.lists(st.sampled_from(["spiked", "staircase", "u", "v"]), min_size=1, unique=True),
    gaps=st.lists(st.sampled_from([0.5, 0.6, 0.7]), min_size=1, unique=True),
    horizons=st.lists(st.sampled_from([20, 50, 100]), min_size=1, unique=True),
    rewards=st.lists(st.sampled_from(["bernoulli", "gaussian:0.5"]), min_size=1, unique=True),
    rounds=st.sampled_from([(100,), (1, 100), (1, 2, 4, 8, 16)]),
)
def test_every_point_of_any_study_is_in_some_chart(policies, growths, kinds, gaps, horizons, rewards, rounds):
    variants = [*((policy, {}) for policy in policies), *(("pair-elim", {"growth": growth}) for growth in growths)]
    problems = {
        "spiked": [{"family": "spiked", "gap": gap, "n": 4} for gap in gaps],
        "staircase": [{"family": "staircase", "n": n} for n in (2, 3)],
        "u": [{"u": (0.9, 0.3)}],
        "v": [{"u": (0.9, 0.3, 0.1)}],
    }
    points = [
        (*variant, {**problem, "horizon": horizon, "rewards": law})
        for variant, kind, horizon, law in product(variants, kinds, horizons, rewards)
        for problem in problems[kind]
    ]

    def named(policy, settings_there):
        return json.dumps([policy, settings_there], sort_keys=True)

    number = {named(policy, {**place, **options}): k + 1.0 for k, (policy, options, place) in enumerate(points)}
    rows = rows_of(points, rounds=rounds, regret=lambda policy, place, run, at: number[named(policy, place)])
    charts = charts_of(rows, name="it")
    assert charts
    assert len({chart.name for chart in charts}) == len(charts)
    assert all(len(line.x) == len(line.y) > 0 and np.isfinite(line.y).all() for chart in charts for line in chart.lines)
    shown = {float(y) for chart in charts for line in chart.lines for y in line.y}
    assert shown == set(number.values())
