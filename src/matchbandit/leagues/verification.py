"""What an export may say: each line has the columns of its table, and all tables agree with the history.

The history is replayed, and each row of another table is compared with what follows from it. An import verifies a file,
and `check` the lines that an export of a stored league would have.
"""

from array import array
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType
from sqlalchemy import BigInteger, Boolean, Float, Integer, Text

from matchbandit.leagues import library, schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.names import check_slug, normalize_name
from matchbandit.leagues.rules import MAX_RULES
from matchbandit.leagues.settings import LeagueSettings
from matchbandit.leagues.transaction import add_seconds, format_time

FORMAT = 1
MARK = "matchbandit-league"
TABLES = {
    table.name.removeprefix("mb_"): table
    for table in (schema.change, schema.past_result, schema.proposal, schema.proposal_pair, schema.rule, schema.item)
}
"""The tables of an export, in order; keys and tokens belong to the store."""
_ORDER = {name: place for place, name in enumerate(TABLES)} | {"proposal_pair": 2}

# Types ---------------------------------------------------------------------------------------------------------------

_Id = Annotated[int, Meta(ge=1, lt=2**31)]
_Count = Annotated[int, Meta(ge=0, lt=2**31)]
_Large = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Reward = float | None
_TYPES: dict[Any, Any] = {
    Integer: _Count,
    BigInteger: _Large,
    Float: Annotated[float, Meta(ge=-1e300, le=1e300)],  # so that sums of them are finite
    Boolean: bool,
    Text: Annotated[str, Meta(max_length=1000, pattern=r"^[^\x00]*$")],
}


def _struct(name: str, types: dict[str, Any], **options: Any) -> Any:
    return msgspec.defstruct(name, list(types.items()), forbid_unknown_fields=True, **options)


def _note(code: str, **types: Any) -> Any:
    return _struct(code, types, array_like=True, tag=code)


def _union(types: list[Any]) -> Any:
    return reduce(or_, types)


_NOTES: Any = [_note("turn", item=_Id), _note("left", item=_Id), _note("near", value=float, bound=float)]
_NOTES += [_note("nobody", item=_Id, why=Literal["excluded", "met", "both"])]
_COLUMNS: dict[Any, Any] = {
    schema.change.c.data: Raw,
    schema.proposal.c.available: list[_Id],
    schema.proposal.c.byes: list[_Id],
    schema.proposal.c.notes: GenericAlias(list, _union(_NOTES)),
    schema.proposal_pair.c.propensity: Annotated[float, Meta(ge=0, le=1)],
}
_ROWS = []
for _name, _table in TABLES.items():
    _types = {c.name: _COLUMNS.get(c) or _TYPES[type(c.type)] for c in _table.c if c.name != "league_id"}
    _types = {str(name): kind | None if _table.c[name].nullable else kind for name, kind in _types.items()}
    _ROWS.append(_struct(_name, _types, tag_field="table", tag=_name))

