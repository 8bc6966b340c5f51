"""The palette: colours of policies that are drawn together differ for readers who do not see red or green."""

from itertools import combinations

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.figures import style_of
from matchbandit.figures.style import DARK_GREY, GREY, PALETTE

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
