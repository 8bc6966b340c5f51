"""Policies compared by a log: what is told apart, what is not, how often the bands hold, and what is refused."""

import sys
from functools import cache

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.past_results import PastResults
from matchbandit.studies import propose
from matchbandit.studies.replay import AS_BEFORE, Difference, band, largest_part, simultaneous, without_luck

STRONG = mb.Monopartite([0.95, 0.9, 0.5, 0.45, 0.2, 0.15])
DUETS = mb.Means([[0, 0.2, 0.9, 0.3], [0.2, 0, 0.3, 0.9], [0.9, 0.3, 0, 0.85], [0.3, 0.9, 0.85, 0]], players=True)


def log_of(problem, each, seed=0, *, one_by_one=False):
    """Every pair so often, in turn."""
    rng = np.random.default_rng(seed)
    two = problem.graph.kind == "bipartite"
    names = [(f"row {i}" if two else f"p{i}", f"column {j}" if two else f"p{j}") for i, j in problem.graph.pairs]
    counts = np.full(problem.graph.n_pairs, each)
    if one_by_one:
        rows = [(*pair, paid) for _ in range(each) for pair, paid in
                zip(names, problem.rewards.draw(problem.means, rng).tolist(), strict=True)]  # fmt: skip
    else:
        sums = problem.rewards.sums(problem.means, counts, rng).tolist()
        rows = [(*pair, each, total) for pair, total in zip(names, sums, strict=True)]
    return PastResults.from_rows(rows, kind="sides" if two else "players")


@cache
def replayed():
    """A log that says much, of strengths that are far apart."""
    return mb.replay(log_of(STRONG, 40), ["rank1-thompson", "uniform"], horizon=60, runs=60, seed=1)


def test_a_long_log_tells_apart_who_learns_and_who_does_not():
    done = replayed()
    assert done.labels == ("rank1-thompson", "uniform (cold)", AS_BEFORE)
    assert done.places[0].label == "rank1-thompson"
    assert [place.ranks for place in done.places] == [(1, 1), (2, 3), (2, 3)]
    assert done.verdict == "rank1-thompson earns most, by this log."
    # What uniform earns in truth is known: 60 rounds of three pairs of the average mean. So is what the best can.
    average, best = 60 * 3 * STRONG.means.mean(), 60 * STRONG.optimum("matching")
    first, *others = done.places
    assert all(place.low < average < place.high for place in others)
    assert first.low < best
    assert 0.9 * best < first.reward < best + 10
    behind = done.difference("rank1-thompson", "uniform (cold)")
    assert behind.low < best - average < behind.high + 5
    assert behind.is_distinguishable


def test_differences_are_those_of_the_same_truths_and_turn_around():
    done = replayed()
    one, other = done.difference("rank1-thompson", AS_BEFORE), done.difference(AS_BEFORE, "rank1-thompson")
    assert one == pytest.approx(Difference(-other.mean, -other.high, -other.low, -other.single_high, -other.single_low))
    earned = done.rewards
    assert one.mean == pytest.approx((earned["rank1-thompson"] - earned[AS_BEFORE]).mean())
    assert earned["rank1-thompson"].shape == (30, 2)
    # Known better than either: a truth that pays much pays both much.
    widths = {label: np.subtract(*band(without_luck(values))[::-1]) for label, values in earned.items()}
    assert one.high - one.low < widths["rank1-thompson"] + widths[AS_BEFORE]
    with pytest.raises(mb.MatchbanditError, match="unknown policy of this replay 'uts'"):
        done.difference("uts", AS_BEFORE)
    with pytest.raises(mb.MatchbanditError, match="a difference is between two policies; got 'as before' twice"):
        done.difference(AS_BEFORE, AS_BEFORE)


