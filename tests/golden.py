"""Golden numbers: what every policy plays on every engine, recorded once, so that rebuilt code plays the same.

`python tests/golden.py POLICY …` writes the numbers of these policies anew, and leaves the others as they are; without
a name, all of them. Do that only when numbers change on purpose, and say so in the changelog. They were recorded with
version 0.3, those of rank1-certify with 1.0.
"""

import json
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

import matchbandit as mb

FILE = Path(__file__).with_name("golden.json")
SLOTS = mb.Bipartite([0.9, 0.6, 0.2], [0.8, 0.5, 0.3, 0.1])
SQUARE = mb.Bipartite([0.9, 0.5, 0.2], [0.8, 0.6, 0.1])
PLAYERS = mb.Monopartite([0.9, 0.3, 0.8, 0.5, 0.6, 0.1])
FIVE = mb.Monopartite([0.9, 0.3, 0.8, 0.5, 0.2])
MANY = mb.Monopartite(np.linspace(0.95, 0.05, 12))
TWOS = mb.Monopartite([0.8, 0.8, 0.5, 0.5, 0.2, 0.2])
NORMAL, SHARES = mb.Gaussian(sd=0.4), mb.Binomial(trials=3)
PROBLEMS = {"slots": SLOTS, "square": SQUARE, "players": PLAYERS, "five": FIVE, "many": MANY, "twos": TWOS}
RUNS = 3

# policy, problems, other reward distributions besides Bernoulli, horizon, max_rounds or budget, options to try
PAIR_REGRET: list[tuple[str, list[str], list[Any], int, list[dict[str, Any]]]] = [
    ("pair-elim", ["slots"], [NORMAL, SHARES], 10**7, [{}, {"growth": 1.05}, {"cap_windows": True}]),
    ("pair-elim-mono", ["players", "five"], [NORMAL], 10**7, [{}, {"growth": 1.05, "cap_windows": True}]),
    ("rank1-elim", ["slots"], [NORMAL], 10**6, [{}]),
    ("rank1-elim-kl", ["slots"], [SHARES], 10**6, [{}]),
    ("uts", ["slots"], [SHARES], 3000, [{}, {"gamma": 3}]),
    ("kl-ucb", ["slots", "five"], [SHARES], 3000, [{}]),
    ("rank1-certify", ["slots", "five"], [NORMAL, SHARES], 10**6, [{"selection": "pair"}, {"anytime": True}]),
    ("rank1-thompson", ["slots", "five"], [NORMAL, SHARES], 1500, [{"selection": "pair"}]),
    ("uniform", ["slots", "five"], [NORMAL], 1000, [{"selection": "pair"}]),
]
MATCHING_REGRET: list[tuple[str, list[str], list[Any], int, list[dict[str, Any]]]] = [
    (
        "simple-adaptive-matching",
        ["twos"],
        [NORMAL],
        10**6,
        [{}, {"growth": 4.0}, {"clusters": [[0, 1], [2, 3, 4, 5]]}],
    ),
    ("adaptive-matching", ["players", "twos"], [NORMAL], 10**6, [{}, {"clusters": [[0, 2], [1, 3, 4, 5]]}]),
    ("random-adaptive-matching", ["players"], [NORMAL], 10**6, [{}]),
    ("exploration-first", ["players"], [SHARES], 10**6, [{"best": [0, 2]}]),
    ("escb", ["players", "square"], [SHARES], 800, [{}, {"version": 1}, {"exploration": "full"}]),
    ("aescb", ["players"], [SHARES], 800, [{}, {"xi": 0.05}]),
    ("cucb", ["players", "square", "slots", "many"], [NORMAL], 800, [{}]),
    ("ols-ucb", ["players"], [NORMAL], 800, [{}, {"lam": 0.5}]),
    ("cts-beta", ["players", "slots", "many"], [SHARES], 800, [{}]),
    ("cts-gaussian", ["players", "many"], [NORMAL], 800, [{}]),
    ("unimodal-matching", ["players", "many"], [SHARES], 1500, [{}, {"gamma": 3}]),
    ("grab", ["slots", "square"], [SHARES], 1500, [{"gamma": 3}, {}, {"exploration": "leader"}]),
    ("pb-mhb", ["slots", "square"], [SHARES], 1500, [{}, {"c": 1.0, "m": 2, "first_is_best": True}]),
    (
        "rank1-certify",
        ["players", "slots", "many"],
        [NORMAL, SHARES],
        10**6,
        [{"selection": "matching"}, {"anytime": True, "share": 0.1}],
    ),
    ("rank1-thompson", ["players", "five", "slots", "many"], [NORMAL, SHARES], 1000, [{"selection": "matching"}]),
    ("uniform", ["players", "slots"], [NORMAL], 1000, [{"selection": "matching"}]),
]
IDENTIFICATION: list[tuple[str, list[str], list[Any], int, list[dict[str, Any]]]] = [
    ("pair-elim", ["slots"], [NORMAL], 10**9, [{"delta": 0.05}]),
    ("pair-elim-mono", ["players"], [NORMAL], 10**9, [{"delta": 0.1}]),
    ("matching-id", ["players", "many"], [NORMAL], 10**9, [{}, {"growth": 1.5}]),
    ("pair-select", ["players"], [NORMAL], 10**9, [{}, {"growth": 2.0, "delta": 0.2}]),
    (
        "rank1-certify",
        ["players", "five", "slots"],
        [NORMAL, SHARES],
        10**9,
        [{"delta": 0.05, "selection": "matching"}, {"delta": 0.1, "selection": "pair"}],
    ),
    ("rank1-certify", ["slots"], [NORMAL, SHARES], 10**9, [{"delta": 0.05}]),
    ("rank1-identify", ["players", "many"], [NORMAL], 10**9, [{}]),
    ("rank1-track-and-stop", ["players", "square"], [NORMAL], 10**5, [{"delta": 0.2}, {"selection": "pair"}]),
    ("track-and-stop", ["slots", "five"], [NORMAL, SHARES], 10**5, [{"delta": 0.1}]),
    ("clucb", ["players", "square", "many"], [NORMAL], 5000, [{}, {"selection": "pair"}]),
    ("sequential-halving", ["players", "slots"], [NORMAL, SHARES], 5000, [{}, {"selection": "pair"}]),
]


