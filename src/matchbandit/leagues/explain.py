"""Sentences without jargon: why an item, a pair or a proposal is what it is, and what each change was."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from matchbandit.formatting import float_text, plural
from matchbandit.leagues import library
from matchbandit.leagues.model import LEVEL, StrengthModel
from matchbandit.leagues.records import Explanation, Pair, Proposal
from matchbandit.leagues.state import LeagueState

MAX_NAMED = 5
"""Most items or pairs named in a sentence of the history."""
MAX_NOTES = 10
"""Notes of a proposal that its explanation repeats."""
NO_DATA = "There are no data yet."
Names = Callable[[int], str]


# Explanations --------------------------------------------------------------------------------------------------------


def explain_item(model: StrengthModel, item: int, warning: str | None) -> Explanation:
    """Explain the strength of an item."""
    row, active = model.standing(item), model.state.items[item - 1].active
    n_ranked = sum(each.side == row.side for each in model.ranking)
    about = f"{row.estimate:.2f} ({_between(row.low, row.high)})"
    if not model.state.league.n_results:
        text = NO_DATA
    elif row.mean is None:
        text = f"{row.name} has no results yet, so its strength is taken to be average: {about}."
    else:
        text = f"{row.name} has a strength of about {about}, from {plural(row.results, 'result')} of {row.mean:.2f} on "
        text += "average. A pair is expected to achieve the product of its two strengths."
    if row.rank is not None:
        text += f" That is rank {row.rank} of {n_ranked}."
    if not active:
        text += f" {row.name} has left the league."
    if row.byes:
        text += f" It has sat out {plural(row.byes, 'time')}."
    return Explanation(text, {**asdict(row), "of": n_ranked, "active": active}, warning)


def explain_pair(
    model: StrengthModel, pair: tuple[int, int], last: tuple[int, str, Pair] | None, warning: str | None
) -> Explanation:
    """Explain the estimate of a pair; `last` is number, policy and pair of the last proposal with it."""
    state, numbers = model.state, model.pair(*pair)
    first, second = names = state.names(pair)
    excluded, pinned = bool((state.exclusions == pair).all(axis=1).any()), pair in state.pins
    if numbers["expected"] is None:
        text = NO_DATA
    else:
        text = f"{first} and {second} are expected to achieve {numbers['expected']:.2f} "
        text += f"({_between(numbers['low'], numbers['high'])})."
        if numbers["results"]:
            times = plural(int(numbers["results"]), "time")
            text += f" They have met {times} and achieved {numbers['mean']:.2f} on average."
        else:
            text += " They have not met yet: this follows from their results with others."
    if excluded:
        text += " They are excluded, so they are not proposed."
    if pinned:
        text += " They are pinned: the next proposal for which both are available contains them."
    if last is not None:
        text += f" In proposal {last[0]} {_why_chosen(last[2], last[1], state)}."
    numbers |= {"excluded": excluded, "pinned": pinned, "last_proposal": None if last is None else last[0]}
    return Explanation(text, {"ids": list(pair), "names": list(names), **numbers}, warning)


def explain_proposal(proposal: Proposal, state: LeagueState) -> Explanation:
    """Explain a proposal: its expected reward, the best guess, and the cost of exploring."""
    pairs, cost, example = proposal.pairs, None, None
    text = f"Proposal {proposal.number} has {plural(len(pairs), 'pair')}, chosen by {proposal.policy}."
    tried = [pair for pair in pairs if not pair.in_best_guess and not pair.fixed]
    if proposal.expected is None or proposal.best is None:
        text += " There were no data yet."
    else:
        text += f" Together they were expected to achieve {proposal.expected:.2f} "
        text += f"({_between(proposal.low, proposal.high)})."
        cost = max(proposal.best - proposal.expected, 0.0)
        others = f"with {plural(len(tried), 'other pair')}"
        if not tried:
            text += " No other pairs were expected to achieve more under the rules."
        elif f"{cost:.2f}" == "0.00":
            text += f" The best guess under the same rules, {others}, was equally good."
        else:
            text += f" The best guess under the same rules, {others}, was {proposal.best:.2f}: "
            text += f"{cost:.2f} was given up to learn more."
            example = max(tried, key=lambda pair: -1.0 if pair.value is None else pair.value - (pair.expected or 0.0))
            text += f" For example, {' and '.join(example.names)}: {_why_chosen(example, proposal.policy, state)}."
    fixed = [" + ".join(pair.names) for pair in pairs if pair.fixed]
    if fixed:
        text += f" {_join(fixed)} {'was' if len(fixed) == 1 else 'were'} fixed, not chosen."
    text += "".join(f" {note}" for note in proposal.notes[:MAX_NOTES])
    if len(proposal.notes) > MAX_NOTES:
        text += f" There are {plural(len(proposal.notes) - MAX_NOTES, 'more note')} like these."
    achieved = [pair for pair in pairs if isinstance(pair.outcome, float)]
    if achieved:
        text += f" So far {plural(len(achieved), 'result')} came to {sum(pair.outcome for pair in achieved):.2f}"  # type: ignore[misc]
        if proposal.expected is not None:
            text += f"; {sum(pair.expected or 0.0 for pair in achieved):.2f} was expected of these pairs"
        text += "."
    names = ("number", "policy", "expected", "low", "high", "best", "waiting")
    numbers = {name: getattr(proposal, name) for name in names} | {"cost_of_exploring": cost, "pairs": len(pairs)}
    return Explanation(text, {**numbers, "experiments": len(tried), "example": example}, proposal.warning)


def explain_league(model: StrengthModel) -> Explanation:
    """Explain the league: how many results it has, who is strongest, how pairs are chosen, whether the model fits."""
    fit, ranking, settings = model.fit, model.ranking, model.state.league.settings
    text = f"{plural(len(ranking), 'active item')}, {plural(fit.results, 'result')}."
    tops = [standing for standing in ranking if standing.rank == 1]
    if tops:
        best = _join([f"{top.name} ({top.estimate:.2f})" for top in tops])
        text += f" The strongest {'is' if len(tops) == 1 else 'are'} {best}."
    if library.capabilities(settings["policy"]).assumes_product and settings["selection"] == "matching":
        text += f" {settings['policy']} pairs strong with strong, since their products are largest; no_rematch and "
        text += "exclusions mix them."
    if fit.fits is not False:
        text += f" {fit.sentence}"
    elif fit.worst:
        names, deviation = fit.worst[0]
        text += f" {' and '.join(names)} deviate most: they achieve {'more' if deviation > 0 else 'less'} than their "
        text += "strengths say."
    return Explanation(text, {"active": len(ranking), "fit": fit}, fit.warning)


def _between(low: float | None, high: float | None) -> str:
    return f"{100 * LEVEL:.0f} % between {low:.2f} and {high:.2f}"


def _why_chosen(pair: Pair, policy: str, state: LeagueState) -> str:
    if pair.expected is None:
        return "they were fixed" if pair.fixed else "they were chosen without data"
    expected = f"they were expected to achieve {pair.expected:.2f}"
    if pair.fixed:
        return f"{expected}, and fixed"
    if pair.in_best_guess or pair.value is None:
        return f"{expected}, and were part of the best guess" if pair.in_best_guess else expected
    draws, rewards = getattr(library.policy_class(policy), "draws", False), state.league.distribution
    low, high = (0.0, 1.0) if draws else (rewards.low, rewards.high)  # what a mean can be
    value = min(max(pair.value, low), high)
    how = "a random draw of what is still possible" if draws else "the best that is still possible"
    if value <= pair.expected:
        return f"{expected}; {how} was {value:.2f}, and larger for all pairs together than elsewhere"
    return f"{expected}, but {how} was {value:.2f}: worth a try"


# Notes of a proposal -------------------------------------------------------------------------------------------------


def note_sentence(note: Sequence[Any], name: Names) -> str:
    """A note of a proposal, which is a code with ids, in words."""
    code, *rest = note
    if code == "turn":
        return f"{name(rest[0])} sits out: it is their turn."
    if code == "left":
        return f"{name(rest[0])} sits out: all possible partners are paired with others."
    if code == "nobody":
        excluded, met = rest[1] != "met", rest[1] != "excluded"
        why = " or ".join(["are excluded"] * excluded + ["were met too recently"] * met)
        fix = ", or ".join(["remove an exclusion (unexclude)"] * excluded + ["lower no_rematch"] * met)
        return f"{name(rest[0])} sits out: all partners {why}. {fix[0].upper()}{fix[1:]}."
    value, bound = rest
    share = f" ({value / bound:.1%})" if bound else ""
    return (
        f"With so many players and rules the pairs may not be the best possible ones: their value is {value:g} of at "
        f"most {bound:g}{share}, which ignores the rules."
    )


# The history ---------------------------------------------------------------------------------------------------------


def change_sentence(change: Any, state: LeagueState) -> str:
    """A change, which has `action`, `data` and `by`, in words."""
    action, data = change.action, change.data
    items = _join([state.name(row if isinstance(row, int) else row[0]) for row in data.get("items", [])])
    pairs = _join([" + ".join(state.names(pair)) for pair in data.get("pairs", [])])
    outcomes = _join([_outcome(row, state) for row in data.get("outcomes", [])])
    words = {"exclude": "were excluded", "unexclude": "may meet again", "pin": "were pinned"}
    match action:
        case "create":
            text = f"The league was created with {data['settings']['policy']} and {data['rewards']} rewards"
        case "join":
            back = _join([state.name(item) for item in data["back"]])
            text = ". ".join(f"{names} {verb}" for names, verb in ((items, "joined"), (back, "came back")) if names)
        case "leave" | "rejoin":
            text = f"{items} {'left' if action == 'leave' else 'came back'}"
        case "rename":
            text = f"Item {data['items'][0]} was renamed; it is now {items}"
        case "erase":
            text = f"The name of item {data['items'][0]} was erased"
        case "exclude" | "pin" | "unexclude" | "unpin":
            text = f"{pairs} {words.get(action, 'are no longer pinned')}"
        case "configure":
            text = f"Settings were changed: {', '.join(f'{name} = {value}' for name, value in data.items())}"
        case "import results":
            text = f"{plural(data['results'], 'earlier result')} of {plural(data['n_pairs'], 'pair')} were imported"
        case "ask":
            text = f"Proposal {data['proposal']}: {plural(data['n_pairs'], 'pair')}"
        case "tell":
            passed = "The deadline passed. " if change.by == "deadline" else ""
            text = f"{passed}Outcomes of proposal {data['proposal']}: {outcomes}"
        case "correct":
            text = f"Proposal {data['proposal']} was corrected: {outcomes}"
        case _:
            text = f"The league was {action}d"  # archive, restore, delete
    return f"{text}."


def _outcome(row: Sequence[Any], state: LeagueState) -> str:
    """An outcome, or a correction: ids, perhaps the old value, and the new one."""
    values = ["void" if value is None else float_text(value) for value in row[2:]]
    return f"{' + '.join(state.names(row[:2]))} = {values[-1]}" + (f", not {values[0]}" if len(values) == 2 else "")


def _join(texts: Sequence[str]) -> str:
    return ", ".join(texts[:MAX_NAMED]) + (f" and {len(texts) - MAX_NAMED} more" if len(texts) > MAX_NAMED else "")
