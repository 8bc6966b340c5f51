"""Cases of the contract: estimates from logs, the fit of products, rankings of leagues, results on disk."""

from collections.abc import Iterator
from typing import Any

from contract.records import Case

FORMS = (
    "csv",
    "csv with semicolons",
    "csv with tabs",
    "parquet",
    "mapping",
    "rows",
    "pandas",
    "pandas with chosen columns",
    "polars",
    "arrow",
    "duckdb",
)
LOGS: dict[str, dict[str, Any]] = {
    "club": {
        "items": {"players": 7}, "heads": ["first", "second", "reward"], "prefixes": ["p", "p"], "seed": 1,
        "n_rows": 60, "rewards": "coins", "voids": 0,
    },
    "fractions": {
        "items": {"players": 8}, "heads": ["one", "other", "reward"], "prefixes": ["Ä ", "Ä "], "seed": 2,
        "n_rows": 50, "rewards": "bernoulli", "voids": 7,
    },
    "ads": {
        "items": {"rows": 6, "columns": 4}, "heads": ["ad", "slot", "count", "sum"], "prefixes": ["ad ", "slot "],
        "seed": 3, "n_rows": 40, "rewards": "coins", "voids": 9,
    },
    "measurements": {
        "items": {"rows": 5, "columns": 5}, "heads": ["donor", "well", "count", "mean"], "prefixes": ["", "w"],
        "seed": 4, "n_rows": 30, "rewards": "gaussian:0.3", "voids": 0,
    },
    "points": {
        "items": {"players": 6}, "heads": ["first", "second", "reward"], "prefixes": ["", ""], "seed": 5,
        "n_rows": 40, "rewards": "binomial:4", "voids": 0,
    },
}  # fmt: skip
REWARDS = {"club": "bernoulli", "fractions": "bernoulli", "ads": "bernoulli", "measurements": "gaussian:0.3",
           "points": "binomial:4"}  # fmt: skip
SHOWN = {"rtol": 1e-5, "atol": 1e-6}
"""The digits that users see; fits end when they are near enough, at about 1e-7."""
P_VALUE = {"rtol": 0.0, "atol": 0.1}
"""Over 25 seeds p-values have a standard deviation of at most .021, so the difference of two of .03; the verdict is
exact."""
POWER = {"rtol": 0.0, "atol": 0.16}
"""Of powers, from fewer data sets, these are .037 and .052."""


def cases() -> Iterator[Case]:
    """Estimates from each log in each form, fits, leagues, and comparisons on disk."""
    yield from _estimates()
    yield from _fits()
    yield from _leagues()
    yield from _comparisons()


def _kind(log: str) -> str:
    return "players" if "players" in LOGS[log]["items"] else "sides"


def _estimates() -> Iterator[Case]:
    for name, log in LOGS.items():
        for form in FORMS:
            if form == "rows" and log["heads"][-1] == "mean":
                continue  # rows have sums
            if form == "pandas with chosen columns" and log["heads"][-1] != "mean":
                continue
            yield Case(
                f"estimate {name} from {form}",
                "estimate",
                {"log": log, "form": form, "kind": _kind(name), "rewards": REWARDS[name], "level": 0.9, "n_rows": None},
                match=dict.fromkeys(("mean", "estimate", "low", "high"), SHOWN),
                group="logs",
            )
    for n_players in (250, 450):  # of which strengths are found by conjugate gradients, and of more intervals drawn
        log = {
            "items": {"players": n_players}, "heads": ["first", "second", "count", "sum"], "prefixes": ["p", "p"],
            "seed": 7, "n_rows": 4 * n_players, "rewards": "coins", "voids": 0, "every_pair": False,
        }  # fmt: skip
        yield Case(
            f"estimate {n_players} players from rows",
            "estimate",
            {"log": log, "form": "rows", "kind": "players", "rewards": "bernoulli", "level": 0.8, "n_rows": 60},
            match=dict.fromkeys(("mean", "estimate", "low", "high"), SHOWN),
            group="logs",
        )


