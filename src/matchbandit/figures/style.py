"""The style of each policy, the same in every chart: colours that colour-blind readers can distinguish."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal, get_args

from matchbandit.figures.chart import Chart, Dash, Series

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


def style_of(key: str) -> Style:
    """Return the style of a policy; any other name has a style of its own, the same in every process.

    >>> style_of("uts").marker
    'cross'
    >>> style_of("mine") == style_of("mine")
    True
    """
    if key in POLICIES:
        return POLICIES[key]
    number = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")
    colours, free = list(PALETTE.values()), []
    for colour, dark in colours:
        styles = (Style(colour, dark, dash, marker) for dash in DASHES[:2] for marker in MARKERS)
        free += [style for style in styles if style not in POLICIES.values()]
    return free[number % len(free)]


def styles_of(chart: Chart) -> tuple[Style, ...]:
    """Return the style of each line of a chart: that of its key, but names outside the catalogue share no colour.

    Lines with the same key (a policy with several options) share its colour, and differ in dash and marker. Hollow
    points (published numbers) have one marker for each label, whatever their key.
    """
    keys = list(dict.fromkeys(line.key or line.label for line in chart.series if not _is_grey(line)))
    chosen = {key: POLICIES[key] for key in keys if key in POLICIES}
    for key in keys:
        if key not in chosen:
            chosen[key] = _unlike(style_of(key), list(chosen.values()))
    published = list(dict.fromkeys(line.label for line in chart.series if line.kind == "points" and line.is_hollow))
    styles = []
    seen: dict[tuple[str, str | None], int] = {}
    for line in chart.series:
        style = _REFERENCE if _is_grey(line) else chosen[line.key or line.label]
        style = replace(style, dash=line.dash or style.dash)
        if line.kind == "line" and line.label:
            before = seen.setdefault((line.key or line.label, line.dash), 0)
            seen[line.key or line.label, line.dash] += 1
            style = _variant(style, before, keep_dash=line.dash is not None)
        if line.kind == "points" and line.is_hollow and not chart.categories:
            style = replace(style, marker=MARKERS[published.index(line.label) % len(MARKERS)])
        styles.append(style)
    return tuple(styles)


def _unlike(style: Style, others: Sequence[Style]) -> Style:
    """This style with the next colour and marker that none of the others has, if there is one."""
    colours = {other.colour for other in others}
    markers = {other.marker for other in others}
    palette = list(PALETTE.values())
    start, first = palette.index((style.colour, style.dark)), MARKERS.index(style.marker)
    free = [pair for pair in palette[start:] + palette[:start] if pair[0] not in colours] or [palette[start]]
    unused = [marker for marker in MARKERS[first:] + MARKERS[:first] if marker not in markers] or [style.marker]
    return Style(*free[0], style.dash, unused[0])


def _is_grey(line: Series) -> bool:
    return line.kind == "reference" and not line.key


def _variant(style: Style, number: int, *, keep_dash: bool) -> Style:
    """The style of a further line in the same colour."""
    marker = MARKERS[(MARKERS.index(style.marker) + number) % len(MARKERS)]
    dash = style.dash if keep_dash else DASHES[(DASHES.index(style.dash) + number) % len(DASHES)]
    return replace(style, dash=dash, marker=marker)
