"""States that version 0.8 stored load, and the policies go on as that version did."""

import json
from pathlib import Path

import pytest

import matchbandit as mb

# After 30 rounds, with the next round asked; then the 12 rounds that version 0.8 played.
STORED = json.loads((Path(__file__).parents[1] / "data" / "0.8" / "round_policies.json").read_text())


def rewards_of(pairs, number):
    return [((3 * i + 5 * j + number) % 5) / 4 for i, j in pairs]


@pytest.mark.parametrize("stored", STORED, ids=lambda s: f"{s['state']['policy']} {s['state']['options']}")
def test_a_state_of_0_8_continues_as_that_version_did(stored):
    policy = mb.restore(stored["state"])
    keys = policy.state()["memory"].keys()
    assert keys == stored["state"]["memory"].keys()
    for number, asked in enumerate(stored["asked"], start=30):
        pairs = policy.ask().tolist()
        assert pairs == asked
        policy.tell(pairs, rewards_of(pairs, number))
    assert policy.recommend().tolist() == stored["recommended"]
