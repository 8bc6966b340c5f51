"""Who is in a league: names, joining and leaving, and who has sat out how often."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select, update

from matchbandit.leagues import library, schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.names import MAX_NAME_LENGTH, collapse_spaces, item_label, label_number, normalize_name
from matchbandit.leagues.transaction import LeagueRow, Transaction

Name = str | int
"""An item, by name or id."""
MAX_PER_CALL = 10_000
"""Most items, pairs or outcomes in one call."""
MAX_COMPARED = 500
"""Names among which an unknown one is searched for: those with the same first letter, or that contain it."""
_FEW = 200
"""Up to this many names are looked up one by one; for more, all items are read."""
_MAX_ID = 2**31 - 1
"""Of the column; PostgreSQL refuses to compare it with more."""
_item = schema.item
_ALL = select(_item.c.id, _item.c.side, _item.c.name, _item.c.active).where(_item.c.league_id == bindparam("of_league"))
_SOME = _ALL.where(
    or_(_item.c.name.in_(bindparam("names", expanding=True)), _item.c.id.in_(bindparam("ids", expanding=True)))
)
_LEVELS = select(_item.c.id, _item.c.bye_level).where(_item.c.league_id == bindparam("of_league"), _item.c.active)
_COUNT_BYE = (
    update(_item)
    .where(_item.c.league_id == bindparam("of_league"), _item.c.id == bindparam("which"))
    .values(byes=_item.c.byes + 1, bye_level=_item.c.bye_level + 1)
    .values(last_bye=bindparam("now"), version=bindparam("in_version"))
)


# Names ---------------------------------------------------------------------------------------------------------------


class NameTable:
    """The items of a league by id and by name, from rows with `id`, `side`, `name` and `active`."""

    def __init__(self, league: LeagueRow, rows: Iterable[Any]) -> None:
        """The items of this version of the league."""
        self.league = league
        self.by_id = {row.id: row for row in rows}
        self.by_name = {(row.side, row.name): row for row in self.by_id.values() if row.name is not None}


class NameIndex:
    """Finds items by name, id or `#id`, and pairs of them."""

    def __init__(self, source: Connection | NameTable, league: LeagueRow, wanted: Iterable[object]) -> None:
        """For the names that are going to be looked up, in the database or in memory."""
        self._league, self._connection = league, None if isinstance(source, NameTable) else source
        table = source if isinstance(source, NameTable) else _read_names(source, league, list(wanted))
        self._by_id, self._by_name = table.by_id, table.by_name

    def find(self, name: str, side: int) -> Any | None:
        """The item of this normalised name, or None."""
        return self._by_name.get((side, name))

    def resolve(self, name: object, side: int | None = None) -> int:
        """The id of an item, on a side if one is given; an error with "did you mean" if there is none."""
        if (row := self._by_name.get((0 if self._league.sides is None else side, name))) is not None:
            return int(row.id)  # it is written as it is stored
        sides = (0, 1) if side is None else (side,)
        for text in _spellings(name):
            found = [row for each in sides if (row := self._by_name.get((each, text))) is not None]
            if len(found) == 2:
                first, second = self._league.sides or ("", "")
                raise LeagueError(
                    "unknown-item",
                    f"{text!r} is the name of two items, one of {first} and one of {second}. Say which side.",
                )
            row = found[0] if found else self._by_id.get(label_number(text))
            if row is not None and row.side in sides:
                return int(row.id)
        raise self._unknown(name, sides)

    def resolve_pair(self, pair: object) -> tuple[int, int]:
        """The ids of a pair: of players in either order, the lower id first; else one of each side."""
        names = pair if type(pair) is tuple else getattr(pair, "names", pair)  # two names, or a `Pair` of a proposal
        if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != 2:
            raise LeagueError("bad-value", f"a pair is two names, such as ('ann', 'bob'); got {pair!r}.")
        if self._league.sides is not None:
            return self.resolve(names[0], 0), self.resolve(names[1], 1)
        a, b = self.resolve(names[0]), self.resolve(names[1])
        if a == b:
            raise LeagueError("bad-value", f"a pair is two players; got {names[0]!r} twice.")
        return min(a, b), max(a, b)

    def row(self, item: int) -> Any:
        """The row of an item that was looked up."""
        return self._by_id[item]

    def name(self, item: int) -> str:
        """The name of an item that was looked up."""
        row = self._by_id.get(item)
        return item_label(item) if row is None or row.name is None else str(row.name)

    def pair_text(self, pair: tuple[int, int]) -> str:
        """A pair, for an error message."""
        return f"{self.name(pair[0])!r} and {self.name(pair[1])!r}"

    def _unknown(self, name: object, sides: Sequence[int]) -> LeagueError:
        if not isinstance(name, str | int) or isinstance(name, bool):
            return LeagueError("unknown-item", f"items are given by name or id; got {name!r}.")
        text, names = collapse_spaces(str(name)), self._league.sides
        kind = "player" if names is None else "item of " + " or ".join(names[side] for side in sides)
        number = name if isinstance(name, int) else label_number(text)
        row = self._by_id.get(number) or self._by_name.get((1 - sides[0], text))
        if names is not None and row is not None and row.side not in sides:
            hint = f"it is one of {names[row.side]}. A pair is one of {names[0]}, then one of {names[1]}."
        else:
            near = self._similar(text.casefold(), sides) if number is None and len(text) <= MAX_NAME_LENGTH else None
            hint = f"did you mean {near!r}?" if near else ""
        problem = f"no {kind} is named {text[:60]!r}" if number is None else f"no {kind} has the id {number}"
        return LeagueError("unknown-item", f"{problem}; {hint}" if hint else f"{problem}.")

    def _similar(self, text: str, sides: Sequence[int]) -> str | None:
        """The name that was meant: in other case, one word of it, or with a typing error."""
        if self._connection is None:
            return None
        like = or_(_item.c.name.istartswith(text[:1], autoescape=True), _item.c.name.icontains(text, autoescape=True))
        query = select(_item.c.name).where(_item.c.league_id == self._league.id, _item.c.side.in_(sides), like)
        names = {name.casefold(): str(name) for name in self._connection.execute(query.limit(MAX_COMPARED)).scalars()}
        words = [name for folded, name in names.items() if text in folded.split()]
        near = words if len(words) == 1 else [names[folded] for folded in get_close_matches(text, names, n=1)]
        return names.get(text) or next(iter(near), None)


def _read_names(connection: Connection, league: LeagueRow, wanted: list[object]) -> NameTable:
    """The items of these names, or all items if these are many."""
    parameters: dict[str, Any] = {"of_league": league.id}
    if len(wanted) <= _FEW:
        names = {text for name in wanted for text in _spellings(name)}
        ids = [number for text in names if (number := label_number(text)) is not None and number <= _MAX_ID]
        parameters |= {"names": sorted(names), "ids": ids}
    return NameTable(league, connection.execute(_SOME if "names" in parameters else _ALL, parameters))


def _spellings(name: object) -> Iterator[str]:
    """How a name may be stored; an id as `#7`."""
    if isinstance(name, str):
        yield name
        yield collapse_spaces(name)
    elif isinstance(name, int) and not isinstance(name, bool):
        yield item_label(name)


def pair_index(source: Connection | NameTable, league: LeagueRow, pairs: Iterable[Any]) -> NameIndex:
    """A `NameIndex` for the names of these pairs."""
    rows = (getattr(pair, "names", pair) for pair in pairs)
    return NameIndex(source, league, (name for pair in rows if isinstance(pair, Sequence) for name in pair))


def as_list(what: str, values: Iterable[Any]) -> list[Any]:
    """The values as a list, of a length that one call may have."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise LeagueError("bad-value", f"{what} must be a list; got {values!r}.")
    result = list(values)
    if len(result) > MAX_PER_CALL:
        raise LeagueError("bad-value", f"one call takes at most {MAX_PER_CALL} {what}; got {len(result)}. Split them.")
    return result


