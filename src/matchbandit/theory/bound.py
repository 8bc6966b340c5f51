"""A bound: its value, its source, its assumptions, and what its value is worth; lists of bounds print as tables."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from math import inf, isfinite
from typing import Any, Literal

from matchbandit.formatting import fixed, grouped
from matchbandit.graphs import Selection

Task = Literal["regret", "identification"]
Constants = Literal["explicit", "universal constant set to 1", "asymptotic"]
Origin = Literal["paper", "model", "package"]
ROUNDING = 1e-9
"""A value that lies below the trivial one by this share differs from it by rounding only."""


def to_json(value: Any) -> Any:
    """Replace infinity by None, which JSON can hold."""
    if isinstance(value, dict):
        return {key: to_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def format_value(value: Any) -> str:
    """Format a number, or several, for people.

    >>> format_value(123456.7), format_value(0.00012345), format_value([1.5, 2.0]), format_value(None)
    ('123,457', '0.0001234', '1.5 · 2', 'none')
    """
    if isinstance(value, list):
        separator = " / " if value and isinstance(value[0], list) else " · "
        return separator.join(format_value(part) for part in value)
    if value is None:
        return "none"
    if isinstance(value, int):
        return grouped(value)
    return fixed(value, 0) if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


@dataclass(frozen=True)
class Assumption:
    """A condition of a bound, worded as it is tested, and whether the instance meets it."""

    text: str
    met: bool


@dataclass(frozen=True, repr=False, kw_only=True)
class Bound:
    """One bound on one instance, for one horizon or one error probability δ."""

    name: str
    value: float
    kind: Literal["upper", "lower"]
    task: Task
    """Regret up to a horizon, or identification: the rounds until an answer."""
    plays: Selection
    """What a round plays."""
    seeks: Selection
    """What is sought: the best pair or the best matching."""
    about: str
    """Whom it binds, in words."""
    policy: str | None = None
    """The policy that it binds; None: a class of policies."""
    source: str
    """Theorem or equation. Labels such as eqn:rowexplore are those of the paper's source."""
    short_source: str = ""
    """The source without proof and equations, for tables and charts; by default `source`."""
    origin: Origin = "paper"
    """Who proves it: the paper; the theory of the product model; or this package (docs/certified.md)."""
    constants: Constants = "explicit"
    """Explicit: a number that holds at this horizon or δ. Only these can be broken by a measurement."""
    stop: Literal["first-split"] | None = None
    """Where the rounds that it is on end, if not at the horizon; as in `simulate`."""
    trivial_value: float | None = None
    """What holds without a theorem; by default infinity for upper bounds and 0 for lower ones."""
    assumptions: tuple[Assumption, ...] = ()
    note: str = ""
    """What was corrected, or what the proof passes over."""
    parts: dict[str, float] = field(default_factory=dict)
    """The terms that the value is the sum of, each under its equation."""

    def __post_init__(self) -> None:
        """Fill in the defaults that depend on other fields."""
        if not self.short_source:
            object.__setattr__(self, "short_source", self.source)
        if self.trivial_value is None:
            object.__setattr__(self, "trivial_value", inf if self.kind == "upper" else 0.0)

    @property
    def of(self) -> str:
        """The bounded quantity: regret, regret until the first split, or rounds."""
        if self.task == "identification":
            return "rounds"
        return "regret until the first split" if self.stop == "first-split" else "regret"

    @property
    def met(self) -> bool:
        """Whether the instance meets every assumption."""
        return not self.unmet

    @property
    def unmet(self) -> list[str]:
        """The assumptions that the instance does not meet."""
        return [assumption.text for assumption in self.assumptions if not assumption.met]

    @property
    def vacuous(self) -> bool:
        """Whether the value is no better than `trivial_value`.

        >>> Bound(name="T", value=inf, kind="upper", task="identification", plays="pair", seeks="pair", about="uts",
        ...       source="").vacuous
        True
        """
        assert self.trivial_value is not None
        if self.kind == "lower":
            return self.value <= self.trivial_value
        return self.value >= self.trivial_value * (1 - ROUNDING)

    @property
    def on(self) -> str:
        """What it is a bound on, in words.

        >>> Bound(name="T", value=2.0, kind="lower", task="identification", plays="pair", seeks="matching", about="all",
        ...       source="").on
        'rounds until the best matching is known, playing pairs'
        """
        quantity = f"rounds until the best {self.seeks} is known" if self.task == "identification" else self.of
        return f"{quantity}, playing {self.plays}s"

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of a table with the columns `COLUMNS`."""
        value = format_value(self.value) + (" (vacuous)" if self.vacuous else "")
        constants = "c = 1" if self.constants == "universal constant set to 1" else self.constants
        return self.name, self.kind, value, self.short_source, constants, "met" if self.met else "not met"

    def describe(self) -> dict[str, Any]:
        """The bound as JSON data; an infinite value is None."""
        return {**to_json(asdict(self)), "of": self.of, "met": self.met, "vacuous": self.vacuous}

    def __repr__(self) -> str:
        """In one line."""
        sign = "≥" if self.kind == "lower" else "≤"
        value = format_value(self.value) + (" (vacuous)" if self.vacuous else "")
        unmet = f", does not apply here: it assumes that {'; '.join(self.unmet)}" if self.unmet else ""
        return f"<{self.name}: {self.of} {sign} {value}, {self.constants}, {self.source}{unmet}>"

    def _repr_html_(self) -> str:
        facts = [*zip(COLUMNS, self.cells, strict=True), ("on", self.on), ("binds", self.about), ("note", self.note)]
        facts += [("assumes", f"{a.text}: {'yes' if a.met else 'no'}") for a in self.assumptions]
        return html_table((), [fact for fact in facts if fact[1]])


COLUMNS = ("bound", "kind", "value", "where", "constants", "assumptions")
"""Of a table of bounds; assumptions are met by the instance, or not."""


class Bounds(list[Bound]):
    """A list of bounds that prints as a table."""

    def __repr__(self) -> str:
        """As a table."""
        return text_table(COLUMNS, [bound.cells for bound in self])

    def _repr_html_(self) -> str:
        return html_table(COLUMNS, [bound.cells for bound in self])


def text_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Align rows below the names of their columns.

    >>> print(text_table(("a", "b"), [("longer", "1")]))
    a       b
    longer  1
    """
    lines = [tuple(columns), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same for a notebook."""

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag} style='text-align: left'>{escape(c)}</{tag}>" for c in cells) + "</tr>"

    return f"<table>{row(columns, 'th') if columns else ''}{''.join(row(cells, 'td') for cells in rows)}</table>"


def upper_bound(
    parts: dict[str, float],
    *,
    policy: str,
    about: str | None = None,
    plays: Selection = "pair",
    seeks: Selection = "pair",
    **fields: Any,
) -> Bound:
    """An upper bound of a policy that is the sum of its parts; other fields as in `Bound`."""
    return Bound(
        value=float(sum(parts.values())),
        kind="upper",
        policy=policy,
        about=about or policy,
        plays=plays,
        seeks=seeks,
        parts={key: float(part) for key, part in parts.items()},
        **fields,
    )
