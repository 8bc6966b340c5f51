"""The shadow's report, by recorded facts."""

import pytest
from small_league import SmallLeague

from matchbandit.live.shadow import shadow_report

PEOPLE = ["ann", "bob", "cem", "dee"]


def recorded(club, pairs, expected, shadow):
    club.propose(*pairs, policy="rank1-thompson", expected=expected, shadow=shadow)


def test_a_report_by_hand():
    club = SmallLeague(players=PEOPLE)
    assert shadow_report(club.log).shadow is None
    assert "no shadow yet" in shadow_report(club.log).sentence
    cucb = {"policy": "cucb"}
    recorded(club, [(1, 2), (3, 4)], 9.0, {"policy": "escb", "pairs": [[1, 2]], "expected": 0.0, "common": 1})
    recorded(club, [(1, 2), (3, 4)], 1.0, {**cucb, "pairs": [[1, 2], [3, 4]], "expected": 1.0, "common": 2})
    recorded(club, [(1, 2), (3, 4)], 1.0, {**cucb, "pairs": [[1, 3], [2, 4]], "expected": 0.5, "common": 0})
    recorded(club, [(1, 2), (3, 4)], 1.2, {**cucb, "pairs": [[1, 4], [2, 3]], "expected": 0.9, "common": 0})
    recorded(club, [(1, 2), (3, 4)], 1.0, {**cucb, "error": "too many"})
    report = shadow_report(club.log)
    assert (report.live, report.shadow) == ("rank1-thompson", "cucb")
    assert (report.proposals, report.equal, report.pairs, report.common, report.failed) == (3, 1, 6, 2, 1)
    assert report.live_expects == pytest.approx(3.2 / 3)
    assert report.shadow_expects == pytest.approx(0.8)
    assert report.difference == pytest.approx(-0.8 / 3)
    assert report.standard_error == pytest.approx(0.2517 / 3**0.5, rel=1e-3)
    assert "agreed with rank1-thompson on 2 of 6 pairs (33%), and 1 time wholly" in report.sentence
    assert "It could not decide 1 time." in report.sentence


def test_fewer_pairs_are_not_the_same_proposal():
    club = SmallLeague(players=PEOPLE)
    recorded(club, [(1, 2), (3, 4)], 1.0, {"policy": "kl-ucb", "pairs": [[1, 2]], "expected": 0.6, "common": 1})
    report = shadow_report(club.log)
    assert (report.equal, report.common, report.standard_error) == (0, 1, None)


def test_a_shadow_that_never_decides():
    club = SmallLeague(players=PEOPLE)
    recorded(club, [(1, 2)], 1.0, {"policy": "escb", "error": "too many"})
    assert "could not decide, in 1 proposal" in shadow_report(club.log).sentence


def test_a_shadow_that_plays_along():
    club = SmallLeague(players=PEOPLE, shadow="cts-beta")
    for number in range(1, 8):
        data = club.ask()
        club.tell(number, [(a, b, 1) for a, b in data["pairs"]])
    report = shadow_report(club.log)
    assert report.proposals == 7
    assert report.failed == 0
    assert 0 <= report.common <= report.pairs == 14
