"""rank1-thompson on the four instances of docs/make/panel.py with the weakest items."""

import json
import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2] / "docs" / "make"
measure = runpy.run_path(str(HERE / "panel.py"))["measure"]
INSTANCES = {instance["name"]: instance for instance in json.loads((HERE / "panel.json").read_text())}
WORST = ("weak-1", "weak-2", "wide-weak", "weak-3")


@pytest.mark.slow
@pytest.mark.parametrize("name", WORST)
def test_weak_items_are_learnt(name):
    row, recorded = measure(INSTANCES[name], 10**5, 200), INSTANCES[name]["at 1e5"]
    assert row["linear_runs"] <= (4 if name == "weak-1" else 2)
    assert row["mean"] < 1.2 * recorded["mean"]
    assert row["max"] < 12 * row["median"]


@pytest.mark.slow
@pytest.mark.parametrize("name", WORST)
def test_no_run_is_linear_in_the_long_run(name):
    row = measure(INSTANCES[name], 10**6, 60)
    assert row["linear_runs"] == 0
    assert row["max"] < 12 * row["median"]


def test_a_short_run_on_weak_items_ends_near_the_best_pair():
    row = measure(INSTANCES["weak-2"], 20_000, 40)
    assert row["mean"] < 40  # always the worst pair: 140
