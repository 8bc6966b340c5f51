"""Rows of numbers, on disk and back."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import graph_from
from matchbandit.rewards import Counts, Floats

_KEY = b"matchbandit"


Split = tuple[int, list[list[int]]]
"""A round, and the clusters from then on."""


def _nothing() -> Counts:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Runs:
    """What came of a simulation: the regret of every run at every checkpoint, and how often it played each pair."""

    about: dict[str, Any]
    """What was simulated, as plain data: problem, policy, options, horizon, seed, engine, …"""
    rounds: Counts
    """The checkpoints, shape (C,)."""
    regret: Floats
    """The regret of each run at each checkpoint, shape (runs, C)."""
    plays_by_edge: NDArray[np.int64]
    """Plays at the end, shape (runs, pairs)."""
    ended: Counts = field(default_factory=_nothing)
    """The round at which each run ended, shape (runs,): the horizon, unless something stopped it."""
    splits: list[list[Split]] = field(default_factory=list)
    """For each run of a policy that keeps clusters: after which rounds some split, and the clusters from then on."""

    def __post_init__(self) -> None:
        """Unless told otherwise all runs went to the horizon, and had no clusters."""
        if not len(self.ended):
            object.__setattr__(self, "ended", np.full(len(self.regret), self.rounds[-1]))
        if not self.splits:
            object.__setattr__(self, "splits", [[] for _ in self.regret])

    @property
    def plays(self) -> NDArray[np.int64]:
        """Plays of each pair at the end, shape (runs, N, M); of players the entries i < j of (runs, n, n)."""
        return graph_from(self.about["graph"]).matrix(self.plays_by_edge)

    @property
    def run_numbers(self) -> list[int]:
        """The number of each run: from 0 on, unless Ctrl-C left some out."""
        return list(self.about.get("run_numbers", range(len(self.regret))))

    @property
    def final(self) -> Floats:
        """The regret of each run at the end."""
        return self.regret[:, -1]

    def summary(self) -> dict[str, list[float]]:
        """Mean, 5 % and 95 % percentile of the regret over the runs, at each checkpoint."""
        low, high = np.percentile(self.regret, [5, 95], axis=0)
        return {"mean": self.regret.mean(axis=0).tolist(), "p5": low.tolist(), "p95": high.tolist()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one Parquet file, a row for each run; what was simulated goes into its metadata.

        The file appears whole or not at all, in a folder that exists.
        """
        columns = {
            "run": pa.array(self.run_numbers),
            "regret": pa.array(list(self.regret), type=pa.list_(pa.float64())),
            "plays": pa.array(list(self.plays_by_edge), type=pa.list_(pa.int64())),
            "ended": pa.array(self.ended),
            "splits": pa.array([json.dumps(splits) for splits in self.splits]),
        }
        _write(columns, {"about": self.about, "rounds": self.rounds.tolist()}, path)


def _write(columns: dict[str, Any], kept: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """One Parquet file, whole or not at all; plain data goes into its metadata."""
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(kept).encode()})
    target = writable_file(path)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        pq.write_table(table, unfinished)
        unfinished.replace(target)
    except OSError as error:
        raise MatchbanditError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}.") from None
    finally:
        unfinished.unlink(missing_ok=True)


def writable_file(path: str | os.PathLike[str]) -> Path:
    """The file that is to be written, links followed; an error if it cannot be, before any work is done."""
    target = Path(path).resolve()
    way_out = "Choose another place."
    if target.exists() and not target.is_file():
        raise MatchbanditError(f"{os.fspath(path)!r} is not a file that can be replaced. {way_out}")
    if not target.parent.is_dir():
        raise MatchbanditError(f"there is no folder {str(target.parent)!r} to write into. Make it, or choose another.")
    if not os.access(target.parent, os.W_OK):
        raise MatchbanditError(f"the folder {str(target.parent)!r} may not be written into by you. {way_out}")
    return target


def load_runs(path: str | os.PathLike[str]) -> Runs:
    """Read what `Runs.save` has written."""
    read = _read(path, "Runs.save")
    if not isinstance(read, Runs):
        raise MatchbanditError(
            f"{os.fspath(path)!r} holds an identification, not simulated runs. Use load_identification."
        )
    return read


def load_identification(path: str | os.PathLike[str]) -> "Identification":
    """Read what `Identification.save` has written."""
    read = _read(path, "Identification.save")
    if not isinstance(read, Identification):
        raise MatchbanditError(f"{os.fspath(path)!r} holds simulated runs, not an identification. Use load_runs.")
    return read


