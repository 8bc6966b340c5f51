"""Kill −9 at any moment: what the next call makes of the folder equals a study that nobody disturbed."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from reference.folders import leftovers, tables_of

from matchbandit.studies.runner import run_study
from matchbandit.studies.study import Study

SPIKED = {"family": "spiked", "n": 3, "u1": 0.9, "gap": [0.5, 0.6]}
SMALL = Study(name="small", problem=SPIKED, policies=["pair-elim"], horizon=1000, runs=4, seed=7)
LONGER = """
name = "longer"
runs = 60
seed = 7
horizon = 2e4
policies = ["pair-elim", "uts"]
[problem]
family = "spiked"
n = 5
u1 = 0.9
gap = [0.5, 0.6, 0.7]
"""


def same(a, b):
    return all(one.equals(other) for one, other in zip(tables_of(a), tables_of(b), strict=True))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "small"
    run_study(SMALL, out, workers=1)
    return out


def run_and_die(out, call, at, when):
    """Run the study, and be killed before or after this call, from the `at`-th time on."""
    usual, left = getattr(os, call), [at]

    def deadly(*args, **options):
        left[0] -= 1
        if left[0] == 0 and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        done = usual(*args, **options)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    setattr(os, call, deadly)
    run_study(SMALL, out, workers=2, part_runs=1)


def killed_at(out, call, at, when):
    """How the process ended; it is forked, so that it starts at once."""
    process = multiprocessing.get_context("fork").Process(target=run_and_die, args=(out, call, at, when))
    process.start()
    process.join(60)
    return process.exitcode


def go_on(out):
    """Finish the study; a part of which only the details were written is named."""
    rows, details = ({p.name for p in (Path(out) / kind).glob("*.parquet")} for kind in ("rows", "details"))
    assert rows <= details  # rows say that a part is finished
    if details - rows:
        with pytest.warns(UserWarning, match=r"rows/.* is missing; played again"):
            run_study(SMALL, out, workers=2)
    else:
        run_study(SMALL, out, workers=2)


# The first is the manifest; then details and rows of a part in turn.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("call", "at", "when"),
    [
        ("replace", 1, "before"),  # nothing but a folder and half a manifest
        ("replace", 2, "before"),  # between writing details and naming them
        ("replace", 2, "after"),  # details are there, rows are not
        ("replace", 3, "before"),
        ("replace", 3, "after"),  # a part is finished
        ("fsync", 9, "before"),
        ("unlink", 4, "before"),
    ],
)
def test_killed_between_write_and_rename(whole, tmp_path, call, at, when):
    out = tmp_path / "small"
    assert killed_at(out, call, at, when) == -signal.SIGKILL
    go_on(out)
    assert same(out, whole)
    assert leftovers(out) == []


@pytest.mark.slow
def test_killed_again_and_again_at_each_step(whole, tmp_path):
    """Every call comes one rename further than the one before, and is killed there."""
    out = tmp_path / "small"
    codes = [killed_at(out, "replace", 4, "before" if k % 2 else "after") for k in range(4)]
    assert set(codes) == {-signal.SIGKILL}
    go_on(out)
    assert same(out, whole)


@pytest.mark.slow
@pytest.mark.parametrize("at", range(1, 19))
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_every_rename(whole, tmp_path, at, when):
    out = tmp_path / "small"
    assert killed_at(out, "replace", at, when) == -signal.SIGKILL
    go_on(out)
    assert same(out, whole)
    assert leftovers(out) == []


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path):
    """On the command line; whatever it was doing at that moment."""
    (tmp_path / "longer.toml").write_text(LONGER)
    command = [sys.executable, "-m", "matchbandit", "run", "longer.toml", "--part-runs", "1", "--workers", "2"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    chance = random.Random(12)
    subprocess.run([*command, "--out", "whole"], check=True, **quiet)
    kills = 0
    for _ in range(20):
        process = subprocess.Popen([*command, "--out", "out"], **quiet)
        time.sleep(chance.uniform(0.3, 3))
        kills += process.poll() is None
        process.kill()
        process.wait()
    subprocess.run([*command, "--out", "out"], check=True, **quiet)
    assert same(tmp_path / "out", tmp_path / "whole")
    assert leftovers(tmp_path / "out") == []
    assert kills >= 10
