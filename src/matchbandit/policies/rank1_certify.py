"""Rank-1 certify: the best pair or matching with a proof, and little regret on the way."""

from functools import cached_property
from math import ceil, inf, log, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.confidence import NEVER, checked_delta
from matchbandit.errors import MatchbanditError, real_number
from matchbandit.evidence import BETS, bet_on_batch, half_gaps, log_evidence
from matchbandit.graphs import Edges, Pairs, Selection
from matchbandit.plans import Batch, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.certificates import Goal, Links, extension, strongest_chains
from matchbandit.policies.explanation import item_record
from matchbandit.policies.fits import Fits
from matchbandit.policies.information import WORTH, gains, informative, most_per_loss
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.policies.rank1_model import PRIOR_MEAN, credible, fitted, product_warnings
from matchbandit.rewards import Counts, Floats
from matchbandit.schedules import all_meet
from matchbandit.solvers import MOST_MATCHINGS, all_matchings, best_matching, count_matchings

GROWTH = 0.05
"""A batch explores for this share of the rounds explored so far,"""
LEAST = 2.0
"""but at least for so many rounds for each item."""
TOURS = 1 / 32
"""φ: at least this share of the rounds explored are whole tours, in which all meet all."""
CAP = 8.0
"""Rounds explored up to round t: two tours and CAP √(t log(F/δ)), at most."""


class Schedule(NamedTuple):
    """How long the next batch is, and for what: known from the number of batches alone while it explores."""

    rounds: int
    explored: int
    """Of them, rounds that explore: tours, and rounds that are chosen for what they tell."""
    tours: int
    """Of those, whole tours."""


