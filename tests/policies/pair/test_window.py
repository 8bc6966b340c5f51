import pytest

from matchbandit.policies.pair.window import Window


@pytest.mark.parametrize(("number", "length"), [(0, 2), (1, 4), (2, 16), (3, 256), (4, 65536)])
def test_a_window_ends_once_its_samples_exceed_its_length(number, length):
    assert not Window(number, length).over
    assert Window(number, length + 1).over


@pytest.mark.parametrize("sweep", [1, 2, 3, 4, 12])
@pytest.mark.parametrize("samples", [0, 1, 12, 16])
def test_the_sweeps_left_are_the_fewest_that_end_a_window(sweep, samples):
    left = Window(2, samples).sweeps_left(sweep)
    assert Window(2, samples + left * sweep).over
    assert not Window(2, samples + (left - 1) * sweep).over
