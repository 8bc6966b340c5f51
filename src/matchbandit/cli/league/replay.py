"""`matchbandit league replay`: play policies on a simulator that is fitted to past results."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from matchbandit.cli.completion import DEFAULT_STORE, complete_league
from matchbandit.cli.league.parameters import (
    Columns,
    Kind,
    KindName,
    OnMissing,
    OnMissingName,
    StoreUrl,
    open_league,
    open_store,
    parse_columns,
)
from matchbandit.cli.output import Output, prints_output
from matchbandit.cli.parameters import (
    POLICY_NAME,
    REWARD_DISTRIBUTION,
    Distribution,
    Seed,
    SelectionName,
    Spec,
    Workers,
    choice,
    integer,
    parse_policy,
    parse_rewards,
    parsed_by,
)
from matchbandit.errors import MatchbanditError
from matchbandit.progress import bar

if TYPE_CHECKING:
    from matchbandit.live.league import League
    from matchbandit.past_results import PastResults
    from matchbandit.studies.replay import Replay

DEFAULT_POLICY = "rank1-thompson"
StartName = Literal["warm", "cold", "both"]
TruthName = Literal["auto", "product", "general"]


@prints_output
def replay(
    league: Annotated[
        str | None,
        typer.Argument(
            metavar="[LEAGUE]",
            help="Replay the results of this league, or of a --file.",
            show_default=False,
            autocompletion=complete_league,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Results in CSV or Parquet, or an exported league.", show_default=False),
    ] = None,
    column: Columns = None,
    kind: Kind = None,
    on_missing: OnMissing = None,
    policy: Annotated[
        list[Spec] | None,
        typer.Option(
            help="A policy with its options, 'rank1-thompson half_life=100'; may be repeated. "
            f"By default {DEFAULT_POLICY}.",
            show_default=False,
            **parsed_by(parse_policy, "POLICY", POLICY_NAME["autocompletion"]),
        ),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            help="Number of rounds; by default as many as the results fill.", show_default=False, **integer("--horizon")
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            help="Runs of each policy, at least 40: two for each of half that number of simulated truths.",
            **integer("--runs"),
        ),
    ] = 200,
    seed: Seed = 0,
    rewards: Annotated[
        Distribution | None,
        typer.Option(
            help="Distribution of the outcomes; by default that of the league.",
            show_default=False,
            **REWARD_DISTRIBUTION,
        ),
    ] = None,
    selection: Annotated[
        SelectionName | None,
        typer.Option(help="What a round plays.", show_default=False, **choice("selection", get_args(SelectionName))),
    ] = None,
    start: Annotated[
        StartName,
        typer.Option(
            help="Do policies start with the results (warm), without them (cold), or both?",
            **choice("start", get_args(StartName)),
        ),
    ] = "warm",
    truth: Annotated[
        TruthName,
        typer.Option(
            help="Are the means products? auto: as probable as the results make it.",
            **choice("truth", get_args(TruthName)),
        ),
    ] = "auto",
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the result into this .png.", show_default=False)
    ] = None,
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
        with open_league(store, league or "") as opened:
            results, own_rewards = _results_of_league(opened)
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

    about = league.about()
    rows = league.results()
    if not rows:
        raise MatchbanditError(f"{league.name} has no results yet to replay. Record some first, or give a --file.")
    sides = about["sides"]
    results = PastResults.from_rows(
        rows,
        kind="players" if sides is None else "sides",
        sides=None if sides is None else tuple(sides),
        source=f"the league {league.name}",
    )
    return results, parse_rewards(about["rewards"])


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

    results = read_results(path, columns=parse_columns(column) or None, kind=kind, on_missing=on_missing or "error")
    if results.skipped:
        typer.echo(f"{path.name}: {skipped_rows(results.skipped)}.", err=True)
    return results


def refuse_without_file(file: str, *, column: list[str] | None, kind: str | None, on_missing: str | None) -> None:
    """Refuse options that say how a file is read where there is none."""
    for name, value in (("--column", column), ("--kind", kind), ("--on-missing", on_missing)):
        if value:
            raise MatchbanditError(f"{name} goes with {file}.")
