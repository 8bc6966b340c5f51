"""Cases of the contract: bounds and quantities, divergences, checks and matchings."""

import random
from collections.abc import Iterator
from math import prod
from typing import Any

from contract.records import Case

BERNOULLI = {"kind": "bernoulli"}
# Equal gaps are equal as floats, so that no rounding decides which is the smallest.
INSTANCES: dict[str, dict[str, list[float]]] = {
    "rows-weak": {"u": [0.47, 0.52, 0.5], "v": [0.51, 0.46, 0.55]},
    "rows-strong": {"u": [0.9, 0.3], "v": [0.9, 0.5]},
    "rows-sparse": {"u": [0.04, 0.85, 0.02], "v": [0.7, 0.01, 0.03, 0.05]},
    "rows-zero": {"u": [0.8, 0.4, 0.0], "v": [0.6, 0.2, 0.0]},
    "rows-near-one": {"u": [0.99, 0.999], "v": [0.97, 0.995, 0.98]},
    "rows-near-zero": {"u": [0.01, 0.006], "v": [0.013, 0.02, 0.009]},
    "rows-equal-gaps": {"u": [0.875, 0.625, 0.375], "v": [0.75, 0.5, 0.25]},
    "rows-tied": {"u": [0.9, 0.9, 0.2], "v": [0.7, 0.4]},
    "rows-larger": {
        "u": [0.31, 0.92, 0.11, 0.64, 0.43, 0.77, 0.25, 0.58],
        "v": [0.6, 0.14, 0.83, 0.05, 0.72, 0.29, 0.38, 0.47, 0.21, 0.95, 0.53, 0.66],
    },
    "players-weak": {"u": [0.5, 0.53, 0.46, 0.48]},
    "players-strong": {"u": [0.1, 0.95, 0.3, 0.6]},
    "players-sparse": {"u": [0.8, 0.01, 0.02, 0.7, 0.005, 0.015]},
    "players-near-one": {"u": [0.999, 0.98, 0.995, 0.96]},
    "players-near-zero": {"u": [0.02, 0.004, 0.012, 0.007]},
    "players-equal-gaps": {"u": [0.875, 0.75, 0.625, 0.5, 0.375, 0.25]},
    "players-equal-partners": {"u": [0.625, 0.9, 0.25, 0.9, 0.625, 0.25]},
    "players-odd": {"u": [0.45, 0.9, 0.2, 0.65, 0.8]},
    "players-larger": {
        "u": [
            0.93, 0.9, 0.84, 0.79, 0.71, 0.68, 0.66, 0.59, 0.52, 0.5,
            0.41, 0.37, 0.36, 0.28, 0.24, 0.19, 0.13, 0.1, 0.06, 0.03,
        ]
    },
}  # fmt: skip
SETTINGS: dict[str, dict[str, Any]] = {
    "bernoulli-short": {"rewards": BERNOULLI, "horizon": 1000, "delta": 0.05},
    "bernoulli-long": {"rewards": BERNOULLI, "horizon": 2_000_000, "delta": 1e-10},
    "gaussian-wide": {"rewards": {"kind": "gaussian", "sd": 1.0}, "horizon": 100_000, "delta": 0.1},
    "gaussian-narrow": {"rewards": {"kind": "gaussian", "sd": 0.2}, "horizon": 10**12, "delta": 1e-30},
    "binomial": {"rewards": {"kind": "binomial", "trials": 5}, "horizon": 10**17, "delta": 0.3},
    "binomial-one-round": {"rewards": {"kind": "binomial", "trials": 5}, "horizon": 1, "delta": 0.6},
}
PROGRAM = {"rtol": 1.1e-3}
"""Cutting planes and descents stop as soon as the value is known to 0.1 %: the last digits depend on their path."""
LINEAR_PROGRAM = {"rtol": 1e-7}
"""Constraints of linear programs are met to 1e-10 or, failing that, 1e-7."""
PLAYS = {"rtol": 0.05}
"""A value is flat around its best plays: those within 0.1 % of it may differ by the root of that, 3 %."""
MODEL_BOUNDS = (
    "model-pair-regret",
    "model-matching-regret",
    "model-pair",
    "model-matching",
    "model-matching-by-pairs",
)
PROGRAM_BOUNDS = (
    "pairs-program",
    "players-program",
    "players-switch-program",
    "order-program",
    "matchings-program",
)
SMALL_TOO = {"*": "relative"}
"""Divergences of near means, limits near 0 and 1 and radii after many plays are small, and still known to 1e-9."""
BOUNDS_MATCH = {
    **SMALL_TOO,
    **{f"bounds.{name}.value": PROGRAM for name in MODEL_BOUNDS},
    **{f"bounds.{name}.value": LINEAR_PROGRAM for name in PROGRAM_BOUNDS},
}


def cases() -> Iterator[Case]:
    """Bounds and quantities of each instance at each setting, then what they are computed from."""
    for instance, strengths in INSTANCES.items():
        arguments: dict[str, Any] = {"strengths": strengths, "rewards": BERNOULLI}
        yield Case(f"quantities {instance}", "quantities", arguments, SMALL_TOO)
        for setting, options in SETTINGS.items():
            yield Case(
                f"bounds {instance} {setting}", "bounds", {"strengths": strengths, **options}, BOUNDS_MATCH, "bounds"
            )
    for setting in ("bernoulli-short", "gaussian-wide"):
        arguments = {"strengths": {"u": [0.9, 0.5, 0.2, 0.5]}, **SETTINGS[setting]}
        yield Case(f"bounds players-tied {setting}", "bounds", arguments, BOUNDS_MATCH, "bounds")
    yield from _bound_tables()
    yield from _programs()
    yield from _schedules()
    yield from _divergences()
    yield from _checks()
    yield from _matchings()


