"""A league: whom to pair now, what came back, who joins and leaves, and why.

A reward is what a pair achieved *together*, not who won.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.deprecation import RenamedAttribute
from matchbandit.errors import plural
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
from matchbandit.live.verify import Verification, verified
from matchbandit.live.why import Why

if TYPE_CHECKING:
    from matchbandit.live.store import Store

_Roster = Callable[..., list[Draft]]
_TRIES = 3
"""Decisions that others may overtake before one is made while they wait."""


class League:
    """A league of a store; `Store.create` and `Store.open` give it. All threads may use it.

    Items are given by name, or by id. Each method that writes takes `key`: under the same key, the same request is
    done once and gets the same answer, however often it is sent. `by` says in the log through which door it came.
    """

    def __init__(self, store: "Store", replica: Replica) -> None:
        """Only a store knows which leagues there are."""
        self.store = store
        self._replica = replica

    @property
    def name(self) -> str:
        """By which its store knows it."""
        return self._replica.slug

    def __repr__(self) -> str:
        """Which one it is."""
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
        """Pairs to be played now, of those who are available (default: all active), under a new number.

        Ask as often as you like: proposals stay open until their outcomes are told. `fixed` pairs are taken as they
        are. With an odd number of players, whoever has sat out least sits out.
        """
        if isinstance(available, str):
            raise LeagueError("bad-value", f"available is a list of names; got {available!r}.")
        there = None if available is None else list(available)
        pairs = None if fixed is None else list(fixed)

        def content(directory: Directory) -> Any:
            ids = None if there is None else sorted(keys.item_ids(directory, name) for name in there)
            return ids, keys.pairs_ids(directory, pairs)

        request = Key.of(key, "ask", content)
        return self.proposal(self._asked(there, pairs, request, by)["number"])

    def _asked(self, available: list[Name] | None, fixed: list[Pair] | None, key: Key | None, by: str) -> Answer:
        """Decide without holding others up, and write it unless a proposal or a change of the rules came first."""
        replica, compute = self._replica, self.store.compute
        decider = replica.decider

        def inputs_of(view: View) -> Inputs:
            return decider.prepare(view.state, view.directory, view.now, available=available, fixed=fixed)

        def decide_now(view: View) -> tuple[list[Draft], Answer]:
            inputs = inputs_of(view)
            if compute is not None and not compute.is_quick(inputs):  # nothing slow while others wait
                raise replica.busy("compute-busy", f"was changed by others during {plural(_TRIES, 'decision')}")
            return [decider.decide(inputs)], {"number": inputs.number}

        with replica.deciding():
            for _ in range(_TRIES):
                known = replica.prepared(key, inputs_of)
                if not isinstance(known, Inputs):
                    return known
                inputs = known
                draft = decider.decide(inputs) if compute is None else compute.decide(decider, inputs)

                def write(view: View, inputs: Inputs = inputs, draft: Draft = draft) -> tuple[list[Draft], Answer]:
                    if view.state.rules_seq > inputs.decided_at:
                        raise OutOfDateError
                    return [draft], {"number": inputs.number}

                with suppress(OutOfDateError):
                    return replica.write(write, by=by, key=key)
            return replica.write(decide_now, by=by, key=key)

    def tell(self, number: int, outcomes: Outcomes, *, key: str | None = None, by: str = "python") -> Receipt:
        """What pairs of a proposal achieved: some or all, late, in any order. `VOID`: it never happened.

        What was told before is no news; what contradicts it is refused: `correct` it.
        """
        return self._outcomes("tell", commands.tell, number, outcomes, key, by)

    def tell_many(
        self, outcomes: Mapping[int, Outcomes], *, key: str | None = None, by: str = "python"
    ) -> list[Receipt]:
        """Outcomes of several proposals, by their numbers: all are recorded, or none. A receipt for each."""
        rows = {number: list(given) if isinstance(given, Iterator) else given for number, given in outcomes.items()}

        def write(view: View) -> tuple[list[Draft], Answer]:
            drafts, receipts = [], []
            for number, given in rows.items():
                new, receipt = commands.tell(
                    view.state, view.directory, number, given, record=self._closed_proposal(view, number)
                )
                drafts += new
                receipts.append(asdict(receipt))
            return drafts, {"receipts": receipts}

        def content(directory: Directory) -> Any:
            return [[number, keys.outcomes_ids(directory, given)] for number, given in sorted(rows.items())]

        answer = self._replica.write(write, by=by, key=Key.of(key, "tell many", content))
        return [Receipt(**receipt) for receipt in answer["receipts"]]

    def correct(self, number: int, outcomes: Outcomes, *, key: str | None = None, by: str = "python") -> Receipt:
        """Other outcomes in the place of those that were told, also of closed proposals; both stay in the log."""
        return self._outcomes("correct", commands.correct, number, outcomes, key, by)

    def void(
        self, number: int, pairs: Iterable[Pair] | None = None, *, key: str | None = None, by: str = "python"
    ) -> Receipt:
        """These pairs of a proposal never met; by default, all that it still waits for."""
        listed = None if pairs is None else list(pairs)
        return self._outcomes("void", commands.void, number, listed, key, by)

    def _outcomes(
        self, request: str, command: Callable[..., Any], number: int, given: Any, key: str | None, by: str
    ) -> Receipt:
        if isinstance(given, Iterator):  # it is read for the key, and again if a commit must be tried twice
            given = list(given)

        def write(view: View) -> tuple[list[Draft], Answer]:
            record = self._closed_proposal(view, number)
            drafts, receipt = command(view.state, view.directory, number, given, record=record)
            return drafts, asdict(receipt)

        def content(directory: Directory) -> Any:
            by_id = keys.pairs_ids if request == "void" else keys.outcomes_ids
            return number, by_id(directory, given)

        wanted = Key.of(key, request, content)
        return Receipt(**self._replica.write(write, by=by, key=wanted))

    def _closed_proposal(self, view: View, number: int) -> ProposalState | None:
        """A closed proposal, which the state does not hold any more; None if it is open."""
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
        """Items join, or come back if they had left. In a league of two sides, say which `side`."""
        return self._roster("join", commands.join, key, by, list(names), side=side)

    def leave(self, *names: Name, side: str | None = None, key: str | None = None, by: str = "python") -> list[Item]:
        """Items leave: they are not paired any more; all that they have played stays, and they may come back."""
        return self._roster("leave", commands.leave, key, by, list(names), side=side)

    def rejoin(self, *names: Name, side: str | None = None, key: str | None = None, by: str = "python") -> list[Item]:
        """Items that had left come back, with all that they have played."""
        return self._roster("bring back", commands.rejoin, key, by, list(names), side=side)

    bring_back = RenamedAttribute("rejoin")

    def rename(
        self, old: Name, new: str, *, side: str | None = None, key: str | None = None, by: str = "python"
    ) -> Item:
        """An item gets another name, and keeps all else."""
        return self._roster("rename", commands.rename, key, by, old, new, side=side)[0]

    def forget(self, name: Name, *, side: str | None = None, key: str | None = None, by: str = "python") -> Item:
        """Erase a name for good. The item leaves; its results stay, under its number."""
        forgotten = self._roster("forget", commands.forget, key, by, name, side=side)[0]
        self.store.database.wipe_log()
        return forgotten

    def _roster(
        self, request: str, command: _Roster, key: str | None, by: str, *given: Any, side: str | None
    ) -> list[Item]:
        def write(view: View) -> tuple[list[Draft], Answer]:
            drafts = command(view.state, view.directory, *given, side=side)
            return drafts, {"items": [item for draft in drafts for item in _touched(draft)] or named(view)}

        def named(view: View) -> list[int]:  # nothing changes: those that were meant
            names = given[0] if isinstance(given[0], list) else given[:1]
            return [_resolved(view, name, side) for name in names]

        def content(directory: Directory) -> Any:
            names = given[0] if isinstance(given[0], list) else given
            ids = [keys.item_ids(directory, name, side) for name in names]
            return ids if request == "rename" else sorted(ids)

        wanted = Key.of(key, request, content)
        items = self._replica.write(write, by=by, key=wanted)["items"]
        with self.view() as view:
            return [view.item(item) for item in items]

    # Rules -----------------------------------------------------------------------------------------------------------

    def exclude(self, pairs: Iterable[Pair], *, key: str | None = None, by: str = "python") -> None:
        """These pairs are never proposed."""
        self._rules("exclude", commands.exclude, pairs, key, by)

    def allow(self, pairs: Iterable[Pair], *, key: str | None = None, by: str = "python") -> None:
        """Take exclusions back."""
        self._rules("allow", commands.allow, pairs, key, by)

    def wish(self, pairs: Iterable[Pair], *, key: str | None = None, by: str = "python") -> None:
        """These pairs are fixed in the next proposal in which both are available."""
        self._rules("wish", commands.wish, pairs, key, by)

    def unwish(self, pairs: Iterable[Pair], *, key: str | None = None, by: str = "python") -> None:
        """Take wishes back."""
        self._rules("unwish", commands.unwish, pairs, key, by)

    def _rules(self, request: str, command: _Roster, pairs: Iterable[Pair], key: str | None, by: str) -> None:
        listed = list(pairs)
        self._replica.write(
            lambda view: (command(view.state, view.directory, listed), {}),
            by=by,
            key=Key.of(key, request, lambda directory: keys.pairs_ids(directory, listed)),
        )

    def configure(self, *, key: str | None = None, by: str = "python", **changes: Any) -> dict[str, Any]:
        """Other settings from now on: policy, options, selection, deadline, default, no_rematch, shadow.

        A new policy begins with all results there are. Gives what `about` gives.
        """
        self._replica.write(
            lambda view: (commands.configure(view.state, **changes), {}),
            by=by,
            key=Key.of(key, "configure", lambda _: changes),
        )
        return self.about()

    # Reading ---------------------------------------------------------------------------------------------------------

    def view(self, *, model: bool = False) -> AbstractContextManager[LeagueView]:
        """The league at one moment: whatever a page or an answer shows comes from one transaction.

        Parameters
        ----------
        model : bool, default False
            Whether the view has the model of strengths, and with it rankings, results and explanations.
        """
        compute = self.store.compute
        return self._replica.view(model=model, assess=None if compute is None else compute.fit)

    def proposal(self, number: int) -> Proposal:
        """A proposal, open or closed, with all outcomes that are known."""
        with self.view() as view:
            return view.proposal(number)

    def open_proposals(self) -> list[Proposal]:
        """Those with an outcome missing, in the order of their numbers."""
        with self.view() as view:
            return view.proposals(open_only=True)

    def proposals(self, after: int = 0, limit: int | None = None) -> list[Proposal]:
        """Those that follow number `after`, at most `limit` of them."""
        with self.view() as view:
            return view.proposals(after=after, limit=limit)

    def about(self) -> dict[str, Any]:
        """Its settings, and how much there is of everything; plain data."""
        with self.view() as view:
            return view.about()

    def ranking(self) -> list[Standing]:
        """All active items, the strongest first, each side for itself, with 90 % intervals, by the product model."""
        with self.view(model=True) as view:
            pass
        return view.ranking()  # to fit the model takes its time

    def why(
        self, what: str | Sequence[Name] | int | None = None, *, item: Name | None = None, side: str | None = None
    ) -> Why:
        """What is believed, from what, and why it was proposed: of an item, a pair, a proposal (its number), or all.

        A number is that of a proposal; items go by id with `item`.
        """
        with self.view(model=True) as view:
            name = what if isinstance(what, str) else item
            explain = view.why(what, item=None if name is None else view.resolve(name, side))
        return explain()  # to fit the model takes its time

    def fit(self) -> Fit:
        """Do the results fit a product of strengths?"""
        with self.view(model=True) as view:
            model = view.model
        return model.fit()

    def history(self, after: int = 0, limit: int | None = None) -> list[ProposalSummary]:
        """A line for each proposal that follows number `after`: what was expected of it, and what it achieved."""
        with self.view() as view:
            return view.history(after=after, limit=limit)

    def meetings(self, *, most: int = 200) -> Meetings:
        """Who met whom, how often, and what came of it, as a table of ids; of many items, those who met most."""
        with self.view(model=True) as view:
            model = view.model
        return views.meetings(model, most=most)

    def results(self) -> list[tuple[str, str, int, float]]:
        """All results, as (name, name, count, total): another league, or a replay, can start from them."""
        with self.view(model=True) as view:
            return [(*row.names, row.count, row.total) for row in view.results()]

    def shadow_report(self) -> ShadowReport:
        """How often the live policy and its shadow differ, and what each expects."""
        with self._replica.transaction() as connection:
            return shadow_report(log.proposed(connection, self._replica.league))

    def audit(self, after: int = 0, limit: int | None = None) -> list[tuple[Event, str]]:
        """The log after event `after` with a sentence for each event, names in it."""
        with self.view() as view:
            return view.sentences(view.events(after=after, limit=limit))

    def verify(self, *, progress: Callable[[int], None] = lambda seq: None, decisions: bool = True) -> Verification:
        """Fold the log from nothing, decide every proposal again, and compare; `progress` hears how far it is.

        Without `decisions`, proposals are taken as they were recorded, which is much quicker.
        """
        with self._replica.reading() as view:
            live = view.state.seq, view.state.digest()
        with self._replica.transaction() as connection:
            return verified(connection, self._replica.league, live, progress, decides=decisions)

    def expire(self) -> None:
        """Let deadlines pass that have; any request that writes does so first."""
        self._replica.write(lambda _: ([], {}), by="clock")

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log after event `after`: ids in the place of names."""
        with self.view() as view:
            return view.events(after=after, limit=limit)

    def digest(self) -> str:
        """A short name for its whole state: equal wherever the same events were folded."""
        with self._replica.reading() as view:
            return view.state.digest()

    def export(self, path: str | os.PathLike[str], *, names: bool = True) -> Path:
        """Write the league into one file: JSON Lines, compressed if its name ends in .gz."""
        with self._replica.transaction() as connection:  # one moment of the store, while others go on writing
            league = self._replica.league
            header = {"slug": self.name, "exported": self.store.now(), "matchbandit": this_version()}
            kept = log.names(connection, league) if names else None
            return transfer.write(path, header=header, names=kept, events=log.read(connection, league))


def _resolved(view: View, name: Name, side: str | None) -> int:
    return commands.item_of(view.state, view.directory, name, side)


def _touched(draft: Draft) -> list[int]:
    """The items that a draft about items is about."""
    if draft.kind == "joined":
        return [item for item, _ in draft.data["items"]]
    return list(draft.data["items"]) if "items" in draft.data else [draft.data["item"]]
