import pytest

from matchbandit.experiments.claims import FAILS, HOLDS, IN_PART, gap_claims, published_claim, u1_claims
from matchbandit.results import Row

PLACES = (0.5, 0.6, 0.7, 0.8)


def rows(pair_elim, rank1_elim, noise=1.0):
    """Three runs a place around these means."""
    return [
        Row("s", policy, x, run, 100, mean + noise * (run - 1))
        for policy, means in (("pair-elim", pair_elim), ("rank1-elim", rank1_elim))
        for x, mean in zip(PLACES, means, strict=True)
        for run in range(3)
    ]


def verdicts(*args, **kwargs):
    return [claim.verdict for claim in gap_claims(rows(*args, **kwargs), "s", "here")]


def test_the_published_picture_confirms_all_three_claims():
    assert verdicts([10, 11, 12, 12], [15, 20, 30, 40]) == [HOLDS, HOLDS, HOLDS]


def test_the_opposite_picture_refutes_all_three():
    assert verdicts([15, 30, 60, 90], [14, 20, 30, 40]) == [FAILS, FAILS, FAILS]


def test_a_lead_within_the_noise_does_not_count():
    ours, theirs = [10, 11, 12, 12], [10, 20, 30, 40]
    assert verdicts(ours, theirs)[0] == IN_PART
    assert "not at 0.5" in gap_claims(rows(ours, theirs), "s", "here")[0].measured


def test_a_rising_ratio_holds_and_a_falling_one_does_not():
    (rising,) = u1_claims(rows([10, 10, 10, 10], [11, 12, 13, 14]), "s", "here")
    (falling,) = u1_claims(rows([10, 10, 10, 10], [14, 13, 12, 11]), "s", "here")
    assert (rising.verdict, falling.verdict) == (HOLDS, FAILS)
    assert "1.10 at u1 = 0.5, 1.40 at 0.8; rank correlation 1.00" in rising.measured


@pytest.mark.parametrize(("shift", "inside", "verdict"), [(0, 8, HOLDS), (5, 4, FAILS), (-50, 4, FAILS)])
def test_published_means_are_counted_inside_the_range(shift, inside, verdict):
    known = {
        "axis": "gap",
        "x": list(PLACES),
        "pair-elim": {"mean": [10, 11, 12, 12]},
        "rank1-elim": {"mean": [15 + shift, 20 + shift, 30 + shift, 40 + shift]},
    }
    claim = published_claim(rows([10, 11, 12, 12], [15, 20, 30, 40]), "s", known, "here")
    assert claim.measured.startswith(f"{inside} of 8")
    assert claim.verdict == verdict
