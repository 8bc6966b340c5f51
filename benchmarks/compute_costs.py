"""What computations of leagues cost: the constants of `matchbandit.live.compute` and of the memory estimates.

`python benchmarks/compute_costs.py [decisions|rules|fits|memory ...]` prints CPU milliseconds, or KiB.
"""

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from matchbandit.live import commands
from matchbandit.live.compute import decision_seconds, fit_seconds
from matchbandit.live.deciding import Decider
from matchbandit.live.events import Event
from matchbandit.live.model import FitInputs, LeagueModel, assess_fit
from matchbandit.live.names import Directory
from matchbandit.live.state import State

NOW = "2026-11-16T09:30:00.000000Z"


class Club:
    """A league without a store, with about ten results of each item."""

    def __init__(self, n: int, policy: str, *, two_sided: bool = False, rules: Iterable[tuple[int, int]] = ()) -> None:
        rng = np.random.default_rng(1)
        names = [f"player {k}" for k in range(n)]
        half = n // 2 if two_sided else 0
        pairs = np.sort(rng.integers(0, half or n, (5 * n, 2)), axis=1) + np.array([0, half])
        met = sorted({(a, b) for a, b in pairs.tolist() if a != b})
        past = [(names[a], names[b], 1, float(rng.random() < 0.4)) for a, b in met]
        kind = {"sides": {"rows": names[:half], "columns": names[half:]}} if two_sided else {"players": names}
        drafts = commands.create("club", policy=policy, seed=1, past=past, **kind)  # type: ignore[arg-type]
        self.state, self.decider = State(), Decider()
        self.directory = Directory(drafts[0].data["sides"])
        self.apply(drafts)
        listed = sorted(rules)
        for first in range(0, len(listed), commands.MAX_PER_CALL):
            self.apply(commands.exclude(self.state, self.directory, listed[first : first + commands.MAX_PER_CALL]))

    def apply(self, drafts: Iterable[Any]) -> None:
        for draft in drafts:
            self.state.apply(Event(self.state.seq + 1, NOW, draft.kind, draft.data))
            self.directory.write(draft.names, self.state.sides_by_item)

    def prepare(self) -> Any:
        return self.decider.prepare(self.state, self.directory, NOW)

    def ask(self) -> None:
        self.apply([self.decider.decide(self.prepare())])


def star(k: int, n: int) -> list[tuple[int, int]]:
    """A few who may meet nobody."""
    return [(a, b) for a in range(1, k + 1) for b in range(a + 1, n + 1)]


def scattered(size: int, n: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(2)
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < size:
        a, b = sorted(rng.choice(n, 2, replace=False).tolist())
        pairs.add((a + 1, b + 1))
    return sorted(pairs)


def cpu(compute: Callable[[], Any]) -> float:
    began = time.process_time()
    compute()
    return 1000 * (time.process_time() - began)


def decisions() -> None:
    Club(20, "rank1-thompson", rules=star(2, 20)).ask()  # compiled code is loaded
    for policy, n, two_sided, rules in (
        *(("cts-beta", n, False, []) for n in (50, 100, 200, 400, 800, 1200)),
        ("cts-beta", 800, False, scattered(100, 800)),
        *(("cts-beta", n, True, []) for n in (400, 800, 2000)),
        *(("rank1-thompson", n, False, []) for n in (200, 2000, 5000)),
        ("rank1-thompson", 3000, False, [(k, k + 1) for k in range(1, 3000)]),
        ("rank1-thompson", 300, False, scattered(20_000, 300)),
        ("rank1-thompson", 1000, False, star(3, 1000)),
        ("rank1-thompson", 2000, False, star(3, 2000)),
        *(("rank1-certify", n, False, []) for n in (50, 200)),
    ):
        club = Club(n, policy, two_sided=two_sided, rules=rules)
        inputs = club.prepare()
        Decider().decide(inputs) if n < 500 else None
        took, estimate = cpu(lambda inputs=inputs: Decider().decide(inputs)), 1000 * decision_seconds(inputs)
        sides = "two sides" if two_sided else "players"
        print(f"{policy} {n} {sides} {len(rules)} rules: {took:.1f} ms, estimated {estimate:.1f} ms", flush=True)


def rules() -> None:
    for size in (10_000, 64_000, commands.MAX_RULES):
        club = Club(3000, "rank1-thompson", rules=scattered(size, 3000))
        club.prepare()
        print(f"3000 players, {size} exclusions: prepare {cpu(club.prepare):.1f} ms", flush=True)


def fits() -> None:
    for n in (20, 50, 200, 800, 2000):
        model = LeagueModel(Club(n, "rank1-thompson").state)
        inputs = FitInputs(model.graph, model.places, model.numbers, model.results, model.rewards)
        assess_fit(inputs) if n == 20 else None
        took = cpu(lambda inputs=inputs: assess_fit(inputs))
        ranking = cpu(lambda model=model, n=n: model.ranking([str(k) for k in range(n)], None))
        print(f"{n} players: fit {took:.1f} ms, estimated {1000 * fit_seconds(inputs):.1f}; ranking {ranking:.1f}")


def memory() -> None:
    Club(20, "rank1-thompson").ask()
    tracemalloc.start()

    def used() -> float:
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / 1024

    for policy, n, asks, size in (
        ("rank1-thompson", 10, 1, 0),
        ("rank1-thompson", 2000, 1, 0),
        ("rank1-thompson", 2000, 21, 0),
        ("rank1-thompson", 2000, 1, 20_000),
        ("cucb", 800, 1, 0),
    ):
        before = used()
        club = Club(n, policy, rules=scattered(size, n))
        for _ in range(asks):
            club.ask()
        model = LeagueModel(club.state)
        model.ranking([str(k) for k in range(n)], None)
        pairs = len(club.state.tally.counts)
        print(f"{policy} {n} players, {pairs} pairs, {asks} open, {size} rules: {used() - before:.0f} KiB", flush=True)
        del club, model


if __name__ == "__main__":
    for name in sys.argv[1:] or ["decisions", "rules", "fits", "memory"]:
        {"decisions": decisions, "rules": rules, "fits": fits, "memory": memory}[name]()
