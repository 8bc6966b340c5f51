import numpy as np
from reference.rows import rows_by_hand

from matchbandit.studies import click_models
from matchbandit.studies.claims import FAILS, HOLDS

LOST = {"rank1-thompson": (50, 100), "rank1-certify": (70, 90), "grab": (100, 300), "pb-mhb": (49, 102)}
MODELS = ("kdd:10", "yandex")


def runs(lost):
    """Three runs of each policy on two models."""
    return rows_by_hand(
        {"policy": policy, "model": model, "run": run, "regret": regret + run}
        for policy, regrets in lost.items()
        for model, regret in zip(MODELS, regrets, strict=True)
        for run in range(3)
    )


def test_each_rival_is_judged_on_every_model():
    rows = runs({**LOST, "cts-beta": (80, 80), "cucb": (30, 60)})
    claims = {claim.claim: claim for claim in click_models.claims(rows)}
    assert [claim.verdict for claim in claims.values()] == [HOLDS, FAILS, FAILS, HOLDS]
    less = "rank1-thompson loses less on"
    grab, cts_beta = (claims[f"rank1-thompson loses less than {rival}"] for rival in ("grab", "cts-beta"))
    assert grab.measured == f"{less} 2 of 2 models, and more on 0; grab loses 2 to 3 times as much"
    assert cts_beta.measured.startswith(f"{less} 1 of 2 models, and more on 1;")
    assert claims["pb-mhb loses about as much as rank1-thompson"].threshold.startswith("between 1/1.5 and 1.5")


def test_a_peer_that_loses_twice_as_much_on_one_model_is_not_alike():
    rows = runs({**LOST, "pb-mhb": (100, 101), "cts-beta": (80, 80), "cucb": (30, 60)})
    assert click_models.claims(rows)[-1].verdict == FAILS


def test_the_figure_has_a_row_for_each_model_and_a_mark_for_each_policy():
    (chart,) = click_models.charts(runs(LOST))
    assert chart.rows == MODELS
    assert [line.label for line in chart.lines] == ["rank1-thompson †", "rank1-certify", "grab †", "pb-mhb †"]
    assert [line.hollow for line in chart.lines] == [True, False, True, True]
    assert np.array([line.y for line in chart.lines]).tolist() == [[a + 1, b + 1] for a, b in LOST.values()]
    heads, table = chart.numbers()
    assert heads == ("", "rank1-thompson †", "rank1-certify", "grab †", "pb-mhb †")
    assert table == (("kdd:10", "51", "71", "101", "50"), ("yandex", "101", "91", "301", "103"))


def test_it_plays_matchings_on_all_models():
    by_name, yandex = click_models.studies(2)
    assert all(point.spec.build(point.problem.graph, horizon=10).selection == "matching" for point in by_name.points)
    assert len(by_name.points) == 12 * 6
    assert {point.problem.parameters["model"] for point in yandex.points} == {"yandex"}
