"""Cases of the contract: policies at play on every engine and kind of rewards, and in sessions of asking and telling."""

from collections.abc import Iterator
from typing import Any

from contract.records import Case

BERNOULLI: dict[str, Any] = {"kind": "bernoulli"}
GAUSSIAN: dict[str, Any] = {"kind": "gaussian", "sd": 0.4}
PRECISE: dict[str, Any] = {"kind": "gaussian", "sd": 0.02}
"""Rewards that vary so little that policies eliminate, split and answer within a session."""
BINOMIAL: dict[str, Any] = {"kind": "binomial", "trials": 3}

OPTIONS: dict[str, dict[str, Any]] = {
    "pair-elim": {"growth": 4.0, "cap_windows": False, "delta": None},
    "pair-elim-mono": {"growth": 4.0, "cap_windows": False, "delta": None},
    "pair-select": {"growth": 4.0, "cap_windows": False, "delta": 0.05},
    "matching-id": {"growth": 4.0, "delta": 0.05},
    "simple-adaptive-matching": {"growth": 1.05, "clusters": None},
    "adaptive-matching": {"growth": 1.05, "clusters": None},
    "exploration-first": {"growth": 1.05, "best": [0, 1]},
    "rank1-elim": {},
    "rank1-elim-kl": {},
    "uts": {"gamma": 2},
    "kl-ucb": {},
    "track-and-stop": {"delta": 0.05},
    "cucb": {},
    "cts-beta": {},
    "cts-gaussian": {},
    "clucb": {"delta": 0.05, "selection": "matching"},
    "escb": {"version": 2, "exploration": "log"},
    "aescb": {"xi": 0.1, "exploration": "log"},
    "ols-ucb": {"lam": 1.0},
    "grab": {"gamma": None, "exploration": "horizon"},
    "pb-mhb": {"c": 1000.0, "m": 1, "first_is_best": False},
    "rank1-certify": {"selection": "matching", "delta": None, "epsilon": None, "anytime": False, "share": 0.0625},
    "rank1-thompson": {"selection": "matching", "half_life": None},
    "rank1-track-and-stop": {"selection": "matching", "delta": 0.05},
    "sequential-halving": {"selection": "matching"},
    "uniform": {"selection": "matching"},
}
"""Every option of every policy, spelt out; cases name what they change."""

JUMPS = (
    "pair-elim",
    "pair-elim-mono",
    "pair-select",
    "matching-id",
    "simple-adaptive-matching",
    "adaptive-matching",
    "exploration-first",
    "rank1-elim",
    "rank1-elim-kl",
    "rank1-certify",
    "rank1-track-and-stop",
    "sequential-halving",
    "uniform",
)
"""Policies that the engine "jump" plays from decision to decision; the others have a compiled loop."""
PLAYERS_OF_LOOP = {"cucb": 10, "cts-beta": 10, "cts-gaussian": 10, "clucb": 10, "rank1-thompson": 199}
"""The largest number of players whose rounds are compiled."""

Problem = dict[str, Any]


def _rows_and_columns(u: list[float], v: list[float], rewards: dict[str, Any]) -> Problem:
    return {"kind": "bipartite", "u": u, "v": v, "rewards": rewards}


def _players(u: list[float], rewards: dict[str, Any]) -> Problem:
    return {"kind": "monopartite", "u": u, "rewards": rewards}


