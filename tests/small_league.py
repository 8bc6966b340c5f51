"""A league without a store: the functional core as a store would drive it, with every event kept in a list."""

import json
from typing import Any

from matchbandit.live import commands, views
from matchbandit.live.deciding import Decider
from matchbandit.live.events import Draft, Event, add_seconds, to_json
from matchbandit.live.names import Directory
from matchbandit.live.records import Receipt
from matchbandit.live.state import State

START = "2026-11-16T09:00:00.000000Z"


class SmallLeague:
    def __init__(self, slug: str = "club", **settings: Any) -> None:
        self.now = START
        self.log: list[Event] = []
        self.state = State()
        self.decider = Decider()
        drafts = commands.create(slug, **settings)
        self.directory = Directory(drafts[0].data["sides"])
        self.take(drafts)

    def take(self, drafts: list[Draft], by: str = "python") -> None:
        for draft in drafts:
            # As from a database: nothing that is not JSON survives, and nothing is shared.
            event = Event(self.state.seq + 1, self.now, draft.kind, json.loads(to_json(draft.data)), by)
            self.state.apply(event)
            self.directory.write(draft.names, self.state.sides_by_item)
            self.log.append(event)

    def wait(self, seconds: float) -> None:
        self.now = add_seconds(self.now, seconds)
        self.take(commands.expire(self.state, self.now), by="clock")

    def do(self, command: str, *arguments: Any, **options: Any) -> list[Draft]:
        drafts = getattr(commands, command)(self.state, self.directory, *arguments, **options)
        self.take(drafts)
        return drafts

    def configure(self, **changes: Any) -> None:
        self.take(commands.configure(self.state, **changes))

    def ask(self, **options: Any) -> dict[str, Any]:
        inputs = self.decider.prepare(self.state, self.directory, self.now, **options)
        self.take([self.decider.decide(inputs)])
        return self.log[-1].data

    def propose(self, *pairs: tuple[int, int], byes: tuple[int, ...] = (), **more: Any) -> int:
        """A proposal that nobody decided."""
        number = self.state.next_number
        deadline = self.state.config["deadline"]
        due = None if deadline is None else add_seconds(self.now, deadline)
        data = {"number": number, "pairs": [list(p) for p in pairs], "byes": list(byes), "fixed": [], "due": due}
        self.take([Draft("proposed", {**data, **more})])
        return number

    def record(self, number: int) -> views.Record:
        about = [event for event in self.log if number in (event.data.get("number"), event.data.get("proposal"))]
        return views.proposal_from(about)

    def _outcomes(self, command: str, number: int, *arguments: Any) -> Receipt:
        closed = commands.needs_record(self.state, number)
        record = self.record(number).state if closed else None
        drafts, receipt = getattr(commands, command)(self.state, self.directory, number, *arguments, record=record)
        self.take(drafts)
        return receipt

    def tell(self, number: int, outcomes: Any) -> Receipt:
        return self._outcomes("tell", number, outcomes)

    def correct(self, number: int, outcomes: Any) -> Receipt:
        return self._outcomes("correct", number, outcomes)

    def void(self, number: int, pairs: Any = None) -> Receipt:
        return self._outcomes("void", number, pairs)
