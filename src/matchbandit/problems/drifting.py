"""Drifting problems: strengths that walk at random, follow seasons or jump while a policy plays."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cached_property
from math import inf
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError, check_float, check_int, parse_number, unknown
from matchbandit.formatting import grouped, short
from matchbandit.graphs import MAX_COUNTED_PAIRS, Graph, Pairs, Selection
from matchbandit.problems.base import Problem, as_numbers, problem_from
from matchbandit.problems.families import Family
from matchbandit.problems.rank1 import Bipartite, Monopartite
from matchbandit.rewards import Counts, Floats
from matchbandit.seeding import stream

MAX_BLOCK, MAX_BLOCK_NUMBERS = 1024, 1_000_000
"""Changes that are drawn at once, and their strengths: constants, as the path of a run must not depend on who plays."""
MAX_EVERY = 10**15
MAX_STEP = 1e6
"""Of a random walk, on the logit scale: far smaller steps already reach everything between the bounds in one round."""


class Changes(NamedTuple):
    """Consecutive changes of the strengths."""

    rounds: Counts
    """The rounds played before each change, increasing."""
    strengths: Floats
    """The strengths of all items after each change, shape (changes, items)."""


@dataclass(frozen=True)
class Drift(ABC):
    """How strengths move: `RandomWalk`, `Seasons` or `Jumps`."""

    name: ClassVar[str]
    """In study files, rows and on the command line."""

    @property
    @abstractmethod
    def is_still(self) -> bool:
        """Does nothing ever change?"""

    @abstractmethod
    def changes(self, strengths: Floats, rng: np.random.Generator) -> Iterator[Changes]:
        """Yield all changes in blocks, from these strengths on.

        Parameters
        ----------
        strengths : array of float
            Of all items, rows first.
        rng : numpy.random.Generator
            Used by nothing else.

        Yields
        ------
        Changes
        """

    def count_changes(self, rounds: int) -> int:
        """Return about how many changes come within these rounds; 0 if it is not known."""
        return 0

    def check_graph(self, graph: Graph) -> None:
        """Refuse a graph that this drift does not fit."""
        return

    def describe(self) -> dict[str, Any]:
        """The drift as JSON data; `drift_from` reads it back."""
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {"kind": self.name, **values}

    def _set(self, **values: Any) -> None:
        """Store checked values in the frozen fields."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        """Kind and parameters, without those that are None."""
        parameters = [f"{name} = {_text(value)}" for name, value in asdict(self).items() if value is not None]
        return f"{self.name} ({', '.join(parameters)})"


@dataclass(frozen=True)
class RandomWalk(Drift):
    """Strengths walk at random on the logit scale, and are reflected at two bounds.

    After every `every` rounds, log(u/(1 − u)) of each item moves by step · √every · N(0, 1), independently: the speed
    does not depend on `every`. The first strengths are those of the problem; one outside the bounds starts to walk
    from the nearer bound.

    Parameters
    ----------
    step : float
        The standard deviation of the movement in one round, from 0 to 10⁶.
    every : int, default 1
        Rounds between two changes.
    low, high : float, default 0.01 and 0.99
        The bounds, strictly between 0 and 1.

    Examples
    --------
    >>> walking = Drifting(Monopartite([.9, .8, .6, .3]), RandomWalk(step=0.1))
    >>> walking.strengths([1, 2, 1000], seed=1).round(2).tolist()
    [[0.9, 0.8, 0.6, 0.3], [0.89, 0.81, 0.57, 0.3], [0.91, 0.22, 0.56, 0.85]]
    """

    step: float
    every: int = 1
    low: float = 0.01
    high: float = 0.99
    name: ClassVar[str] = "random-walk"

    def __post_init__(self) -> None:
        """Check the parameters."""
        low, high = _check_bounds(self.low, self.high)
        if low <= 0 or high >= 1:
            raise MatchbanditError(
                f"low and high must lie strictly between 0 and 1 for a random walk, whose logits are finite; "
                f"got {low:g} and {high:g}."
            )
        step, every = _check_at_least_0("step", self.step), _check_every(self.every)
        if step > MAX_STEP:
            raise MatchbanditError(f"step must be at most {grouped(MAX_STEP)}; got {step:g}. It moves log(u/(1 − u)).")
        self._set(step=step, every=every, low=low, high=high)

    @property
    def is_still(self) -> bool:
        """With a step of 0."""
        return self.step == 0

    def count_changes(self, rounds: int) -> int:
        """Return the number of changes within these rounds."""
        return 0 if self.is_still else rounds // self.every

    def changes(self, strengths: Floats, rng: np.random.Generator) -> Iterator[Changes]:
        """Yield the reflected walk: a free walk, folded into the bounds."""
        bottom, top = logit(np.array([self.low, self.high]))
        width = top - bottom
        position = logit(np.clip(strengths, self.low, self.high)) - bottom
        start, block = 0, _block_size(strengths)
        while True:
            steps = self.step * np.sqrt(self.every) * rng.standard_normal((block, len(strengths)))
            free = (position + np.cumsum(steps, axis=0)) % (2 * width)
            position = free[-1]
            folded = np.clip(expit(bottom + np.minimum(free, 2 * width - free)), self.low, self.high)
            yield Changes(self.every * np.arange(start + 1, start + block + 1), folded)
            start += block


@dataclass(frozen=True)
class Seasons(Drift):
    """Strengths rise and fall with a common period, each item in its own phase.

    In round t the logit of the strength u is log(u/(1 − u)) + amplitude · sin(2π ((t − 1)/period + phase)), where u is
    the strength in the problem; t is the first of its `every` rounds. Strengths of 0 and 1 stay.

    Parameters
    ----------
    period : float
        Rounds until the strengths are the same again, above 0.
    amplitude : float
        The largest movement of a logit, at least 0.
    every : int, default 1
        Rounds between two changes.
    phases : sequence of float, optional
        In periods, one for each item, rows first; by default uniform on [0, 1], drawn for each run.
    """

    period: float
    amplitude: float
    every: int = 1
    phases: tuple[float, ...] | None = None
    name: ClassVar[str] = "seasons"

    def __post_init__(self) -> None:
        """Check the parameters."""
        period = check_float("period", self.period)
        if period <= 0:
            raise MatchbanditError(f"period must be above 0; got {period:g}. It is a number of rounds.")
        every, amplitude = _check_every(self.every), _check_at_least_0("amplitude", self.amplitude)
        phases = None
        if self.phases is not None:
            phases = tuple(np.atleast_1d(as_numbers("phases", self.phases, "a list of numbers")).ravel().tolist())
        self._set(period=period, amplitude=amplitude, every=every, phases=phases)

    @property
    def is_still(self) -> bool:
        """With an amplitude of 0."""
        return self.amplitude == 0

    def count_changes(self, rounds: int) -> int:
        """Return the number of changes within these rounds."""
        return 0 if self.is_still else rounds // self.every

    def check_graph(self, graph: Graph) -> None:
        """Refuse another number of phases than there are items."""
        if self.phases is not None and len(self.phases) != graph.n_items:
            raise MatchbanditError(
                f"phases must have one number for each of the {graph.n_items} items; got {len(self.phases)}. "
                f"Leave phases out to draw them."
            )

    def changes(self, strengths: Floats, rng: np.random.Generator) -> Iterator[Changes]:
        """Yield the strengths from round 1 on: the first change is before it."""
        phases = rng.random(len(strengths)) if self.phases is None else np.array(self.phases)
        middle = logit(strengths)
        start, block = 0, _block_size(strengths)
        while True:
            rounds = self.every * np.arange(start, start + block)
            turns = np.fmod(rounds, self.period)[:, None] / self.period + phases
            yield Changes(rounds, expit(middle + self.amplitude * np.sin(2 * np.pi * turns)))
            start += block


@dataclass(frozen=True)
class Jumps(Drift):
    """Now and then some or all items get new strengths, uniform on [low, high].

    Parameters
    ----------
    rate : float, optional
        The probability of a jump after each round, in [0, 1]; give it or `rounds`.
    rounds : sequence of int, optional
        The first rounds with new strengths, at least 1; a jump in round 1 replaces the strengths of the problem.
    items : int, optional
        How many items get a new strength in a jump, chosen at random; by default all.
    low, high : float, default 0 and 1
        The range of new strengths.
    """

    rate: float | None = None
    rounds: tuple[int, ...] | None = None
    items: int | None = None
    low: float = 0.0
    high: float = 1.0
    name: ClassVar[str] = "jumps"

    def __post_init__(self) -> None:
        """Check the parameters."""
        if (self.rate is None) == (self.rounds is None):
            got = "neither" if self.rate is None else "both"
            raise MatchbanditError(f"jumps need either a rate, such as 0.001, or rounds, such as [5000]; got {got}.")
        rate, rounds = self.rate, None
        if rate is not None:
            rate = _check_at_least_0("rate", rate)
            if rate > 1:
                raise MatchbanditError(f"rate must lie in [0, 1], as a probability per round; got {rate:g}.")
        if self.rounds is not None:
            values = self.rounds if isinstance(self.rounds, Iterable) else [self.rounds]
            rounds = tuple(sorted({check_int("a round of a jump", each, minimum=1, maximum=10**18) for each in values}))
        low, high = _check_bounds(self.low, self.high)
        items = None if self.items is None else check_int("items", self.items, minimum=1)
        self._set(rate=rate, rounds=rounds, items=items, low=low, high=high)

    @property
    def is_still(self) -> bool:
        """With a rate of 0, or an empty list of rounds."""
        return not (self.rate or self.rounds)

    def count_changes(self, rounds: int) -> int:
        """Return the expected number of jumps within these rounds."""
        return int(rounds * (self.rate or 0)) + sum(each <= rounds for each in self.rounds or ())

    def check_graph(self, graph: Graph) -> None:
        """Refuse more items than there are."""
        if self.items is not None and self.items > graph.n_items:
            raise MatchbanditError(
                f"items must be at most {graph.n_items}, all items of {graph}; got {self.items}. Leave it out for all."
            )

    def changes(self, strengths: Floats, rng: np.random.Generator) -> Iterator[Changes]:
        """Yield every jump."""
        now = strengths
        for rounds in self._times(_block_size(strengths), rng):
            rows = np.empty((len(rounds), len(now)))
            for k in range(len(rounds)):
                chosen = rng.permutation(len(now))[: self.items]
                now = now.copy()
                now[chosen] = rng.uniform(self.low, self.high, len(chosen))
                rows[k] = now
            yield Changes(rounds, rows)

    def _times(self, block: int, rng: np.random.Generator) -> Iterator[Counts]:
        """The rounds played before each jump, in blocks."""
        if self.rounds is not None:
            for first in range(0, len(self.rounds), block):
                yield np.array(self.rounds[first : first + block], dtype=np.int64) - 1
        elif self.rate:
            last = 0
            with np.errstate(divide="ignore"):
                hazard = -np.log1p(-self.rate)  # ∞ at a rate of 1
            while True:
                with np.errstate(over="ignore"):  # at rates near 0
                    waits = np.minimum(rng.exponential(size=block) / hazard, 2**50)
                gaps = 1 + waits.astype(np.int64)
                yield last + np.cumsum(gaps)
                last += int(gaps.sum())


DRIFTS: dict[str, type[Drift]] = {kind.name: kind for kind in (RandomWalk, Seasons, Jumps)}
"""The kinds of drift by name."""


@dataclass(frozen=True, eq=False, repr=False)
class Drifting(Problem):
    """A problem whose strengths move while a policy plays.

    `simulate` and `compare` measure the regret of each round against the best pair or matching of that round. Every
    run has its own path of strengths, from the stream `stream(seed, "drift", run)`: it is the same for every policy.

    Parameters
    ----------
    problem : Bipartite, Monopartite or Family
        The strengths at the start. A family gives every run its own instance.
    drift : Drift
        How they move: `RandomWalk`, `Seasons` or `Jumps`.

    Examples
    --------
    >>> players = Drifting(Monopartite([.9, .6, .5, .1]), Jumps(rounds=[3], low=.5))
    >>> players.strengths([1, 2, 3], seed=7).round(2).tolist()
    [[0.9, 0.6, 0.5, 0.1], [0.9, 0.6, 0.5, 0.1], [0.85, 0.8, 0.89, 0.54]]
    """

    problem: Bipartite | Monopartite | Family
    drift: Drift
    kind: ClassVar[str] = "drifting"

    def __init__(self, problem: Bipartite | Monopartite | Family, drift: Drift) -> None:
        """Check that the problem has strengths, and that the drift fits it."""
        if not isinstance(drift, Drift):
            raise MatchbanditError(
                f"drift must be RandomWalk(…), Seasons(…) or Jumps(…); got {drift!r}. "
                f"drift_from reads a table, parse_drift a text."
            )
        first = problem.draw() if isinstance(problem, Family) else problem
        if not isinstance(first, Bipartite | Monopartite):
            raise MatchbanditError(
                f"only strengths drift: those of a Bipartite or Monopartite problem, or of a family of them; "
                f"got {problem!r}."
            )
        if not first.graph.has_few_pairs:
            raise MatchbanditError(
                f"a drifting problem has at most {grouped(MAX_COUNTED_PAIRS)} pairs; {first.graph} has "
                f"{grouped(first.graph.n_pairs)}. Use fewer items."
            )
        drift.check_graph(first.graph)
        object.__setattr__(self, "problem", problem)
        object.__setattr__(self, "drift", drift)
        object.__setattr__(self, "rewards", problem.rewards)

    @cached_property
    def graph(self) -> Graph:
        """The pairs that can be played."""
        return self.problem.graph

    def path(self, problem: Problem, *, seed: int, run: int) -> "DriftPath":
        """The path of the strengths of one run, which starts at this instance."""
        return DriftPath(problem, self.drift, stream(seed, "drift", run))

    def strengths(self, rounds: Iterable[int], *, seed: int = 0, run: int = 0) -> Floats:
        """Return the strengths of all items in these rounds of a run.

        Parameters
        ----------
        rounds : iterable of int
            Rounds, counted from 1, in increasing order.
        seed : int, default 0
        run : int, default 0

        Returns
        -------
        array of float, shape (rounds, items)
            Rows before columns.
        """
        wanted = np.array([check_int("a round", each, minimum=1) for each in rounds], dtype=np.int64)
        if (np.diff(wanted) < 0).any():
            raise MatchbanditError("rounds must increase. Sort them first.")
        start = self.problem.draw(seed, run) if isinstance(self.problem, Family) else self.problem
        path = self.path(start, seed=seed, run=run)
        result = np.tile(path.start, (len(wanted), 1))
        for changes in path.blocks():
            after = np.searchsorted(changes.rounds, wanted, side="left")  # changes before each round
            result[after > 0] = changes.strengths[after[after > 0] - 1]
            if not len(wanted) or changes.rounds[-1] >= wanted[-1] - 1:
                break
        return result

    def describe(self) -> dict[str, Any]:
        """The description of the problem at the start, and the drift."""
        return {**self.problem.describe(), "drift": self.drift.describe()}

    @classmethod
    def _from_description(cls, parts: dict[str, Any]) -> Problem:
        """Build the problem at the start, and the drift."""
        start = problem_from({name: value for name, value in parts.items() if name != "drift"})
        return cls(start, drift_from(parts["drift"]))  # type: ignore[arg-type]  # one without strengths is refused

    def __repr__(self) -> str:
        """The problem at the start, and the drift."""
        return f"Drifting {self.problem!r}; {self.drift}"

    def _refuse(self) -> NoReturn:
        raise MatchbanditError(
            "the means of a drifting problem, and its best pair and matching, change from round to round. "
            "Use .problem for those at the start, or .strengths(rounds, seed=, run=)."
        )

    @property
    def means(self) -> Floats:
        """Not defined: they change."""
        self._refuse()

    def _means_between(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Floats:
        self._refuse()

    @property
    def best_pair(self) -> Pairs:
        """Not defined: it changes."""
        self._refuse()

    @property
    def best_matching(self) -> Pairs:
        """Not defined: it changes."""
        self._refuse()

    def tie(self, selection: Selection) -> str | None:
        """Not defined: it changes."""
        self._refuse()


class DriftPath:
    """The strengths of one run, change by change.

    Parameters
    ----------
    problem : Bipartite or Monopartite
        The instance at the start.
    drift : Drift
    rng : numpy.random.Generator
        Used by nothing else.
    """

    def __init__(self, problem: Problem, drift: Drift, rng: np.random.Generator) -> None:
        """Draw the first block."""
        if not isinstance(problem, Bipartite | Monopartite):
            raise MatchbanditError(f"only strengths drift, and {problem!r} has none.")
        self.problem = problem
        self.start: Floats = problem.u if isinstance(problem, Monopartite) else np.concatenate([problem.u, problem.v])
        """The strengths of all items in the problem, rows first."""
        self._blocks = iter(()) if drift.is_still else drift.changes(self.start, rng)
        self._first = next(self._blocks, None)

    @property
    def first_change(self) -> float:
        """The number of rounds before the first change; ∞ if there is none."""
        return inf if self._first is None else int(self._first.rounds[0])

    def blocks(self) -> Iterator[Changes]:
        """All changes, block by block; to be called once."""
        if self._first is not None:
            yield self._first
        yield from self._blocks


def refuse_drifting(what: str, problem: object, fix: str) -> None:
    """Refuse a drifting problem where the means must be constant.

    >>> refuse_drifting("bounds", Monopartite([.9, .3]), "Use its .problem.")
    """
    if isinstance(problem, Drifting):
        raise MatchbanditError(
            f"{what} cannot be used on a drifting problem: the best answer changes from round to round. {fix}"
        )


def drift_from(description: Mapping[str, Any]) -> Drift:
    """Build the drift that `Drift.describe` described, or that a study file names.

    Parameters
    ----------
    description : mapping
        `kind`, and the parameters of that kind.

    Returns
    -------
    Drift

    Examples
    --------
    >>> drift_from({"kind": "random-walk", "step": 0.01, "every": 10})
    RandomWalk(step=0.01, every=10, low=0.01, high=0.99)
    """
    parameters = dict(description)
    name = parameters.pop("kind", None)
    takes = parameters_of_drift(name)
    for parameter in parameters:
        if parameter not in takes:
            raise unknown(f"parameter of {name}", parameter, takes)
    missing = [
        field.name for field in fields(DRIFTS[name]) if field.default is MISSING and field.name not in parameters
    ]
    if missing:
        raise MatchbanditError(f"{name} needs {' and '.join(missing)}; got {parameters or 'nothing'}.")
    return DRIFTS[name](**parameters)


def parameters_of_drift(name: object) -> list[str]:
    """The parameters of the kind of drift of this name.

    >>> parameters_of_drift("random-walk")
    ['step', 'every', 'low', 'high']
    """
    if not isinstance(name, str) or name not in DRIFTS:
        raise unknown("drift", name, DRIFTS)
    return [field.name for field in fields(DRIFTS[name])]


def parse_drift(text: str) -> Drift:
    """Parse a drift as the command line takes it: the kind and its parameters, separated by colons.

    A parameter without a name is the next one in the order of the class; commas separate the numbers of a list.

    Parameters
    ----------
    text : str
        Such as `random-walk:0.01`, `seasons:10000:1.5:every=10`, `jumps:0.001` or `jumps:rounds=5000,8000`.

    Returns
    -------
    Drift

    Examples
    --------
    >>> parse_drift("seasons:1e4:1.5")
    Seasons(period=10000.0, amplitude=1.5, every=1, phases=None)
    >>> parse_drift("jumps:rounds=5000,8000").rounds
    (5000, 8000)
    """
    if not isinstance(text, str):
        raise MatchbanditError(f"a drift is named by a text such as 'random-walk:0.01'; got {text!r}.")
    name, *parts = text.split(":")
    takes = parameters_of_drift(name)
    parameters: dict[str, Any] = {}
    for k, part in enumerate(parts):
        key, equals, value = part.partition("=")
        if not equals:
            if k >= len(takes):
                raise MatchbanditError(f"{name} takes at most {len(takes)} parameters; got {text!r}.")
            key, value = takes[k], part
        if key in parameters:
            raise MatchbanditError(f"{key} is given twice in {text!r}. Give it once.")
        is_list = key in ("rounds", "phases")
        parameters[key] = [_number(key, each) for each in value.split(",")] if is_list else _number(key, value)
    return drift_from({"kind": name, **parameters})


COLUMN_PREFIX = "drift_"
"""Before the name of a parameter, in rows and in the data of studies; the column `drift` has the kind."""


def drift_columns(description: Mapping[str, Any] | None) -> dict[str, Any]:
    """The described drift by the names of columns in rows, without parameters that are None.

    >>> drift_columns(Jumps(rate=0.1).describe())
    {'drift': 'jumps', 'drift_rate': 0.1, 'drift_low': 0.0, 'drift_high': 1.0}
    """
    values = {name: value for name, value in (description or {}).items() if value is not None}
    return {"drift" if name == "kind" else f"{COLUMN_PREFIX}{name}": value for name, value in values.items()}


def drift_annotations() -> dict[str, Any]:
    """The types of all columns that `drift_columns` may give."""
    hints: dict[str, Any] = {"drift": str}
    for kind in DRIFTS.values():
        hints |= {f"{COLUMN_PREFIX}{field.name}": field.type for field in fields(kind)}
    return hints


def flatten_drift(drift: Any) -> dict[str, Any]:
    """The drift of a study, an object, a table or a text, as data by the names of columns; lists are sweeps.

    >>> flatten_drift({"kind": "random-walk", "step": [0.001, 0.01]})
    {'drift': 'random-walk', 'drift_step': [0.001, 0.01]}
    """
    if isinstance(drift, str) and ":" in drift:
        drift = parse_drift(drift)
    if isinstance(drift, Drift):
        drift = drift.describe()
    if isinstance(drift, str):
        drift = {"kind": drift}
    if not isinstance(drift, Mapping):
        raise MatchbanditError(
            f'drift must be a table such as {{kind = "random-walk", step = 0.01}}; got {drift!r}. To sweep it, make a '
            f"list of one of its parameters, or give a list of problems."
        )
    if "kind" not in drift:
        raise MatchbanditError(f"drift needs its kind, one of {', '.join(DRIFTS)}; got {dict(drift)!r}.")
    kinds = drift["kind"] if isinstance(drift["kind"], list | tuple) else [drift["kind"]]
    takes = ["kind", *(name for kind in kinds for name in parameters_of_drift(kind))]
    for name in drift:
        if name not in takes:
            raise unknown(f"parameter of {' and '.join(kinds)}", name, takes)
    return drift_columns(drift)


def pop_drift(parts: dict[str, Any]) -> Drift | None:
    """Remove the entries of `flatten_drift` from the data of a problem, and build the drift; None if there is none."""
    names = [name for name in parts if name == "drift" or name.startswith(COLUMN_PREFIX)]
    values = {("kind" if name == "drift" else name.removeprefix(COLUMN_PREFIX)): parts.pop(name) for name in names}
    return drift_from(values) if "kind" in values else None


def logit(p: Floats) -> Floats:
    """log(p/(1 − p)), infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-p))


