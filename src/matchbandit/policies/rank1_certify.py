"""Rank-1 certify: the best pair or matching with a proof, and little regret on the way."""

from functools import cached_property, partial
from math import ceil, exp, inf, log, log1p
from typing import Annotated, Any, ClassVar

import numpy as np

from matchbandit.certificates import (
    Links,
    Relation,
    Target,
    bottleneck_closure,
    linear_extension,
    shortest_chains,
)
from matchbandit.confidence import NEVER
from matchbandit.errors import MatchbanditError
from matchbandit.evidence import BETS, add_differences, bet_on_batch, half_gaps, log_evidence
from matchbandit.graphs import Edges, Pairs, Selection
from matchbandit.plans import Batch, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities, TheoremOption
from matchbandit.policies.explanation import item_record
from matchbandit.policies.information import (
    STEPS,
    add_swap,
    choose_listed,
    choose_solved,
    choose_swaps,
    disjoint_groups,
    expected_gains,
    find_swaps,
    force_swaps,
    swapped_rounds,
)
from matchbandit.policies.options import Delta, Epsilon, between
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.rewards import Counts, Floats
from matchbandit.schedules import all_meet, next_batch, next_regret_batch
from matchbandit.schedules.batches import EARLY_TOUR_PLAYS, EARLY_TOUR_SHARE, FORCED_SHARE, MAX_SHARE, TOUR_SHARE
from matchbandit.solvers import MAX_MATCHINGS, all_matchings, best_matching, count_matchings
from matchbandit.strengths import PRIOR, Model, Posterior, clip_outliers, new_model

CONTRADICTION = 8.0
"""How far an average may be from the fit, in units of log-likelihood beyond log(n_pairs), before it is followed."""
SMALLEST_SHARE = 1e-6
"""With less a batch could be longer than whole numbers of 64 bits."""
LEVELS = 9
"""For regret the ratios of the null hypotheses are 1 + 1/2, 1 + 1/4, …, the last of them 1."""
EPSILON_LEVELS = 4
"""With ε the ratios are r, √r, …, and 1 as the last, r being the largest that the answer may have."""
MIN_THRESHOLD = log(2)
"""For regret no link is certified without evidence, however few the rounds."""
MAX_ITEMS = 400
"""Every two items are compared against every third: beyond, a batch takes seconds."""


