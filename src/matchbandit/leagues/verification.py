"""What an export may say: each line has the columns of its table, and all tables agree with the history.

The history is replayed, and each row of another table is compared with what follows from it. An import verifies a file,
and `check` the lines that an export of a stored league would have.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Union

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType
from sqlalchemy import JSON, BigInteger, Column

from matchbandit.leagues import library, schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.names import check_slug, normalize_name
from matchbandit.leagues.rules import MAX_RULES
from matchbandit.leagues.settings import LeagueSettings
from matchbandit.leagues.transaction import add_seconds, format_time

FORMAT = 1
TABLES = {
    table.name.removeprefix("mb_"): table
    for table in (schema.change, schema.past_result, schema.proposal, schema.proposal_pair, schema.rule, schema.item)
}
"""The tables of an export, in order; totals are derived, and keys and tokens belong to the store."""
Ids = tuple[int, int]

# Types ---------------------------------------------------------------------------------------------------------------

_Id = Annotated[int, Meta(ge=1, lt=2**31)]
_Count = Annotated[int, Meta(ge=0, lt=2**31)]
_Large = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Text = Annotated[str, Meta(max_length=1000, pattern=r"^[^\x00]*$")]
_Pair = tuple[_Id, _Id]


def _struct(name: str, types: dict[str, Any], **options: Any) -> Any:
    return msgspec.defstruct(name, list(types.items()), forbid_unknown_fields=True, **options)


def _note(code: str, **types: Any) -> Any:
    return _struct(code, types, array_like=True, tag=code)


_NOTES: Any = (
    _note("turn", item=_Id),
    _note("left", item=_Id),
    _note("nobody", item=_Id, why=Literal["excluded", "met", "both"]),
    _note("near", value=float, bound=float),
)
_JSON = {"available": list[_Id], "byes": list[_Id], "notes": list[Union[_NOTES]], "data": Raw}  # noqa: UP007
_RANGES: dict[str, Any] = {
    "a": _Id,
    "b": _Id,
    "id": _Id,
    "side": Literal[0, 1],
    "kind": Literal["exclude", "pin"],
    "propensity": Annotated[float, Meta(ge=0, le=1)],
}
"""Columns with a smaller range than their type."""


def _column_type(column: Column[Any]) -> Any:
    if isinstance(column.type, JSON):
        kind: Any = _JSON[column.name]
    else:
        python_type = column.type.python_type
        whole = _Large if isinstance(column.type, BigInteger) else _Count
        kind = _RANGES.get(column.name, {int: whole, str: _Text}.get(python_type, python_type))
    return kind | None if column.nullable else kind


_ROWS = tuple(
    _struct(name, {str(c.name): _column_type(c) for c in table.c if c.name != "league_id"}, tag_field="table", tag=name)
    for name, table in TABLES.items()
)
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
_LEAGUE: dict[str, Any] = {
    "sides": tuple[str, str] | None,
    "rewards": str,
    "seed": _Large,
    "settings": _struct("settings", SETTINGS),
}
HEADER: dict[str, Any] = {
    "slug": str,
    **_LEAGUE,
    "stream": str,
    "version": _Large,
    "n_proposals": _Large,
    "created_at": str,
    "archived_at": str | None,
}
MARK = "matchbandit-league"
_header = msgspec.json.Decoder(_struct("header", {"format": int, **HEADER}, rename={"format": MARK}))
_mark: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
    msgspec.defstruct("mark", [("format", int)], rename={"format": MARK})
)
_row = msgspec.json.Decoder(Union[_ROWS])  # noqa: UP007
_ITEMS, _PAIRS = {"items": list[_Id]}, {"pairs": list[_Pair]}
_DATA: dict[str, dict[str, Any]] = {
    "create": _LEAGUE,
    "join": {"items": list[tuple[_Id, Literal[0, 1]]], "back": list[_Id]},
    "leave": _ITEMS,
    "rejoin": _ITEMS,
    "rename": {"items": tuple[_Id]},
    "erase": {"items": tuple[_Id]},
    "exclude": _PAIRS,
    "pin": _PAIRS,
    "unexclude": _PAIRS,
    "unpin": _PAIRS,
    "import results": {"n_pairs": _Count, "results": _Large},
    "ask": {"proposal": _Large, "n_pairs": _Count},
    "tell": {"proposal": _Large, "outcomes": list[tuple[_Id, _Id, float | None]]},
    "correct": {"proposal": _Large, "outcomes": list[tuple[_Id, _Id, float | None, float | None]]},
    "archive": {},
    "restore": {},
    "delete": {},
}
_data = {action: msgspec.json.Decoder(_struct(action, types)) for action, types in _DATA.items()}
_data["configure"] = msgspec.json.Decoder(
    msgspec.defstruct(
        "configure", [(name, kind | UnsetType, UNSET) for name, kind in SETTINGS.items()], forbid_unknown_fields=True
    )
)

# Verification --------------------------------------------------------------------------------------------------------


def verify(lines: Iterable[bytes], source: str, advice: str = "Export it again.") -> dict[str, Any]:
    """Verify the lines of an export, all but its checksum; returns the header and the number of results."""
    numbered = enumerate(lines, 1)
    number, first = next(numbered, (1, b""))
    try:
        verifier = _Verifier(_read_header(first, source))
        for number, line in numbered:  # noqa: B007 - it is the line of an error
            verifier.read(_row.decode(line))
        verifier.finish()
    except (_Damage, msgspec.DecodeError, RecursionError) as error:
        raise LeagueError("damaged", f"{source} is damaged: line {number}: {error}. {advice}") from None
    return verifier.header | {"n_results": verifier.n_results}


class _Damage(Exception):  # noqa: N818 - a reason, which `verify` makes an error of
    """What is wrong with a line."""


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise _Damage(reason)


def _read_header(line: bytes, source: str) -> dict[str, Any]:
    """The header, valid by itself."""
    format_ = _mark.decode(line).format
    if format_ > FORMAT:
        raise LeagueError(
            "not-supported", f"{source} is an export of format {format_}; this matchbandit reads {FORMAT}. Update it."
        )
    header: dict[str, Any] = msgspec.to_builtins(_header.decode(line))
    del header[MARK]
    header["sides"] = header["sides"] and list(header["sides"])
    try:
        for slug in (header["slug"], header["stream"]):
            check_slug(slug)
        for side in header["sides"] or ():
            _require(normalize_name(side) == side, f"{side!r} is not the name of a side")
        rewards = library.parse_rewards(header["rewards"])
        settings = LeagueSettings.from_config(header["settings"])
        valid = settings.validate("players" if header["sides"] is None else "sides", rewards).to_config()
    except LeagueError as error:
        raise _Damage(str(error).rstrip(".")) from None
    _require(valid == header["settings"] and rewards.notation == header["rewards"], "it is not as it would be written")
    _require(header["sides"] is None or len(set(header["sides"])) == 2, "its sides have one name")
    return header


@dataclass
class _Proposal:
    """What the history says of a proposal."""

    version: int
    at: str
    n_pairs: int
    n_items: int
    policy: str
    deadline: float | None
    draws: int | None
    waiting: int


class _Verifier:
    """Replays the history of a league, then compares the rows of the other tables with it."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.header = header
        self.rewards = library.parse_rewards(header["rewards"])
        self.settings: dict[str, Any] = {}
        self.created_at = ""
        self.archived_at: str | None = None
        self.sides: list[int] = []
        self.active: list[bool] = []
        self.erased: set[int] = set()
        self.rules: dict[Ids, tuple[str, int]] = {}
        self.proposals: list[_Proposal] = []
        self.outcomes: dict[tuple[int, int, int], tuple[float | None, int]] = {}
        self.n_past = self.n_results = 0
        self.results_by_version = array("q", [0])
        # what has been compared so far:
        self.table = ""
        self.last_ids: Ids = (0, 0)
        self.n_proposals = self.n_items = 0
        self.proposal: Any = None
        self.taken: set[int] = set()
        self.positions: set[int] = set()
        self.byes: Counter[int] = Counter()
        self.names: set[tuple[int, str]] = set()
        self.on_side = [0, 0]

    @property
    def version(self) -> int:
        """The last change."""
        return len(self.results_by_version) - 1

    def read(self, row: Any) -> None:
        """Verify a row."""
        table = type(row).__name__
        if table != self.table:
            order = list(TABLES)
            is_pair_then_proposal = (self.table, table) == ("proposal_pair", "proposal")
            _require(
                not self.table or is_pair_then_proposal or order.index(table) > order.index(self.table),
                f"a row of {table} after those of {self.table}",
            )
            self.table, self.last_ids = table, (0, 0)
        getattr(self, f"_{table}")(row)

    def finish(self) -> None:
        """Nothing is missing."""
        self._end_proposal()
        header = {
            name: self.header[name] for name in ("settings", "version", "n_proposals", "archived_at", "created_at")
        }
        counted = (self.settings, self.version, len(self.proposals), self.archived_at, self.created_at)
        for (name, value), actual in zip(header.items(), counted, strict=True):
            _require(value == actual, f"the header says otherwise of {name} than the history")
        _require(self.n_proposals == len(self.proposals), "proposals are missing")
        _require(not self.outcomes, "pairs are missing that have outcomes")
        _require(not self.n_past, "results from before the first proposal are missing")
        _require(not self.rules, "rules are missing")
        _require(self.n_items == len(self.sides), "items are missing")
        first, second = self.on_side
        n_pairs = first * (first - 1) // 2 if self.header["sides"] is None else first * second
        is_small = n_pairs <= library.max_pairs() or library.capabilities(self.settings["policy"]).any_size
        _require(is_small, f"{self.settings['policy']} does not support so many pairs")

    # The history -----------------------------------------------------------------------------------------------------

    def _change(self, row: Any) -> None:
        action: str = row.action
        _require(row.version == self.version + 1, f"change {row.version} comes after {self.version}")
        _require(action in _data, f"there is no action {action!r}")
        _require((row.version == 1) == (action == "create"), "a league is created by its first change, and only once")
        _require(_is_time(row.at), f"{row.at!r} is not a time")
        data = _data[action].decode(row.data)
        if hasattr(data, "pairs"):
            _require(len(set(data.pairs)) == len(data.pairs), "a pair is listed twice")
            for pair in data.pairs:
                self._require_pair(pair, len(self.sides))
        if action in ("leave", "rejoin", "rename", "erase"):
            _require(max(data.items, default=0) <= len(self.sides), "there is no such item")
        self._actions[action](self, data, row)
        self.results_by_version.append(self.n_results)

    def _create(self, data: Any, row: Any) -> None:
        created = msgspec.to_builtins(data)
        created["sides"] = created["sides"] and list(created["sides"])
        self.settings, self.created_at = created.pop("settings"), row.at
        for name, value in created.items():
            _require(value == self.header[name], f"the header says otherwise of {name}")

    def _join(self, data: Any, row: Any) -> None:
        for item, side in data.items:
            _require(item == len(self.sides) + 1, f"item {item} joins after {len(self.sides)}")
            _require(side == 0 or self.header["sides"] is not None, "players have no sides")
            self.sides.append(side)
            self.active.append(True)
        self._set_active(data.back, True)

    def _leave(self, data: Any, row: Any) -> None:
        self._set_active(data.items, False)

    def _rejoin(self, data: Any, row: Any) -> None:
        self._set_active(data.items, True)

    def _set_active(self, items: list[int], active: bool) -> None:
        for item in items:
            is_other = item <= len(self.sides) and self.active[item - 1] != active and item not in self.erased
            _require(is_other, f"item {item} cannot {'come back' if active else 'leave'}")
            self.active[item - 1] = active

    def _rename(self, data: Any, row: Any) -> None:
        _require(data.items[0] not in self.erased, f"item {data.items[0]} was erased before it was renamed")

    def _erase(self, data: Any, row: Any) -> None:
        (item,) = data.items
        self.erased.add(item)
        self.active[item - 1] = False
        for pair in [pair for pair, (kind, _) in self.rules.items() if item in pair and kind == "pin"]:
            del self.rules[pair]

    def _add_rules(self, data: Any, row: Any) -> None:
        for pair in data.pairs:  # a pin may have been used up
            _require(self.rules.get(pair, ("pin",))[0] == "pin", f"{pair} are excluded already")
            self.rules[pair] = (row.action, row.version)
        _require(len(self.rules) <= MAX_RULES, f"a league has at most {MAX_RULES} exclusions and pins")

    def _remove_rules(self, data: Any, row: Any) -> None:
        for pair in data.pairs:
            kind, _ = self.rules.pop(pair, ("", 0))
            _require(f"un{kind}" == row.action, f"{pair} have no such rule")

    def _configure(self, data: Any, row: Any) -> None:
        self.settings = self.settings | msgspec.to_builtins(data)

    def _import_results(self, data: Any, row: Any) -> None:
        _require(not self.proposals, "earlier results are imported after a proposal")
        self.n_past += data.results
        self.n_results += data.results
        _require(self.n_results < 2**62, "too many results")

    def _ask(self, data: Any, row: Any) -> None:
        _require(data.proposal == len(self.proposals) + 1, f"proposal {data.proposal} after {len(self.proposals)}")
        settings, n_pairs = self.settings, data.n_pairs
        draws = settings["record_propensity"] or None
        values = (row.version, row.at, n_pairs, len(self.sides), settings["policy"], settings["deadline"], draws)
        self.proposals.append(_Proposal(*values, n_pairs))

    def _tell(self, data: Any, row: Any) -> None:
        number, known = data.proposal, self.outcomes
        _require(1 <= number <= len(self.proposals), f"there is no proposal {number}")
        for a, b, reward in data.outcomes:
            _require((number, a, b) not in known and self._is_possible(reward), "it is an impossible outcome")
            known[number, a, b] = reward, row.version
            self.n_results += reward is not None
        self.proposals[number - 1].waiting -= len(data.outcomes)

    def _correct(self, data: Any, row: Any) -> None:
        for a, b, old, new in data.outcomes:
            before, _ = self.outcomes.get((data.proposal, a, b), ("", 0))
            _require(before == old and self._is_possible(new), "it corrects another outcome")
            self.outcomes[data.proposal, a, b] = new, row.version
            self.n_results += (new is not None) - (old is not None)

    def _archive(self, data: Any, row: Any) -> None:
        self.archived_at = row.at

    def _restore(self, data: Any, row: Any) -> None:
        self.archived_at = None

    def _delete(self, data: Any, row: Any) -> None:
        pass  # the time is not exported: deleted leagues are not

    _actions: ClassVar[dict[str, Callable[[Any, Any, Any], None]]] = {
        "create": _create,
        "join": _join,
        "leave": _leave,
        "rejoin": _rejoin,
        "rename": _rename,
        "erase": _erase,
        "exclude": _add_rules,
        "pin": _add_rules,
        "unexclude": _remove_rules,
        "unpin": _remove_rules,
        "configure": _configure,
        "import results": _import_results,
        "ask": _ask,
        "tell": _tell,
        "correct": _correct,
        "archive": _archive,
        "restore": _restore,
        "delete": _delete,
    }

    # The other tables ------------------------------------------------------------------------------------------------

    def _past_result(self, row: Any) -> None:
        self._next_pair(row, len(self.sides))
        is_possible = 1 <= row.count <= library.max_plays() and not self.rewards.impossible(row.total, row.count)
        _require(bool(is_possible), "its results cannot sum to this")
        self.n_past -= row.count

    def _proposal(self, row: Any) -> None:
        self._end_proposal()
        _require(row.number == self.n_proposals + 1, f"proposal {row.number} comes after {self.n_proposals}")
        _require(row.number <= len(self.proposals), "it is not in the history")
        expected = self.proposals[row.number - 1]
        for name, value in (
            ("version", expected.version),
            ("n_pairs", expected.n_pairs),
            ("n_waiting", expected.waiting),
            ("policy", expected.policy),
            ("propensity_draws", expected.draws),
        ):
            _require(getattr(row, name) == value, f"the history says otherwise of {name}")
        _require(1 <= row.based_on < row.version, "it is based on no earlier change")
        _require(row.n_results == self.results_by_version[row.based_on], "it miscounts the results")
        _require((row.due is None) == (expected.deadline is None), "the history says otherwise of its deadline")
        if row.due is not None and expected.deadline is not None:  # it stands still while the league is archived
            is_later = _is_time(row.due) and row.due >= _later(expected.at, expected.deadline)
            _require(is_later, "the history says otherwise of its deadline")
        items = [*row.byes, *(row.available or ()), *(note.item for note in row.notes if hasattr(note, "item"))]
        _require(max(items, default=0) <= expected.n_items, "there is no such item")
        self.taken = set(row.byes)
        _require(len(self.taken) == len(row.byes), "an item sits out twice")
        if row.available is not None:
            _require(row.available == sorted(set(row.available)), "the available items are not in order")
            _require(self.taken <= set(row.available), "an item sits out that is absent")
        self.byes.update(row.byes)
        self.n_proposals, self.proposal, self.last_ids = row.number, row, (0, 0)
        self.positions = set(range(row.n_pairs))

    def _proposal_pair(self, row: Any) -> None:
        proposal = self.proposal
        _require(proposal is not None and row.number == proposal.number, "its proposal does not precede it")
        pair = self._next_pair(row, self.proposals[row.number - 1].n_items)
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
        if self.proposal is not None:
            _require(not self.positions, f"pairs of proposal {self.proposal.number} are missing")
            available = self.proposal.available
            _require(available is None or self.taken <= set(available), "an item was paired that is absent")
            self.proposal = None

    def _rule(self, row: Any) -> None:
        pair = self._next_pair(row, len(self.sides))
        _require(self.rules.pop(pair, None) == (row.kind, row.version), "it is not in the history")

    def _item(self, row: Any) -> None:
        item, last = row.id, len(self.proposals)
        _require(item == self.n_items + 1, f"item {item} comes after {self.n_items}")
        _require(item <= len(self.sides), "it never joined")
        expected = (self.sides[item - 1], self.on_side[row.side], self.active[item - 1], self.byes[item])
        _require((row.side, row.position, row.active, row.byes) == expected, "the history says otherwise of it")
        _require(row.byes <= row.bye_level <= last and row.last_bye <= last, "its byes are miscounted")
        _require(1 <= row.version <= self.version, "it was written by no change")
        self.n_items, self.on_side[row.side] = item, self.on_side[row.side] + 1
        if row.name is None:
            return
        try:
            is_valid = normalize_name(row.name) == row.name
        except LeagueError as error:
            raise _Damage(str(error).rstrip(".")) from None
        _require(is_valid and item not in self.erased, f"{row.name!r} cannot be its name")
        _require((row.side, row.name) not in self.names, f"{row.name!r} is the name of two items")
        self.names.add((row.side, row.name))

    # Parts -----------------------------------------------------------------------------------------------------------

    def _next_pair(self, row: Any, n_items: int) -> Ids:
        pair = row.a, row.b
        _require(pair > self.last_ids, f"the pair {pair} comes after {self.last_ids}")
        self._require_pair(pair, n_items)
        self.last_ids = pair
        return pair

    def _require_pair(self, pair: Ids, n_items: int) -> None:
        a, b = pair
        is_pair = a <= n_items and b <= n_items
        if self.header["sides"] is None:
            is_pair = is_pair and a < b
        else:
            is_pair = is_pair and self.sides[a - 1] == 0 and self.sides[b - 1] == 1
        _require(is_pair, f"{pair} are no pair of its items")

    def _is_possible(self, reward: float | None) -> bool:
        return reward is None or self.rewards.is_possible(reward)


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
