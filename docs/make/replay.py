"""How often the bands of `replay` hold the true difference, over many logs: replay.json, the table of docs/replay.md.

For each log a truth is made up, pairs are played in it as someone would, and the log is replayed. What the policies
really earn from there on, in that truth, is simulated, and the bands are held against it. Beside it stands what one
gets who takes the best-fitting product for the truth: the mean of the runs ± 1.64 standard errors.

Usage: python docs/make/replay.py [LOGS [SCENE …]]     measure, and go on where it was stopped
       python docs/make/replay.py table                print the table of what is in replay.json
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import matchbandit as mb
from matchbandit.lab.replay import AS_BEFORE
from matchbandit.lab.replay.as_before import pair_frequencies
from matchbandit.problems import Problem
from matchbandit.product_model import product_fit
from matchbandit.seeding import stream

ROWS = Path(__file__).with_name("replay.json")
HORIZON, TRUE_RUNS, FIT_RUNS = 100, 60, 50
ODDS = 1.64
"""Standard errors on either side of 90 %."""
Counts = np.ndarray
Scene = tuple[str, Callable[[np.random.Generator], Problem], Callable[[Problem, np.random.Generator], Counts]]


def strengths(rng: np.random.Generator, n: int = 8, low: float = 0.1, high: float = 0.95) -> np.ndarray:
    return rng.uniform(low, high, n)


def players(rng: np.random.Generator) -> Problem:
    return mb.Monopartite(strengths(rng))


def alike(rng: np.random.Generator) -> Problem:
    return mb.Monopartite(strengths(rng, low=0.65, high=0.75))


def jobs(rng: np.random.Generator) -> Problem:
    return mb.Bipartite(strengths(rng, 5), strengths(rng, 6))


def measured(rng: np.random.Generator) -> Problem:
    return mb.Monopartite(strengths(rng), rewards=mb.Gaussian(0.3))


def no_product(rng: np.random.Generator) -> Problem:
    table = np.triu(rng.uniform(0.1, 0.9, (8, 8)), 1)
    return mb.Means(table + table.T, players=True)


def by_lot(rounds: int) -> Callable[[Problem, np.random.Generator], Counts]:
    """Each round any matching."""

    def play(problem: Problem, rng: np.random.Generator) -> Counts:
        return np.sum([some_matching(problem, rng) for _ in range(rounds)], axis=0)

    return play


def by_habit(rounds: int) -> Callable[[Problem, np.random.Generator], Counts]:
    """Three rounds in four the same matching."""

    def play(problem: Problem, rng: np.random.Generator) -> Counts:
        usual = some_matching(problem, rng)
        return np.sum([usual if rng.random() < 0.75 else some_matching(problem, rng) for _ in range(rounds)], axis=0)

    return play


def one_by_one(results: int) -> Callable[[Problem, np.random.Generator], Counts]:
    """Single pairs of items that are unequally often there: no matchings of all items."""

    def play(problem: Problem, rng: np.random.Generator) -> Counts:
        popularity = rng.uniform(0.3, 1, problem.graph.shape[0]) ** 2
        weights = popularity[problem.graph.pairs].prod(axis=1)
        return rng.multinomial(results, weights / weights.sum())

    return play


def some_matching(problem: Problem, rng: np.random.Generator) -> Counts:
    graph = problem.graph
    plays = np.zeros(graph.n_pairs, dtype=np.int64)
    order = rng.permutation(graph.shape[0])
    pairs = order[: len(order) // 2 * 2].reshape(-1, 2)
    if graph.kind == "bipartite":
        size = graph.matching_size
        pairs = np.stack([order[:size], rng.permutation(graph.shape[1])[:size]], axis=1)
    plays[graph.edges(pairs)] = 1
    return plays


SCENES: dict[str, Scene] = {
    "lot": ("8 players, 160 results, pairs by lot", players, by_lot(40)),
    "few": ("8 players, 32 results, pairs by lot", players, by_lot(8)),
    "habit": ("8 players, 160 results, mostly the same pairs", players, by_habit(40)),
    "single": ("8 players, 160 results, single pairs, some players far more often", players, one_by_one(160)),
    "learnt": ("8 players, 160 results, pairs by rank1-thompson", players, by_lot(0)),
    "alike": ("8 players who are nearly alike, 160 results, by lot", alike, by_lot(40)),
    "sides": ("5 × 6 sides, 200 results, by lot", jobs, by_lot(40)),
    "gaussian": ("8 players, 80 gaussian:0.3 results, by lot", measured, by_lot(20)),
    "no-product": ("8 players, no product, 400 results, by lot", no_product, by_lot(100)),
}


def log_of(name: str, number: int) -> tuple[Problem, mb.PastResults]:
    """A truth and a log of it."""
    _, make, play = SCENES[name]
    rng = stream(1, "coverage", name, number)
    problem = make(rng)
    if name == "learnt":
        return problem, learnt(problem, number, rounds=40)
    counts = play(problem, rng)
    sums = problem.rewards.sums(problem.means, counts, rng)
    return problem, named(problem, counts, sums)


def learnt(problem: Problem, number: int, rounds: int) -> mb.PastResults:
    """A log of a policy that learns as it goes."""
    policy = mb.policy("rank1-thompson").build(problem.graph, rewards=problem.rewards, seed=number)
    rng = stream(1, "coverage", "learnt", number, "rewards")
    counts, sums = np.zeros(problem.graph.n_pairs, dtype=np.int64), np.zeros(problem.graph.n_pairs)
    for _ in range(rounds):
        edges = problem.graph.edges(policy.ask())
        paid = problem.rewards.draw(problem.means_of(edges), rng)
        policy.tell(policy.ask(), paid)
        counts[edges] += 1
        sums[edges] += paid
    return named(problem, counts, sums)


def named(problem: Problem, counts: Counts, sums: np.ndarray) -> mb.PastResults:
    two = problem.graph.kind == "bipartite"
    rows = [
        (f"r{i}" if two else f"p{i}", f"c{j}" if two else f"p{j}", int(n), float(total))
        for (i, j), n, total in zip(problem.graph.pairs.tolist(), counts, sums, strict=True)
    ]
    return mb.PastResults.from_rows(rows, kind="sides" if two else "players")


def in_order_of(log: mb.PastResults, problem: Problem) -> Problem:
    """The truth, with its items in the order in which the log names them."""
    order = [[int(name[1:]) for name in names] for names in log.tally.names]
    rows, columns = order[0], order[-1]
    if isinstance(problem, mb.Means):
        return mb.Means(problem.table[np.ix_(rows, columns)], problem.players, rewards=problem.rewards)
    if isinstance(problem, mb.Bipartite):
        return mb.Bipartite(problem.u[rows], problem.v[columns], rewards=problem.rewards)
    return mb.Monopartite(problem.u[rows], rewards=problem.rewards)


def rivals(problem: Problem) -> tuple[str, str]:
    """One that believes in products, and one that does not."""
    return "rank1-thompson", "cts-gaussian" if isinstance(problem.rewards, mb.Gaussian) else "cts-beta"


def earnings(problem: Problem, log: mb.PastResults, runs: int, seed: int) -> tuple[np.ndarray, float]:
    """What each policy earns in this truth after the log, run by run, and what going on as before does."""
    tally = log.tally
    earned = []
    for name in rivals(problem):
        spec = mb.policy(name, selection="matching") if name == "rank1-thompson" else mb.policy(name)
        warm = spec.warm_start(tally.pairs, tally.counts, tally.sums)
        runs_of = mb.simulate(problem, warm, horizon=HORIZON, runs=runs, seed=seed, checkpoints=[HORIZON])
        earned.append(runs_of.plays_by_edge @ problem.means)
    return np.array(earned), HORIZON * float(pair_frequencies(tally, "matching") @ problem.means)


def best_fit(log: mb.PastResults, rewards: object) -> Problem:
    """The product that fits best, taken for the truth."""
    tally = log.tally
    found = product_fit(
        tally.graph, tally.pairs, counts=tally.counts, sums=tally.sums, rewards=rewards, simulate_null=False
    )
    parts = [np.clip(part, 0, 1) for part in found.strengths]
    return mb.Bipartite(*parts, rewards=rewards) if len(parts) > 1 else mb.Monopartite(parts[0], rewards=rewards)


def measure(name: str, number: int, runs: int = 200) -> dict[str, object]:
    """One log: true differences, the bands, and those of the best fit."""
    problem, log = log_of(name, number)
    problem = in_order_of(log, problem)
    how = {"horizon": HORIZON, "runs": runs, "seed": number, "rewards": problem.rewards}
    done = mb.replay(log, rivals(problem), **how)
    believing = mb.replay(log, rivals(problem), truth="product", **how)
    true, before = earnings(problem, log, TRUE_RUNS, seed=10**6 + number)
    plugged, plugged_before = earnings(best_fit(log, problem.rewards), log, FIT_RUNS, seed=2 * 10**6 + number)
    one, other = rivals(problem)
    earned = {one: true[0], other: true[1], AS_BEFORE: before}
    fitted = {one: plugged[0], other: plugged[1], AS_BEFORE: plugged_before}
    differences = {}
    for a, b in ((one, other), (one, AS_BEFORE), (other, AS_BEFORE)):
        difference, by_fit = earned[a] - earned[b], fitted[a] - fitted[b]
        differences[f"{a} − {b}"] = {
            "true": float(difference.mean()),
            "first run": float(difference[0]),
            "band": list(done.difference(a, b)[:3]),
            "single": list(done.difference(a, b)[3:]),
            "product band": list(believing.difference(a, b)[:3]),
            "best fit": [float(by_fit.mean()), float(by_fit.std(ddof=1) / np.sqrt(FIT_RUNS))],
        }
    return {"scene": name, "log": number, "product": done.product, "differences": differences}


def kept() -> list[dict[str, object]]:
    return json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.exists() else []


def keep(rows: list[dict[str, object]]) -> None:
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    ROWS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def table(rows: list[dict[str, object]]) -> str:
    """A line for each scene: how often the bands hold, and how often the log decides, and wrongly."""
    heads = (
        "log", "logs", "all three bands hold", "with `truth=\"product\"`", "single deployments", "by the best fit",
        "told apart", "wrongly",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    products = [name for name in SCENES if name != "no-product"]
    scenes = [(words, [name]) for name, (words, _, _) in SCENES.items()] + [("all products together", products)]
    for words, names in scenes:
        there = [list(row["differences"].values()) for row in rows if row["scene"] in names]
        if there:
            shares = [shown(held) for held in zip(*(judged(log) for log in there), strict=True)]
            lines.append(f"| {words} | {len(there)} | {' | '.join(shares)} |")
    return "\n".join(lines)


def judged(log: list[dict[str, Any]]) -> tuple[bool, ...]:
    """Of one log, what the columns of the table count."""
    policies = log[0]
    apart = [d["band"][1] > 0 or d["band"][2] < 0 for d in log]
    return (
        all(d["band"][1] <= d["true"] <= d["band"][2] for d in log),
        all(d["product band"][1] <= d["true"] <= d["product band"][2] for d in log),
        policies["single"][0] <= policies["first run"] <= policies["single"][1],
        abs(policies["true"] - policies["best fit"][0]) <= ODDS * policies["best fit"][1],
        apart[0],
        any(told and d["band"][0] * d["true"] < 0 for told, d in zip(apart, log, strict=True)),
    )


def shown(held: Sequence[bool]) -> str:
    return f"{100 * np.mean(held):.0f} %"


def main(logs: int, scenes: list[str]) -> None:
    rows = kept()
    done = {(row["scene"], row["log"]) for row in rows}
    for number in range(logs):
        for name in scenes:
            if (name, number) not in done:
                rows.append(measure(name, number))
        keep(rows)
    print(table(rows))


if __name__ == "__main__":
    if sys.argv[1:] == ["table"]:
        print(table(kept()))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, sys.argv[2:] or list(SCENES))
