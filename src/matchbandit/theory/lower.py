"""Lower bounds on the rounds that identification takes, for every policy that errs with probability at most δ.

All take logarithms of δ through d(δ, 1 − δ) ≥ log(1/δ) − 1; the theorems for Gaussian and for Bernoulli rewards state
the latter, as here. They bind policies with a proof; a policy without one may be faster by being wrong more often
somewhere else.
"""

from functools import partial
from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from matchbandit.graphs import Selection
from matchbandit.problems import Bipartite, Monopartite, Problem
from matchbandit.rewards import Floats, Gaussian, RewardDistribution
from matchbandit.theory.asymptotic import characteristic_time, graves_lai, has_many_answers
from matchbandit.theory.bound import Assumption, Bound
from matchbandit.theory.corrections import note
from matchbandit.theory.players import SortedPlayers, sorted_descending, sorted_players
from matchbandit.theory.programs import (
    delta_divergence,
    divergences,
    least_matchings,
    least_plays,
    order_alternatives,
    pair_alternatives,
    player_alternatives,
    swap_alternative,
    switch_alternatives,
)
from matchbandit.theory.quantities import bipartite_complexity, trials_of

DELTA_CORRECT, CONSISTENT = "every δ-correct policy", "every consistent policy"
BINDS = {
    DELTA_CORRECT: "wrong with probability at most δ on every instance; policies without a proof are not bound",
    CONSISTENT: "with regret o(T^a), a > 0, on every instance; they hold as T → ∞, not at this horizon",
}
"""The classes of policies that lower bounds bind, and what they mean."""


def bipartite_pair_rounds(problem: Bipartite, delta: float) -> list[Bound]:
    """Theorem B.3: A_F(u, v) d(δ, 1 − δ), its forms B.5 and B.6, and LP_α, which lies between A_F d and twice that.

    A_F = ½ (Σ_i 1/kl(u_i v_1, u_1 v_1) + Σ_j 1/kl(u_1 v_j, u_1 v_1)) over the rows and columns below the best.
    Gaussian rewards (B.5, here with variance σ²): σ² A(u, v) (log(1/δ) − 1). Bernoulli (B.6, here with n trials):
    min(u_1 v_1, 1 − u_1 v_1)/4n · A(u, v) (log(1/δ) − 1).
    """
    u, v, rewards = sorted_descending(problem.u), sorted_descending(problem.v), problem.rewards
    best = float(u[0] * v[0])
    half = _half_sum([(x * v[0], best) for x in u[u < u[0]]] + [(x * u[0], best) for x in v[v < v[0]]], rewards)
    complexity = bipartite_complexity(u, v, power=2)
    assumptions = (
        _grows(problem),
        Assumption("the best row and the best column can be passed: u_1 < 1 and v_1 < 1", bool(u[0] < 1 and v[0] < 1)),
    )
    closed, theorem = _closed_form(complexity, best, rewards, delta)
    program = least_plays(divergences(problem, pair_alternatives(problem)))
    return [
        _lower("pairs", half * delta_divergence(delta), "Theorem B.3", assumptions=assumptions),
        _lower("pairs-closed", closed, f"Theorem {theorem}", assumptions=assumptions),
        _lower(
            "pairs-program",
            program * delta_divergence(delta),
            "LP_α, Appendix B",
            short_source="LP_α",
            assumptions=assumptions[1:],
            note=note("", "no-constraint"),
        ),
    ]


def monopartite_pair_rounds(problem: Monopartite, delta: float) -> list[Bound]:
    """Theorem C.1: the best two of the players, by three programs' values and closed forms.

    ½ (1/kl(u_1 u_2, u_1 u_3) + Σ_(i≥3) 1/kl(u_1 u_i, u_1 u_2)) d(δ, 1 − δ); LP_α between that and twice that; and
    LP_switch with its closed form max_(i≥3) 1/max(kl(u_1 u_2, u_i u_2), kl(u_i u_2, u_1 u_2)).

    Corrected: the alternatives, see `player_alternatives`. eq:2, ½ Σ_i 1/min(kl, kl'), does not follow from LP_switch:
    in every one of its alternatives the best player changes, so that plays of (1, 2) alone show them all. Gaussian
    rewards with sd 1, players (0.9, 0.8, 0.2, 0.2): ½ Σ 2/(0.8·0.7)² = 6.4, LP_switch = 2/(0.8·0.7)² = 6.4, that of its
    hardest alternative; with six at 0.2 the former is 19.1, the latter still 6.4. For Gaussian rewards eq:2 is true all
    the same: u_1 Δ_(2,i) ≤ u_2 Δ_(1,i), so that the first bound is above it. For Bernoulli ones it is false, but only
    near 1: with two players at 0.9999 and 300 at 0.5 it says 217 d(δ, 1 − δ), where T* is below 181.
    """
    u, rewards = sorted_players(problem).u, problem.rewards
    best = float(u[0] * u[1])
    below = u[2:][u[2:] < u[1]]
    moves = [(u[0] * x, best) for x in below] + ([(best, float(u[0] * u[2]))] if len(u) > 2 and u[2] < u[1] else [])
    half = _half_sum(moves, rewards)
    switched = max((_inverse(max(rewards.kl(best, x * u[1]), rewards.kl(x * u[1], best))) for x in below), default=0.0)
    room = Assumption("the second player can be passed: u_2 < 1", bool(u[1] < 1))
    assumptions = (_grows(problem), room)
    d = delta_divergence(delta)
    return [
        _lower(
            "players",
            half * d,
            "Theorem C.1, eq:LBRMono1",
            short_source="Theorem C.1",
            assumptions=assumptions,
            note=note("", "players-alternatives"),
        ),
        _lower(
            "players-program",
            least_plays(divergences(problem, player_alternatives(problem))) * d,
            "LP_α, Appendix C",
            short_source="LP_α",
            assumptions=(room,),
            note=note("", "players-alternatives"),
        ),
        _lower(
            "players-switch",
            switched * d,
            "Theorem C.1, eq:2",
            short_source="Theorem C.1",
            assumptions=assumptions[:1],
            note=note("", "exchanges"),
        ),
        _lower(
            "players-switch-program",
            least_plays(divergences(problem, switch_alternatives(problem))) * d,
            "LP_switch, Appendix C",
            short_source="LP_switch",
        ),
    ]


