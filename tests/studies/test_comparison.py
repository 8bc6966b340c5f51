import numpy as np
import pytest
from reference.rows import rows_by_hand

import matchbandit as mb
from matchbandit.studies import comparison
from matchbandit.studies.claims import FAILS, HOLDS
from matchbandit.studies.comparison import EXPLORED, HORIZON, RATIOS, THIRDS, TOGETHER, bound_ratio


def strengths(second, third):
    """Eight players: u_1 = 0.95, u_2/u_1 and u_3/u_2 as given, the others falling in equal steps to 0."""
    u2 = 0.95 * second
    return np.array([0.95, u2, *np.linspace(u2 * third, 0, 6).tolist()])


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


@pytest.mark.parametrize("third", THIRDS)
def test_the_ratio_of_bounds_grows_like_u1_over_u2(third):
    small = np.array([1e-3, 1e-4, 1e-5, 1e-6])
    ratios = np.array([bound_ratio(strengths(rho, third)) for rho in small])
    assert (np.diff(ratios) > 0).all()
    assert np.allclose(np.log10(ratios[1:] / ratios[:-1]), 1, atol=0.01)


def test_the_study_plays_both_strategies_until_the_first_split():
    (study,) = comparison.studies(None)
    assert len(study.points) == 2 * 2 * 7
    for point in study.points:
        given = point.problem.parameters
        assert np.array_equal(point.problem.draw().u, strengths(given["second"], given["third"]))
    specs = (
        mb.policy("adaptive-matching", clusters=[[0, 1], [2, 3, 4, 5, 6, 7]]),
        mb.policy("exploration-first"),
    )
    for spec in specs:
        at = (spec.name, 0.3, 0.9)
        point = next(
            p for p in study.points if (p.spec.name, *map(p.problem.parameters.get, ("second", "third"))) == at
        )
        runs = mb.simulate(
            mb.Monopartite(strengths(0.3, 0.9)), spec, horizon=HORIZON, checkpoints=[HORIZON], stop="first-split"
        )
        assert runs.ended[0] < HORIZON
        assert point.play(0, 1).regret.tolist() == runs.regret.tolist()


def test_every_run_splits_before_the_horizon():
    # The hardest place: the weakest second player, and the weakest others.
    problem = mb.Monopartite(strengths(min(RATIOS), min(THIRDS)))
    spec = mb.policy("adaptive-matching", clusters=[[0, 1], [2, 3, 4, 5, 6, 7]])
    runs = mb.simulate(problem, spec, horizon=HORIZON, runs=3, checkpoints=[1], stop="first-split")
    assert (runs.ended < HORIZON).all()


@pytest.fixture
def bounded(monkeypatch):
    """Bounds that are what one says, instead of those of the players: a function of u_2/u_1."""

    def as_said(ratio):
        monkeypatch.setattr(comparison, "bound_ratio", lambda u: ratio(float(u[1] / u[0])))

    return as_said


def compared(measured):
    """Two runs of each strategy at each place, whose ratio of means is `measured(u_2/u_1)`."""
    return rows_by_hand(
        {"policy": policy, "second": x, "third": third, "run": run, "regret": regret * (measured(x) if d else 1.0)}
        for third in THIRDS
        for x in RATIOS
        for policy, d, regrets in ((TOGETHER, True, (9.0, 11.0)), (EXPLORED, False, (8.0, 12.0)))
        for run, regret in enumerate(regrets)
    )


def law(power=-1.0, large=1.0):
    """A power of u_2/u_1 up to 1/2, and constant above."""
    return lambda x: large if x > 0.5 + 1e-9 else x**power


@pytest.mark.parametrize(
    ("bound", "measured", "verdicts"),
    [
        (law(), law(), [HOLDS, HOLDS]),
        (law(large=4.0), law(large=4.0), [HOLDS, HOLDS]),
        (law(large=4.01), law(), [FAILS, HOLDS]),
        (law(), law(large=4.01), [FAILS, HOLDS]),
        (law(-0.51), law(-0.51), [HOLDS, HOLDS]),
        (law(-0.49), law(), [HOLDS, FAILS]),
        (law(), law(-0.49), [HOLDS, FAILS]),
        (law(0.5, large=9.0), law(0.0), [FAILS, FAILS]),
    ],
)
def test_the_claims_are_a_bound_above_one_half_and_growth_towards_0(bounded, bound, measured, verdicts):
    bounded(bound)
    claims = comparison.claims(compared(measured))
    assert [claim.verdict for claim in claims] == verdicts * 2
    assert {claim.where for claim in claims} == {"comparison"}
    assert [claim.threshold for claim in claims] == ["both at most N = 4", "both powers below -0.5"] * 2
    assert [[f"= {third})" in claim.claim for claim in claims] for third in THIRDS] == [
        [True, True, False, False],
        [False, False, True, True],
    ]


def test_the_claims_say_what_was_measured(bounded):
    bounded(law(large=2.5))
    limited, grows = comparison.claims(compared(law(-2.0, large=1.5)))[:2]
    assert limited.measured == "U_D/U_I at most 2.5, R_D/R_I at most 1.5"
    assert "below 0.05 they go like (u₂/u₁)^-1.00 and (u₂/u₁)^-2.00" in grows.measured
    assert "at u₂/u₁ = 0.003: U_D/U_I = 3.3e+02, R_D/R_I = 1.1e+05" in grows.measured


def test_the_figure_shows_measured_ratios_and_those_of_the_bounds():
    (chart,) = comparison.charts(compared(law(-2.0)))
    for at, third in enumerate(THIRDS):
        measured, bound = chart.lines[2 * at : 2 * at + 2]
        assert measured.x.tolist() == bound.x.tolist() == RATIOS
        assert np.allclose(measured.y, [law(-2.0)(x) for x in RATIOS])
        assert np.allclose(bound.y, [bound_ratio(strengths(x, third)) for x in RATIOS])
        assert (measured.key, measured.dash, bound.dash) == (bound.key, "solid", "dotted")
    assert chart.x_log
    assert chart.y_log