SETTINGS: dict[str, Any] = {
    "policy": str,
    "options": dict[str, bool | int | float | str],
    "selection": Literal["pair", "matching"],
    "deadline": float | None,
    "default": float | Literal["void"],
    "no_rematch": _Count,
    "title": str,
    "record_propensity": _Count,
}
_LEAGUE = {"sides": tuple[str, str] | None, "rewards": str, "seed": _Large, "settings": _struct("settings", SETTINGS)}
HEADER = {"slug": str, **_LEAGUE, "stream": str, "version": _Large, "n_proposals": _Large, "created_at": str}
HEADER["archived_at"] = str | None
_ITEMS, _ITEM, _PAIRS = {"items": list[_Id]}, {"items": tuple[_Id]}, {"pairs": list[tuple[_Id, _Id]]}
_DATA: dict[str, dict[str, Any]] = {
    "create": _LEAGUE,
    "join": {"items": list[tuple[_Id, Literal[0, 1]]], "back": list[_Id]},
    "leave": _ITEMS,
    "rejoin": _ITEMS,
    "rename": _ITEM,
    "erase": _ITEM,
    "exclude": _PAIRS,
    "pin": _PAIRS,
    "unexclude": _PAIRS,
    "unpin": _PAIRS,
    "import results": {"n_pairs": _Count, "results": _Large},
    "ask": {"proposal": _Large, "n_pairs": _Count},
    "tell": {"proposal": _Large, "outcomes": list[tuple[_Id, _Id, _Reward]]},
    "correct": {"proposal": _Large, "outcomes": list[tuple[_Id, _Id, _Reward, _Reward]]},
    "archive": {},
    "restore": {},
    "delete": {},
}
_data = {action: msgspec.json.Decoder(_struct("data", types)) for action, types in _DATA.items()}
_configure = [(name, kind | UnsetType, UNSET) for name, kind in SETTINGS.items()]
_data["configure"] = msgspec.json.Decoder(msgspec.defstruct("data", _configure, forbid_unknown_fields=True))
_header = msgspec.json.Decoder(_struct("header", {"format": int, **HEADER}, rename={"format": MARK}))
_mark: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
    msgspec.defstruct("mark", [("format", int)], rename={"format": MARK})
)
_row: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_union(_ROWS))

# Verification --------------------------------------------------------------------------------------------------------


def verify(lines: Iterable[bytes], source: str, advice: str = "Export it again.") -> dict[str, Any]:
    """Verify the lines of an export, all but its checksum; returns the header, with the number of results."""
    numbered = enumerate(lines, 1)
    number, first = next(numbered, (1, b""))
    try:
        verifier = _Verifier(_read_header(first, source))
        for number, line in numbered:  # noqa: B007 - it is the line of an error
            verifier.read(_row.decode(line))
        return verifier.finish()
    except (_Damage, msgspec.DecodeError, RecursionError) as error:
        raise LeagueError("damaged", f"{source} is damaged: line {number}: {error}. {advice}") from None


class _Damage(Exception):  # noqa: N818 - a reason, which `verify` makes an error of
    """What is wrong with a line."""


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise _Damage(reason)


def _read_header(line: bytes, source: str) -> dict[str, Any]:
    """The header, valid by itself."""
    format_ = _mark.decode(line).format
    if format_ > FORMAT:
        newer = f"{source} is an export of format {format_}; this matchbandit reads {FORMAT}. Update it."
        raise LeagueError("not-supported", newer)
    _require(format_ == FORMAT, f"there is no format {format_}")
    header = _plain(_header.decode(line))
    del header[MARK]
    try:
        for slug in (header["slug"], header["stream"]):
            check_slug(slug)
        sides = header["sides"] or ["a", "b"]
        _require(list(dict.fromkeys(map(normalize_name, sides))) == sides, "these cannot be the names of its sides")
        rewards = library.parse_rewards(header["rewards"])
        settings = LeagueSettings.from_config(header["settings"])
        valid = settings.validate("sides" if header["sides"] else "players", rewards).to_config()
    except LeagueError as error:
        raise _Damage(str(error).rstrip(".")) from None
    _require(valid == header["settings"] and rewards.notation == header["rewards"], "it is not as it would be written")
    return header


def _plain(struct: Any) -> dict[str, Any]:
    """A decoded row as the store has it, with lists for tuples."""
    values: dict[str, Any] = msgspec.to_builtins(struct)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


