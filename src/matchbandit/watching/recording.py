"""A recorded run: what does not change, and one frame after the other."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Story = Literal["activity", "clusters", "links", "strengths", "pairs"]
"""What the main panel shows over time: active items, clusters, evidence, estimates of items, or plays of pairs."""
OWN_AND_BETTER = "opponents of their own and better clusters"
"""The average on which the players of a cluster are compared."""


@dataclass(frozen=True)
class RecordedItem:
    """A row, a column or a player."""

    side: str
    number: int
    truth: float
    """Its true strength or, where there is none, its true mean over all opponents; the policy never sees it."""

    @property
    def name(self) -> str:
        """The side and the number, such as "row 2"."""
        return f"{self.side} {self.number}"


@dataclass(frozen=True)
class ItemState:
    """What the policy reports about an item."""

    active: bool
    samples: int
    estimate: float | None
    low: float | None = None
    high: float | None = None
    """The interval around the estimate, where the policy has one."""


@dataclass(frozen=True)
class PairState:
    """What the policy reports about a pair."""

    plays: int
    estimate: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Separation:
    """Two items that the policy compared and separated; items by their position in `Recording.items`.

    The numbers are those that the policy compared, at the moment when it decided.
    """

    kind: Literal["elimination", "split"]
    item: int
    """The worse of the two."""
    by: int
    """The better one."""
    on: str
    """The average on which they were compared: an opponent's name, or several opponents."""
    leaves: bool
    """Is the worse one out from this frame on? Among players, who need two beaters, it may not be yet."""
    window: int | None
    """The window for which it is out; None: for good."""
    estimate: float
    interval: tuple[float, float]
    by_estimate: float
    by_interval: tuple[float, float]
    text: str
    """The comparison in words."""


@dataclass(frozen=True)
class ClusterState:
    """Players who are not distinguishable yet; clusters of one chain meet each other."""

    players: tuple[int, ...]
    """Positions in `Recording.items`."""
    chain: int


@dataclass(frozen=True)
class LinkState:
    """A statement that the policy must certify: its evidence, and the threshold that certifies it."""

    name: str
    """Such as "player 0 above 2"."""
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
    """Did something happen that is always shown: an elimination, a split, a certificate, the end of a window?"""
    items: tuple[ItemState, ...]
    """In the order of `Recording.items`; empty if the policy reports nothing about items."""
    pairs: tuple[PairState, ...]
    """In the order of `Recording.shown`; empty if the policy reports nothing about pairs."""
    clusters: tuple[ClusterState, ...]
    """The best first; empty if there are none."""
    links: tuple[LinkState, ...]
    separations: tuple[Separation, ...]
    """The comparisons that decided since the frame before, of eliminations and splits."""
    certificates: tuple[LinkState, ...]
    """The links that were certified since the frame before."""
    window: int | None
    """The number of the open window, if the policy has windows."""
    played: tuple[int, ...]
    """How often each pair was played since the frame before."""
    guess: tuple[int, ...]
    """The pairs that the policy recommends now, by their position in `Recording.pairs`."""
    done: bool

    @property
    def eliminations(self) -> tuple[Separation, ...]:
        """The comparisons that items lost since the frame before."""
        return tuple(one for one in self.separations if one.kind == "elimination")

    @property
    def marks(self) -> "list[ItemState | PairState]":
        """What the policy reports about items and pairs."""
        return [*self.items, *self.pairs]


@dataclass(frozen=True)
class Recording:
    """One run of a policy."""

    title: str
    lead: str
    """What the policy does, in a sentence."""
    caption: str
    """The instance, the horizon or δ, and the seed."""
    story: Story
    matching: bool
    """Does a round play a matching, or one pair?"""
    items: tuple[RecordedItem, ...]
    """Side by side, the strongest first."""
    pairs: tuple[tuple[int, int], ...]
    """The two items of every pair, by their position in `items`."""
    means: tuple[float, ...]
    """The true mean of every pair."""
    best: tuple[int, ...]
    """The truly best pair, or the pairs of the best matching."""
    shown: tuple[int, ...]
    """The pairs whose estimates the frames hold: the truly best and the most played ones, in order of their means."""
    interval: str
    """What the intervals mean; empty if there are none."""
    stale: bool
    """Are the intervals older than the estimates, which may then lie outside?"""
    truth: str
    """What `RecordedItem.truth` means."""
    ticks: tuple[float | None, ...]
    """Where the truth of each item lies on the axis of the estimates; None where these measure something else."""
    versions: str
    frames: tuple[Frame, ...]

    def pair_name(self, pair: int) -> str:
        """The numbers of the two items of a pair."""
        a, b = self.pairs[pair]
        return f"({self.items[a].number}, {self.items[b].number})"

    @property
    def is_about_pairs(self) -> bool:
        """Does the policy estimate pairs, not items?"""
        return not any(frame.items for frame in self.frames)

    @property
    def has_estimates(self) -> bool:
        """Does the policy report estimates of items or pairs?"""
        return any(mark.estimate is not None for frame in self.frames for mark in frame.marks)

    def active_spans(self, item: int) -> tuple[tuple[int, int], ...]:
        """The rounds from which to which an item was active; several spans if it came back with a new window."""
        spans: list[tuple[int, int]] = []
        for before, frame in zip((None, *self.frames), self.frames, strict=False):
            if before is not None and before.items[item].active:
                spans[-1] = (spans[-1][0], frame.round)
            if frame.items[item].active and (before is None or not before.items[item].active):
                spans.append((frame.round, frame.round))
        return tuple(spans)

    @property
    def windows(self) -> tuple[tuple[int, int], ...]:
        """The round after which each window ended, and its number; the last one is open at the end."""
        last = self.frames[-1]
        changes = [(b.round, a.window) for a, b in pairwise(self.frames) if a.window != b.window]
        return tuple((at, number) for at, number in (*changes, (last.round, last.window)) if number is not None)
