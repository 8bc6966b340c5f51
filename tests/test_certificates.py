from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.certificates import Target, bottleneck_closure, linear_extension, shortest_chains

GOALS = [
    *((mb.monopartite(n), "matching") for n in range(2, 9)),
    *((mb.monopartite(n), "pair") for n in range(2, 7)),
    *((mb.bipartite(n, m), goal) for n, m in product(range(1, 5), repeat=2) for goal in ("pair", "matching")),
]
goals = pytest.mark.parametrize(("graph", "goal"), GOALS, ids=str)
NOTHING = -np.inf


def of_order(target, order):
    """The block of each item."""
    block = np.empty(target.n_items, dtype=int)
    for start, sizes in zip(target.sides, target.blocks, strict=False):
        place = start
        for number, size in enumerate(sizes):
            block[order[place : place + size]] = number
            place += size
    return block


def answer_of(graph, goal, order):
    """The pairs of an order of all items, as the policy forms them."""
    size = 1 if goal == "pair" else graph.matching_size
    if graph.kind == "bipartite":
        rows = graph.shape[0]
        return [(int(i), int(j) - rows) for i, j in zip(order[:size], order[rows : rows + size], strict=True)]
    return [tuple(sorted(order[2 * k : 2 * k + 2])) for k in range(size)]


def same_side(target):
    return [
        (a, b)
        for a, b in product(range(target.n_items), repeat=2)
        if a != b and np.searchsorted(target.sides, a, "right") == np.searchsorted(target.sides, b, "right")
    ]


# The goal


@goals
def test_the_bad_links_are_those_from_a_later_block_to_an_earlier_one(graph, goal):
    target = Target.of(graph, goal)
    rng = np.random.default_rng(1)
    order = np.concatenate([a + rng.permutation(b - a) for a, b in pairwise(target.sides)])
    block = of_order(target, order)
    assert target.bad_links == sum(block[a] > block[b] for a, b in same_side(target))
    assert target.n_links == sum(a < b for a, b in same_side(target))
    assert [sum(sizes) for sizes in target.blocks] == np.diff(target.sides).tolist()
    assert target.comparable.nonzero()[0].tolist() == [a for a, _ in same_side(target)]
    if target.n_items <= 7:
        common = {
            (a, b): sum(
                c not in (a, b) and (graph.kind == "monopartite" or (c < target.sides[1]) != (a < target.sides[1]))
                for c in range(target.n_items)
            )
            for a, b in same_side(target)
        }
        assert all(target.opponents[a] == n for (a, _), n in common.items())


@pytest.mark.parametrize(
    ("graph", "goal", "expected"),
    [
        *((mb.monopartite(2 * N), "matching", 2 * N * (N - 1)) for N in range(1, 6)),
        *((mb.monopartite(n), "matching", n * (n - 1) // 2 - (n - 1) // 2) for n in (3, 5, 7)),
        *((mb.monopartite(n), "pair", 2 * (n - 2)) for n in range(2, 7)),
        *((mb.bipartite(N, M), "pair", N + M - 2) for N, M in product(range(1, 5), repeat=2)),
        *((mb.bipartite(N, M), "matching", min(N, M) * (max(N, M) - 1)) for N, M in product(range(1, 5), repeat=2)),
    ],
    ids=str,
)
def test_the_numbers_of_the_table(graph, goal, expected):
    assert Target.of(graph, goal).bad_links == expected


@goals
def test_the_borders_are_every_item_of_a_block_above_every_item_of_the_next(graph, goal):
    target = Target.of(graph, goal)
    order = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in pairwise(target.sides)])
    block = of_order(target, order)
    links = set(map(tuple, target.borders(order).tolist()))
    assert links == {(a, b) for a, b in same_side(target) if block[b] == block[a] + 1}
    chains = np.random.default_rng(2).normal(size=(target.n_items,) * 2)
    told = [chains[a, b] for a, b in links]
    assert target.weakest(order, chains) == min(told, default=np.inf)
    missing = set(map(tuple, target.missing(order, chains, 0.3).tolist()))
    assert missing == {(a, b) for a, b in links if chains[a, b] < 0.3}


def log_ratio(strengths):
    """log(u_b/u_a) of every two items."""
    return np.log(strengths)[None, :] - np.log(strengths)[:, None]


