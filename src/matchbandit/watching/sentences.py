"""Describe in a sentence what happened between two snapshots."""

from collections.abc import Sequence

import numpy as np

from matchbandit.formatting import grouped, plural
from matchbandit.graphs import Edges, Graph
from matchbandit.policies.explanation import Elimination
from matchbandit.watching.recorder import POSTERIOR, Snapshot
from matchbandit.watching.recording import ItemState, LinkState

MAX_DETAILED = 2
"""Similar events that a sentence describes in full; it counts the others."""
MAX_DIGITS = 6
"""Decimals of an interval at most: two, or as many as show that two intervals do not overlap."""


def sentence(
    before: Snapshot | None, now: Snapshot, graph: Graph, *, matching: bool, verdict: str = "", claim: str = "the best"
) -> str:
    """Describe what happened between two snapshots.

    At the end `verdict` says whether the answer is correct. `claim` is what the policy guarantees about its answer;
    empty if it guarantees nothing.
    """
    if before is None and not now.done:
        return f"Before the first round: {_items_of(graph)}, and nothing is known about them."
    parts = _events(before or now, now, graph)
    if now.done:
        answer, what = _pairs(graph, now.guess), "matching" if len(now.guess) > 1 else "pair"
        answer_text = f"{answer} is certified to be {claim} {what}" if claim else f"its answer is the {what} {answer}"
        parts.append(f"it stops: {answer_text}, {verdict}")
    elif verdict:
        guess = f"the policy recommends {_pairs(graph, now.guess)}, {verdict}"
        parts.append(f"the run ends with a regret of {regret_text(now.regret)}; {guess}")
    elif before is not None and not np.array_equal(before.guess, now.guess):
        parts.append(f"the recommendation changes to {_pairs(graph, now.guess)}")
    if not parts:
        parts = [_progress(before or now, now, graph, matching=matching)]
    return f"After {plural(now.round, 'round')}, {'; '.join(parts)}."


def separation_text(record: Elimination, *, leaves: bool = True) -> str:
    """Say which of two items lost a comparison, on which average, with both intervals.

    >>> separation_text(Elimination(9, "row", 5, 1, 3, None, 0.12, (0.07, 0.17), 0.41, (0.36, 0.46)))
    'row 5 is eliminated by row 1 on column 3: 0.12 ± 0.05 lies below 0.41 ± 0.05'
    """
    verb = "is eliminated" if leaves else "loses a comparison"
    window = f" for window {record.window}" if record.window is not None else ""
    worse, better = _intervals(record)
    by = f"{'by' if leaves else 'to'} {record.side} {record.by} on {average_name(record)}"
    return f"{record.side} {record.item} {verb}{window} {by}: {worse} lies below {better}"


def split_text(record: Elimination) -> str:
    """Say by which two intervals two parts of a cluster are separated.

    >>> split_text(Elimination(9, "player", 3, 1, "all opponents", None, 0.219, (0.137, 0.301), 0.384, (0.302, 0.466)))
    'player 1 with 0.384 ± 0.082 lies above player 3 with 0.219 ± 0.082'
    """
    worse, better = _intervals(record)
    return f"player {record.by} with {better} lies above player {record.item} with {worse}"


def certificate_text(link: LinkState) -> str:
    """Say by which evidence a link is certified."""
    return f"{link.name} is certified: evidence {link.evidence:z.2f}, threshold {link.threshold:.2f}"


def regret_text(regret: float) -> str:
    """Format a regret: whole from 1,000 on, with four digits below.

    >>> regret_text(10368.74), regret_text(999.97), regret_text(12.345)
    ('10,369', '1,000', '12.35')
    """
    return grouped(round(regret)) if float(f"{regret:.4g}") >= 1000 else f"{regret:.4g}"


