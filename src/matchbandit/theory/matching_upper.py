"""Upper bounds for matchings of players: the Adaptive-Matching policies and Matching-Id."""

from functools import partial
from math import inf, log, log2, pi

from matchbandit.problems import Monopartite, Problem
from matchbandit.theory.bound import Assumption, Bound, upper_bound
from matchbandit.theory.corrections import FAILING_INTERVALS, FIRST_BORDER, OTHER_BORDERS, SINGLE_BORDER, note
from matchbandit.theory.pair_upper import seen_gap
from matchbandit.theory.players import sorted_players
from matchbandit.theory.quantities import worst_round_regret

_upper = partial(upper_bound, plays="matching", seeks="matching")


def simple_adaptive_regret(problem: Monopartite, horizon: int) -> Bound:
    """Theorem 4.3: E[R(T)] ≤ 640 N (log N + 2)/Δ_min log T + N² + 4N² of Simple Adaptive Matching.

    640 and N² are the last line of the proof in Appendix E; for σ-sub-Gaussian rewards 640 is multiplied by max(1,
    4σ²).

    Corrected: "failing-intervals" and "equal-partners" in `CORRECTIONS`.
    """
    players = sorted_players(problem)
    u, n = players.u, len(players) // 2
    parts = {
        "Lemma E.3, summed": _rate(640 * _spread(problem) * n * (log(n) + 2), players.smallest_loss, horizon),
        "roundings": float(n**2),
        "failing intervals": FAILING_INTERVALS * n**2,
    }
    return _upper(
        parts,
        name="simple-adaptive-matching-regret",
        task="regret",
        policy="simple-adaptive-matching",
        source="Theorem 4.3, proof in Appendix E",
        short_source="Theorem 4.3",
        assumptions=(
            Assumption("partners are equal: u_(2i−1) = u_(2i) (Assumption 1)", bool((u[::2] == u[1::2]).all())),
            _unique(problem),
        ),
        note=note(
            "the union bound ignores that the opponents pooled after a split were chosen by the same samples",
            "failing-intervals",
        ),
        trivial_value=horizon * worst_round_regret(problem, "matching"),
    )


def adaptive_regret(problem: Monopartite, horizon: int) -> Bound:
    """Theorem 4.4: E[R(T)] ≤ c N (log N + 2)/Δ_min log T + 34 N⁶ of Adaptive-Matching, here with c = 1.

    The proof leaves c open, and its displays do not add up to one ("no-constant" in `CORRECTIONS`): the inequality
    gapupperbound bounds (u_(2i) − u_(2j−1)) (u_(2i−1) − u_(2j)) by (2(j − i) − 1)² Δ_m² + Δ_m (Δ_(2i−1,2i) +
    Δ_(2j−1,2j)) and drops a factor 2(j − i) − 1 of the second term, with which the bound on a_2 no longer falls like
    1/(j − i − 1).
    """
    players = sorted_players(problem)
    n = len(players) // 2
    parts = {
        "c N (log N + 2)/Δ_min log T": _rate(_spread(problem) * n * (log(n) + 2), players.smallest_loss, horizon),
        "dropped samples, whole periods, failing intervals": 34.0 * n**6,
    }
    return _upper(
        parts,
        name="adaptive-matching-regret",
        task="regret",
        policy="adaptive-matching",
        source="Theorem 4.4, proof in Appendix F",
        short_source="Theorem 4.4",
        constants="universal constant set to 1",
        assumptions=(_unique(problem),),
        note=note("", "no-constant"),
        trivial_value=horizon * worst_round_regret(problem, "matching"),
    )


def first_split_regret(problem: Monopartite, horizon: int) -> list[Bound]:
    """Lemma 4.5: the regret until the others split, with the best two together (U_D) or explored with (U_I).

    64 log T times U_D and U_I, each with the m that minimises it, and one more tournament (Lemma E.2), as the split is
    seen at the end of one; times max(1, 4σ²).
    """
    players = sorted_players(problem)
    r = players.mixing_losses
    together, explored = players.least_comparison_bounds
    result = []
    for name, policy, bound, tournament, assumption in (
        (
            "split-together",
            "adaptive-matching",
            together,
            r[1:].sum(),
            "from the third player on two neighbours differ and a further player is above 0, which takes six players",
        ),
        (
            "split-explored",
            "exploration-first",
            explored,
            r.sum(),
            "from the third player on two neighbours differ",
        ),
    ):
        parts = {
            "64 log T U": _rate(64 * _spread(problem), 1 / bound if bound > 0 else inf, horizon),
            "a tournament": tournament,
        }
        result.append(
            _upper(
                parts,
                name=name,
                task="regret",
                stop="first-split",
                policy=policy,
                about=f"{policy}, with the best two known",
                source="Lemma 4.5, equ:RD and equ:RI in Appendix G",
                short_source="Lemma 4.5",
                assumptions=(Assumption(assumption, bound < inf),),
                note=note("while no interval fails", "u-i"),
                trivial_value=horizon * worst_round_regret(problem, "matching"),
            )
        )
    return result


