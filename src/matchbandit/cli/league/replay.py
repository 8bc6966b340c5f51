"""`matchbandit league replay`: play policies on a simulator that is fitted to past results."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from matchbandit.cli import parameters as common
from matchbandit.cli.completion import DEFAULT_STORE
from matchbandit.cli.league.parameters import ALL, SomeLeague, StoreUrl, open_store
from matchbandit.cli.output import Output, prints_output
from matchbandit.cli.parameters import Distribution, Seed, Spec, Workers, choice, integer, optional, parsed_by
from matchbandit.errors import MatchbanditError
from matchbandit.progress import bar

if TYPE_CHECKING:
    from matchbandit.leagues import League
    from matchbandit.past_results import PastResults
    from matchbandit.studies.replay import Replay

DEFAULT_POLICY = "rank1-thompson"
KindName = Literal["players", "sides"]
OnMissingName = Literal["error", "skip"]
StartName = Literal["warm", "cold", "both"]
TruthName = Literal["auto", "product", "general"]
_KIND, _ON_MISSING = choice("kind of results", get_args(KindName)), choice("choice of on_missing", ("error", "skip"))
_START, _TRUTH = choice("start", get_args(StartName)), choice("truth", get_args(TruthName))
_SELECTION = choice("selection", get_args(common.SelectionName))
_POLICY = parsed_by(common.parse_policy, "POLICY", common.POLICY_NAME["autocompletion"])
_POLICY_HELP = (
    f"A policy with its options, 'rank1-thompson half_life=100'; may be repeated. By default {DEFAULT_POLICY}."
)
_RUNS_HELP = "Runs of each policy, at least 40: two for each of half that number of simulated truths."
Columns = Annotated[
    list[str] | None, optional("Columns of the file: first=ad,second=slot,reward=clicked.", metavar="ROLE=COLUMN")
]
Kind = Annotated[KindName | None, optional("Items of the file on one side or two; by default inferred.", _KIND)]
OnMissing = Annotated[OnMissingName | None, optional("Rows of the file without a name; by default error.", _ON_MISSING)]


@prints_output
def replay(
    league: SomeLeague = None,
    file: Annotated[Path | None, optional("Results in CSV or Parquet, or an exported league.", metavar="FILE")] = None,
    column: Columns = None,
    kind: Kind = None,
    on_missing: OnMissing = None,
    policy: Annotated[list[Spec] | None, optional(_POLICY_HELP, _POLICY)] = None,
    horizon: Annotated[
        int | None, optional("Rounds; by default as many as there are results.", integer("--horizon"))
    ] = None,
    runs: Annotated[int, typer.Option(help=_RUNS_HELP, **integer("--runs"))] = 200,
    seed: Seed = 0,
    rewards: Annotated[
        Distribution | None, optional("Distribution; by default that of the league.", common.REWARD_DISTRIBUTION)
    ] = None,
    selection: Annotated[common.SelectionName | None, optional("What a round plays.", _SELECTION)] = None,
    start: Annotated[
        StartName, typer.Option(help="With the results (warm), without (cold), or both.", **_START)
    ] = "warm",
    truth: Annotated[TruthName, typer.Option(help="Are the means products? auto: as is probable.", **_TRUTH)] = "auto",
    figure: Annotated[Path | None, optional("Draw the result into this .png.", metavar="FILE")] = None,
    workers: Workers = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Compare policies on a simulator that is fitted to past results.

    Simulated truths that fit the results are drawn, and every policy plays the same ones.
    """
    if (league is None) == (file is None):
        raise MatchbanditError("give a league or --file, and not both: whose results are replayed?")
    if file is not None:
        results, own_rewards = _results_of_file(file, column, kind, on_missing)
    else:
        refuse_without_file("--file", column=column, kind=kind, on_missing=on_missing)
        with open_store(store) as opened:
            results, own_rewards = _results_of_league(opened.open(league or ""))
    from matchbandit.studies.replay import replay as play

    with bar("replaying") as advance:
        result = play(
            results,
            policy or [DEFAULT_POLICY],
            horizon=horizon,
            runs=runs,
            seed=seed,
            rewards=rewards or own_rewards,
            selection=selection,
            start=start,
            truth=truth,
            workers=workers,
            progress=lambda done, total: advance("runs", done, total),
        )
    if figure is not None:
        result.plot(figure)
    return Output({**_describe(result), "figure": None if figure is None else str(figure)}, repr(result))


