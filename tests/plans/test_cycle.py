import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from matchbandit.plans import Cycle, Tally
from matchbandit.schedules import round_robin


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
