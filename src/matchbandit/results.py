"""Rows of numbers, on disk and back."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.graphs import MOST_COUNTED, Edges, Pairs, graph_from
from matchbandit.policies.explanation import Elimination
from matchbandit.rewards import Counts, Floats

_KEY = b"matchbandit"


Split = tuple[int, list[list[int]]]
"""A round, and the clusters from then on."""
PlayedEdges = list[tuple[Edges, Counts]]
"""For each run the edges that it played, sorted, and how often."""


def _nothing() -> Counts:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class About(Mapping[str, Any]):
    """What was played, with what, and when: `about.policy`, or as a mapping, `about["policy"]`, without what is None.

    Two are equal when they say the same but for the date: the same seed gives the same numbers on any day.
    """

    problem: dict[str, Any]
    """The problem or the family, as its `describe()` gives it."""
    graph: dict[str, Any]
    policy: str
    options: dict[str, Any]
    """All of the policy's options, those left at their default included."""
    selection: str
    """What a round played: a pair or a matching."""
    runs: int
    seed: int
    engine: str
    horizon: int | None = None
    """Of a simulation."""
    max_rounds: int | None = None
    """Of an identification."""
    answers: str | None = None
    """What an identification answers with: a pair or a matching."""
    stop: str | None = None
    warm_start: dict[str, Any] | None = None
    run_numbers: list[int] | None = None
    """Which runs these are, if Ctrl-C left some out."""
    interrupted_of: int | None = None
    """How many runs it would have been."""
    version: str | None = None
    """Of matchbandit; None in files of version 0.3 and before, which also lack the next two."""
    numpy: str | None = None
    date: str | None = None
    """When it was played: UTC, as ISO 8601."""
    more: dict[str, Any] = field(default_factory=dict)
    """What others have added."""

    @classmethod
    def now(cls, **parts: Any) -> "About":
        """What is played now, by this version of matchbandit and of NumPy."""
        today = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(**parts, version=version("matchbandit"), numpy=np.__version__, date=today)

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> "About":
        """What `describe` gave; keys that are not known are kept in `more`."""
        missing = [key for key in _REQUIRED if key not in described]
        if missing:
            raise MatchbanditError(f"the description of the runs lacks {', '.join(missing)}.")
        known = {key: value for key, value in described.items() if key in _PARTS}
        return cls(**known, more={key: value for key, value in described.items() if key not in _PARTS})

    def describe(self) -> dict[str, Any]:
        """As plain data, without what is None."""
        parts = {key: getattr(self, key) for key in _PARTS}
        return {key: value for key, value in parts.items() if value is not None} | self.more

    def __getitem__(self, key: str) -> Any:
        """A part that is not None."""
        return self.describe()[key]

    def __iter__(self) -> Iterator[str]:
        """The names of the parts that are not None."""
        return iter(self.describe())

    def __len__(self) -> int:
        """How many parts are not None."""
        return len(self.describe())

    def __eq__(self, other: object) -> bool:
        """The same but for the date."""
        if not isinstance(other, Mapping):
            return NotImplemented
        return {**self, "date": None} == {**other, "date": None}

    __hash__ = None  # type: ignore[assignment]  # it holds dicts

    @property
    def title(self) -> str:
        """Policy, options and problem in short."""
        options = ", ".join(f"{key}={value}" for key, value in self.options.items() if value is not None)
        rewards = self.problem.get("rewards", {}).get("name", "")
        where = f"{self.problem['family']}, " if "family" in self.problem else ""
        policy = f"{self.policy}({options})" if options else self.policy
        return f"{policy} on {where}{graph_from(self.graph)}, {rewards} rewards"


_PARTS = [part.name for part in fields(About) if part.name != "more"]
_REQUIRED = _PARTS[: _PARTS.index("horizon")]


def _about(given: "About | dict[str, Any]") -> About:
    return given if isinstance(given, About) else About.from_dict(given)


def _spread(values: NDArray[Any]) -> str:
    low, high = np.percentile(values, [5, 95])
    return f"{values.mean():.4g} (5–95 %: {low:.4g} to {high:.4g})"


