import numpy as np
import pytest

import matchbandit as mb
from matchbandit.experiments import comparison
from matchbandit.experiments.claims import FAILS, HOLDS, IN_PART
from matchbandit.experiments.comparison import ComparisonRow, EvaluationRow, bound_ratio, strengths
from matchbandit.experiments.reproduce import BEYOND
from matchbandit.figures import comparison as pictures
from matchbandit.figures import draw


def nothing(_more):
    pass


def bounds(u):
    """U_D and U_I as the appendix writes them, items from 1, each at the m that minimises it."""
    n = len(u) // 2
    of = dict(enumerate(u, start=1))

    def r(i, j):
        a, b, c, d = of[2 * i - 1], of[2 * i], of[2 * j - 1], of[2 * j]
        return 2 * (a - d) * (b - c) + (a - b) * (c - d)

    together, explored = [], []
    for m in range(3, 2 * n):
        gap = of[m] - of[m + 1]
        if gap == 0:
            continue
        inner = sum(r(i, j) for i in range(2, n + 1) for j in range(i + 1, n + 1))
        first = sum(r(1, j) for j in range(2, n + 1))
        others = sum(of[i] for i in range(3, 2 * n + 1)) - of[m] - of[m + 1]
        everyone = sum(of[i] for i in range(1, 2 * n + 1)) - of[m] - of[m + 1]
        together.append((2 * n - 3) / gap**2 * inner / others**2)
        explored.append((2 * n - 1) / gap**2 * (first + inner) / everyone**2)
    return min(together), min(explored)


@pytest.mark.parametrize("seed", range(30))
def test_the_ratio_of_bounds_is_that_of_the_appendix(seed):
    rng = np.random.default_rng(seed)
    u = np.sort(rng.uniform(size=2 * rng.integers(3, 7)))[::-1]
    if seed % 3 == 0:
        u[3] = u[2]  # a border that nothing can separate
    together, explored = bounds(u.tolist())
    assert np.isclose(bound_ratio(u), together / explored, rtol=1e-9)


def test_the_ratio_of_bounds_by_hand():
    # Behind the best two only items 4 and 5 can be told apart.
    u = np.array([0.9, 0.9, 0.5, 0.5, 0.1, 0.1])
    # The three ways of mixing two pairs lose 0.32, 1.28 and 0.32.
    together, explored = 3 * 0.32 / (0.4 * 0.6) ** 2, 5 * 1.92 / (0.4 * 2.4) ** 2
    assert np.isclose(bound_ratio(u), together / explored)


@pytest.mark.parametrize("third", [0.9, 0.3])
def test_the_ratio_of_bounds_grows_like_u1_over_u2(third):
    small = np.array([1e-3, 1e-4, 1e-5, 1e-6])
    ratios = np.array([bound_ratio(np.array(strengths(rho, third))) for rho in small])
    assert (np.diff(ratios) > 0).all()
    assert np.allclose(np.log10(ratios[1:] / ratios[:-1]), 1, atol=0.01)


@pytest.mark.parametrize("third", [0.9, 0.3])
def test_the_players_have_the_ratios_they_are_named_for(third):
    u = strengths(0.2, third)
    assert len(u) == comparison.N_PLAYERS == 8
    assert u[0] == 0.95
    assert np.isclose(u[1] / u[0], 0.2)
    assert np.isclose(u[2] / u[1], third)
    assert np.allclose(np.diff(u[2:]), -u[2] / 5)
    assert u[-1] == 0


def test_comparison_rows_are_bounds_and_regrets_until_the_first_split(monkeypatch):
    monkeypatch.setattr(comparison, "RATIOS", (0.3, 1.0))
    monkeypatch.setattr(comparison, "THIRDS", {"near": 0.9})
    told = []
    rows = comparison.comparison_rows(1, 3, 1, told.append)
    assert [(row.family, row.ratio) for row in rows] == [("near", 0.3), ("near", 1.0)]
    assert told == [1] * 4
    for row in rows:
        problem = mb.Monopartite(strengths(row.ratio, 0.9))
        assert row.bound == bound_ratio(problem.u)
        together, explored = bounds(problem.u.tolist())
        assert np.isclose(row.bound, together / explored)
        specs = (
            mb.policy("adaptive-matching", clusters=[[0, 1], [2, 3, 4, 5, 6, 7]]),
            mb.policy("exploration-first"),
        )
        for spec, regret in zip(specs, (row.together, row.explored), strict=True):
            runs = mb.simulate(
                problem, spec, horizon=comparison.HORIZON, seed=3, checkpoints=[comparison.HORIZON], stop="first-split"
            )
            assert runs.ended[0] < comparison.HORIZON
            assert regret == runs.final.tolist()


