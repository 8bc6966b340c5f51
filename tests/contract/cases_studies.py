"""Cases of the contract: the studies behind the figures with few runs, and studies of one's own."""

from collections.abc import Iterator
from typing import Any

from contract.records import Case

OPTIONS: dict[str, dict[str, Any]] = {
    "pair-elim": {"growth": 4.0, "cap_windows": False},
    "rank1-elim": {},
    "simple-adaptive-matching": {"growth": 1.05},
    "escb": {"version": 2, "exploration": "log"},
    "rank1-certify": {"selection": "matching", "anytime": False, "share": 0.0625},
    "rank1-thompson": {"selection": "matching"},
    "ols-ucb": {"lam": 1.0},
    "cucb": {},
    "cts-beta": {},
    "cts-gaussian": {},
    "track-and-stop": {},
    "matching-id": {"growth": 4.0},
    "pair-select": {"growth": 4.0, "cap_windows": False},
    "adaptive-matching": {"growth": 1.05, "clusters": [[0, 1], [2, 3, 4, 5, 6, 7]]},
    "exploration-first": {"growth": 1.05, "best": [0, 1]},
    "grab": {"exploration": "horizon"},
    "pb-mhb": {"c": 1000.0, "m": 1, "first_is_best": False},
}
GAPS = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85]
MEANS = [0.5, 0.6, 0.7, 0.8]
WINDOWS = {
    "u": [0.9, 0.264, 0.241, 0.195, 0.16, 0.128, 0.0045, 0.0043],
    "v": [0.9, 0.298, 0.22, 0.201, 0.157, 0.153, 0.0695, 0.064],
    "rewards": "bernoulli",
}
POLICIES_OF_FIGURES = {
    "over-time": ["pair-elim", "rank1-elim"],
    "over-gap": ["pair-elim", "rank1-elim"],
    "over-u1": ["pair-elim", "rank1-elim"],
    "over-n": ["simple-adaptive-matching"],
    "over-mu": ["simple-adaptive-matching", "escb"],
    "practical": [
        "simple-adaptive-matching", "escb", "rank1-certify", "rank1-thompson",
        "ols-ucb", "cucb", "cts-beta", "cts-gaussian",
    ],
    "windows": ["pair-elim"],
    "growth": ["pair-elim"],
    "identification": ["pair-elim", "rank1-certify", "track-and-stop"],
    "comparison": ["adaptive-matching", "exploration-first"],
    "evaluations": ["matching-id", "pair-select", "rank1-certify"],
    "click-models": ["rank1-thompson", "rank1-certify", "grab", "pb-mhb", "cts-beta", "cucb"],
}  # fmt: skip


def policies(*names: str, **changes: Any) -> list[dict[str, Any]]:
    """Policies with all of their options, some of them changed."""
    return [{"name": name, **OPTIONS[name], **changes} for name in names]


def cases() -> Iterator[Case]:
    """All of them."""
    for entry, names in POLICIES_OF_FIGURES.items():
        yield Case(f"figure-points {entry}", "figure-points", {"entry": entry, "policies": names})
    yield from _figures()
    yield Case("reproduce judged", "reproduce", {"figures": ["u1-ratio"], "runs": 20, "seed": 0}, group="u1")
    yield Case("reproduce not judged", "reproduce", {"figures": ["u1-regret"], "runs": 2, "seed": 5}, group="u1")
    yield from _studies()


def _regret(name: str, problem: Any, played: list[dict[str, Any]], horizon: Any, **settings: Any) -> dict[str, Any]:
    common = {"checkpoints": [], "runs": 2, "seed": 3, "engine": "auto"}
    return {"name": name, "problem": problem, "policies": played, "horizon": horizon, **common, **settings}


def _rounds(name: str, problem: Any, played: list[dict[str, Any]], delta: Any, **settings: Any) -> dict[str, Any]:
    common = {"runs": 2, "seed": 3, "engine": "auto"}
    return {"name": name, "problem": problem, "policies": played, "delta": delta, **common, **settings}


def _figure(entry: str, columns: list[str], *studies: dict[str, Any]) -> Case:
    """A case of a figure, of whose studies all have these columns."""
    names = [study["name"] for study in studies]
    return Case(
        f"figure {entry}",
        "figure",
        {"entry": entry, "studies": list(studies), "columns": dict.fromkeys(names, columns)},
    )


