"""Reward distributions: what a policy may know of them, single draws, and the sum of c draws at once."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from math import exp, log, remainder, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.errors import MatchbanditError, check_float, check_int, parse_number, unknown
from matchbandit.formatting import float_text

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
"""True or false for each."""
Counts = NDArray[np.int64]

LARGEST_COUNT = 2**62
LARGEST_REWARD = 1e150
"""In magnitude: floats hold its square, and the sum of as many as can be played."""
ROUNDING = 1e-6
"""By how much a share of successes may be off, so that 1/3 may be written with six decimals; used as it is."""
LARGEST_ROUNDING = 0.1
"""Successes by which the sum of many such shares may be off,"""
RELATIVE_ROUNDING = 1e-13
"""and, of the sum, what adding up floats may be off."""


class Noise(NamedTuple):
    """How a reward varies around its mean, for compiled code."""

    trials: int
    """The reward is the share of successes in this number of trials; 0: it is Gaussian."""
    sd: float
    """Its standard deviation if it is Gaussian, else 0."""


def draw_reward(noise: Noise, mean: float, rng: np.random.Generator) -> float:
    """One reward, for the loop engine to compile: the number that `RewardDistribution.draw` takes from this stream."""
    if noise.trials > 0:
        return float(rng.binomial(noise.trials, mean)) / noise.trials
    return float(mean + noise.sd * rng.standard_normal())


def flip_coin(noise: Noise, mean: float, rng: np.random.Generator) -> float:
    """`draw_reward` for a single trial: NumPy's inversion step by step, as compiling all of its binomial takes 2 s."""
    if mean == 0.0:
        return 0.0
    p = mean if mean <= 0.5 else 1.0 - mean  # of the rarer outcome
    miss = exp(log(1.0 - p))
    while True:
        U = rng.random()
        if miss >= U:
            return 0.0 if mean <= 0.5 else 1.0
        if U - miss <= p * miss / (1.0 - p):  # but for rounding, always
            return 1.0 if mean <= 0.5 else 0.0


@dataclass(frozen=True)
class RewardDistribution(ABC):
    """The distribution of a pair's rewards around its mean W.

    A policy may know `low`, `high` (the range of a reward), `sigma` (sub-Gaussian) and `kl`.
    """

    name: ClassVar[str]
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    has_grid: ClassVar[bool] = False
    """Are only some numbers of the range possible?"""
    draw_one: ClassVar[Callable[..., float]] = staticmethod(draw_reward)
    """How the loop engine, which compiles it, draws one reward: of the noise, the mean and a random stream."""

    @property
    @abstractmethod
    def sigma(self) -> float:
        """The reward is sigma-sub-Gaussian, whatever its mean."""

    @property
    @abstractmethod
    def noise(self) -> Noise:
        """What compiled code needs to draw a reward."""

    @property
    def max_plays(self) -> int:
        """How many plays of a pair can be summed in one draw."""
        return LARGEST_COUNT // max(1, self.noise.trials)

    @abstractmethod
    def kl(self, p: float, q: float) -> float:
        """Return the Kullback–Leibler divergence of this distribution with mean p from that with mean q.

        Parameters
        ----------
        p, q : float

        Returns
        -------
        float
        """

    @abstractmethod
    def sums(self, means: Floats, counts: Counts, rng: np.random.Generator) -> Floats:
        """Draw sums of independent rewards at once.

        Parameters
        ----------
        means : array of float, shape (k,)
        counts : array of int, shape (k,)
            How many rewards each sum has.
        rng : numpy.random.Generator

        Returns
        -------
        array of float, shape (k,)
        """

    def draw(self, means: Floats, rng: np.random.Generator) -> Floats:
        """Draw one reward for each mean.

        Parameters
        ----------
        means : array of float, shape (k,)
        rng : numpy.random.Generator

        Returns
        -------
        array of float, shape (k,)
        """
        return self.sums(means, np.ones(len(means), dtype=np.int64), rng)

    def is_possible(self, reward: float) -> bool:
        """Can a pair get this reward? NaN is possible: it stands for none."""
        return not (reward < self.low or reward > self.high)

    def impossible(self, sums: Floats, counts: ArrayLike = 1) -> NDArray[np.bool_]:
        """Which of these sums of `counts` rewards are impossible; NaN is possible, as it stands for none."""
        n = np.asarray(counts)
        return np.asarray((sums < self.low * n) | (sums > self.high * n))

    def refusal(self, total: float, count: int = 1, *, pair: str = "") -> str:
        """The message that `total` cannot be the sum of `count` rewards (of this pair), and what to do.

        >>> Binomial(5).refusal(0.37, pair="ann and bob").partition(". ")[0]
        'binomial rewards with 5 trials are 0, 0.2, …, 1; got 0.37 for ann and bob'
        """
        low, high = self.low * count + 0.0, self.high * count  # −0 is 0
        one = f"{self.name} rewards lie in [{low:g}, {high:g}]"
        many = f"{count} {self.name} rewards sum to between {low:g} and {high:g}"
        return (
            f"{one if count == 1 else many}; got {float_text(total)}{f' for {pair}' * bool(pair)}. "
            f"Rescale the rewards, or choose another reward distribution."
        )

    def describe(self) -> dict[str, Any]:
        """The distribution as plain data; `rewards_from` reads it back."""
        return {"name": self.name, **asdict(self)}

    @property
    def notation(self) -> str:
        """As on the command line: `bernoulli`, `gaussian:0.5`, `binomial:4`; `parse_rewards` reads it back."""
        return ":".join([self.name, *(repr(value) for value in asdict(self).values())])


