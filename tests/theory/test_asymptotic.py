"""T* and Graves–Lai: closed forms, brute force on both sides, invariances, and plays that tell every alternative."""

from contextlib import suppress
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from reference import kl as arms
from reference import limits as brute
from reference.drawn import LAWS, apart, players, rows_and_columns

import matchbandit as mb
from matchbandit.theory import characteristic_time, graves_lai
from matchbandit.theory.quantities import trials_of

GOALS = [("pair", "pair"), ("pair", "matching"), ("matching", "matching")]
laws = pytest.mark.parametrize("law", LAWS)
WITHIN = 1.5e-3  # a value is at most 0.1 % low


def seeds(n, quick):
    """So many seeds; all but the first few are longer checks."""
    return [*range(quick), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(quick, n))]


def time_of(problem, plays="pair", seeks="pair"):
    return characteristic_time(problem, plays=plays, seeks=seeks).value


def constant(problem, selection="pair"):
    return graves_lai(problem, selection).value


def goals_of(problem):
    """An odd number of players has no matching of all."""
    odd = isinstance(problem, mb.Monopartite) and len(problem.u) % 2
    return [goal for goal in GOALS if not odd or goal[1] == "pair"]


def selections_of(problem):
    return ("pair",) if isinstance(problem, mb.Monopartite) and len(problem.u) % 2 else ("pair", "matching")


def everything(problem):
    """T* for every goal, and both constants."""
    times = [time_of(problem, plays, seeks) for plays, seeks in GOALS]
    return np.array([*times, constant(problem), constant(problem, "matching")])


def named(law):
    """A law and its coins, in the words of the reference for ordinary bandits."""
    return (("gaussian", law.sd), 1) if law.name == "gaussian" else ("bernoulli", trials_of(law))


def ordinary_time(means, law):
    words, coins = named(law)
    return arms.characteristic_time(np.asarray(means), words) / coins


# Closed forms


def test_two_gaussian_arms_by_hand():
    # Half the plays each, told at the middle: n (gap/2)²/2sd² = 1 with n plays in all, so 8 sd²/gap².
    for sd, high, low in ((1.0, 0.5, 0.3), (0.3, 0.9, 0.2), (5.0, 0.31, 0.3)):
        problem = mb.Bipartite([1.0], [low, high], rewards=mb.Gaussian(sd=sd))
        assert time_of(problem) == pytest.approx(8 * sd**2 / (high - low) ** 2, rel=WITHIN)


@laws
def test_one_row_is_an_ordinary_bandit(law):
    for v in ([0.9, 0.5, 0.4], [0.1, 0.8, 0.7, 0.6, 0.05], [0.3, 0.29]):
        problem = mb.Bipartite([0.9], v, rewards=law)
        assert time_of(problem) == pytest.approx(ordinary_time(problem.means, law), rel=WITHIN)
        assert constant(problem) == pytest.approx(brute.ordinary_bandit(problem.means, law), rel=WITHIN)
        # A matching of one row is a pair.
        assert time_of(problem, "matching", "matching") == pytest.approx(time_of(problem), rel=WITHIN)


@laws
@pytest.mark.parametrize("u", [[0.5, 0.4, 0.3], [0.3, 0.28, 0.2], [0.6, 0.5, 0.4]])
def test_three_players_who_play_pairs_are_an_ordinary_bandit(law, u):
    # The means p, q, r of the three pairs are free: u_1² = p q/r and so on. (1, 3) or (2, 3) comes level with (1, 2)
    # within [0, 1] if u_1² u_2 ≤ u_3: so it is here.
    assert u[0] ** 2 * u[1] <= u[2]
    problem = mb.Monopartite(u[::-1], rewards=law)
    assert time_of(problem) == pytest.approx(ordinary_time(problem.means, law), rel=WITHIN)
    assert constant(problem) == pytest.approx(brute.ordinary_bandit(problem.means, law), rel=WITHIN)


def test_strengths_up_to_one_rule_alternatives_out():
    # 0.9, 0.9, 0.2: for (1, 3) to pay as (1, 2) and (2, 3) as ever, player 1 would need 0.9 · sqrt(0.9/0.2) > 1.
    problem = mb.Monopartite([0.9, 0.9, 0.2])
    assert time_of(problem) < 0.95 * ordinary_time(problem.means, problem.rewards)