def expit(x: Floats) -> Floats:
    """1/(1 + e^(−x)), the inverse of `logit`."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))


def _block_size(strengths: Floats) -> int:
    """How many changes of these strengths are drawn at once."""
    return max(1, min(MAX_BLOCK, MAX_BLOCK_NUMBERS // len(strengths)))


def _check_every(every: object) -> int:
    return check_int("every", every, minimum=1, maximum=MAX_EVERY)


def _check_at_least_0(name: str, value: object) -> float:
    number = check_float(name, value)
    if number < 0:
        raise MatchbanditError(f"{name} must be at least 0; got {number:g}.")
    return number


def _check_bounds(low: object, high: object) -> tuple[float, float]:
    bounds = check_float("low", low), check_float("high", high)
    if not 0 <= bounds[0] < bounds[1] <= 1:
        raise MatchbanditError(f"low and high must satisfy 0 ≤ low < high ≤ 1; got {bounds[0]:g} and {bounds[1]:g}.")
    return bounds


def _number(name: str, text: str) -> int | float:
    number = parse_number(text)
    if isinstance(number, str):
        raise MatchbanditError(f"{name} of a drift must be a number; got {text!r}.")
    return number


def _text(value: Any) -> str:
    return " ".join(map(short, value)) if isinstance(value, tuple) else short(value)
