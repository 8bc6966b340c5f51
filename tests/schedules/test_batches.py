from math import ceil, floor

import pytest

from matchbandit.schedules import batches, next_batch, next_regret_batch

CASES = {
    "4 players": dict(length=3, first=2, items=4),
    "20 players": dict(length=19, first=2, items=20),
    "8×8, pairs": dict(length=64, first=1, items=16),
    "2×5": dict(length=5, first=2, items=7),
    "5 players, pairs": dict(length=10, first=1, items=5),
}
cases = pytest.mark.parametrize("case", CASES)


def unrolled(until=10**12, **case):
    """Rounds and tours before every batch, and the batch."""
    explored = tours = 0
    while explored < until:
        batch = next_batch(explored, tours, **case)
        yield explored, tours, batch
        explored, tours = explored + batch.rounds, tours + batch.tours


@cases
def test_identification_begins_with_its_first_tours_and_nothing_else(case):
    _, _, batch = next(unrolled(**CASES[case]))
    assert batch == (CASES[case]["first"] * CASES[case]["length"], CASES[case]["first"])


@cases
def test_whole_tours_are_1_in_32_of_the_rounds(case):
    length = CASES[case]["length"]
    for explored, tours_before, batch in unrolled(**CASES[case]):
        rounds, tours = explored + batch.rounds, tours_before + batch.tours
        assert tours >= floor(rounds / 32 / length)
        if explored:
            assert batch.tours * length <= batch.rounds
            if batch.tours:  # no more than fit, but for the rounds that the tours themselves take
                assert (tours - 1) * length <= rounds / 32


@cases
def test_every_batch_of_identification_adds_1_in_20_and_little_more(case):
    items, length = CASES[case]["items"], CASES[case]["length"]
    unrolled_batches = list(unrolled(**CASES[case]))
    for explored, _, batch in unrolled_batches[1:]:
        assert batch.rounds >= max(items, explored / 20)
        assert batch.rounds <= max(items, explored / 20 + 1, batch.tours * length)
    assert len(unrolled_batches) < 800  # up to round 10^12: it costs milliseconds


def test_identification_by_hand():
    # 1000 rounds: 50 more; 4 tours of 3 are behind 1050/32 = 32.8, of which 10 fit.
    assert next_batch(1000, 4, length=3, first=2, items=4) == (50, 6)
    # Tours that are late take as long as they take.
    assert next_batch(1000, 0, length=3, first=2, items=4) == (50, 10)
    assert next_batch(3200, 0, length=100, first=1, items=4) == (160, 1)
    assert next_batch(6400, 0, length=100, first=1, items=4) == (320, 2)
    assert next_batch(64, 0, length=1, first=1, items=1) == (4, 2)


# Regret


def test_regret_by_hand():
    # X = 3000: 100 rounds explore. 4 · 6/3000 = 0.008 is less than the share, and 20 · 10/3000 = 0.067 more.
    assert next_regret_batch(3000.0, 6, share=1 / 16, needed=10.0) == (1500, 100)
    # X = 30: half a round for each item is more than 30/30. 4 · 6/30 = 0.8 is more than a half.
    assert next_regret_batch(30.0, 6, share=1 / 16, needed=10.0) == (3, 3)
    # X = 240: 4 · 6/240 = 1/10 is above the share; X/30 = 8.
    assert next_regret_batch(240.0, 6, share=1 / 16, needed=10.0) == (72, 8)
    # X = 60000: 20 · 10/60000 = 1/300 is below the share; X/30 = 2000.
    assert next_regret_batch(60_000.0, 6, share=1 / 16, needed=10.0) == (598_000, 2000)
    # More than a half counts as a half; nothing examined yet; seven items.
    assert next_regret_batch(300.0, 6, share=1.0, needed=1e9) == (10, 10)
    assert next_regret_batch(0.0, 7, share=1e-6, needed=10.0) == (4, 4)


@pytest.mark.parametrize("items", [2, 7, 40])
@pytest.mark.parametrize("share", [1e-6, 1 / 16, 0.25, 1.0])
@pytest.mark.parametrize("needed", [0.01, 1.0, 30.0])
def test_the_part_that_explores_keeps_to_its_bounds(items, share, needed):
    examined = 0.0
    while examined < 1e12:
        guesses, explored = next_regret_batch(examined, items, share=share, needed=needed)
        assert explored == ceil(max(items / 2, examined / 30))
        rounds, x = guesses + explored, max(1.0, examined)
        most, least = 20 * needed / x, max(share, 4 * items / x)
        assert guesses >= explored  # a swap is compared with the best guess
        assert explored <= min(0.5, most) * rounds * (1 + 1e-12)
        assert explored <= least * rounds * (1 + 1e-12)
        assert explored >= min(0.5, most, least) * (rounds - 1) * (1 - 1e-12)  # and no batch is longer than that
        examined += explored


def test_the_rounds_of_the_best_guess_never_outgrow_the_square_of_what_is_examined():
    # Without an end, X that explore take X²/(40 needed) rounds: O(√(T log T)) of T rounds explore.
    examined = total = 0
    while total < 1e15:
        guesses, explored = next_regret_batch(float(examined), 8, share=1 / 16, needed=20.0)
        examined, total = examined + explored, total + guesses + explored
        if examined > 10**5:
            assert 0.4 < total / (examined**2 / (20 * 20)) < 0.6


def test_the_numbers_of_the_docs():
    assert (batches.GROWTH, batches.GROWTH_FOR_REGRET, batches.TOUR_SHARE) == (1 / 20, 1 / 30, 1 / 32)
    assert (batches.EARLY_TOUR_SHARE, batches.FORCED_SHARE, batches.MAX_SHARE) == (1 / 8, 1 / 8, 1 / 2)
    assert (batches.EARLY_ROUNDS_PER_ITEM, batches.ROUNDS_PER_NAT, batches.EARLY_TOUR_PLAYS) == (4.0, 20.0, 32)
