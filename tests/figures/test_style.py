import os
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.figures import Chart, Line, style_of, styles_of
from matchbandit.figures.style import DARK_GREY, GREY, PALETTE, POLICIES, spread_apart

PRACTICAL = [
    "simple-adaptive-matching", "escb", "ols-ucb", "cucb", "cts-beta", "cts-gaussian", "rank1-certify",
    "rank1-thompson",
]  # fmt: skip
PAIRS = ["pair-elim", "rank1-elim", "uts", "kl-ucb", "rank1-elim-kl", "rank1-thompson", "rank1-certify", "uniform"]
ANSWERS = [name for name, kind in mb.CATALOGUE.items() if "identification" in kind.capabilities.goals]
TOGETHER = [PRACTICAL, PAIRS, ANSWERS]
# What is seen without one kind of cones, in linear light (Machado, Oliveira and Fernandes 2009, severity 1).
EYES = {
    "all colours": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
# OKLab (Ottosson 2020), in which 0.02 is a difference that one just sees.
TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(colour):
    parts = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def apart(one, other, eyes):
    seen = [TO_LAB @ np.cbrt(TO_LMS @ np.clip(EYES[eyes] @ linear(colour), 0, 1)) for colour in (one, other)]
    return np.linalg.norm(seen[0] - seen[1])


def contrast(one, other):
    light = sorted(float(np.array([0.2126, 0.7152, 0.0722]) @ linear(colour)) for colour in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


def test_the_measures_are_right():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert apart("#ff0000", "#7f7f00", "no green") < 0.5 * apart("#ff0000", "#7f7f00", "all colours")
    assert apart("#000000", "#ffffff", "all colours") == pytest.approx(1, abs=1e-3)


def test_every_policy_of_the_catalogue_has_a_look_of_its_own():
    assert list(POLICIES) == list(mb.CATALOGUE)
    assert len({(look.colour, look.dash, look.marker) for look in POLICIES.values()}) == len(POLICIES)


def test_whole_lines_are_policies_with_a_proof():
    for name, kind in mb.CATALOGUE.items():
        assert style_of(name).dash == ("solid" if kind.capabilities.proved else "dashed"), name


@pytest.mark.parametrize("policies", TOGETHER, ids=["practical", "pairs", "identification"])
def test_policies_that_are_drawn_together_are_told_apart_by_everyone(policies):
    looks = [style_of(name) for name in policies]
    assert len({look.marker for look in looks}) == len(policies)  # in grey, too
    for one, other in combinations(looks, 2):
        for eyes in EYES:
            assert apart(one.colour, other.colour, eyes) > 0.09
            assert apart(one.dark, other.dark, eyes) > 0.07


def test_every_colour_is_seen_on_its_ground():
    for light, dark in [*PALETTE.values(), (GREY, DARK_GREY)]:
        assert contrast(light, "#ffffff") >= 3
        assert contrast(dark, "#15181c") >= 3


def test_a_name_of_ones_own_has_the_same_look_in_every_process_and_no_policys():
    looks = {name: style_of(name) for name in ("mine", "yours", "my_policies:Ucb1", "")}
    script = f"from matchbandit.figures.style import style_of; print([style_of(name) for name in {list(looks)}])"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        printed = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        assert printed.stdout.strip() == str(list(looks.values()))
    assert not set(looks.values()) & set(POLICIES.values())


def line(label, **more):
    return Line(label, np.array([1.0, 2.0]), np.array([1.0, 2.0]), **more)


def drawn(*lines, **more):
    return styles_of(Chart("c", "", "", "", lines, **more))


def test_names_of_their_own_share_no_colour_and_no_marker_in_a_chart_and_leave_those_of_policies():
    looks = drawn(*(line(f"scene {k}") for k in range(9)), line("uts", key="uts"))
    assert len({look.colour for look in looks}) == 10
    assert len({look.marker for look in looks}) == 10
    assert looks[-1] == style_of("uts")
    assert len(drawn(*(line(f"scene {k}") for k in range(30)))) == 30


def test_lines_of_one_policy_share_its_colour_and_differ_in_dash_and_marker():
    looks = drawn(*(line(f"pair-elim, growth = {k}", key="pair-elim") for k in range(6)))
    assert {look.colour for look in looks} == {style_of("pair-elim").colour}
    assert len({(look.dash, look.marker) for look in looks}) == 6
    assert looks[0] == style_of("pair-elim")


def test_a_dash_that_is_said_is_taken_and_a_reference_without_a_key_is_grey():
    said, grey, bound = drawn(
        line("a", key="uts", dash="dotted"),
        line("c N log N", kind="reference"),
        line("theorem", key="uts", kind="reference", dash="dashed"),
    )
    assert (said.colour, said.dash) == (style_of("uts").colour, "dotted")
    assert (grey.colour, grey.dark, grey.dash) == (GREY, DARK_GREY, "solid")
    assert (bound.colour, bound.dash) == (style_of("uts").colour, "dashed")


def test_published_points_have_a_marker_for_each_label():
    published = [line(label, key=key, kind="points", hollow=True) for label in "ab" for key in ("uts", "escb")]
    looks = drawn(*published)
    assert looks[0].marker == looks[1].marker != looks[2].marker == looks[3].marker
    assert looks[0].colour != looks[1].colour


def test_heights_that_are_apart_stay():
    assert spread_apart([0.1, 0.2, 0.5], 0.1) == [0.1, 0.2, 0.5]
    assert spread_apart([], 0.1) == []
    assert spread_apart([0.7], 0.1) == [0.7]


def test_heights_are_spread_around_their_mean_and_keep_their_order():
    assert np.allclose(spread_apart([0.5, 0.5, 0.5], 0.1), [0.4, 0.5, 0.6])
    rng = np.random.default_rng(3)
    for _ in range(200):
        heights = np.sort(rng.random(rng.integers(1, 12)))
        spread = spread_apart(heights, 0.07)
        assert (np.diff(spread) > 0.07 - 1e-9).all()
        assert np.isclose(np.mean(spread), heights.mean())


def test_heights_of_several_sizes_stay_inside_their_room():
    rng = np.random.default_rng(4)
    for _ in range(200):
        count = int(rng.integers(2, 9))
        tall = rng.uniform(0.02, 0.1, count)
        heights = np.sort(rng.choice([0.0, 0.01, 0.5, 0.99, 1.0], count))
        spread = np.array(spread_apart(heights, (tall[1:] + tall[:-1]) / 2, low=0.0, high=1.0))
        assert (np.diff(spread) > (tall[1:] + tall[:-1]) / 2 - 1e-9).all()
        assert spread[0] > 0
        assert spread[-1] < 1
