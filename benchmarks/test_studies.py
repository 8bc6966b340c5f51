"""What it costs to keep a study: `make bench`."""

import time

import pytest

import matchbandit as mb

RUNS = 100_000
SLOTS = {"u": [0.9, 0.3], "v": [0.8, 0.4]}


@pytest.mark.parametrize("policy", ["uniform", "pair-elim"])
def test_keeping_costs_at_most_15_percent(benchmark, tmp_path, policy):
    """10^5 runs of a small problem, kept in a folder, against the same runs of a bare `simulate`."""
    study = mb.Study(name="many", problem=SLOTS, policies=[policy], horizon=100, runs=RUNS, seed=1)
    began = time.perf_counter()
    mb.simulate(mb.Bipartite(**SLOTS), policy, horizon=100, runs=RUNS, seed=1, workers=2)
    bare = time.perf_counter() - began
    benchmark.pedantic(lambda: study.run(tmp_path / "many", workers=2), rounds=1)
    kept = benchmark.stats.stats.min
    print(f"\n{policy}: {RUNS} runs bare {bare:.1f} s, kept {kept:.1f} s, ratio {kept / bare:.2f} (at most 1.15)")
    assert kept <= 1.15 * bare


def test_a_finished_study_is_looked_at_quickly(benchmark, tmp_path):
    """What a second call does: every file is read and its hash compared."""
    study = mb.Study(name="many", problem=SLOTS, policies=["uniform"], horizon=100, runs=5000, seed=1)
    study.run(tmp_path / "many", workers=2, part_runs=50)
    benchmark.pedantic(lambda: study.run(tmp_path / "many", workers=2), rounds=3)
