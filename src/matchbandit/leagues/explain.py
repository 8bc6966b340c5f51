"""Sentences without jargon: why an item, a pair or a proposal is what it is, and what each change was."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matchbandit.formatting import float_text, plural
from matchbandit.leagues.model import LEVEL, StrengthModel, warning
from matchbandit.leagues.records import Explanation, Pair, Proposal
from matchbandit.leagues.state import LeagueState

MAX_NAMED = 5
"""Most items or pairs named in a sentence of the history."""
MAX_NOTES = 10
"""Notes of a proposal that its explanation repeats."""
Names = Callable[[int], str]


# Explanations --------------------------------------------------------------------------------------------------------


def explain_item(model: StrengthModel, item: int) -> Explanation:
    """Explain the strength of an item."""
    state, row, (counts, totals) = model.state, model.state.items[item - 1], model.by_item
    vertex, (low, high) = int(state.vertices[item - 1]), model.intervals
    strength, count = float(model.posterior.strengths[vertex]), int(counts[item - 1])
    side = [each for each in model.ranking if each.side == state.side(item)]
    rank = next((each.rank for each in side if each.id == item), None)
    numbers = {
        "item": item,
        "name": state.name(item),
        "side": state.side(item),
        "estimate": strength,
        "low": float(low[vertex]),
        "high": float(high[vertex]),
        "rank": rank,
        "of": len(side),
        "results": count,
        "mean": float(totals[item - 1] / count) if count else None,
        "byes": row.byes,
        "active": row.active,
    }
    between = f"{LEVEL:.0%} between {numbers['low']:.2f} and {numbers['high']:.2f}".replace("%", " %")
    if count:
        text = f"{numbers['name']} has a strength of about {strength:.2f} (with {between}), from "
        text += f"{plural(count, 'result')} that were {numbers['mean']:.2f} on average."
    else:
        text = (
            f"{numbers['name']} has no results yet and is taken for average: a strength of {strength:.2f} ({between})."
        )
    if rank is not None:
        text += f" That is rank {rank} of {len(side)}."
    elif not row.active:
        text += " It has left the league."
    text += " A pair is expected to achieve the product of its two strengths."
    if row.byes:
        text += f" It has sat out {plural(row.byes, 'time')}."
    return Explanation(text, numbers, warning(state.league))


def explain_pair(model: StrengthModel, pair: tuple[int, int], last: tuple[Proposal, Pair] | None) -> Explanation:
    """Explain the estimate of a pair; `last` is the last proposal that contains it, and the pair there."""
    state, numbers = model.state, model.pair(*pair)
    first, second = state.names(pair)
    excluded, pinned = list(pair) in state.exclusions.tolist(), pair in state.pins
    text = (
        f"{first} and {second} are expected to achieve {numbers['estimate']:.2f} (with 90 % between "
        f"{numbers['low']:.2f} and {numbers['high']:.2f})."
    )
    if numbers["results"]:
        text += (
            f" They have met {plural(int(numbers['results']), 'time')}, and achieved {numbers['mean']:.2f} on average."
        )
    else:
        text += " They have not met yet: this is what their results with others say."
    if excluded:
        text += " They are excluded: they are not proposed."
    if pinned:
        text += " They are pinned: they are a pair of the next proposal for which both are available."
    if last is not None:
        text += f" In proposal {last[0].number}: {_why_chosen(last[1], last[0].policy)}."
    numbers |= {"excluded": excluded, "pinned": pinned, "last_proposal": None if last is None else last[0].number}
    return Explanation(text, {"pair": list(pair), "names": [first, second], **numbers}, warning(state.league))


def explain_proposal(proposal: Proposal) -> Explanation:
    """Explain a proposal: its expected reward, the best guess, and the cost of exploring."""
    pairs, cost = proposal.pairs, 0.0
    text = f"Proposal {proposal.number} is {plural(len(pairs), 'pair')} that {proposal.policy} chose"
    if proposal.expected is None or proposal.best is None or proposal.low is None or proposal.high is None:
        text += " when there were no data yet."
    else:
        cost = max(proposal.best - proposal.expected, 0.0)
        text += (
            f"; together they were expected to achieve {proposal.expected:.2f} (90 % between {proposal.low:.2f} and "
            f"{proposal.high:.2f})."
        )
    tried = [pair for pair in pairs if not pair.in_best_guess and not pair.fixed]
    others = f"with {plural(len(tried), 'other pair')}"
    if not tried:
        text += " That is the best guess under the rules of the day: nothing was given up."
    elif f"{cost:.2f}" == "0.00":
        text += f" The best guess under the same rules, {others}, was equally good: nothing was given up."
    else:
        text += (
            f" The best guess under the same rules was {proposal.best:.2f}: to learn more, {cost:.2f} was given up, "
        )
        text += f"{others}."
        example = max(tried, key=lambda pair: -1.0 if pair.value is None else pair.value - (pair.expected or 0.0))
        if example.value is not None:
            text += f" For example, {' and '.join(example.names)}: {_why_chosen(example, proposal.policy)}."
    fixed = [" + ".join(pair.names) for pair in pairs if pair.fixed]
    if fixed:
        text += f" {_join(fixed)} {'was' if len(fixed) == 1 else 'were'} fixed, not chosen."
    text += "".join(f" {note}" for note in proposal.notes[:MAX_NOTES])
    achieved = [pair.outcome for pair in pairs if isinstance(pair.outcome, float)]
    if achieved:
        text += f" So far {plural(len(achieved), 'outcome')} came to {sum(achieved):.2f}."
    numbers = {"proposal": proposal.number, "policy": proposal.policy, "expected": proposal.expected}
    return Explanation(
        text, {**numbers, "best": proposal.best, "cost_of_exploring": cost, "pairs": pairs}, proposal.warning
    )


def explain_league(model: StrengthModel) -> Explanation:
    """Explain the league: how many results it has, who is strongest, and whether the model fits."""
    fit, ranking = model.fit, model.ranking
    text = f"{plural(len(ranking), 'active item')}, {plural(fit.results, 'result')}."
    tops = [standing for standing in ranking if standing.rank == 1]
    if tops:
        best = " and ".join(f"{top.name} ({top.estimate:.2f})" for top in tops)
        text += f" The strongest {'is' if len(tops) == 1 else 'are'} {best}."
    text += f" {fit.sentence}"
    return Explanation(text, {"active": len(ranking), "fit": fit}, warning(model.state.league))


def _why_chosen(pair: Pair, policy: str) -> str:
    expected = (
        "nothing was known of them yet"
        if pair.expected is None
        else f"they were expected to achieve {pair.expected:.2f}"
    )
    if pair.fixed:
        return f"they were fixed; {expected}"
    if pair.in_best_guess or pair.value is None:
        return f"{expected}, and are of the best guess"
    how = (
        "a draw from what is still possible"
        if policy in ("rank1-thompson", "cts-beta", "cts-gaussian")
        else "its index"
    )
    if pair.value <= (pair.expected or 0.0):
        return f"{expected}; {how} put them at {pair.value:.2f}, and all pairs together first"
    return f"{expected}, but {how} put them at {pair.value:.2f}: worth a try"


# Notes of a proposal -------------------------------------------------------------------------------------------------

_NOBODY = {
    "excluded": "all partners are excluded. Remove an exclusion",
    "met": "all partners were met too lately. Lower no_rematch",
    "both": "all partners are excluded or were met too lately. Remove an exclusion, or lower no_rematch",
}


def note_sentence(note: Sequence[Any], name: Names) -> str:
    """A note of a proposal, which is a code with ids, in words."""
    code, *rest = note
    if code == "turn":
        return f"{name(rest[0])} sits out: it is their turn."
    if code == "left":
        return f"{name(rest[0])} sits out: all who could be partners are paired with others."
    if code == "nobody":
        return f"{name(rest[0])} sits out: {_NOBODY[rest[1]]}."
    return (
        f"With so many players and rules the matching is near the best one, not proved to be it: its value is "
        f"{rest[0]:g}, and without rules at most {rest[1]:g} were possible."
    )


# The history ---------------------------------------------------------------------------------------------------------


def change_sentence(action: str, data: Mapping[str, Any], state: LeagueState) -> str:
    """A change in words."""
    items = _join([state.name(row if isinstance(row, int) else row[0]) for row in data.get("items", [])])
    pairs = _join([" + ".join(state.names(pair)) for pair in data.get("pairs", [])])
    outcomes = _join([_outcome(row, state) for row in data.get("outcomes", [])])
    match action:
        case "create":
            return f"The league was created with {data['settings']['policy']} and {data['rewards']} rewards."
        case "join":
            back = _join([state.name(item) for item in data["back"]])
            return " ".join(f"{names} {verb}." for names, verb in ((items, "joined"), (back, "came back")) if names)
        case "leave" | "rejoin":
            return f"{items} {'left' if action == 'leave' else 'came back'}."
        case "rename":
            return f"Item {data['items'][0]} was renamed; it is {items} now."
        case "erase":
            return f"The name of item {data['items'][0]} was erased."
        case "exclude" | "pin" | "unexclude" | "unpin":
            words = {"exclude": "were excluded", "unexclude": "may meet again", "pin": "were pinned"}
            return f"{pairs} {words.get(action, 'are not pinned any more')}."
        case "configure":
            return f"Settings were changed: {', '.join(f'{name} = {value}' for name, value in data.items())}."
        case "import results":
            return (
                f"{plural(data['results'], 'result')} from before, of {plural(data['n_pairs'], 'pair')}, were taken in."
            )
        case "ask":
            return f"Proposal {data['proposal']}: {plural(data['n_pairs'], 'pair')}."
        case "tell":
            return f"Outcomes of proposal {data['proposal']}: {outcomes}."
        case "correct":
            return f"Proposal {data['proposal']} was corrected: {outcomes}."
    return f"The league was {action}d."  # archive, restore, delete


def _outcome(row: Sequence[Any], state: LeagueState) -> str:
    """An outcome, or a correction: ids, perhaps the old value, and the new one."""
    values = ["void" if value is None else float_text(value) for value in row[2:]]
    return f"{' + '.join(state.names(row[:2]))} = {values[-1]}" + (f", not {values[0]}" if len(values) == 2 else "")


def _join(texts: Sequence[str]) -> str:
    return ", ".join(texts[:MAX_NAMED]) + (f" and {len(texts) - MAX_NAMED} more" if len(texts) > MAX_NAMED else "")
