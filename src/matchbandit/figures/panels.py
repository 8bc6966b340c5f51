"""The panels that show a recorded run: plain data that a picture and a page are rendered from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

STRONG, MIDDLE, WEAK = (0x00, 0x6B, 0xAE), (0x8A, 0x80, 0x96), (0xD7, 0x5E, 0x00)
"""Blue to vermilion: distinguishable without seeing red or green, and visible on light and dark backgrounds."""


@dataclass(frozen=True)
class TimeCurve:
    """A line over time, with a band around it where `band` has points."""

    name: str
    label: str
    """Where the line ends; empty: no label."""
    colour: str
    points: tuple[tuple[float, float], ...]
    """Round and value."""
    band: tuple[tuple[float, float, float], ...] = ()
    """Round, low and high."""
    dashed: bool = False
    bold: bool = False
    neutral: bool = False
    """Is it drawn in the colour of text? If it is also dashed, it is a threshold, labelled where it begins."""

    @property
    def is_threshold(self) -> bool:
        """Is it a threshold, not a measurement?"""
        return self.neutral and self.dashed


@dataclass(frozen=True)
class Span:
    """Something that lasts from one round to another, in one row or across several."""

    kind: Literal["bar", "box", "border"]
    """A thick line, a filled rectangle, or a dotted line below a row."""
    start: float
    end: float
    first: int
    """The first row."""
    last: int
    colour: str
    text: str


@dataclass(frozen=True)
class TimeMark:
    """A sign at one moment."""

    shape: Literal["cross", "tick", "dot"]
    round: float
    y: float
    """A row, or a value."""
    text: str
    label: str = ""
    """Drawn beside the sign; it has room until the round `free_until`."""
    free_until: float = 0.0
    colour: str | None = None
    """None: that of text."""


@dataclass(frozen=True)
class TimePanel:
    """A panel whose x axis is the round, on a logarithmic scale."""

    title: str
    y_label: str = ""
    rows: tuple[str, ...] = ()
    """Names of the rows from the top, empty for a gap; without rows the y axis shows values."""
    y_range: tuple[float, float] | None = None
    y_log: bool = False
    """Is the y axis logarithmic from 1 on, with 0 below?"""
    curves: tuple[TimeCurve, ...] = ()
    spans: tuple[Span, ...] = ()
    marks: tuple[TimeMark, ...] = ()
    truths: tuple[tuple[float, str], ...] = ()
    """Values at the right edge, with their names."""
    dividers: tuple[tuple[float, str], ...] = ()
    """Rounds at which a period ends, and its name; the last one ends with the run."""


@dataclass(frozen=True)
class RowMark:
    """An estimate with its interval, in a row of its own."""

    name: str
    colour: str
    estimate: float | None
    low: float | None = None
    high: float | None = None
    tick: float | None = None
    """A reference value: the truth, or a threshold."""
    active: bool = True
    text: str = ""
    """More for a tooltip."""


@dataclass(frozen=True)
class RowsPanel:
    """A panel with one row for each estimate, another for every frame."""

    title: str
    note: str
    x_label: str
    x_range: tuple[float, float]
    hollow: bool
    """Are estimates drawn as rings, because the intervals are older?"""
    frames: tuple[tuple[RowMark, ...], ...]


@dataclass(frozen=True)
class DecisionRows:
    """The numbers that one decision compared."""

    frame: int
    heading: str
    """Short: the round, and on what they were compared."""
    text: str
    """The decision in a sentence."""
    rows: tuple[RowMark, ...]
    weight: int
    """The heavier, the sooner it is in a picture that does not have room for all."""


@dataclass(frozen=True)
class DecisionsPanel:
    """A panel with the intervals, or the evidence and the threshold, that each decision compared."""

    title: str
    note: str
    x_label: str
    x_range: tuple[float, float]
    decisions: tuple[DecisionRows, ...]

    def most_important(self, count: int) -> tuple[DecisionRows, ...]:
        """Return the heaviest decisions, the later ones among equals, in order of time."""
        order = sorted(self.decisions, key=lambda one: (one.weight, one.frame), reverse=True)[:count]
        return tuple(one for one in self.decisions if any(one is other for other in order))


@dataclass(frozen=True)
class GridPanel:
    """A table of all pairs: how often each was played since the frame before."""

    title: str
    note: str
    row_label: str
    column_label: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[tuple[int, int], ...], ...]
    """Row and column of each pair; both ways round for players."""
    names: tuple[str, ...]
    means: tuple[float, ...]
    best: tuple[int, ...]
    """Pairs with a dot."""
    played: tuple[tuple[int, ...], ...]
    """How often each pair was played, in every frame."""
    outlined: tuple[tuple[int, ...], ...]
    """The recommended pairs, in every frame."""


@dataclass(frozen=True)
class FrameText:
    """The text of one moment."""

    round: int
    regret: str
    sentence: str
    event: bool
    window: int | None
    details: tuple[str, ...]
    """Decisions that the sentence counts but does not describe."""


@dataclass(frozen=True)
class Playback:
    """All that is shown of a recorded run."""

    title: str
    lead: str
    caption: str
    versions: str
    frames: tuple[FrameText, ...]
    moments: tuple[int, ...]
    """The frames that a picture shows."""
    story: TimePanel
    regret: TimePanel
    estimates: RowsPanel
    evidence: RowsPanel | None
    decisions: DecisionsPanel | None
    plays: GridPanel

    def played_between(self, first: int, last: int) -> list[float]:
        """Return the share of the rounds after one frame and up to another in which each pair was played."""
        rounds = max(1, self.frames[last].round - self.frames[first].round)
        counts = self.plays.played[first + 1 : last + 1]
        return [sum(of_pair) / rounds for of_pair in zip(*counts, strict=True)] or [0.0] * len(self.plays.cells)


def blend(share: float) -> str:
    """Return a colour between that of the strongest (0) and that of the weakest (1).

    >>> blend(0), blend(0.5), blend(1)
    ('#006bae', '#8a8096', '#d75e00')
    """
    low, high, part = (STRONG, MIDDLE, 2 * share) if share < 0.5 else (MIDDLE, WEAK, 2 * share - 1)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(low, high, strict=True))


def blend_all(count: int) -> list[str]:
    """Return `count` colours from that of the strongest to that of the weakest."""
    return [blend(k / max(1, count - 1)) for k in range(count)]


def last_at(frames: Sequence[FrameText]) -> int:
    """Return the last round, at least 2, where the time axis ends."""
    return max(2, frames[-1].round)
