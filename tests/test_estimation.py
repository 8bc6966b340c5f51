"""Strengths and pair means of a log, by name: what the frame holds, how often intervals hold, how well they predict."""

import sys

import numpy as np
import pandas as pd
import pytest

import matchbandit as mb
from matchbandit import extras

DUETS = mb.PastResults.from_rows([("ann", "bob", 40, 32), ("cem", "ann", 40, 18), ("bob", "cem", 20, 8)])


def log_of(graph, counts, sums):
    """A log of these results of all pairs; items are named by their numbers."""
    rows = [
        (f"r{i}", f"{'c' if graph.kind == 'bipartite' else 'r'}{j}", int(n), float(paid))
        for (i, j), n, paid in zip(graph.pairs.tolist(), counts, sums, strict=True)
    ]
    return mb.PastResults.from_rows(rows, kind="sides" if graph.kind == "bipartite" else "players")


def true_means(graph, u):
    return u[graph.pairs[:, 0]] * u[graph.pairs[:, 1] + graph.n_rows]


def pair_rows(frame, graph):
    """The rows of the pairs, in the order of their edges."""
    pairs = frame[frame["kind"] == "pair"].assign(
        edge=lambda rows: graph.edges(
            [(int(a[1:]), int(b[1:])) for a, b in zip(rows["item"], rows["partner"], strict=True)]
        )
    )
    return pairs.sort_values("edge")


def test_a_row_for_each_item_and_each_played_pair():
    frame = mb.estimates(DUETS)
    assert frame.columns.tolist() == [
        "kind", "side", "item", "partner", "plays", "mean", "estimate", "low", "high",
    ]  # fmt: skip
    items, pairs = frame[frame["kind"] == "item"], frame[frame["kind"] == "pair"]
    assert items["item"].tolist() == ["ann", "bob", "cem"]
    assert items["plays"].tolist() == [80, 60, 60]
    assert np.allclose(items["mean"], [50 / 80, 40 / 60, 26 / 60])
    assert items["side"].tolist() == ["players"] * 3
    assert items["partner"].isna().all()
    by_name = {
        frozenset(pair): mean for *pair, mean in zip(pairs["item"], pairs["partner"], pairs["mean"], strict=True)
    }
    assert by_name == {frozenset({"ann", "bob"}): 0.8, frozenset({"ann", "cem"}): 0.45, frozenset({"bob", "cem"}): 0.4}
    assert pairs["side"].isna().all()
    assert ((frame["low"] < frame["estimate"]) & (frame["estimate"] < frame["high"])).all()
    strength = dict(zip(items["item"], items["estimate"], strict=True))
    for row in pairs.itertuples():
        assert row.estimate == pytest.approx(strength[row.item] * strength[row.partner])


def test_two_sides_keep_their_names_and_each_is_sorted():
    log = mb.read_results({"ad": [1, 1, 2, 2, 3] * 9, "slot": [*"tsttt"] * 9, "reward": [1, 0, 0, 1, 0] * 9})
    items = mb.estimates(log).query("kind == 'item'")
    assert items["side"].tolist() == ["ad", "ad", "ad", "slot", "slot"]
    assert items["item"].tolist() == ["1", "2", "3", "t", "s"]
    unnamed = mb.estimates(mb.PastResults.from_rows([("a", "x", 1), ("b", "x", 0)])).query("kind == 'item'")
    assert unnamed["side"].tolist() == ["rows", "rows", "columns"]


def test_a_path_a_frame_and_the_log_itself_give_the_same(tmp_path):
    rows = pd.DataFrame(DUETS.rows(), columns=["first", "second", "count", "sum"])
    rows.to_csv(tmp_path / "log.csv", index=False)
    expected = mb.estimates(DUETS)
    for source in (rows, tmp_path / "log.csv", str(tmp_path / "log.csv")):
        pd.testing.assert_frame_equal(mb.estimates(source), expected)


def test_the_order_of_the_rows_does_not_matter():
    rows = [("a", "x", 9, 8), ("a", "y", 50, 10), ("b", "x", 3, 1), ("b", "y", 7, 0), ("c", "y", 20, 9)]
    one, other = (
        mb.estimates(mb.PastResults.from_rows(each)).sort_values(["kind", "item", "partner"], ignore_index=True)
        for each in (rows, [rows[k] for k in (4, 2, 0, 3, 1)])
    )
    pd.testing.assert_frame_equal(one, other)


def test_many_results_give_the_true_strengths_and_wide_levels_wide_intervals():
    problem = mb.Monopartite([0.9, 0.6, 0.3, 0.1], rewards=mb.Gaussian(0.3))
    counts = np.full(6, 10_000)
    log = log_of(problem.graph, counts, problem.rewards.sums(problem.means, counts, np.random.default_rng(1)))
    wide, narrow = (mb.estimates(log, rewards=problem.rewards, level=level) for level in (0.999, 0.5))
    items = wide.query("kind == 'item'")
    assert items["item"].tolist() == ["r0", "r1", "r2", "r3"]
    assert ((items["low"] < problem.u) & (problem.u < items["high"])).all()
    assert np.allclose(items["estimate"], problem.u, atol=0.02)
    assert ((wide["low"] < narrow["low"]) & (narrow["high"] < wide["high"])).all()


