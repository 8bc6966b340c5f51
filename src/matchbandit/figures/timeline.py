"""A film as one picture: the story along time, the regret below it, and four moments of intervals and plays."""

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

from matchbandit.extras import need
from matchbandit.figures.film import Film, Frame
from matchbandit.figures.ticks import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STRONG, MIDDLE, WEAK = (0x00, 0x6B, 0xAE), (0x8A, 0x80, 0x96), (0xD7, 0x5E, 0x00)
"""From blue to vermilion, which those tell apart who do not see red or green; seen on light and on dark ground."""
_GREY, _PALE = "#6b6b6b", "#c8ccd2"
_MOST_NAMES = 40
"""With more items on a side every other name is left out."""
_LINKS_NAMED = 8


def colours_of(film: Film) -> tuple[str, ...]:
    """A colour for each item: blue for the strongest of its side, vermilion for the weakest."""
    chosen = []
    for item in film.items:
        side = [other for other in film.items if other.side == item.side]
        chosen.append(blend(side.index(item) / max(1, len(side) - 1)))
    return tuple(chosen)


def blend(share: float) -> str:
    """A colour between the strongest (0) and the weakest (1).

    >>> blend(0), blend(0.5), blend(1)
    ('#006bae', '#8a8096', '#d75e00')
    """
    low, high, part = (STRONG, MIDDLE, 2 * share) if share < 0.5 else (MIDDLE, WEAK, 2 * share - 1)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(low, high, strict=True))


def film_figure(film: Film) -> "Figure":
    """The whole picture."""
    moments = film.moments
    n_rows = len(film.items) if film.story in ("lives", "clusters") else 12
    n_marks = len(film.shown) if _of_pairs(film) else len(film.items)
    n_cells = max(len({a for a, _ in film.pairs}), 4)
    heights = [max(2.2, 0.2 * n_rows + 0.6), 1.1, max(1.5, 0.14 * n_marks + 0.5), 1.9 + 0.02 * n_cells]
    figure: Figure = need("matplotlib.figure", "drawing").Figure(figsize=(9.6, sum(heights) + 1.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06, hspace=0.03)
    grid = figure.add_gridspec(4, len(moments), height_ratios=heights)
    story = figure.add_subplot(grid[0, :])
    _STORIES[film.story](story, film)
    _along_time(story, film)
    story.set_title(_TITLES[film.story], loc="left", fontsize=10)
    regret = figure.add_subplot(grid[1, :], sharex=story)
    _regret(regret, film)
    first = None
    for column, (place, before) in enumerate(zip(moments, (0, *moments), strict=False)):
        axes = figure.add_subplot(grid[2, column], sharex=first, sharey=first)
        first = first or axes
        _intervals(axes, film, film.frames[place], named=column == 0)
        axes.set_title(f"after {short(film.frames[place].round)} rounds", fontsize=9)
        _plays(figure.add_subplot(grid[3, column]), film, before, place, named=column == 0)
    figure.suptitle(film.title, x=0.01, ha="left", fontsize=13)
    figure.supxlabel("\n".join(_wrapped(_words(film), 125)), x=0.01, ha="left", fontsize=8, color=_GREY)
    return figure


def _words(film: Film) -> str:
    """What the picture shows and how it came about."""
    what = f"Third row: {film.interval or 'estimates'}" + ("; blue: active." if film.story == "lives" else ".")
    ticks = f"Black ticks: the {_truth_of_ticks(film)}, which the policy does not know."
    heat = "Last row: the pairs played since the moment before, dark for often; framed: its best guess."
    return f"{film.caption}. {what} {ticks} {heat}"


def _truth_of_ticks(film: Film) -> str:
    return "true means" if _of_pairs(film) else f"{film.truth}s" if film.truth.endswith("strength") else film.truth


def _wrapped(text: str, width: int) -> list[str]:
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]


def _of_pairs(film: Film) -> bool:
    """Does it estimate pairs, not items?"""
    return not any(frame.items for frame in film.frames)


def _names(film: Film) -> list[str]:
    several = len({item.side for item in film.items}) > 1
    every = 1 if len(film.items) <= _MOST_NAMES else 2
    return [
        (item.name if several or len(film.items) <= 24 else str(item.number)) if k % every == 0 else ""
        for k, item in enumerate(film.items)
    ]