def side_index(league: LeagueRow, side: str | None) -> int:
    """The index of a side, 0 or 1; always 0 for players."""
    if league.sides is None:
        if side is None:
            return 0
        raise LeagueError("bad-value", f"this league has players, not sides; got side {side!r}. Omit it.")
    if side in league.sides:
        return league.sides.index(side)
    raise LeagueError("bad-value", f"say which side: {' or '.join(map(repr, league.sides))}; got {side!r}.")


# Changes -------------------------------------------------------------------------------------------------------------


def join(tx: Transaction, names: Iterable[str], side: str | None = None) -> list[int]:
    """Add items; those that left come back with their results. Returns their ids, in the order given."""
    league, where = tx.league, side_index(tx.league, side)
    normal = [normalize_name(name) for name in as_list("names", names)]
    index, known = NameIndex(tx.connection, league, normal), dict[str, Any]()
    for name in normal:
        row = index.find(name, where)
        if name in known or (row is not None and row.active):
            raise LeagueError("name-taken", f"{name!r} is in the league already. Use another name.")
        known[name] = row
    new = [name for name, row in known.items() if row is None]
    back = {name: row.id for name, row in known.items() if row is not None}
    if not known:
        return []
    sizes = count_items(tx)
    first, position = sum(sizes) + 1, sizes[where]
    sizes[where] += len(new)
    if new:
        check_size(league.sides, league.settings["policy"], sizes)
    ids = {name: item for item, name in enumerate(new, first)}
    level = _lowest_bye_level(tx)
    data = {"items": [[item, where] for item in ids.values()], "back": list(back.values())}
    version = tx.record("join", data, items=True)
    common = {"league_id": league.id, "side": where, "active": True, "byes": 0, "bye_level": level}
    common |= {"last_bye": league.n_proposals, "version": version}
    rows = [common | {"id": ids[name], "position": k, "name": name} for k, name in enumerate(new, position)]
    if rows:
        tx.connection.execute(insert(_item), rows)
    _bring_back(tx, list(back.values()), level, version)
    return [(ids | back)[name] for name in normal]