def _fits() -> Iterator[Case]:
    fits: dict[str, tuple[dict[str, int], int | None, str, float]] = {
        "10 players, products": ({"players": 10}, None, "bernoulli", 0.05),
        "8 players, far from products": ({"players": 8}, None, "bernoulli", 0.25),
        "6 × 5, few pairs": ({"rows": 6, "columns": 5}, 20, "bernoulli", 0.08),
        "5 × 4, gaussian": ({"rows": 5, "columns": 4}, None, "gaussian:0.3", 0.06),
        "7 players, binomial": ({"players": 7}, 18, "binomial:4", 0.05),
        "40 players, sparse": ({"players": 40}, 150, "bernoulli", 0.07),
    }
    match = {
        "p_value": P_VALUE,
        "deviance_p_value": P_VALUE,
        "structure_p_value": P_VALUE,
        "power": POWER,
    }
    for seed, (name, (items, n_pairs, rewards, noise)) in enumerate(fits.items()):
        yield Case(
            f"fit {name}",
            "fit products",
            {
                "items": items,
                "results": {
                    "seed": 30 + seed,
                    "n_pairs": n_pairs,
                    "least": 40,
                    "most": 100,
                    "rewards": rewards,
                    "noise": noise,
                },
                "rewards": rewards,
            },
            match=match,
            group="fit",
        )
    for name in ("ads", "fractions"):
        yield Case(
            f"fit log {name}",
            "fit log",
            {"log": LOGS[name], "kind": _kind(name), "rewards": REWARDS[name]},
            match=match,
            group="fit",
        )


def _leagues() -> Iterator[Case]:
    from_fits = ("expected", "best", "expected_of_played", "estimate", "low", "high", "mean")
    large = {
        "items": {"players": 60}, "heads": ["first", "second", "reward"], "prefixes": ["p", "p"], "seed": 6,
        "n_rows": 400, "rewards": "coins", "voids": 0,
    }  # fmt: skip
    leagues = [
        ("club", LOGS["club"], "rank1-thompson", {"half_life": None}, "bernoulli", ["p3"]),
        ("club with a half-life", LOGS["club"], "rank1-thompson", {"half_life": 3.0}, "bernoulli", []),
        ("ads", LOGS["ads"], "rank1-thompson", {"half_life": None}, "bernoulli", ["ad 2", "slot 1"]),
        ("points", {**LOGS["points"], "prefixes": ["p", "p"]}, "cts-gaussian", {}, "binomial:4", ["p0"]),
        ("measurements", {**LOGS["measurements"], "prefixes": ["d", "w"], "heads": ["donor", "well", "count", "sum"]},
         "rank1-thompson", {"half_life": None}, "gaussian:0.3", []),
        ("60 players", large, "rank1-thompson", {"half_life": None}, "bernoulli", ["p7"]),
    ]  # fmt: skip
    for name, log, policy, options, rewards, leave in leagues:
        yield Case(
            f"rank league {name}",
            "rank league",
            {
                "log": log,
                "policy": policy,
                "options": options,
                "selection": "matching",
                "no_rematch": 0,
                "rewards": rewards,
                "seed": 8,
                "outcomes": [0, 1],
                "leave": leave,
            },
            match=dict.fromkeys(from_fits, SHOWN),
            group="rank league",
        )


def _comparisons() -> Iterator[Case]:
    problem = {"u": [0.9, 0.5, 0.2], "v": [0.8, 0.6, 0.3], "rewards": "bernoulli"}
    yield Case(
        "save and load a comparison by regret",
        "save comparison",
        {
            "problem": problem,
            "policies": [["cucb", {}], ["cts-gaussian", {}], ["uniform", {"selection": "matching"}]],
            "goal": {"horizon": 200, "checkpoints": [10, 50, 200]},
            "runs": 3,
            "seed": 4,
        },
        group="save comparison",
    )
    yield Case(
        "save and load a comparison by identification",
        "save comparison",
        {
            "problem": {**problem, "u": [0.95, 0.1], "v": [0.95, 0.2]},
            "policies": [["clucb", {"selection": "pair"}], ["track-and-stop", {}]],  # the first has no answer in time
            "goal": {"delta": 0.1, "max_rounds": 100},
            "runs": 4,
            "seed": 4,
        },
        group="save comparison",
    )