def matching_id_rounds(problem: Monopartite, delta: float) -> list[Bound]:
    """Theorem 4.1: rounds until Matching-Id has its answer, by two bounds.

    The largest over all borders of (c/gap²) (log(1/δ) + f(gap)) with gap = μ_([2N]∖{2k,2k+1}) Δ_(2k,2k+1),
    f(x) = log (2 − log2 x)² + log(2N π²/3) and c as in `border_constant`; and with x = (1 − α) Δ_s times `top_mean`,
    (72/x²) (log(1/δ) + f(x)), if α < 1 (Theorem H.1). Each plus what rounding up k_l costs, c/32 or 9/4, and one more
    tournament, 2N − 1 rounds, as checks are made at the end of one. Both hold with probability at least 1 − δ.

    Corrected: "border-constants", "settled-share", "alpha", "second-phase" and "rounding-up" in `CORRECTIONS`.
    """
    players, sigma = sorted_players(problem), problem.rewards.sigma
    gaps, share = players.weighted_gaps, players.settled_share
    s, _ = players.hardest_borders
    constants = [border_constant(k, len(gaps)) for k in range(1, len(gaps) + 1)]
    largest = max(
        (
            _matching_id(float(gap), len(players), delta, sigma, constant=c)
            for c, gap in zip(constants, gaps, strict=True)
        ),
        default=0.0,
    )
    tournament = float(len(players) - 1)
    last = (1 - share) * players.top_mean * float(players.border_gaps[s - 1]) if s is not None else inf
    unique = _unique(problem)
    return [
        _upper(
            {
                "the border that takes longest": largest,
                "rounding up": max(constants, default=0.0) / 32,
                "a tournament": tournament,
            },
            name="matching-id-rounds",
            task="identification",
            policy="matching-id",
            source="Theorem 4.1, first bound; eqn:kl and eqn:util in Appendix H",
            short_source="Theorem 4.1",
            assumptions=(unique,),
            note=note("with probability ≥ 1 − δ", "border-constants"),
        ),
        _upper(
            {
                "border s": _matching_id(last, len(players), delta, sigma, constant=SINGLE_BORDER),
                "rounding up": SINGLE_BORDER / 32,
                "a tournament": tournament,
            },
            name="matching-id-rounds-one-gap",
            task="identification",
            policy="matching-id",
            source="Theorem 4.1, second bound; Theorem H.1",
            short_source="Theorem 4.1",
            assumptions=(
                unique,
                Assumption(
                    "gap s times the weight of the best is far enough below every other weighted gap: α < 1", share < 1
                ),
            ),
            note=note("with probability ≥ 1 − δ", "alpha", "settled-share"),
        ),
    ]


def border_constant(border: int, n_borders: int) -> float:
    """c of Matching-Id's first bound: 72 at a single border; of several 192 at the first, 32 · 28/9 at the others.

    eqn:kl and eqn:util make 32 · 9/4 = 72 for all: B lets at least 4/9 of the rounds count, and against the others the
    two at border k differ by μ Δ or more. The second is wrong while both are in B. That the mean of B grows
    (Proposition H.2) does not say that it grows without the two: the two differ by Δ times the other b − 2 of B, over
    b − 1 opponents. A tournament of A = B ∪ S, which then has at most 2b − 2 players, counts b − 1 of its rounds. So
    rounds grow by up to (2b − 3)/(b − 1) · ((b − 1)/(b − 2))², which falls with b. B has player 1 besides the two at
    border 1, and the best three at the others: b = 3 makes 6, and b = 5 makes 28/9. (Outside B 2 is enough. Where
    rounds of several kinds follow each other, with x the part that counts and y = x times what shows of the gap, y²/x
    is convex, and rises from the corner (4/7, 3/7) to every other point. Tested on the sets that the policy forms.)

    The printed bound fails at both. Border 1 takes B = {1, 2, 3}: on (1, 0.95, 0.9499, 0.9) and 13 equal pairs below,
    0.001 apart, it is exceeded by a quarter. Border 2 takes B = {1, …, 5}, 3 like 4, and for a while another border: on
    100 pairs it is exceeded by 4 %, in the limit of many by 7 %. Both with rewards as far off as the intervals allow,
    none of which fails; rewards equal to their means take 0.31 of it on the first.
    """
    if n_borders == 1:
        return SINGLE_BORDER
    return FIRST_BORDER if border == 1 else OTHER_BORDERS


def _matching_id(gap: float, n_players: int, delta: float, sigma: float, *, constant: float) -> float:
    seen = seen_gap(gap, sigma)
    if seen <= 0:
        return inf
    f = 2 * log(2 - log2(seen)) + log(n_players * pi**2 / 3)
    return constant / seen**2 * (log(1 / delta) + f)


def _spread(problem: Problem) -> float:
    """Radii are 2σ times as wide as for rewards in [0, 1]; narrower ones only help."""
    return max(1.0, 4 * problem.rewards.sigma**2)


def _rate(constant: float, gap: float, horizon: int) -> float:
    """(constant/gap) log T; nothing in the first round, whatever the gap."""
    if horizon == 1:
        return 0.0
    return constant / gap * log(horizon) if gap > 0 else inf


def _unique(problem: Problem) -> Assumption:
    return Assumption("no two players of different pairs are equal", problem.tie("matching") is None)
