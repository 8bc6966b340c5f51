"""What an export may say: each line has the columns of its table, and rows refer only to what the league has.

The types of the rows are those of the columns, with the limits that the header sets: ids, numbers of proposals and
versions. An import verifies a file, and `check` the lines that an export of a stored league would have.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType
from sqlalchemy import BigInteger, Boolean, Float, Integer, Text

from matchbandit.leagues import library, schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.items import check_size
from matchbandit.leagues.names import check_slug, normalize_name
from matchbandit.leagues.rules import MAX_RULES
from matchbandit.leagues.settings import LeagueSettings
from matchbandit.leagues.transaction import format_time

FORMAT = 1
MARK = "matchbandit-league"
TABLES = {
    table.name.removeprefix("mb_"): table
    for table in (schema.item, schema.change, schema.past_result, schema.proposal, schema.proposal_pair, schema.rule)
}
"""The tables of an export, in order; keys and tokens belong to the store."""
_ORDER = {name: place for place, name in enumerate(TABLES)} | {"proposal_pair": 3}
_LOCAL = {"id", "decision_version", "rules_version", "items_version", "n_results", "fit", "deleted_at"}
HEADER = [column.name for column in schema.league.c if column.name not in _LOCAL]
"""The columns of a league that are exported."""

# Types ---------------------------------------------------------------------------------------------------------------

_Time, _Name, _Slug = (type(name, (str,), {}) for name in ("time", "name", "slug"))
_FORMS: dict[Any, Any] = {
    _Time: lambda text: format_time(datetime.fromisoformat(text)) if "2000" < text < "9000" else None,
    _Name: normalize_name,
    _Slug: check_slug,
}


def _check_form(kind: Any, value: Any) -> Any:
    with _as_damage():
        is_valid = isinstance(value, str) and _FORMS[kind](value) == value
    _require(is_valid, f"{value!r:.80} is not a {kind.__name__}")
    return kind(value)


def _integer(minimum: int, maximum: int) -> Any:
    return Annotated[int, Meta(ge=minimum, le=maximum)]


_list: Any = list  # for types that are computed
_tuple: Any = tuple
_TYPES: dict[Any, Any] = {
    Integer: _integer(0, 2**31 - 1),
    BigInteger: _integer(0, 2**63 - 1),
    Float: Annotated[float, Meta(ge=-1e300, le=1e300)],  # so that sums of them are finite
    Boolean: bool,
    Text: Annotated[str, Meta(max_length=1000, pattern=r"^[^\x00]*$")],
}
_SETTINGS = get_type_hints(LeagueSettings) | {"deadline": float | None, "options": dict[str, bool | int | float | str]}


def _struct(name: str, fields: Iterable[Any], **options: Any) -> Any:
    return msgspec.defstruct(name, list(fields), forbid_unknown_fields=True, **options)


def _columns(table: Any, names: Iterable[str], types: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Columns of a table as fields, of these types or else those of the columns."""
    for name in names:
        kind = types.get(name) or _TYPES[type(table.c[name].type)]
        yield str(name), kind | None if table.c[name].nullable else kind


def _decoder(*kinds: Any) -> Any:
    return msgspec.json.Decoder(reduce(or_, kinds), dec_hook=_check_form)


_LEAGUE = {
    "sides": Annotated[list[str], Meta(min_length=2, max_length=2)],
    "settings": _struct("settings", _SETTINGS.items()),
    **dict.fromkeys(("slug", "stream"), _Slug),
    **dict.fromkeys(("created_at", "archived_at"), _Time),
}
_FIELDS = [("format", Literal[FORMAT]), ("n_items", _TYPES[Integer]), *_columns(schema.league, HEADER, _LEAGUE)]
_header = _decoder(_struct("header", _FIELDS, rename={"format": MARK}))


def _row_decoder(item: Any, number: Any, n_proposals: Any, version: Any) -> Any:
    """The decoder of all rows but the header, with these types of ids, proposals and versions."""
    notes = [("turn", {"item": item}), ("left", {"item": item}), ("near", {"value": float, "bound": float})]
    notes += [("nobody", {"item": item, "why": Literal["excluded", "met", "both"]})]
    note = reduce(or_, (_struct(code, of.items(), array_like=True, tag=code) for code, of in notes))
    types = {
        **dict.fromkeys(("a", "b", "id"), item),
        **dict.fromkeys(("version", "outcome_version", "based_on"), version),
        **dict.fromkeys(("byes", "bye_level", "last_bye"), n_proposals),
        **dict.fromkeys(("at", "due"), _Time),
        **{"number": number, "available": _list[item], "notes": _list[note], "name": _Name, "data": Raw},
        **{"kind": Literal["exclude", "pin"], "propensity": Annotated[float, Meta(ge=0, le=1)]},
    }
    rows = []
    for name, table in TABLES.items():
        columns = [c.name for c in table.c if c.name != "league_id"]
        own = types | {"byes": _list[item]} if name == "proposal" else types  # ids; of an item, their number
        rows.append(_struct(name, _columns(table, columns, own), tag_field="table", tag=name))
    return _decoder(*rows)