def order_rounds(problem: Monopartite, delta: float) -> list[Bound]:
    """Theorem D.1: the best matching from single pairs: ½ Σ_(i≥2) 1/kl(u_i u_1, (u_i ± Δ_i) u_1) d(δ, 1 − δ), and LP_α.

    The gaps are those of `SortedPlayers.partner_gaps`. Player 1 has no constraint, for all are measured against it.
    """
    players, rewards = sorted_players(problem), problem.rewards
    u, to = players.u, players.border_targets
    half = _half_sum([(u[0] * u[i], u[0] * to[i]) for i in range(1, len(u)) if u[i] != to[i]], rewards)
    assumptions = (_grows(problem), _room(u))
    program = least_plays(divergences(problem, order_alternatives(problem, first=2)))
    d = delta_divergence(delta)
    return [
        _lower("order", half * d, "Theorem D.1", assumptions=assumptions, seeks="matching"),
        _lower(
            "order-program",
            program * d,
            "LP_α, Appendix D",
            short_source="LP_α",
            assumptions=assumptions[1:],
            seeks="matching",
        ),
    ]


def matchings_rounds(problem: Monopartite, delta: float) -> list[Bound]:
    """Theorem 4.2 (H.4): the best matching from matchings: two closed forms, and LP_m with the alternatives of both.

    Every player moved by ± Δ_i: Gaussian 2σ² Σ_i Δ_i^−2 / Σ_j u_j² (log(1/δ) − 1). Bernoulli rewards (n trials), which
    the paper leaves out, by kl(p, q) ≤ n (p − q)²/(q (1 − q)): Σ_i λ_i (1 − λ_i u_1)/Δ_i² / (n Σ_j u_j) (log(1/δ) − 1)
    with λ_i = u_i ± Δ_i. The two players at border s exchanged: d(δ, 1 − δ) / max over the two best other players a, b
    of kl(u_(2s) u_a, u_(2s+1) u_a) + kl(u_(2s+1) u_b, u_(2s) u_b); Gaussian 2σ²/((u_a² + u_b²) Δ_s²) d(δ, 1 − δ).

    Corrected: both are 2 and 4 times what the proof prints, whose divergence lacks its 1/2 and whose objective its 2
    (see `least_matchings`); at s = 1 the two best others are 1 and 4, and 2/(u_1² + u_4²) is at least the 1/u_1² that
    the paper prints a quarter of. The exchange is as in `swap_alternative`.
    """
    players, rewards = sorted_players(problem), problem.rewards
    u, to, gaps = players.u, players.border_targets, players.partner_gaps
    apart = gaps > 0
    if isinstance(rewards, Gaussian):
        needed, per_matching = 2 * rewards.sigma**2 / gaps[apart] ** 2, u**2
    else:
        needed, per_matching = to[apart] * (1 - to[apart] * u[0]) / gaps[apart] ** 2, trials_of(rewards) * u
    moved = float(needed.sum() / per_matching.sum()) if apart.any() else 0.0
    alternatives = order_alternatives(problem, first=1) + swap_alternative(problem)
    program = least_matchings(problem.graph, divergences(problem, alternatives))
    grows, room = _grows(problem), _room(u)
    d = delta_divergence(delta)
    lower = partial(_lower, plays="matching", seeks="matching")
    return [
        lower(
            "matchings",
            moved * max(0.0, log(1 / delta) - 1),
            "Theorem 4.2, first bound" + ("" if isinstance(rewards, Gaussian) else ", for Bernoulli rewards"),
            short_source="Theorem 4.2",
            assumptions=(room,),
            note=note("twice the paper as printed: the divergence has a 1/2") if isinstance(rewards, Gaussian) else "",
        ),
        lower(
            "matchings-one-gap",
            _exchange_rounds(players, rewards) * d,
            "Theorem 4.2, second bound",
            short_source="Theorem 4.2",
            assumptions=(grows, _is_unique(problem, "matching")),
            note=note("four times the paper as printed", "matching-program", "exchange"),
        ),
        lower("matchings-program", program * d, "LP_m, Appendix H", short_source="LP_m", assumptions=(room,)),
    ]


