import numpy as np
from matplotlib.figure import Figure

from matchbandit.figures.style import COLOURS, MARKS, names_at_the_ends, spread_apart


def test_heights_that_are_apart_stay():
    assert spread_apart([0.1, 0.2, 0.5], 0.1) == [0.1, 0.2, 0.5]
    assert spread_apart([], 0.1) == []


def test_heights_are_spread_around_their_mean_and_keep_their_order():
    assert np.allclose(spread_apart([0.5, 0.5, 0.5], 0.1), [0.4, 0.5, 0.6])
    rng = np.random.default_rng(3)
    for _ in range(200):
        heights = np.sort(rng.random(rng.integers(1, 12)))
        spread = spread_apart(heights, 0.07)
        assert (np.diff(spread) > 0.07 - 1e-9).all()
        assert np.isclose(np.mean(spread), heights.mean())


def test_names_stand_beside_the_ends_of_their_curves():
    axes = Figure().add_subplot()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 10)
    names_at_the_ends(axes, [("high", 1.0, 9.0, "C0"), ("low", 1.0, 1.0, "C1"), ("lower", 1.0, 1.0, "C2")], between=0.1)
    heights = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert np.isclose(heights["high"], 0.9)
    assert np.isclose(abs(heights["low"] - heights["lower"]), 0.1)


def test_every_curve_of_a_picture_has_a_colour_and_a_mark_of_its_own():
    assert len(set(COLOURS)) == len(set(MARKS)) == 10
