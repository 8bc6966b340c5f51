"""What every policy plays, on every engine and live, is what it has always played."""

import json

import numpy as np
import pytest
from golden import FILE, STEPS, arithmetic, cases, engines, play, talk

GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))
SAME_MACHINE = GOLDEN["arithmetic"] == arithmetic()
"""Elementary functions and linear algebra differ in their last bits between processors, and runs may then part."""
CASES = cases()


def compare(name, recorded, found):
    """Whole numbers exactly, floats to 1e-9; on another processor, means of runs within a factor of two."""
    assert recorded.keys() == found.keys()
    for key, numbers in recorded.items():
        if SAME_MACHINE and key != "regret":
            assert found[key] == numbers, f"{name}: {key}"
        elif SAME_MACHINE:
            np.testing.assert_allclose(found[key], numbers, rtol=1e-9, atol=1e-9, err_msg=name)
        elif key in ("regret", "rounds", "ended"):
            ours, theirs = np.mean(found[key], axis=0), np.mean(numbers, axis=0)
            assert (ours <= 2 * theirs + 5).all() and (theirs <= 2 * ours + 5).all(), f"{name}: {key}"  # noqa: PT018
        else:
            assert len(found[key]) == len(numbers), f"{name}: {key}"


ALL_REWARDS = ("pair-elim", "adaptive-matching", "uts", "cucb", "rank1-thompson")
"""A policy of each kind is played with every reward distribution; of the others, only Bernoulli rewards are quick."""


def is_long(name, policy):
    """Is it a case for the slow suite: several seconds, or compilation for one more reward distribution?"""
    return name == "identify clucb() many bernoulli" or not (name.endswith("bernoulli") or policy in ALL_REWARDS)


@pytest.mark.parametrize(
    ("name", "verb", "policy", "problem", "rounds", "options"),
    [pytest.param(*case, marks=pytest.mark.slow if is_long(case[0], case[2]) else (), id=case[0]) for case in CASES],
)
def test_numbers_are_the_golden_ones(name, verb, policy, problem, rounds, options):
    for engine in engines(policy, problem, options, rounds):
        at_most = min(rounds, STEPS) if engine == "step" else rounds
        compare(name, GOLDEN["numbers"][f"{name} {engine}"], play(verb, policy, problem, at_most, options, engine))
    compare(name, GOLDEN["numbers"][f"{name} live"], {"asked": talk(policy, problem, options, 10**6)})


def test_every_policy_has_golden_numbers():
    import matchbandit as mb

    assert {policy for _, _, policy, *_ in CASES} == set(mb.CATALOGUE)
