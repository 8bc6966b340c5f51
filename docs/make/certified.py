"""Measure the regret, the rounds and the errors of rank1-certify: the tables of docs/certified.md.

Usage: python docs/make/certified.py STUDY, where STUDY is fresh, growth, anytime, tails, ties, constants, errors,
epsilon, regret, rounds, nulls, times or random; `all` (an hour on one core), or `tables`, which prints the rows.

Rows are stored in certified.json beside this file one by one, and are not measured again.

The items of every instance are shuffled once, so that no policy gains by breaking ties in their order.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from math import exp, log
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import matchbandit as mb
from matchbandit.simulation.play import Job
from matchbandit.theory.asymptotic import characteristic_time, graves_lai

STORE = Path(__file__).with_name("certified.json")
OURS, THOMPSON = "rank1-certify", "rank1-thompson"
Instance = tuple[Any, str]
"""A problem, and what a round plays: pair or matching."""
Row = dict[str, Any]


def shuffled(strengths: Any) -> Any:
    """The strengths in an order that depends on nothing but themselves."""
    return np.random.default_rng(crc32(repr(list(map(float, strengths))).encode())).permutation(strengths)


def players(*strengths: float, selection: str = "matching", **more: Any) -> Instance:
    return mb.Monopartite(shuffled(strengths), **more), selection


def pair(u: Any, v: Any) -> Instance:
    return mb.Bipartite(shuffled(u), shuffled(v)), "pair"


def assignment(u: Any, v: Any) -> Instance:
    return mb.Bipartite(shuffled(u), shuffled(v)), "matching"


def convex(x: list[float], y: list[float] | None = None) -> Instance:
    """Means ((x + y)/2)²: no product, one order of the items, increasing differences."""
    x = shuffled(x)
    return mb.Means(np.add.outer(x, x if y is None else shuffled(y)) ** 2 / 4, players=y is None), "matching"


def either(x: list[float]) -> Instance:
    """Means 1 − (1 − x)(1 − y): no product, one order of the items, decreasing differences."""
    rest = 1 - shuffled(x)
    return mb.Means(1 - np.outer(rest, rest), players=True), "pair"


FOUR, SIX, CLOSE = [0.9, 0.8, 0.4, 0.3], [0.8, 0.7, 0.6, 0.5, 0.4, 0.3], [0.9, 0.5, 0.45, 0.1]
SLOTS = [0.8, 0.5, 0.3], [0.9, 0.7, 0.2]
TWINS = [0.65, 0.65, 0.55, 0.55, 0.45, 0.45, 0.35, 0.35]
MAIN: dict[str, Instance] = {
    ".9 .5 .45 .1": players(*CLOSE),
    ".8 .7 .6 .5 .4 .3": players(*SIX),
    "slots .8 .5 .3 × .9 .7 .2, pair": pair(*SLOTS),
    ".9 .8 .4 .3": players(*FOUR),
}
TIES = players(0.9, 0.6, 0.6, 0.3)
FRESH: dict[str, Instance] = {
    "4 players, uniform": players(0.4183, 0.3934, 0.2408, 0.1956),
    "6 players, uniform": players(0.8476, 0.4538, 0.3893, 0.2495, 0.1538, 0.1304),
    "8 players, .2 to .9": players(0.8784, 0.8721, 0.8168, 0.7679, 0.499, 0.3522, 0.2963, 0.2851),
    "4 weak players": players(0.0749, 0.0357, 0.0214, 0.0168),
    "6 strong players": players(0.9984, 0.9207, 0.8236, 0.8105, 0.8008, 0.6923),
    "5 players, pair": players(0.9433, 0.7644, 0.6981, 0.1109, 0.0866, selection="pair"),
    "8 players, pair": players(0.9444, 0.9179, 0.5777, 0.3615, 0.1301, 0.1057, 0.0399, 0.0392, selection="pair"),
    "4×6, pair": pair([0.9424, 0.922, 0.0922, 0.0703], [0.8893, 0.56, 0.4115, 0.3952, 0.3937, 0.1938]),
    "10×3, pair": pair(
        [0.8928, 0.888, 0.8197, 0.5466, 0.3933, 0.3482, 0.323, 0.2041, 0.1996, 0.0337], [0.6446, 0.636, 0.103]
    ),
    "3×5 weak, pair": pair([0.1724, 0.1082, 0.0907], [0.2152, 0.2099, 0.1115, 0.1003, 0.0978]),
    "3×3, assignment": assignment([0.9757, 0.0959, 0.0423], [0.8297, 0.6602, 0.5558]),
    "3×6, assignment": assignment([0.757, 0.4147, 0.2069], [0.8499, 0.8039, 0.553, 0.3954, 0.1887, 0.1609]),
    "4 players, Gaussian sd 2": players(0.7941, 0.7633, 0.5832, 0.3867, rewards=mb.Gaussian(sd=2)),
}
TAILS: dict[str, Instance] = {
    **MAIN,
    "tie .9 .6 .6 .3": TIES,
    "near tie .9 .6 .59 .3": players(0.9, 0.6, 0.59, 0.3),
    **{name: FRESH[name] for name in ("4 weak players", "3×5 weak, pair", "4 players, Gaussian sd 2")},
}
CONSTANTS: dict[str, Instance] = {
    **MAIN,
    ".9 .8 .6 .5 .3 .2": players(0.9, 0.8, 0.6, 0.5, 0.3, 0.2),
    "8×8, .9 above .45, pair": pair([0.9] + [0.45] * 7, [0.9] + [0.45] * 7),
    ".9 .8 .4 .3, pair": players(*FOUR, selection="pair"),
    ".8 .7 .6 .5 .4 .3, pair": players(*SIX, selection="pair"),
    ".9 .6 .3, pair": players(0.9, 0.6, 0.3, selection="pair"),
    ".95 .9 .5 .4": players(0.95, 0.9, 0.5, 0.4),
    "2×5 .9 .5 × .8 .6 .4 .2 .1, assignment": assignment([0.9, 0.5], [0.8, 0.6, 0.4, 0.2, 0.1]),
    "3×3 .9 .6 .3 × .8 .5 .2, assignment": assignment([0.9, 0.6, 0.3], [0.8, 0.5, 0.2]),
    ".9 .8 .4 .3, Gaussian sd .5": players(*FOUR, rewards=mb.Gaussian(sd=0.5)),
}
ROUNDS: dict[str, Instance] = {
    name: CONSTANTS[name]
    for name in (
        ".9 .8 .4 .3", ".9 .5 .45 .1", ".8 .7 .6 .5 .4 .3", ".9 .8 .6 .5 .3 .2", "slots .8 .5 .3 × .9 .7 .2, pair",
        "8×8, .9 above .45, pair", ".9 .8 .4 .3, pair", ".8 .7 .6 .5 .4 .3, pair",
    )
} | {".65 .65 .55 .55 .45 .45 .35 .35": players(*TWINS)}  # fmt: skip
LONG, SHORT = 10**5, 3000
ERRORS: dict[str, tuple[Instance, int]] = {  # instance, max_rounds
    "4 players": (players(*FOUR), LONG),
    "4 players, near tie": (players(0.9, 0.85, 0.84, 0.3), SHORT),
    "6 players, equal partners": (players(0.9, 0.9, 0.5, 0.5, 0.1, 0.1), LONG),
    "4 players, tiny means": (players(0.3, 0.25, 0.08, 0.05), LONG),
    "4 players, Gaussian": (players(*FOUR, rewards=mb.Gaussian(sd=0.5)), LONG),
    "4 players, Gaussian, near tie": (players(0.9, 0.62, 0.6, 0.3, rewards=mb.Gaussian(sd=0.3)), SHORT),
    "4 players, Binomial(5), near tie": (players(0.8, 0.61, 0.6, 0.4, rewards=mb.Binomial(5)), SHORT),
    "5 players": (players(0.95, 0.85, 0.5, 0.4, 0.05), LONG),
    "3 players, near tie": (players(0.8, 0.7, 0.69), SHORT),
    "4 players, no product": (convex(FOUR), LONG),
    "4 players, no product, near tie": (convex([0.9, 0.7, 0.69, 0.3]), SHORT),
    "4 players, pair": (players(*FOUR, selection="pair"), LONG),
    "4 players, pair, near tie": (players(0.7, 0.6, 0.59, 0.2, selection="pair"), SHORT),
    "4 players, pair, no product": (either([0.8, 0.6, 0.1, 0.05]), LONG),
    "3×3, pair": (pair(*SLOTS), LONG),
    "2×5, pair": (pair([0.9, 0.4], [0.9, 0.4, 0.4, 0.3, 0.2]), LONG),
    "2×2, pair, near tie": (pair([0.7, 0.69], [0.8, 0.79]), SHORT),
    "3×3, pair, tiny means": (pair([0.2, 0.05, 0.03], [0.3, 0.1, 0.05]), LONG),
    "2×5, assignment": (assignment([0.9, 0.4], [0.9, 0.5, 0.15, 0.1, 0.1]), LONG),
    "5×3, assignment": (assignment([0.95, 0.65, 0.35, 0.05, 0.02], [0.9, 0.6, 0.3]), SHORT),
    "3×3, assignment, no product": (convex([0.9, 0.5, 0.1], [0.8, 0.4, 0.1]), LONG),
}
EPSILON: dict[str, Instance] = {  # products only; "limit": the second best answer lacks a little more than a tenth
    **{name: instance for name, (instance, _) in ERRORS.items() if "no product" not in name},
    "4 players, tie": TIES,
    "4 players, two ties": players(0.7, 0.7, 0.7, 0.2),
    "4 players, pair, tie": players(0.7, 0.6, 0.6, 0.2, selection="pair"),
    "2×2, pair, ties": pair([0.7, 0.7], [0.5, 0.5]),
    "3×3, assignment, ties": assignment([0.8, 0.8, 0.3], [0.9, 0.5, 0.5]),
    "4 players, limit": players(0.9, 0.6, 0.52, 0.1),
    "3 players, limit": players(0.8, 0.7, 0.625),
    "4 players, pair, limit": players(0.9, 0.6, 0.535, 0.2, selection="pair"),
    "2×2, pair, limit": pair([0.8, 0.715], [0.9, 0.8]),
}
TIMES: dict[str, Instance] = {
    "8 players": players(*TWINS),
    "8×8, pair": pair(*[[0.9, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.02]] * 2),
    "8×8, assignment": assignment(*[np.linspace(0.9, 0.2, 8)] * 2),
    "20 players": players(*np.linspace(0.95, 0.05, 20)),
    "tie .9 .6 .6 .3": TIES,
    ".9 .5 .45 .1": players(*CLOSE),
}
NULLS: dict[str, tuple[Instance, dict[str, Any], float]] = {  # instance, options, ratio of two of its strengths
    "identification, .9 .6 .6 .3": (TIES, {"delta": 1e-9}, 1.0),
    "identification, 2×2 .7 .7 × .5 .5, pair": (pair([0.7, 0.7], [0.5, 0.5]), {"delta": 1e-9}, 1.0),
    "regret, .9 .6 .6 .3": (TIES, {}, 1.0),
    "regret, .9 .51 .48 .3": (players(0.9, 0.51, 0.48, 0.3), {}, 1.0625),
    "regret, .9 .5 .4 .32": (players(0.9, 0.5, 0.4, 0.32), {}, 1.25),
    "regret, .9 .63 .42 .3": (players(0.9, 0.63, 0.42, 0.3), {}, 1.5),
}


class Rows:
    """Measured rows in a file, by study, instance, policy and horizon or δ."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = json.loads(STORE.read_text()) if STORE.exists() else {}

    def measure(self, study: str, name: str, policy: str, at: str, function: Callable[..., Row], *args: Any) -> None:
        """Store the row that the function returns, unless there is one."""
        if not self.get(study, name, policy, at):
            self._store(study, name, policy, at, function(*args))

    def identify(
        self,
        study: str,
        name: str,
        policy: str,
        at: str,
        runs: int,
        problem: Any,
        spec: Any,
        max_rounds: int | None = None,
    ) -> None:
        """Add runs to a row of identification until it has so many."""
        row = self.get(study, name, policy, at)
        first_run = row["runs"] if row else 0
        if first_run < runs:
            values = play_identification(problem, spec, runs - first_run, max_rounds, first_run)
            self._store(study, name, policy, at, pool(row, values) if row else values)

    def _store(self, study: str, name: str, policy: str, at: str, values: Row) -> None:
        key = " | ".join((study, name, policy, at))
        self.rows = json.loads(STORE.read_text()) if STORE.exists() else {}
        self.rows[key] = {"study": study, "name": name, "policy": policy, "at": at, **values}
        draft = STORE.with_suffix(".draft")
        draft.write_text(json.dumps(self.rows, indent=1, ensure_ascii=False) + "\n")
        draft.replace(STORE)
        print(key, values, flush=True)

    def get(self, study: str, name: str, policy: str = OURS, at: str = "1e6") -> Row | None:
        return self.rows.get(" | ".join((study, name, policy, at)))


