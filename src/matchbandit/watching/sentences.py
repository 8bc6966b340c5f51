"""What has just happened, in a sentence for each frame."""

from collections.abc import Sequence

import numpy as np

from matchbandit.figures.film import ItemNow, lost
from matchbandit.formatting import grouped
from matchbandit.graphs import Edges, Graph
from matchbandit.policies.explanation import Elimination
from matchbandit.watching.recording import POSTERIOR, Look

TOLD = 2
"""So many of several like events are told in full."""


def sentence(
    before: Look | None, now: Look, graph: Graph, *, matching: bool, verdict: str = "", claim: str = "the best"
) -> str:
    """What happened between two looks.

    At the end `verdict` is said of the answer: true, or what would have been. `claim` is what the policy is certain
    that its answer is; empty if it is certain of nothing.
    """
    if before is None and not now.done:
        return f"Before the first round: {_cast(graph)}, and nothing is known of them."
    parts = _events(before or now, now, graph)
    if now.done:
        answer, what = _pairs(graph, now.guess), "matching" if len(now.guess) > 1 else "pair"
        found = f"it is certain: {answer} is {claim} {what}" if claim else f"its answer is the {what} {answer}"
        parts.append(f"{found}, {verdict}")
    elif verdict:
        guess = f"its best guess is {_pairs(graph, now.guess)}, {verdict}"
        parts.append(f"the run ends with a regret of {lost(now.regret)}; {guess}")
    elif before is not None and not np.array_equal(before.guess, now.guess):
        parts.append(f"the best guess is now {_pairs(graph, now.guess)}")
    if not parts:
        parts = [_meanwhile(before or now, now, graph, matching=matching)]
    return f"After {grouped(now.round)} round{'s' * (now.round != 1)} {'; '.join(parts)}."


def _cast(graph: Graph) -> str:
    if not graph.is_bipartite:
        return f"{graph.n_items} players"
    rows, columns = graph.shape
    return f"{rows} row{'s' * (rows > 1)} and {columns} column{'s' * (columns > 1)}"


def _events(before: Look, now: Look, graph: Graph) -> list[str]:
    departures_first = sorted(now.beaten, key=lambda gone: not leaves(before, now, graph.item_at(gone.side, gone.item)))
    parts = _some([_departure(gone, before, now, graph) for gone in departures_first], "comparison")
    new_phase = now.phase != before.phase
    if now.window is not None and before.window is not None and now.window != before.window:
        parts.append(f"window {before.window} ends, and its eliminations with it")
    if new_phase and now.phase:
        parts.append(f"a new phase begins: {now.phase}")
    elif not now.beaten and now.window == before.window:
        parts += _settled(before, now, graph)
    parts += _some(_splits(before, now), "split")
    known = {link.name for link in before.links if link.certified}
    fresh = [link for link in now.links if link.certified and link.name not in known]
    parts += _some(
        [f"{link.name} is certain: evidence {link.evidence:.1f}, needed {link.threshold:.1f}" for link in fresh], "link"
    )
    return parts


def _some(told: list[str], thing: str) -> list[str]:
    """The first few, and how many more there are."""
    more = len(told) - TOLD
    return told if more <= 0 else [*told[:TOLD], f"{more} more {thing}{'s' * (more > 1)} like these"]


def _departure(gone: Elimination, before: Look, now: Look, graph: Graph) -> str:
    """Who was beaten, by whom, on whom, with both intervals."""
    opponent = {"row": "column", "column": "row", "player": "player"}[gone.side]
    on = gone.on if isinstance(gone.on, str) else f"{opponent} {gone.on}"
    verb = "leaves" if leaves(before, now, graph.item_at(gone.side, gone.item)) else "is beaten"
    until = f" for window {gone.window}" if gone.window is not None else ""
    better = _around(gone.by_estimate, gone.by_interval)
    return (
        f"{gone.side} {gone.item} {verb}{until}: {gone.side} {gone.by} beat it on {on}, "
        f"{better} against {_around(gone.estimate, gone.interval)}"
    )


def leaves(before: Look | None, now: Look, item: int) -> bool:
    """Was an item in at the look before, and is it out now?"""
    was_in = before is None or item >= len(before.items) or before.items[item].active
    return was_in and item < len(now.items) and not now.items[item].active