class Rank1Certify(PlannedPolicy):
    """Certified: names the best pair or matching with a proof, and loses little regret until it can.

    For every link a > b, two items of a side, and for several ratios r ≥ 1 it keeps an e-process: a mixture of
    products of likelihood ratios that is a supermartingale from 1 if u_b ≥ r u_a (see `evidence`). Large values certify
    the link, and chains of certified links certify their ends. docs/certified.md has the proofs of what follows.

    *Identification* (`delta`): at r = 1 a link is certified at F/δ, where F is the number of links that could spoil
    the answer. Once every item of each block of the answer (its pairs; or single rows and columns) is certified above
    every item of the next, the answer is right with probability 1 − δ. That needs no product of strengths: only that
    one order of the items holds against every opponent, and for matchings increasing differences. With `epsilon` links
    are certified at ratios, which multiply along chains, until the answer is worth at least 1 − ε of the optimum; that
    needs products, and ends even if items are equal. It begins with one tour of all pairs, or two of matchings; then
    batches of 5 % of the rounds so far play the rounds from which the fit expects the most for the certificate that
    would come last. While some average contradicts the fit, half of them follow the averages. 1/32 of the rounds are
    whole tours, which the bound on its rounds needs, not its correctness.

    *Regret*: a wrong link whose items differ little costs little, so what it costs at most, a part x of the optimum,
    is in its threshold: C T x/2n, where C is the number of pairs of items of a side and n that of the items: wrong
    certificates lose at most what 2n optimal rounds are worth. Most rounds play the best guess, an order
    that agrees with what is certified and beyond that with the fit. The others exchange the two items of a link across
    a border of the best guess that is not certified yet: nothing is lost on items that are equal. Once all is
    certified the answer is played for ever. With `anytime`, or without a horizon, the threshold in round t is C t x/2:
    certificates lapse, and are renewed for twice the rounds.

    A batch is looked at once, at its end. Results of a `warm_start` choose where to look and are never evidence. Of an
    odd number of players the weakest sits out the answer; for regret an even number is needed. Gaussian rewards whose
    sum in a batch is more than 40 of its standard deviations away from what means in [0, 1] allow are slips, and count
    as if it were 40 away.

    Parameters
    ----------
    selection : {"pair", "matching"}, optional
        What a round plays and what is sought; by default matchings of players, and pairs of rows and columns.
    delta : float, optional
        δ, the error probability: with it the policy identifies, without it it minimises regret.
    epsilon : float, optional
        ε: with it an answer worth at least 1 − ε of the optimum will do. For identification.
    anytime : bool, default False
        Ignore the horizon: certificates lapse as rounds go by. So it is, too, without a horizon.
    share : float, default 1/16
        The share of the rounds that explore while something is not certified, from 10^-6 to 1; more than 1/2 counts as
        1/2. It is larger at first, and falls after many rounds. For regret.
    """

    name: ClassVar[str] = "rank1-certify"
    summary: ClassVar[str] = "certifies the order of the items by evidence, and then plays the answer: proved"
    reference: ClassVar[str] = "this library"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair", "matching"),
        goals=("regret", "identification"),
        proved=("regret", "identification"),
        theorem_options=(TheoremOption("share", (1 / 16,), goals=("regret",)), TheoremOption("anytime", (False,))),
        byes=("identification",),
        warm_start=True,
        supports_epsilon=True,
        max_items=MAX_ITEMS,
        assumes_product=True,
    )
    state_fields: ClassVar[tuple[str, ...]] = (
        "plays", "sums", "strengths", "half_gaps", "log_bets", "differences", "information", "evidence", "peaks",
        "tours", "sampled", "explored", "tour_credit", "swap_credit", "certified",
    )  # fmt: skip

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        selection: Selection | None = None,
        delta: Delta | None = None,
        epsilon: Epsilon | None = None,
        anytime: bool = False,
        share: Annotated[float, between("share", SMALLEST_SHARE, 1, "It is that of exploring rounds.")] = 1 / 16,
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
        shape = (len(self._ratios), n, n)
        self.log_bets = np.zeros((shape[0], BETS, *shape[1:]))
        self.differences, self.information = np.zeros(shape), np.zeros(shape)
        """Differences of averages and their weights, see `log_mixture`: for regret of all rounds, for identification of
        whole tours."""
        self.evidence = np.tile(np.where(self.target.comparable, 0.0, -inf), (shape[0], 1, 1))
        """log E of every ordered pair of items now, at every ratio,"""
        self.peaks = self.evidence.copy()
        """and the highest that it has been."""
        self.swap_credit = np.zeros(shape[1:])
        self.tours = self.sampled = self.explored = self.tour_credit = 0
        """Whole tours so far; rounds of the batches that are over, those of them that explored, and those that explored
        towards the next whole tour."""
        self.certified = self.target.bad_links == 0
        """Is the answer certified, in identification?"""

    @cached_property
    def _ratios(self) -> Floats:
        """The ratios r of the null hypotheses u_b ≥ r u_a, the largest first; the last is 1."""
        if self._regret:
            return np.append(1.0 + 0.5 ** np.arange(1, LEVELS), 1.0)
        tolerance = self._tolerance
        return np.append(np.exp(tolerance * 0.5 ** np.arange(EPSILON_LEVELS)), 1.0) if tolerance else np.ones(1)

    @cached_property
    def _tolerance(self) -> float:
        """By how much, in logarithms, the order of an answer may be wrong if it may lose a part ε: −log(1 − ε)/κ."""
        return -log1p(-(self.options["epsilon"] or 0.0)) / self.target.loss_exponent

    @cached_property
    def _log_losses(self) -> Floats:
        """Per ratio, the logarithm of the largest part of the optimum that a link loses whose items differ by more,
        but by less than the next larger ratio."""
        coarser = np.append(inf, self._ratios[:-1])
        return np.log1p(-(coarser ** -float(self.target.loss_exponent)))

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
        """Three ledgers: the best guess, rounds chosen for their information, whole tours."""
        return np.tile(np.arange(self.graph.n_pairs), 3)

    @cached_property
    def _tour(self) -> Edges:
        """Rounds in which every pair meets once."""
        return np.arange(self.graph.n_pairs)[:, None] if self.selection == "pair" else all_meet(self.graph)

    @cached_property
    def _candidates(self) -> Edges | None:
        """Every round that there is, if they are few."""
        if self.selection == "pair":
            return np.arange(self.graph.n_pairs)[:, None]
        return all_matchings(self.graph) if count_matchings(self.graph) <= MAX_MATCHINGS else None

    @property
    def lapses(self) -> bool:
        """Do certificates lapse, because there is no horizon to hold for?"""
        return self._regret and (self.options["anytime"] or self.setting.horizon is None)

    def threshold(self, at: int) -> float:
        """The score from which on a link is certified in round `at`.

        log(F/δ), or log(C/δ) with ε. For regret log(C T/2n), and log(C t/2) where certificates lapse.
        """
        if not self._regret:
            count = self.target.n_links if self._tolerance else self.target.bad_links
            return log(max(1, count)) - log(self.options["delta"])
        rounds = max(1, at) / 2 if self.lapses else (self.setting.horizon or 1) / (2 * self.target.n_items)
        return max(MIN_THRESHOLD, log(max(1, self.target.n_links)) + log(rounds))

    @property
    def _now(self) -> int:
        """The open round, or the next one: anytime a certificate may lapse within a batch."""
        return max(self.sampled, self.rounds)

    @property
    def needed(self) -> float:
        """The score for which it explores: anytime a certificate that holds for twice the rounds, and for a batch."""
        return self.threshold(self._holds_until)

    @property
    def _holds_until(self) -> int:
        """The last round for which certificates are sought now, anytime: no batch ends later."""
        shortest_batch = ceil(8 * self.target.n_items / min(self.options["share"], MAX_SHARE)) + 4 * len(self._tour)
        return int(2 * self.sampled + shortest_batch)

    def scores(self) -> Floats:
        """By how much each link is known, items × items, to be held against `threshold`.

        For regret the least, over the ratios, of log E − log(what a wrong link of this ratio may lose).
        """
        return self._score(self.peaks)

    def _score(self, evidence: Floats) -> Floats:
        if self._regret:
            return np.asarray((evidence - self._log_losses[:, None, None]).min(axis=0))
        return np.asarray(evidence[-1])

    def _order(self, chains: Floats, threshold: float) -> Counts:
        """All items, by what is certified at this threshold, and beyond that by the fit."""
        return linear_extension(self.strengths, self.target.starts, chains >= threshold)

    @property
    def finished(self) -> bool:
        """Is every link of the answer certified?"""
        return not self._regret and self.certified

    def plan(self) -> Batch:
        """A batch that explores; the answer alone, while everything is certified or the horizon is nearer."""
        return self._plan_regret() if self._regret else self._plan_identification()

    def _batch(self, best: Edges, guesses: int, rounds: Edges, times: Counts, tours: int) -> Batch:
        m = self.graph.n_pairs
        return Batch.of(
            self._cells,
            np.concatenate([best[None, :], rounds + m, self._tour + 2 * m]),
            np.concatenate([[guesses], times, np.full(len(self._tour), tours)]),
        )

    def _plan_identification(self) -> Batch:
        chains = bottleneck_closure(self.scores())
        order = self._order(chains, self.needed)
        best = self._best(order)
        if self.certified:
            return Batch.of(self._cells, best[None, :], np.array([NEVER]))
        pair = self.selection == "pair"
        schedule = next_batch(
            self.explored, self.tours, length=len(self._tour), first=1 if pair else 2, items=self.target.n_items
        )
        rounds = schedule.rounds - schedule.tours * len(self._tour)
        if not rounds:
            return self._batch(best, 0, best[None, :], np.array([0]), schedule.tours)
        links, missing = self._missing_evidence(order, chains)
        plays = self._decided(best, 0, schedule.tours)
        parts = [
            self._choose_by(table, links, missing, plays, part, best) for table, part in self._tables(rounds) if part
        ]
        chosen, times = zip(*parts, strict=True)
        return self._batch(best, 0, np.concatenate(chosen), np.concatenate(times), schedule.tours)

    def _missing_evidence(self, order: Counts, chains: Floats) -> tuple[Links, Floats]:
        """The links of the answer that lack evidence, and how much each lacks."""
        if not self._tolerance:
            links = self.target.missing(order, chains, self.needed)
            return links, self.needed - self.evidence[-1][links[:, 0], links[:, 1]]
        level = self._sufficient_level
        links = self.target.borders(order)
        a, b = links.T
        lacking = self.needed - self.evidence[level][a, b]
        is_open = self.log_ratios()[a, b] > log(self._ratios[level]) + 1e-12
        return links[is_open], np.maximum(lacking[is_open], 0.1)

    @cached_property
    def _sufficient_level(self) -> int:
        """The largest ratio with which every border may be certified so that the answer is good enough."""
        steps = sum(len(blocks) - 1 for blocks in self.target.blocks)
        enough = np.log(self._ratios) * steps <= self._tolerance * (1 + 1e-12)
        return int(np.flatnonzero(enough)[0])

    def log_ratios(self) -> Floats:
        """log r for every two items a, b of a side such that u_b ≤ r u_a follows from what is certified; ∞ if nothing.

        A link holds at a ratio if it is certified at this one and all larger ones. Along a chain ratios multiply.
        """
        holds = np.logical_and.accumulate(self.peaks >= self.needed, axis=0)
        direct = np.where(holds, np.log(self._ratios)[:, None, None], inf).min(axis=0)
        return shortest_chains(direct)

    def _is_good_enough(self, order: Counts) -> bool:
        """May the answer of this order lose a part of ε at most, by what is certified?"""
        if not self._tolerance:
            chains = bottleneck_closure(self.scores())
            return self.target.weakest(order, chains) >= self.needed
        return self.target.log_loss(order, self.log_ratios()) <= self._tolerance * (1 + 1e-12)

    def _plan_regret(self) -> Batch:
        scores, needed = self.scores(), self.needed
        chains = bottleneck_closure(scores)
        order = self._order(chains, needed)
        best, links = self._best(order), self.target.missing(order, chains, needed)
        self._links, self._new_credit, self._needs_tours = self.target.comparable & (chains < needed), None, False
        if not len(links):
            lasts = self._lapse(self.target.weakest(order, chains)) - self.sampled if self.lapses else NEVER
            return Batch.of(self._cells, best[None, :], np.array([lasts]))
        if not self.explored:
            return self._batch(best, 0, best[None, :], np.array([0]), 1 if self.selection == "pair" else 2)
        a, b = links.T
        swaps = find_swaps(order, links, *self._seats, self._edges)
        n_swaps = len(swaps.pairs)
        n_groups = disjoint_groups(swaps.pairs, np.ones(n_swaps, dtype=np.bool_), np.empty(n_swaps, dtype=np.int64))
        least_examined = float(self.information[-1][a, b].min()) * n_groups / FORCED_SHARE
        schedule = next_regret_batch(
            min(self.explored, least_examined), self.target.n_items, share=self.options["share"], needed=needed
        )
        credit, turns = self.swap_credit.copy(), np.empty(n_swaps, dtype=np.int64)
        chosen = [force_swaps(swaps, links, FORCED_SHARE * schedule.explored / n_groups, credit, turns)]
        times = [turns[: len(chosen[0])]]
        n_chosen = max(0, schedule.explored - int(turns.sum()))
        explored = n_chosen + int(turns.sum())
        self._needs_tours = bool((np.minimum(self.peaks[0][a, b], self.peaks[0][b, a]) < needed / 2).any())
        tours = (self.tour_credit + explored) // self._rounds_per_tour if self._needs_tours else 0
        guesses = schedule.guesses
        end = self.sampled + guesses + explored + tours * len(self._tour)
        if self.lapses:
            guesses -= max(0, end - self._holds_until)
        if not self.lapses and end > (self.setting.horizon or 0):
            return Batch.of(self._cells, best[None, :], np.array([NEVER]))  # nobody would look at what it explores
        self._new_credit = credit
        plays = self._decided(best, guesses, tours)
        for k, n in enumerate((times[0] @ chosen[0]).tolist()):
            add_swap(swaps, k, n, plays)
        missing = needed - scores[a, b]
        for table, part in self._tables(n_chosen):
            times.append(np.empty(min(STEPS, part), dtype=np.int64))
            batch = self.setting.rewards.noise, table, links, missing, plays, part
            chosen.append(choose_swaps(*batch, swaps, best, self._ends, times[-1]))
        rounds = swapped_rounds(best, swaps, np.concatenate(chosen))
        return self._batch(best, guesses, rounds, np.concatenate(times), tours)

    @property
    def _rounds_per_tour(self) -> int:
        """For regret a whole tour is added for so many rounds of swaps, while something open may be far from a tie."""
        is_early = self.tours * self.target.opponents.min() < EARLY_TOUR_PLAYS
        return ceil(len(self._tour) / (EARLY_TOUR_SHARE if is_early else TOUR_SHARE))

    @cached_property
    def _seats(self) -> tuple[Counts, Counts]:
        """Of every place of an order, the place of its partner, and the number of its pair; −1 if it is not played."""
        size, n = self.round_size, self.target.n_items
        partner, pair = np.full(n, -1), np.full(n, -1)
        k = np.arange(size)
        first, second = (k, self.graph.n_rows + k) if self.graph.is_bipartite else (2 * k, 2 * k + 1)
        partner[first], partner[second], pair[first], pair[second] = second, first, k, k
        return partner, pair

    def _lapse(self, weakest: float) -> int:
        """The last round in which links with this score hold, anytime."""
        low, high = self.sampled, NEVER
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.threshold(middle) <= weakest else (low, middle)
        return low

    def _tables(self, rounds: int) -> list[tuple[Floats, int]]:
        """The means by which so many rounds are chosen: those fitted, and half of the rounds, while averages of pairs
        contradict the fit, those averages."""
        fitted = np.outer(self.strengths, self.strengths)
        contradicted = self._contradicted(fitted)
        if not contradicted.any():
            return [(fitted, rounds)]
        averages = np.where(contradicted, self.sums / np.maximum(self.plays, 1.0), fitted)
        return [(fitted, rounds - rounds // 2), (averages, rounds // 2)]

    def _choose_by(
        self, table: Floats, links: Links, missing: Floats, plays: Floats, rounds: int, best: Edges
    ) -> tuple[Edges, Counts]:
        """Choose rounds by these means of all pairs, items × items; they are added to the plays."""
        batch = self.setting.rewards.noise, table, links, missing, plays, rounds, self._ends
        if self._candidates is None:
            return choose_solved(*batch, best, partial(best_matching, self.graph))
        times = np.zeros(len(self._candidates), dtype=np.int64)
        choose_listed(*batch, self._candidates, times)
        return self._candidates, times

    def _contradicted(self, fitted: Floats) -> Relation:
        """Pairs whose average contradicts the fit: n kl(average, fit) ≥ log(n_pairs) + 8.

        By Chernoff's bound a right mean is contradicted with probability at most 2 e^-8 over all pairs, at any one
        time and for any number of plays.
        """
        from scipy.special import rel_entr  # noqa: PLC0415  # it takes longer to import than all policies

        noise, played = self.setting.rewards.noise, self.plays > 0
        averages = np.divide(self.sums, self.plays, out=fitted.copy(), where=played)
        if noise.trials == 0:
            distance = (averages - fitted) ** 2 / (2 * noise.sd**2)
        else:
            p, q = np.clip(averages, 0.0, 1.0), np.clip(fitted, 1e-12, 1 - 1e-12)
            distance = noise.trials * (rel_entr(p, q) + rel_entr(1 - p, 1 - q))
        return np.asarray(self.plays * distance >= log(self.graph.n_pairs) + CONTRADICTION)

    def _decided(self, best: Edges, guesses: int, tours: int) -> Floats:
        """The plays of a batch that are decided: the best guess and whole tours; −1 where items cannot meet."""
        plays = np.full(self.plays.shape, -1.0)
        i, j = self._ends.T
        plays[i, j] = plays[j, i] = tours
        i, j = self._ends[best].T
        plays[i, j] = plays[j, i] = tours + guesses
        return plays

    def learn(self, tally: Tally) -> None:
        """Let every bet of this batch win or lose, then fit what the next one bets on."""
        noise, m = self.setting.rewards.noise, self.graph.n_pairs
        counts = tally.counts.reshape(3, m)
        sums = clip_outliers(noise, counts, tally.sums.reshape(3, m))
        plays, paid = self._table(counts.sum(axis=0)), self._table(sums.sum(axis=0))
        links = self._links if self._regret else self.target.comparable
        sides, ratios = self.target.starts, self._ratios
        bet_on_batch(self.log_bets, plays, paid, self.strengths, self.half_gaps, ratios, links, sides, noise)
        of = (plays, paid) if self._regret else (self._table(counts[2]), self._table(sums[2]))
        add_differences(self.differences, self.information, *of, ratios, sides)
        self.evidence = np.full(self.evidence.shape, -inf)
        sigma = self.setting.rewards.sigma
        log_evidence(self.log_bets, self.differences, self.information, sides, sigma, self.evidence)
        tours = int(counts[2, 0])
        self.sampled += tally.sweeps
        self.explored += int(counts[1:].sum()) // self.round_size
        if self._regret and self._needs_tours:
            self.tour_credit += int(counts[1].sum()) // self.round_size - tours * self._rounds_per_tour
        self.tours += tours
        if self._regret and self._new_credit is not None:
            self.swap_credit = self._new_credit
        self.peaks = np.maximum(self.peaks, self.evidence)
        self._fit(plays, paid)
        if not self._regret:
            chains = bottleneck_closure(self.scores())
            self.certified = self._is_good_enough(self._order(chains, self.needed))

    def add_logged(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Let logged results choose where to look; they are never evidence."""
        by_edge = np.zeros((2, self.graph.n_pairs))
        by_edge[:, edges] = counts, clip_outliers(self.setting.rewards.noise, counts, sums)
        self._fit(self._table(by_edge[0]), self._table(by_edge[1]))

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
        model = self._model._replace(plays=self.plays[i, j], sums=self.sums[i, j], noise=self.setting.rewards.noise)
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
        return self.graph.pairs[self._best(self._order(bottleneck_closure(self.scores()), self.threshold(self._now)))]

    def explain_extra(self) -> dict[str, Any]:
        """The strength of each item; and of each link of the answer its evidence, and when it may be certified."""
        from matchbandit.product_model import product_warning  # noqa: PLC0415  # it needs more of scipy than playing

        names = [(self.graph.side_of(k), self.graph.index_of(k)) for k in range(self.graph.n_items)]
        chains, needed = bottleneck_closure(self.scores()), self.needed
        threshold_now = self.threshold(self._now)
        order = self._order(chains, threshold_now)
        links = self.target.borders(order)
        rounds = self._expected_rounds(links, chains, order)
        evidence = self.evidence[self._sufficient_level] if self._tolerance else self._score(self.evidence)
        score = np.maximum(chains, self.peaks[: self._sufficient_level + 1].min(axis=0)) if self._tolerance else chains
        rivals = [
            {
                "side": names[a][0],
                "above": names[a][1],
                "below": names[b][1],
                "log_evidence": float(evidence[a, b]),
                "threshold": needed,
                "score": float(score[a, b]),
                "certified_from": threshold_now,
                "certified": bool(chains[a, b] >= threshold_now),
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
            "warnings": product_warning(self._posterior(), self.setting.rewards),
            "details": {"threshold": needed, "rivals": rivals, "explored": self.explored, "tours": self.tours},
        }

    def _expected_rounds(self, links: Links, chains: Floats, order: Counts) -> Floats:
        """In how many rounds each link would be certified, if the fit were right and every batch like the next one."""
        plan = self.current
        counts = plan.draw(Tally.empty(len(plan.edges)), min(plan.limit, NEVER // 2), self.rng)[1]
        plays = np.where(self._decided(self._best(order), 0, 0) < 0, -1.0,
                         self._table(counts.reshape(3, -1).sum(axis=0)))  # fmt: skip
        means = np.outer(self.strengths, self.strengths)
        gain = expected_gains(self.setting.rewards.noise, means, links, plays) / min(plan.limit, NEVER // 2)
        a, b = links.T
        left = np.where(chains[a, b] >= self.needed, 0.0, self.needed - self.scores()[a, b])
        return np.divide(left, gain, out=np.where(left > 0, inf, 0.0), where=gain > 1e-12)