def leave(tx: Transaction, names: Iterable[Name], side: str | None = None) -> list[int]:
    """Let items leave: they are no longer paired; their results stay."""
    items, index = _resolve_items(tx, names, side)
    gone = [item for item in items if index.row(item).active]
    if gone:
        _update_items(tx, gone, active=False, version=tx.record("leave", {"items": gone}, items=True))
    return items


def rejoin(tx: Transaction, names: Iterable[Name], side: str | None = None) -> list[int]:
    """Let items that left come back, with their results."""
    items, index = _resolve_items(tx, names, side)
    back = [item for item in items if not index.row(item).active]
    if erased := [item for item in back if index.row(item).name is None]:
        raise LeagueError("not-supported", f"{index.name(erased[0])} was erased and cannot rejoin. Join a new item.")
    if back:
        _bring_back(tx, back, _lowest_bye_level(tx), tx.record("rejoin", {"items": back}, items=True))
    return items


def rename(tx: Transaction, old: Name, new: str, side: str | None = None) -> list[int]:
    """Rename an item."""
    name = normalize_name(new)
    (item,), index = _resolve_items(tx, [old], side)
    row = index.row(item)
    if row.name is None:
        raise LeagueError("not-supported", f"{index.name(item)} was erased and cannot be renamed.")
    other = NameIndex(tx.connection, tx.league, [name]).find(name, row.side)
    if other is not None and other.id != item:
        raise LeagueError("name-taken", f"{name!r} is the name of another item. Use another name.")
    if row.name != name:
        version = tx.record("rename", {"items": [item]}, decides=False, items=True)
        _update_items(tx, [item], name=name, version=version)
    return [item]


def erase_name(tx: Transaction, name: Name, side: str | None = None) -> list[int]:
    """Erase a name for good; the item leaves, and its results stay under its id."""
    (item,), _ = _resolve_items(tx, [name], side)
    where = [schema.rule.c.league_id == tx.league.id, or_(schema.rule.c.a == item, schema.rule.c.b == item)]
    tx.connection.execute(delete(schema.rule).where(*where, schema.rule.c.kind == "pin"))
    version = tx.record("erase", {"items": [item]}, rules=True, items=True)
    _update_items(tx, [item], name=None, active=False, version=version)
    return [item]


def count_byes(tx: Transaction, available: list[int] | None, byes: list[int], number: int, version: int) -> None:
    """Count who sits out proposal `number`; who is absent is raised to the level of those present.

    The level decides whose turn it is. Without raising it, an item that joins, returns or was absent would sit out
    again and again to catch up with the others.
    """
    if available is not None:
        levels = tx.connection.execute(_LEVELS, {"of_league": tx.league.id}).all()
        present = set(available)
        level = min((row.bye_level for row in levels if row.id in present), default=0)
        absent = [row.id for row in levels if row.id not in present]
        _update_items(tx, absent, bye_level=_at_least(tx, level), last_bye=number, version=version)
    if byes:
        rows = [{"of_league": tx.league.id, "which": item, "now": number, "in_version": version} for item in byes]
        tx.connection.execute(_COUNT_BYE, rows)


def _resolve_items(tx: Transaction, names: Iterable[Name], side: str | None) -> tuple[list[int], NameIndex]:
    """The ids of these items without duplicates, and their index."""
    listed = as_list("names", names)
    index, where = NameIndex(tx.connection, tx.league, listed), None if side is None else side_index(tx.league, side)
    return list(dict.fromkeys(index.resolve(name, where) for name in listed)), index


def check_size(sides: list[str] | None, policy: str, sizes: list[int]) -> None:
    """Refuse more pairs than the policy of a league supports."""
    n_pairs = sizes[0] * sizes[1] if sides else sizes[0] * (sizes[0] - 1) // 2
    if n_pairs > library.max_pairs() and not library.capabilities(policy).any_size:
        raise LeagueError("not-supported", f"{policy} supports at most {library.max_pairs()} pairs.")


def count_items(tx: Transaction) -> list[int]:
    """How many items ever joined each side."""
    count = select(func.count()).where(_item.c.league_id == tx.league.id)
    return [tx.connection.execute(count.where(_item.c.side == side)).scalar_one() for side in (0, 1)]


def _lowest_bye_level(tx: Transaction) -> int:
    """The level at which a newcomer starts: the lowest of an active item."""
    if not tx.league.n_proposals:
        return 0
    where = [_item.c.league_id == tx.league.id, _item.c.active]
    return tx.connection.execute(select(func.min(_item.c.bye_level)).where(*where)).scalar_one() or 0


def _bring_back(tx: Transaction, items: list[int], level: int, version: int) -> None:
    _update_items(tx, items, active=True, bye_level=_at_least(tx, level), version=version)


def _at_least(tx: Transaction, level: int) -> Any:
    greatest = func.max if tx.connection.dialect.name == "sqlite" else func.greatest
    return greatest(_item.c.bye_level, level)


def _update_items(tx: Transaction, items: list[int], **values: Any) -> None:
    if items:
        where = [_item.c.league_id == tx.league.id, _item.c.id == bindparam("which")]
        tx.connection.execute(update(_item).where(*where).values(values), [{"which": item} for item in items])
