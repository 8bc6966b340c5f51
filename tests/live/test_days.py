"""300 days of a league whose results are lost or late: what that costs is measured by `docs/make/league.py`."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "make" / "league.py"
_spec = importlib.util.spec_from_file_location("league_days", SCRIPT)
assert _spec is not None
assert _spec.loader is not None
days = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(days)
WITHIN = 1.15


def test_a_league_learns_from_what_it_is_told():
    told, untold = (days.played(1, lost=lost, late=0.0, days=40) for lost in (0.0, 1.0))
    assert (told >= -1e-9).all()
    assert told[-20:].mean() < 0.75 * untold[-20:].mean()
    assert told[0] == untold[0]  # the same players, the same first proposal


def test_what_is_late_comes_in_the_end():
    """All of it three days late: the first days are those of a league that hears nothing, and then it learns."""
    late = days.played(1, lost=0.0, late=1.0, days=40)
    untold = days.played(1, lost=1.0, late=0.0, days=40)
    assert late[:4].tolist() == untold[:4].tolist()  # the first results come on the evening of the fourth day
    assert late[4] != untold[4]
    assert late[-20:].mean() < 0.75 * untold[-20:].mean()


def test_the_interval_of_a_ratio_covers_the_truth():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(40):
        one, other = rng.normal(110, 15, 40), rng.normal(100, 15, 40)
        _, low, high = days.ratio(one, other)
        covered += low <= 1.1 <= high
    assert covered >= 33  # 38 are expected; fewer than 33 once in 500 times


def test_as_measured_late_results_cost_less_than_15_percent():
    rows = {row["fate"]: row for row in json.loads(SCRIPT.with_suffix(".json").read_text(encoding="utf-8"))}
    ratio, low, high = rows["late"]["ratio"]
    assert rows["late"]["leagues"] >= 40
    assert low < ratio < high < WITHIN


@pytest.mark.slow
def test_late_results_cost_less_than_15_percent():
    found = [{key: regret.sum() for key, regret in days.fates(100 + seed).items()} for seed in range(16)]
    late, lost, whole = (np.array([one[key] for one in found]) for key in ("late", "lost", "all"))
    _, _, high = days.ratio(late, lost)
    assert high < WITHIN
    assert days.ratio(lost, whole)[0] < 1.2  # a tenth fewer results
