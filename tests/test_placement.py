import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import matchbandit as mb
from matchbandit.figures import style_of, styles_of
from matchbandit.placement import bounds_chart, lines_of, overlay_of, placement_of
from matchbandit.results.proofs import is_proved

SLOTS = mb.Bipartite([0.9, 0.3, 0.2], [0.9, 0.5, 0.1])
PLAYERS = mb.Monopartite([0.9, 0.8, 0.5, 0.4])


def test_a_line_is_the_bound_at_every_horizon():
    horizons = np.array([10.0, 1e3, 1e6])
    lines = {line.label: line for line in lines_of(SLOTS, {("pair", "pair")}, ["pair-elim"], horizons=horizons)}
    own = lines["pair-elim, Theorem 3.1"]
    at = [next(b for b in mb.bounds(SLOTS, horizon=int(t)) if b.name == "pair-elim-regret") for t in horizons]
    assert (own.kind, own.explicit, own.x) == ("upper", True, horizons.tolist())
    assert own.y == [bound.value for bound in at]
    model = next(line for label, line in lines.items() if "product model" in label)
    assert (model.kind, model.explicit) == ("lower", False)
    assert np.allclose(np.array(model.y) / np.log(horizons), model.y[0] / np.log(10))
    assert "asymptotic" in model.label


def test_only_bounds_on_what_was_played_and_by_whom_are_drawn():
    deltas = np.array([0.1, 0.01])
    goal = {("matching", "matching")}
    labels = [line.label for line in lines_of(PLAYERS, goal, ["matching-id"], deltas=deltas)]
    assert any(label.startswith("matching-id") for label in labels)
    assert not any("pair" in label for label in labels)
    labels = [line.label for line in lines_of(PLAYERS, goal, ["clucb"], deltas=deltas)]
    assert not any(label.startswith("matching-id") for label in labels)
    # Partners are not equal here, so that the theorem on Simple Adaptive Matching does not speak.
    labels = [line.label for line in lines_of(PLAYERS, goal, horizons=np.array([100.0, 1000.0]))]
    assert any("Theorem 4.4" in label for label in labels)
    assert not any("Theorem 4.3" in label for label in labels)


def test_of_the_papers_lower_bounds_the_highest_is_drawn():
    deltas = np.array([0.1, 0.01])
    lower = [line for line in lines_of(PLAYERS, {("pair", "pair")}, deltas=deltas) if line.kind == "lower"]
    known = [b for b in mb.bounds(PLAYERS, delta=0.01) if b.kind == "lower" and (b.plays, b.seeks) == ("pair", "pair")]
    paper = max(b.value for b in known if not b.name.startswith("model"))
    assert len(lower) == 2
    assert {line.y[-1] for line in lower} == {paper, next(b.value for b in known if b.name.startswith("model"))}


def test_results_are_laid_over():
    runs = [mb.simulate(SLOTS, name, horizon=5000, runs=4, seed=2) for name in ("pair-elim", "uts")]
    task, lines, measured = overlay_of(SLOTS, runs)
    assert task == "regret"
    assert [one.label for one in measured] == ["pair-elim", "uts"]
    for one, result in zip(measured, runs, strict=True):
        lost = np.array(result.summary()["mean"]) > 0
        assert one.mean.tolist() == np.array(result.summary()["mean"])[lost].tolist()
        assert one.x[-1] == 5000
    assert max(line.x[-1] for line in lines) == 5000


@pytest.mark.slow
def test_answers_of_a_policy_at_several_deltas_make_one_curve():
    answers = [
        mb.identify(PLAYERS, mb.policy(name, delta=delta), runs=3, seed=1)
        for name, delta in (("matching-id", 0.001), ("matching-id", 0.1), ("rank1-track-and-stop", 0.1))
    ]
    task, lines, (first, second) = overlay_of(PLAYERS, answers)
    assert task == "identification"
    assert (first.label, second.label) == ("matching-id", "rank1-track-and-stop (no proof)")
    assert np.allclose(first.x, [10, 1000])
    assert first.mean.tolist() == [answers[1].rounds.mean(), answers[0].rounds.mean()]
    assert np.isclose(max(lines[0].x), 1000)


