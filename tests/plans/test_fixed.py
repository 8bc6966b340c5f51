import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.confidence import NEVER
from matchbandit.plans import Cycle, FixedSweeps, Tally
from matchbandit.schedules import round_robin

examples = settings(deadline=None, derandomize=True)


@st.composite
def plans(draw):
    """Any rounds over a few cells; a cell may occur several times, and several cells may play the same pair."""
    n_cells = draw(st.integers(1, 6))
    edges = np.array(draw(st.lists(st.integers(0, 3), min_size=n_cells, max_size=n_cells)))
    width = draw(st.integers(1, 2))
    cells = st.lists(st.integers(0, n_cells - 1), min_size=width, max_size=width)
    rounds = np.array(draw(st.lists(cells, min_size=1, max_size=5)))
    return FixedSweeps(edges=edges, rounds=rounds, limit=draw(st.integers(1, 20) | st.just(NEVER)))


def after(plan, sweeps):
    """The tally of so many sweeps."""
    counts = np.zeros(len(plan.edges), dtype=np.int64)
    for number in range(sweeps):
        np.add.at(counts, plan.sweep(number, np.random.default_rng(0)), 1)
    return Tally(sweeps, counts, np.zeros(len(counts)))


@examples
@given(plans(), st.integers(1, 25))
def test_a_leap_counts_what_playing_sweep_by_sweep_counts(plan, most):
    sweeps, counts = plan.leap(Tally.empty(len(plan.edges)), most, np.random.default_rng(0))
    assert sweeps == min(most, plan.limit)
    assert counts.tolist() == after(plan, sweeps).counts.tolist()


@examples
@given(plans(), st.integers(0, 19), st.integers(1, 25))
def test_a_leap_goes_on_from_what_is_pending_and_never_past_the_limit(plan, before, most):
    before = min(before, plan.limit - 1)
    sweeps, counts = plan.leap(after(plan, before), most, np.random.default_rng(0))
    assert sweeps == min(most, plan.limit - before)
    assert counts.tolist() == after(plan, sweeps).counts.tolist()
    assert plan.due(after(plan, before + sweeps)) == (before + sweeps == plan.limit)


@examples
@given(plans())
def test_it_is_due_exactly_from_the_limit_on(plan):
    limit = min(plan.limit, 30)
    assert not any(plan.due(after(plan, sweeps)) for sweeps in range(limit))
    assert plan.due(after(plan, limit)) == (plan.limit <= 30)


@examples
@given(plans(), st.integers(0, 10**9))
def test_every_sweep_is_the_same_and_draws_nothing(plan, number):
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert plan.sweep(number, rng).tolist() == plan.rounds.tolist()
    plan.leap(Tally.empty(len(plan.edges)), 5, rng)
    assert rng.bit_generator.state == before
    assert plan.length == len(plan.rounds)


def test_10_to_the_15_sweeps_are_one_multiplication():
    plan = FixedSweeps(edges=np.array([4, 7, 4]), rounds=np.array([[0], [2], [0]]))
    sweeps, counts = plan.leap(Tally.empty(3), 10**15, np.random.default_rng(0))
    assert sweeps == 10**15
    assert counts.tolist() == [2 * 10**15, 0, 10**15]


def cycle(n_items):
    rounds = round_robin(n_items)
    edges = np.arange(n_items * n_items)
    return Cycle(edges=edges, rounds=rounds[..., 0] * n_items + rounds[..., 1])


@given(n_items=st.sampled_from([2, 4, 6]), before=st.integers(0, 30), rounds=st.integers(1, 40))
def test_a_leap_counts_what_playing_round_by_round_counts(n_items, before, rounds):
    plan = cycle(n_items)
    rng = np.random.default_rng(0)
    played = np.zeros(n_items * n_items, dtype=int)
    for number in range(before, before + rounds):
        played[plan.sweep(number, rng).ravel()] += 1
    pending = Tally.empty(n_items * n_items)
    pending.sweeps = before
    made, counts = plan.leap(pending, rounds, rng)
    assert made == rounds
    assert counts.tolist() == played.tolist()


def test_a_cycle_never_asks_for_a_decision_and_counts_beyond_2_to_the_53():
    plan = cycle(4)
    made, counts = plan.leap(Tally.empty(16), 3 * 2**55 + 1, np.random.default_rng(0))
    assert made == 3 * 2**55 + 1
    assert sorted(set(counts.tolist())) == [0, 2**55, 2**55 + 1]
    assert not plan.due(Tally.empty(16))
