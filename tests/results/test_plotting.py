from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.figures import styles_of
from matchbandit.policies.capabilities import Capabilities
from matchbandit.results.plotting import MAX_SINGLE_RUNS, chart_of
from matchbandit.results.proofs import is_proved

SLOTS = {"kind": "bipartite", "u": [0.9, 0.3], "v": [0.8, 0.2], "rewards": {"name": "bernoulli"}}
PRODUCT = mb.Means([[0.72, 0.36], [0.18, 0.09]]).describe()
NO_PRODUCT = mb.Means([[0.8, 0.2], [0.1, 0.7]]).describe()


def about(policy="uts", *, problem=None, seed=7, runs=3, **more):
    parts = {"options": {}, "selection": "pair", "engine": "loop", "graph": {"kind": "bipartite", "shape": [2, 2]}}
    return {"problem": problem or SLOTS, "policy": policy, "runs": runs, "seed": seed} | parts | more


def regrets(policy="uts", scale=1.0, *, count=3, rounds=(1, 10, 100), **more):
    regret = scale * np.outer(np.arange(1.0, count + 1), np.sqrt(rounds))
    return mb.Runs(
        about(policy, runs=count, horizon=rounds[-1], **more), np.array(rounds), regret, *np.zeros((2, count, 4))
    )


def answers(policy="pair-elim", rounds=(10, 20, 30), *, delta=0.05, identified=None, correct=None, **more):
    rounds = np.array(rounds)
    done = np.ones(len(rounds), bool) if identified is None else np.array(identified)
    return mb.Identification(
        about(policy, runs=len(rounds), options={"delta": delta} if delta else {}, answers="pair", **more),
        rounds, rounds, done, done if correct is None else np.array(correct), np.zeros((len(rounds), 1, 2), int),
    )  # fmt: skip


def test_chart_of_runs_is_mean_and_band_over_the_rounds():
    chart = chart_of(regrets())
    (line,) = chart.series
    assert (line.label, line.key, line.kind) == ("uts", "uts", "line")
    assert line.x.tolist() == [1, 10, 100]
    assert np.allclose(line.y, 2 * np.sqrt([1, 10, 100]))
    assert np.allclose(line.low, np.percentile([1, 2, 3], 5) * np.sqrt([1, 10, 100]))
    assert np.allclose(line.high, np.percentile([1, 2, 3], 95) * np.sqrt([1, 10, 100]))
    assert (chart.x_label, chart.y_label, chart.title) == ("round", "regret", "Regret of uts")
    assert "3 runs; seed 7." in chart.caption
    single = chart_of(regrets(count=1))
    assert single.series[0].low is single.series[0].high is None
    assert "band" not in single.caption


def test_chart_of_chooses_axes_by_the_numbers_unless_they_are_given():
    assert chart_of(regrets()).x_log
    assert not chart_of(regrets(rounds=(25, 50, 75, 100))).x_log
    assert not chart_of([regrets(), regrets("escb", 20)]).y_log
    assert chart_of([regrets(), regrets("escb", 40)]).y_log
    assert chart_of([regrets(), regrets("escb", 40), regrets("uniform", 0)]).y_log  # the axis marks zeros at its foot
    assert not chart_of([regrets("uniform", 0)]).y_log
    given = chart_of([regrets(), regrets("escb", 40)], x_log=False, y_log=False, title="Mine", name="n")
    assert (given.x_log, given.y_log, given.title, given.name) == (False, False, "Mine", "n")


class Unproved(mb.Policy):
    capabilities = Capabilities(selections=("pair",))


class Proved(mb.Policy):
    capabilities = Capabilities(selections=("pair",), proved=("regret",))


def test_chart_of_policies_without_a_proof_has_hollow_markers_and_says_so():
    names = [f"{__name__}:{name}" for name in ("Unproved", "Proved", "Missing")]
    chart = chart_of([regrets(name) for name in ("uts", "rank1-thompson", *names, "another_module:Proved", "mine")])
    assert [line.is_hollow for line in chart.series] == [False, True, True, False, True, True, True]
    assert "Empty markers: no proof of its regret." in chart.caption
    assert not is_proved(names[1], "identification")


def test_chart_of_a_problem_that_breaks_the_assumption_shows_nothing_as_proved():
    for problem, is_broken in ((SLOTS, False), (PRODUCT, False), (NO_PRODUCT, True)):
        results = [answers("rank1-certify", problem=problem), answers("clucb", problem=problem)]
        for chart in (chart_of(results), chart_of([*results, answers("rank1-certify", delta=0.1, problem=problem)])):
            certify, clucb = (line for line in chart.series if line.kind != "cloud")
            assert (certify.is_hollow, clucb.is_hollow) == (is_broken, False)
            looks = dict(zip((line.label for line in chart.series), styles_of(chart), strict=True))
            assert looks["rank1-certify"].dash == ("dashed" if is_broken else "solid")
            words = "The means of this problem are not products of strengths, as rank1-certify assumes."
            assert (words in chart.caption) == is_broken
    broken = chart_of(answers("rank1-certify", problem=NO_PRODUCT))
    assert "Empty markers: no proof of its answers." in broken.caption


