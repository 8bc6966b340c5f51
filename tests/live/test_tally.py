"""The tally: plays and sums by pair, late and corrected results, results that fade."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.live.tally import Tally, key_of, pair_of

AB, AC = key_of(1, 2), key_of(1, 3)


def filled(results, half_life=None):
    """A tally of (key, number, reward) in this order."""
    tally = Tally()
    tally.low, tally.high = 0.0, 1.0
    tally.fade_by(half_life, 0)
    for seq, (key, number, reward) in enumerate(results, start=1):
        tally.add(key, number, seq, reward, reward)
    return tally


def test_results_are_counted():
    tally = filled([(AB, 1, 1.0), (AC, 1, 0.5), (AB, 2, 0.0)])
    found = tally.results(2)
    assert found.a.tolist() == [1, 1]
    assert found.b.tolist() == [2, 3]
    assert found.counts.tolist() == found.plays.tolist() == [2, 1]
    assert found.paid.tolist() == found.sums.tolist() == [1.0, 0.5]
    assert found.last.tolist() == [2, 1]
    assert found.touched.tolist() == [3, 2]
    assert tally.of_pair(AB) == (2, 1.0)
    assert tally.of_pair(key_of(2, 3)) == (0, 0.0)
    assert pair_of(AC) == (1, 3)


def test_the_copy_stays_when_the_tally_goes_on():
    tally = filled([(AB, 1, 1.0)])
    found = tally.results(1)
    tally.add(AC, 2, 2, 1.0, 1.0)
    assert found.counts.tolist() == [1]


def test_a_result_counts_half_after_a_half_life():
    # Decided after proposal 5 with half-life 2: proposals 5, 3 and 1 count 1, 1/2 and 1/4.
    tally = filled([(AB, 1, 1.0), (AB, 3, 0.0), (AC, 5, 1.0)], half_life=2.0)
    plays, sums = tally.faded(5)
    assert plays.tolist() == pytest.approx([0.75, 1.0])
    assert sums.tolist() == pytest.approx([0.25, 1.0])
    assert tally.results(5).counts.tolist() == [2, 1]  # the results themselves do not fade


@settings(deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.sampled_from([AB, AC]), st.integers(1, 400), st.floats(0, 1)), min_size=1, max_size=20),
    st.floats(0.1, 100),
    st.randoms(use_true_random=False),
)
def test_the_order_of_arrival_does_not_matter(results, half_life, random):
    last = max(number for _, number, _ in results)
    plays, sums = filled(results, half_life).faded(last)
    shuffled = results.copy()
    random.shuffle(shuffled)
    other = filled(shuffled, half_life)
    places = [other.index[key] for key in filled(results).index]
    for mine, others in zip((plays, sums), other.faded(last), strict=True):
        np.testing.assert_allclose(others[places], mine, rtol=1e-9, atol=1e-12)
    weights = {key: sum(2.0 ** ((k - last) / half_life) for of, k, _ in results if of == key) for key, _, _ in results}
    np.testing.assert_allclose(plays, list(weights.values()), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("half_life", [None, 0.001, 3.0])
def test_what_is_taken_off_leaves_no_trace(half_life):
    tally = filled([(AB, 1, 0.1), (AB, 2, 0.7), (AC, 2, 0.3)], half_life)
    tally.remove(AB, 1, 4, 0.1, 0.1)
    once = filled([(AB, 2, 0.7), (AC, 2, 0.3)], half_life)
    np.testing.assert_allclose(tally.faded(2), once.faded(2), rtol=1e-12, atol=1e-15)
    tally.remove(AB, 2, 5, 0.7, 0.7)
    found = tally.results(2)
    assert found.counts.tolist() == [0, 1]
    assert found.paid[0] == found.sums[0] == found.plays[0] == 0.0
    assert tally.met_since(1) == [AC]


def test_rounding_does_not_leave_the_range_of_rewards():
    rewards = [0.1, 0.2, 0.3, 1.0, 0.7]
    tally = filled([(AB, 1, reward) for reward in rewards])
    for seq, reward in enumerate([0.3, 0.1, 0.7, 0.2], start=10):
        tally.remove(AB, 1, seq, reward, reward)
    assert tally.paid[0] <= 1.0
    assert tally.sums[0] <= 1.0


def test_fading_that_begins_late_counts_what_is_known_as_new():
    tally = filled([(AB, 1, 1.0), (AB, 2, 1.0)])
    tally.fade_by(10.0, 2)
    assert tally.faded(2)[0].tolist() == pytest.approx([2.0])
    assert tally.faded(12)[0].tolist() == pytest.approx([1.0])
    tally.fade_by(5.0, 12)  # what has faded stays faded
    assert tally.faded(12)[0].tolist() == pytest.approx([1.0])
    assert tally.faded(17)[0].tolist() == pytest.approx([0.5])
    tally.fade_by(None, 17)
    assert tally.faded(17)[0].tolist() == [2.0]


def test_weights_stay_floats_for_ever():
    tally = filled([(AB, number, 1.0) for number in range(1, 5000, 7)], half_life=0.5)
    plays, sums = tally.faded(4999)
    assert np.isfinite(tally.faded_plays).all()
    assert plays[0] == sums[0] == pytest.approx(sum(2.0 ** ((k - 4999) / 0.5) for k in range(1, 5000, 7)))


def test_a_description_is_the_whole_tally():
    tally = filled([(AB, number, 1.0) for number in range(1, 1000)], half_life=0.5)
    tally.add(AC, 999, 1, 0.5, 0.25, 2)
    assert tally.shift > 0
    again = Tally.from_dict(tally.to_dict())
    again.low, again.high = tally.low, tally.high
    assert vars(again) == vars(tally)
    again.add(AB, 1000, 2, 1.0, 1.0)
    assert again.faded(1000)[0][0] == pytest.approx(4 / 3)


def test_pairs_that_met_lately():
    tally = filled([(AB, 3, 1.0), (AC, 5, 0.0), (AB, 1, 1.0)])
    assert tally.met_since(4) == [AC]
    assert tally.met_since(3) == [AB, AC]


def test_another_policy_may_count_otherwise():
    tally = filled([(AB, 1, 0.4), (AB, 3, 0.4)], half_life=2.0)
    tally.recompute_credits(np.array([1.0]), 4)
    assert tally.sums[0] == 1.0
    plays, sums = tally.faded(3)
    assert sums[0] / plays[0] == pytest.approx(0.5)
    assert tally.paid[0] == 0.8


def test_what_is_halved_beyond_all_floats_is_gone():
    tally = filled([(AB, 1, 1.0), (AC, 2 * 10**9, 1.0), (AB, 3, 1.0)], half_life=1e-3)
    assert tally.faded(2 * 10**9)[0].tolist() == [0.0, 1.0]
    assert tally.faded(10**12)[0].tolist() == [0.0, 0.0]
