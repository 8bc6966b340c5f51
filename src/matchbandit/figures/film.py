"""A run as a film: what stays the same, and one frame after the other. Plain data in, pictures and a page out."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Literal

from matchbandit.formatting import grouped

Story = Literal["lives", "clusters", "links", "strengths", "pairs"]
"""What is told along the time axis: who leaves, how clusters split, evidence, posteriors of items, plays of pairs."""
STRONG, MIDDLE, WEAK = (0x00, 0x6B, 0xAE), (0x8A, 0x80, 0x96), (0xD7, 0x5E, 0x00)
"""From blue to vermilion, which those tell apart who do not see red or green; seen on light and on dark ground."""


MOST_LINES = 12
"""So many pairs have a line in the story of plays; with more links or items, the picture's lines have no names."""


@dataclass(frozen=True)
class Item:
    """A row, a column or a player."""

    side: str
    number: int
    truth: float
    """Its true strength, or where there is none its true mean over all opponents: the policy never sees it."""

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.side} {self.number}"


@dataclass(frozen=True)
class ItemNow:
    """What the policy says of an item in a frame."""

    active: bool
    samples: int
    estimate: float | None
    low: float | None = None
    high: float | None = None
    """The interval around the estimate, where the policy has one."""


@dataclass(frozen=True)
class PairNow:
    """What the policy says of a pair in a frame."""

    plays: int
    estimate: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Beaten:
    """An item that lost a comparison; items by their place in the film's list."""

    item: int
    by: int
    on: str
    """The average that decided: an opponent's name, or "all opponents"."""
    leaves: bool
    """Is it out from this frame on? Among players, who need two beaters, it may not be yet."""


@dataclass(frozen=True)
class Cluster:
    """Players who cannot be told apart yet; clusters of one chain meet each other."""

    players: tuple[int, ...]
    """Places in the film's list."""
    chain: int


@dataclass(frozen=True)
class Link:
    """A step of the proof: how much evidence there is, and how much it takes."""

    name: str
    evidence: float
    threshold: float
    certified: bool


@dataclass(frozen=True)
class Frame:
    """One moment of a run."""

    round: int
    """Rounds played so far."""
    regret: float
    sentence: str
    """What has just happened."""
    event: bool
    """Has something happened that is always shown: a departure, a split, a certificate, the end of a window?"""
    items: tuple[ItemNow, ...]
    """In the order of the film's items; empty if the policy says nothing of items."""
    pairs: tuple[PairNow, ...]
    """In the order of the film's `shown` pairs; empty if the policy says nothing of pairs."""
    clusters: tuple[Cluster, ...]
    """Best first; empty if it has none."""
    links: tuple[Link, ...]
    beaten: tuple[Beaten, ...]
    window: int | None
    """The number of the window that is open, if it has windows."""
    played: tuple[int, ...]
    """How often each pair was played since the frame before."""
    guess: tuple[int, ...]
    """The pairs that it recommends now, by their place in the film's list."""
    done: bool

    @property
    def marks(self) -> "list[ItemNow | PairNow]":
        """What the policy says of items and of pairs."""
        return [*self.items, *self.pairs]


