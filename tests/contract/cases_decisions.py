"""Cases of the contract: decisions from counts, matchings under rules, and proposals of leagues."""

from collections.abc import Iterator
from random import Random
from typing import Any

from contract.inputs import RULES
from contract.records import Case

LARGE_MATCHING = {"value": {"rtol": 1e-4, "may_exceed": True}}
"""Of more than 300 players: another valid matching may be as good, or better; the contract weighs it."""
LARGE = {"value": {"rtol": 1e-4}, "expected": {"rtol": 1e-4}, "best": {"rtol": 1e-4}}
"""More than 300 items: another valid matching may be as good."""
SHOWN = {"expected": {"rtol": 1e-5}, "best": {"rtol": 1e-5}}
"""Expectations are rounded to six digits."""
Items = dict[str, int]
OPTIONS: dict[str, dict[str, Any]] = {
    "rank1-thompson": {"selection": "matching", "half_life": None},
    "cucb": {},
    "cts-beta": {},
    "cts-gaussian": {},
    "kl-ucb": {},
    "track-and-stop": {"delta": 0.05},
    "escb": {"version": 2, "exploration": "log"},
    "ols-ucb": {"lam": 1.0},
    "aescb": {"xi": 0.1, "exploration": "log"},
}
OF_COINS = ("cts-beta", "kl-ucb")
"""Policies that count whole successes."""
OF_PAIRS = ("kl-ucb", "track-and-stop")
"""Policies of one pair: with few plays many pairs have the same index, or are to be explored alike."""


def cases() -> Iterator[Case]:
    """Matchings, then the decisions that need them, then leagues, which need both."""
    yield from _matchings()
    yield from _decisions()
    yield from _decisions_after_results()
    yield from _proposals()


# Matchings ------------------------------------------------------------------------------------------------------------


def _matchings() -> Iterator[Case]:
    sizes: list[Items] = [{"players": n} for n in (8, 50, 300, 1000)]
    sizes += [{"rows": n, "columns": m} for n, m in ((5, 7), (60, 40))]
    for place, items in enumerate(sizes):
        for of in ("products", "weights"):
            for kind in RULES:
                if items.get("players") == 1000 and of == "weights" and kind in {"none", "absences"}:
                    continue  # all pairs at once take half a minute
                yield Case(
                    f"match {_size(items)} by {of}, {kind}",
                    "match",
                    {
                        "items": items,
                        "weights": {"of": of, "seed": 10 + place},
                        "rules": {"kind": kind, "seed": 20 + place},
                    },
                    match=LARGE_MATCHING if items.get("players") == 1000 else {},
                    group="matchings",
                )


# Decisions from counts ------------------------------------------------------------------------------------------------


def _decisions() -> Iterator[Case]:
    for n in (8, 50, 300, 1000):
        for kind in ("none", "absences", "exclusions", "neighbours", "listed"):
            yield _decision("rank1-thompson", {"players": n}, kind, n_pairs=3 * n)
    for items in ({"rows": 5, "columns": 7}, {"rows": 60, "columns": 40}, {"rows": 160, "columns": 130}):
        for kind in ("none", "absences", "exclusions"):
            yield _decision("rank1-thompson", items, kind, n_pairs=2 * sum(items.values()))
    for n in (8, 50, 300):
        one_pair = {"selection": "pair", "half_life": None}
        yield _decision("rank1-thompson", {"players": n}, "neighbours", n_pairs=3 * n, options=one_pair)
    for rewards in ("gaussian:0.3", "binomial:4"):
        yield _decision("rank1-thompson", {"players": 50}, "exclusions", n_pairs=150, rewards=rewards)
    half_life = {"selection": "matching", "half_life": 20.0}
    yield _decision("rank1-thompson", {"players": 50}, "exclusions", n_pairs=150, options=half_life, faded=0.37)
    for policy in ("cucb", "cts-beta", "cts-gaussian"):
        for n in (8, 50, 300):
            for kind in ("none", "absences", "exclusions"):
                yield _decision(policy, {"players": n}, kind)
        yield _decision(policy, {"players": 1000}, "exclusions")
        yield _decision(policy, {"players": 50}, "listed")
        for kind in ("none", "exclusions"):
            yield _decision(policy, {"rows": 60, "columns": 40}, kind)
    for policy in ("cucb", "cts-gaussian"):
        yield _decision(policy, {"players": 8}, "exclusions", n_pairs=25)
    for policy in ("kl-ucb", "track-and-stop"):
        for items in ({"players": 8}, {"players": 50}, {"players": 300}, {"rows": 5, "columns": 7}):
            for kind in ("none", "neighbours"):
                if (policy, items, kind) != ("track-and-stop", {"players": 300}, "none"):  # which takes 1.6 seconds
                    yield _decision(policy, items, kind)
    for policy in ("escb", "ols-ucb"):
        for items in ({"players": 8}, {"rows": 4, "columns": 5}):
            for kind in ("none", "absences", "exclusions"):
                yield _decision(policy, items, kind)
    full = {"version": 1, "exploration": "full"}
    yield _decision("escb", {"players": 8}, "exclusions", options=full)
    yield _decision("aescb", {"players": 8}, "none")


