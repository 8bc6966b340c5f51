import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from matchbandit.errors import MatchbanditError
from matchbandit.seeding import stream

names = st.lists(st.text(max_size=4) | st.integers(0, 10**6), max_size=3)


def numbers(seed, *names):
    return stream(seed, *names).integers(2**62, size=4).tolist()


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 2**70), names)
def test_the_same_seed_and_names_give_the_same_stream(seed, names):
    assert numbers(seed, *names) == numbers(seed, *names)


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 100), names, st.integers(0, 100), names)
def test_another_seed_or_another_name_gives_another_stream(seed, names, other_seed, other_names):
    same = (seed, names) == (other_seed, other_names)
    assert (numbers(seed, *names) == numbers(other_seed, *other_names)) == same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b"), ("ab",)),
        (("a", "b"), ("a", "", "b")),
        (("a", "b"), ("b", "a")),
        (("a", "b"), ("a', 'b",)),
        (("a", 1), ("a", "1")),
        (("a", 1, 2), ("a", 12)),
        (("a", 11), ("a", 1, 1)),
        (("a",), ("A",)),
    ],
)
def test_names_do_not_run_into_each_other(one, other):
    assert numbers(7, *one) != numbers(7, *other)


def test_the_seed_does_not_run_into_the_names():
    assert numbers(1, 2, "a") != numbers(12, "a")
    assert numbers(1, 2) != numbers(2, 1)


def test_seed_zero_is_a_seed():
    assert numbers(0, "rewards", 3) == numbers(0, "rewards", 3)
    assert numbers(0, "rewards", 3) != numbers(1, "rewards", 3)


def test_streams_are_the_same_in_every_process_and_on_every_machine():
    # Kept results name their seed: a change of these numbers makes them irreproducible.
    assert stream(0, "rewards", 3).bit_generator.random_raw(2).tolist() == [15035387849554610290, 2086231744462834936]


def test_another_stream_in_use_moves_nothing():
    alone = numbers(7, "policy", "uts", 0)
    beside = stream(7, "policy", "uts", 0)
    first = beside.integers(2**62, size=2).tolist()
    stream(7, "policy", "pair-elim", 0).random(1000)
    assert first + beside.integers(2**62, size=2).tolist() == alone


def test_the_global_random_state_is_neither_read_nor_moved():
    np.random.seed(1)  # noqa: NPY002
    one = numbers(7, "a")
    after_one = np.random.random()  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    assert numbers(7, "a") == one
    np.random.seed(1)  # noqa: NPY002
    assert np.random.random() == after_one  # noqa: NPY002


def test_the_first_numbers_of_neighbouring_runs_are_uniform_and_uncorrelated():
    first = np.array([stream(0, "rewards", run).random() for run in range(4000)])
    assert stats.kstest(first, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 4 / np.sqrt(4000)


def test_two_streams_of_one_seed_are_uncorrelated():
    one, other = stream(0, "policy", "uts", 0).random(10_000), stream(0, "rewards", 0).random(10_000)
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(10_000)


def test_a_whole_seed_of_any_type_is_the_same_seed():
    assert numbers(np.int64(7), "a") == numbers(7, "a")
    assert numbers(7.0, "a") == numbers(7, "a")


def test_a_run_counted_by_numpy_is_the_same_run():
    assert numbers(7, "rewards", np.arange(4)[3]) == numbers(7, "rewards", 3)


@pytest.mark.parametrize("seed", [-1, 0.5, 2.5, float("nan"), True, None, "7", np.random.default_rng(0)], ids=str)
def test_a_bad_seed_is_refused_with_its_value(seed):
    with pytest.raises(MatchbanditError) as refusal:
        stream(seed, "rewards", 0)
    assert f" {seed!r}." in str(refusal.value)
