"""grab and pb-mhb beside the figures of the authors' code: docs/make/rivals.py has all."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import matchbandit as mb

HERE = Path(__file__).parents[2] / "docs" / "make"
spec = importlib.util.spec_from_file_location("rivals", HERE / "rivals.py")
assert spec is not None
assert spec.loader is not None
rivals = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rivals)
RUNS = 20
THEIR_RUNS = {("grab", 10**4): 6, ("grab", 10**5): 4, ("pb-mhb", 10**4): 2}
CASES = [
    (name, horizon, model, float(text.split()[0]))
    for (name, horizon), texts in rivals.AUTHORS.items()
    for model, text in zip(rivals.MODELS, texts, strict=True)
    if text
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "horizon", "model", "theirs"), CASES)
def test_the_regret_is_that_of_the_authors_code(name, horizon, model, theirs):
    """Within 25 %, or within three standard errors: their runs are so few that ours tell how far runs are apart."""
    _, options, shuffle = rivals.WAYS[name][0]
    family, policy = mb.family("click-model", model=model, shuffle=shuffle), mb.policy(name, **options)
    final = mb.simulate(family, policy, horizon=horizon, runs=RUNS, seed=2, checkpoints=[], workers=1).final
    error = final.std(ddof=1) * np.sqrt(1 / RUNS + 1 / THEIR_RUNS[name, horizon])
    assert abs(final.mean() - theirs) < max(0.25 * theirs, 3 * error)