@dataclass(frozen=True)
class Binomial(RewardDistribution):
    """Rewards are shares of successes in a fixed number of trials: Binomial(trials, W) / trials.

    Parameters
    ----------
    trials : int
        Between 1 and 10^6.
    """

    trials: int
    name: ClassVar[str] = "binomial"
    has_grid: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the number of trials."""
        object.__setattr__(self, "trials", check_int("trials", self.trials, minimum=1, maximum=10**6))

    @property
    def sigma(self) -> float:
        """Each of the trials is 1/2-sub-Gaussian, and they are averaged."""
        return 0.5 / sqrt(self.trials)

    @property
    def noise(self) -> Noise:
        """That of its trials."""
        return Noise(self.trials, 0.0)

    def kl(self, p: float, q: float) -> float:
        """That of a single trial, once for each trial."""
        return self.trials * Bernoulli().kl(p, q)

    def sums(self, means: Floats, counts: Counts, rng: np.random.Generator) -> Floats:
        """A single binomial draw for each mean."""
        return rng.binomial(self.trials * counts, means) / self.trials

    def is_possible(self, reward: float) -> bool:
        """Is this a share k/trials, up to `ROUNDING`? NaN is: it stands for none."""
        if reward < 0.0 or reward > 1.0:
            return False
        off = abs(remainder(reward * self.trials, 1.0))
        return not (off > ROUNDING * self.trials or off > LARGEST_ROUNDING)

    def impossible(self, sums: Floats, counts: ArrayLike = 1) -> NDArray[np.bool_]:
        """Which of these sums are outside their range, or not multiples of 1/trials; NaN is possible."""
        outside = super().impossible(sums, counts)
        with np.errstate(invalid="ignore"):  # ∞ is outside
            successes = sums * self.trials
            off = np.abs(successes - np.rint(successes))
        by_rows = np.minimum(ROUNDING * self.trials * np.asarray(counts), LARGEST_ROUNDING)
        between = off > by_rows + RELATIVE_ROUNDING * np.abs(successes)
        return np.asarray(outside | between)

    def refusal(self, total: float, count: int = 1, *, pair: str = "") -> str:
        """The message that `total` cannot be the sum of `count` rewards (of this pair), and what to do."""
        if super().impossible(np.asarray(total), count):
            return super().refusal(total, count, pair=pair)
        m, of = self.trials, f"{self.trials} trial{'s' * (self.trials > 1)}"
        shares = "0 or 1" if m == 1 else "0, 0.5 or 1" if m == 2 else f"0, {1 / m:g}, …, 1"
        many = f"{count} {self.name} rewards with {of} sum to a multiple of {1 / m:g}"
        return (
            f"{f'{self.name} rewards with {of} are {shares}' if count == 1 else many}; got {total:.15g}"
            f"{f' for {pair}' * bool(pair)}. Round the reward, or choose bernoulli rewards, which can be any number in "
            f"[0, 1]."
        )


@dataclass(frozen=True)
class Bernoulli(RewardDistribution):
    """Rewards are 1 with probability W, else 0; other rewards in [0, 1] are accepted as shares of a success."""

    name: ClassVar[str] = "bernoulli"
    draw_one: ClassVar[Callable[..., float]] = staticmethod(flip_coin)

    @property
    def sigma(self) -> float:
        """Anything in [0, 1] is 1/2-sub-Gaussian."""
        return 0.5

    @property
    def noise(self) -> Noise:
        """That of a single trial."""
        return Noise(1, 0.0)

    def kl(self, p: float, q: float) -> float:
        """That of two Bernoulli distributions."""
        from matchbandit.kl import bernoulli_kl  # noqa: PLC0415  # imports numba, which few callers need

        return bernoulli_kl(p, q)

    def sums(self, means: Floats, counts: Counts, rng: np.random.Generator) -> Floats:
        """A single binomial draw for each mean."""
        return rng.binomial(counts, means).astype(np.float64)


@dataclass(frozen=True)
class Gaussian(RewardDistribution):
    """Rewards are normal around W.

    Parameters
    ----------
    sd : float
        The standard deviation, between 1e-100 and 1e100.
    """

    sd: float
    name: ClassVar[str] = "gaussian"
    low: ClassVar[float] = -LARGEST_REWARD
    high: ClassVar[float] = LARGEST_REWARD

    def __post_init__(self) -> None:
        """Check the standard deviation."""
        object.__setattr__(self, "sd", check_float("sd", self.sd))
        if self.sd <= 0:
            raise MatchbanditError(f"sd must be positive; got {self.sd!r}.")
        if not 1e-100 <= self.sd <= 1e100:
            raise MatchbanditError(f"sd must lie between 1e-100 and 1e100, or floats cannot tell; got {self.sd!r}.")

    @property
    def sigma(self) -> float:
        """Its standard deviation."""
        return self.sd

    @property
    def noise(self) -> Noise:
        """No trials, only a standard deviation."""
        return Noise(0, self.sd)

    def kl(self, p: float, q: float) -> float:
        """(p − q)² / 2 sd²."""
        return (p - q) ** 2 / (2 * self.sd**2)

    def sums(self, means: Floats, counts: Counts, rng: np.random.Generator) -> Floats:
        """N(c W, c sd²), a single draw for each mean."""
        return counts * means + self.sd * np.sqrt(counts) * rng.standard_normal(len(means))


def check_rewards(rewards: RewardDistribution | None) -> RewardDistribution:
    """Check a reward distribution; None is Bernoulli."""
    if rewards is not None and not isinstance(rewards, RewardDistribution):
        raise MatchbanditError(
            f"rewards must be a distribution such as Bernoulli() or Gaussian(sd=0.5); got {rewards!r}."
        )
    return rewards or Bernoulli()


def rewards_from(description: dict[str, Any]) -> RewardDistribution:
    """The distribution that `describe` described, or that a command line named.

    >>> rewards_from({"name": "gaussian", "sd": 0.5})
    Gaussian(sd=0.5)
    """
    kinds: dict[str, type[RewardDistribution]] = {kind.name: kind for kind in (Bernoulli, Gaussian, Binomial)}
    options = dict(description)
    name = options.pop("name", None)
    if name not in kinds:
        raise unknown("reward distribution", name, kinds)
    try:
        return kinds[name](**options)
    except TypeError:
        takes = ", ".join(field.name for field in fields(kinds[name])) or "nothing"
        raise MatchbanditError(f"{name} rewards take {takes}; got {options or 'nothing'}.") from None


_PARAMETERS = {"gaussian": ("sd", "0.5"), "binomial": ("trials", "4")}


def parse_rewards(text: str) -> RewardDistribution:
    """Parse `bernoulli`, `gaussian:SD` or `binomial:TRIALS`.

    >>> parse_rewards("gaussian:0.5"), parse_rewards("gaussian:0.5").notation
    (Gaussian(sd=0.5), 'gaussian:0.5')
    """
    if not isinstance(text, str):
        raise MatchbanditError(f"rewards are named by a text such as 'bernoulli' or 'gaussian:0.5'; got {text!r}.")
    name, _, value = text.partition(":")
    parameter, example = _PARAMETERS.get(name, (None, None))
    if parameter is None:
        rewards = rewards_from({"name": name})
        if value:
            raise MatchbanditError(f"{name} rewards take no parameter; got {text!r}.")
        return rewards
    if not value:
        raise MatchbanditError(f"{name} rewards need their {parameter}, for example {name}:{example}.")
    return rewards_from({"name": name, parameter: parse_number(value)})
