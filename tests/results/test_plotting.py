from dataclasses import replace

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.figures import styles_of
from matchbandit.policies.capabilities import Capabilities
from matchbandit.results.plotting import MAX_SINGLE_RUNS, chart_of, has_proof, labels_of

SLOTS = {"kind": "bipartite", "u": [0.9, 0.3], "v": [0.8, 0.2], "rewards": {"name": "bernoulli"}}


def about(policy="uts", *, problem=None, seed=7, runs=3, **more):
    parts = {"options": {}, "selection": "pair", "engine": "loop", "graph": {"kind": "bipartite", "shape": [2, 2]}}
    return {"problem": problem or SLOTS, "policy": policy, "runs": runs, "seed": seed} | parts | more


def runs(policy="uts", scale=1.0, *, count=3, rounds=(1, 10, 100), **more):
    regret = scale * np.outer(np.arange(1.0, count + 1), np.sqrt(rounds))
    return mb.Runs(
        about(policy, runs=count, horizon=rounds[-1], **more), np.array(rounds), regret, *np.zeros((2, count, 4))
    )


def found(policy="pair-elim", rounds=(10, 20, 30), *, delta=0.05, identified=None, correct=None, **more):
    rounds = np.array(rounds)
    done = np.ones(len(rounds), bool) if identified is None else np.array(identified)
    return mb.Identification(
        about(policy, runs=len(rounds), options={"delta": delta} if delta else {}, answers="pair", **more),
        rounds, rounds, done, done if correct is None else np.array(correct), np.zeros((len(rounds), 1, 2), int),
    )  # fmt: skip


def test_runs_are_drawn_as_mean_and_band_over_the_rounds():
    chart = chart_of(runs())
    (line,) = chart.lines
    assert (line.label, line.key, line.kind) == ("uts", "uts", "line")
    assert line.x.tolist() == [1, 10, 100]
    assert np.allclose(line.y, 2 * np.sqrt([1, 10, 100]))
    assert np.allclose(line.low, np.percentile([1, 2, 3], 5) * np.sqrt([1, 10, 100]))
    assert np.allclose(line.high, np.percentile([1, 2, 3], 95) * np.sqrt([1, 10, 100]))
    assert (chart.x_label, chart.y_label, chart.title) == ("round", "regret", "Regret of uts")
    assert chart.caption == (
        "u = (0.9, 0.3), v = (0.8, 0.2), bernoulli rewards; 3 runs; seed 7. Lines: mean; bands: 5–95 % of the runs."
    )


def test_one_run_has_no_band():
    (line,) = chart_of(runs(count=1)).lines
    assert line.low is line.high is None
    assert "band" not in chart_of(runs(count=1)).caption


def test_axes_are_chosen_by_the_numbers_unless_they_are_given():
    even = (25, 50, 75, 100)
    assert chart_of(runs()).x_log
    assert not chart_of(runs(rounds=even)).x_log
    assert not chart_of([runs(), runs("escb", 20)]).y_log
    assert chart_of([runs(), runs("escb", 40)]).y_log
    assert chart_of([runs(), runs("escb", 40), runs("uniform", 0)]).y_log  # zeros are marked at the foot of the axis
    assert not chart_of([runs("uniform", 0)]).y_log
    given = chart_of([runs(), runs("escb", 40)], x_log=False, y_log=False, title="Mine", name="n")
    assert (given.x_log, given.y_log, given.title, given.name) == (False, False, "Mine", "n")


def test_a_policy_without_a_proof_is_hollow_and_the_caption_says_so():
    chart = chart_of([runs("uts"), runs("rank1-thompson")])
    assert [line.hollow for line in chart.lines] == [False, True]
    assert "Empty markers: no proof of its regret." in chart.caption


class Unproved(mb.Policy):
    capabilities = Capabilities(selections=("pair",))


class Proved(mb.Policy):
    capabilities = Capabilities(selections=("pair",), proved=("regret",))


def test_a_user_defined_policy_has_the_proofs_that_its_class_declares():
    names = [f"{__name__}:{name}" for name in ("Unproved", "Proved", "Missing")]
    chart = chart_of([runs(name) for name in (*names, "another_module:Proved", "mine")])
    assert [line.hollow for line in chart.lines] == [True, False, True, True, True]
    assert not has_proof(names[1], "identification")


def test_results_are_named_as_a_comparison_names_them():
    growths = [runs("pair-elim", options={"growth": g, "cap_windows": False}) for g in (1.05, 4)]
    given = [*growths, runs("uts")]
    labels = ["pair-elim, growth = 1.05", "pair-elim, growth = 4", "uts"]
    assert labels_of(given) == labels == [line.label for line in chart_of(given).lines]
    assert [line.label for line in chart_of(mb.Comparison(tuple(given))).lines] == labels
    assert [line.key for line in chart_of(given).lines] == ["pair-elim", "pair-elim", "uts"]


def test_several_options_share_the_policys_colour():
    chart = chart_of([runs("pair-elim", options={"growth": g}) for g in (1.05, 1.5, 4)])
    looks = styles_of(chart)
    assert len({look.colour for look in looks}) == 1
    assert len({look.dash for look in looks}) == 3


