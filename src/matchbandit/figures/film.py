"""A run as a film: what stays the same, and one frame after the other. Plain data in, pictures and a page out."""

from dataclasses import dataclass
from math import log
from typing import Literal

Story = Literal["lives", "clusters", "links", "strengths", "pairs"]
"""What is told along the time axis: who leaves, how clusters split, evidence, posteriors of items, plays of pairs."""


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
    """The pairs whose estimates the frames hold: the most played ones."""
    interval: str
    """What the intervals are, in words; empty if there are none."""
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
    def window_ends(self) -> tuple[int, ...]:
        """After which rounds a window ended."""
        both = zip(self.frames, self.frames[1:], strict=False)
        return tuple(b.round for a, b in both if None not in (a.window, b.window) and a.window != b.window)

    def played_between(self, first: int, last: int) -> tuple[int, ...]:
        """How often each pair was played after one frame and up to another."""
        parts = [frame.played for frame in self.frames[first + 1 : last + 1]]
        return tuple(map(sum, zip(*parts, strict=True))) if parts else (0,) * len(self.pairs)