def load(path: str | os.PathLike[str]) -> "Runs | Identification":
    """Read what `Runs.save` or `Identification.save` has written."""
    return _read(path, "Runs.save or Identification.save")


def _read(path: str | os.PathLike[str], writer: str) -> "Runs | Identification":
    try:
        table = pq.read_table(path)
        kept = json.loads(table.schema.metadata[_KEY])
        return _found_in(table, kept) if "answers" in table.column_names else _runs_in(table, kept)
    except FileNotFoundError:
        raise MatchbanditError(f"there is no file {os.fspath(path)!r}.") from None
    except PermissionError:
        raise MatchbanditError(f"{os.fspath(path)!r} may not be read by you.") from None
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError):
        raise MatchbanditError(f"{os.fspath(path)!r} was not written by {writer}.") from None


def _runs_in(table: pa.Table, kept: dict[str, Any]) -> Runs:
    return Runs(
        about=kept["about"],
        rounds=np.array(kept["rounds"], dtype=np.int64),
        regret=np.array(table["regret"].to_pylist(), dtype=np.float64),
        plays_by_edge=np.array(table["plays"].to_pylist(), dtype=np.int64),
        **_of_clusters(table),
    )


def _found_in(table: pa.Table, kept: dict[str, Any]) -> "Identification":
    return Identification(
        about=kept["about"],
        rounds=np.array(table["rounds"].to_pylist(), dtype=np.int64),
        pairs=np.array(table["pairs"].to_pylist(), dtype=np.int64),
        identified=np.array(table["identified"].to_pylist(), dtype=np.bool_),
        correct=np.array(table["correct"].to_pylist(), dtype=np.bool_),
        answers=np.array(table["answers"].to_pylist(), dtype=np.int64),
    )


def _of_clusters(table: pa.Table) -> dict[str, Any]:
    """When runs ended and clusters split; files of version 0.1 do not say, as there were none."""
    if "ended" not in table.column_names:
        return {}
    splits = [[(at, clusters) for at, clusters in json.loads(text)] for text in table["splits"].to_pylist()]
    return {"ended": np.array(table["ended"].to_pylist(), dtype=np.int64), "splits": splits}


@dataclass(frozen=True, eq=False)
class Identification:
    """What came of an identification: how long each run took, what it answered, whether that was right."""

    about: dict[str, Any]
    """What was identified with what, as plain data."""
    rounds: Counts
    """Rounds used, shape (runs,)."""
    pairs: Counts
    """Pair evaluations: the rounds times the pairs of a round."""
    identified: NDArray[np.bool_]
    """Did the policy come to an answer before `max_rounds` ended it?"""
    correct: NDArray[np.bool_]
    """Is the answer worth the optimum? False where nothing was identified."""
    answers: NDArray[np.int64]
    """The answer of each run, shape (runs, pairs, 2); where nothing was identified, the best guess."""

    def summary(self) -> dict[str, Any]:
        """Mean, 5 % and 95 % percentile of the rounds, and how many runs were identified, right and wrong."""
        low, high = np.percentile(self.rounds, [5, 95])
        wrong = int((self.identified & ~self.correct).sum())
        return {
            "rounds": {"mean": float(self.rounds.mean()), "p5": float(low), "p95": float(high)},
            "runs": len(self.rounds),
            "identified": int(self.identified.sum()),
            "correct": int(self.correct.sum()),
            "wrong": wrong,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one Parquet file, a row for each run, as `Runs.save` does; `load_identification` reads it back."""
        columns = {
            "rounds": pa.array(self.rounds),
            "pairs": pa.array(self.pairs),
            "identified": pa.array(self.identified),
            "correct": pa.array(self.correct),
            "answers": pa.array(self.answers.tolist(), type=pa.list_(pa.list_(pa.int64()))),
        }
        _write(columns, {"about": self.about}, path)


class Row(NamedTuple):
    """One number of a study: the regret of one run of one policy at one round, at one place on the study's axis."""

    study: str
    policy: str
    x: float
    run: int
    round: int
    regret: float


def rows_of(runs: Runs, study: str, x: float) -> list[Row]:
    """Runs as flat rows."""
    policy = runs.about["policy"]
    return [
        Row(study, policy, x, run, at, regret)
        for run, regrets in zip(runs.run_numbers, runs.regret.tolist(), strict=True)
        for at, regret in zip(runs.rounds.tolist(), regrets, strict=True)
    ]


Found = Identification
"""The name until version 0.3; it goes with the next one."""
load_found = load_identification