def test_every_run_of_the_comparison_splits_before_the_horizon():
    # The hardest place: the weakest second player, and the weakest others.
    problem = mb.Monopartite(strengths(min(comparison.RATIOS), min(comparison.THIRDS.values())))
    spec = mb.policy("adaptive-matching", clusters=[[0, 1], [2, 3, 4, 5, 6, 7]])
    runs = mb.simulate(problem, spec, horizon=comparison.HORIZON, runs=3, checkpoints=[1], stop="first-split")
    assert (runs.ended < comparison.HORIZON).all()


def compared(power=-1.0, measured_power=-1.0, large=1.0, measured_large=1.0):
    """Ratios that go like a power of u_2/u_1 below 1/2, and are constant above."""
    rows = []
    for name in comparison.THIRDS:
        for x in comparison.RATIOS:
            bound, ours = (large, measured_large) if x > 0.5 else (x**power, x**measured_power)
            rows.append(ComparisonRow(name, x, bound, [9 * ours, 11 * ours], [8.0, 12.0]))
    return rows


@pytest.mark.parametrize(
    ("made", "verdicts"),
    [
        (compared(), [HOLDS, HOLDS]),
        (compared(large=4.0, measured_large=4.0), [HOLDS, HOLDS]),
        (compared(large=4.01), [FAILS, HOLDS]),
        (compared(measured_large=4.01), [FAILS, HOLDS]),
        (compared(power=-0.51, measured_power=-0.51), [HOLDS, HOLDS]),
        (compared(power=-0.49), [HOLDS, FAILS]),
        (compared(measured_power=-0.49), [HOLDS, FAILS]),
        (compared(power=0.5, measured_power=0.0, large=9.0), [FAILS, FAILS]),
    ],
)
def test_the_claims_of_the_comparison_are_a_bound_above_one_half_and_growth_towards_0(made, verdicts):
    claims = comparison.comparison_claims(made)
    assert [claim.verdict for claim in claims] == verdicts * 2
    assert {claim.where for claim in claims} == {"comparison"}
    assert [[name in claim.claim for claim in claims] for name in comparison.THIRDS] == [
        [True, True, False, False],
        [False, False, True, True],
    ]


def test_the_claims_of_the_comparison_say_what_was_measured():
    bounded, grows = comparison.comparison_claims(compared(measured_power=-2.0, large=2.5, measured_large=1.5))[:2]
    assert bounded.measured == "U_D/U_I at most 2.5, R_D/R_I at most 1.5"
    assert "below 0.05 they go like (u₂/u₁)^-1.00 and (u₂/u₁)^-2.00" in grows.measured
    assert "at u₂/u₁ = 0.003: U_D/U_I = 3.3e+02, R_D/R_I = 1.1e+05" in grows.measured


def test_evaluation_rows_are_pairs_of_players_seen_until_the_answer(monkeypatch):
    monkeypatch.setattr(comparison, "SIZES", (2, 3))
    told = []
    rows = comparison.evaluation_rows(2, 5, 1, told.append)
    assert [(row.policy, row.n) for row in rows] == [
        ("matching-id", 2),
        ("pair-select", 2),
        ("rank1-certify", 2),
        ("matching-id", 3),
        ("pair-select", 3),
        ("rank1-certify", 3),
    ]
    assert told == [2] * 6
    problem = mb.Monopartite([0.9, 0.9, 0.6, 0.6, 0.3, 0.3])
    for row in rows[3:]:
        found = mb.identify(problem, mb.policy(row.policy, delta=0.05), runs=2, seed=5)
        assert row.pairs == found.pairs.tolist()
        assert row.pairs == (found.rounds * (1 if row.policy == "pair-select" else 3)).tolist()