def summary(values: Any) -> Row:
    """Mean, its standard error, the 99 % quantile and the largest."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return {
        "runs": len(values), "mean": float(values.mean()), "se": float(error),
        "q99": float(np.quantile(values, 0.99)), "max": float(values.max()),
    }  # fmt: skip


def play_regret(problem: Any, spec: Any, horizon: int, runs: int) -> Row:
    started = time.process_time()
    final = mb.simulate(problem, spec, horizon=horizon, runs=runs, seed=1, checkpoints=[horizon]).final
    return {**summary(final), "seconds": (time.process_time() - started) / runs}


def play_identification(problem: Any, spec: Any, runs: int, max_rounds: int | None, first_run: int) -> Row:
    results = mb.identify(problem, spec, runs=runs, first_run=first_run, seed=1, max_rounds=max_rounds)
    wrong, unanswered = int((results.identified & ~results.correct).sum()), int((~results.identified).sum())
    rounds = summary(results.rounds)
    return {key: rounds[key] for key in ("runs", "mean", "se", "max")} | {"wrong": wrong, "open": unanswered}


def pool(one: Row, other: Row) -> Row:
    """The row of the runs of both."""
    parts, runs = (one, other), one["runs"] + other["runs"]
    mean = sum(part["runs"] * part["mean"] for part in parts) / runs
    squares = sum(part["runs"] * ((part["runs"] - 1) * part["se"] ** 2 + (part["mean"] - mean) ** 2) for part in parts)
    counts = {key: one[key] + other[key] for key in ("runs", "wrong", "open")}
    return {"mean": mean, "se": (squares / (runs * (runs - 1))) ** 0.5, "max": max(one["max"], other["max"]), **counts}


def lower_bound(problem: Any, selection: Any) -> Row:
    return {"mean": graves_lai(problem, selection).value}


def fewest_rounds(problem: Any, selection: Any) -> Row:
    return {"mean": characteristic_time(problem, plays=selection, seeks=selection).value}


def certify(selection: str, **options: Any) -> Any:
    return mb.policy(OURS, selection=selection, **options)


def thompson(selection: str) -> Any:
    return mb.policy(THOMPSON, selection=selection)


def measure_fresh(rows: Rows) -> None:
    for name, (problem, selection) in FRESH.items():
        rows.measure("fresh", name, OURS, "1e6", play_regret, problem, certify(selection), 10**6, 40)
        rows.measure("fresh", name, "C", "", lower_bound, problem, selection)
    for name, (problem, selection) in FRESH.items():
        rows.measure("fresh", name, THOMPSON, "1e6", play_regret, problem, thompson(selection), 10**6, 10)


def measure_growth(rows: Rows) -> None:
    for name, (problem, selection) in MAIN.items():
        for exponent in (6, 9, 12):
            T = 10**exponent
            rows.measure("growth", name, OURS, f"1e{exponent}", play_regret, problem, certify(selection), T, 60)
        rows.measure("growth", name, "C", "", lower_bound, problem, selection)


def measure_anytime(rows: Rows) -> None:
    for name, (problem, selection) in {**MAIN, "tie .9 .6 .6 .3": TIES}.items():
        for words, options in (("horizon", {}), ("anytime", {"anytime": True})):
            spec = certify(selection, **options)
            rows.measure("anytime", name, words, "1e6", play_regret, problem, spec, 10**6, 40)


def measure_tails(rows: Rows) -> None:
    for name, (problem, selection) in TAILS.items():
        rows.measure("tails", name, OURS, "1e6", play_regret, problem, certify(selection), 10**6, 300)


def measure_ties(rows: Rows) -> None:
    problem, selection = TIES
    for exponent in range(4, 10):
        T, at = 10**exponent, f"1e{exponent}"
        for words, options in (("horizon", {}), ("anytime", {"anytime": True})):
            rows.measure("ties", words, OURS, at, play_regret, problem, certify(selection, **options), T, 40)
        if exponent <= 6:
            rows.measure("ties", "–", THOMPSON, at, play_regret, problem, thompson(selection), T, 10)


def measure_constants(rows: Rows) -> None:
    for name, (problem, selection) in CONSTANTS.items():
        rows.measure("constants", name, OURS, "1e6", play_regret, problem, certify(selection), 10**6, 40)
        rows.measure("constants", name, THOMPSON, "1e6", play_regret, problem, thompson(selection), 10**6, 5)
        rows.measure("constants", name, "C", "", lower_bound, problem, selection)


def measure_errors(rows: Rows) -> None:
    for runs in (250, 500, 1000, 2000):
        for delta in (0.2, 0.05):
            for name, ((problem, selection), max_rounds) in ERRORS.items():
                spec = certify(selection, delta=delta)
                rows.identify("errors", name, OURS, f"{delta:g}", runs, problem, spec, max_rounds)


def measure_epsilon(rows: Rows) -> None:
    for runs in (100, 500, 1000):
        for delta in (0.2, 0.05):
            for name, (problem, selection) in EPSILON.items():
                spec = certify(selection, delta=delta, epsilon=0.1)
                rows.identify("epsilon", name, OURS, f"{delta:g}", runs, problem, spec, 10**6)


def measure_regret(rows: Rows) -> None:
    for mean in (0.5, 0.6, 0.7, 0.8):
        problem, _ = players(*np.repeat(mean + np.array([0.15, 0.05, -0.05, -0.15]), 2))
        for policy, runs in ((OURS, 50), ("simple-adaptive-matching", 150), (THOMPSON, 10)):
            rows.measure("figure 3", f"{mean:g}", policy, "2e5", play_regret, problem, policy, 200_000, runs)
    for gap in (0.75, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.85):
        T = 200_000 if gap == 0.75 else 300_000
        family = mb.family("spiked", n=8, u1=0.9, gap=gap)
        for policy, runs in ((OURS, 100), ("pair-elim", 200), (THOMPSON, 10)):
            rows.measure("figure 1", f"{gap:g}", policy, f"{T // 100_000}e5", play_regret, family, policy, T, runs)


def papers(problem: Any, selection: str) -> str:
    """The policy of the paper that identifies the same."""
    if selection == "matching":
        return "matching-id"
    return "pair-elim" if problem.graph.kind == "bipartite" else "pair-elim-mono"


def measure_rounds(rows: Rows) -> None:
    for runs in (50, 300):
        for name, (problem, selection) in ROUNDS.items():
            for epsilon in (0.0, 0.05, 0.1):
                spec = certify(selection, delta=0.05, **({"epsilon": epsilon} if epsilon else {}))
                rows.identify("rounds", name, f"{OURS} {epsilon:g}", "0.05", runs, problem, spec)
        for name, (problem, selection) in ROUNDS.items():
            spec = mb.policy("rank1-track-and-stop", selection=selection, delta=0.05)
            rows.identify("rounds", name, "rank1-track-and-stop", "0.05", min(runs, 100), problem, spec)
    for name, (problem, selection) in ROUNDS.items():
        policy = papers(problem, selection)
        rows.identify("rounds", name, policy, "0.05", 300, problem, mb.policy(policy, delta=0.05))
        rows.identify("rounds", name, OURS, "1e-30", 50, problem, certify(selection, delta=1e-30))
        rows.measure("rounds", name, "T*", "", fewest_rounds, problem, selection)


def measure_nulls(rows: Rows) -> None:
    for name, ((problem, selection), options, ratio) in NULLS.items():
        rows.measure("nulls", name, OURS, str(SHORT), count_crossings, problem, selection, options, ratio, 1000)


def count_crossings(problem: Any, selection: str, options: dict[str, Any], ratio: float, runs: int) -> Row:
    """In how many runs the evidence for each link a > b with u_b = ratio × u_a ever reached 20."""
    spec = certify(selection, **options)
    job = Job(problem, spec, np.array([SHORT]), 1, "jump", None if "delta" in options else SHORT)
    first = job.start(0)[1]
    u = np.append(problem.u, problem.v if problem.graph.is_bipartite else [])
    links = np.argwhere(np.isclose(u, ratio * u[:, None]) & first.target.comparable)  # type: ignore[attr-defined]
    level = int(np.flatnonzero(np.isclose(first._ratios, ratio))[0])  # type: ignore[attr-defined]
    crossings = np.zeros(len(links), dtype=int)
    for run in range(runs):
        peaks = job.play(run)[0].peaks[level]  # type: ignore[attr-defined]
        crossings += peaks[tuple(links.T)] >= log(20)
    return {"runs": runs, "ratio": ratio, "crossings": crossings.tolist()}


def measure_times(rows: Rows) -> None:
    for name, (problem, selection) in TIMES.items():
        spec = certify(selection)
        mb.simulate(problem, spec, horizon=10**4, runs=1, seed=2)  # compiles
        for exponent in (6, 12):
            rows.measure("times", name, OURS, f"1e{exponent}", play_regret, problem, spec, 10**exponent, 5)


def measure_random(rows: Rows) -> None:
    rng = np.random.default_rng(1)
    for number in range(20):
        n = 2 * int(rng.integers(2, 11))
        problem, _ = players(*np.sort(rng.random(n))[::-1])
        name = f"{number}: {n} players"
        for policy, runs in ((OURS, 10), ("adaptive-matching", 4)) + ((THOMPSON, 2),) * (n <= 12):
            rows.measure("random", name, policy, "1e6", play_regret, problem, policy, 10**6, runs)


def short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def mean(row: Row | None, key: str = "mean") -> str:
    return short(row[key]) if row else "–"


def with_error(row: Row) -> str:
    return f"{short(row['mean'])} ± {short(row['se'])}"


def ratio_of(row: Row | None, scale: float) -> str:
    return f"{row['mean'] / scale:.2f}" if row else "–"


def table(title: str, study: str, head: str, lines: Iterator[list[str]]) -> None:
    print(f"\n### {title}\n\n`python docs/make/certified.py {study}`\n\n| {head} |\n|{'---|' * (head.count('|') + 1)}")
    for line in lines:
        print(f"| {' | '.join(line)} |")


def lines_of_fresh(rows: Rows) -> Iterator[list[str]]:
    for name in FRESH:
        row, C = rows.get("fresh", name), rows.get("fresh", name, "C", "")
        if row and C:
            limit, free = C["mean"] * log(10**6), rows.get("fresh", name, THOMPSON)
            yield [name, with_error(row), short(limit), ratio_of(row, limit), mean(free)]


def lines_of_growth(rows: Rows) -> Iterator[list[str]]:
    for name in MAIN:
        first, middle, last = (rows.get("growth", name, OURS, at) for at in ("1e6", "1e9", "1e12"))
        C = rows.get("growth", name, "C", "")
        if C and first and middle and last:
            scale = log(10**6) * C["mean"]
            slope, error = (last["mean"] - first["mean"]) / scale, float(np.hypot(last["se"], first["se"])) / scale
            regrets = [with_error(row) for row in (first, middle, last)]
            yield [name, *regrets, short(C["mean"]), f"{slope:.2f} ± {error:.2f}"]


def lines_of_anytime(rows: Rows) -> Iterator[list[str]]:
    for name in (*MAIN, "tie .9 .6 .6 .3"):
        known, unknown = rows.get("anytime", name, "horizon"), rows.get("anytime", name, "anytime")
        if known and unknown:
            ratio = unknown["mean"] / known["mean"]
            error = ratio * float(np.hypot(known["se"] / known["mean"], unknown["se"] / unknown["mean"]))
            yield [name, with_error(unknown), f"{ratio:.2f} ± {error:.2f}"]


def lines_of_tails(rows: Rows) -> Iterator[list[str]]:
    for name in TAILS:
        row = rows.get("tails", name)
        if row:
            yield [name, with_error(row), short(row["q99"]), short(row["max"])]


def lines_of_ties(rows: Rows) -> Iterator[list[str]]:
    for name, policy in (("horizon", OURS), ("anytime", OURS), ("–", THOMPSON)):
        by_horizon = [rows.get("ties", name, policy, f"1e{k}") for k in range(4, 10)]
        cells = [f"{short(row['mean'])} (max {short(row['max'])})" if row else "–" for row in by_horizon]
        yield [f"{policy}, {name}" if policy == OURS else policy, *cells]


def lines_of_constants(rows: Rows) -> Iterator[list[str]]:
    for name in CONSTANTS:
        row, C = rows.get("constants", name), rows.get("constants", name, "C", "")
        free = rows.get("constants", name, THOMPSON)
        if row and C:
            limit = C["mean"] * log(10**6)
            yield [name, with_error(row), short(limit), ratio_of(row, limit), mean(free)]


def lines_of_answers(rows: Rows, study: str, names: Any) -> Iterator[list[str]]:
    """Yield the instances with wrong answers, and one line for all others."""
    quiet: list[list[Row]] = []
    for name in names:
        by_delta = [row for delta in ("0.05", "0.2") if (row := rows.get(study, name, OURS, delta))]
        if sum(row["wrong"] for row in by_delta):
            yield [name, *(f"{row['wrong']}/{row['runs']:,}" for row in by_delta)]
        elif by_delta:
            quiet.append(by_delta)
    if quiet:
        totals = [sum(row["runs"] for row in column) for column in zip(*quiet, strict=True)]
        yield [f"the {len(quiet)} others together", *(f"0/{total:,}" for total in totals)]


def lines_of_figure(rows: Rows, study: str, other: str) -> Iterator[list[str]]:
    for row in [row for row in rows.rows.values() if row["study"] == study and row["policy"] == OURS]:
        theirs = rows.get(study, row["name"], other, row["at"])
        if theirs:
            free = rows.get(study, row["name"], THOMPSON, row["at"])
            factor = f"{theirs['mean'] / row['mean']:.1f}"
            horizon = short(float(row["at"]))
            yield [row["name"], horizon, with_error(row), short(theirs["mean"]), factor, mean(free)]


def lines_of_rounds(rows: Rows) -> Iterator[list[str]]:
    for name, (problem, selection) in ROUNDS.items():
        ours, least = rows.get("rounds", name, f"{OURS} 0", "0.05"), rows.get("rounds", name, "T*", "")
        if ours and least:
            with_epsilon = [f"{OURS} 0.05", f"{OURS} 0.1"]
            rivals = ["rank1-track-and-stop", papers(problem, selection)]
            others = [mean(rows.get("rounds", name, policy, "0.05")) for policy in with_epsilon + rivals]
            bound, far = short(least["mean"] * 0.9 * log(19)), rows.get("rounds", name, OURS, "1e-30")
            yield [name, with_error(ours), *others, bound, ratio_of(far, least["mean"] * 30 * log(10))]


def lines_of_nulls(rows: Rows) -> Iterator[list[str]]:
    for name in NULLS:
        row = rows.get("nulls", name, OURS, str(SHORT))
        if row:
            shares = ", ".join(f"{100 * count / row['runs']:.2f} %" for count in row["crossings"])
            yield [name, f"{row['ratio']:g}", shares]


def lines_of_times(rows: Rows) -> Iterator[list[str]]:
    for name in TIMES:
        cells = [rows.get("times", name, OURS, at) for at in ("1e6", "1e12")]
        yield [name, *(f"{row['seconds']:.3f}" if row else "–" for row in cells)]


def lines_of_random(rows: Rows) -> Iterator[list[str]]:
    ratios = []
    for row in [row for row in rows.rows.values() if row["study"] == "random" and row["policy"] == OURS]:
        theirs = rows.get("random", row["name"], "adaptive-matching")
        if theirs:
            ratios.append(theirs["mean"] / row["mean"])
    if ratios:
        summary = [exp(np.mean(np.log(ratios))), min(ratios), max(ratios)]
        yield [f"{len(ratios)} instances of 4 to 20 players", *(f"{ratio:.1f}" for ratio in summary)]


def print_tables(rows: Rows) -> None:
    head = "$T = 10^6$ | rank1-certify | $C \\log T$ | ratio | rank1-thompson"
    table("Regret and its lower bound", "constants", head, lines_of_constants(rows))
    table("Regret on fresh instances", "fresh", head, lines_of_fresh(rows))
    head = "instance | $T = 10^6$ | $T = 10^9$ | $T = 10^{12}$ | $C$ | growth / $C$"
    table("Growth of regret", "growth", head, lines_of_growth(rows))
    table("Without a horizon", "anytime", "$T = 10^6$ | anytime | ratio to known horizon", lines_of_anytime(rows))
    table("Tails of regret", "tails", "$T = 10^6$ | mean | 99 % | largest", lines_of_tails(rows))
    head = "tie .9 .6 .6 .3 | " + " | ".join(f"$T = 10^{k}$" for k in range(4, 10))
    table("Regret on a tie", "ties", head, lines_of_ties(rows))
    head = "$\\mu$ | $T$ | rank1-certify | simple-adaptive-matching | times less | rank1-thompson"
    table("Figure 3 of the paper", "regret", head, lines_of_figure(rows, "figure 3", "simple-adaptive-matching"))
    head = "$\\Delta$ | $T$ | rank1-certify | pair-elim | times less | rank1-thompson"
    table("Figure 1 of the paper", "regret", head, lines_of_figure(rows, "figure 1", "pair-elim"))
    head = "regret of adaptive-matching / rank1-certify, $T = 10^6$ | geometric mean | least | largest"
    table("Random instances", "random", head, lines_of_random(rows))
    head = "instance | wrong, $\\delta = .05$ | wrong, $\\delta = .2$"
    table("Wrong answers", "errors", head, lines_of_answers(rows, "errors", ERRORS))
    table("Wrong answers with ε", "epsilon", head, lines_of_answers(rows, "epsilon", EPSILON))
    head = "instance | ratio of the null hypothesis | runs in which $E$ reached 20"
    table("E-processes under their null hypotheses", "nulls", head, lines_of_nulls(rows))
    head = "$\\delta = .05$ | rank1-certify | $\\varepsilon = .05$ | $\\varepsilon = .1$ | rank1-track-and-stop"
    head += " | paper's policy | $T^*$ kl | rounds / $T^* \\log(1/\\delta)$ at $\\delta = 10^{-30}$"
    table("Rounds", "rounds", head, lines_of_rounds(rows))
    head = "CPU seconds per run | $T = 10^6$ | $T = 10^{12}$"
    table("Times", "times", head, lines_of_times(rows))


STUDIES = {
    "fresh": measure_fresh, "growth": measure_growth, "anytime": measure_anytime, "tails": measure_tails,
    "ties": measure_ties, "constants": measure_constants, "errors": measure_errors, "epsilon": measure_epsilon,
    "regret": measure_regret, "rounds": measure_rounds, "nulls": measure_nulls, "times": measure_times,
    "random": measure_random,
}  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in (*STUDIES, "all", "tables"):
        raise SystemExit(__doc__)
    if sys.argv[1] == "tables":
        print_tables(Rows())
    else:
        for measure in STUDIES.values() if sys.argv[1] == "all" else [STUDIES[sys.argv[1]]]:
            measure(Rows())