def with_law(problem: Any, law: Any) -> Any:
    """The same means under another reward distribution."""
    if law is None:
        return problem
    if hasattr(problem, "v"):
        return mb.Bipartite(problem.u, problem.v, rewards=law)
    return mb.Monopartite(problem.u, rewards=law)


def cases() -> list[tuple[str, str, str, Any, int, dict[str, Any]]]:
    """Name, verb, policy, problem, rounds and options of each case."""
    found = []
    for verb, table in (("simulate", PAIR_REGRET), ("simulate", MATCHING_REGRET), ("identify", IDENTIFICATION)):
        for policy, problems, laws, rounds, choices in table:
            for place, options in enumerate(choices):
                for law in [None, *laws] if place == 0 else [None]:
                    for key in problems if place == 0 else problems[:1]:
                        kept = ",".join(f"{k}={v}" for k, v in options.items())
                        name = f"{verb} {policy}({kept}) {key} {law.name if law else 'bernoulli'}"
                        found.append((name, verb, policy, with_law(PROBLEMS[key], law), rounds, options))
    return found


def play(verb: str, policy: str, problem: Any, rounds: int, options: dict[str, Any], engine: str) -> dict[str, Any]:
    """Whole runs on one engine."""
    spec = mb.policy(policy, **options)
    if verb == "simulate":
        runs = mb.simulate(problem, spec, horizon=rounds, runs=RUNS, seed=5, engine=engine, checkpoints=[10, 100])  # type: ignore[arg-type]
        return {
            "plays": runs.plays_by_edge.tolist(),
            "regret": runs.regret.tolist(),
            "ended": runs.ended.tolist(),
            "splits": [[[at, [list(c) for c in clusters]] for at, clusters in run] for run in runs.splits],
        }
    end = "budget" if spec.kind.capabilities.fixed_budget else "max_rounds"
    found = mb.identify(problem, spec, runs=RUNS, seed=5, engine=engine, **{end: rounds})  # type: ignore[arg-type]
    return {
        "rounds": found.rounds.tolist(),
        "identified": found.identified.tolist(),
        "correct": found.correct.tolist(),
        "answers": found.answers.tolist(),
    }


