from itertools import combinations

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.figures import Chart, Series, style_of, styles_of
from matchbandit.figures.style import DARK_GREY, GREY, PALETTE, POLICIES, spread_apart

TOGETHER = {
    "practical": ["simple-adaptive-matching", "escb", "ols-ucb", "cucb", "cts-beta", "cts-gaussian", "rank1-certify",
                  "rank1-thompson"],
    "pairs": ["pair-elim", "rank1-elim", "uts", "kl-ucb", "rank1-elim-kl", "rank1-thompson", "rank1-certify",
              "uniform"],
    "answers": [name for name, kind in mb.CATALOGUE.items() if "identification" in kind.capabilities.goals],
}  # fmt: skip
# What is seen without one kind of cones, in linear light (Machado, Oliveira and Fernandes 2009, severity 1).
EYES = {
    "all colours": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}
# OKLab (Ottosson 2020), in which 0.02 is a difference that one just sees.
TO_LMS = np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                   [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
TO_LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
                   [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip


def linear(colour):
    parts = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def difference(one, other, eyes):
    seen = [TO_LAB @ np.cbrt(TO_LMS @ np.clip(EYES[eyes] @ linear(colour), 0, 1)) for colour in (one, other)]
    return np.linalg.norm(seen[0] - seen[1])


def contrast(one, other):
    light = sorted(float(np.array([0.2126, 0.7152, 0.0722]) @ linear(colour)) for colour in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


@pytest.mark.parametrize("policies", TOGETHER.values(), ids=TOGETHER)
def test_style_of_policies_drawn_together_differs_for_everyone(policies):
    looks = [style_of(name) for name in policies]
    assert len({look.marker for look in looks}) == len(policies)  # in grey, too
    for one, other in combinations(looks, 2):
        for eyes in EYES:
            assert difference(one.colour, other.colour, eyes) > 0.09
            assert difference(one.dark, other.dark, eyes) > 0.07


def test_palette_has_contrast_to_its_background():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for light, dark in [*PALETTE.values(), (GREY, DARK_GREY)]:
        assert contrast(light, "#ffffff") >= 3
        assert contrast(dark, "#15181c") >= 3


def test_style_of_each_policy_is_its_own_and_solid_if_proved():
    assert list(POLICIES) == list(mb.CATALOGUE)
    assert len({(look.colour, look.dash, look.marker) for look in POLICIES.values()}) == len(POLICIES)
    for name, kind in mb.CATALOGUE.items():
        assert style_of(name).dash == ("solid" if kind.capabilities.proved else "dashed"), name
    assert style_of("mine") == style_of("mine")
    assert not {style_of(name) for name in ("mine", "yours", "my_policies:Ucb1", "")} & set(POLICIES.values())
    assert style_of("mine").marker == "square"  # in every process


def line(label, **more):
    return Series(label, np.array([1.0, 2.0]), np.array([1.0, 2.0]), **more)


def looks_of(*lines):
    return styles_of(Chart("c", "", "", "", lines))


def test_styles_of_other_names_share_no_colour_and_no_marker_and_leave_those_of_policies():
    looks = looks_of(*(line(f"scene {k}") for k in range(9)), line("uts", key="uts"))
    assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == 10
    assert looks[-1] == style_of("uts")
    assert len(looks_of(*(line(f"scene {k}") for k in range(30)))) == 30


def test_styles_of_one_policy_share_its_colour_and_differ_in_dash_and_marker():
    looks = looks_of(*(line(f"pair-elim, growth = {k}", key="pair-elim") for k in range(6)))
    assert {look.colour for look in looks} == {style_of("pair-elim").colour}
    assert len({(look.dash, look.marker) for look in looks}) == 6
    assert looks[0] == style_of("pair-elim")


def test_styles_of_references_and_published_points_follow_key_and_label():
    dotted, grey, bound = looks_of(
        line("a", key="uts", dash="dotted"), line("c N log N", kind="reference"),
        line("theorem", key="uts", kind="reference", dash="dashed"),
    )  # fmt: skip
    assert (dotted.colour, dotted.dash) == (style_of("uts").colour, "dotted")
    assert (grey.colour, grey.dark, grey.dash) == (GREY, DARK_GREY, "solid")
    assert (bound.colour, bound.dash) == (style_of("uts").colour, "dashed")
    published = [line(label, key=key, kind="points", is_hollow=True) for label in "ab" for key in ("uts", "escb")]
    looks = looks_of(*published)
    assert looks[0].marker == looks[1].marker != looks[2].marker == looks[3].marker
    assert looks[0].colour != looks[1].colour


def test_spread_apart_keeps_order_gaps_and_limits():
    assert spread_apart([0.1, 0.2, 0.5], 0.1, low=0, high=1) == [0.1, 0.2, 0.5]
    assert spread_apart([], 0.1, low=0, high=1) == []
    assert np.allclose(spread_apart([0.5, 0.5, 0.5], 0.1, low=0, high=1), [0.4, 0.5, 0.6])
    rng = np.random.default_rng(4)
    for _ in range(200):
        tall = rng.uniform(0.02, 0.1, int(rng.integers(2, 9)))
        heights = np.sort(rng.choice([0.0, 0.01, 0.5, 0.99, 1.0], len(tall)))
        gaps = (tall[1:] + tall[:-1]) / 2
        spread = np.array(spread_apart(heights.tolist(), gaps.tolist(), low=0.0, high=1.0))
        assert (np.diff(spread) > gaps - 1e-9).all()
        assert 0 < spread[0] <= spread[-1] < 1