def _bound_tables() -> Iterator[Case]:
    for instance in ("rows-strong", "players-strong", "players-odd"):
        arguments = {"strengths": INSTANCES[instance], **SETTINGS["bernoulli-short"]}
        yield Case(f"bound-facts {instance}", "bound-facts", arguments)
        yield Case(f"bound-order {instance}", "bound-order", arguments)
    yield Case("theory-refusals", "theory-refusals", {"horizons": [0, -5, 10.5], "deltas": [0.0, 1.0, -0.1, 2.0]})


def _programs() -> Iterator[Case]:
    goals = ("regret pair", "regret matching", "rounds pair by pair", "rounds matching by pair")
    goals += ("rounds matching by matching",)
    match = {"*": PROGRAM, **{f"{goal}.plays": "ignore" for goal in goals}}  # several plays may attain the value
    arguments: dict[str, Any] = {"strengths": {"u": [1.0], "v": [0.5, 0.3]}, "rewards": {"kind": "gaussian", "sd": 1.0}}
    only_plays = {"*": PROGRAM, **{f"{goal}.plays": PLAYS for goal in goals}}
    yield Case("programs of two arms", "programs", arguments, only_plays)
    for instance in ("rows-strong", "rows-equal-gaps", "rows-tied", "players-strong", "players-odd", "players-larger"):
        for setting in ("bernoulli-short", "gaussian-wide"):
            arguments = {"strengths": INSTANCES[instance], "rewards": SETTINGS[setting]["rewards"]}
            yield Case(f"programs {instance} {setting}", "programs", arguments, match)


def _schedules() -> Iterator[Case]:
    yield Case("schedule-regret of 4", "schedule-regret", {"u": [0.3, 0.9, 0.45, 0.7]})
    yield Case("schedule-regret of 8", "schedule-regret", {"u": [0.93, 0.11, 0.82, 0.64, 0.27, 0.58, 0.41, 0.39]})


def _divergences() -> Iterator[Case]:
    means = [0.0, 1e-9, 0.02, 0.3, 0.5, 0.71, 0.98, 1.0]
    for rewards in (
        BERNOULLI,
        {"kind": "binomial", "trials": 1},
        {"kind": "binomial", "trials": 12},
        {"kind": "gaussian", "sd": 0.25},
        {"kind": "gaussian", "sd": 3.0},
    ):
        label = " ".join(str(part) for part in rewards.values())
        yield Case(f"divergences {label}", "divergences", {"rewards": rewards, "means": means}, SMALL_TOO)
    budgets = [1e-6, 0.001, 0.05, 0.4, 2.0, 20.0]
    yield Case("confidence-limits", "confidence-limits", {"means": means, "budgets": budgets}, SMALL_TOO)


def _checks() -> Iterator[Case]:
    levels, counts = [1, 2, 3, 7], [0, 1, 30, 64, 500, 12_345, 10**9, 10**18]
    for label, options in {
        "regret paper": {"growth": 4.0, "log_beta": 7.3, "sigma": 0.5, "by_level": False},
        "regret fine": {"growth": 1.05, "log_beta": 3.1, "sigma": 0.5, "by_level": False},
        "regret every": {"growth": 1.0, "log_beta": 5.2, "sigma": 1.5, "by_level": False},
        "regret coarse": {"growth": 1e6, "log_beta": 2.5, "sigma": 0.5, "by_level": False},
        "regret never": {"growth": 4.0, "log_beta": 0.0, "sigma": 0.5, "by_level": False},
        "levels": {"growth": 2.0, "log_beta": 4.0, "sigma": 0.25, "by_level": True},
        "confidence": {"growth": 4.0, "n_averages": 17, "delta": 0.05, "sigma": 0.5},
        "confidence small": {"growth": 1.5, "n_averages": 300, "delta": 1e-12, "sigma": 1.0},
    }.items():
        below_2_63 = levels[:2] if options["growth"] == 1e6 else levels
        arguments = {"checks": options, "levels": below_2_63, "counts": counts}
        yield Case(f"checks {label}", "checks", arguments, SMALL_TOO)
    yield Case(
        "check-refusals",
        "check-refusals",
        {"growths": [0.5, 1.0, 1.0, 4.0, 1e7], "by_level": [False, False, True, True, False]},
    )


def _matchings() -> Iterator[Case]:
    for shape in ([3, 3], [2, 4], [4, 2], [4], [5], [6]):
        yield Case(f"matchings {_sizes(shape)}", "matchings", {"shape": shape})
    for shape in ([3, 3], [4, 7], [7, 4], [6, 6], [10, 10], [25, 40], [5], [6], [9], [10], [12], [20], [31]):
        numbers = random.Random(prod(shape))
        n_pairs = prod(shape) if len(shape) == 2 else shape[0] * (shape[0] - 1) // 2
        repeats = 4 if n_pairs < 200 else 1
        weights = [[round(numbers.uniform(-1, 2), 4) for _ in range(n_pairs)] for _ in range(repeats)]
        yield Case(f"best-matchings {_sizes(shape)}", "best-matchings", {"shape": shape, "weights": weights})
    yield Case(
        "sorted-matchings",
        "sorted-matchings",
        {"rows": [0.1, 0.9, 0.5, 0.8, 0.3], "columns": [0.5, 0.2, 0.8]},
    )


def _sizes(shape: list[int]) -> str:
    return " by ".join(map(str, shape))