def _around(estimate: float, interval: Sequence[float]) -> str:
    """An estimate and its interval: ± where it is symmetric."""
    low, high = interval
    if abs((high - estimate) - (estimate - low)) < 1e-9 * max(1.0, abs(estimate)):
        return f"{estimate:.2f} ± {_width(high - estimate)}"
    return f"{estimate:.2f} ({low:.2f} to {high:.2f})"


def _width(half: float) -> str:
    return f"{half:.2f}" if half >= 0.01 else f"{half:.1g}"


def _settled(before: Look, now: Look, graph: Graph) -> list[str]:
    """Who is out without having been beaten in a comparison that is told: ranked, so that nothing is open about it."""
    left = [k for k, (a, b) in enumerate(zip(before.items, now.items, strict=False)) if a.active and not b.active]
    back = [k for k, (a, b) in enumerate(zip(before.items, now.items, strict=False)) if b.active and not a.active]
    parts = []
    if left:
        has, it = ("has its place", "it") if len(left) == 1 else ("have their places", "them")
        parts.append(f"{_names(left, graph)} {has}: nothing more is to be learnt of {it}")
    if back:
        parts.append(f"{_names(back, graph)} {'is' if len(back) == 1 else 'are'} back")
    return parts


def _names(items: Sequence[int], graph: Graph) -> str:
    """Items in words: "players 2 and 5", "row 0 and column 1"."""
    sides: dict[str, list[str]] = {}
    for k in items:
        sides.setdefault(graph.side_of(k), []).append(str(graph.index_of(k)))
    return " and ".join(
        f"{side}{'s' * (len(numbers) > 1)} {', '.join(numbers[:-1])}{' and ' * (len(numbers) > 1)}{numbers[-1]}"
        for side, numbers in sides.items()
    )


def _splits(before: Look, now: Look) -> list[str]:
    told = []
    for players, _ in before.clusters:
        parts = [part for part, _ in now.clusters if set(part) < set(players)]
        if parts:
            told.append(f"the cluster {_set(players)} splits into {' > '.join(map(_set, parts))}")
    return told


def _set(players: Sequence[int]) -> str:
    """Players in braces, four or more in a row by the first and the last of them.

    >>> _set([0, 1, 2, 5, 6, 7, 8])
    '{0, 1, 2, 5–8}'
    """
    runs: list[list[int]] = []
    for player in players:
        if runs and player == runs[-1][-1] + 1:
            runs[-1].append(player)
        else:
            runs.append([player])
    told = [f"{run[0]}–{run[-1]}" if len(run) >= 4 else ", ".join(map(str, run)) for run in runs]
    return "{" + ", ".join(told) + "}"


def _pairs(graph: Graph, edges: Edges) -> str:
    shown = [f"({i}, {j})" for i, j in graph.pairs_of(edges[:6]).tolist()]
    return " ".join([*shown, *(["…"] if len(edges) > 6 else [])])


def _meanwhile(before: Look, now: Look, graph: Graph, *, matching: bool) -> str:
    """Nothing has happened: how well the averages are known, and what is played."""
    played, rounds = now.plays - before.plays, max(1, now.round - before.round)
    most = int(np.argmax(played))
    share = f"{_pairs(graph, np.array([most]))} {_often(played[most] / rounds, rounds)}"
    within = _half_width(now.items)
    if within is not None:
        what = "strengths" if now.interval == POSTERIOR else "averages"
        return f"nothing is decided; {what} are known to within {within:.2g}. Most played just now: {share}"
    missing = [link for link in now.links if not link.certified]
    if now.links:
        nearest = max(missing, key=lambda link: link.evidence / link.threshold, default=None)
        if nearest is None:
            return f"all is certain, and the answer is played: {share}"
        return (
            f"{len(missing)} of {len(now.links)} links are open; nearest: {nearest.name}, evidence "
            f"{nearest.evidence:.1f} of {nearest.threshold:.1f}"
        )
    what = "matching" if matching else "pair"
    return f"the best {what} it knows is still {_pairs(graph, now.guess)}. Most played just now: {share}"


def _often(share: float, rounds: int) -> str:
    if rounds == 1:
        return "in the last round"
    return f"in {100 * share:.0f} % of the last {grouped(rounds)} rounds"


def _half_width(items: Sequence[ItemNow]) -> float | None:
    """The median half-width of the intervals of those who are still in."""
    widths = [(i.high - i.low) / 2 for i in items if i.active and i.low is not None and i.high is not None]
    return float(np.median(widths)) if widths else None
