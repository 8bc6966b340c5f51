"""What is imported only when it is needed."""

import json
import subprocess
import sys

import pytest

LIGHT_MODULES = "errors, formatting, graphs, past_results, rewards, seeding"
POLICIES = ['mb.policy("rank1-thompson")', "mb.CATALOGUE", 'mb.policy("uts").build(mb.bipartite(2, 2))']


@pytest.mark.parametrize("code", POLICIES)
@pytest.mark.sampled(1)
def test_policies_come_without_scipy(code):
    """numba imports its top-level package, which is small."""
    modules = modules_after(f"import matchbandit as mb; {code}")
    assert not modules & {f"scipy.{part}" for part in ("special", "sparse", "optimize", "linalg", "stats")}


def test_modules_of_data_import_neither_numba_nor_scipy():
    modules = modules_after(f"from matchbandit import {LIGHT_MODULES}")
    assert "matchbandit.rewards" in modules
    assert not modules & {"numba", "scipy"}


def modules_after(code):
    """What a new process has imported after this code."""
    script = f"{code}; import json, sys; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))
