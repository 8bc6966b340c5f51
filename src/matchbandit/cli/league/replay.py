"""`matchbandit league replay`: play policies on a simulator that is fitted to past results."""

import re
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from matchbandit.cli import parameters as common
from matchbandit.cli.completion import DEFAULT_STORE
from matchbandit.cli.league.parameters import SomeLeague, StoreUrl, open_store, with_options
from matchbandit.cli.output import Output, prints_output
from matchbandit.cli.parameters import Distribution, Spec, choice, integer, optional, parsed_by
from matchbandit.errors import MatchbanditError
from matchbandit.progress import bar

if TYPE_CHECKING:
    from matchbandit.leagues import League
    from matchbandit.past_results import PastResults

_KIND, _ON_MISSING = choice("kind of results", ("players", "sides")), choice("choice of on_missing", ("error", "skip"))
FILE_OPTIONS: dict[str, Any] = {
    "column": Annotated[
        list[str] | None, optional("Columns of the file: first=ad,second=slot.", metavar="ROLE=COLUMN")
    ],
    "kind": Annotated[str | None, optional("Items of the file on one side or two; by default inferred.", _KIND)],
    "on_missing": Annotated[str | None, optional("Rows of the file without a name; by default error.", _ON_MISSING)],
}
"""How a file of results is read."""
_START, _TRUTH = choice("start", ("warm", "cold", "both")), choice("truth", ("auto", "product", "general"))
_SELECTION, _REWARDS = choice("selection", get_args(common.SelectionName)), common.REWARD_DISTRIBUTION
_RUNS_HELP = "Runs of each policy, at least 40: two for each of half that number of simulated truths; by default 200."
_OPTIONS: dict[str, Any] = {
    "horizon": Annotated[int | None, optional("Rounds; by default as many as the results fill.", integer("--horizon"))],
    "runs": Annotated[int | None, optional(_RUNS_HELP, integer("--runs"))],
    "seed": Annotated[int | None, optional("Seed of all random numbers; by default 0.", integer("--seed", minimum=0))],
    "rewards": Annotated[Distribution | None, optional("Distribution of the outcomes, if not the league's.", _REWARDS)],
    "selection": Annotated[str | None, optional("What a round plays.", _SELECTION)],
    "start": Annotated[str | None, optional("With the results (warm, the default), without them, or both.", _START)],
    "truth": Annotated[str | None, optional("Are the means products? By default as the results suggest.", _TRUTH)],
    "workers": common.Workers,
}
_POLICY = parsed_by(common.parse_policy, "POLICY", common.POLICY_NAME["autocompletion"])
_POLICY_HELP = "A policy with its options, 'rank1-thompson half_life=100'; may be repeated. By default rank1-thompson."


@prints_output
@partial(with_options, name="options", options=_OPTIONS)
@partial(with_options, name="reading", options=FILE_OPTIONS)
def replay(
    league: SomeLeague = None,
    file: Annotated[Path | None, optional("Results in CSV or Parquet, or an exported league.", metavar="FILE")] = None,
    policy: Annotated[list[Spec] | None, optional(_POLICY_HELP, _POLICY)] = None,
    figure: Annotated[Path | None, optional("Draw the result into this .png.", metavar="FILE")] = None,
    store: StoreUrl = DEFAULT_STORE,
    *,
    reading: dict[str, Any],
    options: dict[str, Any],
) -> Output:
    """Compare policies on a simulator that is fitted to past results of a league or a file.

    Simulated truths that fit the results are drawn, and every policy plays the same ones.
    """
    if (league is None) == (file is None):
        raise MatchbanditError("give a league or --file, and not both: whose results are replayed?")
    if league is not None and Path(league).suffix and Path(league).is_file():  # names of leagues have no dots
        raise MatchbanditError(f"{league!r} is a file: give it with --file.")
    is_export = file is not None and file.name.endswith((".jsonl", ".jsonl.gz"))
    if file is None or is_export:
        refuse_without_file("a CSV or Parquet file" if is_export else "--file", reading)
    rewards = None
    if file is None:
        with open_store(store) as opened:
            results, rewards = _results_of_league(opened.open(league or ""))
    elif is_export:
        with TemporaryDirectory() as folder, open_store(str(Path(folder) / "replay.db"), create=True) as opened:
            results, rewards = _results_of_league(opened.import_league(file))
    else:
        results = read_past(file, reading)
    from matchbandit.lab.replay import replay as play

    with bar("replaying") as advance:
        defaults = {"rewards": rewards, "workers": None, "progress": lambda done, total: advance("runs", done, total)}
        result = play(results, policy or ["rank1-thompson"], **(defaults | options))
    if figure is not None:
        result.chart().save(figure)
    names = ("horizon", "selection", "verdict", "product", "drift", "assumption", "notes")
    data = {name: getattr(result, name) for name in names}
    data |= {"ranking": result.summary(), "fit": result.fit.p_value, "figure": None if figure is None else str(figure)}
    return Output(data, repr(result))


def _results_of_league(league: "League") -> "tuple[PastResults, Distribution]":
    """Return the results of a league and their distribution."""
    from matchbandit.past_results import PastResults

    info = league.info()
    rows = [(*pair.names, pair.count, pair.total) for pair in league.results()]
    if not rows:
        raise MatchbanditError(f"{league.slug} has no results yet to replay. Record some first, or give a --file.")
    sides = None if info.sides is None else (info.sides[0], info.sides[1])
    source, kind = f"the league {league.slug}", "players" if sides is None else "sides"
    results = PastResults.from_rows(rows, kind=kind, sides=sides, source=source)  # type: ignore[arg-type]
    return results, common.parse_rewards(info.rewards)


def read_past(path: Path, reading: dict[str, Any]) -> "PastResults":
    """Read the results of a CSV or Parquet file; rows that are skipped are reported on stderr."""
    from matchbandit.past_results import read_results, skipped_rows

    how = {name: value for name, value in reading.items() if name != "column"}
    results = read_results(path, columns=parse_columns(reading.get("column", [])) or None, **how)
    if results.skipped:
        typer.echo(f"{path.name}: {skipped_rows(results.skipped)}.", err=True)
    return results


def refuse_without_file(file: str, reading: dict[str, Any]) -> None:
    """Refuse options that say how a file is read where there is none."""
    if reading:
        raise MatchbanditError(f"--{next(iter(reading)).replace('_', '-')} goes with {file}.")


def parse_columns(texts: list[str]) -> dict[str, str]:
    """Parse the columns of a file, from `first=ad,second=slot` or from one such option for each.

    >>> parse_columns(["first=ad,second=007", "reward=clicked, or not"])
    {'first': 'ad', 'second': '007', 'reward': 'clicked, or not'}
    """
    parts = [part for text in texts for part in re.split(r",\s*(?=[^,]*=)", text)]  # names of columns may have commas
    # The name of a column stays as it is typed, also if it looks like a number.
    columns = [common.parse_setting("--column", part)._replace(value=part.partition("=")[2]) for part in parts]
    return common.merge_settings("--column", columns)