def test_what_cannot_be_laid_over_is_refused():
    runs = mb.simulate(SLOTS, "uts", horizon=100)
    answers = mb.identify(SLOTS, mb.policy("pair-elim", delta=0.2), seed=1)
    unfinished = mb.identify(SLOTS, mb.policy("pair-elim", delta=0.2), max_rounds=10)
    fresh = mb.simulate(mb.family("spiked", n=2, u1=0.9, gap=0.75), "uts", horizon=100)
    for problem, results, given, words in (
        (PLAYERS, [runs], {}, "the results of uts are those of another problem"),
        (SLOTS, [fresh], {}, "another problem"),
        (SLOTS, [runs, answers], {}, "do not share a picture"),
        (SLOTS, [runs], {"delta": 0.05}, "do not share a picture"),
        (SLOTS, [answers], {"horizon": 100}, "do not share a picture"),
        (SLOTS, [], {}, "give results to draw, or a horizon or a delta"),
        (SLOTS, [], {"horizon": 100, "delta": 0.1}, "do not share a picture"),
        (SLOTS, [], {"horizon": 1.5}, "horizon must be a whole number"),
        (SLOTS, [], {"delta": 2}, "delta must lie between 0 and 1"),
        (SLOTS, [1], {}, "results are what simulate or identify returned; got 1"),
        (SLOTS, [unfinished], {}, "some runs of pair-elim ended without an answer"),
        (mb.Monopartite([0.5, 0.3]), [], {"delta": 0.1}, "there is nothing to draw"),
    ):
        with pytest.raises(mb.MatchbanditError, match=re.escape(words)):
            overlay_of(problem, results, **given)


def test_the_same_policy_with_other_options_is_another_curve():
    runs = [mb.simulate(SLOTS, mb.policy("pair-elim", growth=g), horizon=500) for g in (4, 1.5)]
    _, lines, measured = overlay_of(SLOTS, runs)
    assert [one.label for one in measured] == ["pair-elim", "pair-elim (growth=1.5)"]
    assert any("Theorem 3.1" in line.label for line in lines)


def test_a_theorem_is_not_drawn_for_options_that_it_does_not_speak_of():
    runs = mb.simulate(SLOTS, mb.policy("pair-elim", growth=16), horizon=500)
    assert not any("Theorem 3.1" in line.label for line in overlay_of(SLOTS, [runs]).lines)
    answers = mb.identify(SLOTS, mb.policy("pair-elim", delta=0.1, growth=2), seed=1)
    assert not any("Theorem 3.2" in line.label for line in overlay_of(SLOTS, [answers]).lines)


@pytest.mark.slow
def test_rounds_of_pairs_and_of_matchings_are_told_apart():
    answers = [
        mb.identify(PLAYERS, mb.policy("clucb", delta=0.1, selection=selection), seed=1)
        for selection in ("pair", "matching")
    ]
    _, lines, measured = overlay_of(PLAYERS, answers)
    assert [one.label for one in measured] == ["clucb, playing pairs", "clucb, playing matchings"]
    labels = [line.label for line in lines]
    assert len(set(labels)) == len(labels)
    assert "T* of the product model, playing pairs" in labels


class Coin(mb.CATALOGUE["uniform"]):
    """A policy of a user's own, which is not in the catalogue and is done after the fifth round."""

    name = "coin"
    capabilities = replace(mb.CATALOGUE["uniform"].capabilities, goals=("identification",))

    def __init__(self, setting, rng, *, selection=None, growth="fast"):
        super().__init__(setting, rng, selection=selection)
        self.options["growth"] = growth

    @property
    def done(self):
        return self.rounds >= 5

    finished = done


class Toss(mb.CATALOGUE["uts"]):
    name = "toss"


def test_a_policy_of_ones_own_has_no_theorem_and_no_proof():
    runs = mb.simulate(SLOTS, Toss, horizon=200)
    assert [one.label for one in overlay_of(SLOTS, [runs]).measured] == ["toss (gamma=2)"]
    placed = placement_of(runs, mb.bounds(SLOTS, horizon=200))
    assert (placed.policy, placed.upper, placed.binding) == ("toss", None, False)
    assert not is_proved("toss", "regret")