def average_name(record: Elimination) -> str:
    """Name the opponents over which two items were compared: "column 3", or "all opponents"."""
    opponent = {"row": "column", "column": "row", "player": "player"}[record.side]
    return record.on if isinstance(record.on, str) else f"{opponent} {record.on}"


def leaves(before: Snapshot | None, now: Snapshot, item: int) -> bool:
    """Return whether an item was active at the snapshot before and no longer is."""
    was_active = before is None or item >= len(before.items) or before.items[item].active
    return was_active and item < len(now.items) and not now.items[item].active


def _items_of(graph: Graph) -> str:
    if not graph.is_bipartite:
        return plural(graph.n_items, "player")
    rows, columns = graph.shape
    return f"{plural(rows, 'row')} and {plural(columns, 'column')}"


def _events(before: Snapshot, now: Snapshot, graph: Graph) -> list[str]:
    is_out = {k: leaves(before, now, graph.item_at(k.side, k.item)) for k in now.eliminations}
    records = sorted(now.eliminations, key=lambda record: not is_out[record])
    parts = _first([separation_text(record, leaves=is_out[record]) for record in records], "elimination")
    if now.window is not None and before.window is not None and now.window != before.window:
        parts.append(f"window {before.window} ends {_undone(before, now)}")
    if now.phase != before.phase and now.phase:
        parts.append(f"a new phase begins: {now.phase}")
    elif not now.eliminations and now.window == before.window:
        parts += _activity_changes(before, now, graph)
    parts += _first(_splits(before, now), "split")
    parts += _first([certificate_text(link) for link in now.certificates], "certificate")
    return parts


def _undone(before: Snapshot, now: Snapshot) -> str:
    """Say what the end of a window undoes; the first windows are too short for an elimination."""
    returns = any(b.active and not a.active for a, b in zip(before.items, now.items, strict=False))
    has_eliminations = returns or any(record.window == before.window for record in now.eliminations)
    return "and its eliminations are undone" if has_eliminations else "without an elimination"


def _first(texts: list[str], noun: str) -> list[str]:
    """Return the first few texts, and how many more there are."""
    more = len(texts) - MAX_DETAILED
    return texts if more <= 0 else [*texts[:MAX_DETAILED], f"{more} more {noun}{'s' * (more > 1)}"]


def _intervals(record: Elimination) -> tuple[str, str]:
    """Format the intervals of the worse and the better item, with enough digits that they do not overlap as printed."""
    worse, better = (record.estimate, record.interval), (record.by_estimate, record.by_interval)
    digits = next((d for d in range(2, MAX_DIGITS + 1) if _printed(*worse, d)[1] < _printed(*better, d)[0]), 2)
    return _interval(*worse, digits), _interval(*better, digits)


def _interval(estimate: float, interval: Sequence[float], digits: int) -> str:
    """Format an estimate and its interval: with ± where it is symmetric."""
    low, high = interval
    if _is_symmetric(estimate, interval):
        return f"{estimate:.{digits}f} ± {high - estimate:.{digits}f}"
    return f"{estimate:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _printed(estimate: float, interval: Sequence[float], digits: int) -> tuple[float, float]:
    """Return the ends of an interval as a reader computes them from the printed digits."""
    low, high = interval
    if _is_symmetric(estimate, interval):
        centre, half = round(estimate, digits), round(high - estimate, digits)
        low, high = centre - half, centre + half
    return round(low, digits), round(high, digits)


def _is_symmetric(estimate: float, interval: Sequence[float]) -> bool:
    low, high = interval
    return abs((high - estimate) - (estimate - low)) < 1e-9 * max(1.0, abs(estimate))


def _activity_changes(before: Snapshot, now: Snapshot, graph: Graph) -> list[str]:
    """Name the items that became inactive without losing a comparison, and those that came back."""
    changes = [(k, a.active, b.active) for k, (a, b) in enumerate(zip(before.items, now.items, strict=False))]
    settled = [k for k, was_active, is_active in changes if was_active and not is_active]
    back = [k for k, was_active, is_active in changes if is_active and not was_active]
    parts = []
    if settled:
        parts.append(f"the rank of {_names(settled, graph)} is settled")
    if back:
        parts.append(f"{_names(back, graph)} {'is' if len(back) == 1 else 'are'} active again")
    return parts


