"""Upper bounds for single pairs: Pair-Elim, Pair-Elim-Mono and Pair-Select, with the constants of their proofs.

What the proofs pass over: they take the mean strength of opponents that were drawn at random (μ_U, ṽ_min) for the mean
of those that came, and let a window end in the middle of a sweep. Neither shows against constants such as 1024.

What the bounds on rounds are: windows of columns may fail, and what that costs is counted by its mean. With A the event
that no interval of β_l fails, which has probability at least 1 − δ, the proofs give E[τ 1_A] ≤ value for the rounds τ,
so that their mean over the runs in A is at most value/(1 − δ). They do not give τ ≤ value with probability 1 − δ, as
the theorems say; by Markov's inequality τ exceeds x times the value with probability at most δ + 1/x. Outside A nothing
is said of τ.

How many samples rank two averages, and how much windows add, is in the first functions: Lemmas B.1 and B.2 with their
constants. Rewards are σ-sub-Gaussian. In [0, 1], σ = 1/2, a gap counts as it is; otherwise radii are 2σ times as wide
and a gap counts as gap/2σ. Nothing is checked before 16 log β samples, so no gap counts as more than 2.
"""

from math import inf, log, log2, pi

import numpy as np

from matchbandit.problems import Bipartite, Monopartite
from matchbandit.rewards import Floats, RewardDistribution
from matchbandit.theory.bound import Assumption, Bound, upper_bound
from matchbandit.theory.corrections import COLUMN_ROUNDING, FIRST_WINDOWS, SWEEP_PLAYS, note
from matchbandit.theory.players import sorted_descending, sorted_players
from matchbandit.theory.quantities import trials_of, worst_round_regret


def seen_gap(gap: float, sigma: float) -> float:
    """A gap between two averages, in units of the radii of rewards in [0, 1]."""
    return min(gap / (2 * sigma), 2.0)


def ranked_after(gap: float, log_beta: float) -> float:
    """64 log β / gap², the samples after which two averages this far apart are ranked if no interval fails.

    The first check l with 2^−l < gap/2 ranks them (Lemma B.2); then 4^l ≤ 16/gap², and k_l = ⌈4 · 4^l log β⌉. With a
    growth g below 4 the same steps give 16 g log β / gap², so that bounds on regret hold for every growth to 4.
    """
    return 64 * log_beta / gap**2 if gap > 0 else inf


def ranked_with_delta(gap: float, delta: float, n_averages: int) -> float:
    """The same for β_l = π √(K/3δ) l: (32/gap²) (log(1/δ) + log(π² K/3)) + (64/gap²) log(log2(1/gap) + 2), and 1.

    Corrected ("log-log-terms" in `CORRECTIONS`): 1/gap² multiplies all of log β_l, as in the proof for Matching-Id. At
    gap = 0.001, l = 11 and k_l = ⌈4^12 (log c + log 11)⌉. 1 is for rounding up.
    """
    if gap <= 0:
        return inf
    return (32 * (log(1 / delta) + log(pi**2 * n_averages / 3)) + 64 * log(log2(1 / gap) + 2)) / gap**2 + 1


def window_count(samples: float) -> float:
    """The most windows that can have begun after x samples: max(0, log2 log2 x) + 2, see "windows" in `CORRECTIONS`."""
    return (max(0.0, log2(log2(samples))) if samples > 2 else 0.0) + FIRST_WINDOWS


def least_opponent(strengths: Floats, rewards: RewardDistribution) -> float:
    """ṽ_min = min(v_min, μ_V), v_min the least strength; of Bernoulli rewards the least above 0: zeros go first."""
    opponents = strengths[strengths > 0] if trials_of(rewards) else strengths
    return float(min(opponents.min(), strengths.mean())) if len(opponents) else 0.0


