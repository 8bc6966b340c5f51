"""Pair-Elim-Mono: Pair-Elim for players, on pairs of active items."""

from typing import Any, ClassVar

import numpy as np

from matchbandit.confidence import Checks
from matchbandit.graphs import Pairs
from matchbandit.plans import FixedSweeps, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.fits import Fits
from matchbandit.policies.pair.window import TimeScales, Window
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.policies.ranking import Averages, Relation, closed


class PairElimMono(PlannedPolicy):
    """Sentenac et al. 2021, Pair-Elim-Mono (appendix); Theorems 3.3 and 3.4.

    Rows and columns are both copies of the players. A sweep plays each active ordered pair (i, j), in lexicographic
    order, twice: once for row i's ledger against j, once for column j's ledger against i. Two rows are compared on
    their averages against the same third player, each with the interval of its own last check, and on the average
    pooled over all thirds that *both* have met in the same sweeps; intervals as in Pair-Elim, β = T. Columns are
    compared likewise within windows as in Pair-Elim.

    A player beaten for good by two others leaves the graph; beaten by one, it keeps only its pair with that one.
    A column beaten within the window by two others loses all its entries until the window ends; by one, it keeps only
    that one's row. If nothing is left to play, the next window starts.

    Certainty (`delta`): the rows' β_l = c l with K = 4N(2N − 1) averages, until at most two players have fewer than two
    beaters; these two are the answer, wrong with probability at most δ, and are played from then on.

    Deviations from the printed text: "beaten" is closed transitively, the permanent and the window relation each for
    itself, without which a player beaten once can be left with no pair to play; the pooled average takes only samples
    of sweeps in which both met the third (the printed C'(i, j) is a typo; with nothing removed this is the paper's
    Q(i, 2N + j)); windows as in Pair-Elim.

    Options: as in Pair-Elim.
    """

    name: ClassVar[str] = "pair-elim-mono"
    summary: ClassVar[str] = "Pair-Elim for players: pairs leave for good, columns for a window"
    reference: ClassVar[str] = "Sentenac et al. 2021, Pair-Elim-Mono"
    fits: ClassVar[Fits] = Fits(
        selections=("pair",),
        graphs=("monopartite",),
        goals=("regret", "identification"),
        proved=("regret", "identification"),
        horizon=True,
        eliminates=True,
    )
    remembered: ClassVar[tuple[str, ...]] = (
        "window",
        "above",
        "row_single",
        "row_pooled",
        "window_above",
        "column_single",
        "column_pooled",
    )

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        growth: float = 4.0,
        cap_windows: bool = False,
        delta: float | None = None,
    ) -> None:
        """Everyone active, window 0."""
        super().__init__(setting, rng, growth=growth, cap_windows=cap_windows, delta=delta)
        self.n = n = self.graph.shape[0]
        self.scales = TimeScales.of(setting, **self.options, n_averages=2 * n * (n - 1))
        self.row_checks = self.scales.permanent
        ordered = np.argwhere(~np.eye(n, dtype=bool))
        edges = np.zeros((n, n), dtype=np.int64)
        edges[tuple(ordered.T)] = self.graph.edges(ordered)
        self._edges = np.repeat(edges.ravel(), 2)  # cell 2(i n + j): row i against j; the next: column j against i
        self.above: Relation = np.zeros((n, n), dtype=bool)
        """above[i, j]: i is better than j, for good."""
        self.row_single = Averages.empty(n, n)
        self.row_pooled = Averages.empty(n, n)
        self._open(Window())

    def _open(self, window: Window) -> None:
        """Start a window with nothing known of columns."""
        self.window = window
        self.window_above: Relation = np.zeros((self.n, self.n), dtype=bool)
        self.column_single = Averages.empty(self.n, self.n)
        self.column_pooled = Averages.empty(self.n, self.n)

    @property
    def done(self) -> bool:
        """With `delta`: have all but two players two beaters?"""
        return self.goal == "identification" and len(self._contenders) <= 2

    @property
    def _contenders(self) -> Pairs:
        """The players with fewer than two beaters, who may be among the best two."""
        return np.flatnonzero(self.above.sum(axis=0) < 2)

    @property
    def _best_two(self) -> Pairs:
        """The two players with the fewest beaters (ties: the lowest index)."""
        return np.sort(np.argsort(self.above.sum(axis=0), kind="stable")[:2])

    @property
    def column_checks(self) -> Checks:
        """Those of the window."""
        return self.scales.within(self.window)

    @property
    def active(self) -> Relation:
        """active[i, j]: row i is played against column j."""
        keeps = _may_meet(self.above)
        graph = keeps & keeps.T & ~np.eye(self.n, dtype=bool)
        if not graph.any():  # only after intervals that have failed, and then contradict each other
            i, j = self._best_two
            graph[i, j] = graph[j, i] = True
        return np.asarray(graph & _may_meet(self.window_above))

    def plan(self) -> FixedSweeps:
        """Every active pair, twice, until some average is to be checked or the window ends."""
        if self.done:
            i, j = self._best_two
            return FixedSweeps(edges=self._edges, rounds=np.array([[2 * (i * self.n + j)]]))
        active = self.active
        cells = 2 * np.flatnonzero(active)
        met = active.astype(np.int64)
        limits = (
            self.row_single.sweeps_to_check(met, self.row_checks),
            self.row_pooled.sweeps_to_check(_common(met), self.row_checks),
            self.column_single.sweeps_to_check(met.T, self.column_checks),
            self.column_pooled.sweeps_to_check(_common(met.T), self.column_checks),
            self.window.sweeps_left(2 * len(cells)),
        )
        rounds = np.stack([cells, cells + 1], axis=1).reshape(-1, 1)
        return FixedSweeps(edges=self._edges, rounds=rounds, limit=min(limits))

    def learn(self, tally: Tally) -> None:
        """Check rows, then columns, then the window."""
        sums = tally.sums.reshape(self.n, self.n, 2)
        met = self.active.astype(np.int64)
        self.above = _update_order(
            self.above, self.row_single, self.row_pooled, met, sums[..., 0], tally.sweeps, self.row_checks
        )
        self.window_above = _update_order(
            self.window_above, self.column_single, self.column_pooled, met.T, sums[..., 1].T, tally.sweeps,
            self.column_checks,
        )  # fmt: skip
        self.window.samples += int(tally.counts.sum())
        if self.window.over or not self.active.any():
            self._open(self.window.following())

    def recommend(self) -> Pairs:
        """The two players with the fewest beaters; ties: the best average over all thirds, then the lowest index."""
        best = np.lexsort((np.arange(self.n), -self._means(), self.above.sum(axis=0)))[:2]
        return np.sort(best)[None, :]

    def _means(self) -> Any:
        """Each player's average over all opponents, as a row."""
        sums = self.row_single.sums + self.pending.sums.reshape(self.n, self.n, 2)[..., 0]
        counts = self.row_single.counts + self.pending.counts.reshape(self.n, self.n, 2)[..., 0]
        return sums.sum(axis=1) / np.maximum(1, counts.sum(axis=1))

    def reasons(self) -> dict[str, Any]:
        beaters = {int(j): np.flatnonzero(self.above[:, j]).tolist() for j in range(self.n)}
        return {
            "players": [
                {"player": j, "beaten_for_good_by": beaters[j],
                 "beaten_in_this_window_by": np.flatnonzero(self.window_above[:, j]).tolist()}
                for j in range(self.n)
            ],
            "active_pairs": np.argwhere(self.active).tolist(),
            "window": self.window.reasons(int(self.pending.counts.sum())),
            "next_check": self.next_check(),
        }  # fmt: skip


def _may_meet(above: Relation) -> Relation:
    """keeps[i, j]: j, as a column, may still meet i: j has no beater, or i is the only one."""
    beaters = above.sum(axis=0)
    return np.asarray((beaters == 0) | ((beaters == 1) & above))


def _common(met: Any) -> Any:
    """How many thirds each two items both meet in a sweep; nobody meets itself, so a third is neither of them."""
    common = met @ met.T
    np.fill_diagonal(common, 0)
    return common


def _update_order(
    above: Relation, single: Averages, pooled: Averages, met: Any, sums: Any, sweeps: int, checks: Checks
) -> Relation:
    """Book the sweeps' samples of items against opponents; who is now separated is below, and so is all below it."""
    single.book(sweeps * met, sums, checks)
    in_common = sums @ met.T  # of each item, against the thirds that the other has met too
    np.fill_diagonal(in_common, 0)
    pooled.book(sweeps * _common(met), in_common, checks)
    on_a_third = (single.lower[:, None, :] > single.upper[None, :, :]).any(axis=2)
    return closed(above | on_a_third | (pooled.lower > pooled.upper.T))