@laws
@pytest.mark.parametrize("seed", range(4))
def test_the_regret_of_slots_is_that_of_the_best_row_and_the_best_column(law, seed):
    # Enough: where (1, 1) pays as it does and row i is level, q_i1 ≥ u_1 v_1, so (i, 1) tells kl(u_i v_1, u_1 v_1).
    # Needed: kl(tp, tq) ≤ t kl(p, q) (convex, 0 at 0), so a play of (i, j) tells at most v_j/v_1 of one of (i, 1) and
    # u_i/u_1 of one of (1, j), which lose (u_1 − u_i)(v_1 − v_j) less in all.
    problem = rows_and_columns(np.random.default_rng(seed), law=law)
    (u1, *u), (v1, *v) = (sorted(side, reverse=True) for side in (problem.u, problem.v))
    rows = sum(v1 * (u1 - x) / law.kl(x * v1, u1 * v1) for x in u)
    columns = sum(u1 * (v1 - y) / law.kl(y * u1, u1 * v1) for y in v)
    assert constant(problem) == pytest.approx(rows + columns, rel=WITHIN)


@laws
def test_the_regret_of_two_by_two_matchings_by_hand(law):
    # Two matchings. The other one tells of two instances that pay as the truth on the best: rows level, then row 2 pays
    # as row 1, q_21 = p_11 and q_12 = p_22; or columns level, q_12 = p_11 and q_21 = p_22. The harder of the two.
    problem = mb.Bipartite([0.4, 0.8], [0.9, 0.3], rewards=law)
    p11, p12, p21, p22 = 0.72, 0.24, 0.36, 0.12
    rows = law.kl(p21, p11) + law.kl(p12, p22)
    columns = law.kl(p12, p11) + law.kl(p21, p22)
    assert constant(problem, "matching") == pytest.approx((p11 + p22 - p12 - p21) / min(rows, columns), rel=WITHIN)


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 3e-7])
def test_the_regret_of_two_by_two_matchings_that_are_nearly_equal(gap):
    # The other matching loses gap² and tells 2 (gap/2)²/(2 · ¼ · ¾) of rows or columns that come level: C → ¾, however
    # small the loss.
    problem = mb.Bipartite([0.5, 0.5 - gap], [0.5, 0.5 - gap])
    assert constant(problem, "matching") == pytest.approx(0.75, rel=0.01)


def test_a_limit_once_given_stays_as_it_is():
    # Limits are remembered: what a caller does with the plays must not change what the next one gets.
    problem = mb.Bipartite([0.9], [0.5, 0.3])
    first = graves_lai(problem, "pair").plays.tolist()
    with suppress(ValueError):  # read-only would do
        graves_lai(problem, "pair").plays[:] = 0
    assert graves_lai(problem, "pair").plays.tolist() == first


def test_nothing_to_tell():
    for problem in (mb.Bipartite([0.5], [0.3]), mb.Monopartite([0.5, 0.3])):
        assert everything(problem).tolist() == [0] * 5
    # Two rows and one column: one row is matched, which one is to be told.
    assert time_of(mb.Bipartite([0.5, 0.3], [0.9]), "matching", "matching") > 0
    # Equal partners need not be told apart.
    assert time_of(mb.Monopartite([0.8, 0.8, 0.3, 0.3]), "pair", "matching") > 0


# Brute force


TINY = [
    mb.Bipartite([0.8, 0.5], [0.4, 0.7]),
    mb.Bipartite([0.9, 0.6], [0.9, 0.3], rewards=mb.Gaussian(sd=0.5)),
    mb.Bipartite([0.2, 0.9], [0.95, 0.1], rewards=mb.Gaussian(sd=1.0)),
    mb.Monopartite([0.9, 0.4, 0.6]),
    mb.Monopartite([0.97, 0.3, 0.1], rewards=mb.Gaussian(sd=0.2)),
    mb.Monopartite([0.3, 0.8, 0.6, 0.4]),
    mb.Monopartite([0.9, 0.2, 0.85, 0.1], rewards=mb.Binomial(trials=4)),
    mb.Monopartite([0.95, 0.5, 0.3, 0.05], rewards=mb.Gaussian(sd=0.5)),
]