def _decision(
    policy: str,
    items: Items,
    kind: str,
    *,
    options: dict[str, Any] | None = None,
    n_pairs: int | None = None,
    rewards: str = "bernoulli",
    faded: float = 1.0,
) -> Case:
    seed, size = 100 + sum(items.values()), sum(items.values())
    settings = OPTIONS[policy] if options is None else options
    words = [f"decide {policy}", _size(items), kind]
    words += [f"{name}={value}" for name, value in settings.items() if settings != OPTIONS[policy]]
    words += [rewards] if rewards != "bernoulli" else []
    words += [f"faded to {faded}"] if faded != 1.0 else []
    words += [f"{n_pairs} pairs"] if n_pairs is not None else []
    return Case(
        ", ".join(words),
        "decide",
        {
            "items": items,
            "policy": policy,
            "options": settings,
            "rewards": rewards,
            "results": {
                "seed": seed,
                "n_pairs": n_pairs,
                **_plays(policy),
                "rewards": "coins" if policy in OF_COINS else rewards,
                "noise": 0.1,
                "faded": faded,
            },
            "rules": {"kind": kind, "seed": seed},
            "pending": {"seed": seed + 1, "n_pairs": max(2, size // 4)},
            "seed": seed,
        },
        match=LARGE if size > 300 else {},
        group=f"decide {policy}",
    )


def _decisions_after_results() -> Iterator[Case]:
    """Results one by one: fractions that a policy of coins rounds at random, and a pair that did not take place."""
    random = Random(7)
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    meetings = pairs + [pairs[int(28 * random.random())] for _ in range(28)]
    results: list[list[float | None]] = [[i, j, round(random.random(), 3)] for i, j in meetings]
    results[40][2] = None
    for policy in ("rank1-thompson", "cucb", "cts-beta", "cts-gaussian", "escb", "ols-ucb"):
        yield Case(
            f"decide after results {policy}",
            "decide after results",
            {
                "items": {"players": 8},
                "policy": policy,
                "options": OPTIONS[policy],
                "rewards": "bernoulli",
                "results": results,
                "excluded": [[0, 1], [2, 3], [4, 7]],
                "absent": [5],
                "pending": [[0, 2], [0, 2], [3, 4]],
                "seed": 3,
            },
            group=f"decide {policy}",
        )


# Proposals of leagues -------------------------------------------------------------------------------------------------


def _proposals() -> Iterator[Case]:
    for n in (8, 50, 300, 1000):
        yield _proposal("rank1-thompson", {"players": n}, n_pairs=3 * n)
    yield _proposal("rank1-thompson", {"players": 49}, n_pairs=150, no_rematch=1)
    yield _proposal("rank1-thompson", {"rows": 60, "columns": 40}, n_pairs=300)
    yield _proposal("rank1-thompson", {"players": 50}, n_pairs=150, options={"half_life": 5.0}, no_rematch=1)
    yield _proposal("rank1-thompson", {"players": 50}, n_pairs=150, rewards="gaussian:0.3")
    for policy in ("cucb", "cts-beta", "cts-gaussian"):
        for n in (8, 50):
            yield _proposal(policy, {"players": n}, n_pairs=None)
    yield _proposal("cts-gaussian", {"players": 300}, n_pairs=None)
    for policy in ("escb", "ols-ucb"):
        yield _proposal(policy, {"players": 8}, n_pairs=None)
    for policy in ("kl-ucb", "track-and-stop"):
        yield _proposal(policy, {"players": 8}, n_pairs=None, selection="pair")


def _proposal(
    policy: str,
    items: Items,
    *,
    n_pairs: int | None,
    options: dict[str, Any] | None = None,
    selection: str = "matching",
    rewards: str = "bernoulli",
    no_rematch: int = 0,
) -> Case:
    """Three proposals one after the other, without outcomes; a pair is excluded, one pinned, one fixed."""
    size = sum(items.values())
    settings = {name: value for name, value in OPTIONS[policy].items() if name != "selection"}
    if options is not None:
        settings = options
    words = [f"ask league {policy}", _size(items)]
    words += [f"{name}={value}" for name, value in settings.items() if value is not None]
    words += [rewards] if rewards != "bernoulli" else []
    words += [f"no_rematch={no_rematch}"] if no_rematch else []
    last = [items["players"] - 2, items["players"] - 1] if "players" in items else [4, 3]
    return Case(
        ", ".join(words),
        "ask league",
        {
            "items": items,
            "policy": policy,
            "options": settings,
            "selection": selection,
            "rewards": rewards,
            "seed": 5,
            "no_rematch": no_rematch,
            "past": {
                "seed": 200 + size,
                "n_pairs": n_pairs,
                **_plays(policy),
                "rewards": "coins" if policy in OF_COINS else rewards,
                "noise": 0.1,
            },
            "excluded": [[0, 1], [2, 3], [1, 2]],
            "pinned": [[0, 3]],
            "asks": [
                {"absent": [], "fixed": []},
                {"absent": [2, size - 3], "fixed": []},
                {"absent": [5], "fixed": [last]},
            ],
        },
        match=LARGE if size > 300 else SHOWN,
        group=f"decide {policy}",
    )


def _plays(policy: str) -> dict[str, int]:
    return {"least": 300, "most": 1000} if policy in OF_PAIRS else {"least": 1, "most": 40}


def _size(items: Items) -> str:
    return f"{items['players']} players" if "players" in items else f"{items['rows']} × {items['columns']}"
