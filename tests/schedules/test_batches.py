from math import ceil, floor, sqrt

import pytest

from matchbandit.schedules import batches, next_batch

CASES = {
    "4 players": dict(length=3, first=2, items=4, share=0.25, needed=15.0),
    "20 players": dict(length=19, first=2, items=20, share=0.25, needed=20.0),
    "8×8, pairs": dict(length=64, first=1, items=16, share=0.25, needed=16.0),
    "2×5": dict(length=5, first=2, items=7, share=0.25, needed=9.0),
    "all explore": dict(length=3, first=2, items=4, share=1.0, needed=15.0),
    "few explore": dict(length=10, first=1, items=5, share=0.01, needed=30.0),
    "little needed": dict(length=45, first=1, items=10, share=0.25, needed=1.0),
}
cases = pytest.mark.parametrize("case", CASES)


def unrolled(until=10**12, **case):
    """Rounds, rounds explored and tours after every batch, and the batch."""
    sampled = explored = tours = 0
    while sampled < until:
        batch = next_batch(sampled, explored, tours, **case)
        sampled, explored, tours = sampled + batch.rounds, explored + batch.explored, tours + batch.tours
        yield sampled, explored, tours, batch


@cases
def test_it_begins_with_its_first_tours_and_nothing_else(case):
    sampled, explored, tours, _ = next(iter(unrolled(**CASES[case])))
    assert tours == CASES[case]["first"]
    assert sampled == explored == tours * CASES[case]["length"]


@cases
def test_all_along_exploring_keeps_to_its_share_and_below_the_cap(case):
    asked = CASES[case]
    start = asked["first"] * asked["length"]
    for t, explored, _, batch in list(unrolled(**asked))[1:]:
        assert 0 < batch.explored <= batch.rounds
        assert batch.explored <= asked["share"] * batch.rounds * (1 + 1e-12)
        assert explored - start <= asked["share"] * (t - start) * (1 + 1e-12)
        assert explored - start <= 8 * sqrt(t * asked["needed"]) * (1 + 1e-12)


@cases
def test_no_batch_is_longer_than_share_and_cap_ask_for(case):
    asked = CASES[case]
    start, sampled = asked["first"] * asked["length"], 0
    for t, explored, _, batch in unrolled(**asked):
        if sampled:
            by_share = ceil(batch.explored / asked["share"])
            within_cap = explored - start <= 8 * sqrt((t - 1) * asked["needed"])
            assert batch.rounds == by_share or not within_cap
        sampled = t


@cases
@pytest.mark.parametrize("capped", [True, False])
def test_whole_tours_are_1_in_32_of_the_rounds_explored(case, capped):
    asked = CASES[case] if capped else {**CASES[case], "needed": None, "share": 1.0}
    before = 0
    for _, explored, tours, batch in unrolled(**asked):
        assert tours >= floor(explored / 32 / asked["length"])
        if before:
            assert batch.tours * asked["length"] <= batch.explored
            if batch.tours:  # no more than fit, but for the rounds that the tours themselves take
                assert (tours - 1) * asked["length"] <= explored / 32
        before = explored


@cases
@pytest.mark.parametrize("capped", [True, False])
def test_every_batch_adds_its_share_and_little_more(case, capped):
    asked = CASES[case] if capped else {**CASES[case], "needed": None, "share": 1.0}
    share = 1 / 40 if capped else 1 / 20
    before, number = 0, 0
    for _, explored, _, batch in unrolled(**asked):
        if before:
            assert batch.explored >= max(asked["items"], share * before)
            assert batch.explored <= max(asked["items"], share * before + 1, batch.tours * asked["length"])
        before, number = explored, number + 1
    assert number < 1500  # up to round 10^12: it costs milliseconds


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_identification_has_no_cap(share):
    asked = {**CASES["4 players"], "needed": None, "share": share}
    for t, explored, _, batch in unrolled(**asked):
        assert t == explored or batch.rounds == batch.explored or share < 1
        assert batch.rounds <= ceil(batch.explored / share)
        assert explored >= share * t - 1000


def test_the_numbers_of_the_docs():
    assert (batches.GROWTH, batches.GROWTH_FOR_REGRET, batches.TOUR_SHARE, batches.MAX_EXPLORED_FACTOR) == (
        1 / 20,
        1 / 40,
        1 / 32,
        8.0,
    )


def test_by_hand():
    # 1000 rounds explored of 10^5: 25 more; 4 tours of 3 are behind 1025/32 = 32.03, of which 10 fit.
    found = next_batch(10**5, 1000, 4, length=3, first=2, items=4, share=0.25, needed=15.0)
    assert found == (100, 25, 6)
    # (1025 − 6)/8 = 127.4; squared, over 15: 1082. Where only 600 rounds are gone, it waits for round 1082.
    assert next_batch(600, 1000, 10, length=3, first=2, items=4, share=0.25, needed=15.0).rounds == 1082 - 600
