"""CLUCB: sample where the best matching and its strongest rival differ, until no rival is left."""

from math import log
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.confidence import checked_delta
from matchbandit.graphs import Edges, Selection
from matchbandit.policies.base import Setting
from matchbandit.policies.fits import Fits
from matchbandit.policies.matching.index import SolverPolicy, heaviest, open_round
from matchbandit.policies.matching.index import update as count
from matchbandit.rewards import Counts, Floats
from matchbandit.solvers import MOST_MATCHINGS, best_matching

TIE = 1e-12
"""A rival must be better by more than this: sums of floats are not exact."""


class Arrays(NamedTuple):
    """What CLUCB remembers; plays and sums by edge."""

    plays: Counts
    sums: Floats
    total: Counts
    """All plays together, shape (1,)."""
    opening: Edges
    """Rounds in which every pair meets once, shape (rounds, pairs a round)."""
    matchings: Edges
    """All matchings, shape (matchings, pairs a matching); none where they are too many."""
    constants: Floats
    """σ, and log(4d/δ)."""
    rounds: Counts
    """t, the rounds in which something took place, shape (1,)."""
    best: Edges
    """M, when it was last looked for."""
    decision: Counts
    """The t at which M was looked for, −1 for never; whether a rival is left; and the pair to play."""


@compiled
def radii(arrays: Arrays) -> Floats:
    """rad_e = σ sqrt(2 log(4 d t³/δ) / n_e)."""
    sigma, cover = arrays.constants
    level = 2 * (cover + 3 * log(arrays.rounds[0]))
    return np.asarray(sigma * np.sqrt(level / arrays.plays))


@compiled
def against(arrays: Arrays, radius: Floats) -> Floats:
    """The weights that favour the rivals of M the most: μ − rad on M, μ + rad off M."""
    weights = arrays.sums / arrays.plays + radius
    for edge in arrays.best:
        weights[edge] -= 2 * radius[edge]
    return np.asarray(weights)


@compiled
def judge(arrays: Arrays, radius: Floats, weights: Floats, rival: Edges) -> None:
    """Is the rival M̃ better? The pair to play is that of M △ M̃, or of M, with the largest rad (ties: the first)."""
    lead = 0.0
    changes = np.zeros(len(weights), dtype=np.int64)  # +1: only in M̃, −1: only in M
    for k in range(len(rival)):
        changes[rival[k]] += 1
        changes[arrays.best[k]] -= 1
    for edge in range(len(weights)):
        lead += changes[edge] * weights[edge]
    left = lead > TIE
    if not left:
        changes[:] = 0
        changes[arrays.best] = 1
    pair, widest = 0, -1.0
    for edge in range(len(weights)):
        if changes[edge] != 0 and radius[edge] > widest:
            pair, widest = edge, radius[edge]
    arrays.decision[0], arrays.decision[1], arrays.decision[2] = arrays.rounds[0], left, pair


@compiled
def decide(arrays: Arrays) -> None:
    """Find M, its strongest rival and the pair to play, unless that is done for this t."""
    if arrays.decision[0] != arrays.rounds[0]:
        heaviest(arrays.matchings, arrays.sums / arrays.plays, arrays.best)
        radius = radii(arrays)
        weights, rival = against(arrays, radius), np.empty_like(arrays.best)
        heaviest(arrays.matchings, weights, rival)
        judge(arrays, radius, weights, rival)


@compiled
def around(arrays: Arrays) -> Floats:
    """Weights for which the best matching contains the pair to play, and of those has the greatest sum of rad."""
    radius = radii(arrays)
    radius[arrays.decision[2]] += radius.max() * (len(arrays.best) + 1)
    return radius


@compiled
def finished(arrays: Arrays) -> bool:
    """Is no matching better than M, however much the intervals favour it?"""
    if arrays.plays.min() == 0:
        return False
    decide(arrays)
    return bool(arrays.decision[1] == 0)


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """Each pair once; then the pair that was decided on, or a matching around it; M when no rival is left."""
    if open_round(arrays, edges):
        return
    decide(arrays)
    if len(edges) == 1:
        edges[0] = arrays.decision[2]
    elif arrays.decision[1] == 0:
        edges[:] = arrays.best
    else:
        heaviest(arrays.matchings, around(arrays), edges)


