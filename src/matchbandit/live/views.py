"""Readable views of a league: proposals, history, meetings and the audit trail, from events and state.

Ids become names, and codes become sentences.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from matchbandit.formatting import float_text, plural
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Event, proposal_number
from matchbandit.live.model import LeagueModel
from matchbandit.live.names import Directory
from matchbandit.live.records import VOID, Meetings, Names, Outcome, Proposal, ProposalSummary
from matchbandit.live.state import ProposalState
from matchbandit.live.tally import key_of, pair_of

MAX_NAMED = 5
"""Most items or pairs named in a line of the audit trail."""


# Proposals -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """A proposal and its outcomes, by id."""

    state: ProposalState
    """Its pairs and outcomes, which `tell` and `correct` need of a closed proposal."""
    data: Mapping[str, Any]
    """The data of its "proposed" event."""
    at: str
    by: str


def proposal_from(events: Iterable[Event]) -> Record:
    """The record of a proposal, from all its events in order."""
    record: Record | None = None
    for event in events:
        if event.kind == "proposed":
            state = ProposalState(event.data["number"], event.seq, event.data, event.at)
            record = Record(state, event.data, event.at, event.by)
        elif record is not None and proposal_number(event.kind, event.data) == record.state.number:
            for row in event.data["outcomes"]:
                record.state.known[key_of(row[0], row[1])] = row[-1]
    if record is None:
        raise LeagueError("unknown-proposal", "there is no such proposal in these events.")
    return record


def proposal(record: Record, directory: Directory) -> Proposal:
    """The proposal with names."""
    data, state = record.data, record.state
    shadow = data.get("shadow")
    if shadow is not None and "pairs" in shadow:
        shadow = {**shadow, "pairs": [directory.pair(pair) for pair in shadow["pairs"]]}
    return Proposal(
        number=state.number,
        pairs=[directory.pair(pair) for pair in state.ids],
        byes=[directory.name(item) for item in state.byes],
        ids=state.ids,
        bye_ids=list(state.byes),
        at=record.at,
        due=state.due,
        outcomes=outcomes(state, directory),
        fixed=[directory.pair(pair) for pair in state.fixed],
        expected=data.get("expected"),
        best=data.get("best"),
        notes=notes(data, directory),
        shadow=shadow,
        propensities={
            directory.pair(pair): share
            for pair, share in zip(state.ids, data.get("propensities", ()), strict=False)
            if share is not None
        },
        propensity_draws=data.get("propensity_draws"),
    )


def outcomes(state: ProposalState, directory: Directory) -> dict[Names, Outcome]:
    """The recorded outcomes of a proposal, in the order of its pairs."""
    return {directory.pair(pair_of(key)): _outcome(state.known[key]) for key in state.pairs if key in state.known}


def _outcome(reward: float | None) -> Outcome:
    return VOID if reward is None else reward


def notes(data: Mapping[str, Any], directory: Directory) -> list[str]:
    """A sentence for each note of a proposal; unknown codes of newer versions are skipped."""
    sentences = []
    for code, *rest in data.get("notes", []):
        if code == "turn":
            sentences.append(f"{directory.name(rest[0])} sits out: it is their turn.")
        elif code == "left":
            sentences.append(f"{directory.name(rest[0])} sits out: all who could be partners are paired with others.")
        elif code == "nobody":
            why = {
                "excluded": "all partners are excluded. Allow one of them (allow)",
                "met": "all partners were met too lately. Lower no_rematch",
                "both": "all partners are excluded or were met too lately. Allow one of them, or lower no_rematch",
            }[rest[1]]
            sentences.append(f"{directory.name(rest[0])} sits out: {why}.")
        elif code == "near":
            value, bound = rest
            share = f", {value / bound:.1%} of that" if bound > 0 else ""
            sentences.append(
                f"With so many players and rules the matching is near the best one, not proved to be it: its value is "
                f"{value:g}, and without rules at most {bound:g} were possible{share}."
            )
    return sentences


def proposal_summary(row: Mapping[str, Any]) -> ProposalSummary:
    """Convert a row of the proposals table."""
    expected, best = row["expected"], row["best"]
    return ProposalSummary(
        number=row["number"],
        at=row["at"],
        due=row["due"],
        pairs=row["n_pairs"],
        told=row["n_told"] + row["n_void"],
        void=row["n_void"],
        reward=row["reward"],
        expected_of_told=row["expected_of_told"],
        expected=expected,
        best=best,
        explored=None if expected is None or not best else max(0.0, 1.0 - expected / best),
    )


# Meetings ------------------------------------------------------------------------------------------------------------


def meetings(model: LeagueModel, *, most: int = 200) -> Meetings:
    """The table of active items; with more than `most` on a side, those with the most meetings."""
    results, n_items = model.results, len(model.active)
    totals = np.zeros(n_items + 1, dtype=np.int64)
    np.add.at(totals, results.a, results.counts)
    np.add.at(totals, results.b, results.counts)
    active = [item for item in range(1, n_items + 1) if model.active[item - 1]]
    rows = _most(active, totals, most) if not model.two_sided else _most(_of_side(model, active, 0), totals, most)
    columns = rows if not model.two_sided else _most(_of_side(model, active, 1), totals, most)
    counts = [[0] * len(columns) for _ in rows]
    means: list[list[float | None]] = [[None] * len(columns) for _ in rows]
    row_of, column_of = ({item: index for index, item in enumerate(items)} for items in (rows, columns))
    pairs = zip(results.a.tolist(), results.b.tolist(), results.counts.tolist(), results.paid.tolist(), strict=True)
    for a, b, count, paid in pairs:
        for i, j in ((a, b),) if model.two_sided else ((a, b), (b, a)):
            if count and i in row_of and j in column_of:
                counts[row_of[i]][column_of[j]] = count
                means[row_of[i]][column_of[j]] = paid / count
    return Meetings(rows, columns, counts, means)


def _of_side(model: LeagueModel, items: list[int], side: int) -> list[int]:
    return [item for item in items if model.sides[item - 1] == side]


def _most(items: list[int], totals: "np.ndarray[Any, np.dtype[np.int64]]", most: int) -> list[int]:
    if len(items) <= most:
        return items
    return sorted(sorted(items, key=lambda item: (-int(totals[item]), item))[:most])


# The audit trail -----------------------------------------------------------------------------------------------------


def sentence(event: Event, directory: Directory) -> str:
    """Describe an event in one sentence."""
    describe = _SENTENCES.get(event.kind)
    if describe is None:
        return f"An event of the unknown kind {event.kind}, from a newer version of matchbandit."
    return describe(event.data, directory)


def _created(data: Mapping[str, Any], directory: Directory) -> str:
    of = " and ".join(data["sides"]) if data["sides"] else "players"
    return f"The league was created, of {of}, with {data['policy']} and {data['rewards']} rewards."


def _configured(data: Mapping[str, Any], directory: Directory) -> str:
    changes = ", ".join(f"{name} = {_setting(value)}" for name, value in data.items())
    return f"Settings were changed: {changes}."


def _began(data: Mapping[str, Any], directory: Directory) -> str:
    plays = sum(row[2] for row in data["results"])
    return f"{plural(plays, 'result')} from before, of {plural(len(data['results']), 'pair')}, were taken in."


def _proposed(data: Mapping[str, Any], directory: Directory) -> str:
    byes = f"; {_names(directory, data['byes'])} sat out" if data["byes"] else ""
    return f"Proposal {data['number']}: {_pairs(directory, data['pairs'])}{byes}."


_SENTENCES: dict[str, Callable[[Mapping[str, Any], Directory], str]] = {
    "created": _created,
    "joined": lambda data, directory: f"{_names(directory, [item for item, _ in data['items']])} joined.",
    "left": lambda data, directory: f"{_names(directory, data['items'])} left.",
    "returned": lambda data, directory: f"{_names(directory, data['items'])} came back.",
    "renamed": lambda data, directory: f"Item {data['item']} was renamed; it is {directory.name(data['item'])} now.",
    "forgotten": lambda data, directory: f"The name of item {data['item']} was erased.",
    "excluded": lambda data, directory: f"{_pairs(directory, data['pairs'])} must not meet.",
    "allowed": lambda data, directory: f"{_pairs(directory, data['pairs'])} may meet again.",
    "wished": lambda data, directory: f"{_pairs(directory, data['pairs'])} were wished for.",
    "unwished": lambda data, directory: f"The wish for {_pairs(directory, data['pairs'])} was taken back.",
    "configured": _configured,
    "began": _began,
    "proposed": _proposed,
    "told": lambda data, directory: (
        f"Outcomes of proposal {data['proposal']}: {_list_outcomes(directory, data['outcomes'])}."
    ),
    "corrected": lambda data, directory: (
        f"Proposal {data['proposal']} was corrected: {_list_corrections(directory, data['outcomes'])}."
    ),
    "expired": lambda data, directory: (
        f"The deadline of proposal {data['proposal']} passed: {_list_outcomes(directory, data['outcomes'])}."
    ),
    "archived": lambda data, directory: "The league was archived.",
    "deleted": lambda data, directory: "The league was deleted.",
    "restored": lambda data, directory: "The league was restored.",
}


def _setting(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {inner}" for name, inner in value.items()) + "}"
    return "none" if value is None else str(value)


def _join(texts: Sequence[str]) -> str:
    text = ", ".join(texts[:MAX_NAMED])
    return text if len(texts) <= MAX_NAMED else f"{text} and {len(texts) - MAX_NAMED} more"


def _names(directory: Directory, ids: Sequence[int]) -> str:
    return _join([directory.name(item) for item in ids])


def _pairs(directory: Directory, pairs: Sequence[Sequence[int]]) -> str:
    return _join([" + ".join(directory.pair(pair)) for pair in pairs])


def _outcome_text(reward: float | None) -> str:
    return "void" if reward is None else float_text(reward)


def _list_outcomes(directory: Directory, rows: Sequence[Sequence[Any]]) -> str:
    return _join([f"{' + '.join(directory.pair(row[:2]))} = {_outcome_text(row[2])}" for row in rows])


def _list_corrections(directory: Directory, rows: Sequence[Sequence[Any]]) -> str:
    return _join(
        [
            f"{' + '.join(directory.pair(row[:2]))} = {_outcome_text(row[3])}, not {_outcome_text(row[2])}"
            for row in rows
        ]
    )
