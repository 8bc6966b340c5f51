"""Explain an item, a pair, a proposal or a league, in numbers and in sentences without jargon."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matchbandit.formatting import plural
from matchbandit.live.model import LeagueModel
from matchbandit.live.names import Directory
from matchbandit.live.records import VOID
from matchbandit.live.tally import key_of, pair_of
from matchbandit.live.views import Record, notes
from matchbandit.policies.catalogue import CATALOGUE
from matchbandit.rewards import RewardDistribution

MAX_NOTES = 10
"""Notes of a proposal, such as who sits out, that its explanation repeats."""


@dataclass(frozen=True)
class Why:
    """An explanation."""

    sentence: str
    """The explanation in words."""
    numbers: dict[str, Any] = field(default_factory=dict)
    """The details as plain JSON data."""

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence


def why_item(model: LeagueModel, directory: Directory, item: int) -> Why:
    """Explain the strength of an item."""
    strength, low, high, meetings, mean = model.item(item)
    place, of = model.place(item)
    name = directory.name(item)
    parts = [f"{name} has a strength of about {strength:.2f} (with 90 % between {low:.2f} and {high:.2f})"]
    if meetings:
        parts.append(f", from {plural(meetings, 'result')} that were {mean:.2f} on average.")
    else:
        parts = [
            f"{name} has no results yet and is taken for average: a strength of {strength:.2f}, which may well be "
        ]
        parts.append(f"anything between {low:.2f} and {high:.2f}.")
    if place is not None:
        parts.append(f" That is place {place} of {of}.")
    elif not model.active[item - 1]:
        parts.append(" It has left the league.")
    parts.append(" A pair is expected to achieve the product of its two strengths.")
    byes = model.byes[item - 1]
    if byes:
        parts.append(f" It has sat out {plural(byes, 'time')}.")
    return Why(
        "".join(parts),
        {
            "item": item,
            "name": name,
            "side": directory.side(item),
            "estimate": strength,
            "low": low,
            "high": high,
            "place": place,
            "of": of,
            "meetings": meetings,
            "mean": mean,
            "byes": byes,
            "active": model.active[item - 1],
        },
    )


def why_pair(model: LeagueModel, directory: Directory, pair: Sequence[int], *, records: Sequence[Record] = ()) -> Why:
    """Explain the estimate of a pair; `records` are the proposals that contain it, in order."""
    a, b = pair
    result = model.pair(a, b)
    first, second = directory.pair(pair)
    parts = [
        f"{first} and {second} are expected to achieve {result.estimate:.2f} (with 90 % between {result.low:.2f} and "
        f"{result.high:.2f})."
    ]
    if result.meetings:
        parts.append(f" They have met {plural(result.meetings, 'time')}, and achieved {result.mean:.2f} on average.")
    else:
        parts.append(" They have not met yet: this is what their results with others say.")
    if key_of(a, b) in model.exclusions:
        parts.append(" They are excluded: they are not proposed.")
    if key_of(a, b) in model.wishes:
        parts.append(" They are wished for: they are a pair of the next proposal for which both are available.")
    numbers: dict[str, Any] = {
        "pair": [a, b],
        "names": [first, second],
        "estimate": result.estimate,
        "low": result.low,
        "high": result.high,
        "meetings": result.meetings,
        "mean": result.mean,
        "excluded": key_of(a, b) in model.exclusions,
        "wished": key_of(a, b) in model.wishes,
    }
    if records:
        row = _rows(records[-1], directory, model.rewards)[key_of(a, b)]
        numbers["proposal"] = {"number": records[-1].state.number, **row}
        parts.append(f" In proposal {records[-1].state.number}: {_why_chosen(row, records[-1].data['policy'])}.")
    return Why("".join(parts), numbers)


def why_proposal(record: Record, directory: Directory, rewards: RewardDistribution) -> Why:
    """Explain a proposal: its expected reward, the best guess, and the cost of exploring."""
    data, state = record.data, record.state
    rows = _rows(record, directory, rewards)
    n, expected, best = len(rows), data["expected"], data["best"]
    cost = max(best - expected, 0.0)
    parts = [
        f"Proposal {state.number} is {plural(n, 'pair')} that {data['policy']} expected to achieve {expected:.2f} "
        f"together."
        if n != 1
        else f"Proposal {state.number} is one pair, expected to achieve {expected:.2f}."
    ]
    tried = [row for row in rows.values() if not row["in_best_guess"] and not row["fixed"]]
    if not tried:
        parts.append(" That is the best guess under the rules of the day: nothing was given up.")
    else:
        others = f"with {plural(len(tried), 'other pair')}"
        if _is_free(data):
            parts.append(f" The best guess under the same rules, {others}, was equally good: nothing was given up.")
        else:
            parts.append(
                f" The best guess under the same rules was {best:.2f}: to learn more, {cost:.2f} was given up"
                + (f" ({cost / best:.0%})" if best > 0 else "")
                + f", {others}."
            )
        example = max(tried, key=lambda row: -1.0 if row["value"] is None else row["value"] - row["estimate"])
        if example["value"] is not None:
            together = " and ".join(example["names"])
            parts.append(f" For example, {together}: {_why_chosen(example, data['policy'])}.")
    fixed = [" + ".join(row["names"]) for row in rows.values() if row["fixed"]]
    if fixed:
        parts.append(f" {', '.join(fixed)} {'was' if len(fixed) == 1 else 'were'} fixed, not chosen.")
    sentences = notes(data, directory)
    parts += [f" {note}" for note in sentences[:MAX_NOTES]]
    if len(sentences) > MAX_NOTES:
        parts.append(f" The proposal has {plural(len(sentences) - MAX_NOTES, 'more note')} of this kind.")
    achieved = [row["outcome"] for row in rows.values() if isinstance(row["outcome"], float)]
    if achieved:
        parts.append(f" So far {plural(len(achieved), 'outcome')} came to {sum(achieved):.2f}.")
    return Why(
        "".join(parts),
        {
            "proposal": state.number,
            "policy": data["policy"],
            "decided_at": data["decided_at"],
            "expected": expected,
            "best": best,
            "cost_of_exploring": cost,
            "pairs": list(rows.values()),
            "best_guess": [list(directory.pair(pair)) for pair in data["best_pairs"]],
            "exact": data["exact"],
            "bound": data["bound"],
            "opening": bool(data.get("opening")),
        },
    )


def why_league(model: LeagueModel, directory: Directory) -> Why:
    """Explain the league: how many results it has, who is strongest, and whether the model fits."""
    names = [directory.name(item) for item in range(1, len(model.places) + 1)]
    ranking = model.ranking(names, directory.sides)
    fit = model.fit()
    tops = [standing for standing in ranking if standing.place == 1]
    parts = [f"{plural(len(ranking), 'active item')}, {plural(fit.results, 'result')}."]
    if fit.results and tops:
        best = " and ".join(f"{top.name} ({top.estimate:.2f})" for top in tops)
        parts.append(f" The strongest {'is' if len(tops) == 1 else 'are'} {best}.")
    parts.append(f" {fit.sentence}")
    if fit.worst:
        a, b, residual = fit.worst[0]
        first, second = directory.pair((a, b))
        more = "more" if residual > 0 else "less"
        parts.append(f" {first} and {second} stick out most: they achieve {more} than their strengths say.")
    return Why(
        "".join(parts),
        {
            "items": len(ranking),
            "results": fit.results,
            "fits": fit.fits,
            "p_value": fit.p_value,
            "worst": [{"pair": [a, b], "names": list(directory.pair((a, b))), "sd": sd} for a, b, sd in fit.worst],
            "policy": model.policy,
        },
    )


def _is_free(data: Mapping[str, Any]) -> bool:
    """Was the proposal expected to achieve as much as the best guess, to two digits?"""
    return f"{max(data['best'] - data['expected'], 0.0):.2f}" == "0.00"


def _rows(record: Record, directory: Directory, rewards: RewardDistribution) -> dict[int, dict[str, Any]]:
    """The pairs of a proposal with the numbers behind each choice, by pair key."""
    data, state = record.data, record.state
    best = {key_of(a, b) for a, b in data["best_pairs"]}
    fixed = {key_of(a, b) for a, b in state.fixed}
    rows = {}
    # A draw or an index may lie outside of what a mean can be; means of draws lie in [0, 1] by the model.
    draws = getattr(CATALOGUE.get(data["policy"]), "draws", False)
    low, high = (0.0, 1.0) if draws else (rewards.low, rewards.high)
    other = "equally good" if _is_free(data) else "to learn"
    for key, estimate, value in zip(state.pairs, data["estimates"], data["values"], strict=True):
        outcome: Any = None
        if key in state.known:
            outcome = VOID.value if state.known[key] is None else state.known[key]
        rows[key] = {
            "pair": list(pair_of(key)),
            "names": list(directory.pair(pair_of(key))),
            "estimate": estimate,
            "value": None if value is None else min(max(value, low), high),
            "fixed": key in fixed,
            "in_best_guess": key in best,
            "reason": "fixed" if key in fixed else "best guess" if key in best else other,
            "outcome": outcome,
        }
    return rows


def _why_chosen(row: dict[str, Any], policy: str) -> str:
    """Why a pair was chosen, without jargon."""
    estimate, value = row["estimate"], row["value"]
    if row["fixed"]:
        return f"they were fixed, and expected to achieve {estimate:.2f}"
    if value is None:
        return f"they were expected to achieve {estimate:.2f}, and {policy} played its next round"
    if row["in_best_guess"]:
        return f"they were expected to achieve {estimate:.2f}, and are of the best guess"
    draws = getattr(CATALOGUE.get(policy), "draws", False)
    how = "a draw from what is still possible" if draws else "what is still possible at best"
    if value <= estimate:
        return (
            f"they were expected to achieve {estimate:.2f}; {how} put them at {value:.2f}, and all pairs together first"
        )
    return f"they were expected to achieve {estimate:.2f}, but {how} put them at {value:.2f}: worth a try"
