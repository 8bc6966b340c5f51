"""Rules of a league: exclusions, which hold until they are removed, and pins, which the next proposal uses up."""

from collections.abc import Iterable
from typing import Any, Literal

from sqlalchemy import bindparam, delete, func, insert, select, tuple_

from matchbandit.leagues import schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.items import NameIndex, as_list, pair_index
from matchbandit.leagues.records import Ids
from matchbandit.leagues.transaction import Transaction

MAX_RULES = 100_000
"""Most exclusions and pins of a league together."""
Kind = Literal["exclude", "pin"]
REMOVE_FIRST = {
    "pin": "are pinned. Remove the pin first (unpin).",
    "exclude": "are excluded. Remove the exclusion first (unexclude).",
}
_rule = schema.rule
_DELETE = delete(_rule).where(
    _rule.c.league_id == bindparam("of_league"),
    _rule.c.kind == bindparam("of"),
    _rule.c.a == bindparam("x"),
    _rule.c.b == bindparam("y"),
)


def add(tx: Transaction, kind: Kind, pairs: Iterable[Any]) -> int:
    """Exclude or pin pairs; returns how many are new."""
    index, ids, existing = _read(tx, pairs)
    for pair in ids:
        if existing.get(pair, kind) != kind:
            raise LeagueError("contradiction", f"{index.pair_text(pair)} {REMOVE_FIRST[existing[pair]]}")
        erased = [item for item in pair if kind == "pin" and index.row(item).name is None]
        if erased:
            raise LeagueError("not-supported", f"{index.name(erased[0])} was erased, and is not proposed any more.")
    new = [pair for pair in ids if pair not in existing]
    if not new:
        return 0
    where = _rule.c.league_id == tx.league.id
    total = tx.connection.execute(select(func.count()).select_from(_rule).where(where)).scalar_one() + len(new)
    if total > MAX_RULES:
        raise LeagueError("too-many-rules", f"a league has at most {MAX_RULES} exclusions and pins; got {total}.")
    version = tx.record(kind, {"pairs": new}, rules=True)
    rows = [{"league_id": tx.league.id, "a": a, "b": b, "kind": kind, "version": version} for a, b in new]
    tx.connection.execute(insert(_rule), rows)
    return len(new)


def remove(tx: Transaction, kind: Kind, pairs: Iterable[Any]) -> int:
    """Remove exclusions or pins; returns how many there were."""
    _, _, existing = _read(tx, pairs)
    old = [pair for pair, found in existing.items() if found == kind]
    if old:
        use_up(tx, kind, old)
        tx.record(f"un{kind}", {"pairs": old}, rules=True)
    return len(old)


def use_up(tx: Transaction, kind: Kind, pairs: list[tuple[int, int]]) -> None:
    """Delete rules of these pairs."""
    if pairs:
        tx.connection.execute(_DELETE, [{"of_league": tx.league.id, "of": kind, "x": a, "y": b} for a, b in pairs])


def _read(tx: Transaction, pairs: Iterable[Any]) -> tuple[NameIndex, list[Ids], dict[Ids, str]]:
    """The ids of these pairs, without duplicates, and the rules about them that exist."""
    listed = as_list("pairs", pairs)
    index = pair_index(tx.connection, tx.league, listed)
    ids = list(dict.fromkeys(map(index.resolve_pair, listed)))
    query = select(_rule.c.a, _rule.c.b, _rule.c.kind).where(_rule.c.league_id == tx.league.id)
    if len(ids) <= 200:
        query = query.where(tuple_(_rule.c.a, _rule.c.b).in_(ids))
    rules = {(a, b): kind for a, b, kind in tx.connection.execute(query)}
    return index, ids, {pair: rules[pair] for pair in ids if pair in rules}
