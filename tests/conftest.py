import os
import signal
import threading
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

# No property fails because the machine is busy.
settings.register_profile("without a clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("without a clock")

# Tests press Ctrl-C, which programs in the background and below nohup may have been started to ignore.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Tests run side by side: a matrix product that takes all cores for itself makes the others wait, and gains nothing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Compiled code of tests is kept here, not in the home of whoever runs them; `make clean` removes it.
os.environ.setdefault("MATCHBANDIT_CACHE", str(Path(__file__).parent.parent / ".numba_cache"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Choose the sampled cases, group the tests for the worker processes, and put what compiles most first."""
    sample(items)
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(group_of(item)))
    items.sort(key=lambda item: order_of(item.nodeid))


def pytest_collection_finish(session):
    """Complain if groups mean nothing: everything would be compiled and started several times."""
    is_worker, items = "PYTEST_XDIST_WORKER" in os.environ, session.items
    if is_worker and session.config.getoption("loadgroup", False) and items and "@" not in items[0].nodeid:
        raise pytest.UsageError(
            "pytest-xdist cannot group tests with this pytest; install the versions of pyproject.toml"
        )


def sample(items):
    """Keep n cases, spread evenly, of a test marked `sampled(n)` in the quick suite; the others are slow."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            cases[item.module.__name__, item.originalname].append(item)
    for group in cases.values():
        (number,) = group[0].get_closest_marker("sampled").args
        quick = {round(k * len(group) / number) for k in range(number)}
        for place, item in enumerate(group):
            if place not in quick:
                item.add_marker(pytest.mark.slow)


def group_of(item):
    """Tests of a group run in one process: a module, with its fixtures; all tests that need the one browser."""
    return "browser" if "/browser/" in item.nodeid else item.nodeid.partition("::")[0]


def order_of(nodeid):
    """The contract comes first: it compiles each policy once, and later tests find the code in the cache."""
    return FIRST.index(nodeid.split("/")[1]) if nodeid.split("/")[1] in FIRST else len(FIRST)


FIRST = ("contract", "browser")


@pytest.fixture
def folder_in_memory():
    """A folder that is on no disk, where there is one: to write a store into it is not to wait for the disk."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


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


collect_ignore = ["typing"]  # for the type checker