def model_name(plays: Selection, seeks: Selection) -> str:
    """The name of the bound on rounds by the characteristic time."""
    return f"model-{seeks}" if plays == seeks else f"model-{seeks}-by-{plays}s"


def model_rounds(problem: Problem, delta: float, *, plays: Selection, seeks: Selection) -> Bound:
    """T* d(δ, 1 − δ) with the characteristic time of the product model: no alternative is left out."""
    return _lower(
        model_name(plays, seeks),
        characteristic_time(problem, plays=plays, seeks=seeks).value * delta_divergence(delta),
        "T* of the product model (Garivier & Kaufmann 2016, Theorem 1)",
        short_source="T* of the product model",
        origin="model",
        assumptions=(_is_unique(problem, seeks),),
        plays=plays,
        seeks=seeks,
        note="computed to 0.1 %." + ("" if trials_of(problem.rewards) else " By descents from three starts."),
    )


def model_regret(problem: Problem, horizon: int, selection: Selection) -> Bound:
    """C log T with the Graves–Lai constant of the product model: an asymptotic lower bound, not one at this horizon."""
    return Bound(
        name=f"model-{selection}-regret",
        value=graves_lai(problem, selection).value * log(horizon),
        kind="lower",
        task="regret",
        plays=selection,
        seeks=selection,
        about=CONSISTENT,
        source="C log T of the product model (Graves & Lai 1997)",
        short_source="C log T of the product model",
        origin="model",
        constants="asymptotic",
        assumptions=(_is_unique(problem, selection),),
        note="as T → ∞; at any one horizon a policy may lose less.",
    )


def _is_unique(problem: Problem, seeks: Selection) -> Assumption:
    return Assumption(f"there is only one best {seeks}", not has_many_answers(problem, seeks))


def _lower(
    name: str,
    value: float,
    source: str,
    *,
    plays: Selection = "pair",
    seeks: Selection = "pair",
    **fields: Any,
) -> Bound:
    """A lower bound on the rounds of every δ-correct policy; other fields as in `Bound`."""
    return Bound(
        name=name,
        value=float(value),
        kind="lower",
        task="identification",
        plays=plays,
        seeks=seeks,
        about=DELTA_CORRECT,
        source=source,
        **fields,
    )


def _half_sum(moves: list[tuple[float, float]], rewards: RewardDistribution) -> float:
    """½ Σ 1/kl(p, q) over moves from p to q."""
    return sum(_inverse(rewards.kl(float(p), float(q))) for p, q in moves) / 2


def _inverse(kl: float) -> float:
    """1/kl; an alternative with the same rewards is not one, and takes no samples."""
    return 1 / kl if kl > 0 else 0.0


def _closed_form(complexity: float, best: float, rewards: RewardDistribution, delta: float) -> tuple[float, str]:
    rest = max(0.0, log(1 / delta) - 1)
    if isinstance(rewards, Gaussian):
        return rewards.sigma**2 * complexity * rest, "B.5"
    return min(best, 1 - best) / (4 * trials_of(rewards)) * complexity * rest, "B.6"


def _exchange_rounds(players: SortedPlayers, rewards: RewardDistribution) -> float:
    """1/the largest divergence of one matching from the exchange of the players at border s."""
    u, (s, _) = players.u, players.hardest_borders
    if s is None:
        return 0.0
    high, low = float(u[2 * s - 1]), float(u[2 * s])
    if high == low:  # there is nothing to exchange
        return 0.0
    a, b = np.delete(u, [2 * s - 1, 2 * s])[:2]

    def divergence(x: float, y: float) -> float:
        return rewards.kl(high * x, low * x) + rewards.kl(low * y, high * y)

    return _inverse(max(divergence(float(a), float(b)), divergence(float(b), float(a))))


def _grows(problem: Bipartite | Monopartite) -> Assumption:
    """Assumption 2, checked on the instance's own products (up to a dozen items a side): kl(κp, κq) grows with κ."""
    kl = problem.rewards.kl
    rows = _some(sorted_descending(problem.u))
    columns = _some(sorted_descending(problem.v)) if isinstance(problem, Bipartite) else rows
    met = True
    for ends, scales in ((rows, columns), (columns, rows)):
        for p in ends:
            for q in ends:
                divergences_at = [kl(float(p * x), float(q * x)) for x in scales]
                met &= all(more >= less - 1e-9 for more, less in pairwise(divergences_at))
    return Assumption(
        "kl(κp, κq) grows with κ on this instance's own products, up to a dozen items a side (Assumption 2)", met
    )


def _some(strengths: Floats) -> Floats:
    """At most a dozen of them, from the best to the worst."""
    return strengths[np.linspace(0, len(strengths) - 1, min(len(strengths), 12)).astype(np.int64)]


def _room(u: Floats) -> Assumption:
    return Assumption("every player that rises can pass its border: u_2 < 1", bool(u[1] < 1))
