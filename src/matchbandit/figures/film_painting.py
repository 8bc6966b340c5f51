"""A film as one picture: the story along time, the regret below it, and four moments of intervals and plays.

This module imports matplotlib; `timeline` imports it when a film is drawn.
"""

from collections.abc import Callable, Sequence
from math import log, sqrt
from textwrap import wrap

import numpy as np
from matplotlib import style as mpl_style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, NullFormatter

from matchbandit.figures.film import (
    MOST_LINES,
    Film,
    Frame,
    ItemNow,
    PairNow,
    Story,
    blend,
    colours_of,
    highest,
    lost,
    spaced,
    standing,
)
from matchbandit.figures.matplotlib_renderer import DPI, Picture
from matchbandit.figures.style import GREY
from matchbandit.figures.ticks import even_ticks, log_ticks, unlabelled_log_ticks, words_for
from matchbandit.formatting import grouped, short

PALE, INK = "#c9cdd3", "#1b1b1b"
WIDTH = 9.6
"""Inches."""
SMALL, TINY = 8.0, 7.0
"""Sizes of type, in points."""
LETTER = 0.0072
"""The width of a tiny letter as a share of the time axis: words stand where they end before an item comes back."""
MOST_NAMED, MOST_NUMBERED = 40, 12
"""Items; with more, every other name is left out, and the numbers beside the plays."""
_HALO = [withStroke(linewidth=2.5, foreground="white")]


def paint_film(film: Film) -> Picture:
    """Draw the whole picture."""
    with mpl_style.context([{"font.family": "DejaVu Sans", "text.parse_math": False}], after_reset=True):
        return _painted(film)


def _painted(film: Film) -> Picture:
    moments = film.moments
    n_marks = len(film.shown) if film.of_pairs else len(film.items)
    story_rows = len(film.items) if film.story in ("lives", "clusters") else 14
    heights = [0.2 * story_rows + 0.7, 1.1, max(1.2, 0.15 * n_marks + 0.5), 2.0]
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.07, hspace=0.03)
    picture = Picture(figsize=(WIDTH, sum(heights) + 1.9), dpi=DPI, layout=layout, facecolor="white")
    FigureCanvasAgg(picture)
    grid = picture.add_gridspec(4, len(moments), height_ratios=heights)
    story = picture.add_subplot(grid[0, :])
    _along_time(story, film)
    _STORIES[film.story](story, film)
    story.set_title(film.headline, loc="left", fontsize=10, pad=14 if film.windows else 6)
    _regret(picture.add_subplot(grid[1, :]), film)
    for column, (place, before) in enumerate(zip(moments, (0, *moments), strict=False)):
        frame = film.frames[place]
        axes = picture.add_subplot(grid[2, column])
        _estimates(axes, film, frame, named=column == 0)
        axes.set_title(f"after {_time(frame.round)} rounds", fontsize=9)
        _plays(picture.add_subplot(grid[3, column]), film, before, place, named=column == 0)
    picture.suptitle(film.title, x=0.01, ha="left", fontsize=13)
    picture.supxlabel("\n".join(wrap(_words(film), 160)), x=0.01, ha="left", fontsize=SMALL, color=GREY)
    return picture


def _time(played: int) -> str:
    """A number of rounds as the sentences say it; from a million on, where there is no room, in four digits."""
    return short(played) if played >= 10**6 else grouped(played)


def _words(film: Film) -> str:
    """What the picture shows and how it came about."""
    of_estimates = film.interval or "estimates" if film.has_estimates else "this policy reports no estimates"
    out = "; grey: nothing is open about it" if film.story == "lives" else ""
    truth = "true means" if film.of_pairs else f"{film.truth} of each"
    where = "black ticks" if film.of_pairs or film.ticks[0] is not None else "in brackets"
    return (
        f"{film.caption}. Third row: {of_estimates}{out}; {where}: the {truth}, which the policy does not know. "
        f"Last row: the pairs played since the moment before, the darker the more often; framed: its best guess."
    )


def _names(film: Film) -> list[str]:
    every = 1 if len(film.items) <= MOST_NAMED else 2
    return [item.name if k % every == 0 else "" for k, item in enumerate(film.items)]


