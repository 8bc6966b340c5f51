"""Rank-1 certify: the best pair or matching with a proof, and little regret on the way."""

from functools import cached_property, partial
from math import ceil, exp, inf, log
from typing import Annotated, Any, ClassVar

import numpy as np

from matchbandit.certificates import Links, Relation, Target, bottleneck_closure, linear_extension
from matchbandit.confidence import NEVER
from matchbandit.errors import MatchbanditError
from matchbandit.evidence import BETS, bet_on_batch, half_gaps, log_evidence
from matchbandit.graphs import Edges, Pairs, Selection
from matchbandit.plans import Batch, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities, TheoremOption
from matchbandit.policies.explanation import item_record
from matchbandit.policies.information import choose_listed, choose_solved, expected_gains, losses, most_per_loss
from matchbandit.policies.options import Delta, between
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.rewards import Bernoulli, Binomial, Counts, Floats, RewardDistribution
from matchbandit.schedules import Schedule, all_meet, next_batch
from matchbandit.solvers import MAX_MATCHINGS, all_matchings, best_matching, count_matchings
from matchbandit.strengths import PRIOR, Model, Posterior, clip_outliers, new_model

CONTRADICTION = 8.0
"""How far an average may be from the fit, in units of log-likelihood beyond log(n_pairs), before it is followed."""
SMALLEST_SHARE = 1e-6
"""With less a batch could be longer than whole numbers of 64 bits."""


MAX_ITEMS = 400
"""Every two items are compared against every third: beyond, a batch takes seconds."""


