"""What rank1-certify costs, and how often it errs: the tables of docs/certified.md.

Usage: python docs/make/certified.py STUDY, one of rounds, regret, constants, ties, times, limit, errors, nulls, random;
or all (an hour on one core), or tables, which prints what was measured.

Every row is kept in certified.json beside this file as soon as it is there, and is not measured again.
"""

import json
import sys
import time
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

import matchbandit as mb
from matchbandit.simulation.play import Job
from matchbandit.theory.asymptotic import characteristic_time, graves_lai

KEPT = Path(__file__).with_name("certified.json")
Pairs, Matchings = "pair", "matching"


def convex(x: list[float], y: list[float] | None = None, **more: Any) -> mb.Means:
    """Means ((x + y)/2)²: no product, one order of the items, increasing differences."""
    return mb.Means(np.add.outer(x, x if y is None else y) ** 2 / 4, players=y is None, **more)


def either(x: list[float]) -> mb.Means:
    """Means 1 − (1 − x)(1 − y): no product, one order of the items, decreasing differences."""
    return mb.Means(1 - np.outer(1 - np.array(x), 1 - np.array(x)), players=True)


FOUR, SLOTS = [0.9, 0.8, 0.4, 0.3], ([0.8, 0.5, 0.3], [0.9, 0.7, 0.2])
ERRORS: dict[str, tuple[Any, str, int]] = {  # what, which answer, max_rounds
    "4 players": (mb.Monopartite(FOUR), Matchings, 10**5),
    "4 players, near tie": (mb.Monopartite([0.9, 0.85, 0.84, 0.3]), Matchings, 3000),
    "6 players, equal partners": (mb.Monopartite([0.9, 0.9, 0.5, 0.5, 0.1, 0.1]), Matchings, 10**5),
    "4 players, tiny means": (mb.Monopartite([0.3, 0.25, 0.08, 0.05]), Matchings, 10**5),
    "4 players, Gaussian": (mb.Monopartite(FOUR, rewards=mb.Gaussian(sd=0.5)), Matchings, 10**5),
    "4 players, Gaussian, near tie": (
        mb.Monopartite([0.9, 0.62, 0.6, 0.3], rewards=mb.Gaussian(sd=0.3)), Matchings, 3000),
    "4 players, Binomial(5), near tie": (
        mb.Monopartite([0.8, 0.61, 0.6, 0.4], rewards=mb.Binomial(5)), Matchings, 3000),
    "5 players": (mb.Monopartite([0.95, 0.85, 0.5, 0.4, 0.05]), Matchings, 10**5),
    "3 players, near tie": (mb.Monopartite([0.8, 0.7, 0.69]), Matchings, 3000),
    "4 players, no product": (convex(FOUR), Matchings, 10**5),
    "4 players, no product, near tie": (convex([0.9, 0.7, 0.69, 0.3]), Matchings, 3000),
    "4 players, pairs": (mb.Monopartite(FOUR), Pairs, 10**5),
    "4 players, pairs, near tie": (mb.Monopartite([0.7, 0.6, 0.59, 0.2]), Pairs, 3000),
    "4 players, pairs, no product": (either([0.8, 0.6, 0.1, 0.05]), Pairs, 10**5),
    "3×3, pairs": (mb.Bipartite(*SLOTS), Pairs, 10**5),
    "2×5, pairs": (mb.Bipartite([0.9, 0.4], [0.9, 0.4, 0.4, 0.3, 0.2]), Pairs, 10**5),
    "2×2, pairs, near tie": (mb.Bipartite([0.7, 0.69], [0.8, 0.79]), Pairs, 3000),
    "3×3, pairs, tiny means": (mb.Bipartite([0.2, 0.05, 0.03], [0.3, 0.1, 0.05]), Pairs, 10**5),
    "2×5, assignment": (mb.Bipartite([0.9, 0.4], [0.9, 0.5, 0.15, 0.1, 0.1]), Matchings, 10**5),
    "5×3, assignment": (mb.Bipartite([0.95, 0.65, 0.35, 0.05, 0.02], [0.9, 0.6, 0.3]), Matchings, 3000),
    "3×3, assignment, no product": (convex([0.9, 0.5, 0.1], [0.8, 0.4, 0.1]), Matchings, 10**5),
}  # fmt: skip
NULLS: dict[str, tuple[Any, dict[str, Any], int, list[tuple[int, int]]]] = {  # what, options, rounds, equal items
    ".9 .6 .6 .3, identification": (
        mb.Monopartite([0.9, 0.6, 0.6, 0.3]), {"delta": 1e-9, "selection": Matchings}, 3000, [(1, 2), (2, 1)]),
    ".9 .6 .6 .3, regret": (mb.Monopartite([0.9, 0.6, 0.6, 0.3]), {"selection": Matchings}, 3000, [(1, 2), (2, 1)]),
    "2×2, .7 .7 × .5 .5, pairs": (
        mb.Bipartite([0.7, 0.7], [0.5, 0.5]), {"delta": 1e-9, "selection": Pairs}, 3000, [(0, 1), (3, 2)]),
}  # fmt: skip
ROUNDS: dict[str, tuple[Any, str]] = {
    ".9 .8 .4 .3": (mb.Monopartite(FOUR), Matchings),
    ".9 .5 .45 .1": (mb.Monopartite([0.9, 0.5, 0.45, 0.1]), Matchings),
    ".8 .7 .6 .5 .4 .3": (mb.Monopartite([0.8, 0.7, 0.6, 0.5, 0.4, 0.3]), Matchings),
    ".9 .8 .6 .5 .3 .2": (mb.Monopartite([0.9, 0.8, 0.6, 0.5, 0.3, 0.2]), Matchings),
    ".65 .65 .55 .55 .45 .45 .35 .35": (mb.Monopartite(np.repeat([0.65, 0.55, 0.45, 0.35], 2)), Matchings),
    "slots .8 .5 .3 × .9 .7 .2, pair": (mb.Bipartite(*SLOTS), Pairs),
    "8×8, .9 above .45, pair": (mb.Bipartite([0.9] + [0.45] * 7, [0.9] + [0.45] * 7), Pairs),
    ".9 .8 .4 .3, pair": (mb.Monopartite(FOUR), Pairs),
    ".8 .7 .6 .5 .4 .3, pair": (mb.Monopartite([0.8, 0.7, 0.6, 0.5, 0.4, 0.3]), Pairs),
}
CONSTANTS: dict[str, tuple[Any, str]] = {
    **{name: ROUNDS[name] for name in ROUNDS if name not in (".65 .65 .55 .55 .45 .45 .35 .35",)},
    ".9 .6 .3, pair": (mb.Monopartite([0.9, 0.6, 0.3]), Pairs),
    ".95 .9 .5 .4": (mb.Monopartite([0.95, 0.9, 0.5, 0.4]), Matchings),
    "2×5 .9 .5 × .8 .6 .4 .2 .1, assignment": (mb.Bipartite([0.9, 0.5], [0.8, 0.6, 0.4, 0.2, 0.1]), Matchings),
    "3×3 .9 .6 .3 × .8 .5 .2, assignment": (mb.Bipartite([0.9, 0.6, 0.3], [0.8, 0.5, 0.2]), Matchings),
    ".9 .8 .4 .3, Gaussian sd .5": (mb.Monopartite(FOUR, rewards=mb.Gaussian(sd=0.5)), Matchings),
}
TIES = mb.Monopartite([0.9, 0.6, 0.6, 0.3])
TIMES: dict[str, tuple[Any, str]] = {
    "8 players": (mb.Monopartite(np.repeat([0.65, 0.55, 0.45, 0.35], 2)), Matchings),
    "8×8, pairs": (mb.Bipartite(*[[0.9, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.02]] * 2), Pairs),
    "8×8, assignment": (mb.Bipartite(np.linspace(0.9, 0.2, 8), np.linspace(0.9, 0.2, 8)), Matchings),
    "20 players": (mb.Monopartite(np.linspace(0.95, 0.05, 20)), Matchings),
    "ties .9 .6 .6 .3": (TIES, Matchings),
}


