"""The style of each policy, the same in every chart: colours that colour-blind readers can distinguish."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate
from typing import Literal, get_args

from matchbandit.figures.chart import Chart, Dash

Marker = Literal[
    "circle", "square", "diamond", "triangle", "triangle-down", "triangle-left", "triangle-right", "plus", "cross",
    "hexagon", "star", "pentagon",
]  # fmt: skip
DASHES: tuple[Dash, ...] = get_args(Dash)
MARKERS: tuple[Marker, ...] = get_args(Marker)

PALETTE = {
    "blue": ("#006bae", "#5a97d6"),
    "vermilion": ("#d75e00", "#ff8a1f"),
    "teal": ("#00a179", "#2ee6a0"),
    "raspberry": ("#a1366b", "#ff4f7f"),
    "indigo": ("#2828a1", "#3d6bff"),
    "lilac": ("#ae79f2", "#ebadff"),
    "olive": ("#435e00", "#f2e52e"),
    "black": ("#1b1b1b", "#ffffff"),
    "brown": ("#5e281b", "#b05c14"),
    "plum": ("#51005e", "#b63ac0"),
}
"""On white, and on a dark page. Chosen by search: the ten differ most to readers who do not see red or green."""
GREY, DARK_GREY = "#6b6b6b", "#a2a2a2"
"""Of reference lines, which are not measured."""


@dataclass(frozen=True)
class Style:
    """The colour, dash and marker of a line."""

    colour: str
    """On a light background."""
    dark: str
    """On a dark background."""
    dash: Dash
    marker: Marker


def _style(colour: str, dash: Dash, marker: Marker) -> Style:
    return Style(*PALETTE[colour], dash, marker)


_REFERENCE = Style(GREY, DARK_GREY, "solid", "circle")
POLICIES = {
    "pair-elim": _style("teal", "solid", "pentagon"),
    "pair-elim-mono": _style("olive", "solid", "star"),
    "pair-select": _style("indigo", "solid", "triangle-left"),
    "matching-id": _style("blue", "solid", "diamond"),
    "simple-adaptive-matching": _style("teal", "solid", "diamond"),
    "adaptive-matching": _style("brown", "solid", "pentagon"),
    "exploration-first": _style("lilac", "solid", "star"),
    "rank1-elim": _style("raspberry", "solid", "triangle"),
    "rank1-elim-kl": _style("brown", "solid", "triangle-down"),
    "uts": _style("indigo", "solid", "cross"),
    "kl-ucb": _style("black", "solid", "hexagon"),
    "track-and-stop": _style("lilac", "dashed", "triangle-down"),
    "cucb": _style("black", "solid", "plus"),
    "cts-beta": _style("indigo", "solid", "triangle-down"),
    "cts-gaussian": _style("plum", "solid", "triangle"),
    "clucb": _style("raspberry", "solid", "triangle-right"),
    "escb": _style("raspberry", "dashed", "triangle-left"),
    "aescb": _style("plum", "dashed", "triangle-left"),
    "ols-ucb": _style("lilac", "solid", "cross"),
    "grab": _style("teal", "dashed", "triangle"),
    "pb-mhb": _style("raspberry", "dashed", "star"),
    "rank1-certify": _style("vermilion", "solid", "square"),
    "rank1-thompson": _style("blue", "dashed", "circle"),
    "rank1-track-and-stop": _style("black", "dashed", "triangle"),
    "sequential-halving": _style("brown", "solid", "hexagon"),
    "uniform": _style("lilac", "dashed", "plus"),
}
"""Solid lines: the policy has a proof, of its regret or of its answers. Dashed lines: it has none."""


def style_of(key: str, taken: Collection[Style] = ()) -> Style:
    """Return the style of a policy; any other name has one of its own, if possible unlike those that are taken.

    >>> style_of("uts").marker
    'cross'
    >>> style_of("mine") == style_of("mine")
    True
    """
    if key in POLICIES:
        return POLICIES[key]
    every = (Style(*pair, dash, marker) for pair in PALETTE.values() for dash in DASHES[:2] for marker in MARKERS)
    free = [style for style in every if style not in POLICIES.values()]
    start = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") % len(free)  # in every process
    colours, markers = {style.colour for style in taken}, {style.marker for style in taken}
    # Of several that share as little with the others, the first.
    return min(free[start:] + free[:start], key=lambda style: (style.colour in colours) + (style.marker in markers))


def styles_of(chart: Chart) -> tuple[Style, ...]:
    """Return the style of each line of a chart: that of its key, but names outside the catalogue share no colour.

    Lines with the same key (a policy with several options) share its colour, and differ in dash and marker. Hollow
    points (published numbers) have one marker for each label, whatever their key.
    """
    keys = ["" if line.kind == "reference" and not line.key else line.key or line.label for line in chart.series]
    chosen = {"": _REFERENCE} | {key: POLICIES[key] for key in keys if key in POLICIES}
    for key in keys:
        if key not in chosen:
            chosen[key] = style_of(key, chosen.values())
    published = list(dict.fromkeys(line.label for line in chart.series if line.kind == "points" and line.is_hollow))
    styles: list[Style] = []
    seen: Counter[tuple[str, str | None]] = Counter()
    for line, key in zip(chart.series, keys, strict=True):
        dash, marker = line.dash or chosen[key].dash, chosen[key].marker
        if line.kind == "line" and line.label:  # a further line in the same colour differs in dash and marker
            number = seen[key, line.dash]
            dash = line.dash or DASHES[(DASHES.index(dash) + number) % len(DASHES)]
            marker = MARKERS[(MARKERS.index(marker) + number) % len(MARKERS)]
            seen[key, line.dash] += 1
        if line.kind == "points" and line.is_hollow and not chart.categories:
            marker = MARKERS[published.index(line.label) % len(MARKERS)]
        styles.append(replace(chosen[key], dash=dash, marker=marker))
    return tuple(styles)


def spread_apart(heights: Sequence[float], gaps: float | Sequence[float], *, low: float, high: float) -> list[float]:
    """Move rising heights apart: the nearest ones in the same order with this gap, or these gaps, inside low and high.

    The outermost stay half a gap inside the limits. Without enough space for all, they exceed `high`.

    >>> spread_apart([0.0, 0.1, 0.8], 0.25, low=-1.0, high=1.0)
    [-0.075, 0.175, 0.8]
    >>> spread_apart([0.0, 0.0], [0.5], low=0.0, high=2.0)
    [0.25, 0.75]
    """
    if not isinstance(gaps, Sequence):
        gaps = [gaps] * max(len(heights) - 1, 0)
    offsets = [0.0, *accumulate(gaps)][: len(heights)]  # above the first, if all were as close as they may be
    groups: list[tuple[float, int]] = []  # each: where its first would stand without its offset, and how many there are
    for height, offset in zip(heights, offsets, strict=True):
        start, size = height - offset, 1
        while groups and start < groups[-1][0]:
            first, before = groups.pop()
            start, size = (first * before + start * size) / (before + size), before + size
        groups.append((start, size))
    edges = (gaps[0] / 2, gaps[-1] / 2) if gaps else (0.0, 0.0)
    most = high - edges[1] - sum(gaps)
    starts = [max(min(start, most), low + edges[0]) for start, size in groups for _ in range(size)]
    return [round(start + offset, 12) for start, offset in zip(starts, offsets, strict=True)]
