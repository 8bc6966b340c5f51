"""Pair-Elim-Mono: Pair-Elim for players, on pairs of active items."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchbandit.confidence import Checks
from matchbandit.graphs import Pairs
from matchbandit.plans import FixedSweeps, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.explanation import Elimination, item_record
from matchbandit.policies.options import Delta, Growth
from matchbandit.policies.pair.window import WINDOW_THEOREMS, TimeScales, Window
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.policies.ranking import Averages, Relation, closed, ranked
from matchbandit.rewards import Counts, Floats


class PairElimMono(PlannedPolicy):
    """Pair-Elim-Mono, appendix of [Sentenac2021]; Theorem 3.3 for regret, Theorem 3.4 for identification.

    Rows and columns are both copies of the players. A sweep plays each active ordered pair (i, j), in lexicographic
    order, twice: once for row i's ledger against j, once for column j's ledger against i. Two rows are compared on
    their averages against the same third player, each with the interval of its own last check, and on the average
    pooled over all thirds that *both* have met in the same sweeps; intervals as in Pair-Elim, β = T. Columns are
    compared likewise within windows as in Pair-Elim.

    A player beaten for good by two others leaves the graph; beaten by one, it keeps only its pair with that one.
    A column beaten within the window by two others loses all its entries until the window ends; by one, it keeps only
    that one's row. If nothing is left to play, the next window starts.

    Identification (`delta`): the rows' β_l = c l with K = 4N(2N − 1) averages, until at most two players have fewer
    than two beaters; these two are the answer, wrong with probability at most δ.

    Deviations from the paper as printed: "beaten" is closed transitively, the permanent and the window relation each
    for itself, without which a player beaten once can be left with no pair to play; the pooled average takes only
    samples of sweeps in which both met the third (the printed C'(i, j) is a typo; with nothing removed this is the
    paper's Q(i, 2N + j)); windows as in Pair-Elim.

    `eliminations` has the comparisons by which players were beaten, for good or within a window: at each check the new
    beaters of a player, by index, until it has two. Those that follow from others by transitivity are not listed.

    Parameters
    ----------
    growth : float, default 4
        g; 4 is the paper's. For regret smaller values lose less under the same guarantee, and 1 checks at every chance.
    cap_windows : bool, default False
        Cap β of the windows at T (with `delta`: at 1/δ), which lowers regret; the paper does not.
    delta : float, optional
        δ, the error probability: identify the best two players instead of minimising regret.
    """

    name: ClassVar[str] = "pair-elim-mono"
    summary: ClassVar[str] = "Pair-Elim for players: pairs leave for good, columns for a window"
    reference: ClassVar[str] = "[Sentenac2021], Pair-Elim-Mono"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair",), graphs=("monopartite",), horizon=True, eliminates=True,
        goals=("regret", "identification"), proved=("regret", "identification"), theorem_options=WINDOW_THEOREMS,
        assumes_product=True,
    )  # fmt: skip
    state_fields: ClassVar[tuple[str, ...]] = (
        "window", "above", "row_single", "row_pooled", "window_above", "column_single", "column_pooled", "left",
    )  # fmt: skip

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        growth: Growth = 4.0,
        cap_windows: bool = False,
        delta: Delta | None = None,
    ) -> None:
        """Everyone active, window 0."""
        super().__init__(setting, rng)
        self.n = n = self.graph.n_items
        self.scales = TimeScales.of(
            setting, growth=growth, cap_windows=cap_windows, delta=delta, n_averages=2 * n * (n - 1)
        )
        self.row_checks = self.scales.permanent
        ordered = np.argwhere(~np.eye(n, dtype=bool))
        edges = np.zeros((n, n), dtype=np.int64)
        edges[tuple(ordered.T)] = self.graph.edges(ordered)
        self._edges = np.repeat(edges.ravel(), 2)  # cell 2(i n + j): row i against j; the next: column j against i
        self.above: Relation = np.zeros((n, n), dtype=bool)
        """above[i, j]: i is better than j, for good."""
        self.row_single = Averages.empty(n, n)
        self.row_pooled = Averages.empty(n, n)
        self.left: list[Any] = []
        """The comparisons by which players were beaten, in the order in which they came."""
        self._open(Window())

    def _open(self, window: Window) -> None:
        """Start a window with nothing known of columns."""
        self.window = window
        self.window_above: Relation = np.zeros((self.n, self.n), dtype=bool)
        self.column_single = Averages.empty(self.n, self.n)
        self.column_pooled = Averages.empty(self.n, self.n)

    @property
    def finished(self) -> bool:
        """With `delta`: have all but two players two beaters?"""
        return self.goal == "identification" and int((self.above.sum(axis=0) < 2).sum()) <= 2

    @property
    def eliminations(self) -> list[Elimination]:
        """The comparisons by which players were beaten, for good or within a window."""
        return [Elimination.restored(record) for record in self.left]

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
            i, j = best_two(self.above)
            graph[i, j] = graph[j, i] = True
        return np.asarray(graph & _may_meet(self.window_above))

    def plan(self) -> FixedSweeps:
        """Every active pair, twice, until some average is to be checked or the window ends."""
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
        _book(self.row_single, self.row_pooled, met, sums[..., 0], tally.sweeps, self.row_checks)
        _book(self.column_single, self.column_pooled, met.T, sums[..., 1].T, tally.sweeps, self.column_checks)
        self.above = self._update_order(self.above, self.row_single, self.row_pooled, None)
        self.window_above = self._update_order(
            self.window_above, self.column_single, self.column_pooled, self.window.number
        )
        self.window.samples += int(tally.counts.sum())
        if self.window.over or not self.active.any():
            self._open(self.window.following())

    def _update_order(self, above: Relation, single: Averages, pooled: Averages, window: int | None) -> Relation:
        """Who is now separated from another is below it, and so is all below; the new beaters are noted."""
        on_a_third = (single.lower[:, None, :] > single.upper[None, :, :]).any(axis=2)
        new = (on_a_third | (pooled.lower > pooled.upper.T)) & ~above
        for j in np.flatnonzero(new.any(axis=0)).tolist():
            missing = max(0, 2 - int(above[:, j].sum()))
            for i in np.flatnonzero(new[:, j])[:missing].tolist():
                thirds = np.flatnonzero(single.lower[i] > single.upper[j]).tolist()
                on: int | str = thirds[0] if thirds else "all opponents"
                of_j, of_i = [single.at(k, thirds[0]) if thirds else pooled.at(k, i + j - k) for k in (j, i)]
                self.left.append(Elimination(self.rounds, "player", j, i, on, window, *of_j, *of_i))
        return closed(above | new)

    def recommend(self) -> Pairs:
        """The two players with the fewest beaters; ties: the best average over all thirds, then the lowest index."""
        return np.sort(ranked(self.above, self.means(self.pending))[:2])[None, :]

    def means(self, pending: Tally) -> Floats:
        """Each player's average over all opponents, as a row, with what the unfinished plan has brought so far."""
        counts, sums = self._by_player(pending)
        return np.asarray(sums / np.maximum(1, counts))

    def _by_player(self, pending: Tally) -> tuple[Counts, Floats]:
        shape = (self.n, self.n, 2)
        counts = self.row_single.counts + pending.counts.reshape(shape)[..., 0]
        sums = self.row_single.sums + pending.sums.reshape(shape)[..., 0]
        return np.asarray(counts.sum(axis=1), dtype=np.int64), sums.sum(axis=1)

    def explain_extra(self) -> dict[str, Any]:
        """Who beats whom, what is played and when it looks again."""
        return {**self.described(self.pending), "next_check": self.next_check()}

    def described(self, pending: Tally) -> dict[str, Any]:
        """Who beats whom and what is played as plain data, for `explain`."""
        counts, sums = (of_players.tolist() for of_players in self._by_player(pending))
        active = self.active
        playing, relations = np.argwhere(active), (self.above, self.window_above)
        items = []
        for j in range(self.n):
            beaters, in_window = (np.flatnonzero(above[:, j]).tolist() for above in relations)
            estimate = sums[j] / counts[j] if counts[j] else None
            items.append(item_record(j, "player", samples=counts[j], estimate=estimate, active=j in playing,
                                     beaten_by=beaters, beaten_in_this_window_by=in_window))  # fmt: skip
        window = self.window.describe(int(pending.counts.sum()))
        return {"items": items, "details": {"active_pairs": np.argwhere(active).tolist(), "window": window}}


def best_two(above: Relation) -> NDArray[np.int64]:
    """The two players with the fewest beaters (ties: the lowest index)."""
    return np.sort(np.argsort(above.sum(axis=0), kind="stable")[:2])


def _may_meet(above: Relation) -> Relation:
    """keeps[i, j]: j, as a column, may still meet i: j has no beater, or i is the only one."""
    beaters = above.sum(axis=0)
    return np.asarray((beaters == 0) | ((beaters == 1) & above))


def _common(met: Any) -> Any:
    """How many thirds each two items both meet in a sweep; nobody meets itself, so a third is neither of them."""
    common = met @ met.T
    np.fill_diagonal(common, 0)
    return common


def _book(single: Averages, pooled: Averages, met: Any, sums: Any, sweeps: int, checks: Checks) -> None:
    """Book the sweeps' samples of items against opponents, and against the thirds that each two have in common."""
    single.add(sweeps * met, sums, checks)
    in_common = sums @ met.T  # of each item, against the thirds that the other has met too
    np.fill_diagonal(in_common, 0)
    pooled.add(sweeps * _common(met), in_common, checks)