def pair_elim_regret(problem: Bipartite, horizon: int) -> Bound:
    """Theorem 3.1: E[R(T)] of Pair-Elim, the sum of the five terms that its proof names.

    eqn:rowprobafail 2N(M + 1); eqn:columnprobafail 2(N + 1)M (log2 log2 T + 2);
    eqn:columnexplore Σ_i 128/(v_1 Δ_i) log T + 2; eqn:rowexplore Σ_j 512/(u_1 Δ_j) log T + 2 log2 log2 T + 4;
    eqn:doublysuboptimal Σ_ij 1024 (Δ_i + Δ_j)/(μ_U Δ_j)² log((N + M) n_i) + 4 log2(4 log n_i + 1) +
    4 log2(4 log2(N + M)) + 4 with n_i = 64 log T/(ṽ_min Δ_i)² + 1.

    Corrected: "column-explore" in `CORRECTIONS`.
    """
    u, v, sigma = sorted_descending(problem.u), sorted_descending(problem.v), problem.rewards.sigma
    n, m, log_t = len(u), len(v), log(horizon)
    row_losses, column_losses = v[0] * (u[0] - u), u[0] * (v[0] - v)
    rows, columns = np.flatnonzero(row_losses > 0), np.flatnonzero(column_losses > 0)
    steps = 2 * window_count(horizon)
    against_rows, against_columns = u.mean(), least_opponent(v, problem.rewards)
    doubly = 0.0
    for i in rows:
        n_i = ranked_after(seen_gap(against_columns * (u[0] - u[i]), sigma), log_t) + 1
        for j in columns:
            gap = seen_gap(against_rows * (v[0] - v[j]), sigma)
            loss = (u[0] - u[i]) + (v[0] - v[j])
            doubly += _while_both_last(1024 * loss / gap**2, n_i, n + m)
    parts = {
        "eqn:rowprobafail": 2.0 * n * (m + 1),
        "eqn:columnprobafail": 2 * (n + 1) * m * window_count(horizon),
        "eqn:columnexplore": sum(
            2 * row_losses[i] * ranked_after(seen_gap(row_losses[i], sigma), log_t) + COLUMN_ROUNDING for i in rows
        ),
        "eqn:rowexplore": sum(
            8 * column_losses[j] * ranked_after(seen_gap(column_losses[j], sigma), log_t) + steps for j in columns
        ),
        "eqn:doublysuboptimal": doubly,
    }
    return upper_bound(
        parts,
        name="pair-elim-regret",
        task="regret",
        policy="pair-elim",
        source="Theorem 3.1, proof in Appendix B",
        short_source="Theorem 3.1",
        assumptions=_bipartite_assumptions(problem),
        note=note("", "column-explore"),
        trivial_value=horizon * worst_round_regret(problem, "pair"),
    )


def pair_elim_rounds(problem: Bipartite, delta: float) -> Bound:
    """Theorem 3.2: rounds until Pair-Elim has its answer, on average while no interval of β_l fails (see above).

    eqn:badsampleconffail 2(N + 1)M (log2 log2((N + M) τ^U) + 2); (N + 2) × eqn:badsample
    Σ_j 256/(μ_U Δ_j)² log((N + M) τ^U) + log2 log2((N + M) τ^U) + 2; eqn:samplei1 3 τ_1 + Σ_i τ_i;
    eqn:phase2 Σ_j τ_j and eqn:phase21, each τ as in `ranked_with_delta`.

    Corrected: "log-log-terms", "windows", "extra-plays" and "averages" in `CORRECTIONS`. K = (N + 1)(M + 1). A sweep
    may play a column j N + 1 times; in one that draws j for the rows the best column is played, too, for its own
    ledger, and eqn:samplei1 counts its plays in those sweeps only that draw it.
    """
    u, v, sigma = sorted_descending(problem.u), sorted_descending(problem.v), problem.rewards.sigma
    n, m = len(u), len(v)
    averages = (n + 1) * (m + 1)
    row_gaps, column_gaps = (u[0] - u)[u < u[0]], (v[0] - v)[v < v[0]]
    weakest = least_opponent(v, problem.rewards)

    def ranked(gap: float) -> float:
        return ranked_with_delta(seen_gap(gap, sigma), delta, averages)

    first_phase = max((ranked(weakest * gap) for gap in row_gaps), default=1.0)
    samples = (n + m) * first_phase
    rows = [ranked(v[0] * gap) for gap in row_gaps]
    columns = [ranked(u[0] * gap) for gap in column_gaps]
    bad = sum(_in_windows(seen_gap(u.mean() * gap, sigma), samples) for gap in column_gaps)
    parts = {
        "eqn:badsampleconffail": 2 * (n + 1) * m * window_count(samples),
        "eqn:badsample": (n + SWEEP_PLAYS) * bad,
        "eqn:samplei1": 3 * max(rows, default=0.0) + sum(rows),
        "eqn:phase2": sum(columns),
        "eqn:phase21": max(columns, default=0.0),
    }
    return upper_bound(
        parts,
        name="pair-elim-rounds",
        task="identification",
        policy="pair-elim",
        source="Theorem 3.2, proof in Appendix B",
        short_source="Theorem 3.2",
        assumptions=_bipartite_assumptions(problem),
        note=note("", "on-average", "extra-plays", "log-log-terms", "averages"),
    )


