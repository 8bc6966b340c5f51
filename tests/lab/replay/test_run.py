"""Policies compared by a log: what is distinguished, what is not, how often the bands hold, and what is refused."""

from functools import cache

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.lab.replay import AS_BEFORE, propose
from matchbandit.past_results import PastResults
from matchbandit.results.statistics import average_out_noise, simultaneous_bands

STRONG = mb.Monopartite([0.95, 0.9, 0.5, 0.45, 0.2, 0.15])
DUETS = mb.Means([[0, 0.2, 0.9, 0.3], [0.2, 0, 0.3, 0.9], [0.9, 0.3, 0, 0.85], [0.3, 0.9, 0.85, 0]], players=True)
LOG = [("ann", "bob", 9, 5), ("bob", "cem", 9, 3), ("ann", "cem", 9, 4), ("cem", "dan", 9, 1)]


def log_of(problem, plays, seed=0):
    """Every pair so often."""
    two, counts = problem.graph.is_bipartite, np.full(problem.graph.n_pairs, plays)
    sums = problem.rewards.sums(problem.means, counts, np.random.default_rng(seed)).tolist()
    names = [(f"row {i}" if two else f"p{i}", f"column {j}" if two else f"p{j}") for i, j in problem.graph.pairs]
    return PastResults.from_rows([(*pair, plays, total) for pair, total in zip(names, sums, strict=True)])


@cache
def replayed():
    """A log that says much, of strengths that are far apart."""
    return mb.replay(log_of(STRONG, 40), ["rank1-thompson", "uniform"], horizon=60, runs=60, seed=1)


def test_replay_of_a_long_log_ranks_who_learns_first():
    assert replayed().labels == ("rank1-thompson", "uniform (cold)", AS_BEFORE)
    assert replayed().ranking[0].label == "rank1-thompson"
    assert [each.ranks for each in replayed().ranking] == [(1, 1), (2, 3), (2, 3)]
    assert replayed().verdict == "rank1-thompson earns most, by this log."
    # What uniform earns in truth is known: 60 rounds of three pairs of the average mean. So is what the best can.
    average, best = 60 * 3 * STRONG.means.mean(), 60 * STRONG.optimum("matching")
    assert all(each.low < average < each.high for each in replayed().ranking[1:])
    assert 0.9 * best < replayed().ranking[0].reward < best + 10
    behind = replayed().difference("rank1-thompson", "uniform (cold)")
    assert 0 < behind.low < best - average < behind.high + 5


