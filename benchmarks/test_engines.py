"""How fast the engines are: `make bench`."""

import pytest

import matchbandit as mb
from matchbandit.lab.paper.figures import FIGURES

SPIKED = mb.family("spiked", n=8, u1=0.9, gap=0.75)
RUNS = 20


@pytest.mark.parametrize("horizon", [10**6, 10**12])
@pytest.mark.parametrize("checkpoints", [1, 50])
def test_jump_pair_elim(benchmark, horizon, checkpoints):
    def run(seed):
        at = [horizon] if checkpoints == 1 else None
        mb.simulate(SPIKED.draw(seed), "pair-elim", horizon=horizon, seed=seed, checkpoints=at)

    # One round plays 20 runs on 20 instances, so that instances do not decide the comparison.
    benchmark.pedantic(lambda: [run(seed) for seed in range(RUNS)], rounds=5, warmup_rounds=1)
    benchmark.stats.stats.data[:] = [seconds / RUNS for seconds in benchmark.stats.stats.data]


@pytest.mark.parametrize("name", ["pair-elim", "rank1-elim"])
def test_jump_two_million(benchmark, name):
    at = [2_000_000]
    benchmark.pedantic(
        lambda: mb.simulate(SPIKED, name, horizon=2_000_000, runs=1, seed=1, checkpoints=at), rounds=10, warmup_rounds=1
    )


@pytest.mark.parametrize("name", ["pair-elim", "rank1-elim"])
def test_step(benchmark, name):
    at = [20_000]
    benchmark.pedantic(
        lambda: mb.simulate(SPIKED, name, horizon=20_000, seed=1, engine="step", checkpoints=at), rounds=3
    )


def test_uts_by_ask_and_tell(benchmark):
    at = [20_000]
    benchmark.pedantic(
        lambda: mb.simulate(SPIKED, "uts", horizon=20_000, seed=1, engine="step", checkpoints=at), rounds=3
    )


def test_uts_in_the_compiled_loop(benchmark):
    at = [500_000]
    mb.simulate(SPIKED, "uts", horizon=10)
    benchmark.pedantic(lambda: mb.simulate(SPIKED, "uts", horizon=500_000, seed=1, checkpoints=at), rounds=3)


def test_all_pair_selection_figures(benchmark, tmp_path):
    played = [FIGURES[name].studies(runs=20, seed=1)[0] for name in ("over-time", "over-gap", "over-u1")]
    studies = [mb.Study(**{**study.model_dump(), "horizon": 2_000_000}) for study in played]
    folders = iter(tmp_path / str(k) for k in range(10))

    def compute():
        folder = next(folders)
        for study in studies:
            study.run(folder / study.name, workers=2)

    benchmark.pedantic(compute, rounds=2)
