"""Draws inside the model: would rank1-thompson lose less if no drawn strength were above 1?

`today` takes every draw. `redraw` draws again while some strength is above 1 (rows × columns: while the best product
is), at most 30 times. `metropolis` walks through the exact posterior, restricted to [0, 1], of players with coins for
rewards: a step to a fresh draw, and four from where the last round ended, each taken with the probability that leaves
the posterior as it is. A line of the output, and of draws.jsonl beside this script, is one instance with one way to
draw: what is lost at the horizon, on average and in the worst runs. Measured, and left: see docs/policies.md.

Usage: python docs/make/draws.py RUNS HORIZON [WAY …] [INSTANCE …]
"""

import json
import sys
from math import exp, log, sqrt
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import matchbandit as mb
from matchbandit.compiled import compiled
from matchbandit.policies.rank1_model import PRIOR_MEAN, PRIOR_PRECISION, backward, factor, fit
from matchbandit.policies.rank1_thompson import Arrays, Rank1Thompson, best_round, draw_strengths, sits_out
from matchbandit.policies.rank1_thompson import update as update_today

ROWS = Path(__file__).with_name("draws.jsonl")
MOST_REDRAWS = 30
STEPS, STRIDE, LEAST = 5, 1.5, 0.05
"""Metropolis steps a round; how far one goes, in standard deviations; the least strength to measure a step in log u."""


def players(*u: float) -> mb.Monopartite:
    return mb.Monopartite(list(u))


INSTANCES: dict[str, tuple[Any, str]] = {
    ".9 .5 .45 .1 matchings": (players(0.9, 0.5, 0.45, 0.1), "matching"),
    ".9 .6 .58 .3 matchings": (players(0.9, 0.6, 0.58, 0.3), "matching"),
    ".9 .5 .45 .1 pairs": (players(0.9, 0.5, 0.45, 0.1), "pair"),
    ".95 .9 .87 .4 pairs": (players(0.95, 0.9, 0.87, 0.4), "pair"),
    ".9 .85 .4 × .8 .76 .3 pairs": (mb.Bipartite([0.9, 0.85, 0.4], [0.8, 0.76, 0.3]), "pair"),
    ".9 .8 .4 .3 matchings": (players(0.9, 0.8, 0.4, 0.3), "matching"),
    ".9 .8 .4 .3 pairs": (players(0.9, 0.8, 0.4, 0.3), "pair"),
    ".95 .9 .5 .4 pairs": (players(0.95, 0.9, 0.5, 0.4), "pair"),
    ".8 .7 .6 .5 .4 .3 matchings": (players(0.8, 0.7, 0.6, 0.5, 0.4, 0.3), "matching"),
    ".8 .5 .3 × .9 .7 .2 pairs": (mb.Bipartite([0.8, 0.5, 0.3], [0.9, 0.7, 0.2]), "pair"),
}


@compiled
def renew(arrays: Arrays) -> None:
    """As `choose` of rank1-thompson renews its posterior; nothing fades."""
    if arrays.out_of_date[0] == 1:
        fit(arrays.model, arrays.factor)
        factor(arrays.factor)
        for i in range(len(arrays.factor)):
            for j in range(len(arrays.factor)):
                arrays.plays_then[i, j] = arrays.model.plays[i, j]
        arrays.out_of_date[0] = 0
        arrays.rounds_since[0] = 0


@compiled
def inside(drawn: np.ndarray, n_rows: int) -> bool:
    """No strength above 1; between rows and columns no product."""
    row, column = 0.0, 0.0
    for i in range(len(drawn)):
        if i < n_rows:
            row = max(row, drawn[i])
        else:
            column = max(column, drawn[i])
    return column <= 1.0 if n_rows == 0 else row * column <= 1.0


@compiled
def choose_redrawn(arrays: Arrays, rng: np.random.Generator, edges: np.ndarray) -> None:
    renew(arrays)
    u, n_rows = arrays.model.strengths, arrays.n_rows
    drawn = draw_strengths(u, arrays.factor, n_rows, rng)
    for _ in range(MOST_REDRAWS):
        if inside(drawn, n_rows):
            break
        drawn = draw_strengths(u, arrays.factor, n_rows, rng)
    best_round(drawn, n_rows, sits_out(arrays.byes, arrays.last_bye), edges)


class Redrawing(Rank1Thompson):
    """Draws again while a strength is above 1."""

    name = "redraw"
    choose = staticmethod(choose_redrawn)


class Chain(NamedTuple):
    """What rank1-thompson keeps, and the last accepted draw."""

    base: Arrays
    state: np.ndarray