def talk(policy: str, problem: Any, options: dict[str, Any], horizon: int, rounds: int = 80) -> list[list[int]]:
    """The edges asked in a live session with missing rewards, half of it after a trip through JSON."""
    spec = mb.policy(policy, **options)
    p = spec.build(problem.graph, rewards=problem.rewards, horizon=horizon, seed=3)
    noise = np.random.default_rng(8)
    asked = []
    for number in range(rounds):
        if number == rounds // 2:
            p = mb.restore(json.loads(json.dumps(p.state())))
        pairs = p.ask()
        edges = problem.graph.edges(pairs)
        asked.append(edges.tolist())
        rewards = problem.rewards.draw(problem.means[edges], noise)
        if number % 9 == 4:
            rewards[0] = np.nan
        p.tell(pairs, rewards)
    return [*asked, problem.graph.edges(p.recommend()).tolist()]


def arithmetic() -> str:
    """A name for this machine's arithmetic: elementary functions, linear algebra, random draws, to the last bit."""
    rng = np.random.default_rng(1)
    x = rng.random(500)
    A = x[:100].reshape(10, 10)
    parts = [np.exp(x), np.log(x), np.sqrt(x), np.linalg.inv(A @ A.T + np.eye(10)), A @ A, rng.beta(x + 1, 2.5),
             rng.standard_gamma(x), rng.binomial(10**12, x).astype(float), np.log1p(x), np.expm1(x)]  # fmt: skip
    return blake2b(b"".join(part.tobytes() for part in parts), digest_size=8).hexdigest()


def engines(policy: str, problem: Any, options: dict[str, Any], rounds: int) -> list[str]:
    """The fast engine, and the step engine where that is short."""
    built = mb.policy(policy, **options).build(problem.graph, rewards=problem.rewards, horizon=rounds)
    fast = "jump" if isinstance(built, mb.PlannedPolicy) else "auto"
    return [fast, "step"]


STEPS = 600
"""The step engine plays so many rounds."""


def record(only: list[str]) -> dict[str, Any]:
    """All golden numbers; of policies that are not named, if any is, those that are there."""
    known: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if only else {}
    if only and known["arithmetic"] != arithmetic():
        raise SystemExit("the other numbers are of a machine with other arithmetic; record all of them.")
    kept: dict[str, Any] = {}
    for name, verb, policy, problem, rounds, options in cases():
        if only and policy not in only:
            kept |= {key: value for key, value in known["numbers"].items() if key.rsplit(" ", 1)[0] == name}
            continue
        for engine in engines(policy, problem, options, rounds):
            kept[f"{name} {engine}"] = play(
                verb, policy, problem, min(rounds, STEPS) if engine == "step" else rounds, options, engine
            )
        kept[f"{name} live"] = {"asked": talk(policy, problem, options, 10**6)}
    return {"arithmetic": arithmetic(), "numbers": kept}


if __name__ == "__main__":
    lines = record(sys.argv[1:])
    text = ",\n".join(
        f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in lines["numbers"].items()
    )
    FILE.write_text(f'{{"arithmetic": {json.dumps(lines["arithmetic"])}, "numbers": {{\n{text}\n}}}}\n')