def test_chart_of_several_options_names_them_as_a_comparison_and_shares_the_colour():
    growths = [regrets("pair-elim", options={"growth": g, "cap_windows": False}) for g in (1.05, 4)]
    results = [*growths, regrets("uts")]
    labels = ["pair-elim, growth = 1.05", "pair-elim, growth = 4", "uts"]
    chart = mb.Comparison(tuple(results)).chart()
    assert labels == [line.label for line in chart.series]
    assert [line.key for line in chart.series] == ["pair-elim", "pair-elim", "uts"]
    first, second, _ = styles_of(chart)
    assert first.colour == second.colour
    assert first.dash != second.dash


def test_chart_of_identifications_is_a_row_of_runs_with_their_mean_and_range():
    clucb = answers("clucb", [100, 200, 900, 300], identified=[1, 1, 0, 1], correct=[1, 0, 0, 1])
    clucb = replace(clucb, identified=clucb.identified > 0, correct=clucb.correct > 0)
    chart = chart_of([answers(), clucb])
    assert chart.categories == ("pair-elim", "clucb")
    clouds = [line for line in chart.series if line.kind == "cloud"]
    assert [(line.y.tolist(), line.is_hollow) for line in clouds] == [
        ([10, 20, 30], False),
        ([100, 200, 300], False),
        ([900], True),
    ]
    assert all(abs(line.x - at).max() < 0.3 for line, at in zip(clouds, (0, 1, 1), strict=True))
    means = [line for line in chart.series if line.kind == "points"]
    assert [(line.x.tolist(), line.y.tolist()) for line in means] == [([0], [20]), ([1], [375])]
    assert means[0].low.tolist() == [np.percentile([10, 20, 30], 5)]
    assert chart.y_log
    for words in ("δ = 0.05", "Wrong answers: clucb 1 of 4.", "Without an answer in time: clucb 1 of 4."):
        assert words in chart.caption
    assert chart.numbers()[1][0] == ("pair-elim", "20 (11 to 29)")


def test_chart_of_many_runs_draws_some_of_them_one_by_one_but_averages_all():
    chart = chart_of(answers(rounds=np.arange(1, 1001)))
    assert [len(line.x) for line in chart.series] == [MAX_SINGLE_RUNS, 1]
    assert chart.series[1].y.tolist() == [500.5]


def test_chart_of_a_policy_at_several_delta_is_drawn_over_them():
    results = [answers(delta=d, rounds=[k, 3 * k]) for d, k in ((0.01, 20), (0.1, 10))]
    chart = chart_of([*results, answers("track-and-stop", [5, 7], delta=0.1)])
    assert [line.label for line in chart.series] == ["pair-elim", "track-and-stop"]
    assert (chart.x_label, chart.x_log, chart.y_log, chart.categories) == ("1/δ", True, True, ())
    assert np.allclose(chart.series[0].x, [10, 100])
    assert chart.series[0].y.tolist() == [20, 40]
    assert [line.is_hollow for line in chart.series] == [False, True]
    assert chart_of(results).title == "Rounds until the answer of pair-elim"
    assert chart_of([answers("mine", delta=None), answers()]).categories == ("mine", "pair-elim, delta = 0.05")


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([], "the list of results is empty"),
        ([1], r"results of simulate, identify or compare; got 1\."),
        ("uts", "results of simulate, identify or compare; got 'uts'"),
        ([regrets(), answers()], "do not share a picture"),
        ([regrets(options={"gamma": g}) for g in range(13)], r"12 distinguishable lines; .* make 13\. .*select"),
        ([answers(f"mine-{k}", delta=d) for k in range(13) for d in (0.1, 0.01)], r"make 13\."),
    ],
)
def test_chart_of_what_cannot_be_drawn_is_refused(results, words):
    with pytest.raises(MatchbanditError, match=words):
        chart_of(results)


def test_plot_draws_any_result_on_the_axes_that_are_given():
    runs = regrets()
    for results in (runs, mb.Comparison((runs,)), [runs]):
        ax = Figure().add_subplot()
        assert mb.plot(results, ax, title="Mine", x_log=False) is ax
        assert (ax.get_title(), ax.get_xscale()) == ("Mine", "linear")
        assert ax.lines[0].get_ydata().tolist() == runs.summary()["mean"]
    assert runs.plot(ax, y_log=True) is ax
    assert ax.get_yscale() == "log"


def test_chart_of_different_tasks_says_who_plays_or_seeks_what():
    chart = chart_of([regrets(), regrets("cucb", selection="matching"), regrets("kl-ucb")])
    assert chart.caption.endswith(
        " Not the same question: one pair per round for uts, kl-ucb; one matching per round for cucb."
    )
    both = [answers(), replace(answers("x"), about=replace(answers("x").about, answers="matching"))]
    assert chart_of(both).caption.endswith(" the best pair for pair-elim; the best matching for x.")
    assert "question" not in chart_of([answers(), answers("x")]).caption
