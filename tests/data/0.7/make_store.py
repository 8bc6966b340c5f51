"""Write the store of version 0.7.0 that tests migrate: run it with matchbandit 0.7.0, in an empty folder.

    git archive 0e8426f | tar -x -C matchbandit-0.7
    pip install --no-deps --target site-0.7 matchbandit-0.7
    PYTHONPATH=site-0.7 python make_store.py

It leaves `store.db`, an export `club.jsonl`, and `expected.json` with what 0.7.0 said of them.
"""

import json
import sqlite3
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from matchbandit.live import VOID, Store, snapshots
from matchbandit.live.events import this_version
from matchbandit.service import sessions, tokens

assert this_version() == "0.7.0"
snapshots._OFTEN = 12  # so that a short log has a snapshot, and events behind it


class Clock:
    """A minute passes whenever somebody looks."""

    moment = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.moment += timedelta(minutes=1)
        return self.moment


clock = Clock()
with Store("sqlite:///store.db", clock=clock) as store:
    club = store.create(
        "club",
        players=["ann", "bob", "cem", "dee", "eve"],
        no_rematch=1,
        seed=7,
        deadline=timedelta(days=60),
        default=0.0,
        past=[("ann", "bob", 4, 3)],
        key="create club",
    )
    first = club.ask(key="ask 1", by="token:000000000001")
    club.tell(1, {pair: float(place) for place, pair in enumerate(first.pairs)}, key="tell 1")
    club.ask(available=["ann", "bob", "cem", "dee"])
    club.void(2)
    third = club.ask()
    club.tell(3, {pair: 1.0 for pair in third.pairs})
    club.correct(3, {third.pairs[0]: 0.0}, key="correct 3")
    club.correct(3, {third.pairs[1]: VOID})
    club.exclude([("ann", "cem")])
    club.wish([("dee", "bob")])
    club.join("fay", "gus", key="join")
    club.rename("gus", "gustav")
    club.exclude([("bob", "fay")])
    club.allow([("bob", "fay")])
    club.wish([("ann", "fay")])
    club.unwish([("ann", "fay")])
    club.leave("ann", "fay")
    club.bring_back("ann")
    club.forget("eve")
    late = club.ask()
    club.tell(4, {late.pairs[0]: 1.0})  # the rest expires
    clock.moment += timedelta(days=61)
    half = club.ask()
    club.tell(5, {half.pairs[0]: 1.0})
    club.ask(key="ask 6")
    clock.moment += timedelta(days=1)

    market = store.create(
        "market",
        sides={"ads": ["a", "b", "c"], "slots": ["top", "side"]},
        rewards="gaussian:0.5",
        seed=11,
        shadow="ols-ucb",
    )
    for number in range(1, 7):
        proposal = market.ask()
        if number < 6:
            market.tell(number, {pair: 0.1 * number for pair in proposal.pairs})
    market.configure(policy="cts-gaussian", options={})
    market.ask()

    club.export("club.jsonl")
    lasting, lasting_text = tokens.new(store, "website", scope="admin")
    ended, _ = tokens.new(store, "old phone", scope="play", leagues=["club"], lasting=timedelta(days=1))
    revoked, _ = tokens.new(store, "lost", scope="read")
    tokens.revoke(store, revoked.id)
    sessions.begin(store, lasting)

    expected = {
        "token": lasting_text,
        "leagues": {
            name: {
                "about": league.about(),
                "events": len(league.events()),
                "kinds": sorted({event.kind for event in league.events()}),
                "items": [asdict(item) for item in league.items()],
                "waiting": [[one.number, *map(list, one.waiting)] for one in league.open_proposals()],
                "results": league.results(),
                "history": [asdict(line) for line in league.history()],
            }
            for name, league in (("club", club), ("market", market))
        },
        "now": store.now(),
    }

with sqlite3.connect("store.db") as file:
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
with open("expected.json", "w", encoding="utf-8") as text:
    json.dump(expected, text, indent=1)
