"""Rank results of several policies, and concatenate pieces of the same simulation."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.extras import Frame
from matchbandit.formatting import grouped, html_table, plural, text_table
from matchbandit.results.proofs import unmet_assumption
from matchbandit.results.result import Drawable, Identification, Runs
from matchbandit.results.rows import Rows
from matchbandit.results.run_info import RunInfo
from matchbandit.results.statistics import PairedDifference, Summary, paired_difference, summarize
from matchbandit.results.tables import parameters_of, rewards_text

MAX_RANKINGS = 12
"""Rankings that a comparison prints; a study may have hundreds."""
MAX_LABELS = 4
"""Labels that an error names."""
MAX_CHOICES = 12
"""Values of a setting that an error names."""


@dataclass(frozen=True)
class Standing:
    """A policy's place in a ranking: its average, and the difference to the best policy."""

    rank: int
    label: str
    runs: int
    mean: float
    se: float | None
    """The standard error of the mean; None for a single run."""
    p5: float
    p95: float
    to_best: PairedDifference | None = None
    """Its difference to the best policy over the runs that both have; None for the best itself."""
    right: int | None = None
    """Of an identification, as are the next two."""
    wrong: int | None = None
    not_identified: int | None = None

    @property
    def shared(self) -> int | None:
        """Runs that it and the best have in common: they are on the same instances; None for the best itself."""
        return None if self.to_best is None else self.to_best.runs

    @property
    def difference(self) -> float | None:
        """Its mean minus the best one's over the shared runs; None for the best itself, or without shared runs."""
        return None if self.to_best is None else self.to_best.mean

    def describe(self) -> dict[str, Any]:
        """Return plain data without the label and without what is None."""
        values = {key: value for key, value in vars(self).items() if key not in ("label", "to_best")}
        if self.to_best is not None:
            values |= {"shared": self.shared, "difference": self.difference, "difference_se": self.to_best.se}
            if self.to_best.interval is not None:
                values["difference_interval"] = list(self.to_best.interval)
        return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Drawable):
    """Results of several policies, problems or settings; printed, a ranking.

    `comparison["uts"]` is one of them by its label: the policy's name, its options where results of that policy differ
    in them, and the parameters of the problem, the horizon and so on where the results differ in those.
    """

    results: tuple[Runs | Identification, ...]

    def __post_init__(self) -> None:
        """Accept any sequence of results of one kind."""
        results = tuple(self.results)
        if not results:
            raise MatchbanditError("there is nothing to compare; give at least one result.")
        for result in results:
            if not isinstance(result, Runs | Identification):
                raise MatchbanditError(f"results of simulate or identify can be compared; got {result!r}.")
        if len({type(result) for result in results}) > 1:
            raise MatchbanditError("simulations and identifications cannot be compared with each other.")
        object.__setattr__(self, "results", results)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The name of each result; no two are the same."""
        return run_labels([result.about for result in self.results])

    def __len__(self) -> int:
        """Count the results."""
        return len(self.results)

    def __iter__(self) -> Iterator[Runs | Identification]:
        """Iterate over the results."""
        return iter(self.results)

    def __getitem__(self, label: str) -> Runs | Identification:
        """Return the result with this label."""
        if label not in self.labels:
            raise self._no_label(str(label))
        return self.results[self.labels.index(label)]

    def _no_label(self, label: str) -> MatchbanditError:
        """The error names all labels if they are few, else some similar ones."""
        if len(self) <= MAX_LABELS and not any(", " in known for known in self.labels):
            return unknown("result", label, self.labels)
        similar = [known for known in self.labels if known.startswith(f"{label}, ")]
        hint = f"select(policy={label!r}) gives all of that policy." if similar else "See labels, or select(policy=…)."
        similar = similar or get_close_matches(label, self.labels, n=MAX_LABELS) or [*self.labels]
        names = "; ".join(repr(known) for known in similar[:MAX_LABELS])
        return MatchbanditError(f"no result is called {label!r}; closest of {len(self)}: {names}. {hint}")

    def select(self, **settings: Any) -> "Comparison":
        """Select results by their settings.

        Parameters
        ----------
        **settings
            `policy`, `selection`, `study`, an option of the policy, a parameter of the problem, `horizon`, `delta`, ….

        Returns
        -------
        Comparison
            The results that have all these settings; at least one, else an error names the values that there are.

        Examples
        --------
        >>> import matchbandit as mb
        >>> slots = mb.Bipartite([.9, .3], [.8, .4])
        >>> ranked = mb.compare(slots, ["uts", "kl-ucb", "uniform"], horizon=100, runs=2)
        >>> ranked.select(policy="uts").labels
        ('uts',)
        """
        known = [
            {"policy": about.policy, "selection": about.selection, **_variant(about), **_setting(about)}
            for about in (result.about for result in self.results)
        ]
        names = dict.fromkeys(name for each in known for name in each)
        for name in settings:
            if name not in names:
                raise unknown("setting", name, names)
        wanted = {name: [*value] if isinstance(value, tuple) else value for name, value in settings.items()}
        fits = [all(name in each and each[name] == value for name, value in wanted.items()) for each in known]
        if not any(fits):
            values = {name: dict.fromkeys(_value(each[name]) for each in known if name in each) for name in settings}
            choices = "; ".join(f"{name} is {', '.join([*texts][:MAX_CHOICES])}" for name, texts in values.items())
            text = ", ".join(f"{name} = {_value(value)}" for name, value in settings.items())
            raise MatchbanditError(f"no result has {text}. Of these results, {choices}.")
        return Comparison(tuple(one for one, chosen in zip(self.results, fits, strict=True) if chosen))

    def rows(self, study: str | None = None) -> Rows:
        """Return the tidy rows of all results.

        Parameters
        ----------
        study: str, optional
            The column `study`; by default the study that each result belongs to.

        Returns
        -------
        Rows
        """
        return Rows.together(result.rows(study) for result in self.results)

    def to_frame(self, kind: Frame | None = None) -> Any:
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
        """Write all results into two Parquet files, as `Runs.save` does; `matchbandit.load` reads them.

        Parameters
        ----------
        path: str or Path
            A file in a folder that exists.
        """
        from matchbandit.results.files import save  # noqa: PLC0415  # it imports this module

        save(self, path)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to know before believing the rankings: policies that assume products on a problem that is not one."""
        message = unmet_assumption((result.about.policy, result.about.problem) for result in self.results)
        if not message:
            return ()
        return (f"{message}: guarantees may not hold, and the policy may settle on a suboptimal choice.",)

    @cached_property
    def rankings(self) -> tuple[tuple[Standing, ...], ...]:
        """For each problem, horizon and so on, the policies from the best to the worst: by mean regret, or rounds.

        Policies that play pairs and those that play matchings are ranked apart, and so are those that seek them.
        """
        groups: dict[str, list[int]] = {}
        for number, result in enumerate(self.results):
            groups.setdefault(_ranking_key(result), []).append(number)
        return tuple(
            _ranking([(self.labels[number], self.results[number]) for number in group]) for group in groups.values()
        )

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return the rankings as plain data.

        Returns
        -------
        dict
            By label: rank, runs, mean, se, p5, p95 and, where they are known, shared, difference, difference_se and
            difference_interval to the best policy, right, wrong and not_identified.
        """
        return {standing.label: standing.describe() for ranking in self.rankings for standing in ranking}

    def difference(self, label: str, other: str) -> PairedDifference:
        """Return what ranks one result minus what ranks another, over the runs that both have.

        Parameters
        ----------
        label, other: str
            Labels of two results.

        Returns
        -------
        PairedDifference
        """
        one, another = self[label], self[other]
        return paired_difference(one.run_numbers, _scores(one), another.run_numbers, _scores(another))

    def __repr__(self) -> str:
        """Show the rankings, and the warnings."""
        tables = (f"{title}\n{text_table(heads, lines)}" for title, heads, lines in self._tables())
        return "\n\n".join([*tables, *self._remarks()])

    def _repr_html_(self) -> str:
        tables = (html_table(*table) for table in self._tables())
        return "".join([*tables, *(f"<p>{escape(words)}</p>" for words in self._remarks())])

    def _tables(self) -> Iterator[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
        """Title, heads and lines of each ranking that is printed."""
        for ranking in self.rankings[:MAX_RANKINGS]:
            best = self[ranking[0].label]
            measured = "mean rounds" if best.about.budget is None else "share wrong"
            measured = "mean regret" if isinstance(best, Runs) else measured
            counts = () if isinstance(best, Runs) else ("right", "wrong", "not identified")
            heads = ("", "policy", f"{measured} ± s.e.", "5–95 %", "more than the best (95 % interval)", *counts)
            numbers = sorted(self.labels.index(standing.label) for standing in ranking)
            short = run_labels([self.results[number].about for number in numbers])  # the title says the rest
            names = {self.labels[number]: label for number, label in zip(numbers, short, strict=True)}
            lines = [_line(replace(standing, label=names[standing.label])) for standing in ranking]
            yield _title(best, ranking), heads, lines

    def _remarks(self) -> list[str]:
        left = len(self.rankings) - MAX_RANKINGS
        more = [f"… and {left} more such rankings; see summary()."] if left > 0 else []
        return [*more, *(f"Warning: {message}" for message in self.warnings)]


def concat(results: Iterable[Runs | Identification | Comparison]) -> Runs | Identification | Comparison:
    """Put pieces of the same simulation or identification together.

    Parameters
    ----------
    results: iterable of Runs, Identification or Comparison
        Pieces are equal in all but the numbers of their runs, as two calls with different `first_run` give them.

    Returns
    -------
    Runs, Identification or Comparison
        One result if all are pieces of it, else a comparison of all that there are, each with its study.

    Examples
    --------
    >>> import matchbandit as mb
    >>> slots = mb.Bipartite([.9, .3], [.8, .4])
    >>> pieces = [mb.simulate(slots, "uts", horizon=100, runs=2, first_run=first) for first in (0, 2)]
    >>> mb.concat(pieces).run_numbers
    [0, 1, 2, 3]
    """
    pieces = [results] if isinstance(results, Runs | Identification | Comparison) else list(results)
    flat = [one for piece in pieces for one in (piece.results if isinstance(piece, Comparison) else [piece])]
    groups: dict[str, list[Runs | Identification]] = {}
    for result in Comparison(tuple(flat)):  # which checks what they are
        groups.setdefault(_simulation(result), []).append(result)
    joined = [group[0] if len(group) == 1 else _joined(group) for group in groups.values()]
    return joined[0] if len(joined) == 1 else Comparison(tuple(joined))


def _simulation(result: Runs | Identification) -> str:
    """What pieces of the same simulation have in common, as text."""
    about = replace(
        result.about, runs=0, first_run=None, run_numbers=None, interrupted_of=None, version=None, numpy=None, date=None
    )
    rounds = result.rounds.tolist() if isinstance(result, Runs) else None
    return json.dumps([about.describe(), rounds], sort_keys=True)


def _joined(pieces: Sequence[Any]) -> Runs | Identification:
    """One result of pieces, in the order of the numbers of their runs."""
    numbers = np.concatenate([piece.run_numbers for piece in pieces])
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    twice = numbers[1:][np.diff(numbers) == 0]
    if len(twice):
        raise MatchbanditError(
            f"run {twice[0]} of {pieces[0].about.policy} is in more than one of the results. "
            f"Give each run once; use first_run to number new runs."
        )
    about = _joined_about([piece.about for piece in pieces], numbers.tolist())
    if isinstance(pieces[0], Identification):
        parts = ("rounds", "pairs", "identified", "correct", "answers")
        return Identification(about, *(_in_order([getattr(piece, part) for piece in pieces], order) for part in parts))
    return Runs(
        about,
        pieces[0].rounds,
        _in_order([piece.regret for piece in pieces], order),
        _in_order([piece.counted for piece in pieces], order),
        _in_order([piece.reward_sums for piece in pieces], order),
        _in_order([piece.ended for piece in pieces], order),
        _in_order([piece.splits for piece in pieces], order),
        _in_order([piece.eliminations for piece in pieces], order),
    )


def _in_order(pieces: Sequence[Any], order: NDArray[np.int64]) -> Any:
    """The runs of all pieces, which are lists or arrays, in this order."""
    if not isinstance(pieces[0], list):
        return np.concatenate(pieces)[order]
    every = [run for piece in pieces for run in piece]
    return [every[number] for number in order]


def _joined_about(abouts: Sequence[RunInfo], numbers: list[int]) -> RunInfo:
    """The description of all pieces; they may be of several days and versions."""
    consecutive = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return replace(
        abouts[0],
        runs=len(numbers),
        first_run=(numbers[0] or None) if consecutive else None,
        run_numbers=None if consecutive else numbers,
        interrupted_of=None,
        date=max((about.date for about in abouts if about.date is not None), default=None),
        version=_joined_versions(about.version for about in abouts),
        numpy=_joined_versions(about.numpy for about in abouts),
    )


def _joined_versions(versions: Iterable[str | None]) -> str | None:
    return ", ".join(dict.fromkeys(version for version in versions if version is not None)) or None


def _setting(about: RunInfo) -> dict[str, Any]:
    """What is the same for all policies of a ranking: the problem, the horizon or δ, and the seed."""
    problem = about.problem
    return {
        "family": problem.get("family", ""),
        **parameters_of(problem),
        "rewards": rewards_text(problem.get("rewards", {})),
        "horizon": about.horizon,
        "delta": about.options.get("delta"),
        "epsilon": about.epsilon or None,
        "budget": about.budget,
        "stop": about.stop,
        "seed": about.seed,
    }


def _ranking_key(result: Runs | Identification) -> str:
    """Results with the same key are ranked against each other."""
    return json.dumps([task_of(result), _setting(result.about)], sort_keys=True)


def task_of(result: Runs | Identification) -> str:
    """What a round plays, or an identification seeks; only policies with the same task are ranked together."""
    if isinstance(result, Runs):
        return task_text(result.about.selection, regret=True)
    return task_text(result.about.answers or result.about.selection, regret=False)


def task_text(selection: str, *, regret: bool) -> str:
    """Format what a round plays, or an identification seeks.

    >>> task_text("pair", regret=True), task_text("matching", regret=False)
    ('one pair per round', 'the best matching')
    """
    return f"one {selection} per round" if regret else f"the best {selection}"


def _variant(about: RunInfo) -> dict[str, Any]:
    """In what results of the same policy may differ besides: its options, and how it was played."""
    setting = {"delta": about.options.get("delta"), "epsilon": about.epsilon}  # which `_setting` has
    options = {key: value for key, value in about.options.items() if key not in setting or value != setting[key]}
    warm = {} if about.warm_start is None else {"warm start": f"{about.warm_start.get('plays')} plays"}
    return options | {"max_rounds": about.max_rounds, "engine": about.engine, "study": about.study} | warm


def run_labels(abouts: Sequence[RunInfo], *, omit: str | None = None) -> tuple[str, ...]:
    """Return a label for each, no two the same; results that differ in the setting `omit` alone share one."""
    settings = [_setting(about) for about in abouts]
    differ = _differing(settings)
    names = {about.policy for about in abouts}
    by_name = {name: _differing([_variant(about) for about in abouts if about.policy == name]) for name in names}
    labels: list[str] = []
    for about, setting in zip(abouts, settings, strict=True):
        variant = {key: value for key, value in _variant(about).items() if key in by_name[about.policy]}
        shown = variant | {key: value for key, value in setting.items() if key in differ and value not in ("", None)}
        shown.pop(omit or "", None)
        labels.append(", ".join([about.policy, *(f"{key} = {_value(value)}" for key, value in shown.items())]))
    seen: dict[str, int] = {}
    for number, label in enumerate(labels if omit is None else []):
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > 1:
            labels[number] = f"{label} ({seen[label]})"
    return tuple(labels)


def _differing(settings: Sequence[dict[str, Any]]) -> set[str]:
    """The names of the settings in which some differ."""
    names = dict.fromkeys(name for setting in settings for name in setting)
    return {name for name in names if any(s.get(name) != settings[0].get(name) for s in settings)}


def _value(value: Any) -> str:
    """A value in a label; a long list is only hinted at."""
    if isinstance(value, list | tuple | dict):
        text = json.dumps(value)
        return text if len(text) <= 40 else f"{text[:30]} …"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value).removesuffix(".0")


def _ranking(labelled: "Sequence[tuple[str, Runs | Identification]]") -> tuple[Standing, ...]:
    """Rank from the lowest mean to the highest, ties in the order given."""
    ranked = sorted(labelled, key=lambda pair: float(_scores(pair[1]).mean()))
    best = ranked[0][1]
    standings = []
    for rank, (label, result) in enumerate(ranked, start=1):
        to_best = None
        if rank > 1:
            to_best = paired_difference(result.run_numbers, _scores(result), best.run_numbers, _scores(best))
        counts = {}
        if isinstance(result, Identification):
            summary = result.summary()
            missing = summary["runs"] - summary["identified"]
            counts = {"right": summary["correct"], "wrong": summary["wrong"], "not_identified": missing}
        scores = summarize(_scores(result))
        standings.append(Standing(rank, label, len(result), **scores._asdict(), to_best=to_best, **counts))
    return tuple(standings)


def _scores(result: Runs | Identification) -> NDArray[np.float64]:
    """The number of each run that ranks it, the lower the better; with a fixed budget 1 for a wrong answer, else 0."""
    if isinstance(result, Runs):
        return result.final.astype(np.float64)
    return (result.rounds if result.about.budget is None else ~result.correct).astype(np.float64)


def _title(result: Runs | Identification, ranking: Sequence[Standing]) -> str:
    """The heading of a ranking."""
    about = result.about
    parameters = [
        f"{name} = {_value(value)}" for name, value in parameters_of(about.problem).items() if name != "players"
    ]
    runs = sorted({standing.runs for standing in ranking})
    counts = plural(runs[0], "run") if len(runs) == 1 else f"{grouped(runs[0])} to {plural(runs[-1], 'run')}"
    precision = {"delta": about.options.get("delta"), "epsilon": about.epsilon or None}
    if isinstance(result, Runs):
        kind = f"Regret after {grouped(result.rounds[-1])} rounds"
    elif about.budget is not None:
        kind = f"Share of wrong answers within {grouped(about.budget)} rounds"
    else:
        promised = [f"{name} = {value}" for name, value in precision.items() if value is not None]
        kind = " at ".join(["Rounds until identification", *([", ".join(promised)] if promised else [])])
    stop = [f"stopped at the {about.stop}"] if about.stop else []
    problem = ", ".join([about.problem_summary, *parameters, *stop])
    return f"{kind}, {counts}, seed {about.seed}: {problem}; {task_of(result)}"


def _line(standing: Standing) -> tuple[str, ...]:
    """The cells of a standing."""
    more = "" if standing.to_best is None else standing.to_best.text
    counts = (standing.right, standing.wrong, standing.not_identified)
    cells = tuple(grouped(count) for count in counts if count is not None)
    summary = Summary(standing.mean, standing.se, standing.p5, standing.p95)
    return (f"{standing.rank}.", standing.label, summary.mean_text, summary.range_text, more, *cells)
