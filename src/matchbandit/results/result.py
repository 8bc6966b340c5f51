"""Results of `simulate` and `identify`."""

import os
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.formatting import grouped
from matchbandit.graphs import MAX_COUNTED_PAIRS, Edges, Pairs, graph_from
from matchbandit.policies.explanation import Elimination
from matchbandit.results.run_info import RunInfo
from matchbandit.results.statistics import standard_error, summarize
from matchbandit.rewards import Counts, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from matchbandit.extras import Frame
    from matchbandit.figures import Chart
    from matchbandit.results.rows import Rows

Split = tuple[int, list[list[int]]]
"""A round, and the clusters from then on."""
PlayedEdges = list[tuple[Edges, Counts]]
"""For each run the edges that it played, sorted, and how often."""


class Played(NamedTuple):
    """The pairs that a run played, each once, how often, and the sums of their rewards."""

    pairs: Pairs
    counts: Counts
    sums: Floats


class Drawable:
    """What can be drawn: single results, and comparisons of them."""

    def chart(self, **settings: Any) -> "Chart":
        """Return what `plot` draws, as data: with its numbers as a table, and `save` for a .png, .pdf or .svg file.

        Parameters
        ----------
        **settings
            `name`, `title`, `x_log` and `y_log`.

        Returns
        -------
        Chart
        """
        from matchbandit.results.plotting import chart_of  # noqa: PLC0415  # it imports this module

        return chart_of(self, **settings)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        title: str | None = None,
        x_log: bool | None = None,
        y_log: bool | None = None,
    ) -> "Axes":
        """Draw all results on these axes, or on those of a new figure, as `matchbandit.plot` does.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            By default the axes of a new figure of pyplot, with a caption.
        title : str, optional
            By default what is measured.
        x_log, y_log : bool, optional
            Logarithmic axes; by default where the numbers call for them.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return self.chart(title=title, x_log=x_log, y_log=y_log).plot(ax)


class Result(Drawable):
    """What `Runs` and `Identification` share."""

    about: RunInfo

    def __len__(self) -> int:
        """Count the runs."""
        raise NotImplementedError

    def _facts(self) -> dict[str, str]:
        """What the repr shows, by heading."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Show policy, problem and outcome in one line."""
        facts = ", ".join(f"{heading} {text}" for heading, text in self._facts().items())
        return f"<{type(self).__name__}: {self.about.title}; {facts}>"

    def _repr_html_(self) -> str:
        facts = self._facts().items()
        rows = "".join(f"<tr><th>{escape(heading)}</th><td>{escape(text)}</td></tr>" for heading, text in facts)
        return f"<table><caption>{escape(self.about.title)}</caption>{rows}</table>"

    @property
    def run_numbers(self) -> list[int]:
        """The number of each run: consecutive from `first_run` on, unless Ctrl-C left some out."""
        return self.about.numbers(len(self))

    def rows(self, study: str | None = None) -> "Rows":
        """Return tidy rows: one for each run and checkpoint, or for each run of an identification.

        Parameters
        ----------
        study: str, optional
            The column `study`; by default the study that the runs belong to, else "simulate" or "identify".

        Returns
        -------
        Rows
            Each row has study, policy, options, the problem's parameters, run, seed and one result. Needs pyarrow.
        """
        from matchbandit.results.rows import Rows  # noqa: PLC0415  # tables import this module
        from matchbandit.results.tables import rows_table  # noqa: PLC0415

        return Rows.from_table(rows_table(self, study=study))  # type: ignore[arg-type]  # there is no third kind

    def to_frame(self, kind: "Frame | None" = None) -> Any:
        """Return the rows as a data frame.

        Parameters
        ----------
        kind: {"pandas", "polars", "arrow"}, optional
            By default pandas or Polars, whichever is imported already, else whichever is installed.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
        """
        return self.rows().to_frame(kind)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write two Parquet files: tidy rows, as `rows` gives them, and beside them the details of each run.

        `NAME.parquet` gets `NAME.details.parquet`, `X/rows/NAME.parquet` gets `X/details/NAME.parquet`. Each appears
        whole or not at all, the rows last. `matchbandit.load` reads them.

        Parameters
        ----------
        path: str or Path
            A file in a folder that exists.
        """
        from matchbandit.results.files import save  # noqa: PLC0415  # it imports this module

        save(self, path)  # type: ignore[arg-type]  # as above


def _no_counts() -> Counts:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Runs(Result):
    """The results of `simulate`: the regret of every run at every checkpoint, and plays and rewards of each pair."""

    about: RunInfo
    """What was simulated: problem, policy, options, horizon, seed, engine, …; a dict is converted."""
    rounds: Counts
    """The checkpoints, shape (C,)."""
    regret: Floats
    """The regret of each run at each checkpoint, shape (runs, C)."""
    counted: NDArray[np.int64] | PlayedEdges
    """Plays of each pair at the end, shape (runs, pairs); on large graphs, for each run those of the pairs played."""
    reward_sums: Floats | list[Floats]
    """Sums of the rewards at the end, in the places of `counted`."""
    ended: Counts = field(default_factory=_no_counts)
    """The round at which each run ended, shape (runs,): the horizon, unless something stopped it."""
    splits: list[list[Split]] = field(default_factory=list)
    """For each run of a policy that keeps clusters: after which rounds some split, and the clusters from then on."""
    eliminations: list[list[Elimination]] = field(default_factory=list)
    """For each run of a policy that eliminates: who left when, on which average, by whom."""

    def __post_init__(self) -> None:
        """By default all runs reached the horizon, had no clusters and eliminated nobody."""
        if not isinstance(self.about, RunInfo):
            object.__setattr__(self, "about", RunInfo.from_dict(self.about))
        if not len(self.ended):
            object.__setattr__(self, "ended", np.full(len(self.regret), self.rounds[-1]))
        for events in ("splits", "eliminations"):
            if not getattr(self, events):
                object.__setattr__(self, events, [[] for _ in self.regret])

    def __len__(self) -> int:
        """Count the runs."""
        return len(self.regret)

    def _facts(self) -> dict[str, str]:
        facts = {"runs": grouped(len(self)), "rounds": grouped(self.rounds[-1]), "final regret": _facts_of(self.final)}
        return facts | ({"of runs": grouped(self.about.interrupted_of)} if self.about.interrupted_of else {})

    @property
    def played(self) -> list[Played]:
        """For each run the pairs that it played, in the order of their edges, how often, and the sums of rewards."""
        graph = graph_from(self.about["graph"])
        if isinstance(self.counted, list):
            runs = zip(self.counted, self.reward_sums, strict=True)
            return [Played(graph.pairs_of(edges), counts, sums) for (edges, counts), sums in runs]
        played = []
        for plays, sums in zip(self.counted, self.reward_sums, strict=True):
            edges = np.flatnonzero(plays)
            played.append(Played(graph.pairs_of(edges), plays[edges], sums[edges]))
        return played

    @property
    def plays_by_edge(self) -> NDArray[np.int64]:
        """Plays of each pair at the end, shape (runs, pairs); refused above 10^6 pairs."""
        if isinstance(self.counted, list):
            raise self._too_many_pairs()
        return self.counted

    @property
    def sums_by_edge(self) -> Floats:
        """Sums of the rewards of each pair at the end, shape (runs, pairs); refused above 10^6 pairs."""
        if isinstance(self.reward_sums, list):
            raise self._too_many_pairs()
        return self.reward_sums

    def _too_many_pairs(self) -> MatchbanditError:
        graph = graph_from(self.about["graph"])
        return MatchbanditError(
            f"{graph} has {grouped(graph.n_pairs)} pairs, and above {grouped(MAX_COUNTED_PAIRS)} there is no count for "
            f"each. Use runs.played: the pairs that each run played, and how often."
        )

    @property
    def plays(self) -> NDArray[np.int64]:
        """Plays of each pair at the end, shape (runs, N, M); of players the entries i < j of (runs, n, n).

        Refused for graphs with more than 10^6 pairs, as is `plays_by_edge`: see `played`.
        """
        return graph_from(self.about["graph"]).matrix(self.plays_by_edge)

    @property
    def sums(self) -> Floats:
        """Sums of the rewards of each pair at the end, in the shape of `plays`.

        Refused for graphs with more than 10^6 pairs, as is `sums_by_edge`: see `played`.
        """
        return graph_from(self.about["graph"]).matrix(self.sums_by_edge)

    @property
    def final(self) -> Floats:
        """The regret of each run at the end."""
        return self.regret[:, -1]

    def summary(self) -> dict[str, list[Any]]:
        """Summarize the regret over the runs.

        Returns
        -------
        dict
            "mean", "se", the standard error of the mean, "p5" and "p95", each with one number for each checkpoint. For
            a single run the standard errors are None.
        """
        low, high = np.percentile(self.regret, [5, 95], axis=0)
        return {
            "mean": self.regret.mean(axis=0).tolist(),
            "se": standard_error(self.regret),
            "p5": low.tolist(),
            "p95": high.tolist(),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Identification(Result):
    """The results of `identify`: how long each run took, what it answered, and whether that was right."""

    about: RunInfo
    """What was identified with what; a dict is converted."""
    rounds: Counts
    """Rounds used, shape (runs,)."""
    pairs: Counts
    """Pair evaluations: the rounds times the pairs of a round."""
    identified: NDArray[np.bool_]
    """Did the policy come to an answer before `max_rounds` ended it? With a fixed budget it always does."""
    correct: NDArray[np.bool_]
    """Is the answer worth the optimum, or with ε at least (1 − ε) × the optimum? False where nothing was identified."""
    answers: NDArray[np.int64]
    """The answer of each run, shape (runs, pairs, 2); where nothing was identified, the best guess."""

    def __post_init__(self) -> None:
        """Convert a description given as a dict."""
        if not isinstance(self.about, RunInfo):
            object.__setattr__(self, "about", RunInfo.from_dict(self.about))

    def __len__(self) -> int:
        """Count the runs."""
        return len(self.rounds)

    def _facts(self) -> dict[str, str]:
        summary = self.summary()
        counts = {
            "runs": summary["runs"],
            "right": summary["correct"],
            "wrong": summary["wrong"],
            "not identified": summary["runs"] - summary["identified"],
        }
        return {**{heading: grouped(n) for heading, n in counts.items()}, "rounds": _facts_of(self.rounds)}

    def summary(self) -> dict[str, Any]:
        """Summarize the rounds, and count the answers.

        Returns
        -------
        dict
            "rounds" with "mean", "se", the standard error of the mean (None for a single run), "p5" and "p95"; the
            numbers of "runs", "identified", "correct" and "wrong".
        """
        return {
            "rounds": summarize(self.rounds)._asdict(),
            "runs": len(self.rounds),
            "identified": int(self.identified.sum()),
            "correct": int(self.correct.sum()),
            "wrong": int((self.identified & ~self.correct).sum()),
        }


def _facts_of(values: NDArray[Any]) -> str:
    """Mean ± standard error, and percentiles."""
    summary = summarize(values)
    return f"{summary.mean_text} (5–95 %: {summary.range_text})"