def _along_time(axes: Axes, film: Film) -> None:
    """Time on a log scale, from the first round; windows between their ends."""
    last = max(2, film.frames[-1].round)
    axes.set_xscale("log")
    axes.set_xlim(1, last)
    ticks = log_ticks(1, last, 8)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_ticklabels(words_for(ticks, log=True))
    axes.xaxis.set_minor_locator(FixedLocator(unlabelled_log_ticks(1, last)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=SMALL)
    axes.spines[["top", "right"]].set_visible(False)
    began = 1.0
    for end, number in film.windows:
        if end < last:
            axes.axvline(end, color=GREY, linewidth=0.7, linestyle=(0, (2, 2)), zorder=0)
        if end / began > last**0.08:
            axes.annotate(f"window {number}", (sqrt(began * end), 1), xycoords=("data", "axes fraction"),
                          xytext=(0, 2), textcoords="offset points", fontsize=TINY, color=GREY,
                          ha="center")  # fmt: skip
        began = end


def _lives(axes: Axes, film: Film) -> None:
    """A line for each item while it is in; a cross where it leaves, and who beat it on whom."""
    colours, last = colours_of(film), film.frames[-1].round
    for k in range(len(film.items)):
        y = _height(film, k)
        axes.plot([1, last], [y, y], color=PALE, linewidth=0.6, zorder=0)
        for start, end in film.lives(k):
            axes.plot([max(1, start), max(1, end)], [y, y], color=colours[k], linewidth=3.2, solid_capstyle="butt")
    for frame in film.frames:
        for gone in frame.beaten:
            y = _height(film, gone.item)
            axes.plot([frame.round], [y], "x" if gone.leaves else "|", color=INK, markersize=6, zorder=3)
            words = f"{film.items[gone.by].name} on {gone.on}"
            back = next((start for start, _ in film.lives(gone.item) if start > frame.round), last)
            has_room = log(back / frame.round) > LETTER * len(words) * log(last)
            if gone.leaves and has_room and frame.round > last**0.25:
                axes.annotate(words, (frame.round, y), xytext=(6, 0), textcoords="offset points", fontsize=TINY,
                              va="center", path_effects=_HALO)  # fmt: skip
    axes.set_yticks([_height(film, k) for k in range(len(film.items))], _names(film))
    axes.set_ylim(_height(film, len(film.items) - 1) - 0.8, 0.8)


def _height(film: Film, item: int) -> float:
    """Items stand below each other, with a gap between the sides."""
    return -item - 0.7 * (film.items[item].side != film.items[0].side)


def _clusters(axes: Axes, film: Film) -> None:
    """A box for each cluster as long as it stays whole; clusters of one chain are joined."""
    order = standing(film)
    row = {k: y for y, k in enumerate(order)}
    spans: dict[tuple[int, ...], tuple[int, int]] = {}
    for frame, after in zip(film.frames, (*film.frames[1:], film.frames[-1]), strict=True):
        for cluster in frame.clusters:
            start, _ = spans.get(cluster.players, (frame.round, 0))
            spans[cluster.players] = start, after.round
        for upper, lower in zip(frame.clusters, frame.clusters[1:], strict=False):
            if upper.chain == lower.chain:
                y = -max(row[k] for k in upper.players) - 0.5
                axes.plot([max(1, frame.round), max(1, after.round)], [y, y], color=INK, linewidth=2.4,
                          linestyle=(0, (1, 1)), zorder=3)  # fmt: skip
    for players, (start, end) in spans.items():
        top, bottom = min(row[k] for k in players), max(row[k] for k in players)
        corner, size = (max(1, start), -bottom - 0.4), (max(1, end) - max(1, start), bottom - top + 0.8)
        colour = blend((top + bottom) / 2 / max(1, len(order) - 1))
        axes.add_patch(Rectangle(corner, *size, facecolor=colour, alpha=0.28, edgecolor="none"))
        axes.add_patch(Rectangle(corner, *size, facecolor="none", edgecolor=colour, linewidth=1.2))
    names = _names(film)
    axes.set_yticks([-y for y in range(len(order))], [names[k] for k in order])
    axes.set_ylim(-len(order) + 0.3, 0.7)


def _links(axes: Axes, film: Film) -> None:
    """The evidence for each link of the last frame's proof, up to the threshold."""
    links = film.frames[-1].links
    needed = [(max(1, f.round), f.links[0].threshold) for f in film.frames if f.links]
    top = max((threshold for _, threshold in needed), default=1.0)
    axes.set_ylim(-0.4 * top, 1.5 * top)
    axes.plot(*zip(*needed, strict=True), color=INK, linewidth=1, linestyle="--")
    axes.annotate("needed", (0, needed[0][1]), xycoords=("axes fraction", "data"), xytext=(3, 3), fontsize=TINY,
                  textcoords="offset points")  # fmt: skip
    ends = []
    for place, link in enumerate(links):
        seen = [(max(1, f.round), one) for f in film.frames for one in f.links if one.name == link.name]
        colour = blend(place / max(1, len(links) - 1))
        axes.plot([at for at, _ in seen], [one.evidence for _, one in seen], color=colour, linewidth=1.4)
        certain = [(at, one.evidence) for at, one in seen if one.certified][:1]
        for at, evidence in certain:
            axes.plot([at], [evidence], "o", color=colour, markersize=5, markeredgecolor=INK, markeredgewidth=0.8)
        ends.append((link.evidence, link.name, colour))
    _at_the_ends(axes, ends if len(ends) <= MOST_LINES else [])
    axes.set_ylabel("evidence, log", fontsize=SMALL)


def _at_the_ends(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Names to the right of where lines end (height, name, colour), apart from each other."""
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform((1.0, y))[1]) for y, _, _ in ends]
    for height, (_, name, colour) in zip(spaced(heights, 0.066, 0, 1), ends, strict=True):
        axes.annotate(name, (1, height), xycoords="axes fraction", xytext=(9, 0), textcoords="offset points",
                      fontsize=TINY, va="center", color=colour, annotation_clip=False)  # fmt: skip


def _strengths(axes: Axes, film: Film) -> None:
    """The estimate of each item with its interval, over time; the truth at the right."""
    axes.set_ylim(0, highest(film))
    ends = []
    for k, (item, colour, tick) in enumerate(zip(film.items, colours_of(film), film.ticks, strict=True)):
        known = [(max(1, f.round), f.items[k]) for f in film.frames if f.items and f.items[k].estimate is not None]
        dash = "--" if item.side == "column" else "-"
        estimates = np.array([now.estimate for _, now in known], dtype=np.float64)
        axes.plot([at for at, _ in known], estimates, dash, color=colour, linewidth=1.5)
        wide = np.array([(at, now.low, now.high) for at, now in known if now.low is not None], dtype=np.float64)
        at, low, high = wide.reshape(-1, 3).T
        axes.fill_between(at, low, high, color=colour, alpha=0.13, linewidth=0)
        if tick is not None:
            axes.plot(
                [1.005], [tick], "<", transform=axes.get_yaxis_transform(), color=INK, markersize=4, clip_on=False
            )
        ends.append((tick if tick is not None else float(estimates[-1]) if known else 0.0, item.name, colour))
    _at_the_ends(axes, ends if len(ends) <= MOST_LINES + 4 else [])
    axes.set_ylabel("strength", fontsize=SMALL)


def _pairs(axes: Axes, film: Film) -> None:
    """How often each of the best of the most played pairs has been played."""
    axes.set_yscale("symlog", linthresh=1, linscale=0.3)
    axes.set_ylim(0, 1.5 * max(1, film.frames[-1].round))
    ticks = [0.0, *log_ticks(1, max(2, film.frames[-1].round), 6)]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_ticklabels(["0", *words_for(ticks[1:], log=True)])
    axes.yaxis.set_minor_locator(FixedLocator([]))
    ends, lines = [], [film.shown[k] for k in film.lines]
    for place, pair in enumerate(lines):
        totals = np.cumsum([frame.played[pair] for frame in film.frames])
        colour, best = blend(place / max(1, len(lines) - 1)), pair in film.best
        axes.plot([max(1, f.round) for f in film.frames], totals, color=colour, linewidth=2.4 if best else 1.2)
        ends.append((float(totals[-1]), f"{film.pair_name(pair)}{', the best' if best else ''}", colour))
    _at_the_ends(axes, ends)
    more = len(film.pairs) - len(lines)
    axes.set_ylabel(f"plays ({more} more pairs not drawn)" if more else "plays", fontsize=SMALL)


_STORIES: dict[Story, Callable[[Axes, Film], None]] = {
    "lives": _lives,
    "clusters": _clusters,
    "links": _links,
    "strengths": _strengths,
    "pairs": _pairs,
}


def _regret(axes: Axes, film: Film) -> None:
    _along_time(axes, film)
    times, regret = [max(1, frame.round) for frame in film.frames], [frame.regret for frame in film.frames]
    axes.plot(times, regret, color=INK, linewidth=1.5)
    top = max(1e-9, 1.05 * max(regret))
    axes.set_ylim(0, top)
    ticks = even_ticks(0, top, 4)
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_ticklabels(words_for(ticks))
    axes.set_ylabel("regret", fontsize=SMALL)
    axes.set_xlabel("round", fontsize=SMALL)
    words = lost(regret[-1])
    axes.annotate(words, (times[-1], regret[-1]), xytext=(4, 0), fontsize=SMALL, va="center",
                  textcoords="offset points", annotation_clip=False)  # fmt: skip
    for window in axes.texts[:-1]:
        window.remove()  # windows have their names above


def _estimates(axes: Axes, film: Film, frame: Frame, *, named: bool) -> None:
    """Estimates and intervals at one moment, one below the other; the truth as a black tick."""
    marks: Sequence[ItemNow | PairNow] = frame.pairs if film.of_pairs else frame.items
    n = len(film.shown) if film.of_pairs else len(film.items)
    heights = [float(-k) if film.of_pairs else _height(film, k) for k in range(n)]
    colours = [blend(k / max(1, n - 1)) for k in range(n)] if film.of_pairs else colours_of(film)
    ticks = [film.means[pair] for pair in film.shown] if film.of_pairs else film.ticks
    axes.set_xlim(0, 1.05 * highest(film))
    for mark, y, colour, tick in zip(marks, heights, colours, ticks, strict=False):
        look = PALE if isinstance(mark, ItemNow) and not mark.active else colour
        if mark.low is not None and mark.high is not None:
            axes.plot([mark.low, mark.high], [y, y], color=look, linewidth=2.6, solid_capstyle="butt")
        if mark.estimate is not None:
            inside, size = ("white", 4.4) if film.stale else (look, 3.4)
            axes.plot([mark.estimate], [y], "o", color=look, markerfacecolor=inside, markersize=size)
        if tick is not None:
            axes.plot([tick], [y], "|", color=INK, markersize=7)
    axes.set_yticks(heights, _labels(film) if named else [""] * n)
    axes.set_ylim(min(heights) - 0.7, 0.7)
    places = even_ticks(0, highest(film), 5)
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_ticklabels(words_for(places))
    axes.tick_params(labelsize=TINY, length=2)
    axes.spines[["top", "right"]].set_visible(False)


def _labels(film: Film) -> list[str]:
    """Names; with the truth beside them where it has no tick on the axis."""
    if film.of_pairs:
        return [film.pair_name(pair) for pair in film.shown]
    named = zip(_names(film), film.items, strict=True)
    if film.ticks[0] is not None:
        return _names(film)
    return [f"{name} ({item.truth:.2g})" if name else "" for name, item in named]


def _plays(axes: Axes, film: Film, before: int, now: int, *, named: bool) -> None:
    """Which pairs were played between two frames: the darker the more often."""
    rounds = max(1, film.frames[now].round - film.frames[before].round)
    n_rows = sum(item.side != "column" for item in film.items)
    players = n_rows == len(film.items)
    shift = 0 if players else n_rows
    table = np.zeros((n_rows, n_rows if players else len(film.items) - n_rows))
    for (a, b), count in zip(film.pairs, film.played_between(before, now), strict=True):
        table[a, b - shift] = sqrt(count / rounds)
        if players:
            table[b, a] = table[a, b]
    axes.imshow(table, cmap="Blues", vmin=0, vmax=1, aspect="equal")
    for pair in film.frames[now].guess:
        a, b = film.pairs[pair]
        for y, x in {(a, b - shift), *([(b, a)] if players else [])}:
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=blend(1), linewidth=1.4))
    numbers = [str(item.number) for item in film.items]
    few = max(table.shape) <= MOST_NUMBERED
    axes.set_xticks(range(table.shape[1]) if few else [], numbers[shift:] if few else [])
    axes.set_yticks(range(n_rows) if few else [], numbers[:n_rows] if few else [])
    axes.tick_params(labelsize=TINY, length=0)
    if named:
        axes.set_ylabel("players" if players else "rows", fontsize=SMALL)
    axes.set_xlabel("players" if players else "columns", fontsize=SMALL)