def _data_decoders(item: Any, number: Any) -> dict[str, Any]:
    """The decoders of what changes say, by action."""
    proposal, n_pairs = ("proposal", number), ("n_pairs", _TYPES[Integer])
    fields: dict[str, list[Any]] = {
        "create": list(_columns(schema.league, ("sides", "rewards", "seed", "settings"), _LEAGUE)),
        "join": [("items", _list[_tuple[item, Literal[0, 1]]]), ("back", _list[item])],
        "leave|rejoin": [("items", _list[item])],
        "rename|erase": [("items", _tuple[item])],
        "exclude|pin|unexclude|unpin": [("pairs", _list[_tuple[item, item]])],
        "configure": [(name, kind | UnsetType, UNSET) for name, kind in _SETTINGS.items()],
        "import results": [n_pairs, ("results", _TYPES[BigInteger])],
        "ask": [proposal, n_pairs],
        "tell": [proposal, ("outcomes", _list[_tuple[item, item, float | None]])],
        "correct": [proposal, ("outcomes", _list[_tuple[item, item, float | None, float | None]])],
        "archive|restore|delete": [],
    }
    decoders = {actions: _decoder(_struct("data", of)) for actions, of in fields.items()}
    return {action: decoder for actions, decoder in decoders.items() for action in actions.split("|")}


# Verification --------------------------------------------------------------------------------------------------------


class _Damage(ValueError):  # noqa: N818 - a reason, which `verify` makes an error of
    """What is wrong with a line."""


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise _Damage(reason)


@contextmanager
def _as_damage() -> Iterator[None]:
    """What is refused in a league damages an export."""
    try:
        yield
    except LeagueError as error:
        raise _Damage(str(error).rstrip(".")) from None


def verify(lines: Iterable[bytes], source: str, advice: str = "Export it again.") -> dict[str, Any]:
    """Verify the lines of an export, all but its checksum; returns the row of the league, without an id."""
    numbered = enumerate(lines, 1)
    number, first = next(numbered, (1, b""))
    try:
        header = msgspec.json.decode(first)
        format_ = header.get(MARK) if isinstance(header, dict) else None
        if isinstance(format_, int) and format_ > FORMAT:
            newer = f"{source} is an export of format {format_}; this matchbandit reads {FORMAT}. Update it."
            raise LeagueError("not-supported", newer)
        _header.decode(first)
        verifier = _Verifier(header)
        for number, line in numbered:  # noqa: B007 - it is the line of an error
            verifier.read(verifier.row.decode(line))
        return verifier.finish()
    except (_Damage, msgspec.DecodeError, RecursionError) as error:
        raise LeagueError("damaged", f"{source} is damaged: line {number}: {error}. {advice}") from None