@dataclass(frozen=True)
class Film:
    """A run of a policy, for those who watch."""

    title: str
    lead: str
    """What the policy does, in a sentence."""
    caption: str
    """The instance, the horizon or δ, and the seed."""
    story: Story
    matching: bool
    """Does a round play a matching, or one pair?"""
    items: tuple[Item, ...]
    """Side by side, the strongest first."""
    pairs: tuple[tuple[int, int], ...]
    """The two items of every pair, by their place in `items`."""
    means: tuple[float, ...]
    """The true mean of every pair."""
    best: tuple[int, ...]
    """The truly best pair, or the pairs of the best matching."""
    shown: tuple[int, ...]
    """The pairs whose estimates the frames hold: the truly best and the most played ones, by their means."""
    interval: str
    """What the intervals are, in words; empty if there are none."""
    stale: bool
    """Are the intervals older than the estimates, which may then lie outside?"""
    truth: str
    """What `Item.truth` is, in words."""
    ticks: tuple[float | None, ...]
    """Where each item's truth stands on the axis of the estimates; None where these measure something else."""
    versions: str
    frames: tuple[Frame, ...]

    def pair_name(self, pair: int) -> str:
        """A pair by the numbers of its items."""
        a, b = self.pairs[pair]
        return f"({self.items[a].number}, {self.items[b].number})"

    @property
    def lines(self) -> tuple[int, ...]:
        """Places in `shown` of the pairs that the story of plays draws: the truly best, then those with high means."""
        first = sorted(range(len(self.shown)), key=lambda k: self.shown[k] not in self.best)
        return tuple(sorted(first[:MOST_LINES]))

    @property
    def headline(self) -> str:
        """What the story shows, and how to read it."""
        if self.story == "lives" and not any(frame.beaten for frame in self.frames):
            return "Whose place in the order is still open"
        return _HEADLINES[self.story]

    @property
    def of_pairs(self) -> bool:
        """Are its estimates those of pairs, not of items?"""
        return not any(frame.items for frame in self.frames)

    @property
    def has_estimates(self) -> bool:
        """Does the policy say what it estimates, of items or of pairs?"""
        return any(mark.estimate is not None for frame in self.frames for mark in frame.marks)

    @property
    def moments(self) -> tuple[int, ...]:
        """Four frames that show how it went: evenly spread in log time, the last one the end."""
        times = [log(max(1, frame.round)) for frame in self.frames]
        wanted = [times[-1] * share for share in (0.4, 0.6, 0.8)]
        nearest = {min(range(1, len(times)), key=lambda k: abs(times[k] - at), default=0) for at in wanted}
        return tuple(sorted({*nearest, len(times) - 1}))

    def lives(self, item: int) -> tuple[tuple[int, int], ...]:
        """From which round to which an item was active; more than once if it came back with a new window."""
        spans: list[tuple[int, int]] = []
        for before, frame in zip((None, *self.frames), self.frames, strict=False):
            if before is not None and before.items[item].active:
                spans[-1] = (spans[-1][0], frame.round)
            if frame.items[item].active and (before is None or not before.items[item].active):
                spans.append((frame.round, frame.round))
        return tuple(spans)

    @property
    def windows(self) -> tuple[tuple[int, int], ...]:
        """After which round each window ended, and its number; the last one is open at the end."""
        last = self.frames[-1]
        changes = [(b.round, a.window) for a, b in pairwise(self.frames) if a.window != b.window]
        return tuple((at, number) for at, number in (*changes, (last.round, last.window)) if number is not None)

    def played_between(self, first: int, last: int) -> tuple[int, ...]:
        """How often each pair was played after one frame and up to another."""
        parts = [frame.played for frame in self.frames[first + 1 : last + 1]]
        return tuple(map(sum, zip(*parts, strict=True))) if parts else (0,) * len(self.pairs)


_HEADLINES: dict[Story, str] = {
    "lives": "Who is still in: a cross where an item leaves, and who beat it on whom",
    "clusters": "Clusters: players in one box cannot be told apart yet; a dotted line joins the clusters of a chain",
    "links": "Evidence for each link of the proof; a dot where it is certain",
    "strengths": "Strengths as the policy sees them, and the truth at the right",
    "pairs": "Plays of each pair",
}


def lost(regret: float) -> str:
    """A regret in words, the same wherever it stands: whole from 1000 on, in four digits below.

    >>> lost(10368.74), lost(999.97), lost(12.345)
    ('10,369', '1,000', '12.35')
    """
    return grouped(round(regret)) if float(f"{regret:.4g}") >= 1000 else f"{regret:.4g}"


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


def standing(film: Film) -> list[int]:
    """Players from the top: by the clusters at the end, within a cluster by their averages."""
    last = film.frames[-1]
    by_average = [sorted(c.players, key=lambda k: -(last.items[k].estimate or 0.0)) for c in last.clusters]
    return [k for players in by_average for k in players]


def highest(film: Film) -> float:
    """Where the axis of the estimates ends, which begins at 0: what stands beyond, early on, is drawn at its end."""
    shown: list[float | None] = list(film.ticks)
    for place in film.moments:
        shown += [value for mark in film.frames[place].marks for value in (mark.estimate, mark.high)]
    shown += [film.means[pair] for pair in film.shown] if film.of_pairs else []
    cap = max([1.0, *(tick for tick in film.ticks if tick is not None)])
    return min(cap, max([0.1, *(value for value in shown if value is not None)]))


def spaced(heights: Sequence[float], between: float, low: float, high: float) -> list[float]:
    """Heights near these, in the same order, that are so far apart and lie between low and high, if there is room.

    >>> spaced([0.5, 0.5, 0.9], 0.2, 0, 1)
    [0.5, 0.7, 0.9]
    """
    placed, order = list(heights), sorted(range(len(heights)), key=heights.__getitem__)
    free = low
    for k in order:
        placed[k] = max(placed[k], free)
        free = placed[k] + between
    free = high
    for k in reversed(order):
        placed[k] = round(min(placed[k], free), 12)
        free = placed[k] - between
    return placed
