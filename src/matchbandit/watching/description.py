"""Describe a recording by the panels that a picture and a page are rendered from."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log

from matchbandit.figures.panels import (
    DecisionRows,
    DecisionsPanel,
    FrameText,
    GridPanel,
    Playback,
    RowMark,
    RowsPanel,
    Span,
    TimeCurve,
    TimeMark,
    TimePanel,
    blend,
    blend_all,
)
from matchbandit.formatting import grouped, plural, short
from matchbandit.watching.recording import Frame, ItemState, PairState, Recording, Story
from matchbandit.watching.sentences import MAX_DETAILED, certificate_text, regret_text

MAX_CURVES = 12
"""Pairs that the panel of plays draws a line for."""
MAX_LABELS = 16
"""With more curves, none is labelled."""


def describe(recording: Recording) -> Playback:
    """Return the panels and texts of a recording."""
    return Playback(
        title=recording.title,
        lead=recording.lead,
        caption=recording.caption,
        versions=recording.versions,
        frames=tuple(_frame_text(frame) for frame in recording.frames),
        moments=_moments(recording.frames),
        story=_STORIES[recording.story](recording),
        regret=_regret(recording),
        estimates=_estimates(recording),
        evidence=_evidence(recording),
        decisions=_decisions(recording),
        plays=_plays(recording),
    )


def _frame_text(frame: Frame) -> FrameText:
    splits = [one for one in frame.separations if one.kind == "split"]
    is_complete = all(len(of_kind) <= MAX_DETAILED for of_kind in (frame.eliminations, splits, frame.certificates))
    texts = [one.text for one in frame.separations] + [certificate_text(link) for link in frame.certificates]
    details = () if is_complete else tuple(texts)
    regret = regret_text(frame.regret)
    return FrameText(frame.round, regret, frame.sentence, frame.event or frame.done, frame.window, details)


def _moments(frames: Sequence[Frame]) -> tuple[int, ...]:
    """Return four frames that are evenly spread in log time, the last one the end."""
    times = [log(max(1, frame.round)) for frame in frames]
    targets = [times[-1] * share for share in (0.4, 0.6, 0.8)]
    nearest = {min(range(1, len(times)), key=lambda k: abs(times[k] - at), default=0) for at in targets}
    return tuple(sorted({*nearest, len(times) - 1}))


def item_colours(recording: Recording) -> list[str]:
    """Return a colour for each item: from blue for the strongest of its side to vermilion for the weakest."""
    sides = [item.side for item in recording.items]
    return [colour for side in dict.fromkeys(sides) for colour in blend_all(sides.count(side))]


def _item_rows(recording: Recording) -> tuple[list[str], list[int]]:
    """Return the names of rows with a gap between the sides, and the row of each item."""
    names: list[str] = []
    rows = []
    for k, item in enumerate(recording.items):
        if k and item.side != recording.items[k - 1].side:
            names.append("")
        rows.append(len(names))
        names.append(item.name)
    return names, rows


# --- the main panel, over time


def _activity(recording: Recording) -> TimePanel:
    """A bar for each item while it is active; a cross where it leaves, and who beat it on what."""
    colours, last = item_colours(recording), recording.frames[-1].round
    names, rows = _item_rows(recording)
    spans, marks = [], []
    for k, item in enumerate(recording.items):
        for start, end in recording.active_spans(k):
            until = f" to {grouped(end)}" if end < last else ""
            text = f"{item.name}: active from round {grouped(start)}{until}"
            spans.append(Span("bar", max(1, start), max(1, end), rows[k], rows[k], colours[k], text))
    for frame in recording.frames:
        for one in frame.eliminations:
            starts = [start for start, _ in recording.active_spans(one.item) if start > frame.round]
            label = f"{recording.items[one.by].name} on {one.on}" if one.leaves and frame.round > last**0.25 else ""
            text = f"after {plural(frame.round, 'round')}, {one.text}"
            mark = TimeMark("tick", frame.round, rows[one.item], text, label, min([*starts, last]))
            marks.append(replace(mark, shape="cross") if one.leaves else mark)
    has_eliminations = any(frame.eliminations for frame in recording.frames)
    return TimePanel(
        title="Active items: a cross where an item is eliminated, and by whom on which average"
        if has_eliminations
        else "Items whose rank is not settled yet",
        rows=tuple(names),
        spans=tuple(spans),
        marks=tuple(marks),
        dividers=tuple((at, f"window {number}") for at, number in recording.windows),
    )


def cluster_order(recording: Recording) -> list[int]:
    """Return the players by their clusters at the end, within a cluster by their averages."""
    last = recording.frames[-1]
    by_average = [sorted(c.players, key=lambda k: -(last.items[k].estimate or 0.0)) for c in last.clusters]
    return [k for players in by_average for k in players]


def _clusters(recording: Recording) -> TimePanel:
    """A box for each cluster until it splits; a dotted line between the clusters of one chain."""
    order = cluster_order(recording)
    row = {k: y for y, k in enumerate(order)}
    periods: dict[tuple[int, ...], tuple[int, int]] = {}
    borders = []
    for frame, after in zip(recording.frames, (*recording.frames[1:], recording.frames[-1]), strict=True):
        for cluster in frame.clusters:
            start, _ = periods.get(cluster.players, (frame.round, 0))
            periods[cluster.players] = start, after.round
        for upper, lower in zip(frame.clusters, frame.clusters[1:], strict=False):
            if upper.chain == lower.chain:
                y = max(row[k] for k in upper.players)
                text = "one chain: players of these clusters also meet each other"
                borders.append(Span("border", max(1, frame.round), max(1, after.round), y, y, "", text))
    boxes = []
    for players, (start, end) in periods.items():
        top, bottom = min(row[k] for k in players), max(row[k] for k in players)
        colour = blend((top + bottom) / 2 / max(1, len(order) - 1))
        text = f"cluster of {', '.join(recording.items[k].name for k in players)}"
        boxes.append(Span("box", max(1, start), max(1, end), top, bottom, colour, text))
    return TimePanel(
        title="Clusters: players in one box are not distinguishable yet; a dotted line joins the clusters of a chain",
        rows=tuple(recording.items[k].name for k in order),
        spans=(*boxes, *_merge(borders)),
    )


def _merge(borders: Sequence[Span]) -> list[Span]:
    """Join borders of the same row that follow each other without a break."""
    merged: list[Span] = []
    for border in sorted(borders, key=lambda one: (one.first, one.start)):
        if merged and (merged[-1].first, merged[-1].end) == (border.first, border.start):
            merged[-1] = replace(merged[-1], end=border.end)
        else:
            merged.append(border)
    return merged


def _links(recording: Recording) -> TimePanel:
    """The evidence for each link of the last answer, and the threshold."""
    frames, links = recording.frames, recording.frames[-1].links
    thresholds = tuple((max(1.0, f.round), f.links[0].threshold) for f in frames if f.links)
    top = max((threshold for _, threshold in thresholds), default=1.0)
    lowest = min((link.evidence for frame in frames for link in frame.links), default=0.0)
    low, high = min(0.0, max(-0.4 * top, lowest)) - 0.05 * top, 1.5 * top
    curves = [TimeCurve("threshold", "threshold", "", thresholds, dashed=True, neutral=True)]
    marks = []
    for link, colour in zip(links, blend_all(len(links)), strict=True):
        states = [(max(1.0, f.round), one) for f in frames for one in f.links if one.name == link.name]
        points = tuple((at, min(high, max(low, one.evidence))) for at, one in states)
        label = link.name.removeprefix("player ").replace(" above ", " > ") if len(links) <= MAX_LABELS else ""
        curves.append(TimeCurve(link.name, label, colour, points))
    colour_of = dict(zip((link.name for link in links), blend_all(len(links)), strict=True))
    for frame in frames:
        for link in frame.certificates:
            text = f"after {plural(frame.round, 'round')}, {certificate_text(link)}"
            y = min(high, max(low, link.evidence))
            marks.append(TimeMark("dot", max(1, frame.round), y, text, colour=colour_of.get(link.name)))
    return TimePanel(
        title="Evidence for each link of the answer; a dot where it crosses the threshold and is certified",
        y_label="log evidence",
        y_range=(low, high),
        curves=tuple(curves),
        marks=tuple(marks),
    )


def _strengths(recording: Recording) -> TimePanel:
    """The estimate of each item with its interval, and the truth at the right."""
    names = [item.name for item in recording.items]
    curves = []
    for k, (item, colour) in enumerate(zip(recording.items, item_colours(recording), strict=True)):
        states = [(max(1.0, f.round), f.items[k]) for f in recording.frames if f.items]
        points = tuple((at, now.estimate) for at, now in states if now.estimate is not None)
        band = tuple((at, now.low, now.high) for at, now in states if now.low is not None and now.high is not None)
        label = item.name if len(names) <= MAX_LABELS else ""
        curves.append(TimeCurve(item.name, label, colour, points, band, dashed=item.side == "column"))
    ticks = zip(recording.items, recording.ticks, strict=True)
    truths = tuple(
        (tick, f"{item.name}: {recording.truth} {short(item.truth)}") for item, tick in ticks if tick is not None
    )
    return TimePanel(
        title=f"Estimated strengths over time{'; the truth at the right' if truths else ''}",
        y_label="strength",
        y_range=(0.0, highest(recording)),
        curves=tuple(curves),
        truths=truths,
    )


def _pairs(recording: Recording) -> TimePanel:
    """How often each pair was played: the truly best, then those with the highest means."""
    by_interest = sorted(recording.shown, key=lambda pair: pair not in recording.best)
    pairs = sorted(by_interest[:MAX_CURVES], key=recording.shown.index)
    curves = []
    for pair, colour in zip(pairs, blend_all(len(pairs)), strict=True):
        total, points, is_best = 0, [], pair in recording.best
        for frame in recording.frames:
            total += frame.played[pair]
            points.append((max(1.0, frame.round), float(total)))
        name = f"{recording.pair_name(pair)}{' ★' if is_best else ''}"
        curves.append(TimeCurve(name, name, colour, tuple(points), bold=is_best))
    more = len(recording.pairs) - len(pairs)
    return TimePanel(
        title="Plays of each pair (★: a pair of the best answer)",
        y_label=f"plays ({more} more pairs not drawn)" if more else "plays",
        y_range=(0.0, float(max(2, recording.frames[-1].round))),
        y_log=True,
        curves=tuple(curves),
    )


_STORIES: dict[Story, Callable[[Recording], TimePanel]] = {
    "activity": _activity,
    "clusters": _clusters,
    "links": _links,
    "strengths": _strengths,
    "pairs": _pairs,
}


def _regret(recording: Recording) -> TimePanel:
    points = tuple((max(1.0, frame.round), frame.regret) for frame in recording.frames)
    label = regret_text(recording.frames[-1].regret)
    top = max(1e-9, 1.05 * max(regret for _, regret in points))
    curve = TimeCurve("regret", label, "", points, bold=True, neutral=True)
    dividers = tuple((at, "") for at, _ in recording.windows)
    return TimePanel("Regret so far", "regret", y_range=(0.0, top), curves=(curve,), dividers=dividers)


# --- panels of one moment


def highest(recording: Recording) -> float:
    """Return where the axis of the estimates ends; it begins at 0, and values beyond are drawn at its end."""
    values: list[float | None] = list(recording.ticks)
    for place in _moments(recording.frames):
        values += [value for mark in recording.frames[place].marks for value in (mark.estimate, mark.high)]
    values += [recording.means[pair] for pair in recording.shown] if recording.is_about_pairs else []
    cap = max([1.0, *(tick for tick in recording.ticks if tick is not None)])
    return min(cap, max([0.1, *(value for value in values if value is not None)]))


def _estimates(recording: Recording) -> RowsPanel:
    about_pairs = recording.is_about_pairs
    meaning = (recording.interval or "dot: estimate") if recording.has_estimates else "this policy reports no estimates"
    has_ticks = about_pairs or recording.ticks[0] is not None
    truth = "true mean" if about_pairs else recording.truth
    known = f"{'Vertical tick' if has_ticks else 'In brackets'}: {truth}, which the policy does not know"
    inactive = "; grey: inactive" if recording.story == "activity" else ""
    ticks: Sequence[float | None]
    if about_pairs:
        names = [recording.pair_name(pair) for pair in recording.shown]
        truths = [recording.means[pair] for pair in recording.shown]
        ticks, colours = truths, blend_all(len(names))
    else:
        truths = [item.truth for item in recording.items]
        names = [item.name if has_ticks else f"{item.name} ({short(item.truth)})" for item in recording.items]
        ticks, colours = recording.ticks, item_colours(recording)

    def rows(frame: Frame) -> tuple[RowMark, ...]:
        states: Sequence[ItemState | PairState | None] = frame.pairs if about_pairs else frame.items
        return tuple(
            _row(name, colour, state, tick, f"{truth} {short(value)}")
            for name, colour, state, tick, value in zip(
                names, colours, states or [None] * len(names), ticks, truths, strict=True
            )
        )

    return RowsPanel(
        title="What the policy knows",
        note=f"{meaning[:1].upper()}{meaning[1:]}{inactive}. {known}.",
        x_label="",
        x_range=(0.0, highest(recording)),
        hollow=recording.stale,
        frames=tuple(rows(frame) for frame in recording.frames),
    )


def _row(name: str, colour: str, state: ItemState | PairState | None, tick: float | None, truth: str) -> RowMark:
    if state is None:
        return RowMark(name, colour, None, tick=tick, text=truth)
    samples, noun = (state.samples, "sample") if isinstance(state, ItemState) else (state.plays, "play")
    active = not isinstance(state, ItemState) or state.active
    text = f"{plural(samples, noun)}; {truth}"
    return RowMark(name, colour, state.estimate, state.low, state.high, tick, active, text)


def _evidence(recording: Recording) -> RowsPanel | None:
    """The evidence for each link now, and its threshold."""
    if not any(frame.links for frame in recording.frames):
        return None
    top = max(link.threshold for frame in recording.frames for link in frame.links)
    frames = []
    for frame in recording.frames:
        colours = blend_all(len(frame.links))
        frames.append(
            tuple(
                RowMark(link.name, colour, None, 0.0, max(0.0, link.evidence), link.threshold,
                        text="certified" if link.certified else "not certified yet")
                for link, colour in zip(frame.links, colours, strict=True)
            )
        )  # fmt: skip
    return RowsPanel(
        title="Links of the answer",
        note="Bar: the log evidence for each link. Vertical tick: the threshold that certifies it.",
        x_label="log evidence",
        x_range=(0.0, 1.25 * top),
        hollow=False,
        frames=tuple(frames),
    )


def _decisions(recording: Recording) -> DecisionsPanel | None:
    """The numbers that the policy compared at every elimination, split and certificate."""
    colours = item_colours(recording)
    decisions = []
    for k, frame in enumerate(recording.frames):
        at = f"after {plural(frame.round, 'round')}"
        for one in frame.separations:
            rows = tuple(
                RowMark(recording.items[item].name, colours[item], estimate, *interval)
                for item, estimate, interval in (
                    (one.by, one.by_estimate, one.by_interval),
                    (one.item, one.estimate, one.interval),
                )
            )
            until = f", window {one.window}" if one.window is not None else ""
            on = f" on {one.on}" if one.kind == "elimination" else ""
            weight = 2 if one.kind == "split" or (one.leaves and one.window is None) else int(one.leaves)
            decisions.append(DecisionRows(k, f"{at}{on}{until}", one.text, rows, weight))
        for link in frame.certificates:
            row = RowMark(link.name, blend(0), None, 0.0, link.evidence, link.threshold)
            decisions.append(DecisionRows(k, at, certificate_text(link), (row,), 1))
    if not decisions:
        return None
    ends = [end for one in decisions for row in one.rows for end in (row.low, row.high, row.tick) if end is not None]
    is_evidence = any(frame.certificates for frame in recording.frames)
    return DecisionsPanel(
        title="What decided",
        note="Bar: the log evidence when the link was certified. Vertical tick: the threshold that it had to reach."
        if is_evidence
        else "The two intervals that the policy compared: it decides when they do not overlap.",
        x_label="log evidence" if is_evidence else "average reward",
        x_range=(min(ends), max(ends)),
        decisions=tuple(decisions),
    )


def _plays(recording: Recording) -> GridPanel:
    items = recording.items
    n_rows = sum(item.side != "column" for item in items)
    are_players = n_rows == len(items)
    shift = 0 if are_players else n_rows
    numbers = [str(item.number) for item in items]
    return GridPanel(
        title="Pairs played since the frame before",
        note="The stronger the colour, the more often. Outlined: the recommendation. Dot: the best answer.",
        row_label="players" if are_players else "rows",
        column_label="players" if are_players else "columns",
        rows=tuple(numbers[:n_rows]),
        columns=tuple(numbers[shift:]),
        cells=tuple(((a, b - shift), (b, a)) if are_players else ((a, b - shift),) for a, b in recording.pairs),
        names=tuple(recording.pair_name(pair) for pair in range(len(recording.pairs))),
        means=recording.means,
        best=recording.best,
        played=tuple(frame.played for frame in recording.frames),
        outlined=tuple(frame.guess for frame in recording.frames),
    )
