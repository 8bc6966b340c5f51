import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.confidence import NEVER
from matchbandit.plans import Batch, Tally

examples = settings(deadline=None, derandomize=True)


@st.composite
def plans(draw):
    """Any kinds of rounds over a few cells, each so often; one at least is played."""
    n_cells = draw(st.integers(1, 6))
    edges = np.array(draw(st.lists(st.integers(0, 3), min_size=n_cells, max_size=n_cells)))
    width, kinds = draw(st.integers(1, 2)), draw(st.integers(1, 5))
    cells = st.lists(st.integers(0, n_cells - 1), min_size=width, max_size=width)
    rounds = np.array(draw(st.lists(cells, min_size=kinds, max_size=kinds)))
    times = st.lists(st.integers(0, 7), min_size=kinds, max_size=kinds).filter(any)
    return edges, rounds, np.array(draw(times))


def slowly(edges, rounds, times):
    """The cells of every round, one after the other."""
    return [rounds[kind].tolist() for kind, often in enumerate(times) for _ in range(often)]


def after(plan, sequence, sweeps):
    """The tally of the first so many rounds."""
    counts = np.zeros(len(plan.edges), dtype=np.int64)
    for cells in sequence[:sweeps]:
        np.add.at(counts, np.array(cells), 1)
    return Tally(sweeps, counts, np.zeros(len(counts)))


@examples
@given(plans())
def test_the_kinds_follow_each_other_and_their_times_are_the_limit(given):
    plan, sequence = Batch.of(*given), slowly(*given)
    assert plan.limit == len(sequence)
    assert plan.length == 1
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert [plan.sweep(number, rng)[0].tolist() for number in range(plan.limit)] == sequence
    plan.leap(Tally.empty(len(plan.edges)), 5, rng)
    assert rng.bit_generator.state == before  # nothing is drawn
    assert (plan.times > 0).all()


@examples
@given(plans(), st.integers(0, 40), st.integers(1, 40))
def test_a_leap_from_anywhere_counts_what_playing_round_by_round_counts(given, before, most):
    plan, sequence = Batch.of(*given), slowly(*given)
    before = min(before, plan.limit - 1)
    pending = after(plan, sequence, before)
    sweeps, counts = plan.leap(pending, most, np.random.default_rng(0))
    assert sweeps == min(most, plan.limit - before)
    assert (pending.counts + counts).tolist() == after(plan, sequence, before + sweeps).counts.tolist()
    assert plan.due(after(plan, sequence, before + sweeps)) == (before + sweeps == plan.limit)


@examples
@given(plans(), st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_leaps_that_checkpoints_cut_add_up_to_the_whole_batch(given, cuts):
    plan, sequence = Batch.of(*given), slowly(*given)
    pending = Tally.empty(len(plan.edges))
    for most in [*cuts, plan.limit]:
        if not plan.due(pending):
            sweeps, counts = plan.leap(pending, most, np.random.default_rng(0))
            pending.add(Tally(sweeps, counts, np.zeros(len(counts))))
    assert plan.due(pending)
    assert pending.counts.tolist() == after(plan, sequence, plan.limit).counts.tolist()


def test_one_kind_for_ever_is_one_multiplication():
    plan = Batch.of(np.array([4, 7, 4]), np.array([[0, 1], [2, 1]]), np.array([0, NEVER]))
    assert plan.limit == NEVER
    sweeps, counts = plan.leap(Tally(10**17, np.zeros(3, dtype=np.int64), np.zeros(3)), 10**18, None)
    assert sweeps == 10**18
    assert counts.tolist() == [0, 10**18, 10**18]


@pytest.mark.parametrize("number", [0, 10**6, 10**12 - 1, 10**12, 10**12 + 4])
def test_the_turn_of_a_round_far_inside_a_batch(number):
    plan = Batch.of(np.arange(3), np.array([[0], [1], [2]]), np.array([10**12, 4, 1]))
    assert plan.sweep(number, None).tolist() == [[0 if number < 10**12 else 1 if number < 10**12 + 4 else 2]]