def pair_elim_mono_regret(problem: Monopartite, horizon: int) -> Bound:
    """Theorem 3.3: E[R(T)] of Pair-Elim-Mono on n players, the sum of the terms that its proof names.

    eqn:rowprobafailMono and eqn:columnprobafailMono 2K (log2 log2 T + 3) with K = 2n(n − 1);
    eqn:regret1j and eqn:regret2j 2 Σ_j 512/(u_1 Δ_(2,j)) log T + 2 log2 log2 T + 4; eqn:regreti1 and eqn:regreti2
    2 Σ_i 128/(u_1 Δ_(2,i)) log T + 2; eqn:doublysuboptMono for every ordered (i, j), i ≠ j ≥ 3.

    Corrected: "averages", "column-explore", "both-suboptimal" and "both-suboptimal-terms" in `CORRECTIONS`.
    """
    u, sigma = sorted_players(problem).u, problem.rewards.sigma
    n, log_t = len(u), log(horizon)
    averages = 2 * n * (n - 1)
    others = [i for i in range(2, n) if u[i] < u[1]]
    losses = {i: u[0] * (u[1] - u[i]) for i in others}
    weakest = least_opponent(u, problem.rewards)
    steps = 2 * window_count(horizon)
    doubly = 0.0
    for i in others:
        for j in others:
            if i == j:
                continue
            n_ij = 2 * ranked_after(seen_gap(weakest * float(u[1] - max(u[i], u[j])), sigma), log_t) + 1
            loss = u[0] * u[1] - u[i] * u[j]
            doubly += _while_both_last(512 * loss / seen_gap(losses[j], sigma) ** 2, n_ij, averages)
    parts = {
        "eqn:rowprobafailMono": 2.0 * averages,
        "eqn:columnprobafailMono": 2 * averages * window_count(horizon),
        "eqn:regret1j, eqn:regret2j": sum(
            2 * (8 * loss * ranked_after(seen_gap(loss, sigma), log_t) + steps) for loss in losses.values()
        ),
        "eqn:regreti1, eqn:regreti2": sum(
            2 * (2 * loss * ranked_after(seen_gap(loss, sigma), log_t) + COLUMN_ROUNDING) for loss in losses.values()
        ),
        "eqn:doublysuboptMono": doubly,
    }
    return upper_bound(
        parts,
        name="pair-elim-mono-regret",
        task="regret",
        policy="pair-elim-mono",
        source="Theorem 3.3, proof in Appendix C",
        short_source="Theorem 3.3",
        assumptions=_monopartite_assumptions(problem),
        note=note("", "both-suboptimal", "averages"),
        trivial_value=horizon * worst_round_regret(problem, "pair"),
    )


def pair_elim_mono_rounds(problem: Monopartite, delta: float) -> Bound:
    """Theorem 3.4: rounds until Pair-Elim-Mono knows the best two of n players, on average while no interval fails.

    4 τ_1 + 2(n − 1) Σ_j τ_j + 2K (log2 log2(K τ^U) + 2), K = 2n(n − 1), which is also the most that a sweep plays: τ_1
    = 2 Σ_(i≥3) of `ranked_with_delta` at u_1 Δ_(2,i), τ_j = 256/(u_1 Δ_(2,j))² log(K τ^U) + log2 log2(K τ^U) + 2, τ^U
    twice `ranked_with_delta` at ũ_min Δ_23.

    Corrected: "sums", "sum-over-columns", "averages" and "log-log-terms" in `CORRECTIONS`.
    """
    parts = _mono_parts(problem, delta)
    return upper_bound(
        parts,
        name="pair-elim-mono-rounds",
        task="identification",
        policy="pair-elim-mono",
        source="Theorem 3.4, proof in Appendix C",
        short_source="Theorem 3.4",
        assumptions=_monopartite_assumptions(problem),
        note=note("", "on-average", "sums", "sum-over-columns", "averages"),
    )