def _results_of_league(league: "League") -> "tuple[PastResults, Distribution | None]":
    """Return the results of a league and their distribution."""
    from matchbandit.past_results import PastResults

    info = league.info()
    rows = [(*pair.names, pair.count, pair.total) for pair in league.results(limit=ALL)]
    if not rows:
        raise MatchbanditError(f"{league.slug} has no results yet to replay. Record some first, or give a --file.")
    sides = None if info.sides is None else (info.sides[0], info.sides[1])
    kind: KindName = "players" if sides is None else "sides"
    results = PastResults.from_rows(rows, kind=kind, sides=sides, source=f"the league {league.slug}")
    return results, common.parse_rewards(info.rewards)


def _results_of_file(
    file: Path, column: list[str] | None, kind: KindName | None, on_missing: OnMissingName | None
) -> "tuple[PastResults, Distribution | None]":
    """Return the results of a CSV or Parquet file, or of an exported league."""
    if file.name.endswith((".jsonl", ".jsonl.gz")):
        refuse_without_file("a CSV or Parquet file", column=column, kind=kind, on_missing=on_missing)
        with TemporaryDirectory() as folder, open_store(str(Path(folder) / "replay.db"), create=True) as imported:
            return _results_of_league(imported.import_league(file))
    return read_past(file, column, kind=kind, on_missing=on_missing), None


def _describe(result: "Replay") -> dict[str, Any]:
    return {
        "horizon": result.horizon,
        "selection": result.selection,
        "places": result.summary(),
        "verdict": result.verdict,
        "product": result.product,
        "fit": result.fit.p_value,
        "drift": result.drift,
        "notes": result.notes,
    }


# --- files of results ---


def read_past(
    path: Path, column: list[str] | None, *, kind: KindName | None, on_missing: OnMissingName | None
) -> "PastResults":
    """Read the results of a CSV or Parquet file; rows that are skipped are reported on stderr."""
    from matchbandit.past_results import read_results, skipped_rows

    results = read_results(
        path, columns=_parse_columns(column or []) or None, kind=kind, on_missing=on_missing or "error"
    )
    if results.skipped:
        typer.echo(f"{path.name}: {skipped_rows(results.skipped)}.", err=True)
    return results


def refuse_without_file(file: str, *, column: list[str] | None, kind: str | None, on_missing: str | None) -> None:
    """Refuse options that say how a file is read where there is none."""
    for name, value in (("--column", column), ("--kind", kind), ("--on-missing", on_missing)):
        if value:
            raise MatchbanditError(f"{name} goes with {file}.")


def _parse_columns(texts: list[str]) -> dict[str, str]:
    """Parse the columns of a file, from `first=ad,second=slot` or from one such option for each.

    >>> _parse_columns(["first=ad,second=007", "reward=clicked, or not"])
    {'first': 'ad', 'second': '007', 'reward': 'clicked, or not'}
    """
    parts: list[str] = []
    for text in texts:
        first, *more = text.split(",")
        parts.append(first)
        for part in more:  # a comma that no role follows belongs to the name of a column
            if "=" in part:
                parts.append(part.strip())
            else:
                parts[-1] += f",{part}"
    # The name of a column stays as it is typed, also if it looks like a number.
    columns = [common.parse_setting("--column", part)._replace(value=part.partition("=")[2]) for part in parts]
    return common.merge_settings("--column", columns)