class Rank1Certify(PlannedPolicy):
    """Certified: names the best pair or matching with a proof, and loses little regret until it can.

    For every ordered pair of items of a side it keeps an e-process E_ab: a mixture of products of likelihood ratios
    that grows if a is above b, and is a supermartingale from 1 if it is not (see `evidence`). Once E_ab ≥ F/δ, a is
    *certified* above b, and chains of certificates are certificates. F is the number of those that could spoil the
    answer. Once every item of each block of the answer (its pairs; or single rows and columns) is certified above every
    item of the next, the answer is right with probability 1 − δ. That is exact, at any time, and needs no product of
    strengths: only that one order of the items holds against every opponent, and for matchings increasing differences.
    docs/certified.md has the proof.

    *Identification* (`delta`): one tour of all pairs, or two of matchings, then batches of 5 % of the rounds so far.
    Strengths are fitted to all results (as in rank1-thompson); a batch plays the rounds from which the fit expects the
    most for the certificate that would come last, and half of them those from which the averages of the pairs do, as
    long as some average contradicts the fit. 1/32 of the rounds are whole tours, which the bound on its rounds
    needs, not its correctness.

    *Regret*: the same with δ = 1/T, and with shorter batches, of which only a `share` explores, by what it tells per
    regret. The others play the best guess: an order that agrees with what is certified, then with what whole tours tell
    apart, then with the fit. Once all is certified the answer is played for ever. What is equal is never certified: up
    to round t at most 8 √(t log(FT)) rounds explore, besides the first tours. With `anytime`, or without a horizon, a
    certificate must have E_ab ≥ F g(t) in round t, g(t) = t log²(t + 2): it lapses, and then it explores until
    E_ab ≥ F g(4t).

    A batch is looked at once, at its end. Results of a `warm_start` choose where to look and are never evidence. Of an
    odd number of players the weakest sits out the answer; for regret an even number is needed.

    Gaussian rewards whose sum in a batch is more than 40 of its standard deviations away from what means in [0, 1]
    allow are slips, and count as if it were 40 away.

    Parameters
    ----------
    selection : {"pair", "matching"}, optional
        What a round plays and what is sought; by default matchings of players, and pairs of rows and columns.
    delta : float, optional
        δ, the error probability: with it the policy identifies, without it it minimises regret.
    anytime : bool, default False
        Ignore the horizon: certificates lapse as rounds go by. So it is, too, without a horizon.
    share : float, default 0.25
        The share of the rounds that explore while something is not certified, from 10^-6 to 1. For regret.
    """

    name: ClassVar[str] = "rank1-certify"
    summary: ClassVar[str] = "certificates that only the truth can earn: proved, and cheap"
    reference: ClassVar[str] = "this library"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair", "matching"),
        goals=("regret", "identification"),
        proved=("regret", "identification"),
        theorem_options=(TheoremOption("share", (0.25,), goals=("regret",)), TheoremOption("anytime", (False,))),
        byes=("identification",),
        warm_start=True,
        max_items=MAX_ITEMS,
        assumes_product=True,
    )
    state_fields: ClassVar[tuple[str, ...]] = (
        "plays", "sums", "strengths", "half_gaps", "log_bets", "evidence", "peaks", "tours", "tour_sums",
        "sampled", "explored", "certified", "one_coin",
    )  # fmt: skip

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        selection: Selection | None = None,
        delta: Delta | None = None,
        anytime: bool = False,
        share: Annotated[float, between("share", SMALLEST_SHARE, 1, "It is that of exploring rounds.")] = 0.25,
    ) -> None:
        """Nothing played, no evidence."""
        if anytime is True and delta is not None:
            raise MatchbanditError("anytime is for regret; with delta rank1-certify needs no horizon. Leave one out.")
        super().__init__(setting, rng)
        self._regret = self.goal == "regret"
        self.target = Target.of(self.graph, self.selection)
        n = self.target.n_items
        self.plays, self.sums = np.zeros((n, n)), np.zeros((n, n))
        """All results, those of a warm start too: what the strengths are fitted to."""
        self.strengths, self.half_gaps = np.full(n, exp(PRIOR.level)), np.zeros((n, n))
        self.one_coin = False
        """Is each reward one coin, though the setting says binomial? So it is once a state holds sums of rewards that
        are no shares of the trials, which versions up to 0.7 took."""
        self._begin()

    def _begin(self) -> None:
        """No evidence, and no rounds that it would rest on."""
        n = self.target.n_items
        self.log_bets = np.zeros((BETS, n, n))
        self.evidence = np.where(self.target.comparable, 0.0, -inf)
        """log E of every ordered pair of items now,"""
        self.peaks = self.evidence.copy()
        """and the highest that it has been."""
        self.tours, self.tour_sums = 0, np.zeros(n)
        """Whole tours so far, and what each item's pairs have paid in them."""
        self.sampled = self.explored = 0
        """Rounds of the batches that are over, and those of them that explored."""
        self.certified = self.target.bad_links == 0
        """Is every link of the answer certified, in identification?"""

    @property
    def counting(self) -> RewardDistribution:
        """How rewards count: as the setting says, or as one coin each."""
        return Bernoulli() if self.one_coin else self.setting.rewards

    @cached_property
    def _ends(self) -> Counts:
        """The two items of each pair, numbered consecutively."""
        return self.graph.items_of(self.graph.pairs)

    @cached_property
    def _edges(self) -> Edges:
        """The edge of every two items, numbered consecutively."""
        return self._table(np.arange(self.graph.n_pairs)).astype(np.int64)

    @cached_property
    def _cells(self) -> Edges:
        """Three ledgers: the best guess, rounds chosen for what they tell, whole tours."""
        return np.tile(np.arange(self.graph.n_pairs), 3)

    @cached_property
    def _tour(self) -> Edges:
        """Rounds in which every pair meets once."""
        return np.arange(self.graph.n_pairs)[:, None] if self.selection == "pair" else all_meet(self.graph)

    @cached_property
    def _listed(self) -> Edges | None:
        """Every round that there is, if they are few."""
        if self.selection == "pair":
            return np.arange(self.graph.n_pairs)[:, None]
        return all_matchings(self.graph) if count_matchings(self.graph) <= MAX_MATCHINGS else None

    @property
    def lapses(self) -> bool:
        """Do certificates lapse, because there is no horizon to hold for?"""
        return self._regret and (self.options["anytime"] or self.setting.horizon is None)

    def threshold(self, at: int) -> float:
        """log E from which on a link is certified in round `at`: log(F/δ); for regret log(F T) or log(F g(t))."""
        F = log(max(1, self.target.bad_links))
        if not self._regret:
            return F - log(self.options["delta"])
        return F + (log_g(at) if self.lapses else log(self.setting.horizon or 1))

    @property
    def _now(self) -> int:
        """The open round, or the next one: anytime a certificate may lapse within a batch."""
        return max(self.sampled, self.rounds)

    @property
    def needed(self) -> float:
        """log E for which it explores: anytime a certificate that holds until four times the rounds."""
        return self.threshold(4 * self.sampled)

    def schedule(self) -> Schedule:
        """The next batch that explores."""
        regret = self._regret
        return next_batch(
            self.sampled,
            self.explored,
            self.tours,
            length=len(self._tour),
            first=1 if self.selection == "pair" else 2,
            items=self.target.n_items,
            share=self.options["share"] if regret else 1.0,
            needed=self.needed if regret else None,
        )

    def _order(self, chains: Floats, until: int) -> Counts:
        """All items, by what is certified until then, then by what whole tours tell apart, then by the fit."""
        certified = chains >= self.threshold(until)
        separated = self._separated() if self._regret and self.tours else np.zeros_like(certified)
        return linear_extension(self.strengths, self.target.starts, certified, separated)

    def _separated(self) -> Relation:
        """Whose average over whole tours is ahead by more than r, r² = 12 σ² log(n t)/m, m plays of each."""
        m = self.tours * self.target.opponents
        radius = self.counting.sigma * np.sqrt(12 * log(len(m) * max(1, self.sampled)) * m)
        ahead = self.tour_sums[:, None] - self.tour_sums[None, :]
        return np.asarray(self.target.comparable & (ahead > radius[:, None]))

    @property
    def finished(self) -> bool:
        """Is every link of the answer certified?"""
        return not self._regret and self.certified

    def plan(self) -> Batch:
        """A batch that explores; the answer alone, while everything is certified or the horizon is nearer."""
        chains, schedule, needed = bottleneck_closure(self.peaks), self.schedule(), self.needed
        end = self.sampled + schedule.rounds
        order = self._order(chains, end)
        weakest = self.target.weakest(order, chains)
        cells, best = self._cells, self._best(order)[None, :]
        if weakest >= needed:
            lasts = self._lapse(weakest) - self.sampled if self.lapses else NEVER
            return Batch.of(cells, best, np.array([lasts]))
        if self._regret and not self.lapses and self.explored and end > (self.setting.horizon or 0):
            return Batch.of(cells, best, np.array([NEVER]))  # nobody would look at what it explores
        chosen, times = self._chosen(schedule, best[0], self.target.missing(order, chains, needed))
        guesses = [schedule.rounds - schedule.explored]
        return Batch.of(
            cells,
            np.concatenate([best, chosen + self.graph.n_pairs, self._tour + 2 * self.graph.n_pairs]),
            np.concatenate([guesses, times, np.full(len(self._tour), schedule.tours)]),
        )

    def _lapse(self, weakest: float) -> int:
        """The last round in which links with this log E hold, anytime."""
        low, high = self.sampled, NEVER
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.threshold(middle) <= weakest else (low, middle)
        return low

    def _chosen(self, schedule: Schedule, best: Edges, links: Links) -> tuple[Edges, Counts]:
        """The rounds that the batch explores with, and how often each.

        They are chosen by the fitted means. While averages of pairs contradict the fit, half of them are chosen by the
        averages.
        """
        rounds = schedule.explored - schedule.tours * len(self._tour)
        if not rounds:
            return best[None, :], np.array([0])
        missing = self.needed - self.evidence[links[:, 0], links[:, 1]]
        plays, fitted = self._decided(schedule, best), np.outer(self.strengths, self.strengths)
        contradicted = self._contradicted(fitted)
        half = rounds // 2 if contradicted.any() else 0
        parts = [self._chosen_by(fitted, links, missing, plays, rounds - half, best)]
        if half:
            averages = np.where(contradicted, self.sums / np.maximum(self.plays, 1.0), fitted)
            parts.append(self._chosen_by(averages, links, missing, plays, half, best))
        chosen, times = zip(*parts, strict=True)
        return np.concatenate(chosen), np.concatenate(times)

    def _chosen_by(
        self, table: Floats, links: Links, missing: Floats, plays: Floats, rounds: int, best: Edges
    ) -> tuple[Edges, Counts]:
        """The same by these means of all pairs, items × items; the rounds are added to the plays."""
        batch = self.counting.noise, table, links, missing, plays, rounds
        means = table[self._ends[:, 0], self._ends[:, 1]]
        if self._listed is not None:
            cost = losses(means, best, self._listed) if self._regret else np.ones(len(self._listed))
            times = np.zeros(len(self._listed), dtype=np.int64)
            choose_listed(*batch, self._ends, self._listed, cost, times)
            return self._listed, times
        solver = partial(best_matching, self.graph)
        if not self._regret:
            return choose_solved(*batch, self._ends, best, lambda worth, _: solver(worth))
        optimum = float(means[best].sum())
        return choose_solved(*batch, self._ends, best, partial(most_per_loss, solver, means, optimum))

    def _contradicted(self, fitted: Floats) -> Relation:
        """Pairs whose average contradicts the fit: n kl(average, fit) ≥ log(n_pairs) + 8.

        By Chernoff's bound a right mean is contradicted with probability at most 2 e^-8 over all pairs, at any one
        time and for any number of plays.
        """
        from scipy.special import rel_entr  # noqa: PLC0415  # it takes longer to import than all policies

        noise, played = self.counting.noise, self.plays > 0
        averages = np.divide(self.sums, self.plays, out=fitted.copy(), where=played)
        if noise.trials == 0:
            distance = (averages - fitted) ** 2 / (2 * noise.sd**2)
        else:
            p, q = np.clip(averages, 0.0, 1.0), np.clip(fitted, 1e-12, 1 - 1e-12)
            distance = noise.trials * (rel_entr(p, q) + rel_entr(1 - p, 1 - q))
        return np.asarray(self.plays * distance >= log(self.graph.n_pairs) + CONTRADICTION)

    def _decided(self, schedule: Schedule, best: Edges) -> Floats:
        """The plays of a batch that are decided: the best guess and whole tours; −1 where items cannot meet."""
        plays = np.full(self.plays.shape, -1.0)
        i, j = self._ends.T
        plays[i, j] = plays[j, i] = schedule.tours
        i, j = self._ends[best].T
        plays[i, j] = plays[j, i] = schedule.tours + schedule.rounds - schedule.explored
        return plays

    def learn(self, tally: Tally) -> None:
        """Let every bet of this batch win or lose, then fit what the next one bets on."""
        noise, m = self.counting.noise, self.graph.n_pairs
        counts, sums = tally.counts.reshape(3, m), tally.sums.reshape(3, m)
        plays, paid = self._table(counts.sum(axis=0)), self._table(clip_outliers(noise, counts, sums).sum(axis=0))
        bet_on_batch(self.log_bets, plays, paid, self.strengths, self.half_gaps, self.target.starts, noise)
        self.tours += int(counts[2, 0])
        self.tour_sums = self.tour_sums + self._table(clip_outliers(noise, counts[2], sums[2])).sum(axis=1)
        self.evidence = np.full(self.evidence.shape, -inf)
        log_evidence(
            self.log_bets, float(self.tours), self.tour_sums, self.target.opponents, self.target.starts,
            self.counting.sigma, self.evidence,
        )  # fmt: skip
        self.peaks = np.maximum(self.peaks, self.evidence)
        self.sampled += tally.sweeps
        self.explored += int(counts[1:].sum()) // self.round_size
        self._fit(plays, paid)
        if not self._regret:
            chains = bottleneck_closure(self.peaks)
            self.certified = self.target.weakest(self._order(chains, self.sampled), chains) >= self.needed

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Let logged results choose where to look; they are never evidence."""
        by_edge = np.zeros((2, self.graph.n_pairs))
        by_edge[:, edges] = counts, clip_outliers(self.counting.noise, counts, sums)
        self._fit(self._table(by_edge[0]), self._table(by_edge[1]))

    def _restore(self, memory: dict[str, Any]) -> None:
        super()._restore({"one_coin": False, **memory})  # states of versions up to 0.7 do not say

    def _remember(self, memory: dict[str, Any]) -> None:
        super()._remember(memory)
        if isinstance(self.counting, Binomial) and self._holds_impossible_sums():
            self._begin_again()

    def _holds_impossible_sums(self) -> bool:
        """Are there sums that shares of the trials cannot have?"""
        impossible, pending = self.setting.rewards.impossible, self._pending
        single = [part for part in (self._partial, self._told and self._told[1]) if part is not None]
        of_sums = impossible(self.sums, self.plays).any() or impossible(pending.sums, pending.counts).any()
        return bool(of_sums or any(impossible(part).any() for part in single))

    def _begin_again(self) -> None:
        """Count one coin a reward from now on; what is known chooses where to look, as in a warm start.

        The open round is given up, and so is an answer.
        """
        self.one_coin = True
        counts, sums = (part.reshape(3, -1).sum(axis=0) for part in (self._pending.counts, self._pending.sums))
        self._begin()
        self._fit(self._table(counts), self._table(sums))
        self._plan = self._sweep = self._partial = self._asked = self._answer = None
        self._received = []

    def _fit(self, plays: Floats, sums: Floats) -> None:
        """Fit the strengths to these results and to those before."""
        self.plays, self.sums = self.plays + plays, self.sums + sums
        posterior = self._posterior()
        self.strengths = posterior.strengths
        covariance = posterior.covariance * np.outer(self.strengths, self.strengths)
        self.half_gaps = np.empty_like(covariance)
        half_gaps(self.strengths, covariance, self.half_gaps)

    def _posterior(self) -> Posterior:
        """Of the strengths, from all results."""
        i, j = self._ends.T
        model = self._model._replace(plays=self.plays[i, j], sums=self.sums[i, j], noise=self.counting.noise)
        return Posterior.of(model, start=np.log(self.strengths))

    @cached_property
    def _model(self) -> Model:
        """The list of all pairs."""
        return new_model(self.graph, self.setting.rewards, complete=True)

    def _table(self, by_edge: Any) -> Floats:
        """Numbers of pairs as a symmetric table, items × items."""
        table = np.zeros(self.plays.shape)
        i, j = self._ends.T
        table[i, j] = table[j, i] = by_edge
        return table

    def _best(self, order: Counts) -> Edges:
        """The edges of the best pair or matching for an order of all items."""
        size = self.round_size
        if self.graph.is_bipartite:
            rows, columns = np.split(order, [self.graph.n_rows])
            return np.asarray(self._edges[rows[:size], columns[:size]])
        return np.asarray(self._edges[order[: 2 * size : 2], order[1 : 2 * size : 2]])

    def recommend(self) -> Pairs:
        """The best pair or matching of what is certified, and beyond that of what is fitted."""
        return self.graph.pairs[self._best(self._order(bottleneck_closure(self.peaks), self._now))]

    def explain_extra(self) -> dict[str, Any]:
        """The strength of each item; and of each link of the answer its evidence, and when it may be certified."""
        from matchbandit.product_model import product_warning  # noqa: PLC0415  # it needs more of scipy than playing

        names = [(self.graph.side_of(k), self.graph.index_of(k)) for k in range(self.graph.n_items)]
        chains, needed = bottleneck_closure(self.peaks), self.needed
        order = self._order(chains, self._now)
        links = self.target.borders(order)
        rounds = self._expected_rounds(links, chains, order)
        rivals = [
            {
                "side": names[a][0],
                "above": names[a][1],
                "below": names[b][1],
                "log_evidence": float(self.evidence[a, b]),
                "threshold": needed,
                "certified": bool(chains[a, b] >= self.threshold(self._now)),
                "expected_rounds": None if np.isinf(left) else ceil(left),
            }
            for (a, b), left in zip(links.tolist(), rounds.tolist(), strict=True)
        ]
        return {
            "items": [
                item_record(item, side, samples=int(self.plays[k].sum()), estimate=float(self.strengths[k]))
                for k, (side, item) in enumerate(names)
            ],
            "next_check": self.next_check(),
            "warnings": product_warning(self._posterior(), self.counting),
            "details": {"threshold": needed, "rivals": rivals, "explored": self.explored, "tours": self.tours},
        }

    def _expected_rounds(self, links: Links, chains: Floats, order: Counts) -> Floats:
        """In how many rounds each link would be certified, if the fit were right and every batch like the next one."""
        plan = self.current
        counts = plan.draw(Tally.empty(len(plan.edges)), min(plan.limit, NEVER // 2), self.rng)[1]
        plays = np.where(self._decided(Schedule(0, 0, 0), self._best(order)) < 0, -1.0,
                         self._table(counts.reshape(3, -1).sum(axis=0)))  # fmt: skip
        means = np.outer(self.strengths, self.strengths)
        gain = expected_gains(self.counting.noise, means, links, plays) / min(plan.limit, NEVER // 2)
        a, b = links.T
        left = np.where(chains[a, b] >= self.needed, 0.0, self.needed - self.evidence[a, b])
        return np.divide(left, gain, out=np.where(left > 0, inf, 0.0), where=gain > 1e-12)


def log_g(t: int) -> float:
    """log g(t), g(t) = t log²(t + 2): the sum of 1/g(t) over all rounds t ≥ 1 is below 1.9.

    >>> from math import exp
    >>> round(sum(exp(-log_g(t)) for t in range(1, 10**5)) + 1 / log(10**5), 2)
    1.89
    """
    t = max(1, t)
    return log(t) + 2 * log(log(t + 2))
