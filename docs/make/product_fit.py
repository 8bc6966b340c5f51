"""Measure the level and the power of `product_fit`: the tables of docs/product-model.md.

python docs/make/product_fit.py level     # results of products, 400 data sets in each row
python docs/make/product_fit.py policies  # logs of policies on products, 300 in each row
"""

import sys
from math import sqrt

import numpy as np

import matchbandit as mb
from matchbandit import product_model

SIMULATIONS = 99
DATA_SETS, LOGS = 400, 300


def main(what: str) -> None:
    """Print a table."""
    product_model.SIMULATIONS = SIMULATIONS
    if what == "level":
        print_levels()
    else:
        print_policies()


def print_levels() -> None:
    """How often p is small where the product is right."""
    print(r"| results | simulated: $p \le 0.05$ | $p \le 0.2$ | not simulated: $p \le 0.05$ | $p < 0.001$ | power |")
    print("|---|---|---|---|---|---|")
    ads = mb.bipartite(34, 3)
    for sd in (0.0, 0.7):
        for successes in (1, 3, 6, 15, 50):
            words = (
                f"34 × 3, {'equal' if sd == 0 else 'unequal'} items, {successes} success{'es' * (successes > 1)} each"
            )
            print_level(words, ads, 98, sqrt(successes / (3 * 98)), sd)
    print_level("20 × 20 once each, strengths 0.7", mb.bipartite(20, 20), 1, 0.7, 0.0)
    print_level("20 × 20 once each, unequal", mb.bipartite(20, 20), 1, 0.6, 0.35)
    print_level("8 players, 10 plays of each pair, unequal", mb.monopartite(8), 10, 0.6, 0.35)
    print_level("8 players, 100 plays of each pair, unequal", mb.monopartite(8), 100, 0.6, 0.35)


def print_level(words: str, graph: mb.graphs.Graph, plays: int, level: float, sd: float) -> None:
    """One row: log strengths are normal around the logarithm of the level, at most log 0.98."""
    rng, offset = np.random.default_rng(1), graph.shape[0] if graph.kind == "bipartite" else 0
    counts, ranks, tails, power = np.full(graph.n_pairs, plays), [], [], []
    for _ in range(DATA_SETS):
        u = np.minimum(level * np.exp(sd * rng.standard_normal(offset + graph.shape[1]) - sd**2 / 2), 0.98)
        sums = rng.binomial(counts, u[graph.pairs[:, 0]] * u[graph.pairs[:, 1] + offset])
        fit = mb.product_fit(graph, graph.pairs, counts=counts, sums=sums)
        ranks.append(fit.p_value)
        power.append(fit.power)
        tails.append(mb.product_fit(graph, graph.pairs, counts=counts, sums=sums, simulate_null=False).p_value)
    ranked, tailed = np.array(ranks), np.array(tails)
    numbers = [(ranked <= 0.05).mean(), (ranked <= 0.2).mean(), (tailed <= 0.05).mean(), (tailed < 0.001).mean()]
    print(f"| {words} | {' | '.join(f'{number:.3f}' for number in numbers)} | {np.mean(power):.2f} |", flush=True)


def print_policies() -> None:
    """How often p is small for a policy's own log."""
    print(r"| log of | problem | rounds | $p \le 0.05$ | $p \le 0.2$ |")
    print("|---|---|---|---|---|")
    six, four = ("6 players, matchings", "matching"), ("4 × 4, single pairs", "pair")
    for name, (words, selection), rounds in (
        ("rank1-thompson", six, 30),
        ("rank1-thompson", six, 300),
        ("rank1-thompson", four, 100),
        ("rank1-thompson", four, 1000),
        ("uniform", six, 300),
        ("uniform", four, 100),
    ):
        p = np.array([p_of_log(name, selection, rounds, seed) for seed in range(LOGS)])
        print(f"| `{name}` | {words} | {rounds} | {(p <= 0.05).mean():.3f} | {(p <= 0.2).mean():.3f} |", flush=True)


def p_of_log(name: str, selection: str, rounds: int, seed: int) -> float:
    """The p-value of one log; strengths are uniform on [0.2, 1]."""
    rng = np.random.default_rng(seed)
    if selection == "matching":
        problem: mb.Problem = mb.Monopartite(rng.uniform(0.2, 1, 6))
    else:
        problem = mb.Bipartite(rng.uniform(0.2, 1, 4), rng.uniform(0.2, 1, 4))
    policy = mb.policy(name, selection=selection).build(problem.graph, seed=seed)
    counts, sums = np.zeros(problem.graph.n_pairs, dtype=np.int64), np.zeros(problem.graph.n_pairs)
    for _ in range(rounds):
        pairs = policy.ask()
        edges = problem.graph.edges(pairs)
        rewards = (rng.random(len(edges)) < problem.means[edges]).astype(float)
        policy.tell(pairs, rewards)
        counts[edges] += 1
        sums[edges] += rewards
    return mb.product_fit(problem.graph, problem.graph.pairs, counts=counts, sums=sums).p_value


if __name__ == "__main__":
    main(sys.argv[1])
