"""What is imported only when it is needed."""

import json
import subprocess
import sys

import pytest

POLICIES = ['mb.policy("rank1-thompson")', "mb.CATALOGUE", 'mb.policy("uts").build(mb.bipartite(2, 2))']


@pytest.mark.parametrize("code", POLICIES)
@pytest.mark.sampled(1)
def test_policies_come_without_scipy(code):
    """numba imports its top-level package, which is small."""
    script = f"import json, sys, matchbandit as mb; {code}; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules = set(json.loads(done.stdout))
    assert not modules & {f"scipy.{part}" for part in ("special", "sparse", "optimize", "linalg", "stats")}