@compiled
def log_posterior(arrays: Arrays, x: np.ndarray) -> float:
    """Coins: Σ X log p + (n − X) log(1 − p), and the prior."""
    total = 0.0
    for i in range(len(x)):
        total -= PRIOR_PRECISION * (x[i] - PRIOR_MEAN) ** 2 / 2.0
        for j in range(i):
            n, won = arrays.model.plays[i, j], arrays.model.sums[i, j]
            if n > 0.0:
                p = x[i] * x[j]
                total += (won * log(p) if won > 0.0 else 0.0) + ((n - won) * log(1.0 - p) if n > won else 0.0)
    return total


@compiled
def log_proposal(arrays: Arrays, x: np.ndarray) -> float:
    """Density of the bent Gaussian of `draw_strengths` at x, players only."""
    u, L = arrays.model.strengths, arrays.factor
    shift, total = np.empty(len(x)), 0.0
    for i in range(len(x)):
        shift[i] = x[i] - u[i]
        if x[i] < u[i]:
            shift[i] = u[i] * log(x[i] / u[i])
            total -= shift[i] / u[i]
    for j in range(len(x)):  # |Lᵀ shift|²
        along = 0.0
        for i in range(j, len(x)):
            along += L[i, j] * shift[i]
        total -= along * along / 2.0
    return total


@compiled
def choose_accepted(arrays: Chain, rng: np.random.Generator, edges: np.ndarray) -> None:
    """A step to a fresh draw and steps from where the last round ended, along the curves of known products."""
    base, state = arrays.base, arrays.state
    renew(base)
    u, n = base.model.strengths, len(state)
    target, proposed = log_posterior(base, state), np.empty(n)
    for step in range(STEPS):
        fresh = step == 0
        odds = 0.0
        if fresh:
            drawn = draw_strengths(u, base.factor, 0, rng)
            for i in range(n):
                proposed[i] = drawn[i]
        else:
            for i in range(n):
                proposed[i] = rng.standard_normal() * STRIDE / sqrt(n)
            backward(base.factor, proposed)
            for i in range(n):
                stride = proposed[i] / max(u[i], LEAST)
                odds += stride
                proposed[i] = state[i] * exp(min(stride, 50.0))
        valid = True
        for i in range(n):
            valid = valid and 1e-6 < proposed[i] < 1.0
        if valid:
            there = log_posterior(base, proposed)
            odds += there - target
            if fresh:
                odds += log_proposal(base, state) - log_proposal(base, proposed)
            if odds >= 0.0 or rng.random() < exp(odds):
                target = there
                for i in range(n):
                    state[i] = proposed[i]
    best_round(state, 0, sits_out(base.byes, base.last_bye), edges)


@compiled
def update_chain(arrays: Chain, rng: np.random.Generator, edges: np.ndarray, rewards: np.ndarray) -> None:
    update_today(arrays.base, rng, edges, rewards)


class Metropolis(Rank1Thompson):
    """An independence sampler on the exact posterior of players with coins for rewards."""

    name = "metropolis"
    choose = staticmethod(choose_accepted)
    update = staticmethod(update_chain)

    def start(self) -> Any:
        base = super().start()
        return Chain(base, np.full(len(base.model.strengths), PRIOR_MEAN))


WAYS = {"today": "rank1-thompson", "redraw": Redrawing, "metropolis": Metropolis}


def main(runs: int, horizon: int, chosen: list[str], ways: list[str]) -> None:
    for name in chosen or INSTANCES:
        problem, selection = INSTANCES[name]
        for way in ways:
            if way == "metropolis" and problem.graph.kind == "bipartite":
                continue
            spec, began = mb.policy(WAYS[way], selection=selection), process_time()
            final = mb.simulate(
                problem, spec, horizon=horizon, runs=runs, seed=7, checkpoints=[horizon], workers=1
            ).final
            row = {
                "instance": name,
                "way": way,
                "runs": runs,
                "horizon": horizon,
                "mean": round(float(final.mean()), 2),
                "error": round(float(final.std() / np.sqrt(runs)), 2),
                "p99": round(float(np.quantile(final, 0.99)), 1),
                "p999": round(float(np.quantile(final, 0.999)), 1),
                "largest": [round(float(x), 1) for x in np.sort(final)[:-6:-1]],
                "seconds": round(process_time() - began),
            }
            print(json.dumps(row, ensure_ascii=False), flush=True)
            with ROWS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    ways = [word for word in sys.argv[3:] if word in WAYS]
    main(int(sys.argv[1]), int(float(sys.argv[2])), [w for w in sys.argv[3:] if w in INSTANCES], ways or list(WAYS))