def pair_select_rounds(problem: Monopartite, delta: float) -> Bound:
    """Theorem 3.5: rounds until Pair-Select knows the best matching, on average while no interval fails.

    Pair-Elim-Mono with δ/2, then τ_m, which holds in every run in which no interval fails.

    τ_m = Σ_(i≥3) of `ranked_with_delta` at ((u_1 + u_2)/2) Δ_i with δ/2 and K = 2N averages, Δ_i the distance to the
    nearest player of another pair but the first, which is known by then.

    Corrected: "pooled-opponents" and "nearest-pair" in `CORRECTIONS`. Averages are pooled over opponents 1 and 2, half
    each, so that the means differ by (u_1 + u_2) Δ_i/2; and i has to be ranked against the pairs on both sides.
    """
    u, sigma = sorted_players(problem).u, problem.rewards.sigma
    pairs = np.arange(len(u)) // 2
    against = (u[0] + u[1]) / 2
    second = 0.0
    for i in range(2, len(u)):
        others = u[(pairs != pairs[i]) & (pairs > 0)]
        if len(others):
            nearest = float(np.abs(others - u[i]).min())
            second += ranked_with_delta(seen_gap(against * nearest, sigma), delta / 2, len(u))
    parts = {**_mono_parts(problem, delta / 2), "τ_m": second}
    unique = Assumption("no two players of different pairs are equal", problem.tie("matching") is None)
    return upper_bound(
        parts,
        name="pair-select-rounds",
        task="identification",
        policy="pair-select",
        source="Theorem 3.5, proof in Appendix D",
        short_source="Theorem 3.5",
        assumptions=(*_monopartite_assumptions(problem), unique),
        note=note("", "on-average", "pooled-opponents", "nearest-pair"),
        seeks="matching",
    )


def _mono_parts(problem: Monopartite, delta: float) -> dict[str, float]:
    u, sigma = sorted_players(problem).u, problem.rewards.sigma
    n = len(u)
    averages = 2 * n * (n - 1)
    gaps = (u[1] - u[2:])[u[2:] < u[1]]
    weakest = least_opponent(u, problem.rewards)

    def ranked(gap: float) -> float:
        return 2 * ranked_with_delta(seen_gap(gap, sigma), delta, averages)

    first_phase = max((ranked(weakest * gap) for gap in gaps), default=1.0)
    samples = averages * first_phase
    bad = sum(_in_windows(seen_gap(u[0] * gap, sigma), samples) for gap in gaps)
    return {
        "4 τ_1": 4 * sum(ranked(u[0] * gap) for gap in gaps),
        "2(n − 1) Σ τ_j": 2 * (n - 1) * bad,
        "failing windows": 2 * averages * window_count(samples),
    }


def _while_both_last(weight: float, steps: float, sweep: int) -> float:
    """What a pair of sub-optimal items loses in the windows of `steps` steps of up to `sweep` plays."""
    if steps == inf:
        return inf
    windows = 4 * log2(4 * log(steps) + 1) + 4 * log2(4 * log2(sweep)) + 4
    return weight * (log(steps) + log(sweep)) + windows


def _in_windows(gap: float, samples: float) -> float:
    """Steps until a column this far below is eliminated, in all windows that the samples fill."""
    return 4 * ranked_after(gap, log(samples)) + window_count(samples)


def _bipartite_assumptions(problem: Bipartite) -> tuple[Assumption, ...]:
    return (
        Assumption("there is only one best row and one best column", problem.tie("pair") is None),
        Assumption("some row and some column are above 0", bool(problem.u.max() > 0 and problem.v.max() > 0)),
        _opponents_tell("column", problem.v, problem.rewards),
    )


def _monopartite_assumptions(problem: Monopartite) -> tuple[Assumption, ...]:
    return (
        Assumption("the third player is below the second", problem.tie("pair") is None),
        _opponents_tell("player", problem.u, problem.rewards),
    )


def _opponents_tell(item: str, strengths: Floats, rewards: RewardDistribution) -> Assumption:
    """Opponents of strength 0 say nothing; with Bernoulli rewards they pay nothing and are the first to go."""
    met = bool(trials_of(rewards) or strengths.min() > 0)
    return Assumption(f"no {item} has strength 0, unless rewards are Bernoulli or binomial", met)