def _along_time(axes: "Axes", film: Film) -> None:
    axes.set_xscale("log")
    axes.set_xlim(1, max(2, film.frames[-1].round))
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    for k, end in enumerate(film.window_ends):
        axes.axvline(max(1, end), color=_GREY, linewidth=0.7, linestyle=(0, (2, 2)), zorder=0)
        words = f"window {k} ends" if end > film.frames[-1].round ** 0.3 else ""
        axes.annotate(words, (max(1, end), 1), xycoords=("data", "axes fraction"), xytext=(-2, -2), rotation=90,
                      textcoords="offset points", fontsize=6.5, color=_GREY, ha="right", va="top")  # fmt: skip


def _lives(axes: "Axes", film: Film) -> None:
    """A line for each item while it is in; a cross where it leaves, and who beat it on whom."""
    colours, last = colours_of(film), film.frames[-1].round
    for k in range(len(film.items)):
        y = _height(film, k)
        axes.plot([1, last], [y, y], color=_PALE, linewidth=0.6, zorder=0)
        for start, end in film.lives(k):
            axes.plot([max(1, start), max(1, end)], [y, y], color=colours[k], linewidth=3.2, solid_capstyle="butt")
    told: dict[int, float] = {}
    for frame in film.frames:
        for gone in frame.beaten:
            y = _height(film, gone.item)
            axes.plot([frame.round], [y], "x" if gone.leaves else "|", color="black", markersize=6, zorder=3)
            words = f"{film.items[gone.by].name} on {gone.on}"
            if gone.leaves and frame.round > 6 * told.get(gone.item, 0) and frame.round > last**0.25:
                axes.annotate(words, (frame.round, y), xytext=(5, 1), textcoords="offset points", fontsize=6.5,
                              va="bottom", color="black")  # fmt: skip
                told[gone.item] = frame.round
    axes.set_yticks([_height(film, k) for k in range(len(film.items))], _names(film))
    axes.set_ylim(_height(film, len(film.items) - 1) - 0.8, 0.9)


def _height(film: Film, item: int) -> float:
    """Items stand below each other, with a gap between the sides."""
    return -item - 0.7 * (film.items[item].side != film.items[0].side)


def standing(film: Film) -> list[int]:
    """Players from the top: by the clusters at the end, within a cluster by their averages."""
    last = film.frames[-1]
    by_average = [sorted(c.players, key=lambda k: -(last.items[k].estimate or 0.0)) for c in last.clusters]
    return [k for players in by_average for k in players]


def _clusters(axes: "Axes", film: Film) -> None:
    """A box for each cluster as long as it stays whole; clusters of one chain are joined."""
    order = standing(film)
    row, last, colours = {k: y for y, k in enumerate(order)}, film.frames[-1].round, colours_of(film)
    spans: dict[tuple[int, ...], tuple[int, int]] = {}
    joined: dict[int, list[tuple[int, int]]] = {}
    for frame, after in zip(film.frames, (*film.frames[1:], film.frames[-1]), strict=True):
        for cluster in frame.clusters:
            start = spans.get(cluster.players, (frame.round, 0))[0]
            spans[cluster.players] = start, after.round
        for upper, lower in zip(frame.clusters, frame.clusters[1:], strict=False):
            if upper.chain == lower.chain:
                joined.setdefault(max(row[k] for k in upper.players), []).append((frame.round, after.round))
    patches = need("matplotlib.patches", "drawing")
    for players, (start, end) in spans.items():
        top, bottom = min(row[k] for k in players), max(row[k] for k in players)
        left, right = max(1, start), max(1, end)
        strongest = colours[min(players)] if len(players) == 1 else blend((top + bottom) / 2 / max(1, len(order) - 1))
        axes.add_patch(patches.Rectangle((left, -bottom - 0.4), right - left, bottom - top + 0.8, facecolor=strongest,
                                         alpha=0.28, edgecolor="none"))  # fmt: skip
        axes.add_patch(patches.Rectangle((left, -bottom - 0.4), right - left, bottom - top + 0.8, facecolor="none",
                                         edgecolor=strongest, linewidth=1.2))  # fmt: skip
    for y, times in joined.items():
        for start, end in times:
            axes.plot([max(1, start), max(1, end)], [-y - 0.5] * 2, color="black", linewidth=2.2, linestyle=(0, (1, 1)))
    names = _names(film)
    axes.set_yticks([-y for y in range(len(order))], [names[k] for k in order])
    axes.set_ylim(-len(order) + 0.3, 0.7)
    axes.set_xlim(1, last)


