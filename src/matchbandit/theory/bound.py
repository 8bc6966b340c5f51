"""What a bound carries besides its value: where it comes from, what it assumes, and whether that is so."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from math import isfinite
from typing import Any, Literal

from matchbandit.graphs import Selection

Constants = Literal["explicit", "universal constant set to 1", "asymptotic"]
Of = Literal["regret", "regret until the first split", "rounds"]


def plain(value: Any) -> Any:
    """The same as JSON can hold it: infinity is None."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def shown(value: Any) -> str:
    """A number, or several, as people read them.

    >>> shown(123456.7), shown(0.00012345), shown([1.5, 2.0]), shown(None)
    ('123 457', '0.0001234', '1.5 · 2', 'none')
    """
    if isinstance(value, list):
        between = " / " if value and isinstance(value[0], list) else " · "
        return between.join(shown(part) for part in value)
    if value is None:
        return "none"
    if isinstance(value, int):
        return str(value)
    return f"{value:,.0f}".replace(",", " ") if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


@dataclass(frozen=True)
class Assumption:
    """Something that a bound needs, worded as it is tested, and whether the instance has it."""

    text: str
    met: bool


@dataclass(frozen=True, repr=False)
class Bound:
    """One bound on one instance, for one horizon or one error probability δ."""

    name: str
    value: float
    kind: Literal["upper", "lower"]
    of: Of
    plays: Selection
    """What a round plays."""
    seeks: Selection
    """What is sought: the best pair or the best matching."""
    about: str
    """Whom it binds: a policy by its name, or a class of policies in words."""
    source: str
    """Theorem or equation. Labels such as eqn:rowexplore are those of the paper's source."""
    constants: Constants
    """Explicit: a number that holds at this horizon or δ. Only these can be broken by a measurement."""
    assumptions: tuple[Assumption, ...] = ()
    note: str = ""
    """What was corrected, or what the proof passes over."""
    parts: dict[str, float] = field(default_factory=dict)
    """The terms that the value is the sum of, each under the equation that it comes from."""

    @property
    def met(self) -> bool:
        """Does the instance meet every assumption?"""
        return not self.unmet

    @property
    def unmet(self) -> list[str]:
        """The assumptions that the instance does not meet."""
        return [assumption.text for assumption in self.assumptions if not assumption.met]

    @property
    def holds_now(self) -> bool:
        """May a measurement at this horizon or δ be held against it?"""
        return self.constants == "explicit" and self.met

    @property
    def on(self) -> str:
        """What it is a bound on, in words.

        >>> Bound("T", 2.0, "lower", "rounds", "pair", "matching", "all", "", "explicit").on
        'rounds until the best matching is known, playing pairs'
        """
        what = f"rounds until the best {self.seeks} is known" if self.of == "rounds" else self.of
        return f"{what}, playing {self.plays}s"

    @property
    def cells(self) -> tuple[str, ...]:
        """A line of a table with the heads `HEADS`."""
        constants = "c = 1" if self.constants == "universal constant set to 1" else self.constants
        return self.name, self.kind, shown(self.value), self.source, constants, "met" if self.met else "not met"

    def describe(self) -> dict[str, Any]:
        """The bound as plain data; an infinite value is None."""
        return {**plain(asdict(self)), "met": self.met}

    def __repr__(self) -> str:
        """In one line."""
        sign = "≥" if self.kind == "lower" else "≤"
        unmet = f", does not apply here: it assumes that {'; '.join(self.unmet)}" if self.unmet else ""
        return f"<{self.name}: {self.of} {sign} {shown(self.value)}, {self.constants}, {self.source}{unmet}>"

    def _repr_html_(self) -> str:
        facts = [*zip(HEADS, self.cells, strict=True), ("on", self.on), ("binds", self.about), ("note", self.note)]
        facts += [("assumes", f"{a.text}: {'yes' if a.met else 'no'}") for a in self.assumptions]
        return html_table((), [fact for fact in facts if fact[1]])


HEADS = ("bound", "kind", "value", "where", "constants", "assumptions")
"""Of a table of bounds; assumptions are met by the instance, or not."""


class Bounds(list[Bound]):
    """Bounds, as a list that prints itself as a table."""

    def __repr__(self) -> str:
        """As a table."""
        return text_table(HEADS, [bound.cells for bound in self])

    def _repr_html_(self) -> str:
        return html_table(HEADS, [bound.cells for bound in self])


def text_table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Lines under heads, in columns.

    >>> print(text_table(("a", "b"), [("longer", "1")]))
    a       b
    longer  1
    """
    rows = [tuple(heads), *map(tuple, lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def html_table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """The same for a notebook."""

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag} style='text-align: left'>{escape(c)}</{tag}>" for c in cells) + "</tr>"

    return f"<table>{row(heads, 'th') if heads else ''}{''.join(row(line, 'td') for line in lines)}</table>"


def upper_bound(
    name: str,
    of: Of,
    parts: dict[str, float],
    *,
    about: str,
    source: str,
    assumptions: tuple[Assumption, ...],
    note: str,
    plays: Selection = "pair",
    seeks: Selection = "pair",
    constants: Constants = "explicit",
) -> Bound:
    """An upper bound that is the sum of its parts."""
    return Bound(
        name=name,
        value=float(sum(parts.values())),
        kind="upper",
        of=of,
        plays=plays,
        seeks=seeks,
        about=about,
        source=source,
        constants=constants,
        assumptions=assumptions,
        note=note,
        parts={key: float(part) for key, part in parts.items()},
    )
