"""Families of instances by name, seeded: those of the paper's figures, of our studies, and user-defined ones."""

import html
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError, check_float, check_int, unknown
from matchbandit.graphs import MAX_ITEMS, Graph
from matchbandit.problems.base import Problem
from matchbandit.problems.click_models import Shuffle, click_model, model_names
from matchbandit.problems.rank1 import Bipartite, Monopartite
from matchbandit.rewards import Floats, RewardDistribution, check_rewards
from matchbandit.seeding import stream
from matchbandit.user_code import is_user_defined, load_object, summarize_error

Draw = Callable[..., Problem]


def spiked(n: int, u1: float, gap: float, *, rewards: RewardDistribution, rng: np.random.Generator) -> Problem:
    """N×N, u_1 = v_1 = u1; the others uniform on [0, 2(u1 − gap)], sorted (Figure 1)."""
    top = _round_off(2 * (_share("u1", u1) - _share("gap", gap)))
    if not 0 <= top <= 1:
        raise MatchbanditError(
            f"gap must lie between u1 − 1/2 and u1, so that the others stay in [0, 1]; got {gap:g} with u1 = {u1:g}."
        )
    return Bipartite(_below(n, u1, top, rng), _below(n, u1, top, rng), rewards=rewards)


def fixed_mean(n: int, u1: float, mean: float, *, rewards: RewardDistribution, rng: np.random.Generator) -> Problem:
    """N×N, u_1 = v_1 = u1; the others uniform on [0, 2(N mean − u1)/(N − 1)], sorted (appendix)."""
    n = _size(n, minimum=2, hint="The mean is fixed by the items besides the first.")
    top = _round_off(2 * (n * _share("mean", mean) - _share("u1", u1)) / (n - 1))
    if not 0 <= top <= 1:
        raise MatchbanditError(
            f"mean must lie between u1/n and (u1 + (n − 1)/2)/n, so that the others stay in [0, 1]; "
            f"got {mean:g} with u1 = {u1:g} and n = {n}."
        )
    return Bipartite(_below(n, u1, top, rng), _below(n, u1, top, rng), rewards=rewards)


def staircase(n: int, gap: float, *, rewards: RewardDistribution, rng: np.random.Generator) -> Problem:
    """2N players, u_(2i−1) = u_(2i) = (N − i)·gap for i = 1 … N (Figure 2); nothing random."""
    steps = np.arange(_size(n), 0, -1) - 1
    return _in_twos(
        steps * check_float("gap", gap), rewards, f"gap must lie in [0, 1/(n − 1)]; got {gap:g} with n = {n}."
    )


def centred(n: int, mean: float, gap: float, *, rewards: RewardDistribution, rng: np.random.Generator) -> Problem:
    """2N players, u_(2i−1) = u_(2i) = mean + (N + 1 − 2i)·gap/2 for i = 1 … N (Figure 3); nothing random."""
    n = _size(n)
    steps = n + 1 - 2 * np.arange(1, n + 1)
    mean, gap = check_float("mean", mean), check_float("gap", gap)
    strengths = mean + steps * gap / 2
    return _in_twos(
        strengths, rewards, f"mean ± (n − 1) gap/2 must lie in [0, 1]; got {mean:g} ± {(n - 1) * gap / 2:g}."
    )


def spiked_repeated(
    n: int, u1: float, gap: float, repeats: int, *, rewards: RewardDistribution, rng: np.random.Generator
) -> Problem:
    """As spiked, but `repeats` consecutive runs share an instance, to separate the two kinds of variance."""
    return spiked(n, u1, gap, rewards=rewards, rng=rng)


def half(n: int, u1: float, *, rewards: RewardDistribution, rng: np.random.Generator) -> Problem:
    """N×N, u_1 = v_1 = u1, all others half of it; nothing random."""
    strengths = [_share("u1", u1), *[u1 / 2] * (_size(n) - 1)]
    return Bipartite(strengths, strengths, rewards=rewards)


def fading(n: int, u1: float, low: float, *, rewards: RewardDistribution, rng: np.random.Generator) -> Problem:
    """N×N, u_1 = v_1 = u1, the others falling in equal steps from half of it to `low`; nothing random."""
    if _share("low", low) > _share("u1", u1) / 2:
        raise MatchbanditError(f"low must be at most u1/2, where the others begin; got {low:g} with u1 = {u1:g}.")
    strengths = [u1, *np.linspace(u1 / 2, low, _size(n) - 1).tolist()]
    return Bipartite(strengths, strengths, rewards=rewards)