def test_rewards_and_differences_are_those_of_the_truth_of_each_run():
    rewards, labels = replayed().rewards, ("rank1-thompson", AS_BEFORE)
    runs = replayed().comparison["rank1-thompson"]
    for run in (0, 1, 59):
        truth = replayed().truths.truths[run // 2]
        reward = rewards["rank1-thompson"][run // 2, run % 2]
        assert reward == pytest.approx(60 * truth.optimum("matching") - runs.final[run])
    one, other = replayed().difference(*labels), replayed().difference(*reversed(labels))
    assert one == (-other.mean, -other.high, -other.low, -other.single_high, -other.single_low)
    assert one.mean == pytest.approx((rewards[labels[0]] - rewards[labels[1]]).mean())
    # A truth that pays much pays both much: their difference is known better than either.
    bands = [simultaneous_bands(average_out_noise(rewards[label])[None, :])[0] for label in labels]
    assert one.high - one.low < sum(high - low for _, low, high in bands)
    for pair in (("uts", AS_BEFORE), (AS_BEFORE, AS_BEFORE)):
        with pytest.raises(mb.MatchbanditError):
            replayed().difference(*pair)


def test_replay_of_means_that_are_no_products_notices():
    log, policies = log_of(DUETS, 60), ["rank1-thompson", "cts-beta"]
    auto, product = (mb.replay(log, policies, horizon=60, runs=40, seed=1, truth=each) for each in ("auto", "product"))
    assert auto.product < 1e-6
    assert auto.difference("cts-beta", "rank1-thompson").low > 0
    assert product.product is None
    assert product.difference("cts-beta", "rank1-thompson").low < 0
    assert product.assumption.startswith("All means are taken to be products of strengths (product_fit: p = 0.0")


def test_replay_of_a_short_log_leaves_the_best_open():
    short = mb.replay(log_of(mb.Monopartite([0.7, 0.6, 0.6, 0.5]), 2), ["rank1-thompson", "cucb"], horizon=50, runs=40)
    assert not short.difference("rank1-thompson", "cucb").is_distinguishable
    assert short.verdict.startswith("This log cannot tell which ")


def test_replay_labels_say_what_differs_and_how_policies_begin():
    names = ["rank1-thompson", mb.policy("rank1-thompson", half_life=50), "adaptive-matching"]
    both = mb.replay(log_of(STRONG, 20), names, horizon=30, runs=40, start="both")
    short, long = "rank1-thompson, half_life = 50", "rank1-thompson, half_life = none"
    started = {f"{label} ({start})" for label in (short, long) for start in ("warm", "cold")}
    assert {*both.labels} == started | {"adaptive-matching (cold)", AS_BEFORE}
    assert both.difference(f"{long} (warm)", f"{long} (cold)").mean > 0
    cold = mb.replay(log_of(STRONG, 20), names, horizon=30, runs=40, start="cold")
    assert cold.labels == (long, short, "adaptive-matching", AS_BEFORE)
    assert (cold.rewards[long] == both.rewards[f"{long} (cold)"]).all()


def test_replay_of_one_dominant_pair_plays_it_once_a_round():
    # 120 results, of which 100 are of the matching ab + cd and 20 of ac + bd: so often each is played.
    log = PastResults.from_rows([("a", "b", 90, 73), ("c", "d", 10, 0), ("a", "c", 10, 2), ("b", "d", 10, 2)])
    done = mb.replay(log, ["rank1-thompson"], horizon=60, runs=40)
    ab, ac, _, _, bd, cd = np.array([truth.means for truth in done.truths.truths]).T
    np.testing.assert_allclose(done.rewards[AS_BEFORE][:, 0], 50 * (ab + cd) + 10 * (ac + bd), rtol=1e-4)
    assert any("as far as matchings allow (67 %" in note for note in done.notes)
    assert "2 of 6 pairs never met: what they would earn comes from the other results of their items." in done.notes


@pytest.mark.parametrize("what", ["differences", "rewards", "rounds"])
def test_chart_names_the_assumption_and_shows_the_numbers(what):
    chart = replayed().chart(what)
    assert replayed().assumption in chart.caption
    values = {line.label: line.y[-1] for line in chart.series}
    if what == "differences":
        expected = {each.label: each.behind.mean for each in replayed().ranking[1:]}
    elif what == "rewards":
        expected = {each.label: each.reward for each in replayed().ranking}
    else:
        expected = {label: replayed().comparison.results[k].final.mean() for k, label in enumerate(values)}
    assert values == pytest.approx(expected)
    assert all((line.low <= line.high).all() for line in chart.series)


def test_replay_is_shown_with_escaped_names():
    log = PastResults.from_rows([(a, b, 20, 10) for a in "xy" for b in "zw"], sides=("<i>", "slots"), kind="sides")
    page = mb.replay(log, ["uniform"], horizon=5, runs=40)._repr_html_()
    assert "&lt;i&gt;" in page
    assert "<i>" not in page


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([("ann", "bob", 100, 50)], {}, "the log has one pair only, ann and bob"),
        ([("a", "b", 1), ("b", "c", 0), ("c", "d", 1)], {}, "3 results of 4 items: too little .* at least 6 results"),
        ([(f"p{i}", f"p{i + 1}", 1) for i in range(400)], {}, "299 results of 300 items of 401, those .* at least 450"),
        ([("a", "b", 1), ("b", "c", 7)] * 5, {}, "the log, row 2: the reward 7 is neither 0 nor 1"),
        ([("a", "b", 0.25), ("b", "c", 0.5)] * 5, {}, r"reward 0\.25 .* differ by a standard deviation of 0\."),
        ([("a", "b", 0.25), ("b", "c", 1)] * 5, {"rewards": mb.Binomial(2)}, r"row 1: .* are 0, 0\.5 or 1; got 0\.25"),
        (LOG, {"policies": "rank1-thompson"}, "replay takes a list of policies; got 'rank1-thompson'"),
        (LOG, {"policies": ["cucb", "cucb"]}, r"policy\('cucb'\) is there twice"),
        (LOG, {"policies": ["kl-ucb", "cucb"]}, r"same task: policy\('kl-ucb'\) plays a pair; .* plays a matching"),
        (LOG, {"policies": ["kl-ucb"], "selection": "matching"}, "here a matching .*kl-ucb.* plays a pair. Replay"),
        (LOG, {"start": "hot"}, "unknown start 'hot'"),
        (LOG, {"truth": "rank-2"}, "unknown truth 'rank-2'"),
        (LOG, {"runs": 10}, "runs must be a whole number, at least 40; got 10. Bands need that many"),
        (LOG, {"policies": [mb.policy("cucb").warm_start([(0, 1)], [1], [1])]}, "cucb has a warm start of its own"),
    ],
)
def test_replay_refuses_what_cannot_be_replayed(rows, options, words):
    settings = {"policies": ["rank1-thompson"], "horizon": 10, "runs": 40, **options}
    with pytest.raises(mb.MatchbanditError, match=words):
        mb.replay(PastResults.from_rows(rows), settings.pop("policies"), **settings)


