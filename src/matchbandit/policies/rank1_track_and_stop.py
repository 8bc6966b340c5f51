"""Track-and-Stop for the product model: rounds in the optimal proportions until a likelihood ratio is decisive."""

from functools import cached_property
from itertools import pairwise
from math import ceil, exp, inf, log, sqrt
from typing import Any, ClassVar

import numpy as np

from matchbandit.certificates import Links, Target
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Pairs, Selection
from matchbandit.plans import Batch, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.explanation import item_record, pair_record
from matchbandit.policies.options import Delta
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.rewards import Counts, Floats
from matchbandit.schedules import all_meet
from matchbandit.solvers import MAX_MATCHINGS, count_matchings, sorted_across, sorted_pairing
from matchbandit.solvers.characteristic import MAX_ITEMS, Descent, Instance, all_rounds, clip_logs, fewest_plays
from matchbandit.strengths import PRIOR, Posterior, clip_outliers, new_model

BATCH = 0.05
"""A batch is this part of the rounds so far."""
RECOMPUTED = 1.2
"""Proportions are computed again when the rounds have grown by this factor,"""
PRECISION, MAX_STEPS = 0.05, 30
"""until their rounds are within this share of the fewest, in at most so many steps."""
MIN_GAP = 1e-3
"""Where proportions are computed, log strengths of neighbours in the order differ by this at least: with equal items
there are none."""
STEPS = 100
"""In a batch, what is behind is looked up about so many times."""
TIE = 1e-9
"""Parts of the rounds so far: who is behind by no more than this less than another is behind as much."""