def _links(axes: "Axes", film: Film) -> None:
    """The evidence for each link of the last frame's proof, up to the threshold."""
    last = film.frames[-1]
    named = sorted(last.links, key=lambda link: link.evidence)[:: max(1, len(last.links) // _LINKS_NAMED)]
    wanted = {link.name for link in named}
    ends: list[tuple[float, str]] = []
    for place, link in enumerate(sorted(last.links, key=lambda link: link.name)):
        points = [(f.round, one.evidence) for f in film.frames for one in f.links if one.name == link.name]
        colour = blend(place / max(1, len(last.links) - 1))
        axes.plot([max(1, x) for x, _ in points], [y for _, y in points], color=colour, linewidth=1.4)
        certain = next((f.round for f in film.frames for one in f.links if one.name == link.name and one.certified), None)
        if certain is not None:
            height = dict(points)[certain]
            axes.plot([max(1, certain)], [height], "o", color=colour, markersize=5, markeredgecolor="black")
        if link.name in wanted:
            ends.append((link.evidence, link.name))
    steps = [(f.round, f.links[0].threshold) for f in film.frames if f.links]
    if steps:
        axes.plot([max(1, x) for x, _ in steps], [y for _, y in steps], color="black", linewidth=1, linestyle="--")
        axes.annotate("needed", (0, steps[0][1]), xycoords=("axes fraction", "data"), xytext=(3, 2),
                      textcoords="offset points", fontsize=7.5)  # fmt: skip
        top = max(y for _, y in steps)
        axes.set_ylim(-0.4 * top, 1.5 * top)
    _at_the_ends(axes, ends)
    axes.set_ylabel("evidence (log)", fontsize=8)


def _at_the_ends(axes: "Axes", ends: Sequence[tuple[float, str]]) -> None:
    """Names at the right end of their lines, apart from each other."""
    low, high = axes.get_ylim()
    between, below = 0.062 * (high - low), low
    for y, name in sorted(ends):
        at = max(min(y, high), below + between)
        below = at
        axes.annotate(name, (1, at), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
                      fontsize=7, va="center", annotation_clip=False)  # fmt: skip


def _strengths(axes: "Axes", film: Film) -> None:
    """The estimate of each item with its interval, over time; the truth at the right."""
    colours = colours_of(film)
    for k, item in enumerate(film.items):
        known = [(max(1, f.round), f.items[k]) for f in film.frames if f.items and f.items[k].estimate is not None]
        times = [at for at, _ in known]
        dash = "--" if item.side == "column" else "-"
        axes.plot(times, [now.estimate for _, now in known], dash, color=colours[k], linewidth=1.5)
        wide = [(at, now.low, now.high) for at, now in known if now.low is not None and now.high is not None]
        if wide:
            axes.fill_between(*zip(*wide, strict=True), color=colours[k], alpha=0.13, linewidth=0)
        tick = film.ticks[k]
        if tick is not None:
            axes.plot([1.004], [tick], "<", transform=axes.get_yaxis_transform(), color="black", markersize=4,
                      clip_on=False)  # fmt: skip
    axes.set_ylim(min(0.0, *_span(film)), max(1.0, min(1.3, max(_span(film)))))
    last = film.frames[-1].items
    _at_the_ends(axes, [(last[k].estimate or 0.0, f"  {item.name}") for k, item in enumerate(film.items)]
                 if len(film.items) <= 16 else [])  # fmt: skip
    axes.set_ylabel("strength", fontsize=8)


def _pairs(axes: "Axes", film: Film) -> None:
    """How often each of the most played pairs has been played."""
    ends = []
    lines = film.shown[:12]
    for place, pair in enumerate(lines):
        total, points = 0, []
        for frame in film.frames:
            total += frame.played[pair]
            points.append((max(1, frame.round), total))
        colour, best = blend(place / max(1, len(lines) - 1)), pair in film.best
        axes.plot(*zip(*points, strict=True), color=colour, linewidth=2.2 if best else 1.2)
        ends.append((total, f"{film.pair_name(pair)}{', best' if best else ''}"))
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(0, 2 * max(1, film.frames[-1].round))
    heights = sorted(ends)
    to_axes = axes.transData + axes.transAxes.inverted()
    below = -0.1
    for total, name in heights:
        y = max(float(to_axes.transform((1, total))[1]), below + 0.06)
        below = y
        axes.annotate(name, (1, y), xycoords="axes fraction", xytext=(4, 0), textcoords="offset points", fontsize=7,
                      va="center", annotation_clip=False)  # fmt: skip
    axes.set_ylabel("plays", fontsize=8)


_STORIES = {"lives": _lives, "clusters": _clusters, "links": _links, "strengths": _strengths, "pairs": _pairs}
_TITLES = {
    "lives": "Who is still in: a cross where an item leaves, and who beat it on whom",
    "clusters": "Clusters: players in one box cannot be told apart yet; a dotted line joins the clusters of a chain",
    "links": "Evidence for each link of the proof; a dot where it is certain",
    "strengths": "Strengths as the policy sees them, and the truth at the right",
    "pairs": "Plays of each pair",
}


def _regret(axes: "Axes", film: Film) -> None:
    times = [max(1, frame.round) for frame in film.frames]
    axes.plot(times, [frame.regret for frame in film.frames], color="black", linewidth=1.5)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("regret", fontsize=8)
    axes.set_xlabel("round", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.annotate(short(film.frames[-1].regret), (times[-1], film.frames[-1].regret), xytext=(4, 0), fontsize=8,
                  textcoords="offset points", va="center", annotation_clip=False)  # fmt: skip


def _span(film: Film) -> list[float]:
    """All that the axis of the estimates must show, at the moments that are shown."""
    found: list[float] = []
    for place in film.moments:
        for now in (*film.frames[place].items, *film.frames[place].pairs):
            found += [value for value in (now.estimate, now.low, now.high) if value is not None]
    found += [tick for tick in film.ticks if tick is not None]
    return found or [0.0, 1.0]


def _intervals(axes: "Axes", film: Film, frame: Frame, *, named: bool) -> None:
    """Estimates and intervals at one moment, one below the other; the truth as a black tick."""
    pairs = _of_pairs(film)
    marks: Sequence[Any] = frame.pairs if pairs else frame.items
    colours = [blend(k / max(1, len(marks) - 1)) for k in range(len(marks))] if pairs else colours_of(film)
    for k, now in enumerate(marks):
        y = -k if pairs else _height(film, k)
        colour = colours[k] if pairs or now.active else _PALE
        if now.low is not None and now.high is not None:
            axes.plot([now.low, now.high], [y, y], color=colour, linewidth=2.6, solid_capstyle="butt")
        if now.estimate is not None:
            axes.plot([now.estimate], [y], "o", color=colour, markersize=3.2)
        tick = film.means[film.shown[k]] if pairs else film.ticks[k]
        if tick is not None:
            axes.plot([tick], [y], "|", color="black", markersize=7)
    heights = [-k if pairs else _height(film, k) for k in range(len(marks))]
    axes.set_yticks(heights, [film.pair_name(p) for p in film.shown] if pairs else _labelled(film))
    if not named:
        axes.tick_params(axis="y", labelleft=False)
    span = _span(film)
    low, high = max(-0.5, min(0.0, *span)), min(1.5, max(span))
    axes.set_xlim(low - 0.02, high + 0.05 * (high - low))
    axes.set_ylim(min(heights, default=0) - 0.7, 0.7)
    axes.tick_params(labelsize=7, length=2)
    axes.spines[["top", "right"]].set_visible(False)


def _labelled(film: Film) -> list[str]:
    """Names; with the truth beside them where it has no tick on the axis."""
    names = _names(film)
    if film.ticks[0] is not None:
        return names
    return [f"{name} ({item.truth:.2g})" if name else "" for name, item in zip(names, film.items, strict=True)]


def _plays(axes: "Axes", film: Film, before: int, now: int, *, named: bool) -> None:
    """Which pairs were played between two frames: dark for often."""
    numpy = need("numpy", "drawing")
    rounds = max(1, film.frames[now].round - film.frames[before].round)
    played = film.played_between(before, now)
    rows = [k for k, item in enumerate(film.items) if item.side != "column"]
    one_side = len(rows) == len(film.items)
    columns = rows if one_side else [k for k, item in enumerate(film.items) if item.side == "column"]
    table = numpy.zeros((len(rows), len(columns)))
    shift = 0 if one_side else len(rows)
    for (a, b), count in zip(film.pairs, played, strict=True):
        table[a, b - shift] = sqrt(count / rounds)
        if one_side:
            table[b, a] = table[a, b]
    axes.imshow(table, cmap="Blues", vmin=0, vmax=1, aspect="equal")
    patches = need("matplotlib.patches", "drawing")
    for pair in film.frames[now].guess:
        a, b = film.pairs[pair]
        for y, x in {(a, b - shift), *([(b, a)] if one_side else [])}:
            axes.add_patch(patches.Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=f"{blend(1)}", linewidth=1.4))
    few = max(table.shape) <= 12
    axes.set_xticks(range(len(columns)), [str(film.items[k].number) for k in columns] if few else [""] * len(columns))
    axes.set_yticks(range(len(rows)), [str(film.items[k].number) for k in rows] if few else [""] * len(rows))
    axes.tick_params(labelsize=6.5, length=0)
    if named:
        axes.set_ylabel("players" if one_side else "rows", fontsize=8)
    axes.set_xlabel("players" if one_side else "columns", fontsize=8)