@pytest.mark.slow
def test_answers_of_a_policy_without_delta_are_placed_where_one_says():
    answers = mb.identify(SLOTS, Coin, max_rounds=100)
    with pytest.raises(mb.MatchbanditError, match="the results of coin have no error probability"):
        bounds_chart(SLOTS, [answers])
    (measured,) = overlay_of(SLOTS, [answers], delta=0.01).measured
    assert measured.label == "coin (growth=fast) (no proof)"
    assert measured.x.tolist() == [100]


def test_what_has_a_proof_is_what_the_policies_say():
    proved = {name for name in mb.CATALOGUE if is_proved(name, "identification")}
    assert proved >= {"pair-elim", "pair-elim-mono", "pair-select", "matching-id", "clucb"}
    assert not proved & {"track-and-stop", "rank1-track-and-stop", "uniform"}


def test_a_theorem_is_not_held_against_options_that_it_does_not_speak_of():
    slots = mb.Bipartite([0.9, 0.3], [0.9, 0.5])
    known = mb.bounds(slots, horizon=500)
    usual, coarse = (mb.simulate(slots, mb.policy("pair-elim", growth=g), horizon=500) for g in (1.5, 16))
    assert placement_of(usual, known).upper == next(b.value for b in known if b.name == "pair-elim-regret")
    assert placement_of(coarse, known).upper is None
    capped = mb.simulate(slots, mb.policy("pair-elim", cap_windows=True), horizon=500)
    assert placement_of(capped, known).upper is None
    known = mb.bounds(slots, delta=0.1)
    answers = mb.identify(slots, mb.policy("pair-elim", delta=0.1, growth=2), seed=1)
    assert placement_of(answers, known).upper is None
    assert placement_of(answers, known).binding


THEOREMS = {
    # policy: task, options that the theorem covers, options that it does not
    "pair-elim": [
        ("regret", [{}, {"growth": 1.05}, {"growth": 4}], [{"growth": 4.5}, {"cap_windows": True}]),
        ("identification", [{}, {"growth": 4.0}], [{"growth": 2}, {"cap_windows": True}]),
    ],
    "pair-elim-mono": [
        ("regret", [{}, {"growth": 2}], [{"growth": 16}, {"cap_windows": True}]),
        ("identification", [{}], [{"growth": 2}, {"cap_windows": True}]),
    ],
    "pair-select": [("identification", [{}], [{"growth": 2}, {"cap_windows": True}])],
    "matching-id": [("identification", [{}], [{"growth": 2}])],
    "adaptive-matching": [("regret", [{}, {"growth": 4}], [{"growth": 5}, {"clusters": [[0, 1], [2, 3]]}])],
    "simple-adaptive-matching": [("regret", [{}], [{"growth": 5}, {"clusters": [[0, 1], [2, 3]]}])],
    "rank1-certify": [
        ("regret", [{}, {"share": 1 / 16}], [{"share": 0.25}, {"anytime": True}]),
        ("identification", [{}, {"share": 0.5}], []),
    ],
}


def test_a_policy_says_which_options_its_theorem_covers():
    bounds = [
        *mb.bounds(SLOTS, horizon=100, delta=0.1),
        *mb.bounds(PLAYERS, horizon=100, delta=0.1),
    ]
    assert {b.policy for b in bounds if b.kind == "upper" and b.policy and b.stop is None} == set(THEOREMS)
    for name, tasks in THEOREMS.items():
        kind = mb.CATALOGUE[name]
        assert {b.task for b in bounds if b.policy == name and b.stop is None} == {task for task, _, _ in tasks}
        for task, covered, others in tasks:
            defaults = kind.option_defaults()
            for options, expected in [(each, True) for each in covered] + [(each, False) for each in others]:
                mb.policy(name, **options)  # the options exist
                assert kind.capabilities.is_covered(task, {**defaults, **options}) is expected, (name, task, options)


def test_known_clusters_have_no_theorem():
    known = mb.bounds(PLAYERS, horizon=300)
    usual, clustered = (
        mb.simulate(PLAYERS, mb.policy("adaptive-matching", **options), horizon=300)
        for options in ({}, {"clusters": [[0, 1], [2, 3]]})
    )
    assert placement_of(usual, known).upper is not None
    assert placement_of(clustered, known).upper is None