def _line(kind: str, title: str, lines: dict[str, str]) -> str:
    return f"<{kind}: {title}; {', '.join(f'{head} {text}' for head, text in lines.items())}>"


def _html(title: str, lines: dict[str, str]) -> str:
    rows = "".join(f"<tr><th>{escape(head)}</th><td>{escape(text)}</td></tr>" for head, text in lines.items())
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"


class Played(NamedTuple):
    """The pairs that a run played, each once, and how often."""

    pairs: Pairs
    counts: Counts


class _PlaysByEdge:
    """A count for each pair, if there is one: of large graphs only the pairs that were played are kept."""

    def __get__(self, runs: "Runs | None", kind: type | None = None) -> NDArray[np.int64]:
        if runs is None:
            raise AttributeError("plays_by_edge")  # which tells the dataclass that it has no default
        counted: NDArray[np.int64] | PlayedEdges = runs.__dict__["plays_by_edge"]
        if isinstance(counted, list):
            graph = graph_from(runs.about["graph"])
            raise MatchbanditError(
                f"{graph} has {graph.n_pairs} pairs, and above {MOST_COUNTED} there is no count for each. "
                f"Use runs.played: the pairs that each run played, and how often."
            )
        return counted

    def __set__(self, runs: "Runs", counted: "NDArray[np.int64] | PlayedEdges") -> None:
        runs.__dict__["plays_by_edge"] = counted


@dataclass(frozen=True, eq=False)
class Runs:
    """What came of a simulation: the regret of every run at every checkpoint, and how often it played each pair."""

    about: About
    """What was simulated: problem, policy, options, horizon, seed, engine, …; a dict becomes one."""
    rounds: Counts
    """The checkpoints, shape (C,)."""
    regret: Floats
    """The regret of each run at each checkpoint, shape (runs, C)."""
    plays_by_edge: _PlaysByEdge = _PlaysByEdge()
    """Plays at the end, shape (runs, pairs)."""
    ended: Counts = field(default_factory=_nothing)
    """The round at which each run ended, shape (runs,): the horizon, unless something stopped it."""
    splits: list[list[Split]] = field(default_factory=list)
    """For each run of a policy that keeps clusters: after which rounds some split, and the clusters from then on."""
    eliminations: list[list[Elimination]] = field(default_factory=list)
    """For each run of a policy that eliminates: who left when, on which average, by whom."""

    def __post_init__(self) -> None:
        """Unless told otherwise all runs went to the horizon, had no clusters and eliminated nobody."""
        object.__setattr__(self, "about", _about(self.about))
        if not len(self.ended):
            object.__setattr__(self, "ended", np.full(len(self.regret), self.rounds[-1]))
        for part in ("splits", "eliminations"):
            if not getattr(self, part):
                object.__setattr__(self, part, [[] for _ in self.regret])

    def __repr__(self) -> str:
        """Policy, problem and outcome in a line."""
        return _line("Runs", self.about.title, self._lines())

    def _repr_html_(self) -> str:
        return _html(self.about.title, self._lines())

    def _lines(self) -> dict[str, str]:
        lines = {"runs": str(len(self.regret)), "rounds": str(self.rounds[-1]), "final regret": _spread(self.final)}
        return lines | ({"of runs": str(self.about.interrupted_of)} if self.about.interrupted_of else {})

    @property
    def played(self) -> list[Played]:
        """For each run the pairs that it played, in the order of their edges, and how often."""
        graph = graph_from(self.about["graph"])
        return [Played(graph.pairs_of(edges), counts) for edges, counts in self._played_edges()]

    def _played_edges(self) -> PlayedEdges:
        counted: NDArray[np.int64] | PlayedEdges = self.__dict__["plays_by_edge"]
        if isinstance(counted, list):
            return counted
        return [(edges, plays[edges]) for plays in counted for edges in [np.flatnonzero(plays)]]

    @property
    def plays(self) -> NDArray[np.int64]:
        """Plays of each pair at the end, shape (runs, N, M); of players the entries i < j of (runs, n, n).

        Refused for graphs with more than 10^6 pairs, as is `plays_by_edge`: see `played`.
        """
        return graph_from(self.about["graph"]).matrix(self.plays_by_edge)

    @property
    def run_numbers(self) -> list[int]:
        """The number of each run: from 0 on, unless Ctrl-C left some out."""
        return list(self.about.run_numbers or range(len(self.regret)))

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
        kept = {
            "run": self.run_numbers,
            "regret": list(self.regret),
            **self._plays_columns(),
            "ended": self.ended,
            "splits": [json.dumps(splits) for splits in self.splits],
            "eliminations": [json.dumps([gone.describe() for gone in run]) for run in self.eliminations],
        }
        _write(kept, {"about": self.about.describe(), "rounds": self.rounds.tolist()}, path)

    def _plays_columns(self) -> dict[str, Any]:
        """A count for each pair, or the edges that were played and how often."""
        counted: NDArray[np.int64] | PlayedEdges = self.__dict__["plays_by_edge"]
        if isinstance(counted, list):
            return {"edges": [edges for edges, _ in counted], "times": [times for _, times in counted]}
        return {"plays": list(counted)}