def two_best(
    n: int, u1: float, second: float, third: float, *, rewards: RewardDistribution, rng: np.random.Generator
) -> Problem:
    """2N players, u_2/u_1 = second, u_3/u_2 = third, from u_3 on in equal steps to 0 (Lemma 4.5); nothing random."""
    n = _size(n, minimum=2, hint="There are players besides the best two.")
    u2 = _share("u1", u1) * _share("second", second)
    others = np.linspace(u2 * _share("third", third), 0, 2 * n - 2)
    return Monopartite([u1, u2, *others.tolist()], rewards=rewards)


def equal_pairs(n: int, top: float, bottom: float, *, rewards: RewardDistribution, rng: np.random.Generator) -> Problem:
    """2N players, two of each strength, falling in equal steps from top to bottom; nothing random."""
    steps = np.linspace(_share("top", top), _share("bottom", bottom), _size(n))
    return Monopartite(np.repeat(steps, 2), rewards=rewards)


FAMILIES: dict[str, Draw] = {
    "spiked": spiked,
    "spiked-repeated": spiked_repeated,
    "fixed-mean": fixed_mean,
    "half": half,
    "fading": fading,
    "staircase": staircase,
    "centred": centred,
    "two-best": two_best,
    "equal-pairs": equal_pairs,
    "click-model": click_model,
}
REPEATED = ("spiked-repeated",)
"""Families whose parameter `repeats` is the number of consecutive runs that share an instance."""


@dataclass(frozen=True, repr=False)
class Family:
    """A family of instances with its parameters; equal families have equal names, parameters and rewards.

    With a family in place of a problem, every run of `simulate` plays its own instance.
    """

    name: str
    parameters: dict[str, Any]
    rewards: RewardDistribution

    def draw(self, seed: int = 0, run: int = 0) -> Problem:
        """Draw an instance.

        Parameters
        ----------
        seed : int, default 0
        run : int, default 0
            The number of the run that plays it.

        Returns
        -------
        Problem

        Examples
        --------
        >>> family("staircase", n=2, gap=0.1).draw().describe()["u"]
        [0.1, 0.1, 0.0, 0.0]
        """
        instance = run // check_int("repeats", self.parameters["repeats"], minimum=1) if self.name in REPEATED else run
        rng = stream(seed, "instance", self.name, instance)
        if is_user_defined(self.name):
            return _draw_user_defined(self.name, {**self.parameters, "rewards": self.rewards, "rng": rng})
        return FAMILIES[self.name](**self.parameters, rewards=self.rewards, rng=rng)

    @cached_property
    def graph(self) -> Graph:
        """The graph of every instance."""
        return self.draw().graph

    def describe(self) -> dict[str, Any]:
        """The family as JSON data."""
        return {"family": self.name, "parameters": dict(self.parameters), "rewards": self.rewards.describe()}

    def __hash__(self) -> int:
        """By name, rewards, and those parameters that are numbers or text: others, such as lists, have no hash."""
        values = frozenset(item for item in self.parameters.items() if isinstance(item[1], int | float | str))
        return hash((self.name, values, self.rewards))

    def __repr__(self) -> str:
        """Name, parameters and rewards."""
        parameters = "".join(f", {name} = {value}" for name, value in self.parameters.items())
        return f"Family {self.name}{parameters}, {str(self.rewards).removesuffix('()')} rewards"

    def _repr_html_(self) -> str:
        """The repr, for notebooks."""
        return f"<code>{html.escape(repr(self))}</code>"


def family(name: str, /, *, rewards: RewardDistribution | None = None, **parameters: Any) -> Family:
    """Name a family of instances, with its parameters.

    Parameters
    ----------
    name : str
        A name in `FAMILIES`, or `module:function` for a user-defined family: a function of its parameters and of
        `rewards` and `rng` that returns a problem.
    rewards : RewardDistribution, optional
        `Bernoulli()` by default.
    **parameters
        Those of the family, such as `n=8`.

    Returns
    -------
    Family
        `draw(seed, run)` draws an instance; `simulate` takes the family itself, and draws one for every run.

    Examples
    --------
    >>> spikes = family("spiked", n=8, u1=0.9, gap=0.75)
    >>> spikes, spikes.draw(seed=7).best_pair.tolist()
    (Family spiked, n = 8, u1 = 0.9, gap = 0.75, Bernoulli rewards, [[0, 0]])
    """
    takes = parameters_taken(name)
    for parameter in parameters:
        if parameter not in takes:
            raise unknown(f"parameter of {name}", parameter, takes)
    defaults = {p.name: p.default for p in takes.values() if p.default is not p.empty}
    missing = [p for p in takes if p not in parameters and p not in defaults]
    if missing:
        raise MatchbanditError(f"the family {name} needs {', '.join(takes)}; missing: {', '.join(missing)}.")
    values = {p: parameters.get(p, defaults.get(p)) for p in takes}
    python_values = {key: value.item() if isinstance(value, np.generic) else value for key, value in values.items()}
    result = Family(name, python_values, check_rewards(rewards))
    result.draw()  # a bad value is reported here rather than in the middle of a simulation
    return result