class _Verifier:
    """Replays the history of a league, then compares the rows of the other tables with it."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.header, self.rewards = header, library.parse_rewards(header["rewards"])
        # What the history says:
        self.league: dict[str, Any] = {}
        self.sides, self.active, self.erased = list[int](), list[bool](), set[int]()
        self.rules: dict[tuple[int, int], tuple[str, int]] = {}
        self.proposals: list[dict[str, Any]] = []
        self.outcomes: dict[tuple[int, int, int], tuple[float | None, int]] = {}
        self.n_past = self.n_results = 0
        self.results_by_version = array("q", [0])
        # What the rows said so far:
        self.table, self.last_pair, self.n_items, self.on_side = "", (0, 0), 0, [0, 0]
        self.names, self.byes = set[tuple[int, str]](), Counter[int]()
        self.n_proposals, self.proposal = 0, None
        self.taken, self.positions = set[int](), set[int]()

    def read(self, row: Any) -> None:
        """Verify a row."""
        table = type(row).__name__
        if table != self.table:
            _require(_ORDER[table] >= _ORDER.get(self.table, 0), f"a row of {table} after those of {self.table}")
            self.table, self.last_pair = table, (0, 0)
        getattr(self, f"_{table}")(row)

    def finish(self) -> dict[str, Any]:
        """Nothing is missing; returns the header, with the number of results."""
        self._end_proposal()
        version = len(self.results_by_version) - 1
        self.league |= {"version": version, "n_proposals": len(self.proposals)}
        for name, value in self.league.items():
            _require(self.header[name] == value, f"the header says otherwise of {name} than the history")
        is_complete = self.n_proposals == len(self.proposals) and self.n_items == len(self.sides) and not self.n_past
        _require(is_complete and not self.outcomes and not self.rules, "rows are missing")
        first, second = self.on_side
        n_pairs = first * second if self.header["sides"] else first * (first - 1) // 2
        policy = self.header["settings"]["policy"]
        is_small = n_pairs <= library.max_pairs() or library.capabilities(policy).any_size
        _require(is_small, f"{policy} does not support so many pairs")
        return self.header | {"n_results": self.n_results}

    # The history -----------------------------------------------------------------------------------------------------

    def _change(self, row: Any) -> None:
        action, last = row.action, len(self.results_by_version) - 1
        _require(row.version == last + 1, f"change {row.version} comes after {last}")
        _require(action in _data and (action == "create") == (not last), f"{action!r} is no action, or not here")
        _require(_is_time(row.at), f"{row.at!r} is not a time")
        _require(row.by.isprintable(), f"{row.by!r} is no author")  # it is shown in terminals
        data = _data[action].decode(row.data)
        for pair in getattr(data, "pairs", ()):
            self._require_pair(pair, len(self.sides))
        getattr(self, f"_after_{action.replace(' ', '_')}")(data, row)
        self.results_by_version.append(self.n_results)

    def _after_create(self, data: Any, row: Any) -> None:
        self.league = _plain(data) | {"created_at": row.at, "archived_at": None}

    def _after_join(self, data: Any, row: Any) -> None:
        for item, side in data.items:
            _require(item == len(self.sides) + 1, f"item {item} joins after {len(self.sides)}")
            _require(side == 0 or self.header["sides"] is not None, "players have no sides")
            self.sides.append(side)
            self.active.append(True)
        self._set_active(data.back, True)

    def _after_leave(self, data: Any, row: Any) -> None:
        self._set_active(data.items, row.action == "rejoin")

    _after_rejoin = _after_leave

    def _set_active(self, items: Iterable[int], active: bool) -> None:
        for item in items:
            can_change = item <= len(self.sides) and self.active[item - 1] != active and item not in self.erased
            _require(can_change, f"item {item} cannot {'come back' if active else 'leave'}")
            self.active[item - 1] = active

    def _after_rename(self, data: Any, row: Any) -> None:
        (item,) = data.items
        _require(item <= len(self.sides) and item not in self.erased, f"there is no item {item} with a name")

    def _after_erase(self, data: Any, row: Any) -> None:
        (item,) = data.items
        _require(item <= len(self.sides), f"there is no item {item}")
        self.erased.add(item)
        self.active[item - 1] = False
        self.rules = {pair: rule for pair, rule in self.rules.items() if item not in pair or rule[0] != "pin"}

    def _after_exclude(self, data: Any, row: Any) -> None:
        for pair in data.pairs:  # a pin may have been used up
            _require(self.rules.get(pair, ("pin",))[0] == "pin", f"{pair} are excluded already")
            self.rules[pair] = (row.action, row.version)
        _require(len(self.rules) <= MAX_RULES, f"a league has at most {MAX_RULES} exclusions and pins")

    _after_pin = _after_exclude

    def _after_unexclude(self, data: Any, row: Any) -> None:
        for pair in data.pairs:
            _require(f"un{self.rules.pop(pair, ('', 0))[0]}" == row.action, f"{pair} have no such rule")

    _after_unpin = _after_unexclude

    def _after_configure(self, data: Any, row: Any) -> None:
        self.league["settings"] |= msgspec.to_builtins(data)

    def _after_import_results(self, data: Any, row: Any) -> None:
        self.n_past += data.results
        self.n_results += data.results
        _require(not self.proposals and self.n_results < 2**62, "so many results cannot be imported, or not here")

    def _after_ask(self, data: Any, row: Any) -> None:
        _require(data.proposal == len(self.proposals) + 1, f"proposal {data.proposal} after {len(self.proposals)}")
        settings, n = self.league["settings"], data.n_pairs
        columns = {"version": row.version, "n_pairs": n, "n_waiting": n, "policy": settings["policy"]}
        columns["propensity_draws"] = settings["record_propensity"] or None
        others = {"at": row.at, "deadline": settings["deadline"], "n_items": len(self.sides)}
        self.proposals.append({"columns": columns, **others})

    def _after_tell(self, data: Any, row: Any) -> None:
        number = data.proposal
        _require(1 <= number <= len(self.proposals), f"there is no proposal {number}")
        for a, b, reward in data.outcomes:
            _require((number, a, b) not in self.outcomes, "it is the second outcome of a pair")
            self._set_outcome((number, a, b), reward, row.version)
        self.proposals[number - 1]["columns"]["n_waiting"] -= len(data.outcomes)

    def _after_correct(self, data: Any, row: Any) -> None:
        for a, b, old, new in data.outcomes:
            key = data.proposal, a, b
            _require(key in self.outcomes and self.outcomes[key][0] == old, "it corrects another outcome")
            self.n_results -= old is not None
            self._set_outcome(key, new, row.version)

    def _set_outcome(self, key: tuple[int, int, int], reward: float | None, version: int) -> None:
        _require(reward is None or self.rewards.is_possible(reward), "it is an impossible outcome")
        self.outcomes[key] = reward, version
        self.n_results += reward is not None

    def _after_archive(self, data: Any, row: Any) -> None:
        self.league["archived_at"] = row.at

    def _after_restore(self, data: Any, row: Any) -> None:
        self.league["archived_at"] = None

    def _after_delete(self, data: Any, row: Any) -> None:
        """The time is not exported: deleted leagues are not."""

    # The other tables ------------------------------------------------------------------------------------------------

    def _past_result(self, row: Any) -> None:
        self._next_pair(row, len(self.sides))
        is_possible = 1 <= row.count <= library.max_plays() and not self.rewards.impossible(row.total, row.count)
        _require(bool(is_possible), "its results cannot sum to this")
        self.n_past -= row.count

    def _proposal(self, row: Any) -> None:
        self._end_proposal()
        is_next = row.number == self.n_proposals + 1 <= len(self.proposals)
        _require(is_next, f"proposal {row.number} comes after {self.n_proposals} of {len(self.proposals)}")
        expected = self.proposals[row.number - 1]
        for name, value in expected["columns"].items():
            _require(getattr(row, name) == value, f"the history says otherwise of {name}")
        _require(1 <= row.based_on < row.version, "it is based on no earlier change")
        _require(row.n_results == self.results_by_version[row.based_on], "it miscounts the results")
        is_due = (row.due is None) == (expected["deadline"] is None)
        if is_due and row.due is not None:  # deadlines stand still while a league is archived
            is_due = _is_time(row.due) and row.due >= _later(expected["at"], expected["deadline"])
        _require(is_due, "the history says otherwise of its deadline")
        items = [*row.byes, *(row.available or ()), *(note.item for note in row.notes if hasattr(note, "item"))]
        _require(max(items, default=0) <= expected["n_items"], "there is no such item")
        self.taken, available = set(row.byes), row.available or row.byes
        _require(len(self.taken) == len(row.byes) and self.taken.issubset(available), "its byes cannot be")
        _require(row.available is None or available == sorted(set(available)), "its available items are not in order")
        self.byes.update(row.byes)
        self.n_proposals, self.proposal, self.last_pair = row.number, row, (0, 0)
        self.positions = set(range(row.n_pairs))

    def _proposal_pair(self, row: Any) -> None:
        proposal: Any = self.proposal
        _require(proposal is not None and row.number == proposal.number, "its proposal does not precede it")
        pair = self._next_pair(row, self.proposals[row.number - 1]["n_items"])
        _require(self.taken.isdisjoint(pair), "an item is in two pairs, or sits out as well")
        self.taken.update(pair)
        _require(row.position in self.positions, "two pairs have one position")
        self.positions.remove(row.position)
        outcome = self.outcomes.pop((row.number, *pair), (None, None))
        _require((row.outcome, row.outcome_version) == outcome, "the history says otherwise of its outcome")
        kind, since = self.rules.get(pair, ("", 0))
        if row.fixed and kind == "pin" and since < proposal.version:
            del self.rules[pair]

    def _end_proposal(self) -> None:
        proposal: Any = self.proposal
        if proposal is not None:
            _require(not self.positions, f"pairs of proposal {proposal.number} are missing")
            are_available = proposal.available is None or self.taken.issubset(proposal.available)
            _require(are_available, f"an item of proposal {proposal.number} was absent")

    def _rule(self, row: Any) -> None:
        pair = self._next_pair(row, len(self.sides))
        _require(self.rules.pop(pair, None) == (row.kind, row.version), "it is not in the history")

    def _item(self, row: Any) -> None:
        item, side, name, n = row.id, row.side, row.name, len(self.proposals)
        _require(item == self.n_items + 1 <= len(self.sides), f"item {item} comes after {self.n_items}")
        _require(side == self.sides[item - 1] and row.position == self.on_side[side], "its place is another one")
        expected = self.active[item - 1], self.byes[item]
        _require((row.active, row.byes) == expected, "the history says otherwise of it")
        _require(row.byes <= row.bye_level <= n and row.last_bye <= n, "its byes are miscounted")
        _require(1 <= row.version < len(self.results_by_version), "it was written by no change")
        self.n_items, self.on_side[side] = item, self.on_side[side] + 1
        try:
            is_valid = name is None or (normalize_name(name) == name and item not in self.erased)
        except LeagueError as error:
            raise _Damage(str(error).rstrip(".")) from None
        _require(is_valid, f"{name!r} cannot be its name")
        _require(name is None or (side, name) not in self.names, f"{name!r} is the name of two items")
        self.names.add((side, name))

    def _next_pair(self, row: Any, n_items: int) -> tuple[int, int]:
        pair = row.a, row.b
        _require(pair > self.last_pair, f"the pair {pair} comes after {self.last_pair}")
        self._require_pair(pair, n_items)
        self.last_pair = pair
        return pair

    def _require_pair(self, pair: tuple[int, int], n_items: int) -> None:
        a, b = pair
        if self.header["sides"] is None:
            is_pair = 1 <= a < b <= n_items
        else:
            is_pair = 1 <= a <= n_items and 1 <= b <= n_items and (self.sides[a - 1], self.sides[b - 1]) == (0, 1)
        _require(is_pair, f"{pair} are no pair of its items")


def _is_time(text: str) -> bool:
    try:
        return format_time(datetime.fromisoformat(text)) == text
    except (ValueError, OverflowError):
        return False


def _later(at: str, seconds: float) -> str:
    try:
        return add_seconds(at, seconds)
    except (ValueError, OverflowError):
        raise _Damage("its deadline is beyond all times") from None
