"""A league: ask for pairs, record outcomes, manage items and rules, explain.

A reward is what a pair achieved *together*, not who won.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from random import uniform
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Unpack

from sqlalchemy import Connection

from matchbandit.leagues import deciding, items, library, proposals, reading, rules, transfer
from matchbandit.leagues import outcomes as recording
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.explain import explain_item, explain_league, explain_pair, explain_proposal
from matchbandit.leagues.items import Name
from matchbandit.leagues.model import MAX_TESTED_ITEMS, StrengthModel, is_test_due, stored_fit, warning
from matchbandit.leagues.names import collapse_spaces
from matchbandit.leagues.reading import Bounds
from matchbandit.leagues.records import (
    Change,
    Explanation,
    FitTest,
    Item,
    LeagueInfo,
    Page,
    PairResult,
    ProgressBin,
    Proposal,
    ProposalSummary,
    Ranking,
    Receipt,
    Rule,
)
from matchbandit.leagues.settings import LeagueSettings, settings_tag
from matchbandit.leagues.state import CachedLeague, LeagueState
from matchbandit.leagues.transaction import LeagueRow, Request, Transaction, find_league, is_replay

if TYPE_CHECKING:
    from matchbandit.leagues.store import Store

MAX_PAUSE_S = 0.05
"""Before a decision that became out of date is made again."""
MAX_TRIES = 3
"""Decisions that may become out of date before one is made with the league locked."""
_SLOW_TEST = "The test of the model takes longer than the time limit in so large a league."


class League:
    """A league of a store, from `Store.create` or `Store.open`; thread-safe.

    Items are given by name or id. Each writing method takes an idempotency `key`: a repeated request with the same
    key is executed once and gets the same answer. `by` names the interface in the history.
    """

    def __init__(self, store: "Store", slug: str) -> None:
        """Use `Store.create` or `Store.open` instead."""
        self.store, self.slug = store, slug

    def __repr__(self) -> str:
        """Name and store."""
        return f"League({self.slug!r}, {self.store.database.display_url})"

    # Pairs and outcomes ----------------------------------------------------------------------------------------------

    def ask(
        self,
        *,
        available: Iterable[Name] | None = None,
        fixed: Iterable[Any] | None = None,
        key: str | None = None,
        by: str = "python",
    ) -> Proposal:
        """Propose pairs of the available items (default: all active), under a new number.

        Proposals stay open until their outcomes are recorded, and there may be several. `fixed` pairs are included
        unchanged. With an odd number of players, whoever has sat out least sits out.
        """
        names = None if available is None else items.as_list("available", available)
        pairs = None if fixed is None else items.as_list("fixed", fixed)
        request = Request(key, "ask", [names, pairs and [getattr(pair, "names", pair) for pair in pairs]])

        # Decide without a transaction, and again if another process proposed or changed a rule meanwhile.
        last_try = monotonic() + self.store.database.timeout
        n_tries = 0
        while True:
            with self.store.deciding(self.slug):  # two threads at once would conflict anyway
                proposal = self._ask(request, names, pairs, by, locked=n_tries >= MAX_TRIES)
            n_tries += 1
            if proposal is not None:
                return proposal
            if monotonic() > last_try:
                raise LeagueError("store-busy", f"others change the league {self.slug!r} all the time. Try again.")
            sleep(uniform(0.0, MAX_PAUSE_S))

    def _ask(
        self, request: Request, names: list[Name] | None, fixed: list[Any] | None, by: str, *, locked: bool
    ) -> Proposal | None:
        """Decide and write a proposal; None if it was out of date.

        With `locked`, a quick decision that is out of date is made again while nobody else can write.
        """
        with self.store.reading(self.slug) as (connection, cached, league):
            executed: int | None = self.store.stored_answer(connection, league, request)
            if executed is not None:
                return self.proposal(executed)
            if league.archived_at is not None:
                raise LeagueError("league-archived", f"the league {self.slug!r} is archived. Restore it first.")
            deadline = league.settings["deadline"]
            overdue = deadline is not None and recording.is_overdue(connection, league, self.store.now())
            if not overdue:
                inputs = deciding.prepare(connection, cached.read(connection, league), available=names, fixed=fixed)
        if overdue:  # the outcomes that a passed deadline sets are among the results to decide from
            self.store.write(self.slug, Request(None, "expire", None), lambda _: True, by=by)
            return self._ask(request, names, fixed, by, locked=locked)
        draft: deciding.Draft
        if deciding.is_slow(inputs):
            draft = self.store.workers.run(deciding.decide, inputs, too_slow=deciding.too_slow(inputs))
        else:
            draft = deciding.decide(inputs, cached)
        fit = StrengthModel(inputs.state).fit if is_test_due(inputs.state) else None
        written: list[Proposal] = []

        def write(tx: Transaction) -> int | None:
            latest, decision = inputs, draft
            if tx.league.decision_version > inputs.state.league.version:
                if not locked or deciding.is_slow(inputs):
                    return None
                state = LeagueState.read(tx.connection, tx.league, inputs.state)
                latest = deciding.prepare(tx.connection, state, available=names, fixed=fixed)
                decision = deciding.decide(latest, CachedLeague())
            written.append(proposals.write_proposal(tx, latest, decision, fit))
            return latest.number

        answer = self.store.write(self.slug, request, write, by=by)
        if answer is None:
            return None
        return self.proposal(answer) if is_replay.get() else written[0]

    def tell(self, number: int, outcomes: Any, *, key: str | None = None, by: str = "python") -> Receipt:
        """Record outcomes of some or all pairs of a proposal, in any order; `VOID` if a pair never met.

        Outcomes are a mapping from pairs, or (name, name, reward). Repeated ones are ignored. Contradictions are
        refused: use `correct`.
        """
        return self.tell_many({number: outcomes}, key=key, by=by)[0]

    def tell_many(self, outcomes: Mapping[int, Any], *, key: str | None = None, by: str = "python") -> list[Receipt]:
        """Record outcomes of several proposals, by number, all or none; returns a receipt for each."""
        rows = {number: recording.rows_of(part) for number, part in outcomes.items()}
        request = Request(key, "tell", key and [[number, _plain(part)] for number, part in rows.items()])
        return self._report(request, recording.tell, rows, by)

    def _report(
        self, request: Request, command: Callable[..., Receipt], rows: Mapping[int, Any], by: str
    ) -> list[Receipt]:
        """Look the names up, in memory or in a read transaction, then write."""

        def resolve(source: Any, league: LeagueRow) -> list[recording.Report]:
            return [recording.resolve(source, league, number, part) for number, part in rows.items()]

        names, reports = self.store.cache.names(self.slug), None
        if names is not None:
            with suppress(LeagueError):  # names may be new, or the request one that was executed before a renaming
                reports = resolve(names, names.league)
        if reports is None:
            with self.store.reading(self.slug) as (connection, _, league):
                answer = self.store.stored_answer(connection, league, request)
                if answer is not None:
                    return [Receipt(**receipt) for receipt in answer]
                reports = resolve(connection, league)

        def write(tx: Transaction) -> list[dict[str, Any]]:
            current = all(report.is_current(tx.league) for report in reports)
            return [asdict(command(tx, each)) for each in (reports if current else resolve(tx.connection, tx.league))]

        return [Receipt(**receipt) for receipt in self.store.write(self.slug, request, write, by=by)]

    def correct(self, number: int, outcomes: Any, *, key: str | None = None, by: str = "python") -> Receipt:
        """Replace recorded outcomes, even of closed proposals; the history keeps both."""
        rows = recording.rows_of(outcomes)
        request = Request(key, "correct", [number, _plain(rows)])
        return self._report(request, recording.correct, {number: rows}, by)[0]

    def void(
        self, number: int, pairs: Iterable[Any] | None = None, *, key: str | None = None, by: str = "python"
    ) -> Receipt:
        """Record that pairs of a proposal never met; by default, all whose outcome is missing."""
        listed = None if pairs is None else items.as_list("pairs", pairs)
        request = Request(key, "void", [number, listed and _plain([(pair, "") for pair in listed])])
        answer = self.store.write(self.slug, request, lambda tx: asdict(recording.void(tx, number, listed)), by=by)
        return Receipt(**answer)

    # Items and rules -------------------------------------------------------------------------------------------------

    def join(self, *names: str, side: str | None = None, key: str | None = None, by: str = "python") -> list[Item]:
        """Add items, or let those that left come back. A league of two sides needs `side`."""
        return self._items("join", items.join, key, by, list(names), side)

    def leave(self, *names: Name, side: str | None = None, key: str | None = None, by: str = "python") -> list[Item]:
        """Let items leave: they are no longer paired; their results stay, and they may rejoin."""
        return self._items("leave", items.leave, key, by, list(names), side)

    def rejoin(self, *names: Name, side: str | None = None, key: str | None = None, by: str = "python") -> list[Item]:
        """Let items that left rejoin, with their results."""
        return self._items("rejoin", items.rejoin, key, by, list(names), side)

    def rename(
        self, old: Name, new: str, *, side: str | None = None, key: str | None = None, by: str = "python"
    ) -> Item:
        """Rename an item."""
        return self._items("rename", items.rename, key, by, old, new, side)[0]

    def erase_name(self, name: Name, *, side: str | None = None, key: str | None = None, by: str = "python") -> Item:
        """Erase a name permanently. The item leaves; its results stay under its id."""
        item = self._items("erase name", items.erase_name, key, by, name, side)[0]
        self.store.database.wipe()
        return item

    def _items(
        self, action: str, command: Callable[..., list[int]], key: str | None, by: str, *args: Any
    ) -> list[Item]:
        ids = self.store.write(self.slug, Request(key, action, args), lambda tx: command(tx, *args), by=by)
        with self._state() as (_, state):
            return [reading.item_record(state, item) for item in ids]

    def exclude(self, pairs: Iterable[Any], *, key: str | None = None, by: str = "python") -> int:
        """Never propose these pairs; returns how many are new."""
        return self._rules("exclude", rules.add, "exclude", pairs, key, by)

    def unexclude(self, pairs: Iterable[Any], *, key: str | None = None, by: str = "python") -> int:
        """Remove exclusions; returns how many there were."""
        return self._rules("unexclude", rules.remove, "exclude", pairs, key, by)

    def pin(self, pairs: Iterable[Any], *, key: str | None = None, by: str = "python") -> int:
        """Fix each pair in the next proposal for which both items are available; returns how many are new."""
        return self._rules("pin", rules.add, "pin", pairs, key, by)

    def unpin(self, pairs: Iterable[Any], *, key: str | None = None, by: str = "python") -> int:
        """Remove pins; returns how many there were."""
        return self._rules("unpin", rules.remove, "pin", pairs, key, by)

    def _rules(
        self, action: str, command: Any, kind: rules.Kind, pairs: Iterable[Any], key: str | None, by: str
    ) -> int:
        listed = items.as_list("pairs", pairs)
        request = Request(key, action, _plain([(pair, "") for pair in listed]))
        return int(self.store.write(self.slug, request, lambda tx: command(tx, kind, listed), by=by))

    def configure(
        self, *, if_match: str | None = None, key: str | None = None, by: str = "python", **changes: Any
    ) -> LeagueInfo:
        """Change settings: any field of `LeagueSettings`. A new policy starts with all results so far.

        With `if_match`, a `settings_tag`, only if the settings are still those.
        """

        def configure(tx: Transaction) -> bool:
            league, old = tx.league, tx.league.settings
            if if_match is not None and settings_tag(old) != if_match:
                raise LeagueError(
                    "changed-since", "others have changed the settings since they were read. Read them again."
                )
            new = LeagueSettings.from_config(old).replace(changes).validate(league.kind, league.distribution)
            if different := {name: value for name, value in new.to_config().items() if value != old[name]}:
                tx.record("configure", different)
                tx.update(settings=old | different)
            if "policy" in different:
                items.check_size(league.sides, different["policy"], items.count_items(tx))
            return True

        self.store.write(self.slug, Request(key, "configure", [changes, if_match]), configure, by=by)
        return self.info()

    def import_results(self, past: Any, *, key: str | None = None, by: str = "python") -> int:
        """Take in earlier results before the first proposal: a file, a table, or rows (name, name, count, total)."""
        results = library.read_past_results(past)
        rows = [(first, second, int(count), float(total)) for first, second, count, total in results.rows()]
        request = Request(key, "import results", rows)
        return int(self.store.write(self.slug, request, lambda tx: transfer.import_results(tx, rows), by=by))

    # Reading ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def _state(self) -> Iterator[tuple[Connection, LeagueState]]:
        with self.store.reading(self.slug) as (connection, cached, league):
            yield connection, cached.read(connection, league)

    @contextmanager
    def _model(self) -> Iterator[tuple[StrengthModel, LeagueRow]]:
        """The model of the newest state; fitting it may be slow, so no transaction is open meanwhile."""
        with self.store.reading(self.slug) as (connection, cached, league):
            state = cached.read(connection, league)
        with cached.fitting:
            if cached.model is None or cached.model.state.league.version != league.version:
                cached.model = StrengthModel(state, self._compute if len(state.items) > MAX_TESTED_ITEMS else None)
            yield cached.model, league

    def _compute(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return self.store.workers.run(task, *arguments, too_slow=_SLOW_TEST)

    def info(self) -> LeagueInfo:
        """Settings and counts of the league."""
        with self.store.reading(self.slug) as (connection, _, league):
            return reading.league_info(connection, [league])[0]

    def items(
        self,
        *,
        after: int = 0,
        limit: int | None = None,
        search: str = "",
        name: str | None = None,
        side: str | None = None,
        active: bool | None = None,
    ) -> Page[Item]:
        """Items in the order of their ids: all, or those of this name, side or presence; `search` is part of a name."""
        with self._state() as (_, state):
            text, records = search.casefold(), (reading.item_record(state, row.id) for row in state.items[after:])
            wanted = {"name": None if name is None else collapse_spaces(name), "side": side, "active": active}
            rows = (
                row
                for row in records
                if text in row.name.casefold() and all(value in (None, getattr(row, k)) for k, value in wanted.items())
            )
            return reading.first_rows([*islice(rows, limit and limit + 1)], limit, attrgetter("id"))

    def proposal(self, number: int) -> Proposal:
        """A proposal with its outcomes so far."""
        with self._state() as (connection, state):
            return proposals.read_proposal(connection, state, number)

    def proposals(self, *, open_only: bool = False, **bounds: Unpack[Bounds]) -> Page[Proposal]:
        """Proposals in the order of their numbers, by default all; see `Bounds`.

        With a `limit`, a page ends early where its pairs are many.
        """
        with self._state() as (connection, state):
            return proposals.list_proposals(connection, state, bounds, open_only=open_only)

    def summaries(self, *, open_only: bool = False, **bounds: Unpack[Bounds]) -> Page[ProposalSummary]:
        """Expected and achieved rewards of each proposal, without its pairs; see `Bounds`."""
        with self._state() as (connection, state):
            return proposals.list_summaries(connection, state, bounds, open_only=open_only)

    def progress(self, bins: int = 200) -> list[ProgressBin]:
        """Achieved and expected rewards of all proposals, in at most `bins` groups of successive ones."""
        with self._state() as (connection, state):
            return proposals.progress(connection, state, bins)

    def results(self, item: Name | None = None, *, after: str = "", limit: int | None = None) -> Page[PairResult]:
        """The results of each pair that has any, or of the pairs of one item, in the order of ids."""
        with self._state() as (connection, state):
            item_id = None if item is None else items.NameIndex(connection, state.league, [item]).resolve(item)
            return reading.results(state, item_id, after=after, limit=limit)

    def rules(self, kind: str | None = None, *, after: str = "", limit: int | None = None) -> Page[Rule]:
        """Exclusions and pins ("exclude", "pin"; by default both) in the order of ids."""
        with self._state() as (connection, state):
            return reading.rules(connection, state, kind=kind, after=after, limit=limit)

    def history(self, **bounds: Unpack[Bounds]) -> Page[Change]:
        """Who changed what, and when; see `Bounds`."""
        with self._state() as (connection, state):
            return reading.history(connection, state, bounds)

    def ranking(self, *, after: int = 0, limit: int | None = None, search: str = "") -> Ranking:
        """Active items per side, strongest first, with 90 % intervals from the product model.

        `after` is how many to skip. `search` is a part of their names.
        """
        with self._model() as (model, league):
            rows = [row for row in model.ranking if search.casefold() in row.name.casefold()]
            end = len(rows) if limit is None else after + limit
            return Ranking(rows[after:end], end if end < len(rows) else None, warning(league))

    def fit(self) -> FitTest:
        """Test whether the results fit a product of strengths."""
        with self._model() as (model, league):
            fit = model.fit
        self._store_fit(league, fit)
        return fit

    def _store_fit(self, league: LeagueRow, fit: FitTest) -> None:
        """Store a test, so that everybody shows its warning; what reads the league must not fail because of it."""
        new = stored_fit(fit, league.version)
        if league.archived_at is None and (league.fit or {}) | {"version": 0} != new | {"version": 0}:
            with suppress(LeagueError), self.store.database.writing() as connection:
                now = find_league(connection, self.slug, lock=True)
                if now.id == league.id and (now.fit is None or now.fit["version"] <= league.version):
                    Transaction(connection, now, self.store.now(), "").update(fit=new)

    def why(
        self, what: Any = None, other: Name | None = None, *, item: Name | None = None, side: str | None = None
    ) -> Explanation:
        """Explain an item (a name), a pair (two names), a proposal (a number) or, without arguments, the league.

        `why(item=7)` is the item with this id; `side` says which of two items of the same name is meant.
        """
        if what is None and item is None:
            with self._model() as (model, league):
                explanation, fit = explain_league(model), model.fit
            self._store_fit(league, fit)
            return explanation
        if isinstance(what, int) and other is None:
            with self._state() as (connection, state):
                return explain_proposal(proposals.read_proposal(connection, state, what), state)
        pair = what if other is None else (what, other)
        with self._state() as (connection, state):
            if item is not None or isinstance(pair, str):
                name = pair if item is None else item
                where = None if side is None else items.side_index(state.league, side)
                item_id = items.NameIndex(connection, state.league, [name]).resolve(name, where)
                explain: Callable[..., Explanation] = partial(explain_item, item=item_id)
            else:
                ids = items.pair_index(connection, state.league, [pair]).resolve_pair(pair)
                explain = partial(explain_pair, pair=ids, last=proposals.last_choice(connection, state, ids))
        with self._model() as (model, league):
            return explain(model, warning=warning(league))

    def export(self, path: str | Path, *, names: bool = True) -> Path:
        """Write the whole league to one file, JSON Lines, which `Store.import_league` reads."""
        with self.store.reading(self.slug) as (connection, _, league):
            return transfer.export(connection, league, Path(path), names=names)

    def check(self) -> list[str]:
        """Compute all totals again from the outcomes, and compare; returns what differs."""
        with self.store.reading(self.slug) as (connection, _, league):
            return transfer.check(connection, league)


def _plain(rows: Iterable[tuple[Any, Any]]) -> list[Any]:
    """Rows (pair, reward) as plain data, for the hash of a request."""
    return [[getattr(pair, "names", pair), getattr(reward, "value", reward)] for pair, reward in rows]