def test_binomial_rewards_count_their_trials():
    coins, shares = (
        mb.estimates(DUETS, rewards=rewards).query("kind == 'pair'") for rewards in (None, mb.Binomial(25))
    )
    widths = [np.log(frame["high"] / frame["low"]).to_numpy() for frame in (coins, shares)]
    assert np.allclose(widths[1] / widths[0], 1 / 5, atol=0.07)  # the prior counts, too


@pytest.mark.parametrize("paid", [0.0, 1.0])
@pytest.mark.parametrize("rows", [[("a", "x")], [("a", "x"), ("a", "y")], [("a", "b"), ("b", "c")]])
@pytest.mark.parametrize("count", [1, 10**9])
def test_extreme_logs_have_finite_estimates(rows, paid, count):
    log = mb.PastResults.from_rows([(*pair, count, paid * count) for pair in rows])
    for rewards in (None, mb.Gaussian(0.3)):
        numbers = mb.estimates(log, rewards=rewards)[["mean", "estimate", "low", "high"]].to_numpy()
        assert np.isfinite(numbers).all()
        assert (numbers >= 0).all()
        assert (numbers <= 1).all()


def test_a_gaussian_outlier_leaves_numbers():
    log = mb.PastResults.from_rows([("a", "b", 1e140), ("b", "c", 0.2), ("a", "c", 0.3)])
    frame = mb.estimates(log, rewards=mb.Gaussian(0.1))
    assert np.isfinite(frame[["estimate", "low", "high"]].to_numpy()).all()


@pytest.mark.parametrize("level", [0, 1, 1.5, "90", float("nan"), True])
def test_a_level_must_be_a_probability(level):
    with pytest.raises(mb.MatchbanditError, match="level must"):
        mb.estimates(DUETS, level=level)


def test_rewards_outside_their_range_are_named():
    log = mb.PastResults.from_rows([("a", "b", 3.0), ("b", "c", 0.2)])
    with pytest.raises(mb.MatchbanditError, match="got 3 for a and b"):
        mb.estimates(log)


def test_without_pandas_and_polars_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    for name in ("pandas", "polars"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(mb.MatchbanditError, match="a data frame needs pandas or Polars"):
        mb.estimates(DUETS)


STRONG = (mb.monopartite(8), 20, lambda rng: rng.uniform(0.1, 0.95, 8))
NEAR_1 = (mb.monopartite(8), 10, lambda rng: rng.uniform(0.6, 0.99, 8))
SIDES = (mb.bipartite(5, 6), 10, lambda rng: rng.uniform(0.1, 0.95, 11))
ADS = (mb.bipartite(34, 3), 98, lambda rng: np.exp([*rng.normal(-4.5, 0.7, 34), *np.log([0.9, 0.6, 0.4])]))


@pytest.mark.parametrize(("graph", "plays", "draw"), [STRONG, NEAR_1, SIDES, ADS], ids=["strong", "1", "sides", "ads"])
@pytest.mark.sampled(1)
def test_intervals_hold_as_often_as_they_say(graph, plays, draw):
    """40 logs each; the pairs of a log are not independent, but a share of 90 % is known to 3 points."""
    held = []
    for number in range(40):
        rng = np.random.default_rng([number, plays])
        means = true_means(graph, draw(rng))
        counts = rng.integers(1, 2 * plays, graph.n_pairs)
        pairs = pair_rows(mb.estimates(log_of(graph, counts, rng.binomial(counts, means))), graph)
        held.append(np.mean((pairs["low"] <= means) & (means <= pairs["high"])))
    assert 0.85 < np.mean(held) < 0.95


def test_weak_logs_predict_their_other_half_better_than_a_constant_and_raw_means():
    """Real click logs were so, too: maximum likelihood was worse than a constant, the posterior better."""
    graph, views, draw = ADS
    gains = []
    for number in range(30):
        rng = np.random.default_rng([number, 11])
        half = np.full(graph.n_pairs, views)
        seen, unseen = (rng.binomial(half, means) for means in [true_means(graph, draw(rng))] * 2)
        guesses = (
            pair_rows(mb.estimates(log_of(graph, half, seen)), graph)["estimate"].to_numpy(),
            np.full(graph.n_pairs, seen.sum() / half.sum()),
            np.clip(seen / half, 1e-4, 1 - 1e-4),
        )
        ours, constant, raw = (-(unseen * np.log(p) + (half - unseen) * np.log1p(-p)).sum() for p in guesses)
        gains.append((constant - ours, raw - ours))
    over_constant, over_raw = np.array(gains).T
    assert over_constant.mean() > 4 * over_constant.std() / np.sqrt(len(gains))
    assert (over_raw > 0).all()
