"""Cases of the contract: policies at play on each engine and kind of rewards, and in sessions of asking and telling."""

from collections.abc import Iterator
from typing import Any

from contract.records import Case

BERNOULLI: dict[str, Any] = {"kind": "bernoulli"}
GAUSSIAN: dict[str, Any] = {"kind": "gaussian", "sd": 0.4}
PRECISE: dict[str, Any] = {"kind": "gaussian", "sd": 0.02}
SHARP: dict[str, Any] = {"kind": "gaussian", "sd": 0.1}
"""Rewards that vary so little, as do the precise ones, that policies eliminate, split and answer within a session."""
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
    "grab": {"gamma": 3, "exploration": "horizon"},
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


def _five_rows(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _rows_and_columns([0.31, 0.9, 0.12, 0.74, 0.55], [0.4, 0.93, 0.21], rewards)


def _clear(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _rows_and_columns([0.96, 0.08], [0.12, 0.93], rewards)


def _clear_slots(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _rows_and_columns([0.95, 0.3, 0.08], [0.93, 0.2, 0.1, 0.05], rewards)


def _clear_players(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _players([0.95, 0.07, 0.91, 0.12], rewards)


def _wide(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    u = [0.93, 0.78, 0.61, 0.44, 0.29, 0.12]
    return _rows_and_columns(u, [0.89, 0.75, 0.63, 0.52, 0.38, 0.21, 0.07], rewards)


def _square(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _rows_and_columns([0.92, 0.51, 0.2], [0.83, 0.61, 0.1], rewards)


def _six(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _players([0.91, 0.32, 0.8, 0.53, 0.64, 0.11], rewards)


def _four(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _players([0.91, 0.33, 0.75, 0.54], rewards)


def _five(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _players([0.92, 0.31, 0.8, 0.53, 0.2], rewards)


def _twins(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _players([0.83, 0.81, 0.52, 0.5, 0.23, 0.21], rewards)


def _close(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return _players([0.83, 0.82, 0.81, 0.8, 0.79, 0.78], rewards)


def _twelve(rewards: dict[str, Any] = BERNOULLI) -> Problem:
    u = [0.95, 0.88, 0.79, 0.71, 0.64, 0.55, 0.47, 0.38, 0.31, 0.22, 0.13, 0.06]
    return _players(u, rewards)


def _family(name: str, rewards: dict[str, Any] = BERNOULLI, **parameters: Any) -> Problem:
    return {"kind": "family", "family": name, "parameters": parameters, "rewards": rewards}


def _means(matrix: list[list[float]], *, players: bool, rewards: dict[str, Any] = BERNOULLI) -> Problem:
    return {"kind": "means", "matrix": matrix, "players": players, "rewards": rewards}


PROBLEMS = {
    "3×4": _slots,
    "3×3": _square,
    "5×3": _five_rows,
    "2×2 far apart": _clear,
    "3×4 far apart": _clear_slots,
    "6×7": _wide,
    "6 players": _six,
    "6 twins": _twins,
    "4 players": _four,
    "4 players far apart": _clear_players,
    "5 players": _five,
    "12 players": _twelve,
}
TASTES = _means([[0.91, 0.2, 0.11], [0.82, 0.7, 0.13]], players=False)
FRIENDS = _means(
    [[0.0, 0.31, 0.9, 0.42], [0.31, 0.0, 0.53, 0.74], [0.9, 0.53, 0.0, 0.15], [0.42, 0.74, 0.15, 0.0]], players=True
)
FIVE_FRIENDS = _means(
    [
        [0.0, 0.31, 0.9, 0.42, 0.27],
        [0.31, 0.0, 0.53, 0.74, 0.66],
        [0.9, 0.53, 0.0, 0.15, 0.38],
        [0.42, 0.74, 0.15, 0.0, 0.81],
        [0.27, 0.66, 0.38, 0.81, 0.0],
    ],
    players=True,
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
    ("simple-adaptive-matching", ["6 players"], [], 10**6, [{"clusters": [[0, 2, 4], [1, 3, 5]]}]),
    ("simple-adaptive-matching", ["6 twins"], [GAUSSIAN, BINOMIAL], 10**6,
     [{}, {"growth": 4.0}, {"clusters": [[0, 2], [1, 3, 4, 5]]}]),
    ("adaptive-matching", ["6 players", "12 players"], [GAUSSIAN, BINOMIAL], 10**6,
     [{}, {"growth": 2.0}, {"clusters": [[0, 2], [1, 3, 4, 5]]}]),
    ("exploration-first", ["6 players"], [GAUSSIAN, BINOMIAL], 10**6, [{"best": [0, 2]}]),
    ("escb", ["6 players", "3×3"], [GAUSSIAN, BINOMIAL], 300, [{}, {"version": 1}, {"exploration": "full"}]),
    ("aescb", ["6 players"], [BINOMIAL], 300, [{}, {"xi": 0.05}, {"exploration": "full"}]),
    ("cucb", ["6 players", "3×4", "12 players"], [GAUSSIAN, BINOMIAL], 300, [{}]),
    ("ols-ucb", ["6 players"], [GAUSSIAN, BINOMIAL], 300, [{}, {"lam": 0.5}]),
    ("cts-beta", ["6 players", "3×4", "12 players"], [BINOMIAL], 300, [{}]),
    ("cts-gaussian", ["6 players", "12 players"], [GAUSSIAN, BINOMIAL], 300, [{}]),
    ("grab", ["3×4", "3×3"], [BINOMIAL], 600, [{}, {"exploration": "leader"}, {"gamma": None}]),
    ("grab", ["5×3"], [], 600, [{"gamma": None}, {"gamma": None, "exploration": "leader"}]),
    ("pb-mhb", ["3×4", "3×3"], [BINOMIAL], 600, [{}, {"c": 1.0, "m": 2, "first_is_best": True}]),
    ("rank1-certify", ["6 players", "3×4", "12 players"], [GAUSSIAN, BINOMIAL], 10**5,
     [{}, {"anytime": True, "share": 0.1}]),
    ("rank1-certify", ["3×4", "5 players"], [GAUSSIAN], 10**5, [{"selection": "pair"}]),
    ("rank1-certify", ["6×7"], [], 10**4, [{"selection": "matching"}]),
    ("rank1-thompson", ["6 players", "5 players", "3×4", "12 players"], [GAUSSIAN, BINOMIAL], 400,
     [{}, {"half_life": 60.0}]),
    ("rank1-thompson", ["6 players"], [], 200, [{"half_life": 0.5}]),
    ("rank1-thompson", ["3×4", "5 players"], [GAUSSIAN], 400,
     [{"selection": "pair"}, {"selection": "pair", "half_life": 60.0}]),
    ("uniform", ["6 players", "3×4"], [GAUSSIAN, BINOMIAL], 1000, [{}]),
    ("uniform", ["5 players"], [], 1000, [{"selection": "pair"}]),
]  # fmt: skip
STEPS = 120
"""Rounds of the engine "step", and of the quick engine beside it."""
PLAYS_WITH_DECISIONS: list[tuple[str, str, dict[str, Any], dict[str, Any], int]] = [
    # policy, problem, rewards, options, rounds of both engines in which clusters split or items are eliminated
    ("adaptive-matching", "6 players", SHARP, {}, 300),
    ("adaptive-matching", "6 players", PRECISE, {}, 200),
    ("adaptive-matching", "12 players", SHARP, {"growth": 1.5}, 500),
    ("simple-adaptive-matching", "6 players", SHARP, {}, 300),
    ("simple-adaptive-matching", "6 twins", SHARP, {}, 200),
    ("exploration-first", "6 players", SHARP, {"best": [0, 2]}, 250),
    ("exploration-first", "6 players", SHARP, {"best": [0, 2], "growth": 2.0}, 300),
    ("pair-elim", "3×4", SHARP, {"growth": 1.05}, 600),
    ("pair-elim", "3×4", SHARP, {"growth": 2.0, "cap_windows": True}, 1000),
    ("pair-elim-mono", "6 players", SHARP, {"growth": 1.5}, 1000),
    ("pair-elim-mono", "5 players", SHARP, {"growth": 1.05, "cap_windows": True}, 600),
    ("rank1-elim", "3×4", SHARP, {}, 300),
    ("rank1-elim-kl", "3×4 far apart", BERNOULLI, {}, 1000),
]


def _simulate(name: str, problem: Problem, policy: dict[str, Any], engine: str, horizon: int, **settings: Any) -> Case:
    data = {
        "problem": problem, "policy": policy, "horizon": horizon, "runs": 2, "first_run": 0, "seed": 5,
        "engine": engine, "checkpoints": [10, 100, horizon], "stop": None,
    }  # fmt: skip
    return Case(name, "simulate", data | settings, group=policy["name"])


def _simulations() -> Iterator[Case]:
    """Each policy on its problems, with each kind of rewards and other options, on both engines if it has two."""
    for policy, problems, rewards, horizon, choices in SIMULATIONS:
        for first, changes in zip([True] + [False] * len(choices), choices, strict=False):
            for kind in [BERNOULLI, *rewards] if first else [BERNOULLI]:
                for name in problems if first and kind is BERNOULLI else problems[:1]:
                    problem = PROBLEMS[name](kind)
                    fast = _fast(policy, 0 if "v" in problem else len(problem["u"]))
                    both = first and fast != "step"
                    for engine, end in [(fast, horizon), *([(fast, STEPS), ("step", STEPS)] if both else [])]:
                        title = _title("simulate", policy, name, kind, changes, f"{engine} {end}")
                        yield _simulate(title, problem, _policy(policy, **changes), engine, end)
    for policy, name, kind, changes, end in PLAYS_WITH_DECISIONS:
        for engine in ("jump", "step"):
            title = _title("simulate decisions", policy, name, kind, changes, f"sd={kind.get('sd')} {engine} {end}")
            yield _simulate(title, PROBLEMS[name](kind), _policy(policy, **changes), engine, end)


IDENTIFICATIONS: Rows = [
    # policy, problems, rewards besides Bernoulli, the last round or the budget, options
    ("pair-elim", ["3×4"], [GAUSSIAN, BINOMIAL], 10**8, [{"delta": 0.05}, {"delta": 0.2, "growth": 2.0}]),
    ("pair-elim-mono", ["6 players", "5 players"], [GAUSSIAN, BINOMIAL], 10**8, [{"delta": 0.1}]),
    ("pair-select", ["6 players"], [GAUSSIAN, BINOMIAL], 10**8, [{}, {"growth": 2.0, "delta": 0.2}]),
    ("matching-id", ["6 players", "12 players"], [GAUSSIAN, BINOMIAL], 10**8, [{}, {"growth": 1.5, "delta": 0.2}]),
    ("rank1-certify", ["6 players", "5 players", "3×4"], [GAUSSIAN, BINOMIAL], 10**8, [{"delta": 0.05}]),
    ("rank1-certify", ["6 players", "3×4"], [], 10**8, [{"delta": 0.1, "selection": "pair"}]),
    ("rank1-certify", ["6×7"], [], 400, [{"selection": "matching", "delta": 0.1, "epsilon": 0.1}]),
    ("rank1-certify", ["6 twins", "5 players"], [], 10**8, [{"delta": 0.05, "epsilon": 0.1}]),
    ("rank1-certify", ["6 twins", "3×4"], [GAUSSIAN], 10**8, [{"delta": 0.05, "epsilon": 0.2, "selection": "pair"}]),
    ("track-and-stop", ["3×4", "5 players"], [GAUSSIAN, BINOMIAL], 400, [{}, {"delta": 0.2}]),
    ("clucb", ["6 players", "3×3", "12 players"], [GAUSSIAN, BINOMIAL], 300, [{}, {"selection": "pair"}]),
    ("sequential-halving", ["6 players", "3×4"], [GAUSSIAN, BINOMIAL], 600, [{}, {"selection": "pair"}]),
]
BUDGETED = ("sequential-halving",)
"""Policies that answer within a budget."""


def _identify(
    name: str,
    problem: Problem,
    policy: dict[str, Any],
    engine: str,
    last: int,
    match: dict[str, Any] | None = None,
    **settings: Any,
) -> Case:
    end = "budget" if policy["name"] in BUDGETED else "max_rounds"
    data = {
        "problem": problem, "policy": policy, "runs": 2, "first_run": 0, "seed": 5, "engine": engine, end: last,
    }  # fmt: skip
    return Case(name, "identify", data | settings, match or {}, group=policy["name"])


def _identifications() -> Iterator[Case]:
    """Each policy that identifies, as above; on the engine "step" until a round in which most have no answer yet.

    With rewards that vary little, or with means that are far apart, both engines play until there is an answer.
    """
    for policy, problems, rewards, last, choices in IDENTIFICATIONS:
        for first, changes in zip([True] + [False] * len(choices), choices, strict=False):
            for kind in [BERNOULLI, *rewards] if first else [BERNOULLI]:
                for name in problems if first and kind is BERNOULLI else problems[:1]:
                    problem = PROBLEMS[name](kind)
                    fast = _fast(policy, 0 if "v" in problem else len(problem["u"]))
                    step = last if policy in BUDGETED else min(last, STEPS)
                    both = first and kind is BERNOULLI and fast != "step"
                    for engine, end in [(fast, last), *([("step", step)] if both else [])]:
                        title = _title("identify", policy, name, kind, changes, f"{engine} {end}")
                        yield _identify(title, problem, _policy(policy, **changes), engine, end)
    players = ("pair-elim-mono", "pair-select", "matching-id", "rank1-certify", "rank1-track-and-stop", "clucb")
    for policy in (*players, "pair-elim", "track-and-stop"):
        for engine in (_fast(policy, 0), "step"):
            name = "6 players" if policy in players else "3×4"
            title = _title("identify precise", policy, name, PRECISE, {"delta": 0.1}, f"{engine} 2000")
            yield _identify(title, PROBLEMS[name](PRECISE), _policy(policy, delta=0.1), engine, 2000)
    for policy, name, kind, changes in (
        ("pair-elim", "3×4", SHARP, {"growth": 2.0, "delta": 0.2}),
        ("pair-elim-mono", "6 players", SHARP, {"delta": 0.1}),
        ("pair-select", "6 players", SHARP, {"growth": 2.0, "delta": 0.2}),
        ("pair-select", "6 players", SHARP, {"growth": 2.0, "delta": 0.2, "cap_windows": True}),
        ("matching-id", "6 players", SHARP, {"growth": 1.5, "delta": 0.2}),
        ("clucb", "4 players far apart", BERNOULLI, {"delta": 0.2}),
        ("clucb", "4 players far apart", GAUSSIAN, {"delta": 0.2}),
        ("clucb", "4 players far apart", BINOMIAL, {"delta": 0.2}),
        ("clucb", "2×2 far apart", BERNOULLI, {"delta": 0.2, "selection": "pair"}),
    ):
        for engine in (_fast(policy, 0), "step"):
            title = _title("identify answers", policy, name, kind, changes, f"{engine} 2000")
            yield _identify(title, PROBLEMS[name](kind), _policy(policy, **changes), engine, 2000)
    certify = _policy("rank1-certify", delta=None, epsilon=None)
    title = "identify rank1-certify with delta and epsilon of the call"
    yield _identify(title, _five(GAUSSIAN), certify, "jump", 10**8, delta=0.1, epsilon=0.2)
    certify = _policy("rank1-certify", delta=0.1, epsilon=0.3)  # answers that are not the best, and correct
    yield _identify("identify rank1-certify of close players", _close(GAUSSIAN), certify, "jump", 10**7, runs=3)


UNTIL_DECIDED = {"rounds": {"rtol": 0.8}, "pair_evaluations": {"rtol": 0.8}}
"""rank1-track-and-stop plays by proportions from an optimization that ends within 5 % of the optimum, by linear
programs of which several solutions are as good. After some hundred rounds, when it stops hangs on the last bits of a
machine's arithmetic; what it answers does not. Proportions that differ by 10⁻¹³ change the rounds almost fourfold, so a
factor of five passes. With few rounds to choose from it plays the same on every machine."""
PROPORTIONS = {"explanation.pairs.proportion_wanted": {"atol": 1e-3}}


def _tracking() -> Iterator[Case]:
    """rank1-track-and-stop until it is decided, and for a few rounds, in which results without ties decide."""
    name, until = "rank1-track-and-stop", 10**5
    for place, rewards, selection in (
        ("6 players", BERNOULLI, "matching"),
        ("6 players", GAUSSIAN, "matching"),
        ("6 players", BINOMIAL, "matching"),
        ("6 players", BERNOULLI, "pair"),
        ("3×3", BERNOULLI, "matching"),
        ("5 players", GAUSSIAN, "matching"),
    ):
        changes = {"selection": selection, "delta": 0.1}
        title = _title("identify", name, place, rewards, changes, f"jump {until}")
        yield _identify(title, PROBLEMS[place](rewards), _policy(name, **changes), "jump", until, match=UNTIL_DECIDED)
    for place in ("4 players", "3×3", "5 players"):
        for engine in ("jump", "step"):
            changes = {"selection": "matching", "delta": 0.001}
            title = _title("identify", name, place, SHARP, changes, f"{engine} 40")
            yield _identify(title, PROBLEMS[place](SHARP), _policy(name, **changes), engine, 40)


WALK = {"kind": "random-walk", "step": 0.2, "every": 7, "low": 0.05, "high": 0.95}
EVERY_ROUND = {"kind": "random-walk", "step": 0.02, "every": 1, "low": 0.01, "high": 0.99}
SEASONS = {"kind": "seasons", "period": 120.0, "amplitude": 0.5, "every": 3, "phases": None}
PHASES = {"kind": "seasons", "period": 90.0, "amplitude": 0.4, "every": 1, "phases": [0.0, 0.1, 0.3, 0.5, 0.6, 0.8]}
JUMPS_AT = {"kind": "jumps", "rate": None, "rounds": [100, 233], "items": 3, "low": 0.1, "high": 0.9}
JUMPS_RATE = {"kind": "jumps", "rate": 0.02, "rounds": None, "items": None, "low": 0.0, "high": 1.0}


def _drifting() -> Iterator[Case]:
    """Policies on strengths that drift, and the strengths themselves."""
    for policy, problem, drift, changes in (
        ("rank1-thompson", _six(), WALK, {"half_life": 100.0}),
        ("rank1-thompson", _six(GAUSSIAN), PHASES, {"half_life": 100.0}),
        ("rank1-thompson", _slots(BINOMIAL), JUMPS_AT, {"selection": "pair", "half_life": 50.0}),
        ("cucb", _square(GAUSSIAN), SEASONS, {}),
        ("uts", _slots(), JUMPS_AT, {}),
        ("pair-elim", _slots(), WALK, {}),
        ("adaptive-matching", _six(GAUSSIAN), JUMPS_RATE, {}),
        ("uniform", _twelve(), SEASONS, {}),
        ("uniform", _slots(), JUMPS_RATE, {"selection": "pair"}),
        ("uniform", _six(), EVERY_ROUND, {}),
    ):
        drifting = {"kind": "drifting", "problem": problem, "drift": drift}
        fast = _fast(policy, 0)
        for engine, end in ((fast, 3000 if drift is EVERY_ROUND else 400), ("step", 150)):
            title = _title(f"simulate {drift['kind']}", policy, "", problem["rewards"], changes, f"{engine} {end}")
            yield _simulate(title, drifting, _policy(policy, **changes), engine, end)
        data = {"problem": drifting, "rounds": [1, 2, 50, 101, 240, 5000], "seed": 9, "run": 2}
        title = f"strengths under {drift['kind']} as of {policy} {changes}"
        yield Case(title, "drifting strengths", data, group="uniform")
    drifting = {"kind": "drifting", "problem": _family("spiked", n=3, u1=0.9, gap=0.6), "drift": WALK}
    yield _simulate("simulate random-walk of a family kl-ucb", drifting, _policy("kl-ucb"), "loop", 300)


FAMILIES = [
    _family("spiked", n=3, u1=0.9, gap=0.7),
    _family("spiked-repeated", n=3, u1=0.9, gap=0.7, repeats=2),
    _family("fixed-mean", n=3, u1=0.9, mean=0.4),
    _family("half", n=3, u1=0.9),
    _family("fading", n=4, u1=0.9, low=0.1),
    _family("staircase", n=3, gap=0.2),
    _family("centred", n=3, mean=0.5, gap=0.2),
    _family("two-best", n=3, u1=0.9, second=0.8, third=0.7),
    _family("equal-pairs", n=3, top=0.9, bottom=0.2),
    _family("click-model", model="kdd:10", shuffle="all"),
    _family("click-model", model="yandex", shuffle="except-first"),
]


def _families() -> Iterator[Case]:
    """Policies on families, whose instances differ from run to run, and the instances themselves."""
    for policy, problem, end in (
        ("uts", _family("spiked", n=4, u1=0.9, gap=0.7), 300),
        ("uts", _family("spiked-repeated", n=4, u1=0.9, gap=0.7, repeats=2), 300),
        ("pair-elim", _family("fixed-mean", GAUSSIAN, n=4, u1=0.9, mean=0.4), 10**6),
        ("pair-elim", _family("half", n=4, u1=0.9), 10**5),
        ("rank1-elim", _family("fading", BINOMIAL, n=4, u1=0.9, low=0.1), 10**5),
        ("pair-elim-mono", _family("two-best", n=3, u1=0.9, second=0.8, third=0.7), 10**6),
        ("adaptive-matching", _family("staircase", n=4, gap=0.2), 10**6),
        ("simple-adaptive-matching", _family("centred", GAUSSIAN, n=4, mean=0.5, gap=0.2), 10**6),
        ("exploration-first", _family("two-best", n=3, u1=0.9, second=0.8, third=0.7), 10**6),
        ("rank1-thompson", _family("equal-pairs", n=4, top=0.9, bottom=0.2), 200),
        ("pb-mhb", _family("click-model", model="kdd:10", shuffle="all"), 300),
        ("kl-ucb", _family("click-model", model="yandex", shuffle="none"), 200),
    ):
        fast = _fast(policy, 0)
        title = f"simulate family {problem['family']} {policy} {fast} {end}"
        yield _simulate(title, problem, _policy(policy), fast, end, runs=3, first_run=4)
    clicks, grab = _family("click-model", model="simulated:std", shuffle="except-first"), _policy("grab", gamma=None)
    yield _simulate("simulate family click-model grab loop 200", clicks, grab, "loop", 200, runs=3, first_run=4)
    staircase, adaptive = _family("staircase", n=4, gap=0.2), _policy("adaptive-matching")
    for family in FAMILIES:
        data = {"problem": family, "seed": 11, "runs": [0, 1, 5]}
        yield Case(f"instances {family['family']} {family['parameters']}", "instances", data, group="uniform")
    title = "simulate until the first split family staircase adaptive-matching jump"
    yield _simulate(title, staircase, adaptive, "jump", 10**6, runs=3, stop="first-split")
    simple = _policy("simple-adaptive-matching")
    title = "simulate until the first split 6 twins simple-adaptive-matching jump"
    yield _simulate(title, _twins(SHARP), simple, "jump", 10**6, runs=3, stop="first-split")
    two_best = _family("two-best", n=3, u1=0.9, second=0.8, third=0.7)
    certify = _policy("rank1-certify", delta=0.1, epsilon=0.2)
    yield _identify("identify family two-best rank1-certify", two_best, certify, "jump", 10**8, runs=3, first_run=2)


def _other_means() -> Iterator[Case]:
    """Policies on matrices of means that are not products of strengths, and what is best in these."""
    for policy, problem, end in (
        ("kl-ucb", TASTES, 400),
        ("uts", TASTES, 400),
        ("cucb", FRIENDS, 300),
        ("cts-beta", FRIENDS, 300),
        ("rank1-thompson", FRIENDS, 200),
        ("adaptive-matching", FRIENDS, 10**5),
        ("rank1-certify", FRIENDS, 10**4),
        ("rank1-thompson", FIVE_FRIENDS, 200),
    ):
        size = len(problem["matrix"])
        yield _simulate(f"simulate means of {size} {policy} {end}", problem, _policy(policy), _fast(policy, 0), end)
    for name, problem in (("rows and columns", TASTES), ("4 players", FRIENDS), ("5 players", FIVE_FRIENDS)):
        yield Case(f"instances {name}", "instances", {"problem": problem, "seed": 0, "runs": []}, group="uniform")
    certify = _policy("rank1-certify", delta=0.1)
    yield _identify("identify means rank1-certify", FRIENDS, certify, "jump", 3000)
    yield _identify("identify means track-and-stop", TASTES, _policy("track-and-stop", delta=0.2), "loop", 300)
    yield _identify("identify means clucb", FRIENDS, _policy("clucb", delta=0.2), "loop", 300)


NO_WARM_START = (
    "pair-elim",
    "pair-elim-mono",
    "pair-select",
    "matching-id",
    "simple-adaptive-matching",
    "adaptive-matching",
    "exploration-first",
    "rank1-elim",
    "rank1-elim-kl",
    "sequential-halving",
    "uniform",
)
"""Policies that do not take results from before."""


def _past(problem: Problem) -> list[dict[str, Any]]:
    """Results from before, in two parts."""
    pairs = [[0, 0], [1, 2], [2, 1]] if "v" in problem else [[0, 1], [2, 3], [0, 2], [3, 1]]
    counts, sums = [9, 6, 3, 6][: len(pairs)], [4.0, 3.0, 2.0, 1.0][: len(pairs)]
    again = 0.375 if problem["rewards"]["kind"] == "gaussian" else 1.0
    return [
        {"pairs": pairs, "counts": counts, "sums": sums},
        {"pairs": pairs[:1], "counts": [3], "sums": [again]},
    ]


def _warm_starts() -> Iterator[Case]:
    """Policies that begin with the results of `_past`."""
    for policy, problem, changes in (
        ("uts", _slots(), {}),
        ("kl-ucb", _slots(BINOMIAL), {}),
        ("cucb", _six(GAUSSIAN), {}),
        ("cts-beta", _six(), {}),
        ("cts-gaussian", _six(GAUSSIAN), {}),
        ("escb", _six(), {}),
        ("aescb", _six(), {}),
        ("ols-ucb", _six(GAUSSIAN), {}),
        ("grab", _slots(), {}),
        ("pb-mhb", _slots(), {}),
        ("rank1-certify", _six(), {}),
        ("rank1-thompson", _six(GAUSSIAN), {}),
        ("rank1-thompson", _six(GAUSSIAN), {"half_life": 60.0}),
        ("rank1-thompson", _slots(), {"selection": "pair"}),
    ):
        title = _title("simulate warm", policy, "", problem["rewards"], changes, f"{_fast(policy, 0)} 200")
        yield _simulate(title, problem, _policy(policy, _past(problem), **changes), _fast(policy, 0), 200)
    for policy, problem, last, changes in (
        ("track-and-stop", _slots(), 200, {}),
        ("clucb", _six(GAUSSIAN), 200, {}),
        ("rank1-certify", _six(), 10**8, {"delta": 0.1}),
        ("rank1-track-and-stop", _six(), 10**5, {"delta": 0.2}),
    ):
        title = _title("identify warm", policy, "", problem["rewards"], changes, f"{_fast(policy, 0)} {last}")
        match = UNTIL_DECIDED if policy == "rank1-track-and-stop" else {}
        policy_with_past = _policy(policy, _past(problem), **changes)
        yield _identify(title, problem, policy_with_past, _fast(policy, 0), last, match=match)


def _strengths(n: int) -> list[float]:
    """Different strengths between 0.1 and 0.9, in no order."""
    return [round(0.1 + 0.8 * ((37 * k) % n) / n, 5) for k in range(n)]


def _large() -> Iterator[Case]:
    """Policies on 200 to 1,500 items, for few rounds."""
    for policy, problem, changes, engine, end in (
        ("pair-elim", _rows_and_columns(_strengths(120), _strengths(101), GAUSSIAN), {}, "jump", 90),
        ("uts", _rows_and_columns(_strengths(120), _strengths(101), BERNOULLI), {}, "loop", 150),
        ("kl-ucb", _players(_strengths(201), BERNOULLI), {}, "loop", 40),
        ("cucb", _players(_strengths(202), GAUSSIAN), {}, "step", 2),
        ("cts-beta", _rows_and_columns(_strengths(210), _strengths(6), BERNOULLI), {}, "loop", 40),
        ("adaptive-matching", _players(_strengths(200), GAUSSIAN), {}, "jump", 3),
        ("rank1-certify", _rows_and_columns(_strengths(230), _strengths(5), GAUSSIAN), {}, "jump", 40),
        ("rank1-thompson", _players(_strengths(200), BERNOULLI), {}, "step", 3),
        ("rank1-thompson", _players(_strengths(203), GAUSSIAN), {"half_life": 20.0}, "step", 2),
        ("rank1-thompson", _rows_and_columns(_strengths(300), _strengths(7), BERNOULLI), {}, "step", 30),
        ("rank1-thompson", _players(_strengths(1500), BERNOULLI), {"selection": "pair"}, "step", 30),
        ("rank1-thompson", _rows_and_columns(_strengths(1200), _strengths(4), BINOMIAL), {}, "step", 25),
        ("rank1-thompson", _players(_strengths(1001), BERNOULLI), {}, "step", 2),
        ("uniform", _players(_strengths(1100), BERNOULLI), {"selection": "pair"}, "jump", 60),
    ):
        size = f"{len(problem['u'])}×{len(problem['v'])}" if "v" in problem else f"{len(problem['u'])} players"
        title = _title("simulate large", policy, size, problem["rewards"], changes, f"{engine} {end}")
        yield _simulate(title, problem, _policy(policy, **changes), engine, end, runs=1, checkpoints=[1, end])
    players, certify = _players(_strengths(200), PRECISE), _policy("rank1-certify", delta=0.1)
    yield _identify("identify large rank1-certify 200 players", players, certify, "jump", 200, runs=1)
    for name, problem, last in (  # until the strengths of so many items are fitted, by conjugate gradients
        ("240×5", _rows_and_columns(_strengths(240), _strengths(5), PRECISE), 1000),
        ("240 players", _players(_strengths(240), PRECISE), 600),
    ):
        yield _identify(f"identify large rank1-certify {name}", problem, certify, "jump", last, runs=1)


SESSIONS: list[tuple[str, Problem, dict[str, Any], int | None]] = [
    # policy, problem, options, horizon or budget
    ("pair-elim", _slots(), {}, 10**6),
    ("pair-elim", _slots(PRECISE), {"delta": 0.1}, None),
    ("pair-elim-mono", _five(), {}, 10**6),
    ("pair-elim-mono", _six(PRECISE), {"delta": 0.1}, None),
    ("pair-select", _six(), {"delta": 0.1}, None),
    ("pair-select", _six(PRECISE), {"delta": 0.1}, None),
    ("matching-id", _six(), {"delta": 0.1}, None),
    ("matching-id", _six(PRECISE), {"delta": 0.1}, None),
    ("simple-adaptive-matching", _twins(), {}, 10**6),
    ("simple-adaptive-matching", _twins(PRECISE), {}, 10**6),
    ("adaptive-matching", _six(BINOMIAL), {}, 10**6),
    ("adaptive-matching", _six(PRECISE), {}, 10**6),
    ("exploration-first", _six(), {"best": [0, 2]}, 10**6),
    ("exploration-first", _six(PRECISE), {"best": [0, 2]}, 10**6),
    ("rank1-elim", _slots(), {}, 10**6),
    ("rank1-elim", _slots(PRECISE), {}, 10**6),
    ("rank1-elim-kl", _slots(BINOMIAL), {}, 10**6),
    ("uts", _slots(), {}, None),
    ("uts", _slots(BINOMIAL), {"gamma": 3}, None),
    ("kl-ucb", _slots(), {}, None),
    ("kl-ucb", _five(BINOMIAL), {}, None),
    ("track-and-stop", _slots(), {"delta": 0.1}, None),
    ("track-and-stop", _slots(PRECISE), {"delta": 0.2}, None),
    ("cucb", _six(), {}, None),
    ("cucb", _slots(GAUSSIAN), {}, None),
    ("cts-beta", _six(), {}, None),
    ("cts-beta", _square(BINOMIAL), {}, None),
    ("cts-gaussian", _six(), {}, None),
    ("cts-gaussian", _slots(GAUSSIAN), {}, None),
    ("clucb", _six(), {"delta": 0.1}, None),
    ("clucb", _square(PRECISE), {"delta": 0.2, "selection": "pair"}, None),
    ("escb", _six(), {}, None),
    ("escb", _square(BINOMIAL), {"version": 1, "exploration": "full"}, None),
    ("aescb", _six(), {}, None),
    ("ols-ucb", _six(GAUSSIAN), {}, None),
    ("ols-ucb", _slots(), {"lam": 0.5}, None),
    ("grab", _slots(), {}, 10**4),
    ("grab", _five_rows(), {"exploration": "leader"}, None),
    ("grab", _five_rows(BINOMIAL), {"gamma": None}, 10**4),
    ("pb-mhb", _slots(), {}, None),
    ("pb-mhb", _slots(BINOMIAL), {"c": 1.0, "m": 2, "first_is_best": True}, None),
    ("rank1-certify", _six(), {}, None),
    ("rank1-certify", _six(PRECISE), {"delta": 0.1}, None),
    ("rank1-certify", _five(PRECISE), {"delta": 0.1, "epsilon": 0.1}, None),
    ("rank1-certify", _slots(), {"selection": "pair", "anytime": True, "share": 0.1}, None),
    ("rank1-thompson", _six(), {}, None),
    ("rank1-thompson", _five(BINOMIAL), {"half_life": 20.0}, None),
    ("rank1-thompson", _slots(GAUSSIAN), {"selection": "pair"}, None),
    ("rank1-track-and-stop", _four(GAUSSIAN), {"delta": 0.01}, None),
    ("rank1-track-and-stop", _square(PRECISE), {"delta": 0.2, "selection": "pair"}, None),
    ("sequential-halving", _six(), {}, 60),
    ("sequential-halving", _slots(GAUSSIAN), {"selection": "pair"}, 49),
    ("uniform", _six(), {}, None),
    ("uniform", _five(), {"selection": "pair"}, None),
]
ROUNDS = 50
MISSING = [[2, 0], [9, 0], [10, 0], [10, 1], [23, 1], [24, 0], [31, 0], [31, 1], [31, 2], [44, 2], [49, 0], [50, 0]]
"""Rounds, and the positions in them of pairs that did not take place."""


ESTIMATED_SPREAD = {"explanation.items.interval": {"rtol": 1e-3, "atol": 1e-6}}
"""Of more than 400 items intervals come from draws that conjugate gradients solve to about so many digits."""
LONG_SESSIONS: list[tuple[str, Problem, dict[str, Any], int | None, int]] = [
    # as above, and the rounds: until some items are eliminated or clusters split, or there is an answer
    ("pair-elim", _slots(PRECISE), {}, 6000, 1100),
    ("pair-elim", _slots(PRECISE), {"delta": 0.1}, None, 500),
    ("pair-elim", _slots(PRECISE), {"delta": 0.1}, None, 600),
    ("pair-elim-mono", _six(SHARP), {}, 6000, 2200),
    ("pair-elim-mono", _five(PRECISE), {"cap_windows": True}, 6000, 1900),
    ("pair-select", _six(PRECISE), {"delta": 0.1}, None, 1000),
    ("pair-select", _six(PRECISE), {"delta": 0.1}, None, 1100),
    ("simple-adaptive-matching", _twins(SHARP), {}, 10**6, 170),
    ("adaptive-matching", _six(SHARP), {}, 10**6, 180),
    ("adaptive-matching", _six(SHARP), {}, 10**6, 300),
    ("exploration-first", _six(SHARP), {"best": [0, 2]}, 10**6, 250),
    ("rank1-elim", _slots(SHARP), {}, 6000, 300),
    ("rank1-elim-kl", _slots(BINOMIAL), {}, 10**6, 2000),
]


def _session(
    name: str, problem: Problem, policy: dict[str, Any], horizon: int | None, match: Any = None, **settings: Any
) -> Case:
    match = match or (PROPORTIONS if policy["name"] == "rank1-track-and-stop" else {})
    data = {
        "problem": problem, "policy": policy, "rounds": ROUNDS, "horizon": horizon, "seed": 3, "run": 0,
        "feedback_seed": 8, "missing": [], "reversed_order": False,
        "restore": [{"round": ROUNDS // 2 + 1, "moment": "before the ask"}], "recorded_rounds": ROUNDS,
        "explain": "before the ask",
    }  # fmt: skip
    return Case(name, "session", data | settings, match, group=policy["name"])


def _sessions() -> Iterator[Case]:
    """50 rounds of asking and telling, with the state through JSON half-way.

    The first of each policy again with missing results, a state with an open round, and results from before if the
    policy takes them.
    """
    policies = set()
    for policy, problem, changes, horizon in SESSIONS:
        title = _title("session", policy, problem["kind"], problem["rewards"], changes, "restored")
        yield _session(title, problem, _policy(policy, **changes), horizon)
        if policy not in policies:
            policies.add(policy)
            past = [] if policy in NO_WARM_START else _past(problem)
            yield _session(
                _title("session", policy, problem["kind"], problem["rewards"], changes, "missing results"),
                problem, _policy(policy, past, **changes), horizon, missing=MISSING, reversed_order=True, run=1,
                restore=[{"round": 10, "moment": "after the ask"}, {"round": 32, "moment": "before the ask"}],
                explain="after the ask",
            )  # fmt: skip
    for policy, problem, horizon in (  # results of many values: which of them are missing shows
        ("pair-elim", _slots(SHARP), 10**6),
        ("pair-elim-mono", _six(SHARP), 10**6),
        ("matching-id", _six(SHARP), None),
        ("adaptive-matching", _six(SHARP), 10**6),
        ("rank1-certify", _six(SHARP), None),
        ("uniform", _six(SHARP), None),
    ):
        yield _session(
            f"session {policy} missing results of many values",
            problem, _policy(policy), horizon, missing=MISSING,
            restore=[{"round": 10, "moment": "after the ask"}, {"round": 25, "moment": "before the ask"}],
        )  # fmt: skip
    for policy, problem, changes, horizon, past in (  # other options, and players who sit out
        ("rank1-thompson", _six(), {"half_life": 20.0}, None, True),
        ("rank1-thompson", _five(SHARP), {}, None, False),
        ("rank1-thompson", _five(SHARP), {"half_life": 20.0}, None, False),
        ("rank1-thompson", _slots(SHARP), {"selection": "pair"}, None, False),
        ("rank1-certify", _five(SHARP), {"delta": 0.1}, None, False),
        ("rank1-certify", _slots(SHARP), {"selection": "pair"}, None, False),
        ("rank1-certify", _six(SHARP), {"delta": 0.1, "epsilon": 0.1, "selection": "pair"}, None, False),
        ("rank1-track-and-stop", _square(SHARP), {"delta": 0.001, "selection": "pair"}, None, False),
        ("clucb", _square(SHARP), {"delta": 0.1, "selection": "pair"}, None, False),
        ("sequential-halving", _slots(SHARP), {"selection": "pair"}, 60, False),
        ("uniform", _five(SHARP), {"selection": "pair"}, None, False),
    ):
        yield _session(
            _title("session missing", policy, problem["kind"], problem["rewards"], changes, f"{len(problem['u'])}"),
            problem, _policy(policy, _past(problem) if past else [], **changes), horizon, missing=MISSING,
            restore=[{"round": 10, "moment": "after the ask"}, {"round": 25, "moment": "before the ask"}],
        )  # fmt: skip
    for policy, problem, changes, horizon, rounds in LONG_SESSIONS:
        title = _title("session long", policy, problem["kind"], problem["rewards"], changes, f"{rounds} rounds")
        restore = [{"round": rounds - 15, "moment": "after the ask"}]
        missing = [[rounds - number, 0] for number in (30, 16, 15)]
        yield _session(
            title, problem, _policy(policy, **changes), horizon, rounds=rounds, restore=restore, recorded_rounds=20,
            missing=missing,
        )  # fmt: skip
    many, thompson = _rows_and_columns(_strengths(205), _strengths(3), BERNOULLI), _policy("rank1-thompson")
    yield _session("session large rank1-thompson 205×3", many, thompson, None)
    many, thompson_pairs = _players(_strengths(402), BERNOULLI), _policy("rank1-thompson", selection="pair")
    yield _session("session large rank1-thompson 402 players", many, thompson_pairs, None, match=ESTIMATED_SPREAD)
    many = _rows_and_columns(_strengths(1100), _strengths(2), GAUSSIAN)
    yield _session("session large rank1-thompson 1100×2", many, thompson, None, explain=None, missing=MISSING)


COMPARISONS = "comparisons"


def _comparisons() -> Iterator[Case]:
    """Policies side by side on the same instances."""
    slots = [_policy(name) for name in ("uts", "kl-ucb", "pair-elim", "rank1-elim")]
    slots += [_policy("rank1-thompson", selection="pair"), _policy("uniform", selection="pair")]
    matchings = [_policy("adaptive-matching"), _policy("adaptive-matching", growth=2.0), _policy("cts-beta")]
    matchings += [_policy("cucb", _past(_six())), _policy("uniform")]
    certain = [_policy(name, delta=0.1) for name in ("matching-id", "rank1-certify", "clucb", "pair-select")]
    shared = [_policy("rank1-certify"), _policy("rank1-track-and-stop", delta=0.1)]
    budgeted = [_policy("sequential-halving"), _policy("sequential-halving", selection="pair")]
    for name, problem, policies, settings in (
        ("pairs family spiked", _family("spiked", n=3, u1=0.9, gap=0.7), slots, {"horizon": 300}),
        ("matchings 6 players", _six(), matchings, {"horizon": 300}),
        ("with fixed confidence 6 players", _six(PRECISE), certain, {"max_rounds": 10**4}),
        ("with a common delta 5 players", _five(SHARP), shared, {"delta": 0.1, "max_rounds": 10**4}),
        ("with a fixed budget 6 players", _six(), budgeted, {"budget": 600}),
    ):
        data = {"problem": problem, "policies": policies, "runs": 3, "seed": 6, **settings}
        data |= {"checkpoints": [30, 300]} if "horizon" in settings else {}
        yield Case(f"compare {name}", "compare", data, group=COMPARISONS)


def cases() -> Iterator[Case]:
    """All cases of the area, in the order of the policies: those of a policy share compiled code. Comparisons are last,
    since they need that of several policies."""
    every_case = [
        *_simulations(),
        *_identifications(),
        *_tracking(),
        *_drifting(),
        *_families(),
        *_other_means(),
        *_warm_starts(),
        *_large(),
        *_sessions(),
        *_comparisons(),
    ]
    yield from sorted(every_case, key=lambda case: [*OPTIONS, COMPARISONS].index(case.group))