@goals
def test_the_loss_of_an_order_sums_the_worst_ratio_across_blocks_of_each_side(graph, goal):
    target, rng = Target.of(graph, goal), np.random.default_rng(3)
    assert target.loss_exponent == (2 if goal == "pair" and graph.kind == "monopartite" else 1)
    for spread in (0.1, 3.0):
        ratios = rng.normal(size=(target.n_items,) * 2) + spread - 1
        order = np.concatenate([a + rng.permutation(b - a) for a, b in pairwise(target.sides)])
        block, worst = of_order(target, order), [0.0, 0.0]
        for a, b in same_side(target):
            if block[a] < block[b]:
                side = int(a >= target.sides[1])
                worst[side] = max(worst[side], ratios[a, b])
        assert target.log_loss(order, ratios) == pytest.approx(sum(worst))


# Chains


def closure(relation):
    """Who is above whom by any chain."""
    closed = relation.copy()
    while True:
        more = closed | (closed.astype(int) @ closed.astype(int) > 0)
        if (more == closed).all():
            return closed
        closed = more


@pytest.mark.parametrize("seed", range(20))
def test_chains_are_the_transitive_closure_at_every_threshold(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    links = rng.integers(-3, 4, (n, n)).astype(float)
    links[rng.random((n, n)) < 0.5] = -np.inf
    np.fill_diagonal(links, -np.inf)
    before = links.copy()
    chains = bottleneck_closure(links)
    assert (links == before).all()
    apart = ~np.eye(n, dtype=bool)
    for threshold in np.arange(-3.5, 4):
        assert ((chains >= threshold) == closure(links >= threshold))[apart].all()
    assert (chains.diagonal() == -np.inf).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_shortest_chain_is_that_of_all_chains(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    lengths = np.where(rng.random((n, n)) < 0.6, rng.choice([0.0, 0.1, 0.5, 1.0], (n, n)), np.inf)
    before = lengths.copy()
    chains = shortest_chains(lengths)
    assert (lengths == before).all()
    for a, b in permutations(range(n), 2):
        others = [c for c in range(n) if c not in (a, b)]
        paths = [(a, *via, b) for k in range(n - 1) for via in permutations(others, k)]
        assert chains[a, b] == pytest.approx(min(sum(lengths[x, y] for x, y in pairwise(path)) for path in paths))


# Orders


def agrees(order, relation):
    return not any(relation[b, a] for a, b in combinations(order, 2))


def greedy(strengths, relation):
    """The order that, of those that agree, has the strongest first, then the strongest second, …"""
    orders = [order for order in permutations(range(len(strengths))) if agrees(order, relation)]
    return max(orders, key=lambda order: [(strengths[a], -a) for a in order])


@pytest.mark.parametrize("seed", range(60))
def test_the_order_agrees_with_what_is_certified_one_way_and_beyond_that_with_the_strengths(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    strengths = rng.integers(0, 4, n) / 4 if seed % 2 else rng.random(n)  # with ties, and without
    certified = closure((rng.random((n, n)) < rng.choice([0.1, 0.3])) & ~np.eye(n, dtype=bool))  # with cycles
    order = linear_extension(strengths, np.array([0, n]), certified)
    assert tuple(order.tolist()) == greedy(strengths, certified & ~certified.T)


def test_relations_that_contradict_themselves_still_give_an_order():
    rng = np.random.default_rng(1)
    everything = ~np.eye(5, dtype=bool)
    assert linear_extension(np.arange(5) / 5, np.array([0, 5]), everything).tolist() == [4, 3, 2, 1, 0]
    for _ in range(200):  # not even every chain of their links is there
        order = linear_extension(rng.random(5), np.array([0, 2, 5]), (rng.random((5, 5)) < 0.6) & everything)
        assert sorted(order[:2].tolist()) == [0, 1]
        assert sorted(order[2:].tolist()) == [2, 3, 4]


def test_of_equals_the_lower_index_comes_first_and_sides_do_not_mix():
    sides, certified = np.array([0, 2, 5]), np.zeros((5, 5), dtype=bool)
    assert linear_extension(np.full(5, 0.6), sides, certified).tolist() == [0, 1, 2, 3, 4]
    certified[4, 0] = True  # a link between sides means nothing
    assert linear_extension(np.array([0.9, 0.8, 0.1, 0.2, 0.3]), sides, certified).tolist() == [0, 1, 4, 3, 2]


# No bad link: the answer is right


LEVELS = [(0.9, 0.6, 0.6, 0.3), (0.5, 0.5, 0.5, 0.5), (0.3, 0.6, 0.6, 0.9), (0.9, 0.9, 0.3, 0.3), (0.2, 0.8, 0.5, 0.8)]


def value(graph, strengths, pairs):
    rows = graph.n_rows
    return sum(strengths[i] * strengths[j + rows] for i, j in pairs)


def best_value(graph, goal, strengths):
    rows = graph.n_rows
    problem = mb.Bipartite(strengths[:rows], strengths[rows:]) if rows else mb.Monopartite(strengths)
    return problem.optimum(goal)


def bad_links(target, strengths):
    """Links from a later block to an earlier one, in the one order that agrees with the strengths, ties by index."""
    order = np.concatenate(
        [a + np.argsort(-np.array(strengths[a:b]), kind="stable") for a, b in pairwise(target.sides)]
    )  # fmt: skip
    block = of_order(target, order)
    return {(a, b) for a, b in same_side(target) if block[a] > block[b]}


THEOREM = [
    (mb.monopartite(4), "matching"),
    (mb.monopartite(4), "pair"),
    (mb.monopartite(5), "matching"),
    (mb.monopartite(6), "matching"),
    (mb.bipartite(2, 3), "matching"),
    (mb.bipartite(3, 2), "pair"),
    (mb.bipartite(3, 3), "matching"),
]


@pytest.mark.parametrize(("graph", "goal"), THEOREM, ids=str)
@pytest.mark.sampled(3)
def test_without_a_bad_link_an_answer_that_is_certified_is_right(graph, goal):
    target, rng, answers = Target.of(graph, goal), np.random.default_rng(5), 0
    n = target.n_items
    for trial in range(500):
        strengths = tuple(rng.choice([0.3, 0.6, 0.9] if trial % 2 else [0.2, 0.4, 0.6, 0.8, 0.9], n))
        bad = bad_links(target, strengths)
        assert len(bad) == target.bad_links
        links = np.full((n, n), NOTHING)
        for a, b in same_side(target):
            if (a, b) not in bad and rng.random() < 0.9:
                links[a, b] = 1.0
        chains = bottleneck_closure(links)
        assert not any(chains[a, b] > 0 for a, b in bad)  # nor has the closure one
        order = linear_extension(rng.random(n), target.starts, chains > 0)
        if target.weakest(order, chains) > 0:
            answers += 1
            found = value(graph, strengths, answer_of(graph, goal, order))
            assert found == pytest.approx(best_value(graph, goal, strengths))
    assert answers > 30


@pytest.mark.parametrize("strengths", LEVELS)
def test_every_order_of_four_players_that_good_links_certify_is_right(strengths):
    graph = mb.monopartite(4)
    target = Target.of(graph, "matching")
    bad = bad_links(target, strengths)
    links = [link for link in same_side(target) if link not in bad]
    for is_certified in product([False, True], repeat=len(links)):
        table = np.full((4, 4), NOTHING)
        for (a, b), there in zip(links, is_certified, strict=True):
            table[a, b] = 0.0 if there else NOTHING
        chains = bottleneck_closure(table)
        for order in permutations(range(4)):
            if target.weakest(np.array(order), chains) == 0:
                found = value(graph, strengths, answer_of(graph, "matching", order))
                assert found == pytest.approx(best_value(graph, "matching", strengths))


def test_counting_only_links_that_are_strictly_wrong_would_not_do():
    # 1 > 0 lies within the first block, and 2 > 1 is a tie: neither is strictly wrong across a border. With 1 > 3 and
    # 2 > 3, which are true, they certify (1, 2)(0, 3), worth .63 of .72. Of ours 2 > 1 is bad: ties go by index.
    strengths, graph = (0.9, 0.6, 0.6, 0.3), mb.monopartite(4)
    target = Target.of(graph, "matching")
    bad, held = bad_links(target, strengths), [(1, 0), (2, 1), (1, 3), (2, 3)]
    assert not [(a, b) for a, b in held if (a, b) in bad and strengths[a] < strengths[b]]
    links = np.full((4, 4), NOTHING)
    links[tuple(np.transpose(held))] = 0.0
    chains, order = bottleneck_closure(links), np.array([2, 1, 0, 3])
    assert target.weakest(order, chains) == 0
    assert value(graph, strengths, answer_of(graph, "matching", order)) == pytest.approx(0.63)
    assert best_value(graph, "matching", strengths) == pytest.approx(0.72)
    assert bad.intersection(held) == {(2, 1)}


# Ratios: what a wrong order costs at most


RATIOS_OF = [
    *((mb.monopartite(n), "matching") for n in range(2, 8)),
    *((mb.monopartite(n), "pair") for n in range(3, 6)),
    *((mb.bipartite(*shape), "matching") for shape in ((1, 3), (2, 2), (2, 4), (4, 2), (3, 3), (3, 5))),
    *((mb.bipartite(*shape), "pair") for shape in ((1, 3), (2, 2), (4, 2), (3, 5))),
]


def cost_and_bound(graph, goal, strengths, order):
    """The log of the part of the optimum that the answer of this order is worth, and κ log_loss."""
    target = Target.of(graph, goal)
    worth = value(graph, strengths, answer_of(graph, goal, order)) / best_value(graph, goal, strengths)
    return -np.log(worth), target.loss_exponent * target.log_loss(np.asarray(order), log_ratio(strengths))


@pytest.mark.parametrize(("graph", "goal"), RATIOS_OF, ids=str)
@pytest.mark.sampled(3)
def test_an_order_loses_at_most_the_power_of_its_ratios(graph, goal):
    target, rng = Target.of(graph, goal), np.random.default_rng(7)
    n, costs = target.n_items, []
    for trial in range(300):
        order = np.concatenate([a + rng.permutation(b - a) for a, b in pairwise(target.sides)])
        sample = (
            rng.uniform(0.01, 1, n),
            np.exp(rng.normal(-5, 2, n)).clip(1e-9, 1),
            rng.choice([0.1, 0.2, 0.4, 0.8], n),
        )
        strengths = sample[trial % 3]
        if trial % 2:  # of an order that is nearly right
            strengths = np.sort(strengths)[::-1][order.argsort()] * rng.uniform(0.7, 1, n)
        costs.append(cost_and_bound(graph, goal, strengths, order))
    cost, bound = np.array(costs).T
    assert (cost <= bound + 1e-12).all()
    assert (cost > 0.01).any() == (target.bad_links > 0)


@pytest.mark.parametrize(
    ("graph", "goal"),
    [(mb.monopartite(4), "matching"), (mb.monopartite(5), "matching"), (mb.monopartite(4), "pair"),
     (mb.bipartite(2, 3), "matching"), (mb.bipartite(3, 2), "matching"), (mb.bipartite(2, 3), "pair")],
    ids=str,
)  # fmt: skip
def test_no_order_of_strengths_on_a_small_grid_loses_more_and_some_lose_all_of_it(graph, goal):
    # An order of other items is the first order of other strengths: all strengths, and the order 0, 1, 2, ….
    target = Target.of(graph, goal)
    order, costs = np.arange(target.n_items), []
    for strengths in product([1e-9, 0.3, 0.8], repeat=target.n_items):
        costs.append(cost_and_bound(graph, goal, np.array(strengths), order))
    cost, bound = np.array(costs).T
    assert (cost <= bound + 1e-12).all()
    assert (bound - cost)[bound > 0.1].min() < 1e-6


def test_examples_that_lose_all_that_they_may():
    # (x, 1, 1, little): 1 and 1 before x lose the part 1 − 1/x. Two players that are half as strong as two others: 1/4.
    order = np.array([1, 2, 0, 3])
    cost, bound = cost_and_bound(mb.monopartite(4), "matching", np.array([0.9, 0.6, 0.6, 1e-9]), order)
    assert cost == pytest.approx(bound) == pytest.approx(np.log(1.5))
    cost, bound = cost_and_bound(mb.monopartite(4), "pair", np.array([0.4, 0.4, 0.8, 0.8]), np.arange(4))
    assert cost == pytest.approx(bound) == pytest.approx(np.log(4))
    cost, bound = cost_and_bound(mb.bipartite(2, 2), "pair", np.array([0.4, 0.8, 0.3, 0.9]), np.arange(4))
    assert cost == pytest.approx(bound) == pytest.approx(np.log(6))


def test_chains_of_ratios_bound_the_ratio_of_their_ends():
    # If each link says u_b ≤ r u_a and is true, so is what chains of them say.
    rng = np.random.default_rng(11)
    for _ in range(100):
        strengths = rng.uniform(0.1, 1, 5)
        links = np.where(
            rng.random((5, 5)) < 0.5, np.maximum(log_ratio(strengths), 0) + rng.exponential(0.2, (5, 5)), np.inf
        )
        chains = shortest_chains(links)
        assert (log_ratio(strengths) <= chains + 1e-12)[~np.eye(5, dtype=bool)].all()
