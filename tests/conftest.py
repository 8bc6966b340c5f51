import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No property fails because the machine is busy.
settings.register_profile("without a clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("without a clock")

# Tests run side by side: a matrix product that takes all cores for itself makes the others wait, and gains nothing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Compiled code of tests is kept here, not in the home of whoever runs them; `make clean` removes it.
os.environ.setdefault("MATCHBANDIT_CACHE", str(Path(__file__).parent.parent / ".numba_cache"))


@pytest.fixture
def sparse(monkeypatch):
    """Few items are treated as many: a list of played pairs and conjugate gradients."""
    from matchbandit import strengths
    from matchbandit.policies import rank1_thompson

    for module in (strengths, rank1_thompson):  # compiled code does not ask
        monkeypatch.setattr(module, "DENSE_BELOW", 0)


@pytest.fixture(params=["dense", "sparse"])
def storage(request):
    """How few items are treated: as few, or as many."""
    if request.param == "sparse":
        request.getfixturevalue("sparse")
    return request.param


collect_ignore = ["typing", "data"]  # for the type checker, and scripts of older versions