@pytest.mark.slow
def test_replay_of_more_than_300_items_says_what_is_left_out():
    log = PastResults.from_rows([(f"p{i}", f"p{(i * k) % 307}", 2, 1) for i in range(1, 307) for k in (2, 3)])
    done = mb.replay(log, ["uniform"], horizon=2, runs=40)
    assert done.notes[0].startswith("Left out: 6 of 306 items, those with the fewest results, and ")
    assert "among more than 100 items nothing else is considered" in done.assumption
    for truth, earned in zip(done.truths.truths, done.rewards[AS_BEFORE], strict=True):
        assert earned[0] <= 2 * truth.optimum("matching")


def test_propose_shares_and_averages_are_those_of_the_log():
    rows = [("ann", "bob", 90, 80), ("ann", "cem", 40, 8), ("bob", "cem", 40, 9), ("cem", "dan", 40, 1)]
    proposed = propose(PastResults.from_rows(rows), "rank1-thompson", draws=50, seed=1)
    assert sorted(proposed.pairs) == proposed.best == [("ann", "bob"), ("cem", "dan")]
    assert proposed.shares["ann", "bob"] > 0.8
    assert sum(proposed.shares.values()) == pytest.approx(2)  # two pairs each time
    assert proposed.seen["ann", "bob"] == (90, 80 / 90)
    assert {*propose(PastResults.from_rows(rows), "cucb", draws=3).shares.values()} == {1.0}  # nothing is drawn
    with pytest.raises(mb.MatchbanditError, match="adaptive-matching samples by a schedule of its own"):
        propose(PastResults.from_rows(rows), "adaptive-matching")


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["rank1-thompson", "uniform"])
def test_bands_hold_the_true_differences_in_nine_logs_of_ten(policy):
    """Sixty truths and logs, of a policy that learns or not; `docs/make/replay.py` measures more of them."""
    labels, held, horizon = ("rank1-thompson", "cts-beta", AS_BEFORE), [], 60
    for number in range(60):
        rng = np.random.default_rng([7, number])
        problem = mb.Monopartite(rng.uniform(0.1, 0.95, 6))
        played = mb.simulate(problem, policy, horizon=25, runs=1, seed=number)
        totals = zip(problem.graph.pairs, played.plays_by_edge[0], played.sums_by_edge[0], strict=True)
        log = PastResults.from_rows([(str(i), str(j), int(n), s) for (i, j), n, s in totals], kind="players")
        tally, truth = log.tally, mb.Monopartite(problem.u[[int(name) for name in log.tally.names[0]]])
        done = mb.replay(log, labels[:2], horizon=horizon, runs=100, seed=number)
        means = []
        for name in labels[:2]:
            warm = mb.policy(name).warm_start(tally.pairs, tally.counts, tally.sums)
            runs = mb.simulate(truth, warm, horizon=horizon, runs=100, seed=10**6 + number, checkpoints=[horizon])
            means.append((runs.plays_by_edge @ truth.means).mean())
        means.append(horizon * 3 * (tally.counts @ truth.means[tally.graph.edges(tally.pairs)]) / tally.counts.sum())
        bands = {(a, b): done.difference(labels[a], labels[b]) for a in range(3) for b in range(a)}
        held.append(all(band.low <= means[a] - means[b] <= band.high for (a, b), band in bands.items()))
    assert np.mean(held) > 0.9 - 3 * np.sqrt(0.09 / 60)