def click_models(
    collection: str, *, shuffle: Shuffle = "all", rewards: RewardDistribution | None = None
) -> dict[str, Family]:
    """All published click models of a collection, each as a family: items and positions are shuffled for every run.

    Parameters
    ----------
    collection : {"kdd", "yandex", "simulated"}
        8 queries of KDD Cup 2012, with 3 positions; 60 queries of Yandex, 10 items in 5 positions;
        4 synthetic ones, 10 × 5.
    shuffle : {"all", "except-first", "none"}, default "all"
        "except-first" leaves the position that is seen most in its place, the first.
    rewards : RewardDistribution, optional
        `Bernoulli()` by default.

    Returns
    -------
    dict of str to Family
        By name, such as "kdd:10": `family("click-model", model="kdd:10")`.

    Examples
    --------
    >>> len(click_models("yandex")), list(click_models("kdd"))[:3]
    (60, ['kdd:19', 'kdd:2', 'kdd:10'])
    """
    return {
        name: family("click-model", model=name, shuffle=shuffle, rewards=rewards) for name in model_names(collection)
    }


def function_of(name: str) -> Draw:
    """The function that draws instances of the family of this name, which may be user-defined."""
    if is_user_defined(name):
        draw = load_object(name, "a family")
    else:
        draw = FAMILIES.get(name) if isinstance(name, str) else None
    if draw is None:
        raise unknown("family", name, FAMILIES)
    takes = inspect.signature(draw).parameters if inspect.isroutine(draw) else {}
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if not {"rewards", "rng"} <= set(takes) or any(p.kind not in by_name for p in takes.values()):
        raise MatchbanditError(f"{name} is not a family: a user-defined one is {_SHAPE}.")
    draw_instance: Draw = draw
    return draw_instance


def parameters_taken(name: str) -> dict[str, inspect.Parameter]:
    """The parameters of the family of this name.

    >>> list(parameters_taken("spiked"))
    ['n', 'u1', 'gap']
    """
    takes = inspect.signature(function_of(name)).parameters
    return {p: takes[p] for p in takes if p not in ("rewards", "rng")}


_SHAPE = "a function of its parameters, rewards and rng, such as f(n, gap, *, rewards, rng), that returns a problem"


def _draw_user_defined(name: str, parts: dict[str, Any]) -> Problem:
    try:
        problem = load_object(name, "a family")(**parts)
    except MatchbanditError as error:
        raise MatchbanditError(f"the family {name}: {error}") from None
    except Exception as error:
        raise MatchbanditError(f"the family {name} failed to draw an instance: {summarize_error(error)}.") from error
    if not isinstance(problem, Problem):
        raise MatchbanditError(f"the family {name} must return a problem, such as Bipartite(u, v); got {problem!r}.")
    return problem


def _size(n: Any, *, minimum: int = 1, hint: str = "") -> int:
    size = check_int("n", n, minimum=minimum, hint=hint)
    if size > MAX_ITEMS:
        raise MatchbanditError(f"n must be at most {MAX_ITEMS}, or the strengths fill the memory; got {size}.")
    return size


def _share(name: str, value: Any) -> float:
    number = check_float(name, value)
    if not 0 <= number <= 1:
        raise MatchbanditError(f"{name} must lie in [0, 1]; got {number:g}.")
    return number


def _below(n: int, u1: float, top: float, rng: np.random.Generator) -> Floats:
    others = rng.uniform(0, top, size=_size(n) - 1)
    return np.concatenate([[u1], -np.sort(-others)])


def _in_twos(strengths: NDArray[np.floating[Any]], rewards: RewardDistribution, error: str) -> Problem:
    rounded = _round_off(strengths)
    if not ((rounded >= 0) & (rounded <= 1)).all():
        raise MatchbanditError(error)
    return Monopartite(np.repeat(rounded, 2), rewards=rewards)


def _round_off(value: Any) -> Any:
    """Sums of steps such as 3 · 0.1 can leave [0, 1] by a rounding error, which is not the user's mistake."""
    return np.round(value, 12) + 0.0  # −0.0 becomes 0.0