class Rank1TrackAndStop(PlannedPolicy):
    """Track-and-Stop [GarivierKaufmann2016] with the characteristic time T* of the product model.

    One tour of all pairs. Then batches of 5 % of the rounds so far, by D-tracking: with t rounds played, while a pair
    has fewer than √t − d/2 plays (d pairs), the round that has most of what such pairs lack; otherwise the round whose
    pairs are furthest behind in total, Σ_e (t w_e − n_e). w are the proportions with which rounds attain T* at the
    fitted strengths, as `theory.characteristic_time` has them, but to 5 %. They are computed again when t has grown by
    20 %. Strengths are fitted as in rank1-thompson, where the prior keeps them off 0 and 1; equal ones are pulled apart
    by a thousandth.

    It is done when Z_ab > log((1 + log n)/δ), n rewards, for every item a of a block of the answer (its pairs; or
    single rows and columns) and every b of the next. Z_ab is the generalised likelihood ratio in the product model: the
    log-likelihood of the strengths that explain all rewards best, which give the answer, less that of the best ones
    with a and b equal.

    That threshold is the usual one in practice. It is *not proved*: not by the paper, whose theorem takes a larger one
    for independent arms, nor for products. Exact ties are never decided.

    Deviations from the paper: batches instead of single rounds, pairs instead of arms are tracked, as one pair is in
    many matchings, and proportions are not computed every round.

    Gaussian rewards whose sum in a batch is more than 40 of its standard deviations away from what means in [0, 1]
    allow are slips, and count as if it were 40 away.

    Parameters
    ----------
    selection : {"pair", "matching"}, optional
        What a round plays and what is sought; by default matchings of players, and pairs of rows and columns.
    delta : float, default 0.05
        δ, the error probability that is aimed at.
    """

    name: ClassVar[str] = "rank1-track-and-stop"
    summary: ClassVar[str] = "identifies in the optimal proportions of the product model: few rounds, no proof"
    reference: ClassVar[str] = "Garivier & Kaufmann 2016, for products"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair", "matching"),
        goals=("identification",),
        byes=("identification",),
        warm_start=True,
        max_items=MAX_ITEMS,
        max_matchings=MAX_MATCHINGS,
        assumes_product=True,
    )
    state_fields: ClassVar[tuple[str, ...]] = (
        "plays", "sums", "strengths", "likeliest", "proportions", "computed_at", "hardest", "is_decided",
    )  # fmt: skip

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        selection: Selection | None = None,
        delta: Delta = 0.05,
    ) -> None:
        """Nothing played."""
        super().__init__(setting, rng)
        if self.selection == "matching" and count_matchings(self.graph) > MAX_MATCHINGS:
            raise MatchbanditError(
                f"{self.name} looks at every matching, and {self.graph} has more than {MAX_MATCHINGS} of them "
                f"(10 players have 945, 6 × 6 rows and columns 720). Use rank1-certify for more."
            )
        self.target = Target.of(self.graph, self.selection)
        d, n = self.graph.n_pairs, self.graph.n_items
        self.plays, self.sums = np.zeros(d, dtype=np.int64), np.zeros(d)
        self.strengths = np.full(n, exp(PRIOR.level))
        """The most probable strengths, for proportions."""
        self.likeliest = np.full(n, PRIOR.level)
        """The log strengths with the greatest likelihood, for the answer."""
        self.proportions = np.full(d, self.round_size / d)
        """w: how often each pair is to be in a round."""
        self.computed_at = 0.0
        """The rounds after which they were computed."""
        self.hardest = 0
        """The link of the answer that was last seen not to be decided."""
        self.is_decided = not len(self.target.places)

    @cached_property
    def _rounds(self) -> Floats:
        """Every round there is, with 1 for its pairs."""
        return all_rounds(self.graph, self.selection)

    @cached_property
    def _ends(self) -> Counts:
        return self.graph.items_of(self.graph.pairs)

    @property
    def sampled(self) -> float:
        """The rounds whose results are in; logged ones count as the rounds that they fill."""
        return float(self.plays.sum() / self.round_size)

    @property
    def threshold(self) -> float:
        """log((1 + log n)/δ), n rewards."""
        return log((1 + log(max(1, int(self.plays.sum())))) / self.options["delta"])

    @property
    def finished(self) -> bool:
        """Is every link of the answer decided?"""
        return self.is_decided

    def plan(self) -> Batch:
        """Every pair once; then the rounds that lag behind their proportions most."""
        cells = np.arange(self.graph.n_pairs)
        if (self.plays == 0).any():
            tour = cells[:, None] if self.selection == "pair" else all_meet(self.graph)
            return Batch.of(cells, tour, np.ones(len(tour), dtype=np.int64))
        chosen, times = self._track(ceil(BATCH * self.sampled))
        edges = np.nonzero(self._rounds[chosen])[1].reshape(len(chosen), -1)
        return Batch.of(cells, edges, np.array(times))

    def _track(self, rounds: int) -> tuple[list[int], list[int]]:
        """Which rounds to play, by their places in the list of all, and how often each."""
        t, plays, left = self.sampled, self.plays.astype(float), rounds
        chosen: list[int] = []
        times: list[int] = []
        while left:
            lacking = np.maximum(sqrt(t) - self.graph.n_pairs / 2 - plays, 0.0)
            if lacking.any():
                best = int(np.argmax(self._rounds @ lacking))
                n = min(left, ceil(lacking[self._rounds[best] > 0].max()))
            else:
                n = min(left, ceil(rounds / STEPS))
                behind = self._rounds @ ((t + n) * self.proportions - plays)
                best = int(np.argmax(behind >= behind.max() - TIE * t))
            chosen.append(best)
            times.append(n)
            plays += n * self._rounds[best]
            t, left = t + n, left - n
        return chosen, times

    def learn(self, tally: Tally) -> None:
        """Fit the strengths anew; is the answer decided?"""
        self.add_logged(np.arange(self.graph.n_pairs), tally.counts, tally.sums)

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Add results; those from before count like others."""
        self.plays[edges] += counts
        self.sums[edges] += clip_outliers(self.setting.rewards.noise, counts, sums)
        self.strengths = self._posterior().strengths
        observed = self._observed()
        self.likeliest, deviance = Descent(observed).nearest(self.plays.astype(float))
        self.is_decided = self._decides(observed, deviance)
        if not self.is_decided and self.sampled >= RECOMPUTED * self.computed_at:
            self.proportions, self.computed_at = self._optimal_proportions(), self.sampled

    def _posterior(self) -> Posterior:
        model = new_model(self.graph, self.setting.rewards, complete=True)
        model = model._replace(plays=self.plays.astype(float), sums=self.sums)
        return Posterior.of(model, start=np.log(self.strengths))

    def _observed(self) -> Instance:
        """The averages of rewards, from which log-likelihoods are computed; the fitted strengths are where to start."""
        averages = self.sums / np.maximum(self.plays, 1)
        return Instance(self.graph, self.setting.rewards, clip_logs(self.strengths), averages)

    def _decides(self, observed: Instance, deviance: float) -> bool:
        """Is Z above the threshold for every link? Begins with the one that was last seen below, and ends with it."""
        links, threshold = self._links(), self.threshold
        for k in np.roll(np.arange(len(links)), -self.hardest):
            if self._ratio(observed, deviance, links[k]) <= threshold:
                self.hardest = int(k)
                return False
        return True

    def _ratio(self, observed: Instance, deviance: float, link: Counts) -> float:
        """Z: how much better all strengths explain the rewards than those with two items equal, in log-likelihood."""
        return Descent(observed, (int(link[0]), int(link[1]))).nearest(self.plays.astype(float))[1] - deviance

    def _order(self, logs: Floats) -> Counts:
        """The items of each side, the strongest first."""
        sides = [first + np.argsort(-logs[first:last], kind="stable") for first, last in pairwise(self.target.sides)]
        return np.concatenate(sides)

    def _links(self) -> Links:
        """Who must be above whom, for the answer to be right."""
        return self.target.borders(self._order(self.likeliest))

    def _optimal_proportions(self) -> Floats:
        """How often each pair is in a round, where rounds distinguish the fitted strengths from all others soonest."""
        logs = clip_logs(self.strengths)
        order = self._order(logs)
        for first, last in pairwise(self.target.sides):
            for above, below in pairwise(order[first:last]):
                logs[below] = min(logs[below], logs[above] - MIN_GAP)
        instance = Instance(self.graph, self.setting.rewards, logs, np.exp(logs[self._ends].sum(axis=1)))
        try:
            solution = fewest_plays(
                instance,
                self._rounds,
                np.ones(len(self._rounds)),
                self.target.borders(order).tolist(),
                start=self.proportions,
                precision=PRECISION,
                max_steps=MAX_STEPS,
            )
        except MatchbanditError:  # HiGHS cannot solve every program; the next one is another
            return self.proportions
        total = float(solution.plays.sum())
        return solution.plays * (self.round_size / total) if 0 < total < inf else self.proportions

    def recommend(self) -> Pairs:
        """The best pair or matching of the likeliest strengths."""
        if self.graph.is_bipartite:
            rows, columns = np.split(self.likeliest, [self.graph.n_rows])
            return sorted_across(rows, columns)[: self.round_size]
        return sorted_pairing(self.likeliest)[: self.round_size]

    def explain_extra(self) -> dict[str, Any]:
        """The strength of each item, the proportion of each pair, and the likelihood ratio of each link."""
        from matchbandit.product_model import product_warning  # noqa: PLC0415  # it needs more of scipy than playing

        names = [(self.graph.side_of(k), self.graph.index_of(k)) for k in range(self.graph.n_items)]
        samples = np.bincount(self._ends.ravel(), np.repeat(self.plays, 2), minlength=len(names))
        observed = self._observed()
        deviance = Descent(observed).nearest(self.plays.astype(float))[1]
        rivals = [
            {
                "side": names[a][0],
                "above": names[a][1],
                "below": names[b][1],
                "log_evidence": max(0.0, self._ratio(observed, deviance, np.array([a, b]))),
                "threshold": self.threshold,
            }
            for a, b in self._links().tolist()
        ]
        return {
            "items": [
                item_record(item, side, samples=int(samples[k]), estimate=float(self.strengths[k]))
                for k, (side, item) in enumerate(names)
            ],
            "pairs": [
                pair_record(
                    pair,
                    plays=int(n),
                    estimate=float(total / n) if n else None,
                    proportion_wanted=float(self.proportions[edge]),
                )
                for edge, (pair, n, total) in enumerate(
                    zip(self.graph.pairs.tolist(), self.plays, self.sums, strict=True)
                )
            ],
            "next_check": self.next_check(),
            "warnings": product_warning(self._posterior(), self.setting.rewards),
            "details": {"threshold": self.threshold, "rivals": rivals},
        }
