"""What a bound carries besides its value: where it comes from, what it assumes, and whether that is so."""

from dataclasses import asdict, dataclass, field
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


@dataclass(frozen=True)
class Assumption:
    """Something that a bound needs, and whether the instance has it."""

    text: str
    met: bool


@dataclass(frozen=True)
class Bound:
    """One bound on one instance, for one horizon or one risk."""

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
    """Explicit: a number that holds at this horizon or risk. Only these can be broken by a measurement."""
    assumptions: tuple[Assumption, ...] = ()
    note: str = ""
    """What was corrected, or what the proof passes over."""
    parts: dict[str, float] = field(default_factory=dict)
    """The terms that the value is the sum of, each under the equation that it comes from."""

    @property
    def met(self) -> bool:
        """Does the instance meet every assumption?"""
        return all(assumption.met for assumption in self.assumptions)

    @property
    def holds_now(self) -> bool:
        """May a measurement at this horizon or risk be held against it?"""
        return self.constants == "explicit" and self.met

    def describe(self) -> dict[str, Any]:
        """The bound as plain data; an infinite value is None."""
        return {**plain(asdict(self)), "met": self.met}


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
