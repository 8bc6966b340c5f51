"""What decisions and rankings need of a league, in memory as arrays: a cache of tables that reads only what is new."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from matchbandit.leagues import library, schema
from matchbandit.leagues.items import NameTable
from matchbandit.leagues.names import item_label
from matchbandit.leagues.totals import PairTotals
from matchbandit.leagues.transaction import LeagueRow, Statement

if TYPE_CHECKING:
    from matchbandit.graphs import Graph

Counts = NDArray[np.int64]
MAX_CACHE_BYTES = 256 * 2**20
_BYTES_PER_ITEM = 400
_item, _rule = schema.item, schema.rule


class ItemRow(NamedTuple):
    """The row of an item; see `schema.item`."""

    id: int
    side: int
    position: int
    name: str | None
    active: bool
    byes: int
    bye_level: int
    last_bye: int


def id_pairs(rows: Iterable[Any]) -> Counts:
    """Rows of two ids as an array of shape (k, 2)."""
    return np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, 2)


_CHANGED_ITEMS = Statement(
    select(*(_item.c[name] for name in ItemRow._fields)).where(
        _item.c.league_id == bindparam("of_league"), _item.c.version > bindparam("since")
    )
)


@dataclass(frozen=True, eq=False)
class LeagueState:
    """A league as of one version; immutable. Item k is at index k − 1."""

    league: LeagueRow
    items: tuple[ItemRow, ...] = ()
    totals: PairTotals = field(default_factory=PairTotals.empty)
    exclusions: Counts = field(default_factory=lambda: id_pairs(()))
    """Pairs of ids, sorted."""
    pins: tuple[tuple[int, int], ...] = ()
    """Pairs of ids, the oldest first."""

    @classmethod
    def read(cls, connection: Connection, league: LeagueRow, old: "LeagueState | None") -> "LeagueState":
        """The state now: `old`, with the rows that have changed since."""
        if old is not None and old.league == league:
            return old
        since = -1
        if old is None or old.league.id != league.id or old.league.version > league.version:
            old = cls(replace(league, rules_version=-1))
        else:
            since = old.league.version
        changed = map(ItemRow._make, _CHANGED_ITEMS.rows(connection, of_league=league.id, since=since))
        rows = {row.id: row._replace(active=bool(row.active)) for row in changed}
        items = old.items
        if rows:
            last = max(len(items), *rows)
            items = tuple(rows.get(k) or items[k - 1] for k in range(1, last + 1))
        state = replace(old, league=league, items=items, totals=old.totals.refreshed(connection, league, since))
        return state._with_rules(connection) if league.rules_version > old.league.rules_version else state

    def _with_rules(self, connection: Connection) -> "LeagueState":
        query = select(_rule.c.a, _rule.c.b, _rule.c.kind).where(_rule.c.league_id == self.league.id)
        rows = connection.execute(query.order_by(_rule.c.version, _rule.c.a, _rule.c.b)).all()
        excluded = sorted((a, b) for a, b, kind in rows if kind == "exclude")
        return replace(self, exclusions=id_pairs(excluded), pins=tuple((a, b) for a, b, kind in rows if kind == "pin"))

    # Items -----------------------------------------------------------------------------------------------------------

    @cached_property
    def sides(self) -> Counts:
        """The side of each item."""
        return np.array([row.side for row in self.items], dtype=np.int64)

    @cached_property
    def positions(self) -> Counts:
        """The position of each item on its side."""
        return np.array([row.position for row in self.items], dtype=np.int64)

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Which items can be paired."""
        return np.array([row.active for row in self.items], dtype=np.bool_)

    def name(self, item: int) -> str:
        """The name of an item, or `#7` once it is erased."""
        return self.items[item - 1].name or item_label(item)

    def names(self, pair: Sequence[int]) -> tuple[str, str]:
        """The names of a pair."""
        return self.name(pair[0]), self.name(pair[1])

    def side(self, item: int) -> str | None:
        """The name of its side; None for players."""
        return None if self.league.sides is None else self.league.sides[self.items[item - 1].side]

    def count_pairs(self, items: Counts) -> int:
        """How many pairs of these items there are."""
        n, columns = len(items), int(self.sides[items - 1].sum())
        return n * (n - 1) // 2 if self.league.sides is None else (n - columns) * columns

    # The graph -------------------------------------------------------------------------------------------------------

    @cached_property
    def graph(self) -> "Graph":
        """The graph of all items that ever joined: vertices never change when others join or leave."""
        on_side = np.bincount(self.sides, minlength=2)
        if self.league.sides is None:
            return library.new_graph(max(int(on_side[0]), 2), None)
        return library.new_graph(max(int(on_side[0]), 1), max(int(on_side[1]), 1))

    @cached_property
    def vertices(self) -> Counts:
        """The vertex of each item, those of the first side first."""
        return self.positions + self.sides * self.graph.n_rows

    @cached_property
    def _items_by_vertex(self) -> Counts:
        items = np.zeros(self.graph.n_items, dtype=np.int64)
        items[self.vertices] = np.arange(1, len(self.items) + 1)
        return items

    def edges(self, pairs: Counts) -> Counts:
        """Pairs of ids as edges of the graph."""
        return self.graph.edges(self.positions[pairs - 1])

    def ids(self, pairs: Counts) -> list[tuple[int, int]]:
        """Pairs of the graph as pairs of ids."""
        return [(a, b) for a, b in self._items_by_vertex[self.graph.items_of(pairs)].tolist()]

    @property
    def n_bytes(self) -> int:
        """Estimated size in memory."""
        arrays = sum(array.nbytes for array in self.totals.arrays) + self.exclusions.nbytes
        return int(arrays) + _BYTES_PER_ITEM * len(self.items)


