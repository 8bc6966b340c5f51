"""The read model of a league: everything that a page or an answer shows, as of one moment.

What is in memory is copied while the league's lock is held, which takes a fraction of a millisecond. The rest is read
in the same database transaction, without the lock. Lists are pages: nothing grows with the length of the log.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Unpack

from sqlalchemy import Connection

from matchbandit.live import log, projection, views
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Event, proposal_number
from matchbandit.live.model import LeagueModel, Standing
from matchbandit.live.names import Directory
from matchbandit.live.projection import Page
from matchbandit.live.records import Item, LeagueSummary, Names, PairResult, Proposal, ProposalSummary
from matchbandit.live.settings import LeagueSettings
from matchbandit.live.state import State
from matchbandit.live.tally import key_of, pair_of
from matchbandit.live.views import Record
from matchbandit.live.why import Why, why_item, why_league, why_pair, why_proposal

MAX_PAIRS_PER_PAGE = 20_000
"""A page of proposals ends before it has more pairs than this, however many proposals were asked for."""
MAX_RULES_IN_ABOUT = 1000
"""Exclusions and wishes that `about` lists; `exclusions` pages through all of them."""
Name = str | int


class LeagueView:
    """A league at one moment; `League.view` makes it.

    What is in memory, such as items and the ranking, can be read after the `with` block, too; what is read from the
    database, such as proposals and events, only inside it.
    """

    def __init__(
        self,
        state: State,
        directory: Directory,
        connection: Connection,
        league: int,
        name: str,
        model: LeagueModel | None = None,
    ) -> None:
        """Copy what the state holds; `directory` is never changed once a reader has it."""
        self._connection, self._league = connection, league
        self.name = name
        self.directory = directory
        self.config = dict(state.config)
        self.seq, self.archived = state.seq, state.archived
        self.rewards = state.rewards
        self.two_sided, self.n_items, self.last_number = state.two_sided, state.n_items, state.last_number
        self.active, self.forgotten = list(state.active), list(state.forgotten)
        self.byes, self.meetings_by_item = list(state.byes), list(state.meetings)
        self.sides_by_item = list(state.sides_by_item)
        self._exclusions, self._wishes = state.share_exclusions(), list(state.wishes)
        self._open = dict(state.open)
        self.state_summary = state.summary()
        self._model = model

    # The league ------------------------------------------------------------------------------------------------------

    @property
    def model(self) -> LeagueModel:
        """The fitted strengths; the view must have been created with `model=True`."""
        assert self._model is not None, "create the view with model=True"
        return self._model

    @property
    def settings(self) -> LeagueSettings:
        """Its settings now."""
        return LeagueSettings.from_config(self.config)

    @property
    def summary(self) -> LeagueSummary:
        """What lists of leagues show of it."""
        return LeagueSummary(name=self.name, archived=self.archived, **self.state_summary)

    def about(self) -> dict[str, Any]:
        """Settings and counts, as plain data."""
        counts = {name: value for name, value in self.state_summary.items() if name.startswith("n_")}
        return {
            "name": self.name,
            **self.config,
            **self.settings.to_config(),
            **counts,
            "archived": self.archived,
            "n_exclusions": len(self._exclusions),
            "n_wishes": len(self._wishes),
            "exclusions": self.exclusions(limit=MAX_RULES_IN_ABOUT),
            "wishes": self.wishes()[:MAX_RULES_IN_ABOUT],
        }

    # Items -----------------------------------------------------------------------------------------------------------

    def items(
        self,
        *,
        after: int = 0,
        limit: int | None = None,
        active: bool | None = None,
        side: str | None = None,
        search: str = "",
    ) -> list[Item]:
        """Items in the order of their ids, from the one after `after`.

        Parameters
        ----------
        after : int
            The id after which the page starts.
        limit : int, optional
            The largest number of items; all if omitted.
        active : bool, optional
            Only those that are in the league (True) or have left (False).
        side : str, optional
            Only those of this side.
        search : str
            Only those whose name contains this text, whatever its case.

        Returns
        -------
        list of Item
        """
        text, page = search.casefold(), list[Item]()
        for number in range(after + 1, self.n_items + 1):
            if limit is not None and len(page) >= limit:
                break
            if active is not None and self.active[number - 1] != active:
                continue
            if side is not None and self.directory.side(number) != side:
                continue
            if text and text not in self.directory.name(number).casefold():
                continue
            page.append(self.item(number))
        return page

    def item(self, number: int) -> Item:
        """The item with this id."""
        if not 1 <= number <= self.n_items:
            raise LeagueError("unknown-item", f"no item has the id {number}; there are {self.n_items}.")
        place = number - 1
        return Item(
            id=number,
            name=self.directory.name(number),
            side=self.directory.side(number),
            active=self.active[place],
            forgotten=self.forgotten[place],
            byes=self.byes[place],
            meetings=self.meetings_by_item[place],
        )

    def resolve(self, name: Name, side: str | None = None) -> int:
        """The id of the item with this name, or with this id."""
        sides = self.config["sides"]
        if side is None:
            return self.directory.resolve(name)
        if sides is None or side not in sides:
            hint = "this league has players, not sides" if sides is None else f"the sides are {' and '.join(sides)}"
            raise LeagueError("bad-value", f"unknown side {side!r}: {hint}.")
        return self.directory.resolve(name, sides.index(side))

    # Rules -----------------------------------------------------------------------------------------------------------

    def exclusions(self, *, after: tuple[int, int] = (0, 0), limit: int | None = None) -> list[Names]:
        """Excluded pairs by name, in the order of their ids."""
        return [self.directory.pair(pair) for pair in self.exclusion_ids(after=after, limit=limit)]

    def exclusion_ids(self, *, after: tuple[int, int] = (0, 0), limit: int | None = None) -> list[tuple[int, int]]:
        """Excluded pairs by id, in order, from the one after `after`."""
        keys = sorted(key for key in self._exclusions if key > key_of(*after))
        return [pair_of(key) for key in keys[:limit]]

    def wishes(self) -> list[Names]:
        """Pairs that are wished for, in the order of the wishes."""
        return [self.directory.pair(pair) for pair in self.wish_ids()]

    def wish_ids(self) -> list[tuple[int, int]]:
        """The same by id."""
        return [pair_of(key) for key in self._wishes]

    # Proposals -------------------------------------------------------------------------------------------------------

    def record(self, number: int) -> Record:
        """All that the log says of a proposal."""
        self._check_number(number)
        return views.proposal_from(log.read_proposal(self._connection, self._league, number))

    def proposal(self, number: int) -> Proposal:
        """A proposal, open or closed, with its outcomes so far."""
        return views.proposal(self.record(number), self.directory)

    def proposals(self, **page: Unpack[Page]) -> list[Proposal]:
        """A page of proposals; fewer than `limit` where they have more than `MAX_PAIRS_PER_PAGE` pairs together."""
        return [views.proposal(record, self.directory) for record in self.records(**page)]

    def records(self, **page: Unpack[Page]) -> list[Record]:
        """The log's records of a page of proposals: two statements, however many there are."""
        numbers, pairs = list[int](), 0
        for row in projection.read_page(self._connection, self._league, **page):
            pairs += row["n_pairs"]
            if page.get("limit") is not None and numbers and pairs > MAX_PAIRS_PER_PAGE:
                break
            numbers.append(row["number"])
        of_proposal: dict[int | None, list[Event]] = {number: [] for number in numbers}
        for event in log.read_proposals(self._connection, self._league, numbers):
            of_proposal[proposal_number(event.kind, event.data)].append(event)
        return [views.proposal_from(events) for events in of_proposal.values()]

    def history(self, **page: Unpack[Page]) -> list[ProposalSummary]:
        """A line for each proposal: what was expected of it, and what it achieved."""
        rows = projection.read_page(self._connection, self._league, **page)
        return [views.proposal_summary(row) for row in rows]

    def _check_number(self, number: object) -> None:
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= self.last_number:
            last = f"the last one is {self.last_number}" if self.last_number else "there is none yet"
            raise LeagueError("unknown-proposal", f"there is no proposal {number!r}; {last}. Ask first.")

    # Results ---------------------------------------------------------------------------------------------------------

    def ranking(self) -> list[Standing]:
        """Active items by place, per side; it may fit the model, which can be slow."""
        names = [self.directory.name(item) for item in range(1, self.n_items + 1)]
        return self.model.ranking(names, self.config["sides"])

    def results(self, *, after: tuple[int, int] = (0, 0), limit: int | None = None) -> list[PairResult]:
        """The results of each pair that has any, in the order of ids."""
        r = self.model.results
        rows = sorted(zip(r.a.tolist(), r.b.tolist(), r.counts.tolist(), r.paid.tolist(), strict=True))
        page = [row for row in rows if row[2] and (row[0], row[1]) > after]
        return [PairResult((a, b), self.directory.pair((a, b)), count, paid) for a, b, count, paid in page[:limit]]

    def partners(self, item: int) -> list[PairResult]:
        """The results of one item, pair by pair, the most frequent partner first."""
        r = self.model.results
        rows = zip(r.a.tolist(), r.b.tolist(), r.counts.tolist(), r.paid.tolist(), strict=True)
        mine = [
            PairResult((a, b), self.directory.pair((a, b)), count, paid)
            for a, b, count, paid in rows
            if count and item in (a, b)
        ]
        return sorted(mine, key=lambda row: (-row.count, row.ids))

    # Explanations and the log ----------------------------------------------------------------------------------------

    def why(self, what: str | Sequence[Name] | int | None = None, *, item: int | None = None) -> Callable[[], Why]:
        """A function that explains an item, a pair, a proposal (its number), or the league; it may fit the model."""
        if item is not None:
            return partial(why_item, self.model, self.directory, item)
        if what is None:
            return partial(why_league, self.model, self.directory)
        if isinstance(what, str):
            return partial(why_item, self.model, self.directory, self.directory.resolve(what))
        if isinstance(what, int):
            return partial(why_proposal, self.record(what), self.directory, self.rewards)
        pair = self.directory.resolve_pair(what)
        number = self._last_proposal_of(key_of(*pair))
        return partial(why_pair, self.model, self.directory, pair, records=[self.record(number)] if number else [])

    def _last_proposal_of(self, key: int) -> int:
        """The number of the last proposal that contains a pair; 0: none does."""
        r = self.model.results
        a, b = pair_of(key)
        met: list[int] = r.last[(r.a == a) & (r.b == b)].tolist()
        return max([0, *met, *(number for number, state in self._open.items() if key in state.pairs)])

    def events(self, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log after event `after`: with ids instead of names."""
        return list(log.read(self._connection, self._league, after=after, limit=limit))

    def sentences(self, events: Iterable[Event]) -> list[tuple[Event, str]]:
        """Each event with a sentence that has names in it."""
        return [(event, views.sentence(event, self.directory)) for event in events]