def time_between(problem, plays, seeks):
    limit = characteristic_time(problem, plays=plays, seeks=seeks)
    between(limit, brute.characteristic_time(problem, plays=plays, seeks=seeks))


def constant_between(problem, selection):
    between(graves_lai(problem, selection), brute.graves_lai(problem, selection))


def between(limit, around):
    below, above = around
    assert above <= below * 1.001  # else the reference says too little
    assert below * (1 - WITHIN) <= limit.value <= above * (1 + 1e-6)
    assert below * (1 - 1e-6) <= limit.above <= above * (1 + WITHIN)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("problem", TINY, ids=str)
def test_brute_force_from_both_sides(problem):
    goals = {"pair": ("pair", "pair"), "matching": ("matching", "matching")}
    if len(brute.options(problem, "matching")) == problem.graph.n_pairs:
        goals.pop("matching")  # three players: a matching is a pair
    for selection, (plays, seeks) in goals.items():
        time_between(problem, plays, seeks)
        constant_between(problem, selection)


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [mb.Bipartite([0.8, 0.5], [0.3, 0.7, 0.4]), mb.Bipartite([0.9, 0.3], [0.2, 0.7, 0.5], rewards=mb.Gaussian(sd=0.5))],
    ids=str,
)
def test_brute_force_with_a_column_to_spare(problem):
    # 2 × 3: one column is matched to nobody, and every matching leaves one out.
    time_between(problem, "matching", "matching")
    constant_between(problem, "matching")


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(40, quick=16))
def test_brute_force_from_both_sides_on_many(seed):
    rng = np.random.default_rng(seed)
    law = LAWS[seed % 4]
    problem = rows_and_columns(rng, law=law, most=(2, 3)) if seed % 3 else players(rng, 4, law=law)
    for plays, seeks in goals_of(problem):
        time_between(problem, plays, seeks)
    for selection in selections_of(problem):
        constant_between(problem, selection)


def test_brute_force_knows_which_ties_matter():
    # The reference rests on it: wherever the true answer is level with another and no other is better, two items whose
    # exchange changes it are equal; and where two such are equal, it is level with another.
    rng = np.random.default_rng(0)
    values = np.array([0.2, 0.4, 0.5, 0.7, 0.9])
    seen = {True: 0, False: 0}
    for problem, seeks in (
        (mb.Bipartite([0.9, 0.5], [0.8, 0.6, 0.3]), "pair"),
        (mb.Bipartite([0.9, 0.5], [0.8, 0.6, 0.3]), "matching"),
        (mb.Monopartite([0.9, 0.7, 0.5, 0.2]), "pair"),
        (mb.Monopartite([0.9, 0.7, 0.5, 0.2]), "matching"),
        (mb.Monopartite([0.9, 0.7, 0.5, 0.2, 0.1]), "matching"),
    ):
        table = brute.incidence(problem, seeks)
        own = brute.options(problem, seeks).index(brute.answer(problem, seeks))
        for _ in range(300):
            strengths = rng.choice(values, len(brute.strengths_of(problem)))
            worth = table @ brute.means_of(problem, strengths)
            lead = worth[own] - np.delete(worth, own).max()
            tied = any(strengths[x] == strengths[y] for x, y in brute.ties(problem, seeks))
            assert not tied or lead <= 1e-12
            if abs(lead) <= 1e-12:
                assert tied
            seen[bool(tied)] += 1
    assert min(seen.values()) > 100


# Both ends, and the plays between them