@compiled
def update(arrays: Arrays, rng: np.random.Generator, edges: Edges, rewards: Floats) -> None:
    """Count plays, rewards and the round."""
    count(arrays, rng, edges, rewards)
    arrays.rounds[0] += 1


class Clucb(SolverPolicy):
    """Chen et al. 2014 (CLUCB) for matchings: blind to the products.

    Each pair once: in index order, or in the rounds of a tour under matching sampling. Then, with t rounds played, M is
    the best matching for the means μ and M̃ the best for μ − rad on M and μ + rad off M,
    rad_e = σ sqrt(2 log(4 d t³/δ) / n_e), d the number of pairs (constants recalled rather than read). It is done when
    M̃ is no better than M under those weights. Otherwise the pair of M △ M̃ with the largest rad is played; under
    matching sampling, among the matchings that contain it, the one with the greatest sum of rad.

    A pair is played at most once a round, so that n_e ≤ t under both samplings and all intervals together fail with
    probability at most δ Σ 1/(2t²) < δ. To keep that, results logged before count as as many rounds as the most played
    pair has plays, and as all plays together fill.

    Once done it plays its answer: M, or the pair of M with the largest rad. Its intervals widen with log t where it
    does not play, so that much later it may look at rivals again.

    Up to 10 players (or 1000 matchings of rows and columns) every matching is looked at, in compiled code; beyond,
    a blossom or an assignment solver finds the best, round by round through ask and tell.

    Options: `delta` is δ; `selection`, "pair" or "matching", by default matchings of players and pairs of rows and
    columns.
    """

    name: ClassVar[str] = "clucb"
    summary: ClassVar[str] = "the best matching with certainty, blind to the structure"
    reference: ClassVar[str] = "Chen et al. 2014"
    fits: ClassVar[Fits] = Fits(
        selections=("pair", "matching"),
        answers="matching",
        goals=("identification",),
        proved=("identification",),
        warm_start=True,
        compiled_up_to=f"{MOST_MATCHINGS} matchings (10 players)",
    )
    arrays_type = Arrays
    choose = staticmethod(choose)
    update = staticmethod(update)
    finished = staticmethod(finished)

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        delta: float = 0.05,
        selection: Selection | None = None,
    ) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng, delta=checked_delta(delta), selection=selection)

    @property
    def done(self) -> bool:
        """Is no rival of M left?"""
        self._decide()
        return super().done

    def constants(self) -> list[float]:
        """σ, and log(4d/δ)."""
        return [self.setting.rewards.sigma, log(4 * self.graph.n_pairs) - log(self.options["delta"])]

    def start(self) -> Any:
        """No plays."""
        arrays = super().start()
        if self.selection == "pair":
            arrays = arrays._replace(opening=np.arange(self.graph.n_pairs)[:, None])
        return Arrays(
            **arrays._asdict(),
            rounds=np.zeros(1, dtype=np.int64),
            best=np.zeros(self.graph.matching_size, dtype=np.int64),
            decision=np.full(3, -1, dtype=np.int64),
        )

    def _decide(self) -> None:
        """Do by a solver what `decide` does by looking at every matching; it then finds that done."""
        arrays = self.arrays
        if self.enumerates or arrays.decision[0] == arrays.rounds[0] or not arrays.plays.all():
            return
        arrays.best[:] = best_matching(self.graph, self.means())
        radius = radii(arrays)
        weights = against(arrays, radius)
        judge(arrays, radius, weights, best_matching(self.graph, weights))

    def _next(self) -> Edges:
        self._decide()
        if self.enumerates or self.round_size == 1 or not self.arrays.plays.all() or self.arrays.decision[1] == 0:
            return super()._next()
        return best_matching(self.graph, around(self.arrays))

    def take(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        super().take(edges, counts, sums)
        plays = self.arrays.plays
        self.arrays.rounds[0] = max(plays.max(), -(-plays.sum() // self.round_size))

    def _memory(self) -> dict[str, Any]:
        decided = ("best", "decision")
        return {name: part for name, part in super()._memory().items() if name not in decided}

    def _remember(self, memory: dict[str, Any]) -> None:
        super()._remember(memory)
        self.arrays.decision[0] = -1

    def _of_pairs(self) -> list[dict[str, Any]]:
        if not self.arrays.plays.all():
            return super()._of_pairs()
        return [{"radius": float(radius)} for radius in radii(self.arrays)]