@dataclass(eq=False)
class CachedLeague:
    """The newest state of a league that this process knows, and what is derived from it."""

    state: LeagueState | None = None
    policy: Any = None
    """The policy with its counts, under `Store.deciding`; see `deciding.CurrentPolicy`."""
    fitting: Lock = field(default_factory=Lock)
    """Held while the model is used, so that it is fitted once."""
    model: Any = None
    _names: NameTable | None = None

    @property
    def names(self) -> NameTable | None:
        """The names of the newest state, for all requests until one of them changes."""
        names, state = self._names, self.state
        if state is not None and (names is None or names.league.items_version != state.league.items_version):
            names = self._names = NameTable(state.league, state.items)
        return names

    def read(self, connection: Connection, league: LeagueRow) -> LeagueState:
        """The state as of this transaction."""
        state = LeagueState.read(connection, league, self.state)
        newest = self.state
        if newest is None or newest.league.id != league.id or newest.league.version <= league.version:
            self.state = state
        return state


class LeagueCache:
    """The leagues that a process has in memory, at most `MAX_CACHE_BYTES` of them."""

    def __init__(self) -> None:
        """Empty."""
        self._lock = Lock()
        self._leagues: OrderedDict[int, CachedLeague] = OrderedDict()
        self._ids: dict[str, int] = {}

    def names(self, slug: str) -> NameTable | None:
        """The names of a league as they were lately, if they are in memory."""
        cached = self._leagues.get(self._ids.get(slug, 0))
        return None if cached is None else cached.names

    def get(self, league: LeagueRow) -> CachedLeague:
        """The cached league, which becomes the most recently used."""
        with self._lock:
            cached = self._leagues.setdefault(league.id, CachedLeague())
            self._ids[league.slug] = league.id
            self._leagues.move_to_end(league.id)
            size = sum(each.state.n_bytes for each in self._leagues.values() if each.state is not None)
            while size > MAX_CACHE_BYTES and len(self._leagues) > 1:
                _, dropped = self._leagues.popitem(last=False)
                if dropped.state is not None:
                    size -= dropped.state.n_bytes
                    self._ids.pop(dropped.state.league.slug, None)
            return cached
