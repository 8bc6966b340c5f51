"""The result of a replay: rewards and differences with their bands, a ranking, and charts.

The rewards of a policy vary for three reasons:

- *the means are uncertain*: the band covers the expected reward over the means that fit the log;
- *a single run is random*: this is removed from the band, since each draw of the means is played more than once;
- *the number of draws is finite*: the band is wider accordingly.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.figures import AxisRule, Chart, Series
from matchbandit.formatting import fixed, html_table, plural, text_table
from matchbandit.graphs import Selection
from matchbandit.lab.replay.truths import PossibleTruths
from matchbandit.past_results import PastResults
from matchbandit.product_model import ProductFit
from matchbandit.results import Comparison, Runs
from matchbandit.results.statistics import BAND_LEVEL, average_out_noise, simultaneous_bands
from matchbandit.rewards import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

What = Literal["differences", "rewards", "rounds"]

AS_BEFORE = "as before"
"""The policy that continues to pair as the log did; `pair_frequencies` returns how often it plays each pair."""
_HEADS = ("rank", "policy", "reward, 90 % band", "behind the first, 90 % band")


class Difference(NamedTuple):
    """The reward of one policy minus that of another, in all rounds."""

    mean: float
    low: float
    high: float
    """The band of the expected difference. With probability 0.9 it holds for all pairs of policies at once."""
    single_low: float
    single_high: float
    """The 90 % band of the difference between two single runs."""

    @property
    def is_distinguishable(self) -> bool:
        """Return whether the band excludes 0: the log shows which of the two is better."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class RankedPolicy:
    """A policy in the ranking of a replay."""

    label: str
    ranks: tuple[int, int]
    """The best and the worst rank that the log allows: (1, 3) is among the best three."""
    reward: float
    """The expected reward of all rounds, averaged over the truths."""
    low: float
    high: float
    """The 90 % band of the reward, over the truths."""
    behind: Difference | None
    """The reward of the first policy minus its own; None for the first."""


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """What policies would earn in the future, by a log; printed, a ranking."""

    results: PastResults
    horizon: int
    selection: Selection
    truths: PossibleTruths
    """The truths that were played, each with the same weight; `repeats` runs of each."""
    comparison: Comparison
    """All runs, as `compare` gives them; run k is in the truth k // repeats."""
    labels: tuple[str, ...]
    """Of the policies, in their order, and `as before`."""
    product: float | None
    """The posterior probability that all means are products, with the prior 1/2; None if it was not computed."""
    fit: ProductFit
    """The product model that fits best, and the test of it."""
    drift: float | None
    """The p-value of rewards that do not change over time; None if the log cannot be tested."""
    assumption: str
    """The model of rewards that all numbers rest on, in two sentences."""
    notes: tuple[str, ...]
    """What was left out, and what the log does not show, in sentences."""
    frequencies: Floats
    """How often `as before` plays each pair in a round, on average; by edge."""

    @cached_property
    def rewards(self) -> dict[str, Floats]:
        """The reward of each policy in each run, shape (truths, repeats), without the noise of the rewards.

        It is the sum of the means of the played pairs; for `as before`, its expectation.
        """
        means, repeats = [truth.means for truth in self.truths.truths], self.truths.repeats
        rewards = {}
        for label, runs in zip(self.labels, self._runs, strict=False):
            earned = [plays @ means[run // repeats] for run, plays in enumerate(runs.plays_by_edge)]
            rewards[label] = np.array(earned, dtype=np.float64).reshape(-1, repeats)
        before = self.horizon * np.array([float(self.frequencies @ each) for each in means])
        return rewards | {AS_BEFORE: np.repeat(before[:, None], repeats, axis=1)}

    @property
    def _runs(self) -> list[Runs]:
        return [result for result in self.comparison if isinstance(result, Runs)]

    @cached_property
    def _differences(self) -> dict[tuple[str, str], Difference]:
        """Each label minus those after it."""
        differences = {(a, b): self.rewards[a] - self.rewards[b] for a, b in combinations(self.labels, 2)}
        bands = simultaneous_bands(np.array([average_out_noise(each) for each in differences.values()]))
        ends = ((1 - BAND_LEVEL) / 2, (1 + BAND_LEVEL) / 2)
        singles = [np.quantile(each, ends).tolist() for each in differences.values()]
        values = [Difference(*band, *single) for band, single in zip(bands, singles, strict=True)]
        return dict(zip(differences, values, strict=True))

    def difference(self, one: str, other: str) -> Difference:
        """Return what `one` would earn more than `other`, by their labels; negative, if it would earn less."""
        for label in (one, other):
            if label not in self.labels:
                raise unknown("policy of this replay", label, self.labels)
        if one == other:
            raise MatchbanditError(f"a difference is between two policies; got {one!r} twice.")
        if (one, other) in self._differences:
            return self._differences[one, other]
        mean, low, high, single_low, single_high = self._differences[other, one]
        return Difference(-mean, -high, -low, -single_high, -single_low)

    @cached_property
    def ranking(self) -> tuple[RankedPolicy, ...]:
        """The policies from the highest expected reward to the lowest, with the ranks that they may have."""
        order = sorted(self.labels, key=lambda label: -float(self.rewards[label].mean()))
        ranking = []
        for label in order:
            against = [self.difference(label, other) for other in order if other != label]
            ranks = 1 + sum(each.high < 0 for each in against), len(order) - sum(each.low > 0 for each in against)
            ((_, low, high),) = simultaneous_bands(average_out_noise(self.rewards[label])[None, :])
            behind = None if label == order[0] else self.difference(order[0], label)
            ranking.append(RankedPolicy(label, ranks, float(self.rewards[label].mean()), low, high, behind))
        return tuple(ranking)

    @property
    def verdict(self) -> str:
        """Which policy earns most, as far as the log shows, in a sentence."""
        best = [policy.label for policy in self.ranking if policy.ranks[0] == 1]
        if len(best) == 1:
            return f"{best[0]} earns most, by this log."
        if len(best) == len(self.labels):
            return "This log cannot tell which of them earns most."
        return f"This log cannot tell which earns most: {', '.join(best[:-1])} or {best[-1]}."

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return the ranking as plain data, by label."""
        return {
            each.label: {name: value for name, value in vars(each).items() if name != "label"}
            | {"behind": None if each.behind is None else each.behind._asdict()}
            for each in self.ranking
        }

    def chart(self, what: What = "differences") -> Chart:
        """Return a chart of how far the others are behind the first, of the rewards, or of regret over the rounds.

        Differences are more precise than rewards: where the means are high, all policies earn much.
        """
        if what not in get_args(What):
            raise unknown("chart of a replay", what, get_args(What))
        rounds, seed = plural(self.horizon, "round"), self.comparison.results[0].about.seed
        points: dict[str, tuple[float, ...]] = {}
        if what == "differences":
            points = {each.label: each.behind[:3] for each in self.ranking if each.behind is not None}
            first = self.ranking[0].label
            title, y_label = f"Reward below that of {first} in {rounds}, by the log", "difference in reward"
            about = f"Mean, and 90 % band of all differences at once. {self.verdict}"
        elif what == "rewards":
            points = {each.label: (each.reward, each.low, each.high) for each in self.ranking}
            title, y_label = f"What {rounds} would earn, by the log", "reward"
            about = f"Mean, and 90 % band of what is not known of the truth. {self.verdict}"
        else:
            title, y_label = "Regret from tomorrow on, by the log", "regret"
            about = "Lines: means; bands: 90 %, of what is not known of the truth."
        return Chart(
            name="replay" if what == "differences" else f"replay-{what}",
            title=title,
            x_label="round" if what == "rounds" else "",
            y_label=y_label,
            series=tuple(self._curves() if what == "rounds" else self._points(points)),
            caption=f"{self.title}; {self.truths.repeats} runs in each, seed {seed}. {about} {self.assumption}",
            rules=(AxisRule(0.0, axis="y"),) if what == "differences" else (),
            categories=tuple(points),
        )

    def _points(self, points: dict[str, tuple[float, ...]]) -> Iterator[Series]:
        """A point with its band in each row."""
        keys = dict(zip(self.labels, (result.about.policy for result in self.comparison), strict=False))
        for row, (label, values) in enumerate(points.items()):
            x, (mean, low, high) = np.array([float(row)]), np.array(values)[:, None]
            yield Series(label, x, mean, low, high, key=keys.get(label, AS_BEFORE), kind="points")

    def _curves(self) -> Iterator[Series]:
        """The regret of each policy over the rounds."""
        for label, runs in zip(self.labels, self._runs, strict=False):
            by_truth = (average_out_noise(at.reshape(-1, self.truths.repeats)) for at in runs.regret.T)
            low, high = np.array([simultaneous_bands(at[None, :])[0][1:] for at in by_truth]).T
            x, key = runs.rounds.astype(np.float64), runs.about.policy
            yield Series(label, x, runs.regret.mean(axis=0), low, high, key=key)

    def plot(self, what: What = "differences", ax: "Axes | None" = None) -> "Axes":
        """Draw such a chart with matplotlib, on these axes or on those of a new figure, and return them."""
        return self.chart(what).plot(ax)

    @property
    def title(self) -> str:
        """What the numbers are."""
        log = repr(self.results).removeprefix("PastResults: ")
        rounds, truths = plural(self.horizon, "round"), plural(len(self.truths.truths), "truth")
        return f"What {rounds} would earn, a {self.selection} each, in {truths} that fit {log}"

    def __repr__(self) -> str:
        """Title, table, verdict, assumption and notes."""
        table = text_table(_HEADS, self._rows())
        return "\n".join([self.title, table, self.verdict, self.assumption, *self.notes])

    def _repr_html_(self) -> str:
        sentences = (self.verdict, self.assumption, *self.notes)
        text = "".join(f"<p>{escape(words)}</p>" for words in sentences)
        return f"{html_table(self.title, _HEADS, self._rows())}{text}"

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for each in self.ranking:
            ranks = "–".join(map(str, dict.fromkeys(each.ranks)))
            behind = "" if each.behind is None else _band_text(*each.behind[:3])
            rows.append((ranks, each.label, _band_text(each.reward, each.low, each.high), behind))
        return rows


def _band_text(mean: float, low: float, high: float) -> str:
    """Format a number and its band with digits that suit the width of the band.

    >>> _band_text(1412.34, 1401.2, 1430.9), _band_text(0.5234, 0.511, 0.542)
    ('1,412 (1,401 to 1,431)', '0.523 (0.511 to 0.542)')
    """
    width = high - low
    digits = 0 if width >= 10 else 1 if width >= 1 else 2 if width >= 0.1 else 3
    return f"{fixed(mean, digits)} ({fixed(low, digits)} to {fixed(high, digits)})"