def _slots(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _rows_and_columns([0.91, 0.6, 0.23], [0.83, 0.52, 0.31, 0.1], rewards)


def _square(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _rows_and_columns([0.92, 0.51, 0.2], [0.83, 0.61, 0.1], rewards)


def _six(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _players([0.91, 0.32, 0.8, 0.53, 0.64, 0.11], rewards)


def _five(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _players([0.92, 0.31, 0.8, 0.53, 0.2], rewards)


def _twelve(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    u = [0.95, 0.88, 0.79, 0.71, 0.64, 0.55, 0.47, 0.38, 0.31, 0.22, 0.13, 0.06]
    return _players(u, rewards)


def _family(name: str, rewards: dict[str, Any] = BERNOULLI, **parameters: Any) -> Problem:
    return {"kind": "family", "family": name, "parameters": parameters, "rewards": rewards}


def _means(matrix: list[list[float]], *, players: bool, rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return {"kind": "means", "matrix": matrix, "players": players, "rewards": rewards}


PROBLEMS = {"3×4": _slots, "3×3": _square, "6 players": _six, "5 players": _five, "12 players": _twelve}
TASTES = _means([[0.91, 0.2, 0.11], [0.82, 0.7, 0.13]], players=False)
FRIENDS = _means(
    [[0.0, 0.31, 0.9, 0.42], [0.31, 0.0, 0.53, 0.74], [0.9, 0.53, 0.0, 0.15], [0.42, 0.74, 0.15, 0.0]], players=True
)


def _policy(name: str, warm_starts: list[dict[str, Any]] | None = None, **changes: Any) -> dict[str, Any]:
    unknown = changes.keys() - OPTIONS[name].keys()
    if unknown:
        raise ValueError(f"{name} has no option {unknown}")
    return {"name": name, "options": {**OPTIONS[name], **changes}, "warm_starts": warm_starts or []}


def _fast(policy: str, n_players: int) -> str:
    """The engine that is quickest for a policy; 0 players where there are rows and columns."""
    if policy in JUMPS:
        return "jump"
    return "loop" if n_players <= PLAYERS_OF_LOOP.get(policy, n_players) else "step"


def _title(verb: str, policy: str, problem: str, rewards: dict[str, Any], changes: dict[str, Any], end: str) -> str:
    values = ", ".join(f"{name}={value}" for name, value in changes.items())
    return f"{verb} {policy}({values}) {problem} {rewards['kind']} {end}"


Rows = list[tuple[str, list[str], list[dict[str, Any]], int, list[dict[str, Any]]]]
SIMULATIONS: Rows = [
    # policy, problems, rewards besides Bernoulli, horizon of the quick engine, options
    ("pair-elim", ["3×4"], [GAUSSIAN, BINOMIAL], 10**6, [{}, {"growth": 1.05}, {"cap_windows": True}]),
    ("pair-elim-mono", ["6 players", "5 players"], [GAUSSIAN, BINOMIAL], 10**6, [{}, {"growth": 1.5}]),
    ("rank1-elim", ["3×4"], [GAUSSIAN, BINOMIAL], 10**6, [{}]),
    ("rank1-elim-kl", ["3×4"], [BINOMIAL], 10**6, [{}]),
    ("uts", ["3×4"], [BINOMIAL], 1000, [{}, {"gamma": 3}]),
    ("kl-ucb", ["3×4", "5 players"], [BINOMIAL], 600, [{}]),
    ("simple-adaptive-matching", ["6 players"], [GAUSSIAN, BINOMIAL], 10**6,
     [{}, {"growth": 4.0}, {"clusters": [[0, 2], [1, 3, 4, 5]]}]),
    ("adaptive-matching", ["6 players", "12 players"], [GAUSSIAN, BINOMIAL], 10**6,
     [{}, {"growth": 2.0}, {"clusters": [[0, 2], [1, 3, 4, 5]]}]),
    ("exploration-first", ["6 players"], [GAUSSIAN, BINOMIAL], 10**6, [{"best": [0, 2]}]),
    ("escb", ["6 players", "3×3"], [BINOMIAL], 300, [{}, {"version": 1}, {"exploration": "full"}]),
    ("aescb", ["6 players"], [BINOMIAL], 300, [{}, {"xi": 0.05}, {"exploration": "full"}]),
    ("cucb", ["6 players", "3×4", "12 players"], [GAUSSIAN, BINOMIAL], 300, [{}]),
    ("ols-ucb", ["6 players"], [GAUSSIAN, BINOMIAL], 300, [{}, {"lam": 0.5}]),
    ("cts-beta", ["6 players", "3×4", "12 players"], [BINOMIAL], 300, [{}]),
    ("cts-gaussian", ["6 players", "12 players"], [GAUSSIAN, BINOMIAL], 300, [{}]),
    ("grab", ["3×4", "3×3"], [BINOMIAL], 600, [{}, {"gamma": 3}, {"exploration": "leader"}]),
    ("pb-mhb", ["3×4", "3×3"], [BINOMIAL], 600, [{}, {"c": 1.0, "m": 2, "first_is_best": True}]),
    ("rank1-certify", ["6 players", "3×4", "12 players"], [GAUSSIAN, BINOMIAL], 10**5,
     [{}, {"anytime": True, "share": 0.1}]),
    ("rank1-certify", ["3×4", "5 players"], [GAUSSIAN], 10**5, [{"selection": "pair"}]),
    ("rank1-thompson", ["6 players", "5 players", "3×4", "12 players"], [GAUSSIAN, BINOMIAL], 400,
     [{}, {"half_life": 60.0}]),
    ("rank1-thompson", ["3×4", "5 players"], [GAUSSIAN], 400,
     [{"selection": "pair"}, {"selection": "pair", "half_life": 60.0}]),
    ("uniform", ["6 players", "3×4"], [GAUSSIAN, BINOMIAL], 1000, [{}]),
    ("uniform", ["5 players"], [], 1000, [{"selection": "pair"}]),
]  # fmt: skip
STEPS = 120
"""Rounds of the engine "step", and of the quick engine beside it."""


def _simulate(name: str, problem: Problem, policy: dict[str, Any], engine: str, horizon: int, **settings: Any) -> Case:
    data = {
        "problem": problem, "policy": policy, "horizon": horizon, "runs": 2, "first_run": 0, "seed": 5,
        "engine": engine, "checkpoints": [10, 100, horizon], "stop": None,
    }  # fmt: skip
    return Case(name, "simulate", data | settings, group=policy["name"])


def _simulations() -> Iterator[Case]:
    """Each policy on its problems, with each kind of rewards and other options, on both engines."""
    for policy, problems, rewards, horizon, choices in SIMULATIONS:
        for first, changes in zip([True] + [False] * len(choices), choices, strict=False):
            for kind in [BERNOULLI, *rewards] if first else [BERNOULLI]:
                for name in problems if first and kind is BERNOULLI else problems[:1]:
                    problem = PROBLEMS[name](kind)
                    fast = _fast(policy, 0 if "v" in problem else len(problem["u"]))
                    both = first and kind is BERNOULLI and fast != "step"
                    for engine, end in [(fast, horizon), *([(fast, STEPS), ("step", STEPS)] if both else [])]:
                        title = _title("simulate", policy, name, kind, changes, f"{engine} {end}")
                        yield _simulate(title, problem, _policy(policy, **changes), engine, end)


def cases() -> Iterator[Case]:
    """All of them, those of a policy one after the other."""
    found = [*_simulations()]
    yield from sorted(found, key=lambda case: list(OPTIONS).index(case.group))