def _write(columns: dict[str, Any], kept: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """One Parquet file, whole or not at all; plain data goes into its metadata."""
    target = results_file(path)
    pa, pq = need("pyarrow", "keeping results"), need("pyarrow.parquet", "keeping results")
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(kept).encode()})
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        pq.write_table(table, unfinished)
        unfinished.replace(target)
    except OSError as error:
        raise MatchbanditError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}.") from None
    finally:
        unfinished.unlink(missing_ok=True)


def results_file(path: str | os.PathLike[str]) -> Path:
    """The Parquet file into which results are to be written; an error if they cannot be, before any work is done."""
    name = os.fspath(path)
    if Path(name).suffix.lower() not in ("", ".parquet"):
        raise MatchbanditError(f"results are kept as Parquet; got {name!r}. Call the file {Path(name).stem}.parquet.")
    need("pyarrow", "keeping results")
    return writable_file(path)


def writable_file(path: str | os.PathLike[str]) -> Path:
    """The file that is to be written, links followed; an error if it cannot be, before any work is done."""
    name, way_out = os.fspath(path), "Choose another place."
    if not name:
        raise MatchbanditError("a file to write needs a name; got ''.")
    try:
        name.encode()  # what writes Parquet takes names in UTF-8 only
        target = Path(path).resolve()
        with suppress(FileNotFoundError, NotADirectoryError):
            target.lstat()
    except (OSError, ValueError) as error:
        raise MatchbanditError(f"{name!r} cannot be written: {getattr(error, 'strerror', None) or error}.") from None
    if target.exists() and not target.is_file():
        raise MatchbanditError(f"{name!r} is not a file that can be replaced. {way_out}")
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
    name = repr(os.fspath(path))
    way_out = f"Give a file that {writer} (--save) has written."
    _refuse_no_parquet(path, name, way_out)
    pa, pq = need("pyarrow", "reading results"), need("pyarrow.parquet", "reading results")
    try:
        table = pq.read_table(Path(path))
        kept = json.loads(table.schema.metadata[_KEY])
        return _identification_in(table, kept) if "answers" in table.column_names else _runs_in(table, kept)
    except MatchbanditError as lacking:
        raise MatchbanditError(f"{name} is not complete: {lacking} {way_out}") from None
    except (pa.ArrowException, OSError):
        raise MatchbanditError(f"{name} is damaged: it cannot be decoded. Make or copy it again.") from None
    except (KeyError, TypeError, ValueError):
        raise MatchbanditError(f"{name} was not written by {writer}. {way_out}") from None


def _refuse_no_parquet(path: str | os.PathLike[str], name: str, way_out: str) -> None:
    """Say what a file is, if it is no whole Parquet file: those begin and end with the same four bytes."""
    try:
        if not os.path.exists(path):
            raise MatchbanditError(f"there is no file {name}.")
        if not os.path.isfile(path):
            raise MatchbanditError(f"{name} is {'a folder' if os.path.isdir(path) else 'no file'}. {way_out}")
        with open(path, "rb") as file:
            head = file.read(4)
            file.seek(-min(4, os.path.getsize(path)), os.SEEK_END)
            tail = file.read(4)
    except OSError as error:
        raise MatchbanditError(f"{name} cannot be read: {error.strerror or error}.") from None
    if not head:
        raise MatchbanditError(f"{name} is empty. {way_out}")
    if head != b"PAR1":
        raise MatchbanditError(f"{name} is not a Parquet file. {way_out}")
    if tail != b"PAR1":
        raise MatchbanditError(f"{name} is cut off: its end is missing. Make or copy it again.")


