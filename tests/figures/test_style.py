import numpy as np

import matchbandit as mb
from matchbandit.figures import Chart, Series, style_of, styles_of
from matchbandit.figures.style import DARK_GREY, GREY, POLICIES, spread_apart


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