class Rank1Certify(PlannedPolicy):
    """TODO."""

    name: ClassVar[str] = "rank1-certify"
    summary: ClassVar[str] = "proved and cheap: evidence that nothing but a right answer can grow"
    reference: ClassVar[str] = "this library"
    fits: ClassVar[Fits] = Fits(
        selections=("pair", "matching"),
        goals=("regret", "identification"),
        proved=("regret", "identification"),
        byes=True,
        warm_start=True,
    )
    remembered: ClassVar[tuple[str, ...]] = (
        "plays", "sums", "strengths", "half_gaps", "log_bets", "evidence", "peaks", "tours", "tour_sums",
        "sampled", "explored",
    )  # fmt: skip

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        selection: Selection | None = None,
        delta: float | None = None,
        anytime: bool = False,
        share: float = 0.25,
    ) -> None:
        """Nothing played, no evidence."""
        if not 0 < real_number("share", share) <= 1:
            raise MatchbanditError(f"share must lie between 0 and 1; got {share!r}. It is that of rounds that explore.")
        delta = None if delta is None else checked_delta(delta)
        super().__init__(setting, rng, selection=selection, delta=delta, anytime=anytime, share=share)
        self.target = Goal.of(self.graph, self.selection)
        self.n_rows = self.graph.shape[0] if self.graph.kind == "bipartite" else 0
        n = self.target.sides[-1]
        self.plays, self.sums = np.zeros((n, n)), np.zeros((n, n))
        """What the strengths are fitted to: all results, those of a warm start too."""
        self.strengths = np.full(n, PRIOR_MEAN)
        self.half_gaps = np.zeros((n, n))
        self.log_bets = np.zeros((BETS, n, n))
        self.evidence = np.where(self._comparable, 0.0, -inf)
        """log E of every ordered pair, now"""
        self.peaks = self.evidence.copy()
        """and at its highest."""
        self.tours = 0
        self.tour_sums = np.zeros(n)
        self.sampled = 0
        """Rounds of the batches that are over."""
        self.explored = 0

    @cached_property
    def _sides(self) -> Counts:
        return np.array(self.target.sides)

    @cached_property
    def _comparable(self) -> Any:
        side = np.repeat(np.arange(len(self._sides) - 1), np.diff(self._sides))
        return (side[:, None] == side[None, :]) & ~np.eye(len(side), dtype=bool)

    @cached_property
    def _opponents(self) -> Counts:
        """How many opponents two items of a side have in common."""
        if self.n_rows:
            return np.array(self.graph.shape[::-1])
        return np.array([self.graph.shape[0] - 2])

    @cached_property
    def _ends(self) -> Counts:
        return self.graph.pairs + np.array([0, self.n_rows])

    @cached_property
    def _tour(self) -> Edges:
        """Rounds in which every pair meets once."""
        return np.arange(self.graph.n_pairs)[:, None] if self.selection == "pair" else all_meet(self.graph)

    @cached_property
    def _all_rounds(self) -> Edges | None:
        """Every round that there is, if they are few."""
        if self.selection == "pair":
            return np.arange(self.graph.n_pairs)[:, None]
        return all_matchings(self.graph) if count_matchings(self.graph) <= MOST_MATCHINGS else None

    @property
    def _lasts(self) -> bool:
        """Is there one threshold for ever? Anytime it grows with the rounds, and certificates lapse."""
        return self.options["delta"] is not None or not (self.options["anytime"] or self.setting.horizon is None)

    def _threshold(self, at: int) -> float:
        """log E from which on a link is certified in round `at`: log(F/δ), δ = 1/T for regret; anytime log(F g(t))."""
        F = log(self.target.bad_links)
        if self.options["delta"] is not None:
            return F - log(self.options["delta"])
        if self._lasts:
            return F + log(self.setting.horizon or 1)
        return F + log_g(at)

    def _needed(self) -> float:
        """What it explores for: anytime a certificate that lasts."""
        return self._threshold(4 * max(1, self.sampled))

    def _schedule(self) -> Schedule:
        length, so_far = len(self._tour), self.explored
        first = (1 if self.selection == "pair" else 2) * length
        if not so_far:
            return Schedule(first, first, first // length)
        n = self.target.sides[-1]
        explored = max(ceil(LEAST * n / 2), ceil(GROWTH * so_far))
        tours = max(0, int(TOURS * (so_far + explored) / length) - self.tours)
        explored = max(explored, tours * length)
        if self.options["delta"] is not None:
            return Schedule(explored, explored, tours)
        capped = ((so_far + explored - first) / CAP) ** 2 / self._needed() - self.sampled
        return Schedule(max(ceil(explored / self.options["share"]), ceil(capped)), explored, tours)

    def _order(self, until: int) -> Counts:
        """What is certified until then, then what whole tours tell apart, then the strengths."""
        certified = strongest_chains(self.peaks) >= self._threshold(until)
        if self.options["delta"] is not None or not self.tours:
            return extension(self.strengths, self.target.sides, certified)
        ahead = self.tour_sums[:, None] - self.tour_sums[None, :]
        n = self.tours * np.repeat(self._opponents, np.diff(self._sides))
        radius = self.setting.rewards.sigma * np.sqrt(12 * log(len(n) * max(1, self.sampled)) * n)
        return extension(self.strengths, self.target.sides, certified, self._comparable & (ahead > radius[:, None]))

    def _open(self, order: Counts, needed: float) -> Links:
        """The links that its answer still lacks."""
        links, chains = self.target.borders(order), strongest_chains(self.peaks)
        return links[chains[links[:, 0], links[:, 1]] < needed]

    @property
    def finished(self) -> bool:
        """Is every link of the answer certified?"""
        return self.options["delta"] is not None and not len(self._open(self._order(self.sampled), self._needed()))

    def plan(self) -> Batch:
        """The next batch; or the answer, once everything is certified."""
        m = self.graph.n_pairs
        cells = np.concatenate([np.arange(m), np.arange(m)])
        order = self._order(self.sampled)
        best = self.graph.edges(self._answer_of(order))
        if not self.target.bad_links:
            return Batch(edges=cells, rounds=best[None, :], times=np.array([NEVER]), limit=NEVER)
        open_links = self._open(order, self._needed())
        if not len(open_links):
            lasts = NEVER if self._lasts else self._lapse(order) - self.sampled
            return Batch(edges=cells, rounds=best[None, :], times=np.array([lasts]), limit=lasts)
        schedule = self._schedule()
        horizon = self.setting.horizon
        if self.options["delta"] is None and self._lasts and self.sampled + schedule.rounds > horizon:
            return Batch(edges=cells, rounds=best[None, :], times=np.array([NEVER]), limit=NEVER)
        if not self._lasts:
            order = self._order(self.sampled + schedule.rounds)
            best = self.graph.edges(self._answer_of(order))
        exploits = schedule.rounds - schedule.explored
        chosen = self._chosen(schedule, best, open_links)
        rounds = [best, *(np.array(edges) for edges in chosen), *(self._tour + m)]
        times = [exploits, *chosen.values(), *[schedule.tours] * len(self._tour)]
        return Batch.of(cells, np.array(rounds), np.array(times))

    def _lapse(self, order: Counts) -> int:
        """The last round in which all links of the order are certified, anytime."""
        links, chains = self.target.borders(order), strongest_chains(self.peaks)
        least = chains[links[:, 0], links[:, 1]].min() - log(self.target.bad_links)
        low, high = self.sampled, 2 * max(1, self.sampled)
        while log_g(high) <= least and high < NEVER // 2:
            high *= 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if log_g(middle) <= least else (low, middle)
        return low

    def _planned_plays(self, schedule: Schedule, best: Edges) -> Floats:
        plays = np.full(self.plays.shape, -1.0)
        i, j = self._ends.T
        plays[i, j] = plays[j, i] = schedule.tours
        i, j = self._ends[best].T
        plays[i, j] += schedule.rounds - schedule.explored
        plays[j, i] = plays[i, j]
        return plays

    def _chosen(self, schedule: Schedule, best: Edges, links: Links) -> dict[tuple[int, ...], int]:
        rounds = schedule.explored - schedule.tours * len(self._tour)
        if not rounds:
            return {}
        missing = self._needed() - self.evidence[links[:, 0], links[:, 1]]
        plays = self._planned_plays(schedule, best)
        means = self.strengths[self._ends].prod(axis=1)
        optimum = float(means[best].sum())
        everything = self._all_rounds
        regret = self.options["delta"] is None
        if everything is not None:
            losses = 1.0
            if regret:
                losses = np.maximum(optimum - means[everything].sum(axis=1), 0.0) + WORTH * optimum + 1e-300

            def choose(worth: Floats) -> Edges:
                return everything[int(np.argmax(worth[everything].sum(axis=1) / losses))]
        elif regret:

            def choose(worth: Floats) -> Edges:
                return most_per_loss(lambda w: best_matching(self.graph, w), means, optimum, worth, best)
        else:

            def choose(worth: Floats) -> Edges:
                return best_matching(self.graph, worth)

        return informative(
            self.setting.rewards.noise, self.strengths, links, missing, plays, rounds, self._ends, choose
        )

    def learn(self, tally: Tally) -> None:
        """Book the bets of this batch, then fit anew what the next one bets."""
        schedule = self._schedule()
        m, noise = self.graph.n_pairs, self.setting.rewards.noise
        edges = np.arange(m)
        if not (self._lasts or tally.sweeps == schedule.rounds):
            pass
        counts = tally.counts[:m] + tally.counts[m:]
        sums = credible(noise, tally.counts[:m], tally.sums[:m]) + credible(noise, tally.counts[m:], tally.sums[m:])
        plays, paid = self._table(edges, counts), self._table(edges, sums)
        bet_on_batch(self.log_bets, plays, paid, self.strengths, self.half_gaps, self._sides, noise)
        tours = int(tally.counts[m]) if m else 0
        self.tours += tours
        self.tour_sums += self._table(edges, credible(noise, tally.counts[m:], tally.sums[m:])).sum(axis=1)
        self.evidence = np.empty_like(self.evidence)
        log_evidence(
            self.log_bets, float(self.tours), self.tour_sums, self._opponents, self._sides,
            self.setting.rewards.sigma, self.evidence,
        )  # fmt: skip
        self.peaks = np.maximum(self.peaks, self.evidence)
        if tally.sweeps == schedule.rounds and tours == schedule.tours:
            self.explored += schedule.explored
        self.sampled += tally.sweeps
        self.plays += plays
        self.sums += paid
        self._fit()

    def _table(self, edges: Edges, values: Any) -> Floats:
        table = np.zeros(self.plays.shape)
        i, j = self._ends[edges].T
        table[i, j] = table[j, i] = values
        return table

    def _fit(self) -> None:
        noise = self.setting.rewards.noise
        self.strengths, covariance = fitted(self.plays, self.sums, noise, self.n_rows, start=self.strengths)
        self.half_gaps = half_gaps(self.strengths, covariance)

    def _answer_of(self, order: Counts) -> Pairs:
        """The pairs of the answer for an order of all items."""
        if self.n_rows:
            size = min(self.graph.shape)
            pairs = np.stack([order[: self.n_rows][:size], order[self.n_rows :][:size] - self.n_rows], axis=1)
        else:
            pairs = np.sort(order[: len(order) // 2 * 2].reshape(-1, 2), axis=1)
        return pairs[: 1 if self.selection == "pair" else len(pairs)]

    def recommend(self) -> Pairs:
        """The best pair or matching of what is certified, and beyond it of the fitted strengths."""
        return self._answer_of(self._order(self.sampled))

    def take(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Let logged results choose where to look; they are never evidence."""
        self.plays += self._table(edges, counts)
        self.sums += self._table(edges, credible(self.setting.rewards.noise, counts, sums))
        self._fit()

    def reasons(self) -> dict[str, Any]:
        """TODO."""
        return {}


def log_g(t: int) -> float:
    """log g(t) = log(t log²(t + 2)), for rounds t ≥ 1: the sum of 1/g(t) over all of them is below 1.9."""
    t = max(1, t)
    return log(t) + 2 * log(log(t + 2))
