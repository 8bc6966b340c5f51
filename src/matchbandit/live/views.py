"""What people read of a league: proposals, history, meetings and the audit trail, made from events and state.

Here ids become names, and codes become sentences.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from matchbandit.errors import float_text, plural
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Event, proposal_number
from matchbandit.live.model import LeagueModel
from matchbandit.live.names import Directory
from matchbandit.live.records import VOID, Meetings, Names, Outcome, Proposal, ProposalSummary
from matchbandit.live.state import ProposalState
from matchbandit.live.tally import key_of, pair_of

MOST_NAMED = 5
"""Items or pairs that a line of the audit trail names."""


# Proposals -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """A proposal and all that came of it, by id."""

    state: ProposalState
    """Its pairs and what is known of them: what `tell` and `correct` need of a closed proposal."""
    data: Mapping[str, Any]
    """What was recorded when it was proposed."""
    at: str
    by: str


def proposal_from(events: Iterable[Event]) -> Record:
    """The record of one proposal, from all events about it, in order."""
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
    """What is known of a proposal, in the order of its pairs."""
    return {directory.pair(pair_of(key)): _outcome(state.known[key]) for key in state.pairs if key in state.known}


def _outcome(reward: float | None) -> Outcome:
    return VOID if reward is None else reward


def notes(data: Mapping[str, Any], directory: Directory) -> list[str]:
    """A sentence for each note of a proposal; codes of newer programs are passed over."""
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
    """A row of the table of proposals, as a record."""
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
    """The table of those who are active; of more than `most` on a side, those who met most."""
    results, n_items = model.results, len(model.active)
    totals = np.zeros(n_items + 1, dtype=np.int64)
    np.add.at(totals, results.a, results.counts)
    np.add.at(totals, results.b, results.counts)
    active = [item for item in range(1, n_items + 1) if model.active[item - 1]]
    rows = _most(active, totals, most) if not model.two_sided else _most(_of_side(model, active, 0), totals, most)
    columns = rows if not model.two_sided else _most(_of_side(model, active, 1), totals, most)
    counts = [[0] * len(columns) for _ in rows]
    means: list[list[float | None]] = [[None] * len(columns) for _ in rows]
    row_of, column_of = ({item: place for place, item in enumerate(listed)} for listed in (rows, columns))
    listed = zip(results.a.tolist(), results.b.tolist(), results.counts.tolist(), results.paid.tolist(), strict=True)
    for a, b, count, paid in listed:
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
    """What happened, in one sentence."""
    words = _SENTENCES.get(event.kind)
    if words is None:
        return f"Something of the kind {event.kind} happened, which this program does not know."
    return words(event.data, directory)


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
    "joined": lambda data, known: f"{_names(known, [item for item, _ in data['items']])} joined.",
    "left": lambda data, known: f"{_names(known, data['items'])} left.",
    "returned": lambda data, known: f"{_names(known, data['items'])} came back.",
    "renamed": lambda data, known: f"Item {data['item']} was renamed; it is {known.name(data['item'])} now.",
    "forgotten": lambda data, known: f"The name of item {data['item']} was erased.",
    "excluded": lambda data, known: f"{_pairs(known, data['pairs'])} must not meet.",
    "allowed": lambda data, known: f"{_pairs(known, data['pairs'])} may meet again.",
    "wished": lambda data, known: f"{_pairs(known, data['pairs'])} were wished for.",
    "unwished": lambda data, known: f"The wish for {_pairs(known, data['pairs'])} was taken back.",
    "configured": _configured,
    "began": _began,
    "proposed": _proposed,
    "told": lambda data, known: f"Outcomes of proposal {data['proposal']}: {_told(known, data['outcomes'])}.",
    "corrected": lambda data, known: (
        f"Proposal {data['proposal']} was corrected: {_corrected(known, data['outcomes'])}."
    ),
    "expired": lambda data, known: (
        f"The deadline of proposal {data['proposal']} passed: {_told(known, data['outcomes'])}."
    ),
    "archived": lambda data, known: "The league was archived.",
    "deleted": lambda data, known: "The league was deleted.",
    "restored": lambda data, known: "The league was restored.",
}


def _setting(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {inner}" for name, inner in value.items()) + "}"
    return "none" if value is None else str(value)


def _listed(texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:MOST_NAMED])
    return shown if len(texts) <= MOST_NAMED else f"{shown} and {len(texts) - MOST_NAMED} more"


def _names(directory: Directory, ids: Sequence[int]) -> str:
    return _listed([directory.name(item) for item in ids])


def _pairs(directory: Directory, pairs: Sequence[Sequence[int]]) -> str:
    return _listed([" + ".join(directory.pair(pair)) for pair in pairs])


def _words(reward: float | None) -> str:
    return "void" if reward is None else float_text(reward)


def _told(directory: Directory, rows: Sequence[Sequence[Any]]) -> str:
    return _listed([f"{' + '.join(directory.pair(row[:2]))} = {_words(row[2])}" for row in rows])


def _corrected(directory: Directory, rows: Sequence[Sequence[Any]]) -> str:
    return _listed([f"{' + '.join(directory.pair(row[:2]))} = {_words(row[3])}, not {_words(row[2])}" for row in rows])