def evaluated(ratios):
    """Matching-Id uses 100 N³ pairs, Pair-Select so many times more, rank1-certify 5 N³."""
    rows = []
    for n, ratio in zip(comparison.SIZES, ratios, strict=True):
        rows.append(EvaluationRow("matching-id", n, [90 * n**3, 110 * n**3]))
        rows.append(EvaluationRow("pair-select", n, [90 * n**3 * ratio, 110 * n**3 * ratio]))
        rows.append(EvaluationRow("rank1-certify", n, [4 * n**3, 6 * n**3]))
    return rows


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([1, 1, 1, 1, 1, 1, 1], HOLDS),
        ([50, 50, 50, 50, 50, 50, 50], HOLDS),
        ([1, 1, 2.99, 1, 1, 1, 1], HOLDS),
        ([1, 1, 3.01, 1, 1, 1, 1], IN_PART),
        ([1, 2, 3, 4, 5, 6, 8.99], IN_PART),
        ([1, 2, 3, 4, 5, 6, 9.01], FAILS),
        ([10, 8, 6, 4, 2, 1.5, 1], FAILS),
    ],
)
def test_the_same_order_is_a_ratio_that_stays_within_a_factor_of_3(ratios, verdict):
    (claim,) = comparison.evaluation_claims(evaluated(ratios))
    assert (claim.where, claim.verdict) == ("evaluations", verdict)
    assert f"from {min(ratios):.2f} to {max(ratios):.2f} for N = 2 … 8" in claim.measured
    assert "and N^3.0. rank1-certify uses 20 to 20 times fewer than Matching-Id" in claim.measured


def test_both_pictures_are_drawn(tmp_path):
    path = draw("comparison", lambda axes: pictures.comparison(axes, compared()), tmp_path)
    assert path.stat().st_size > 10_000
    path = draw("evaluations", lambda axes: pictures.evaluations(axes, evaluated([1] * 7)), tmp_path)
    assert path.stat().st_size > 10_000
    assert (tmp_path / "evaluations.pdf").exists()


def test_the_pictures_show_the_ratios_and_the_mean_numbers_of_pairs():
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    pictures.comparison(axes, compared(measured_power=-2.0))
    lines = {str(line.get_label()): line.get_ydata() for line in axes.get_lines()}
    for name in comparison.THIRDS:
        small = [k for k, x in enumerate(comparison.RATIOS) if x <= 0.5]
        assert np.allclose(lines[f"$U_D/U_I$, {name}"][small], [comparison.RATIOS[k] ** -1.0 for k in small])
        assert np.allclose(lines[f"measured $R_D/R_I$, {name}"][small], [comparison.RATIOS[k] ** -2.0 for k in small])
    axes = Figure().add_subplot()
    pictures.evaluations(axes, evaluated([2] * 7))
    for line, times in zip(axes.get_lines(), (100, 200, 5), strict=True):
        assert np.allclose(line.get_ydata(), [times * n**3 for n in comparison.SIZES])


def test_the_comparison_is_reproduced_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "RATIOS", (0.02, 0.04, 1.0))
    told = []
    made = mb.reproduce(["comparison"], runs=1, out=tmp_path, workers=1, progress=lambda *seen: told.append(seen))
    assert [p.name for p in made.pictures] == ["comparison.png"]
    assert made.pictures[0].stat().st_size > 10_000
    assert [claim.where for claim in made.claims] == ["comparison"] * 4
    assert {claim.verdict for claim in made.claims} == {"not judged: fewer than 20 runs"}
    assert {what for what, _, _ in told} == {"comparison", "drawing"}


def test_evaluations_are_reproduced_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "SIZES", (2, 3))
    made = mb.reproduce("evaluations", runs=1, out=tmp_path, workers=1)
    assert [p.name for p in made.pictures] == ["evaluations.png"]
    assert [claim.where for claim in made.claims] == ["evaluations"]


def test_progress_knows_how_many_simulations_there_are():
    assert BEYOND["comparison"].parts == 2 * 2 * 10
    assert BEYOND["evaluations"].parts == 3 * 7
    assert BEYOND["identification"].parts == 2 * (5 * 8 + 3 * 8 + 3 * 4)