@pytest.mark.parametrize("seed", seeds(8, quick=4))
def test_the_value_is_at_most_a_thousandth_below_the_cost_of_plays_that_suffice(seed):
    rng = np.random.default_rng(seed)
    problem = (
        rows_and_columns(rng, law=LAWS[seed % 4]) if seed % 2 else players(rng, 4 + seed % 3, law=LAWS[seed // 2 % 4])
    )
    for plays, seeks in goals_of(problem):
        found = characteristic_time(problem, plays=plays, seeks=seeks)
        size = 1 if plays == "pair" else problem.graph.matching_size
        assert found.value * (1 - 1e-8) <= found.above <= found.value / 0.999
        assert (found.plays >= -1e-9).all()
        assert found.plays.sum() == pytest.approx(size * found.above, rel=1e-6)
    for selection in selections_of(problem):
        found = graves_lai(problem, selection)
        assert found.value * (1 - 1e-8) <= found.above <= found.value / 0.999
        # What the plays lose: the optimum of each round less what its pairs pay.
        rounds = found.plays.sum() / (1 if selection == "pair" else problem.graph.matching_size)
        lost = rounds * problem.optimum(selection) - found.plays @ problem.means
        assert lost == pytest.approx(found.above, rel=1e-6)


@pytest.mark.parametrize("seed", seeds(8, quick=4))
def test_the_plays_tell_every_alternative_that_is_drawn(seed):
    # Thousands of instances on the faces where another answer comes level: near the truth, far from it, near the worst
    # that was seen.
    rng = np.random.default_rng(100 + seed)
    law = LAWS[seed % 4]
    problem = rows_and_columns(rng, law=law) if seed % 2 else players(rng, 4 + 2 * (seed % 4 == 0), law=law)
    for plays, seeks in goals_of(problem):
        found = characteristic_time(problem, plays=plays, seeks=seeks)
        assert least_told(problem, seeks, found.plays, rng) >= 1 - 1e-4


@pytest.mark.parametrize("seed", range(6))
def test_the_plays_tell_every_confusing_alternative(seed):
    rng = np.random.default_rng(200 + seed)
    law = LAWS[seed % 4]
    problem = rows_and_columns(rng, law=law, most=(2, 3)) if seed % 2 else players(rng, 4, law=law)
    for selection in selections_of(problem):
        found = graves_lai(problem, selection)
        assert brute.least_evidence(brute.confusing_faces(problem, selection), found.plays) >= 1 - 1e-4


def least_told(problem, seeks, plays, rng):
    """The least Σ plays × kl among random alternatives, some of them improved by random steps."""
    truth = brute.strengths_of(problem)
    least = np.inf

    def information(strengths, x, y):
        strengths[:, y] = strengths[:, x]
        table = brute.divergence(problem.rewards, problem.means, brute.means_of(problem, strengths))
        return np.where(plays > 0, plays * np.where(plays > 0, table, 0.0), 0.0).sum(axis=1)

    for x, y in brute.ties(problem, seeks):
        near = truth * np.exp(rng.normal(0, 0.2, (300, len(truth))))
        near[:, x] = rng.uniform(min(truth[x], truth[y]), max(truth[x], truth[y]), 300)
        anywhere = rng.uniform(0.001, 1, (300, len(truth)))
        points = np.clip(np.vstack([near, anywhere]), 1e-6, 1 - 1e-9)
        at = points[np.argmin(information(points, x, y))]
        for scale in np.geomspace(0.3, 1e-4, 40):
            points = np.clip(at * np.exp(rng.normal(0, scale, (60, len(truth)))), 1e-6, 1 - 1e-9)
            points[0] = at
            at = points[np.argmin(information(points, x, y))]
        least = min(least, float(information(at[None].copy(), x, y)[0]))
    return least


# Invariances


def slots(law):
    return mb.Bipartite([0.9, 0.4], [0.7, 0.5, 0.1], rewards=law)


def four(law):
    return mb.Monopartite([0.9, 0.6, 0.5, 0.1], rewards=law)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_items_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    problem = rows_and_columns(rng) if seed % 2 else players(rng, 4)
    if seed % 2:
        shuffled = mb.Bipartite(rng.permutation(problem.u), rng.permutation(problem.v), rewards=problem.rewards)
    else:
        shuffled = mb.Monopartite(rng.permutation(problem.u), rewards=problem.rewards)
    assert everything(shuffled) == pytest.approx(everything(problem), rel=WITHIN)


@pytest.mark.parametrize("seed", range(3))
def test_rows_and_columns_are_alike(seed):
    problem = rows_and_columns(np.random.default_rng(seed))
    turned = mb.Bipartite(problem.v, problem.u, rewards=problem.rewards)
    assert everything(turned) == pytest.approx(everything(problem), rel=WITHIN)


def test_rows_stronger_and_columns_weaker_by_the_same_factor_pay_the_same():
    # u v = (u c)(v/c): the same rewards, hence the same limits, although the strengths differ.
    problem = mb.Bipartite([0.9, 0.5, 0.3], [0.6, 0.4], rewards=mb.Gaussian(sd=0.5))
    other = mb.Bipartite(problem.u * 0.7, problem.v / 0.7, rewards=problem.rewards)
    assert everything(other) == pytest.approx(everything(problem), rel=WITHIN)


@pytest.mark.parametrize("sd", [0.01, 10.0])
@pytest.mark.slow
def test_gaussian_limits_grow_with_the_variance(sd):
    for make in (slots, four):
        one, other = (everything(make(mb.Gaussian(sd=s))) for s in (1.0, sd))
        assert other == pytest.approx(sd**2 * one, rel=WITHIN)


def test_many_trials_at_once_take_as_many_rounds_fewer():
    for make in (slots, four):
        one, many = everything(make(mb.Bernoulli())), everything(make(mb.Binomial(trials=30)))
        assert one == pytest.approx(30 * many, rel=WITHIN)


# What is harder than what


@pytest.mark.parametrize("seed", seeds(8, quick=4))
def test_what_is_harder(seed):
    rng = np.random.default_rng(300 + seed)
    law = LAWS[seed // 2 % 4]
    problem = rows_and_columns(rng, law=law) if seed % 2 else players(rng, int(rng.choice([4, 6])), law=law)
    pair, order, matchings = (time_of(problem, *goal) for goal in GOALS)
    # The best pair is the first of the best matching: who knows the matching knows it only by its order, but every
    # instance with another best pair has another best matching.
    assert pair <= order * (1 + WITHIN)
    # A matching is as many pairs at once: no faster than that many, no slower than one, if others are ignored.
    assert order / problem.graph.matching_size * (1 - WITHIN) <= matchings <= order * (1 + WITHIN)


@laws
def test_one_more_item_is_one_more_to_tell(law):
    # However weak, it must be told from the best.
    few, more = (
        mb.Bipartite([0.8, 0.6], [0.7, 0.5], rewards=law),
        mb.Bipartite([0.8, 0.6, 0.05], [0.7, 0.5], rewards=law),
    )
    assert time_of(more) > time_of(few) * 1.001
    assert constant(more) > constant(few) * 1.01
    few, more = mb.Monopartite([0.8, 0.6, 0.4], rewards=law), mb.Monopartite([0.8, 0.6, 0.4, 0.05], rewards=law)
    assert time_of(more) > time_of(few) * 1.001


@laws
def test_smaller_gaps_take_longer(law):
    times = [time_of(mb.Monopartite([0.9, 0.7, low, 0.2], rewards=law)) for low in (0.3, 0.5, 0.6, 0.65, 0.69)]
    assert all(less < more for less, more in pairwise(times))
    # Near the border, as the inverse square of the gap.
    near, nearer = (time_of(mb.Monopartite([0.9, 0.7, 0.7 - gap, 0.2], rewards=law)) for gap in (2e-3, 1e-3))
    assert nearer == pytest.approx(4 * near, rel=0.02)


def test_a_plan_of_the_limit_costs_less_than_equal_plays():
    # Uniform plays that suffice cost n_pairs/min Σ kl; the limit is the best of all plans.
    problem = mb.Bipartite([0.9, 0.5, 0.4], [0.8, 0.3])
    least = brute.least_evidence(brute.all_faces(problem, "pair"), np.ones(6))
    assert time_of(problem) < 6 / least


# Edges


@pytest.mark.parametrize(
    ("problem", "near"),
    [
        (mb.Monopartite([0.9, 0.8, 0.3, 0.0]), mb.Monopartite([0.9, 0.8, 0.3, 1e-7])),
        (mb.Monopartite([0.9, 0.8, 0.0, 0.0]), mb.Monopartite([0.9, 0.8, 1e-7, 1e-7])),
        (mb.Bipartite([0.9, 0.0], [0.8, 0.4]), mb.Bipartite([0.9, 1e-7], [0.8, 0.4])),
        (mb.Monopartite([1.0, 0.8, 0.3, 0.1]), mb.Monopartite([1 - 1e-7, 0.8, 0.3, 0.1])),
        (mb.Bipartite([1.0, 0.4], [0.7, 0.2]), mb.Bipartite([1 - 1e-7, 0.4], [0.7, 0.2])),
        (
            mb.Monopartite([1.0, 0.9, 0.5, 0.0], rewards=mb.Gaussian(sd=0.5)),
            mb.Monopartite([1 - 1e-7, 0.9, 0.5, 1e-7], rewards=mb.Gaussian(sd=0.5)),
        ),
    ],
    ids=str,
)
@pytest.mark.sampled(1)
def test_strengths_of_nothing_and_of_one_are_as_those_beside_them(problem, near):
    assert everything(problem) == pytest.approx(everything(near), rel=0.005)


def test_a_pair_that_always_pays_costs_no_regret():
    # u_1 v_1 = 1: an alternative that pays as the truth on the best pair pays always, and another pair level with it
    # always too; its first failure tells. Lai and Robbins' Δ/kl is 0 where kl is infinite.
    for problem in (
        mb.Bipartite([1.0], [1.0, 0.5]),
        mb.Bipartite([1.0, 0.5], [1.0, 0.3]),
        mb.Monopartite([1.0, 1.0, 0.5]),
    ):
        assert constant(problem) == pytest.approx(0, abs=1e-6)


def test_ties_have_no_limit_and_say_so_in_one_line():
    tied = [
        (mb.Bipartite([0.8, 0.8], [0.5]), "pair"),
        (mb.Bipartite([0.8, 0.5, 0.5], [0.9, 0.6, 0.3]), "matching"),
        (mb.Monopartite([0.8, 0.5, 0.5]), "pair"),
        (mb.Monopartite([0.8, 0.6, 0.6, 0.1]), "matching"),
    ]
    for problem, seeks in tied:
        for call in (
            lambda problem, seeks: characteristic_time(problem, plays="pair", seeks=seeks),
            graves_lai,
        ):
            with pytest.raises(mb.MatchbanditError, match="equal") as raised:
                call(problem, seeks)
            assert "\n" not in str(raised.value)
    # Not every equality is a tie.
    assert time_of(mb.Monopartite([0.8, 0.8, 0.5, 0.5]), "pair", "matching") > 0
    assert time_of(mb.Bipartite([0.8, 0.5, 0.5], [0.9, 0.6, 0.3])) > 0


@pytest.mark.parametrize(
    ("problem", "seeks"),
    [(mb.Bipartite([0.5, 0.3], [0.0]), "pair"), (mb.Bipartite([0.5, 0.0], [0.5, 0.3, 0.2]), "matching")],
    ids=str,
)
def test_answers_worth_the_same_are_a_tie_though_no_items_are_equal(problem, seeks):
    # Whatever meets an item of strength 0 pays nothing: several answers are worth the optimum.
    values = brute.incidence(problem, seeks) @ problem.means
    assert (values == values.max()).sum() > 1
    with pytest.raises(mb.MatchbanditError):
        characteristic_time(problem, plays="pair", seeks=seeks)
    with pytest.raises(mb.MatchbanditError):
        graves_lai(problem, seeks)


def test_what_is_too_large_says_so_in_one_line():
    for call in (
        lambda: characteristic_time(mb.Monopartite(np.linspace(0.1, 0.9, 25)), plays="pair", seeks="pair"),
        lambda: characteristic_time(mb.Monopartite(np.linspace(0.1, 0.9, 12)), plays="matching", seeks="matching"),
        lambda: graves_lai(mb.Bipartite(np.linspace(0.1, 0.9, 7), np.linspace(0.1, 0.9, 7)), "matching"),
    ):
        with pytest.raises(mb.MatchbanditError, match="16 items") as raised:
            call()
        assert "\n" not in str(raised.value)


HARD = [
    # Identification by drawing hundreds of extreme instances: gaps of 1e-3 and less beside strengths of 1e-3 and 0.99.
    mb.Bipartite([0.0027, 0.7014, 0.0086], [0.01055, 0.99003, 0.01075, 0.50054]),
    mb.Bipartite([0.5000046, 0.99959, 0.50015], [0.58885, 0.58785], rewards=mb.Gaussian(sd=0.5)),
    mb.Bipartite([0.5159, 0.5149], [0.97015, 0.02639, 0.4419], rewards=mb.Gaussian(sd=0.5)),
    mb.Bipartite([0.06993, 0.00444], [0.50033, 0.990409, 0.980185, 0.990474], rewards=mb.Binomial(trials=20)),
    mb.Monopartite([0.99035, 0.00162, 0.99006, 0.99969, 0.99043], rewards=mb.Gaussian(sd=0.5)),
    mb.Bipartite([0.50042, 0.01007, 0.50055], [0.99906, 0.98065, 0.99938], rewards=mb.Gaussian(sd=10.0)),
    mb.Bipartite([0.50949, 0.51049], [0.99096, 0.00112, 0.99901, 0.99919], rewards=mb.Binomial(trials=20)),
]


@pytest.mark.parametrize("problem", HARD, ids=str)
@pytest.mark.sampled(1)
def test_lonely_gaps_are_solved(problem):
    rng = np.random.default_rng(0)
    for plays, seeks in goals_of(problem):
        found = characteristic_time(problem, plays=plays, seeks=seeks)
        assert found.value * (1 - 1e-8) <= found.above <= found.value / 0.999
        assert least_told(problem, seeks, found.plays, rng) >= 1 - 5e-4
    for selection in selections_of(problem):
        found = graves_lai(problem, selection)
        assert 0 < found.value * (1 - 1e-8) <= found.above <= found.value / 0.999


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(60, quick=20))
def test_extreme_instances_are_solved(seed):
    rng = np.random.default_rng(1000 + seed)

    def strengths(n):
        return (
            apart(rng, n)
            if seed % 3 == 0
            else np.exp(rng.uniform(np.log(1e-3), 0, n))
            if seed % 3 == 1
            else rng.choice([1e-3, 0.01, 0.5, 0.98, 0.99, 0.999], n) + rng.uniform(0, 1e-3, n)
        )

    law = [*LAWS, mb.Gaussian(sd=0.01)][seed % 5]
    problem = (
        mb.Bipartite(strengths(3), strengths(4), rewards=law) if seed % 2 else mb.Monopartite(strengths(6), rewards=law)
    )
    for plays, seeks in goals_of(problem):
        found = characteristic_time(problem, plays=plays, seeks=seeks)
        assert found.value * (1 - 1e-8) <= found.above <= found.value / 0.999
        assert least_told(problem, seeks, found.plays, rng) >= 1 - 5e-4
    for selection in selections_of(problem):
        assert graves_lai(problem, selection).value > 0


# Against what is known of the pooled problem


def test_knowing_the_product_helps():
    # The same means as unrelated arms have more alternatives: the ordinary bandit's limits are at least the model's.
    for problem in (mb.Bipartite([0.9, 0.5, 0.3], [0.8, 0.6]), mb.Monopartite([0.8, 0.7, 0.5, 0.3])):
        assert time_of(problem) <= ordinary_time(problem.means, problem.rewards) * (1 + WITHIN)
        assert constant(problem) <= brute.ordinary_bandit(problem.means, problem.rewards) * (1 + WITHIN)


def test_square_root_of_many_equal_losers():
    # One row, n equal losers, Gaussian: T* = 2 sd² (1 + √n)²/gap², the best played √n times as often as each loser.
    for n in (1, 4, 9):
        problem = mb.Bipartite([1.0], [0.6] + [0.4] * n, rewards=mb.Gaussian(sd=1.0))
        found = characteristic_time(problem, plays="pair", seeks="pair")
        assert found.value == pytest.approx(2 * (1 + sqrt(n)) ** 2 / 0.04, rel=WITHIN)