class _Verifier:
    """Reads the rows of a league one by one."""

    def __init__(self, header: dict[str, Any]) -> None:
        """The header must be valid by itself."""
        self.league = {name: header[name] for name in HEADER}
        sides, config = header["sides"], header["settings"]
        with _as_damage():
            self.rewards = library.parse_rewards(header["rewards"])
            settings = LeagueSettings.from_config(config).validate("sides" if sides else "players", self.rewards)
            is_valid = settings.to_config() == config and self.rewards.notation == header["rewards"]
            names = [normalize_name(side) for side in sides or ()]
        _require(is_valid and names == (sides or []), "it is not as it would be written")
        _require(len(set(names)) == len(names), "both sides have one name")
        self.n_rows = {"item": header["n_items"], "change": header["version"], "proposal": header["n_proposals"]}
        (item, version, number), n_proposals = (_integer(1, n) for n in self.n_rows.values()), header["n_proposals"]
        self.row = _row_decoder(item, number, _integer(0, n_proposals), version)
        self.data = _data_decoders(item, number)
        self.table, self.keys, self.counts = "", dict[str, tuple[int, ...]](), Counter[str]()
        self.byes = Counter[int]()
        self.sides, self.sizes, self.names = list[int](), [0, 0], set[tuple[int, str]]()
        self.outcomes: dict[tuple[int, int, int], tuple[float | None, int]] = {}
        self.n_results = 0
        self.proposal: Any = None
        self.pairs, self.taken = list[Any](), list[int]()

    def read(self, row: Any) -> None:
        """Verify a row."""
        table = type(row).__name__
        _require(_ORDER[table] >= _ORDER.get(self.table, 0), f"a row of {table} after those of {self.table}")
        key = tuple(getattr(row, column.name) for column in TABLES[table].primary_key if column.name != "league_id")
        _require(key > self.keys.get(table, ()), f"{table} {key} comes after {self.keys.get(table)}")
        self.table, self.keys[table] = table, key
        self.counts[table] += 1
        if hasattr(row, "a"):
            sides = [self.sides[item - 1] for item in key[-2:] if item <= len(self.sides)]
            is_pair = sides == [0, 0] and row.a < row.b if self.league["sides"] is None else sides == [0, 1]
            _require(is_pair, f"{key[-2:]} are no pair of its items")
        getattr(self, f"_{table}")(row)

    def finish(self) -> dict[str, Any]:
        """Nothing is missing; returns the row of the league."""
        self._end_proposal()
        for table, n_rows in self.n_rows.items():
            _require(self.counts[table] == n_rows, f"it has {self.counts[table]} rows of {table} instead of {n_rows}")
        _require(not self.outcomes, "the history has outcomes of pairs that are missing")
        _require(not any(self.byes.values()), "byes of items are not those of the proposals")
        with _as_damage():
            check_size(self.league["sides"], self.league["settings"]["policy"], self.sizes)
        return self.league | {"n_results": self.n_results}

    def _item(self, row: Any) -> None:
        is_side = row.side < (1 if self.league["sides"] is None else 2)
        _require(is_side and row.position == self.sizes[row.side], "its place is another one")
        _require(row.name is None or (row.side, row.name) not in self.names, f"{row.name!r} is the name of two items")
        self.names.add((row.side, row.name))
        self.sides.append(row.side)
        self.sizes[row.side] += 1
        self.byes[row.id] = row.byes

    def _change(self, row: Any) -> None:
        is_action = row.action in self.data and (row.action == "create") == (row.version == 1)
        _require(is_action, f"{row.action!r} is no action, or not here")
        _require(row.by.isprintable(), f"{row.by!r} is no author")  # it is shown in terminals
        data = self.data[row.action].decode(row.data)
        if row.action in ("tell", "correct"):
            self.outcomes |= {(data.proposal, a, b): (reward, row.version) for a, b, *_, reward in data.outcomes}

    def _past_result(self, row: Any) -> None:
        is_possible = 1 <= row.count <= library.max_plays() and not self.rewards.impossible(row.total, row.count)
        _require(bool(is_possible), "its results cannot sum to this")
        self.n_results += row.count
        _require(self.n_results < 2**62, "it has too many results")

    def _proposal(self, row: Any) -> None:
        self._end_proposal()
        self.proposal, self.pairs, self.taken = row, [], list(row.byes)
        self.byes.subtract(row.byes)

    def _proposal_pair(self, row: Any) -> None:
        proposal: Any = self.proposal
        _require(proposal is not None and row.number == proposal.number, "its proposal does not precede it")
        outcome = self.outcomes.pop((row.number, row.a, row.b), (None, None))
        _require((row.outcome, row.outcome_version) == outcome, "the history says otherwise of its outcome")
        _require(row.outcome is None or self.rewards.is_possible(row.outcome), "it is an impossible outcome")
        self.n_results += row.outcome is not None
        self.pairs.append(row)
        self.taken += row.a, row.b

    def _rule(self, row: Any) -> None:
        _require(self.counts["rule"] <= MAX_RULES, f"a league has at most {MAX_RULES} exclusions and pins")

    def _end_proposal(self) -> None:
        proposal, items = self.proposal, set(self.taken)
        if proposal is not None:
            counts = len(self.pairs), sum(pair.outcome_version is None for pair in self.pairs)
            is_complete = counts == (proposal.n_pairs, proposal.n_waiting)
            is_complete &= sorted(pair.position for pair in self.pairs) == list(range(len(self.pairs)))
            _require(is_complete, f"pairs of proposal {proposal.number} are missing")
            available = items if proposal.available is None else set(proposal.available)
            is_possible = len(items) == len(self.taken) and items <= available
            _require(is_possible, f"an item of proposal {proposal.number} was absent, or is in it twice")
