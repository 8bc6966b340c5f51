import json
from math import copysign, inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from matchbandit.policies.serialization import checksum, pack, unpack

dtypes = st.sampled_from(["int8", "uint8", "int64", "uint64", "float32", "float64", "bool", ">i4", ">f8", "complex128"])
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
nested = st.recursive(
    plain | arrays,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def there_and_back(value):
    return unpack(json.loads(json.dumps(pack(value))))


def same_to_the_bit(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_to_the_bit(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same_to_the_bit, one, other))
    if isinstance(one, float):
        return (isnan(one) and isnan(other)) or (one == other and copysign(1, one) == copysign(1, other))
    return one == other


@settings(deadline=None, derandomize=True)
@given(arrays)
def test_an_array_of_any_type_and_shape_comes_back_to_the_bit(array):
    assert same_to_the_bit(there_and_back(array), array)


@settings(deadline=None, derandomize=True)
@given(nested)
def test_nested_data_comes_back_to_the_bit(value):
    assert same_to_the_bit(there_and_back(value), value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([]),
        np.zeros((0, 3), dtype=np.int64),
        np.zeros((2, 0, 1), dtype=bool),
        np.array(7),
        np.array([nan, -nan, inf, -inf, -0.0, 5e-324, 1 / 3]),
        np.array([0x7FF8000000000123], dtype=np.uint64).view(np.float64),
        np.array([2**63 - 1, -(2**63)]),
        np.array([2**64 - 1], dtype=np.uint64),
        np.arange(12).reshape(3, 4).T,
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(20)[::-3],
        np.array(["pair", "ü"]),
    ],
    ids=repr,
)
def test_awkward_arrays_come_back_to_the_bit(array):
    assert same_to_the_bit(there_and_back(array), array)


def test_a_restored_array_can_be_written_to_and_shares_nothing():
    array = np.arange(3)
    packed = pack(array)
    one, other = unpack(packed), unpack(packed)
    one[0] = 99
    assert array.tolist() == other.tolist() == [0, 1, 2]


@pytest.mark.parametrize("number", [0, -1, 2**53, -(2**53), 2**53 + 1, -(2**53) - 1, 2**64, -(10**40)])
def test_a_whole_number_of_any_size_comes_back_exactly(number):
    assert same_to_the_bit(there_and_back({"n": [number]}), {"n": [number]})


def test_no_number_in_the_json_is_one_that_a_reader_may_round():
    def largest(value):
        if isinstance(value, dict | list):
            return max((largest(inner) for inner in (value.values() if isinstance(value, dict) else value)), default=0)
        return abs(value) if isinstance(value, int) else 0

    packed = pack({"a": [2**60, 2**53, -(2**70)], "b": np.array([2**60]), "c": np.uint64(2**63), "d": (2**54,)})
    assert largest(json.loads(json.dumps(packed))) == 2**53


@pytest.mark.parametrize(
    ("scalar", "plain"),
    [(np.int64(3), 3), (np.uint64(2**63), 2**63), (np.float64(0.1), 0.1), (np.float32(0.5), 0.5), (np.True_, True)],
)
def test_numpy_scalars_come_back_as_plain_numbers(scalar, plain):
    assert same_to_the_bit(there_and_back(scalar), plain)


def test_tuples_come_back_as_lists():
    assert there_and_back({"best": (1, (2, 3))}) == {"best": [1, [2, 3]]}


def test_packing_leaves_the_value_alone():
    value = {"a": [np.array([1.0, nan]), 2**60], "b": {"c": (1,)}}
    pack(value)
    assert list(value) == ["a", "b"]
    assert isinstance(value["a"][0], np.ndarray)
    assert value["a"][1] == 2**60
    assert value["b"] == {"c": (1,)}


@pytest.mark.parametrize("bit_generator", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_a_random_stream_goes_on_where_it_was(bit_generator):
    rng = np.random.Generator(bit_generator(5))
    rng.integers(10, size=7, dtype=np.int32)
    again = np.random.Generator(bit_generator(0))
    again.bit_generator.state = there_and_back(rng.bit_generator.state)
    assert again.random(100).tolist() == rng.random(100).tolist()


def test_a_checksum_survives_json_and_the_order_of_keys():
    packed = pack({"x": np.arange(3), "n": 2**60, "f": [0.1, None, True]})
    turned = dict(reversed(json.loads(json.dumps(packed)).items()))
    assert checksum(turned) == checksum(packed)


@pytest.mark.parametrize("changed", [{"n": 2}, {"n": "1"}, {"n": [1]}, {"m": 1}, {"n": 1, "m": 0}, {}])
def test_a_checksum_notices_any_change(changed):
    assert checksum(changed) != checksum({"n": 1})


def test_what_cannot_be_packed_is_refused():
    for value in (object(), np.array([None]), np.longdouble(1), 1j, {1, 2}):
        with pytest.raises(TypeError, match="memory is made of"):
            pack(value)