def _runs_in(table: Any, kept: dict[str, Any]) -> Runs:
    return Runs(
        about=About.from_dict(kept["about"]),
        rounds=np.array(kept["rounds"], dtype=np.int64),
        regret=np.array(table["regret"].to_pylist(), dtype=np.float64),
        plays_by_edge=_plays_in(table),
        **_events_in(table),
    )


def _plays_in(table: Any) -> "NDArray[np.int64] | PlayedEdges":
    """A count for each pair; or, since version 0.5 and of large graphs, the pairs that were played."""
    if "plays" in table.column_names:
        return np.array(table["plays"].to_pylist(), dtype=np.int64)
    columns = zip(table["edges"], table["times"], strict=True)
    return [(edges.values.to_numpy().copy(), times.values.to_numpy().copy()) for edges, times in columns]


def _identification_in(table: Any, kept: dict[str, Any]) -> "Identification":
    return Identification(
        about=About.from_dict(kept["about"]),
        rounds=np.array(table["rounds"].to_pylist(), dtype=np.int64),
        pairs=np.array(table["pairs"].to_pylist(), dtype=np.int64),
        identified=np.array(table["identified"].to_pylist(), dtype=np.bool_),
        correct=np.array(table["correct"].to_pylist(), dtype=np.bool_),
        answers=np.array(table["answers"].to_pylist(), dtype=np.int64),
    )


def _events_in(table: Any) -> dict[str, Any]:
    """When runs ended, clusters split and items left; files of version 0.1 say none of it, of 0.3 not the last."""
    events: dict[str, Any] = {}
    if "ended" in table.column_names:
        events["ended"] = np.array(table["ended"].to_pylist(), dtype=np.int64)
        events["splits"] = [[(at, groups) for at, groups in json.loads(run)] for run in table["splits"].to_pylist()]
    if "eliminations" in table.column_names:
        runs = [json.loads(run) for run in table["eliminations"].to_pylist()]
        events["eliminations"] = [[_elimination(gone) for gone in run] for run in runs]
    return events


def _elimination(described: dict[str, Any]) -> Elimination:
    intervals = {key: tuple(described[key]) for key in ("interval", "by_interval")}
    return Elimination(**{**described, **intervals})


@dataclass(frozen=True, eq=False)
class Identification:
    """What came of an identification: how long each run took, what it answered, whether that was right."""

    about: About
    """What was identified with what; a dict becomes one."""
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

    def __post_init__(self) -> None:
        """A description may be given as a dict."""
        object.__setattr__(self, "about", _about(self.about))

    def __repr__(self) -> str:
        """Policy, problem and outcome in a line."""
        return _line("Identification", self.about.title, self._lines())

    def _repr_html_(self) -> str:
        return _html(self.about.title, self._lines())

    def _lines(self) -> dict[str, str]:
        told = self.summary()
        none = told["runs"] - told["identified"]
        counts = {"runs": told["runs"], "right": told["correct"], "wrong": told["wrong"], "not identified": none}
        return {**{head: str(number) for head, number in counts.items()}, "rounds": _spread(self.rounds)}

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
        parts = ("rounds", "pairs", "identified", "correct")
        columns = {part: getattr(self, part) for part in parts} | {"answers": self.answers.tolist()}
        _write(columns, {"about": self.about.describe()}, path)


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
    policy = runs.about.policy
    return [
        Row(study, policy, x, run, at, regret)
        for run, regrets in zip(runs.run_numbers, runs.regret.tolist(), strict=True)
        for at, regret in zip(runs.rounds.tolist(), regrets, strict=True)
    ]


Found = Identification
"""The name until version 0.3; it goes with the next one."""
load_found = load_identification
