"""Rank-1 Thompson sampling among many items: the same policy, with the played pairs only."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.allowed import Allowed
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Pairs, Selection, n_items
from matchbandit.policies.base import Policy, Setting
from matchbandit.policies.decision import Decision, by_products
from matchbandit.policies.explanation import item_record
from matchbandit.policies.fits import Fits
from matchbandit.policies.rank1_model import FARTHEST, credible
from matchbandit.policies.rank1_sparse import (
    Posterior,
    Stored,
    added,
    deviations,
    draw_strengths,
    fade,
    fit,
    nothing,
    product_doubt,
    replaced,
    settle,
)
from matchbandit.policies.rank1_thompson import Rank1Thompson, growth_of, sits_out
from matchbandit.rewards import Counts, Floats
from matchbandit.seeding import stream
from matchbandit.solvers import sorted_across, sorted_pairing

MOST_ITEMS = 2**31 - 1
"""Partners are kept in 32 bits."""


class SparseRank1Thompson(Policy):
    """`Rank1Thompson` with memory and time in proportion to the pairs that were played; see `rank1_sparse`.

    The model, the prior, the draw, the byes and the options are those of `Rank1Thompson`. The draw N(û, F⁻¹) comes from
    noise with the covariance F, b = 2 z_0 + Σ_e √(w_e n_e) x_e z_e with x_e = û_j e_i + û_i e_j, and F⁻¹ b by conjugate
    gradients [PapandreouYuille2010, Orieux2012]. The fit goes on by one Newton step
    before every draw, so that no round has to make up for others.
    """

    name: ClassVar[str] = Rank1Thompson.name
    summary: ClassVar[str] = Rank1Thompson.summary
    reference: ClassVar[str] = Rank1Thompson.reference
    fits: ClassVar[Fits] = Rank1Thompson.fits
    least_items: ClassVar[int] = 200
    """On graphs with fewer items the dense variant is built."""

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        selection: Selection | None = None,
        half_life: float | None = None,
    ) -> None:
        """Nothing played yet: the prior."""
        self.growth = growth_of(half_life)
        fading = {} if half_life is None else {"half_life": float(half_life)}
        super().__init__(setting, rng, selection=selection, **fading)
        items = n_items(self.graph)
        if items > MOST_ITEMS:
            raise MatchbanditError(f"{self.name} takes at most {MOST_ITEMS} items; got {items}. Take fewer.")
        self.n_rows = self.graph.shape[0] if self.graph.kind == "bipartite" else 0
        self.stored, self.posterior = nothing(items)
        sitting = items if self.selection == "matching" and not self.n_rows and items % 2 else 0
        self.byes: Counts = np.zeros(sitting, dtype=np.int64)
        self.last_bye: Counts = np.zeros(sitting, dtype=np.int64)
        self._settled: tuple[Stored, Posterior] | None = None
        """The posterior that was settled for the present counts, with weights of its own."""

    @property
    def noise(self) -> Any:
        """That of the rewards."""
        return self.setting.rewards.noise

    @property
    def strengths(self) -> Floats:
        """û, rows before columns, as they were last fitted."""
        return self.posterior.u

    def _next(self) -> Edges:
        fit(self.stored, self.noise, self.posterior)
        drawn = draw_strengths(self.stored, self.posterior, self.n_rows, self.rng)
        return self.graph.edges(self._best_round(drawn, sits_out(self.byes, self.last_bye)))

    def _best_round(self, strengths: Floats, absent: int = -1) -> Pairs:
        """The best pair or the sorted pairing, without the absent player (−1: all are there)."""
        if self.n_rows:
            rows, columns = strengths[: self.n_rows], strengths[self.n_rows :]
            if self.selection == "pair":
                return np.array([[rows.argmax(), columns.argmax()]])
            return sorted_across(rows, columns)
        if self.selection == "pair":
            first = int(strengths.argmax())
            others = strengths.copy()
            others[first] = -np.inf
            return np.sort([[first, int(others.argmax())]], axis=1)
        if absent >= 0:
            pairs = sorted_pairing(np.delete(strengths, absent))
            return pairs + (pairs >= absent)
        return sorted_pairing(strengths)

    def _decision(self, allowed: Allowed, waiting: Edges, rng: np.random.Generator) -> Decision:
        """From the posterior that is settled, from the prior on, for the present counts: it depends on them alone."""
        return by_products(allowed, draw_strengths(*self.settled(), self.n_rows, rng), self.selection)

    def settled(self) -> tuple[Stored, Posterior]:
        """The posterior for the present counts, whatever was fitted before; to be read only."""
        if self._settled is None:
            stored = self.stored._replace(weights=np.zeros(len(self.stored.plays)))  # ask has its own
            posterior = nothing(len(self.strengths))[1]
            settle(stored, self.noise, posterior)
            self._settled = stored, posterior
        return self._settled

    def credited(self, rewards: ArrayLike, rng: np.random.Generator) -> Floats:
        """The rewards; slips count as if they were 40 sd away."""
        reach = FARTHEST * self.noise.sd
        return np.clip(super().credited(rewards, rng), -reach, 1.0 + reach)

    def _book(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        self._add(edges, counts.astype(np.float64), sums)

    def _put(self, edges: Edges, counts: Floats, sums: Floats) -> None:
        low, high = self.graph.pairs_of(edges).T
        self.stored, self._settled = replaced(self.stored, low, high + self.n_rows, counts, sums), None

    def _receive(self, edges: Edges, rewards: Floats) -> bool:
        self._settled = None
        if self.growth != 1.0:
            fade(self.stored, self.growth)
        took_place = np.flatnonzero(~np.isnan(rewards))
        took_place = took_place[np.argsort(edges[took_place], kind="stable")]
        reach = FARTHEST * self.noise.sd
        paid = np.clip(rewards[took_place], -reach, 1.0 + reach)
        self._add(edges[took_place], np.ones(len(paid)), paid)
        absent = sits_out(self.byes, self.last_bye)
        if absent >= 0:
            self.byes[absent] += 1
            self.last_bye[absent] = self.byes.sum()
        return False

    def _add(self, edges: Edges, plays: Floats, sums: Floats) -> None:
        """Book plays and sums of sorted edges."""
        low, high = self.graph.pairs_of(edges).T
        self._settled = None
        self.stored = added(self.stored, low, high + self.n_rows, plays, sums)

    def take(self, edges: Edges, counts: Counts, sums: Floats) -> None:
        """Book logged results, and fit them."""
        self._add(edges, counts.astype(np.float64), credible(self.noise, counts, sums))
        settle(self.stored, self.noise, self.posterior)

    def recommend(self) -> Pairs:
        """The best pair or matching of the fitted strengths; of an odd number of players the weakest sits out."""
        return self._best_round(self._fitted().u)

    def _fitted(self) -> Posterior:
        """Strengths that are up to date; the policy's own are left as they are, and the rest is made anew anyway."""
        posterior = self.posterior._replace(u=self.posterior.u.copy())
        fit(self.stored, self.noise, posterior)
        return posterior

    def _is_finished(self) -> bool:
        return False

    def _memory(self) -> dict[str, Any]:
        held = int(self.stored.start[-1])
        return {
            "start": self.stored.start,
            "partner": self.stored.partner[:held],
            "plays": self.stored.plays[:held],
            "sums": self.stored.sums[:held],
            "strengths": self.posterior.u,
            "byes": self.byes,
            "last_bye": self.last_bye,
        }

    def _remember(self, memory: dict[str, Any]) -> None:
        start, partner, plays, sums = (memory[name] for name in ("start", "partner", "plays", "sums"))
        n, held = len(self.posterior.u), len(partner)
        if (
            start.shape != (n + 1,) or start[0] != 0 or start[-1] != held or (np.diff(start) < 0).any()
            or (partner < 0).any() or (partner >= n).any() or plays.shape != (held,) or sums.shape != (held,)
        ):  # fmt: skip  # compiled code trusts them
            raise MatchbanditError("the state does not fit together: its pairs are not those of these items.")
        self._settled = None
        self.stored = Stored(start, partner, plays, sums, weights=np.zeros(len(plays)))
        self.posterior.u[:] = memory["strengths"]
        self.byes[:], self.last_bye[:] = memory["byes"], memory["last_bye"]

    def reasons(self) -> dict[str, Any]:
        """The strength of each item, with its standard deviation to a tenth; who sits out next."""
        posterior, n_rows = self._fitted(), self.n_rows
        start, held = self.stored.start, int(self.stored.start[-1])
        low, high = np.repeat(np.arange(len(posterior.u)), np.diff(start)), self.stored.partner[:held]
        plays, sums = self.stored.plays[:held], self.stored.sums[:held]
        samples = np.bincount(low, plays, len(posterior.u)) + np.bincount(high, plays, len(posterior.u))
        spread = deviations(self.stored, posterior, n_rows, stream(0, "explain", self.name))
        columns = zip(samples.tolist(), posterior.u.tolist(), spread.tolist(), strict=True)
        items = [
            item_record(
                k - n_rows if k >= n_rows else k,
                "player" if n_rows == 0 else "row" if k < n_rows else "column",
                samples=round(of_item),
                estimate=strength,
                standard_deviation=deviation,
            )
            for k, (of_item, strength, deviation) in enumerate(columns)
        ]
        for item, times in zip(items, self.byes.tolist(), strict=False):  # none, or one for each player
            item["byes"] = times
        absent = int(sits_out(self.byes, self.last_bye))
        return {
            "items": items,
            "warnings": product_doubt(self.setting.rewards, plays, sums, posterior.u[low] * posterior.u[high]),
            "details": {"pairs_stored": held, **({"sits_out": absent} if absent >= 0 else {})},
        }