def _figures() -> Iterator[Case]:
    elimination = policies("pair-elim", "rank1-elim")
    spiked = {"family": "spiked", "n": 8, "u1": 0.9, "gap": GAPS, "rewards": "bernoulli"}
    yield _figure(
        "over-time",
        ["policy", "run", "round", "regret"],
        _regret("over-time", {**spiked, "gap": 0.75}, elimination, 200_000, checkpoints=[*range(4000, 200_000, 4000)]),
    )
    yield _figure(
        "over-gap",
        ["policy", "gap", "horizon", "run", "regret"],
        _regret("over-gap", spiked, elimination, 300_000),
        _regret("over-gap-as-printed", spiked, elimination, 2_000_000),
        _regret(
            "over-gap-instances",
            {**spiked, "family": "spiked-repeated", "repeats": 10},
            elimination,
            [300_000, 2_000_000],
            runs=30,
        ),
    )
    yield _figure(
        "over-u1",
        ["policy", "u1", "run", "regret"],
        _regret(
            "over-u1",
            {
                "family": "fixed-mean",
                "n": 8,
                "u1": [0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
                "mean": 0.2,
                "rewards": "bernoulli",
            },
            elimination,
            1_000_000,
        ),
    )
    yield _figure(
        "over-n",
        ["n", "run", "regret"],
        _regret(
            "over-n",
            {"family": "staircase", "n": [*range(2, 12)], "gap": 0.1, "rewards": "bernoulli"},
            policies("simple-adaptive-matching"),
            200_000,
        ),
    )
    centred = {"family": "centred", "n": 4, "mean": MEANS, "gap": 0.1, "rewards": "bernoulli"}
    compared = policies("simple-adaptive-matching", "escb")
    yield _figure(
        "over-mu",
        ["policy", "mean", "run", "round", "regret"],
        _regret("over-mu", centred, compared, 20_000, checkpoints=[*range(1000, 20_000, 1000)]),
    )
    yield _figure(
        "practical",
        ["policy", "mean", "run", "regret"],
        _regret("over-mu", centred, compared, 5000, runs=1),
        _regret("practical", centred, policies("rank1-certify", "rank1-thompson"), 5000, runs=1),
        _regret("practical-blind", centred, policies("ols-ucb", "cucb", "cts-beta", "cts-gaussian"), 5000, runs=1),
    )
    yield _figure(
        "windows",
        ["horizon", "options", "run", "doubly", "singly"],
        _regret(
            "windows",
            WINDOWS,
            policies("pair-elim", cap_windows=[False, True]),
            [10**power for power in range(4, 13)],
        ),
    )
    yield _figure(
        "growth",
        ["family", "options", "run", "regret"],
        _regret(
            "growth",
            [
                {**spiked, "gap": 0.75},
                {"family": "fixed-mean", "n": 8, "u1": 0.6, "mean": 0.2, "rewards": "bernoulli"},
            ],
            policies("pair-elim", growth=[1.05, 1.2, 1.5, 2.0, 3.0, 4.0]),
            200_000,
        ),
    )
    half = {"family": "half", "u1": 0.9, "rewards": "bernoulli"}
    fading = {"family": "fading", "u1": 0.9, "low": 0.05, "rewards": "bernoulli"}
    certified = [{"name": "rank1-certify", "selection": "pair", "anytime": False, "share": 0.0625}]
    yield _figure(
        "identification",
        ["family", "n", "delta", "run", "rounds", "pairs", "identified", "correct"],
        _rounds(
            "identification",
            [{**half, "n": [4, 8, 16, 32]}, {**fading, "n": [4, 8, 16, 32]}],
            policies("pair-elim"),
            [0.05, 1e-3, 1e-6, 1e-15, 1e-30],
            runs=1,
        ),
        _rounds(
            "identification-certified",
            [{**half, "n": [4, 8]}, {**fading, "n": [4, 8]}],
            certified,
            [0.05, 1e-3, 1e-10],
            runs=1,
        ),
        _rounds(
            "identification-blind", [{**half, "n": [4, 6]}], policies("track-and-stop"), [0.05, 1e-3, 1e-10], runs=1
        ),
    )
    yield _figure(
        "comparison",
        ["policy", "second", "third", "run", "round", "regret"],
        _regret(
            "comparison",
            {
                "family": "two-best",
                "n": 4,
                "u1": 0.95,
                "second": [0.003, 0.01, 0.03, 0.3, 0.7, 1.0],
                "third": [0.9, 0.3],
                "rewards": "bernoulli",
            },
            policies("adaptive-matching", "exploration-first"),
            10**17,
            runs=1,
            stop="first-split",
        ),
    )
    yield _figure(
        "evaluations",
        ["policy", "n", "run", "rounds", "pairs", "identified", "correct"],
        _rounds(
            "evaluations",
            {"family": "equal-pairs", "n": [2, 3, 4, 5, 6], "top": 0.9, "bottom": 0.3, "rewards": "bernoulli"},
            policies("matching-id", "pair-select", "rank1-certify"),
            0.05,
            runs=1,
        ),
    )
    clicks = policies("rank1-thompson", "rank1-certify", "grab", "pb-mhb", "cts-beta", "cucb")
    yield _figure(
        "click-models",
        ["policy", "model", "run", "round", "regret"],
        _regret(
            "click-models",
            {"family": "click-model", "model": ["kdd:1", "simulated:xsmall"], "rewards": "bernoulli"},
            clicks,
            2000,
            checkpoints=[500],
        ),
        _regret(
            "click-models-yandex",
            {"family": "click-model", "model": "yandex", "rewards": "bernoulli"},
            clicks,
            2000,
            checkpoints=[500],
        ),
    )


def _studies() -> Iterator[Case]:
    yield _study(
        "sweep of a family and an option",
        ["policy", "options", "gap", "run", "round", "regret"],
        _regret(
            "sweep",
            {"family": "spiked", "n": 4, "u1": 0.9, "gap": [0.4, 0.6], "rewards": "gaussian:0.5"},
            [*policies("pair-elim", growth=[1.5, 4.0]), *policies("rank1-elim")],
            5000,
            checkpoints=[100, 1000],
            runs=3,
        ),
    )
    yield _study(
        "strengths over horizons",
        ["policy", "horizon", "run", "round", "regret"],
        _regret(
            "horizons",
            {"u": [0.9, 0.7, 0.5, 0.2], "rewards": "binomial:4"},
            [*policies("adaptive-matching", clusters=[[0, 1, 2, 3]]), *policies("cucb")],
            [200, 1000],
            runs=3,
        ),
    )
    yield _study(
        "rounds over delta",
        ["policy", "delta", "run", "rounds", "pairs", "identified", "correct"],
        _rounds(
            "deltas",
            [
                {"u": [0.9, 0.3], "v": [0.8, 0.2], "rewards": "bernoulli"},
                {"u": [0.9, 0.7, 0.2], "rewards": "bernoulli"},
            ],
            [{"name": "rank1-certify", "selection": "pair", "anytime": False, "share": 0.0625}],
            [0.1, 0.001],
            runs=3,
            epsilon=[0.0, 0.2],
            max_rounds=100_000,
        ),
    )
    yield Case(
        "study-refusals",
        "study-refusals",
        {
            "studies": [
                {"name": "x", "problem": {"u": [0.9, 0.3]}, "policies": ["no-such-policy"], "horizon": 100},
                {"name": "x", "problem": {"u": [0.9, 0.3]}, "policies": ["uniform"]},
                {"name": "x", "problem": {"family": "spiked", "n": 4}, "policies": ["uts"], "horizon": 100},
                {"name": "x", "problem": {"u": [0.9, 1.3]}, "policies": ["uniform"], "horizon": 100},
                {"name": "x", "problem": {"u": [0.9, 0.3]}, "policies": ["uniform"], "horizon": 0},
                {"name": "x", "problem": {"u": [0.9, 0.3]}, "policies": [], "horizon": 100},
            ]
        },
    )


def _study(name: str, columns: list[str], study: dict[str, Any]) -> Case:
    return Case(f"study {name}", "study", {"study": study, "columns": columns, "part_runs": 1})