def _names(items: Sequence[int], graph: Graph) -> str:
    """List items: "players 2 and 5", "row 0 and column 1"."""
    sides: dict[str, list[str]] = {}
    for k in items:
        sides.setdefault(graph.side_of(k), []).append(str(graph.index_of(k)))
    return " and ".join(
        f"{side}{'s' * (len(numbers) > 1)} {', '.join(numbers[:-1])}{' and ' * (len(numbers) > 1)}{numbers[-1]}"
        for side, numbers in sides.items()
    )


def _splits(before: Snapshot, now: Snapshot) -> list[str]:
    texts = []
    for players, _ in before.clusters:
        parts = [part for part, _ in now.clusters if set(part) < set(players)]
        if parts:
            because = [split_text(record) for record in now.separations if record.item in players]
            reason = f" because {', and '.join(because)}" if because else ""
            texts.append(f"cluster {_set(players)} splits into {' > '.join(map(_set, parts))}{reason}")
    return texts


def _set(players: Sequence[int]) -> str:
    """Format players in braces; four or more consecutive ones by the first and the last.

    >>> _set([0, 1, 2, 5, 6, 7, 8])
    '{0, 1, 2, 5–8}'
    """
    runs: list[list[int]] = []
    for player in players:
        if runs and player == runs[-1][-1] + 1:
            runs[-1].append(player)
        else:
            runs.append([player])
    texts = [f"{run[0]}–{run[-1]}" if len(run) >= 4 else ", ".join(map(str, run)) for run in runs]
    return "{" + ", ".join(texts) + "}"


def _pairs(graph: Graph, edges: Edges) -> str:
    pairs = [f"({i}, {j})" for i, j in graph.pairs_of(edges[:6]).tolist()]
    return " ".join([*pairs, *(["…"] if len(edges) > 6 else [])])


def _progress(before: Snapshot, now: Snapshot, graph: Graph, *, matching: bool) -> str:
    """Describe a moment without an event: how precise the estimates are, and what is played."""
    played, rounds = now.plays - before.plays, max(1, now.round - before.round)
    most = int(np.argmax(played))
    frequency = "in the last round"
    if rounds > 1:
        frequency = f"in {100 * played[most] / rounds:.0f}% of the last {grouped(rounds)} rounds"
    share = f"{_pairs(graph, np.array([most]))} {frequency}"
    half_width = _median_half_width(now.items)
    if half_width is not None:
        if now.interval == POSTERIOR:  # such a policy decides nothing for good
            return f"strengths are known to within ±{half_width:.2g}. Most played: {share}"
        return f"nothing new is decided; averages are known to within ±{half_width:.2g}. Most played: {share}"
    if now.links:
        missing = [link for link in now.links if not link.certified]
        nearest = max(missing, key=lambda link: link.evidence / link.threshold, default=None)
        if nearest is None:
            return f"everything is certified, and the answer is played: {share}"
        are = "is" if len(now.links) == 1 else "are"
        return (
            f"{len(missing)} of {plural(len(now.links), 'link')} {are} not certified yet; "
            f"the closest is {nearest.name}, with evidence {nearest.evidence:z.1f} of {nearest.threshold:.1f}"
        )
    what = "matching" if matching else "pair"
    return f"the recommended {what} is still {_pairs(graph, now.guess)}. Most played: {share}"


def _median_half_width(items: Sequence[ItemState]) -> float | None:
    """Return the median half-width of the intervals of the active items."""
    widths = [(i.high - i.low) / 2 for i in items if i.active and i.low is not None and i.high is not None]
    return float(np.median(widths)) if widths else None
