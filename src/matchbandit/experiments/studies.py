"""A study is data: a family of instances at several places on an axis, policies, a horizon. Running it yields rows."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from matchbandit.errors import MatchbanditError
from matchbandit.problems import Family, family
from matchbandit.results import Row, Runs, load_runs, rows_of
from matchbandit.simulation import simulate

PAIR_POLICIES = ("pair-elim", "rank1-elim")
MATCHING_POLICIES = ("simple-adaptive-matching", "escb")
PRACTICAL_POLICIES = (
    "simple-adaptive-matching",
    "random-adaptive-matching",
    "escb",
    "ols-ucb",
    "cucb",
    "cts-beta",
    "cts-gaussian",
    "unimodal-matching",
    "rank1-certify",
    "rank1-thompson",
)


@dataclass(frozen=True)
class Study:
    """Policies on a family of instances, one parameter of which varies."""

    name: str
    places: tuple[float, ...]
    instance: Callable[[float], Family]
    policies: tuple[str, ...]
    horizon: int
    checkpoints: tuple[int, ...] = ()

    @property
    def parts(self) -> list[tuple[str, float]]:
        """Policy and place of every simulation in the study."""
        return [(policy, x) for policy in self.policies for x in self.places]


def _spiked(gap: float) -> Family:
    return family("spiked", n=8, u1=0.9, gap=gap)


def _fixed_mean(u1: float) -> Family:
    return family("fixed-mean", n=8, u1=u1, mean=0.2)


def _staircase(n: float) -> Family:
    return family("staircase", n=int(n), gap=0.1)


def _centred(mean: float) -> Family:
    return family("centred", n=4, mean=mean, gap=0.1)


_GAPS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85)

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study("over-time", (0.75,), _spiked, PAIR_POLICIES, 200_000, tuple(range(4000, 200_001, 4000))),
        Study("over-gap", _GAPS, _spiked, PAIR_POLICIES, 300_000),
        Study("over-gap-as-printed", _GAPS, _spiked, PAIR_POLICIES, 2_000_000),
        Study("over-n", tuple(range(2, 12)), _staircase, MATCHING_POLICIES[:1], 200_000),
        Study("over-mu", (0.5, 0.6, 0.7, 0.8), _centred, MATCHING_POLICIES, 200_000, tuple(range(4000, 200_001, 4000))),
        Study("practical", (0.5, 0.6, 0.7, 0.8), _centred, PRACTICAL_POLICIES, 200_000),
        Study("over-u1", (0.4, 0.5, 0.6, 0.7, 0.8, 0.9), _fixed_mean, PAIR_POLICIES, 1_000_000),
    )
}


def run_study(
    study: Study, *, runs: int, seed: int, workers: int, folder: Path, progress: Callable[[int], None]
) -> list[Row]:
    """Simulate every part of a study, keep each in a file as soon as it is finished, and give the rows of all.

    A part that an earlier call has finished with the same code and settings is read instead of played again.
    `progress` is called with the number of runs that have been added.
    """
    rows: list[Row] = []
    for policy, x in study.parts:
        path = folder / study.name / f"{policy} at {x:g}.parquet"
        done = _finished(path, study, policy, x, runs, seed)
        if done is None:
            done = simulate(
                study.instance(x),
                policy,
                horizon=study.horizon,
                runs=runs,
                seed=seed,
                checkpoints=[*study.checkpoints, study.horizon],
                workers=workers,
                progress=lambda _done, _total: progress(1),
            )
            done = replace(done, about=replace(done.about, more={"code": code_fingerprint()}))
            path.parent.mkdir(parents=True, exist_ok=True)
            done.save(path)
        else:
            progress(runs)
        rows += rows_of(done, study.name, x)
    return rows


def _finished(path: Path, study: Study, policy: str, x: float, runs: int, seed: int) -> Runs | None:
    """What an earlier call left for this part, if it was made by the same code with the same settings."""
    try:
        kept = load_runs(path)
    except MatchbanditError:
        return None
    wanted = {
        "problem": study.instance(x).describe(),
        "policy": policy,
        "horizon": study.horizon,
        "runs": runs,
        "seed": seed,
        "code": code_fingerprint(),
    }
    same = all(kept.about.get(key) == value for key, value in wanted.items())
    return kept if same and set(study.checkpoints) <= set(kept.rounds.tolist()) else None


@cache
def code_fingerprint() -> str:
    """A short name for the library's source as it is now: results of other source are not taken for its own."""
    digest = hashlib.blake2b(digest_size=8)
    for source in sorted(_sources(Path(str(files("matchbandit"))))):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _sources(package: Path) -> Iterator[Path]:
    return package.rglob("*.py")