def test_bounds_until_the_first_split_are_not_those_of_a_whole_run():
    six = mb.Monopartite([0.9, 0.8, 0.6, 0.5, 0.3, 0.2])
    known = {bound.name: bound for bound in mb.bounds(six, horizon=300)}
    assert known["split-together"].met
    assert known["split-together"].value < known["adaptive-matching-regret"].value
    placed = placement_of(mb.simulate(six, "adaptive-matching", horizon=300), list(known.values()))
    assert placed.upper == known["adaptive-matching-regret"].value
    labels = [line.label for line in lines_of(six, {("matching", "matching")}, horizons=np.array([100.0, 300.0]))]
    assert not any("Lemma 4.5" in label for label in labels)


def test_a_placement_says_that_its_upper_bound_is_vacuous():
    placed = placement_of(mb.simulate(SLOTS, "pair-elim", horizon=500), mb.bounds(SLOTS, horizon=500))
    assert placed.vacuous
    assert placed.describe()["upper_vacuous"]
    assert (placed.task, placed.of) == ("regret", "regret")
    answers = mb.identify(SLOTS, mb.policy("pair-elim", delta=0.1), seed=1)
    placed = placement_of(answers, mb.bounds(SLOTS, delta=0.1))
    assert not placed.vacuous
    assert (placed.task, placed.of) == ("identification", "rounds")


def test_what_was_known_before_the_start_is_not_bound():
    players = mb.Monopartite([0.9, 0.8, 0.4, 0.3])
    known, cold = mb.bounds(players, delta=0.1), mb.policy("clucb", delta=0.1)
    warm = cold.warm_start(players.graph.pairs, [10**6] * 6, (10**6 * players.means).tolist())
    assert placement_of(mb.identify(players, cold, seed=1), known).binding
    row = placement_of(mb.identify(players, warm, seed=1), known)
    assert row.mean < row.lower
    assert not row.binding


def test_results_are_drawn_over_bounds_in_the_colours_of_their_policies():
    runs = [mb.simulate(SLOTS, name, horizon=5000, runs=4, seed=2) for name in ("pair-elim", "rank1-thompson")]
    overlay, chart = overlay_of(SLOTS, runs), bounds_chart(SLOTS, runs)
    measured = [line for line in chart.series if line.kind == "line"]
    assert [(line.label, line.is_hollow) for line in measured] == [("pair-elim", False), ("rank1-thompson", True)]
    assert [line.key for line in measured] == ["pair-elim", "rank1-thompson"]
    for line, one in zip(measured, overlay.measured, strict=True):
        assert line.y.tolist() == one.mean.tolist()
        assert line.low.tolist() == one.p5.tolist()
    bounds = [line for line in chart.series if line.kind == "reference"]
    assert [(line.label, line.y.tolist()) for line in bounds] == [(f"{b.kind}: {b.label}", b.y) for b in overlay.lines]
    looks = dict(zip((line.label for line in chart.series), styles_of(chart), strict=True))
    own = looks["upper: pair-elim, Theorem 3.1"]
    assert (own.colour, own.dash) == (style_of("pair-elim").colour, "dashed")
    (model,) = [look for label, look in looks.items() if "asymptotic" in label]
    assert model.dash == "dotted"
    assert chart.y_range[0] == min(line.y.min() for line in measured) / 2
    assert "4 runs; seed 2" in chart.caption
    ax = Figure().add_subplot()
    assert mb.plot_bounds(SLOTS, runs, ax) is ax
    assert ax.get_title() == "Regret and its bounds"


def test_rounds_are_drawn_over_one_by_delta_with_all_of_their_bounds():
    answers = [mb.identify(PLAYERS, mb.policy("matching-id", delta=delta), runs=3, seed=1) for delta in (0.1, 0.01)]
    chart = bounds_chart(PLAYERS, answers)
    assert np.allclose(chart.series[0].x, [10, 100])
    assert (chart.x_label, chart.y_label, chart.x_log, chart.y_log) == ("1/δ", "rounds until the answer", True, True)
    assert chart.y_range is None


@pytest.mark.slow
def test_bounds_are_drawn_without_results_too():
    for problem, given in (
        (SLOTS, {"horizon": 1000}),
        (PLAYERS, {"delta": 0.05}),
        (mb.Monopartite([0.9, 0.5, 0.2]), {"delta": 0.05}),
    ):
        chart = bounds_chart(problem, **given)
        assert {line.kind for line in chart.series} == {"reference"}
        assert chart.caption.startswith("u = ")