def test_rewards_are_what_was_played_in_the_truth_of_each_run():
    done = replayed()
    runs = done.comparison["rank1-thompson"]
    for run in (0, 1, 59):
        truth = done.truths.truths[run // 2]
        assert done.rewards["rank1-thompson"][run // 2, run % 2] == pytest.approx(runs.plays_by_edge[run] @ truth.means)
        lost = 60 * truth.optimum("matching") - done.rewards["rank1-thompson"][run // 2, run % 2]
        assert lost == pytest.approx(runs.final[run])


def test_as_before_is_paired_as_often_as_the_log_did():
    log = PastResults.from_rows([("a", "b", 900, 810), ("c", "d", 900, 90), ("a", "c", 100, 30), ("b", "d", 100, 30)])
    done = mb.replay(log, ["uniform"], horizon=10, runs=40)
    average = 20 * (0.45 * 0.9 + 0.45 * 0.1 + 0.05 * 0.3 + 0.05 * 0.3)
    assert done.rewards[AS_BEFORE].mean() == pytest.approx(average, rel=0.05)


def test_means_that_are_no_products_are_noticed_and_change_the_choice():
    log = log_of(DUETS, 60)
    done = mb.replay(log, ["rank1-thompson", "cts-beta"], horizon=60, runs=40, seed=1)
    assert done.product < 1e-6
    assert done.fit.p_value < 0.01
    assert done.difference("cts-beta", "rank1-thompson").low > 0
    believing = mb.replay(log, ["rank1-thompson", "cts-beta"], horizon=60, runs=40, seed=1, truth="product")
    assert believing.product is None
    assert believing.difference("cts-beta", "rank1-thompson").low < 0
    assert believing.notes[0].startswith("All means are taken to be products of strengths (product_fit: p = 0.0")
    free = mb.replay(log, ["rank1-thompson", "cts-beta"], horizon=60, runs=40, seed=1, truth="general")
    assert free.notes[0].startswith("Every pair has a mean of its own, near its product where the log says little")


def test_a_short_log_does_not_say_who_is_best():
    log = log_of(mb.Monopartite([0.7, 0.6, 0.6, 0.5]), 2)
    done = mb.replay(log, ["rank1-thompson", "cucb"], horizon=50, runs=40, seed=2)
    assert not done.difference("rank1-thompson", "cucb").is_distinguishable
    assert done.verdict.startswith("This log cannot tell which ")
    first, second, _ = done.places
    assert first.ranks[0] == second.ranks[0] == 1


def test_warm_cold_and_both():
    log = log_of(STRONG, 20)
    both = mb.replay(log, ["rank1-thompson", "adaptive-matching"], horizon=30, runs=40, start="both")
    assert set(both.labels) == {"rank1-thompson (warm)", "rank1-thompson (cold)", "adaptive-matching (cold)", AS_BEFORE}
    gained = both.difference("rank1-thompson (warm)", "rank1-thompson (cold)")
    assert gained.mean > 0
    warm = mb.replay(log, ["rank1-thompson", "adaptive-matching"], horizon=30, runs=40)
    assert warm.labels == ("rank1-thompson", "adaptive-matching (cold)", AS_BEFORE)
    assert "adaptive-matching cannot begin with results from before, and begins cold." in warm.notes
    cold = mb.replay(log, ["rank1-thompson"], horizon=30, runs=40, start="cold")
    assert cold.labels == ("rank1-thompson", AS_BEFORE)
    assert (cold.rewards["rank1-thompson"] == both.rewards["rank1-thompson (cold)"]).all()
    assert not any("cold" in note for note in cold.notes)


def test_sides_pairs_and_the_number_of_rounds():
    log = log_of(mb.Bipartite([0.9, 0.4], [0.8, 0.5, 0.2]), 20)
    done = mb.replay(log, ["kl-ucb", "rank1-thompson"], runs=40)
    assert (done.selection, done.horizon) == ("pair", 120)  # kl-ucb plays pairs only
    done = mb.replay(log, ["cucb", "rank1-thompson"], runs=40)
    assert (done.selection, done.horizon) == ("matching", 60)
    assert "in 20 truths that fit 120 results of 6 pairs of 2 rows × 3 columns" in repr(done)


def test_players_may_be_odd_in_number_and_rewards_of_any_distribution():
    log = log_of(mb.Monopartite([0.9, 0.7, 0.5, 0.3, 0.1], rewards=mb.Gaussian(0.2)), 8)
    done = mb.replay(log, ["rank1-thompson"], rewards=mb.Gaussian(0.2), horizon=30, runs=100)
    assert done.difference("rank1-thompson", AS_BEFORE).low > 0


def test_shares_that_pass_for_coin_flips_are_said_to_be_that():
    log = PastResults.from_rows([("a", "b", 0.25), ("b", "c", 0.5), ("a", "c", 1)] * 5)
    note = "Some rewards lie between those that {} ones can be, which vary more"
    for rewards, said in [
        (mb.Bernoulli(), True),
        (mb.Binomial(4), False),
        (mb.Gaussian(0.1), False),
    ]:
        notes = mb.replay(log, ["uniform"], rewards=rewards, horizon=2, runs=40, selection="pair").notes
        assert any(each.startswith(note.format(rewards.name)) for each in notes) is said


def test_shares_of_other_trials_are_refused():
    log = PastResults.from_rows([("a", "b", 0.25), ("b", "c", 0.5), ("a", "c", 1)] * 5)
    with pytest.raises(mb.MatchbanditError, match=r"row 1: binomial rewards with 2 trials are 0, 0\.5 or 1; got 0\.25"):
        mb.replay(log, ["uniform"], rewards=mb.Binomial(2), horizon=2, runs=40, selection="pair")


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    log = log_of(STRONG, 5)
    numbers = [
        mb.replay(log, ["rank1-thompson"], horizon=20, runs=40, seed=seed).summary()[AS_BEFORE]["reward"]
        for seed in (0, 0, 1)
    ]
    assert numbers[0] == numbers[1] != numbers[2]


def test_it_is_printed_drawn_and_told_as_data(tmp_path):
    done = replayed()
    text = repr(done)
    assert text.startswith("What 60 rounds would earn, a matching each, in 30 truths that fit 600 results of 15 pairs")
    assert "\n1     rank1-thompson  " in text
    assert "\n2–3   " in text
    assert "has probability 0." in text
    assert "<table>" in done._repr_html_()
    places = done.summary()
    assert places["rank1-thompson"]["ranks"] == [1, 1]
    assert places[AS_BEFORE]["behind"]["low"] > 0
    heads, rows = done.chart().numbers()
    assert heads == ("", "reward less")
    assert {row[0] for row in rows} == {"uniform (cold)", AS_BEFORE}
    assert [line.label for line in done.chart("rewards").lines] == [place.label for place in done.places]
    over_time = done.chart("rounds")
    final = done.comparison["rank1-thompson"].final.mean()
    assert next(line for line in over_time.lines if line.key == "rank1-thompson").y[-1] == pytest.approx(final)
    assert all((line.low <= line.high).all() for line in over_time.lines)
    done.plot(tmp_path / "replay.png")
    assert (tmp_path / "replay.png").stat().st_size > 10_000
    with pytest.raises(mb.MatchbanditError, match="unknown chart of a replay 'regret'"):
        done.chart("regret")


def test_a_name_is_just_a_name():
    log = PastResults.from_rows([(a, b, 20, 10) for a in "xy" for b in "zw"], sides=("<script>", "slots"), kind="sides")
    done = mb.replay(log, ["uniform"], horizon=5, runs=40)
    assert "<script>" not in done._repr_html_()
    assert "&lt;script&gt;" in done._repr_html_()


def test_a_file_will_do_and_pairs_that_never_met_are_said(tmp_path):
    rows = [row for row in log_of(STRONG, 4, one_by_one=True).rows() if row[:2] != ("p0", "p1")]
    text = "".join(f"{a},{b},{n},{total}\n" for a, b, n, total in rows)
    (tmp_path / "log.csv").write_text(f"first,second,count,sum\n{text}")
    done = mb.replay(tmp_path / "log.csv", ["rank1-thompson"], horizon=20, runs=40)
    assert "1 of 15 pairs never met: what they would earn comes from the other results of their items." in done.notes
    assert propose(tmp_path / "log.csv", "rank1-thompson", draws=5).draws == 5


LOG = [("ann", "bob", 9, 5), ("bob", "cem", 9, 3), ("ann", "cem", 9, 4), ("cem", "dan", 9, 1)]


@pytest.mark.parametrize(
    ("rows", "how", "words"),
    [
        ([("ann", "bob", 100, 50)], {}, "the log has one pair only, ann and bob: there is nothing to choose"),
        ([("a", "b", 1), ("b", "c", 0), ("c", "d", 1)], {}, r"3 results of 4 items, .* in 1\.5 of them .* at least 6"),
        ([("a", "b", 1), ("b", "c", 7)] * 5, {}, "the log, row 2: the reward 7 is neither 0 nor 1"),
        ([("a", "b", 0.25), ("b", "c", 0.5)] * 5, {}, r"reward 0\.25 .* differ by a standard deviation of 0\."),
        ([("a", "b", 1), ("b", "c", 7)] * 5, {"rewards": mb.Bernoulli()}, r"row 2: bernoulli rewards lie in \[0, 1\]"),
        ([("a", "b", 9, 3.5), ("b", "c", 9, 4)], {}, r"the reward 3\.5 is neither 0 nor 1"),
        (
            [(f"p{i}", f"p{i + 1}", 1) for i in range(400)],
            {},
            r"the log: the 300 of its 401 items that met each other most have 299 results, .* at least 450 results",
        ),
        (LOG, {"policies": "rank1-thompson"}, "replay takes a list of policies; got 'rank1-thompson'"),
        (LOG, {"policies": []}, "got an empty one"),
        (LOG, {"policies": ["ranq1"]}, "unknown policy 'ranq1'"),
        (LOG, {"policies": ["cucb", "cucb"]}, r"policy\('cucb'\) is there twice"),
        (
            LOG,
            {"policies": ["kl-ucb", "cucb"]},
            r"same task: policy\('cucb'\) plays a matching; policy\('kl-ucb'\) plays",
        ),
        (LOG, {"policies": ["kl-ucb"], "selection": "matching"}, "kl-ucb.* plays a pair a round. Replay them apart"),
        (LOG, {"selection": "team"}, "unknown selection 'team'"),
        (LOG, {"start": "hot"}, "unknown start 'hot'"),
        (LOG, {"truth": "rank-2"}, "unknown truth 'rank-2'"),
        (LOG, {"runs": 10}, "runs must be a whole number, at least 40; got 10. Bands need that many"),
        (LOG, {"horizon": 0}, "horizon must be a whole number"),
        (LOG, {"policies": [mb.policy("cucb").warm_start([(0, 1)], [1], [1])]}, "cucb has a warm start of its own"),
        (LOG, {"policies": ["matching-id"]}, "for identification here, not regret"),
        (LOG[:3], {"policies": ["cucb"]}, "needs an even number of players; got 3"),
    ],
)
def test_what_cannot_be_replayed_is_refused_in_words(rows, how, words):
    given = {"policies": ["rank1-thompson"], "horizon": 10, "runs": 40, **how}
    with pytest.raises(mb.MatchbanditError, match=words):
        mb.replay(PastResults.from_rows(rows), given.pop("policies"), **given)


def test_more_than_100_items_are_products_and_it_is_said():
    log = PastResults.from_rows([(f"p{i}", f"p{(i * 7 + 1) % 102}", 4, 2) for i in range(102)])
    done = mb.replay(log, ["uniform"], horizon=2, runs=40)
    assert done.notes[0].startswith(
        "All means are taken to be products of strengths; among more than 100 items nothing else is considered (product"
    )


def naive_part(rows, most):
    """The names that are left when the one with the fewest results among those left goes, again and again."""
    names = list(dict.fromkeys(name for a, b, *_ in rows for name in (a, b)))
    while len(names) > most:
        met = {name: sum(n for a, b, n, _ in rows if name in (a, b) and {a, b} <= {*names}) for name in names}
        names.remove(min(reversed(names), key=met.__getitem__))
    return names


def test_the_items_that_met_each_other_most_are_kept_and_what_is_left_out_is_said(monkeypatch):
    module = sys.modules[largest_part.__module__]  # the package has a function of its name
    monkeypatch.setattr(module, "MAX_ITEMS", 8)
    monkeypatch.setattr(module, "MAX_GENERAL_ITEMS", 6)
    rng = np.random.default_rng(2)
    for kind in ("players", "sides"):
        rows = []
        for _ in range(60):
            i, j = sorted(rng.integers(0, 12, 2) ** 2 // 12)
            if i != j or kind == "sides":
                n = int(rng.integers(1, 9))
                rows.append((f"a{i}", f"{'a' if kind == 'players' else 'b'}{j}", n, n // 2))
        log = PastResults.from_rows(rows, kind=kind)
        sides = [[name for name, *_ in rows], [name for _, name, *_ in rows]]
        ordered = (
            rows if kind == "players" else [(a, a, 0, 0) for a in sides[0]] + [(b, b, 0, 0) for b in sides[1]] + rows
        )
        for truth, most in (("auto", 8), ("general", 6)):
            part = largest_part(log, truth)
            left = {*naive_part(ordered, most)}
            assert {*part.first, *part.second} == left
            assert part.rows() == PastResults.from_rows([row for row in rows if {*row[:2]} <= left], kind=kind).rows()
            assert part.where(0) == log.where(next(k for k, row in enumerate(rows) if {*row[:2]} <= left))
            done = mb.replay(log, ["rank1-thompson"], horizon=3, runs=40, truth=truth, selection="pair")
            n_items, results = sum(map(len, log.tally.names)), log.n_results - part.n_results
            assert done.notes[0].startswith(
                f"Left out: {n_items - most} of {n_items} items, those with the fewest results, and {results} of "
                f"{log.n_results} results with them. A replay "
            )
            assert done.notes[0].endswith(f"has up to {most} items.")
            assert {name for side in done.results.tally.names for name in side} == left


@pytest.mark.slow
def test_more_than_300_items_are_replayed_without_the_rest():
    log = PastResults.from_rows([(f"p{i}", f"p{(i * k) % 307}", 2, 1) for i in range(1, 307) for k in (2, 3)])
    done = mb.replay(log, ["uniform"], horizon=2, runs=40)
    assert done.notes[0].startswith("Left out: 6 of 306 items, those with the fewest results, and ")
    assert done.truths.graph.shape == (300, 300)
    assert any(note.startswith("as before: a random matching each round, one of 1000 drawn by") for note in done.notes)
    for truth, earned in zip(done.truths.truths, done.rewards[AS_BEFORE], strict=True):
        assert earned[0] <= 2 * truth.optimum("matching")


DOMINANT = [("a", "b", 90, 73), ("c", "d", 10, 0), ("a", "c", 10, 2), ("b", "d", 10, 2)]


@pytest.mark.parametrize("selection", ["pair", "matching"])
@pytest.mark.parametrize(
    "rows",
    [
        DOMINANT,
        [*DOMINANT, ("e", "a", 40, 30)],
        [("r1", "c1", 90, 80), ("r2", "c1", 20, 3), ("r2", "c2", 5, 1), ("r1", "c3", 5, 2)],
    ],
    ids=["even", "odd", "sides"],
)
def test_as_before_never_earns_more_than_the_best_in_any_truth(rows, selection):
    done = mb.replay(PastResults.from_rows(rows), ["rank1-thompson"], horizon=100, runs=40, selection=selection)
    assert any(note.startswith("as before: a") for note in done.notes)
    for truth, earned in zip(done.truths.truths, done.rewards[AS_BEFORE], strict=True):
        assert earned[0] == earned[1] <= 100 * truth.optimum(selection) * (1 + 1e-12)


def test_one_pair_that_fills_a_log_is_played_once_a_round():
    # 120 results, of which 100 are of the matching ab + cd and 20 of ac + bd: so often each is played.
    done = mb.replay(PastResults.from_rows(DOMINANT), ["rank1-thompson"], horizon=60, runs=40)
    ab, ac, _, _, bd, cd = np.array([truth.means for truth in done.truths.truths]).T
    np.testing.assert_allclose(done.rewards[AS_BEFORE][:, 0], 50 * (ab + cd) + 10 * (ac + bd), rtol=1e-4)
    said = (
        "as before: a random matching each round, with pairs as frequent as in the log as far as matchings allow (67 %"
    )
    assert any(note.startswith(said) for note in done.notes)


def test_strengths_that_change_are_noticed():
    before, after = mb.Monopartite([0.9, 0.8, 0.3, 0.2]), mb.Monopartite([0.2, 0.3, 0.8, 0.9])
    parts = [log_of(problem, 20, seed, one_by_one=True) for seed, problem in enumerate((before, after))]
    rows = [row for part in parts for row in zip(part.first, part.second, part.rewards.tolist(), strict=True)]
    done = mb.replay(PastResults.from_rows(rows), ["uniform"], horizon=5, runs=40)
    assert done.drift == 1 / 200
    assert any(note.startswith("The results drift (p = 0.005)") for note in done.notes)
    assert mb.replay(log_of(before, 20), ["uniform"], horizon=5, runs=40).drift is None  # rows without a time


def test_luck_is_taken_out_of_the_spread():
    rng = np.random.default_rng(3)
    truths = rng.normal(0, 1, 400)
    drawn = truths[:, None] + rng.normal(0, 1.5, (400, 2))
    assert drawn.mean(axis=1).std() > 1.35
    assert without_luck(drawn).std() == pytest.approx(1, rel=0.2)
    only_luck = without_luck(rng.normal(5, 3, (400, 2)))
    assert only_luck.std() < 0.6
    assert only_luck.mean() == pytest.approx(5, abs=0.5)
    assert without_luck(np.full((4, 2), 7.0)).tolist() == [7.0] * 4


@pytest.mark.parametrize("quantities", [1, 3, 10])
def test_bands_hold_all_at_once_in_nine_cases_of_ten(quantities):
    rng = np.random.default_rng(4)
    times = 400
    mix = rng.normal(size=(quantities, quantities))
    held = 0
    for _ in range(times):
        drawn = np.exp(0.5 * mix @ rng.normal(size=(quantities, 101)))  # skewed, and hanging together
        bands = simultaneous(drawn[:, 1:])
        held += all(low <= x <= high for (_, low, high), x in zip(bands, drawn[:, 0], strict=True))
    assert held / times == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / times))


def test_what_a_policy_would_propose_next():
    log = PastResults.from_rows(
        [
            ("ann", "bob", 90, 80),
            ("ann", "cem", 40, 8),
            ("bob", "cem", 40, 9),
            ("cem", "dan", 40, 1),
            ("ann", "dan", 9, 1),
        ]
    )
    next_ = propose(log, "rank1-thompson", draws=50, seed=1)
    assert next_.best == [("ann", "bob"), ("cem", "dan")]
    assert sorted(pair for pair in next_.pairs) == sorted(next_.best)
    assert next_.shares[("ann", "bob")] > 0.8
    assert sum(next_.shares.values()) == pytest.approx(2)  # two pairs each time
    assert next_.seen[("ann", "bob")] == (90, 80 / 90)
    assert "ann + bob  " in repr(next_)
    assert "now, best guess" in repr(next_)
    fixed = propose(log, mb.policy("cucb"), draws=3)
    assert set(fixed.shares.values()) == {1.0}  # nothing is drawn
    with pytest.raises(mb.MatchbanditError, match="adaptive-matching samples by a schedule of its own"):
        propose(log, "adaptive-matching")
    with pytest.raises(mb.MatchbanditError, match="draws must be a whole number, at least 1"):
        propose(log, "cucb", draws=0)


@pytest.mark.slow
@pytest.mark.parametrize("learnt", [False, True], ids=["by lot", "by a policy that learns"])
def test_the_bands_hold_the_true_difference(learnt):
    """Sixty truths and logs; `docs/make/replay.py` measures more of them."""
    held, horizon, logs = [], 60, 60
    for number in range(logs):
        rng = np.random.default_rng([7, number])
        problem = mb.Monopartite(rng.uniform(0.1, 0.95, 6))
        policy = mb.policy("rank1-thompson" if learnt else "uniform").build(problem.graph, seed=number)
        counts, sums = np.zeros(15, dtype=np.int64), np.zeros(15)
        for _ in range(25):
            edges = problem.graph.edges(policy.ask())
            paid = problem.rewards.draw(problem.means[edges], rng)
            policy.tell(policy.ask(), paid)
            counts[edges] += 1
            sums[edges] += paid
        rows = [(f"{i}", f"{j}", int(n), s) for (i, j), n, s in zip(problem.graph.pairs, counts, sums, strict=True)]
        log = PastResults.from_rows(rows, kind="players")
        order = [int(name) for name in log.tally.names[0]]
        truth = mb.Monopartite(problem.u[order])
        done = mb.replay(log, ["rank1-thompson", "cts-beta"], horizon=horizon, runs=100, seed=number)
        tally = log.tally
        earned = []
        for name in ("rank1-thompson", "cts-beta"):
            warm = mb.policy(name).warm_start(tally.pairs, tally.counts, tally.sums)
            runs = mb.simulate(truth, warm, horizon=horizon, runs=100, seed=10**6 + number, checkpoints=[horizon])
            earned.append((runs.plays_by_edge @ truth.means).mean())
        means = truth.means[tally.graph.edges(tally.pairs)]
        earned.append(horizon * 3 * (tally.counts @ means) / tally.counts.sum())
        labels = ("rank1-thompson", "cts-beta", AS_BEFORE)
        bands = {(a, b): done.difference(labels[a], labels[b]) for a in range(3) for b in range(a)}
        held.append(all(d.low <= earned[a] - earned[b] <= d.high for (a, b), d in bands.items()))
    assert np.mean(held) > 0.9 - 3 * np.sqrt(0.09 / logs)