class Rows:
    """Rows on disk, by name."""

    def __init__(self) -> None:
        self.held: dict[str, dict[str, Any]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}

    def row(self, study: str, name: str, policy: str, at: str, measure: Any, *given: Any) -> dict[str, Any]:
        """The row of this name, measured if it is not there."""
        key = " | ".join((study, name, policy, at))
        if key not in self.held:
            found = measure(*given)
            self.held = json.loads(KEPT.read_text()) if KEPT.exists() else {}
            self.held[key] = {"study": study, "name": name, "policy": policy, "at": at, **found}
            KEPT.write_text(json.dumps(self.held, indent=1, ensure_ascii=False) + "\n")
            print(key, found, flush=True)
        return self.held[key]

    def of(self, study: str) -> dict[tuple[str, str, str], dict[str, Any]]:
        """All rows of a study, by instance, policy and δ or T."""
        return {(r["name"], r["policy"], r["at"]): r for r in self.held.values() if r["study"] == study}


def summary(values: Any) -> dict[str, float]:
    """Mean, its standard error, and the largest."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return {"runs": len(values), "mean": float(values.mean()), "se": float(error), "most": float(values.max())}


def identified(problem: Any, spec: Any, runs: int, max_rounds: int | None = None) -> dict[str, float]:
    found = mb.identify(problem, spec, runs=runs, seed=1, max_rounds=max_rounds)
    wrong, open_ = int((found.identified & ~found.correct).sum()), int((~found.identified).sum())
    return {**summary(found.rounds), "wrong": wrong, "open": open_}


def lost(problem: Any, spec: Any, horizon: int, runs: int) -> dict[str, float]:
    started = time.process_time()
    final = mb.simulate(problem, spec, horizon=horizon, runs=runs, seed=1, checkpoints=[horizon]).final
    return {**summary(final), "seconds a run": (time.process_time() - started) / runs}


def certify(**options: Any) -> Any:
    return mb.policy("rank1-certify", **options)


def errors(rows: Rows, runs: int = 2000) -> None:
    for name, (problem, selection, most) in ERRORS.items():
        for delta in (0.2, 0.05):
            spec = certify(selection=selection, delta=delta)
            rows.row("errors", name, "rank1-certify", f"{delta:g}", identified, problem, spec, runs, most)


def nulls(rows: Rows, runs: int = 10_000) -> None:
    for name, (problem, options, rounds, equal) in NULLS.items():
        rows.row("nulls", name, "rank1-certify", str(rounds), crossed, problem, options, rounds, equal, runs)


def crossed(
    problem: Any, options: dict[str, Any], rounds: int, equal: list[tuple[int, int]], runs: int
) -> dict[str, float]:
    """In how many runs the evidence for one of two equal items ever reached 20."""
    job = Job(problem, certify(**options), np.array([rounds]), 1, "jump", None if "delta" in options else rounds)
    over = dict.fromkeys(equal, 0)
    for run in range(runs):
        peaks = job.play(run)[0].peaks  # type: ignore[attr-defined]
        for a, b in equal:
            over[a, b] += int(peaks[a, b] >= log(20))
    return {"runs": runs, **{f"{a} > {b}": over[a, b] for a, b in equal}}


def others(problem: Any, selection: str) -> list[tuple[str, dict[str, Any]]]:
    """The policies that identify the same."""
    if selection == Matchings:
        return [("rank1-identify", {}), ("matching-id", {})]
    return [("pair-elim", {}) if problem.graph.kind == "bipartite" else ("pair-elim-mono", {})]


def rounds(rows: Rows, runs: int = 300) -> None:
    for name, (problem, selection) in ROUNDS.items():
        spec = certify(selection=selection, delta=0.05)
        rows.row("rounds", name, "rank1-certify", "0.05", identified, problem, spec, runs)
        for other, options in others(problem, selection):
            spec = mb.policy(other, delta=0.05, **options)
            rows.row("rounds", name, other, "0.05", identified, problem, spec, runs)
        rows.row("rounds", name, "T*", "", characteristic, problem, selection)


def characteristic(problem: Any, selection: Any) -> dict[str, float]:
    return {"mean": characteristic_time(problem, plays=selection, seeks=selection).value}


def constant(problem: Any, selection: Any) -> dict[str, float]:
    return {"mean": graves_lai(problem, selection).value}


def limit(rows: Rows, runs: int = 50) -> None:
    for name, (problem, selection) in ROUNDS.items():
        spec = certify(selection=selection, delta=1e-30)
        rows.row("limit", name, "rank1-certify", "1e-30", identified, problem, spec, runs)


def regret(rows: Rows) -> None:
    for mean in (0.5, 0.6, 0.7, 0.8):
        family = mb.family("centred", n=4, mean=mean, gap=0.1)
        for name, runs in (("rank1-certify", 150), ("simple-adaptive-matching", 150), ("rank1-thompson", 20)):
            rows.row("figure 3", f"{mean:g}", name, "2e5", lost, family, name, 200_000, runs)
    for gap in (0.75, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.85):
        horizon = 200_000 if gap == 0.75 else 300_000
        family = mb.family("spiked", n=8, u1=0.9, gap=gap)
        for name, runs in (("rank1-certify", 200), ("pair-elim", 200), ("rank1-thompson", 20)):
            rows.row("figure 1", f"{gap:g}", name, f"{horizon:g}", lost, family, name, horizon, runs)


def constants(rows: Rows, runs: int = 40) -> None:
    for name, (problem, selection) in CONSTANTS.items():
        for policy, many in (("rank1-certify", runs), ("rank1-thompson", 10)):
            spec = mb.policy(policy, selection=selection)
            rows.row("constants", name, policy, "1e6", lost, problem, spec, 10**6, many)
        if name in (".9 .8 .4 .3", ".8 .7 .6 .5 .4 .3"):
            rows.row("constants", name, "adaptive-matching", "1e6", lost, problem, "adaptive-matching", 10**6, runs)
        rows.row("constants", name, "C", "", constant, problem, selection)


def random(rows: Rows) -> None:
    rng = np.random.default_rng(1)
    for number in range(20):
        n = 2 * int(rng.integers(2, 11))
        problem = mb.Monopartite(np.sort(rng.random(n))[::-1])
        name = f"{number}: {n} players"
        for policy, runs in (("rank1-certify", 4), ("adaptive-matching", 4)):
            rows.row("random", name, policy, "1e6", lost, problem, policy, 10**6, runs)
        if n <= 12:
            rows.row("random", name, "rank1-thompson", "1e6", lost, problem, "rank1-thompson", 10**6, 1)


def ties(rows: Rows, runs: int = 40) -> None:
    for exponent in range(4, 10):
        for words, options in (("horizon", {}), ("anytime", {"anytime": True})):
            spec = certify(**options)
            rows.row("ties", words, "rank1-certify", f"1e{exponent}", lost, TIES, spec, 10**exponent, runs)
        if exponent <= 6:
            rows.row("ties", "-", "rank1-thompson", f"1e{exponent}",
                     lost, TIES, "rank1-thompson", 10**exponent, 10)  # fmt: skip


def times(rows: Rows) -> None:
    for name, (problem, selection) in TIMES.items():
        spec = certify(selection=selection)
        mb.simulate(problem, spec, horizon=10**4, runs=1, seed=2)  # compiled
        for exponent in (6, 12):
            rows.row("times", name, "rank1-certify", f"1e{exponent}", lost, problem, spec, 10**exponent, 5)


STUDIES = {f.__name__: f for f in (rounds, regret, constants, ties, times, limit, random, errors, nulls)}


def number(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if value >= 100 else f"{value:.3g}"


def table(head: str, lines: list[list[str]]) -> None:
    print(f"\n| {head} |\n|{'---|' * (head.count('|') + 1)}")
    for line in lines:
        print(f"| {' | '.join(line)} |")


def tables(rows: Rows) -> None:
    held = rows.of("errors")
    table("instance | wrong at δ = .05 | open | mean rounds | wrong at δ = .2 | open | mean rounds | runs",
          [[name, *(number(held[name, "rank1-certify", d][k]) if (name, "rank1-certify", d) in held else "–"
                    for d in ("0.05", "0.2") for k in ("wrong", "open", "mean")),
            number(held[name, "rank1-certify", "0.2"]["runs"])]
           for name in ERRORS if (name, "rank1-certify", "0.2") in held])  # fmt: skip
    held = rows.of("nulls")
    table("exact tie | rounds | runs | runs in which E of the tie reached 20",
          [[r["name"], r["at"], number(r["runs"]),
            ", ".join(f"{k}: {100 * v / r['runs']:.2f} %" for k, v in r.items() if ">" in k)]
           for r in held.values()])  # fmt: skip
    held, far, told = rows.of("rounds"), rows.of("limit"), 0.9 * log(19)
    lines = []
    for name, (problem, selection) in ROUNDS.items():
        mine, bound = held.get((name, "rank1-certify", "0.05")), held.get((name, "T*", ""))
        found = [held.get((name, other, "0.05")) for other, _ in others(problem, selection)]
        if mine and bound and all(found):
            found = found if len(found) == 2 else [None, *found]
            cells = ["–" if f is None else f"{number(f['mean'])} ({mine['mean'] / f['mean']:.3f})" for f in found]
            at = far.get((name, "rank1-certify", "1e-30"))
            ratio = f"{at['mean'] / (bound['mean'] * 30 * log(10)):.2f}" if at else "–"
            lines.append([name, f"{number(mine['mean'])} ± {number(mine['se'])}", str(mine["wrong"]), *cells,
                          number(bound["mean"] * told), ratio])  # fmt: skip
    table("identification, δ = .05 | rank1-certify | wrong | rank1-identify (ours/it) | the paper's (ours/it) | "
          "T* kl | at δ = 10^−30: rounds/(T* log 1/δ)", lines)  # fmt: skip
    for study, other in (("figure 3", "simple-adaptive-matching"), ("figure 1", "pair-elim")):
        held = rows.of(study)
        lines = []
        for (name, policy, at), row in held.items():
            if policy == "rank1-certify" and (name, other, at) in held:
                theirs, free = held[name, other, at], held.get((name, "rank1-thompson", at), {"mean": np.nan})
                lines.append([name, at, f"{number(row['mean'])} ± {number(row['se'])}", number(theirs["mean"]),
                              f"{theirs['mean'] / row['mean']:.1f}", number(free["mean"])])  # fmt: skip
        table(f"{study} | T | rank1-certify | {other} | times less | rank1-thompson", lines)
    held = rows.of("constants")
    table("T = 10^6 | rank1-certify | C log T | ratio | rank1-thompson | ratio",
          [[name, f"{number(row['mean'])} ± {number(row['se'])}", number(C), f"{row['mean'] / C:.2f}",
            number(free), f"{free / C:.2f}"]
           for (name, policy, _), row in held.items() if policy == "rank1-certify" and (name, "C", "") in held
           for C, free in [(held[name, "C", ""]["mean"] * log(10**6), held[name, "rank1-thompson", "1e6"]["mean"])]],
          )  # fmt: skip
    held = rows.of("random")
    lines, ratios = [], []
    for (name, policy, at), row in held.items():
        if policy == "rank1-certify" and (name, "adaptive-matching", at) in held:
            theirs, free = held[name, "adaptive-matching", at], held.get((name, "rank1-thompson", at))
            ratios.append(theirs["mean"] / row["mean"])
            lines.append([name, number(row["mean"]), number(theirs["mean"]), f"{ratios[-1]:.1f}",
                          number(free["mean"]) if free else "–"])  # fmt: skip
    table("random, T = 10^6 | rank1-certify | adaptive-matching | times less | rank1-thompson", lines)
    if ratios:
        print(f"\ngeometric mean of {len(ratios)}: {exp(np.mean(np.log(ratios))):.1f} times less")
    held = rows.of("ties")
    table("ties .9 .6 .6 .3 | " + " | ".join(f"10^{k}" for k in range(4, 10)),
          [[words if policy == "rank1-certify" else policy,
            *(f"{number(held[words, policy, at]['mean'])} (most {number(held[words, policy, at]['most'])})"
              if (words, policy, at) in held else "–" for at in (f"1e{k}" for k in range(4, 10)))]
           for words, policy in (("horizon", "rank1-certify"), ("anytime", "rank1-certify"), ("-", "rank1-thompson"))],
          )  # fmt: skip
    held = rows.of("times")
    table("seconds of processor a run | T = 10^6 | T = 10^12 | regret at 10^12",
          [[name, *(f"{held[name, 'rank1-certify', at]['seconds a run']:.3f}" for at in ("1e6", "1e12")),
            number(held[name, "rank1-certify", "1e12"]["mean"])]
           for name in TIMES if (name, "rank1-certify", "1e12") in held])  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in (*STUDIES, "all", "tables"):
        raise SystemExit(__doc__)
    if sys.argv[1] == "tables":
        tables(Rows())
    else:
        for study in STUDIES.values() if sys.argv[1] == "all" else [STUDIES[sys.argv[1]]]:
            study(Rows())