def test_an_identification_is_a_row_of_runs_with_their_mean_and_range():
    results = [found(), found("clucb", [100, 200, 900, 300], identified=[True, True, False, True],
                              correct=[True, False, False, True])]  # fmt: skip
    chart = chart_of(results)
    assert chart.rows == ("pair-elim", "clucb")
    clouds = [line for line in chart.lines if line.kind == "cloud"]
    assert [(line.y.tolist(), line.hollow) for line in clouds] == [
        ([10, 20, 30], False),
        ([100, 200, 300], False),
        ([900], True),
    ]
    assert all(abs(line.x - at).max() < 0.3 for line, at in zip(clouds, (0, 1, 1), strict=True))
    means = [line for line in chart.lines if line.kind == "points"]
    assert [(line.x.tolist(), line.y.tolist(), line.key) for line in means] == [
        ([0], [20], "pair-elim"),
        ([1], [375], "clucb"),
    ]
    assert means[0].low.tolist() == [np.percentile([10, 20, 30], 5)]
    assert means[0].high.tolist() == [np.percentile([10, 20, 30], 95)]
    assert chart.y_log
    words = chart.caption
    assert "δ = 0.05" in words
    assert "Wrong answers: clucb 1 of 4." in words
    assert "Without an answer in time: clucb 1 of 4." in words
    assert chart.numbers()[1][0] == ("pair-elim", "20 (11 to 29)")


def test_many_runs_are_not_all_drawn_one_by_one():
    chart = chart_of(found(rounds=np.arange(1, 1001)))
    assert [len(line.x) for line in chart.lines] == [MAX_SINGLE_RUNS, 1]
    assert chart.lines[1].y.tolist() == [500.5]
    assert "Pale: the first 200 runs" in chart.caption


def test_a_policy_asked_at_several_delta_is_drawn_over_them():
    results = [found(delta=d, rounds=[k, 3 * k]) for d, k in ((0.01, 20), (0.1, 10))]
    chart = chart_of([*results, found("track-and-stop", [5, 7], delta=0.1)])
    assert [line.label for line in chart.lines] == ["pair-elim", "track-and-stop"]
    assert (chart.x_label, chart.x_log, chart.y_log, chart.rows) == ("1/δ", True, True, ())
    assert np.allclose(chart.lines[0].x, [10, 100])
    assert chart.lines[0].y.tolist() == [20, 40]
    assert [line.hollow for line in chart.lines] == [False, True]
    assert "Empty markers: no proof of its answers." in chart.caption
    assert "Empty" not in chart_of(results).caption


def test_answers_without_a_delta_are_drawn_too():
    assert chart_of([found("mine", delta=None), found()]).rows == ("mine", "pair-elim, delta = 0.05")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "the list of results is empty"),
        ([1], r"results of simulate, identify or compare; got 1\."),
        ("uts", "results of simulate, identify or compare; got 'uts'"),
        ({"a": 1}, "results of simulate, identify or compare"),
        ([runs(), found()], "do not share a picture"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(given, words):
    with pytest.raises(mb.MatchbanditError, match=words):
        chart_of(given)


def test_plot_draws_keeps_and_gives_its_numbers(tmp_path):
    results = [
        mb.simulate(mb.Bipartite([0.9, 0.3], [0.9, 0.5]), name, horizon=200, runs=2, seed=1) for name in ("uts",)
    ]
    picture = mb.plot(results, path=tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000
    assert picture.chart.lines[0].y.tolist() == results[0].summary()["mean"]
    assert results[0].plot(title="Mine").chart.title == "Mine"


def test_a_picture_of_one_policy_names_it():
    assert chart_of(runs("kl-ucb")).title == "Regret of kl-ucb"
    assert chart_of([found(delta=d) for d in (0.1, 0.01)]).title == "Rounds until the answer of pair-elim"
    assert chart_of([found("matching-id", delta=d) for d in (0.1, 0.01)] + [found()]).title == "Rounds until the answer"
    assert chart_of(found("matching-id")).rows == ("matching-id",)


def test_more_lines_than_can_be_told_apart_are_refused_with_the_way_out():
    many = [runs(options={"gamma": gamma}) for gamma in range(13)]
    assert len(chart_of(many[:12]).lines) == 12
    message = r"holds 12 distinguishable lines; .* make 13\. .*select\(policy=…\).*study\.plot\("
    with pytest.raises(MatchbanditError, match=message):
        mb.Comparison(tuple(many)).plot()
    over_delta = [found(f"mine-{k}", delta=d) for k in range(13) for d in (0.1, 0.01)]
    with pytest.raises(MatchbanditError, match=r"make 13\."):
        chart_of(over_delta)
    assert len(chart_of([found(f"mine-{k}") for k in range(13)]).rows) == 13


def test_the_caption_says_who_plays_or_seeks_what_if_that_differs():
    assert chart_of([runs(), runs("cucb", selection="matching"), runs("kl-ucb")]).caption.endswith(
        " Not the same question: one pair per round for uts, kl-ucb; one matching per round for cucb."
    )
    both = [found(), replace(found("x"), about=replace(found("x").about, answers="matching"))]
    assert chart_of(both).caption.endswith(" the best pair for pair-elim; the best matching for x.")
    assert "question" not in chart_of([found(), found("x")]).caption + chart_of([runs(), runs("kl-ucb")]).caption
