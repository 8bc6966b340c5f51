"""A league: ask for pairs, record outcomes, manage items and rules, explain.

A reward is what a pair achieved *together*, not who won.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.formatting import plural
from matchbandit.live import commands, keys, log, transfer, views
from matchbandit.live.commands import Name
from matchbandit.live.deciding import Inputs
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Draft, Event, this_version
from matchbandit.live.keys import Key
from matchbandit.live.league_api import Outcomes, Pair
from matchbandit.live.league_view import LeagueView
from matchbandit.live.model import Fit, Standing
from matchbandit.live.names import Directory
from matchbandit.live.records import Item, Meetings, Proposal, ProposalSummary, Receipt
from matchbandit.live.replica import Answer, OutOfDateError, Replica, View
from matchbandit.live.shadow import ShadowReport, shadow_report
from matchbandit.live.state import ProposalState
from matchbandit.live.verify import Verification, verify_league
from matchbandit.live.why import Why

if TYPE_CHECKING:
    from matchbandit.live.store import Store

_Roster = Callable[..., list[Draft]]
_MAX_TRIES = 3
"""Decisions that may become out of date before one is made under the lock."""


class League:
    """A league of a store, from `Store.create` or `Store.open`; thread-safe.

    Items are given by name or id. Each writing method takes an idempotency `key`: a repeated request with the same
    key is executed once and gets the same answer. `by` names the
    interface in the log.
    """

    def __init__(self, store: "Store", replica: Replica) -> None:
        """Use `Store.create` or `Store.open` instead."""
        self.store = store
        self._replica = replica

    @property
    def name(self) -> str:
        """The URL name."""
        return self._replica.slug

    def __repr__(self) -> str:
        """Name and store."""
        return f"League({self.name!r}, {self.store.where})"

    def _was_created_by(self, key: Key) -> bool:
        """Was this the request that created the league? An error if its key was used for another request."""
        return self._replica.stored_answer(key) == {}

    # Pairs and outcomes ----------------------------------------------------------------------------------------------

    def ask(
        self,
        *,
        available: Iterable[Name] | None = None,
        fixed: Iterable[Pair] | None = None,
        key: str | None = None,
        by: str = "python",
    ) -> Proposal:
        """Propose pairs of the available items (default: all active), under a new number.

        Proposals stay open until their outcomes are recorded, and there may be several. `fixed` pairs are included
        unchanged. With an odd number of players, whoever has sat out least sits out.
        """
        if isinstance(available, str):
            raise LeagueError("bad-value", f"available must be a list of names; got {available!r}.")
        available_names = None if available is None else list(available)
        pairs = None if fixed is None else list(fixed)

        def content(directory: Directory) -> Any:
            ids = (
                None if available_names is None else sorted(keys.item_ids(directory, name) for name in available_names)
            )
            return ids, keys.pairs_ids(directory, pairs)

        request = Key.of(key, "ask", content)
        return self.proposal(self._ask(available_names, pairs, request, by)["number"])

    def _ask(self, available: list[Name] | None, fixed: list[Pair] | None, key: Key | None, by: str) -> Answer:
        """Decide without blocking others; decide again if a proposal or a change of the rules came first."""
        replica, compute = self._replica, self.store.compute
        decider = replica.decider

        def inputs_of(view: View) -> Inputs:
            return decider.prepare(view.state, view.directory, view.now, available=available, fixed=fixed)

        def decide_now(view: View) -> tuple[list[Draft], Answer]:
            inputs = inputs_of(view)
            if compute is not None and not compute.is_quick(inputs):  # nothing slow under the lock
                raise replica.busy("compute-busy", f"was changed by others during {plural(_MAX_TRIES, 'decision')}")
            return [decider.decide(inputs)], {"number": inputs.number}

        with replica.deciding():
            for _ in range(_MAX_TRIES):
                prepared = replica.prepare(key, inputs_of)
                if not isinstance(prepared, Inputs):
                    return prepared
                inputs = prepared
                draft = decider.decide(inputs) if compute is None else compute.decide(decider, inputs)

                def write(view: View, inputs: Inputs = inputs, draft: Draft = draft) -> tuple[list[Draft], Answer]:
                    if view.state.rules_seq > inputs.decided_at:
                        raise OutOfDateError
                    return [draft], {"number": inputs.number}

                with suppress(OutOfDateError):
                    return replica.write(write, by=by, key=key)
            return replica.write(decide_now, by=by, key=key)

    def tell(self, number: int, outcomes: Outcomes, *, key: str | None = None, by: str = "python") -> Receipt:
        """Record outcomes of some or all pairs of a proposal, in any order; `VOID` if a pair never met.

        Repeated outcomes are ignored. Contradictions are refused: use `correct`.
        """
        return self._outcomes("tell", commands.tell, number, outcomes, key, by)

    def tell_many(
        self, outcomes: Mapping[int, Outcomes], *, key: str | None = None, by: str = "python"
    ) -> list[Receipt]:
        """Record outcomes of several proposals, by number, all or none; returns a receipt for each."""
        rows = {number: list(part) if isinstance(part, Iterator) else part for number, part in outcomes.items()}

        def write(view: View) -> tuple[list[Draft], Answer]:
            drafts, receipts = [], []
            for number, part in rows.items():
                new, receipt = commands.tell(
                    view.state, view.directory, number, part, record=self._closed_proposal(view, number)
                )
                drafts += new
                receipts.append(asdict(receipt))
            return drafts, {"receipts": receipts}

        def content(directory: Directory) -> Any:
            return [[number, keys.outcomes_ids(directory, part)] for number, part in sorted(rows.items())]

        answer = self._replica.write(write, by=by, key=Key.of(key, "tell many", content))
        return [Receipt(**receipt) for receipt in answer["receipts"]]

    def correct(self, number: int, outcomes: Outcomes, *, key: str | None = None, by: str = "python") -> Receipt:
        """Replace recorded outcomes, even of closed proposals; both stay in the log."""
        return self._outcomes("correct", commands.correct, number, outcomes, key, by)

    def void(
        self, number: int, pairs: Iterable[Pair] | None = None, *, key: str | None = None, by: str = "python"
    ) -> Receipt:
        """Record that pairs of a proposal never met; by default, all whose outcome is missing."""
        as_list = None if pairs is None else list(pairs)
        return self._outcomes("void", commands.void, number, as_list, key, by)

    def _outcomes(
        self, request: str, command: Callable[..., Any], number: int, values: Any, key: str | None, by: str
    ) -> Receipt:
        if isinstance(values, Iterator):  # it is read for the key, and again if a commit is retried
            values = list(values)

        def write(view: View) -> tuple[list[Draft], Answer]:
            record = self._closed_proposal(view, number)
            drafts, receipt = command(view.state, view.directory, number, values, record=record)
            return drafts, asdict(receipt)

        def content(directory: Directory) -> Any:
            by_id = keys.pairs_ids if request == "void" else keys.outcomes_ids
            return number, by_id(directory, values)

        return Receipt(**self._replica.write(write, by=by, key=Key.of(key, request, content)))

    def _closed_proposal(self, view: View, number: int) -> ProposalState | None:
        """A closed proposal, read from the log; None if it is open."""
        if not commands.needs_record(view.state, number):
            return None
        return views.proposal_from(view.events_of(self._replica.league, number)).state

    # Items -----------------------------------------------------------------------------------------------------------

    def items(self) -> list[Item]:
        """All items that ever joined, in the order of their ids."""
        with self.view() as view:
            return view.items()

    def item(self, name: Name, *, side: str | None = None) -> Item:
        """One item, by name or id."""
        with self.view() as view:
            return view.item(view.resolve(name, side))

    def join(self, *names: str, side: str | None = None, key: str | None = None, by: str = "python") -> list[Item]:
        """Add items, or let those that left rejoin. A league of two sides needs `side`."""
        return self._roster("join", commands.join, key, by, list(names), side=side)

    def leave(self, *names: Name, side: str | None = None, key: str | None = None, by: str = "python") -> list[Item]:
        """Let items leave: they are no longer paired; their results stay, and they may rejoin."""
        return self._roster("leave", commands.leave, key, by, list(names), side=side)

    def rejoin(self, *names: Name, side: str | None = None, key: str | None = None, by: str = "python") -> list[Item]:
        """Let items that left rejoin, with their results."""
        return self._roster("bring back", commands.rejoin, key, by, list(names), side=side)

    def rename(
        self, old: Name, new: str, *, side: str | None = None, key: str | None = None, by: str = "python"
    ) -> Item:
        """Rename an item."""
        return self._roster("rename", commands.rename, key, by, old, new, side=side)[0]

    def forget(self, name: Name, *, side: str | None = None, key: str | None = None, by: str = "python") -> Item:
        """Erase a name permanently. The item leaves; its results stay under its id."""
        item = self._roster("forget", commands.forget, key, by, name, side=side)[0]
        self.store.database.wipe_log()
        return item

    def _roster(
        self, request: str, command: _Roster, key: str | None, by: str, *args: Any, side: str | None
    ) -> list[Item]:
        def write(view: View) -> tuple[list[Draft], Answer]:
            drafts = command(view.state, view.directory, *args, side=side)
            return drafts, {"items": [item for draft in drafts for item in _draft_items(draft)] or requested(view)}

        def requested(view: View) -> list[int]:  # nothing changes
            names = args[0] if isinstance(args[0], list) else args[:1]
            return [_resolve(view, name, side) for name in names]

        def content(directory: Directory) -> Any:
            names = args[0] if isinstance(args[0], list) else args
            ids = [keys.item_ids(directory, name, side) for name in names]
            return ids if request == "rename" else sorted(ids)

        items = self._replica.write(write, by=by, key=Key.of(key, request, content))["items"]
        with self.view() as view:
            return [view.item(item) for item in items]

    # Rules -----------------------------------------------------------------------------------------------------------

    def exclude(self, pairs: Iterable[Pair], *, key: str | None = None, by: str = "python") -> None:
        """Never propose these pairs."""
        self._rules("exclude", commands.exclude, pairs, key, by)

    def allow(self, pairs: Iterable[Pair], *, key: str | None = None, by: str = "python") -> None:
        """Remove exclusions."""
        self._rules("allow", commands.allow, pairs, key, by)

    def wish(self, pairs: Iterable[Pair], *, key: str | None = None, by: str = "python") -> None:
        """Fix each pair in the next proposal for which both items are available."""
        self._rules("wish", commands.wish, pairs, key, by)

    def unwish(self, pairs: Iterable[Pair], *, key: str | None = None, by: str = "python") -> None:
        """Remove wishes."""
        self._rules("unwish", commands.unwish, pairs, key, by)

    def _rules(self, request: str, command: _Roster, pairs: Iterable[Pair], key: str | None, by: str) -> None:
        as_list = list(pairs)
        self._replica.write(
            lambda view: (command(view.state, view.directory, as_list), {}),
            by=by,
            key=Key.of(key, request, lambda directory: keys.pairs_ids(directory, as_list)),
        )

    def configure(self, *, key: str | None = None, by: str = "python", **changes: Any) -> dict[str, Any]:
        """Change settings: any field of `LeagueSettings`, such as `policy` or `deadline`; returns `about()`.

        A new policy starts with all results so far.
        """
        self._replica.write(
            lambda view: (commands.configure(view.state, **changes), {}),
            by=by,
            key=Key.of(key, "configure", lambda _: changes),
        )
        return self.about()

    # Reading ---------------------------------------------------------------------------------------------------------

    def view(self, *, model: bool = False) -> AbstractContextManager[LeagueView]:
        """A consistent view of the league: everything read from it comes from one transaction.

        Parameters
        ----------
        model : bool, default False
            Whether the view has the model of strengths, and with it rankings, results and explanations.
        """
        compute = self.store.compute
        return self._replica.view(model=model, assess=None if compute is None else compute.fit)

    def proposal(self, number: int) -> Proposal:
        """A proposal, open or closed, with its outcomes so far."""
        with self.view() as view:
            return view.proposal(number)

    def open_proposals(self) -> list[Proposal]:
        """Proposals with a missing outcome, in the order of their numbers."""
        with self.view() as view:
            return view.proposals(open_only=True)

    def proposals(self, after: int = 0, limit: int | None = None) -> list[Proposal]:
        """At most `limit` proposals after number `after`."""
        with self.view() as view:
            return view.proposals(after=after, limit=limit)

    def about(self) -> dict[str, Any]:
        """Settings and counts of the league, as plain data."""
        with self.view() as view:
            return view.about()

    def ranking(self) -> list[Standing]:
        """Active items per side, strongest first, with 90 % intervals from the product model."""
        with self.view(model=True) as view:
            pass
        return view.ranking()  # fitting the model may be slow

    def why(
        self, what: str | Sequence[Name] | int | None = None, *, item: Name | None = None, side: str | None = None
    ) -> Why:
        """Explain an item, a pair, a proposal (by number) or, without arguments, the league.

        A number means a proposal; pass `item` for an item by id.
        """
        with self.view(model=True) as view:
            name = what if isinstance(what, str) else item
            explain = view.why(what, item=None if name is None else view.resolve(name, side))
        return explain()  # fitting the model may be slow

    def fit(self) -> Fit:
        """Test whether the results fit a product of strengths."""
        with self.view(model=True) as view:
            model = view.model
        return model.fit()

    def history(self, after: int = 0, limit: int | None = None) -> list[ProposalSummary]:
        """Expected and achieved rewards of the proposals after number `after`."""
        with self.view() as view:
            return view.history(after=after, limit=limit)

    def meetings(self, *, most: int = 200) -> Meetings:
        """Number and mean of the results of each pair, as a table; of many items, those with the most meetings."""
        with self.view(model=True) as view:
            model = view.model
        return views.meetings(model, most=most)

    def results(self) -> list[tuple[str, str, int, float]]:
        """All results as (name, name, count, total), from which another league or a replay can start."""
        with self.view(model=True) as view:
            return [(*row.names, row.count, row.total) for row in view.results()]

    def shadow_report(self) -> ShadowReport:
        """How often the live policy and its shadow agree, and what the model expects of each."""
        with self._replica.transaction() as connection:
            return shadow_report(log.proposed(connection, self._replica.league))

    def audit(self, after: int = 0, limit: int | None = None) -> list[tuple[Event, str]]:
        """The log after event `after`, with a sentence for each event."""
        with self.view() as view:
            return view.sentences(view.events(after=after, limit=limit))

    def verify(self, *, progress: Callable[[int], None] = lambda seq: None, decisions: bool = True) -> Verification:
        """Replay the log, decide every proposal again, and compare; `progress` is called with each event number.

        Without `decisions`, proposals are not decided again, which is much faster.
        """
        with self._replica.reading() as view:
            live = view.state.seq, view.state.digest()
        with self._replica.transaction() as connection:
            return verify_league(connection, self._replica.league, live, progress, decides=decisions)

    def expire(self) -> None:
        """Apply passed deadlines; every writing request does so first."""
        self._replica.write(lambda _: ([], {}), by="clock")

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log after event `after`, with ids instead of names."""
        with self.view() as view:
            return view.events(after=after, limit=limit)

    def digest(self) -> str:
        """A hash of the state: equal wherever the same events were applied."""
        with self._replica.reading() as view:
            return view.state.digest()

    def export(self, path: str | os.PathLike[str], *, names: bool = True) -> Path:
        """Export the league to one file: JSON Lines, compressed if the file name ends in .gz."""
        with self._replica.transaction() as connection:  # a consistent snapshot, while others write
            league = self._replica.league
            header = {"slug": self.name, "exported": self.store.now(), "matchbandit": this_version()}
            rows = log.names(connection, league) if names else None
            return transfer.write(path, header=header, names=rows, events=log.read(connection, league))


def _resolve(view: View, name: Name, side: str | None) -> int:
    return commands.item_of(view.state, view.directory, name, side)


def _draft_items(draft: Draft) -> list[int]:
    """The items that a draft changes."""
    if draft.kind == "joined":
        return [item for item, _ in draft.data["items"]]
    return list(draft.data["items"]) if "items" in draft.data else [draft.data["item"]]
