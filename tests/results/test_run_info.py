import json
from datetime import UTC, datetime

import numpy as np
import pytest
from reference.made import made_about

import matchbandit as mb
from matchbandit.results import RunInfo


def test_about_reads_like_a_record_and_like_a_dict():
    told = mb.simulate(mb.Bipartite([0.9, 0.3], [0.8, 0.4]), "pair-elim", horizon=10, runs=2, seed=3).about
    assert (told.policy, told["policy"], told.get("policy")) == ("pair-elim",) * 3
    assert (told.horizon, told.stop, told.get("stop"), "stop" in told) == (10, None, None, False)
    assert {**told} == told.describe()
    assert RunInfo.from_dict(told.describe()) == told
    assert json.loads(json.dumps(told.describe())) == told
    with pytest.raises(KeyError):
        told["stop"]
    with pytest.raises(AttributeError):
        told.policy = "uts"
    assert told.version == mb.__version__
    assert told.numpy == np.__version__
    assert datetime.fromisoformat(told.date) <= datetime.now(UTC)


def test_about_is_the_same_on_any_day_but_not_for_another_seed():
    one = made_about(date="2020-01-01T00:00:00+00:00")
    assert one == made_about(date="2021-01-01T00:00:00+00:00") == made_about()
    assert one != made_about(seed=8)
    assert one != made_about(first_run=2)
    assert one != 7


def test_runs_are_numbered_from_0_from_the_first_or_as_they_say():
    assert made_about().numbers(3) == [0, 1, 2]
    assert made_about(first_run=5).numbers(2) == [5, 6]
    assert made_about(first_run=5, run_numbers=[6, 9]).numbers(2) == [6, 9]
