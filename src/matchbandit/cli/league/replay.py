"""`matchbandit league replay`: play policies on a simulator fitted to past results; and files of such results."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.league.common import STORE, StoreUrl, opened_league, opened_store, print_json
from matchbandit.cli.options import Json, Seed, Workers
from matchbandit.cli.parsing import rewards_of, settings, whole, whole_if
from matchbandit.errors import MatchbanditError
from matchbandit.progress import bar

if TYPE_CHECKING:
    from matchbandit.live.league import League
    from matchbandit.past_results import PastResults
    from matchbandit.policies import PolicySpec
    from matchbandit.rewards import RewardDistribution
    from matchbandit.studies.replay import Replay

Kind = Annotated[
    str | None,
    typer.Option(
        help="players or sides: are the items of that file on one side, or on two? Seen by their names if left out.",
        show_default=False,
    ),
]
OnMissing = Annotated[
    str | None,
    typer.Option(help="Rows of that file without a name: error (by default), or skip.", show_default=False),
]
POLICIES = ("rank1-thompson", "cucb", "uniform")


def replay(
    league: Annotated[
        str | None, typer.Argument(metavar="[LEAGUE]", help="Whose results; or give --file.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="Results in CSV or Parquet, or an exported league.", show_default=False)
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="Which column of the file is what, such as first=ad,reward=clicked.")
    ] = None,
    kind: Kind = None,
    on_missing: OnMissing = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy, with its options after it: 'rank1-thompson half_life=100'; "
            f"by default {', '.join(POLICIES)}.",
            show_default=False,
        ),
    ] = None,
    horizon: Annotated[
        str | None,
        typer.Option(help="Rounds to play; by default as many as the results would fill.", show_default=False),
    ] = None,
    runs: Annotated[str, typer.Option(help="Of each policy, at least 40: two in each of half as many truths.")] = "200",
    seed: Seed = "0",
    rewards: Annotated[
        str | None,
        typer.Option(help="What an outcome can be; by default as the league has it.", show_default=False),
    ] = None,
    selection: Annotated[str | None, typer.Option(help="pair or matching.", show_default=False)] = None,
    start: Annotated[
        str, typer.Option(help="Do policies begin with the results (warm), from nothing (cold), or both?")
    ] = "warm",
    truth: Annotated[
        str, typer.Option(help="product, general, or auto: the results say how probable a product is.")
    ] = "auto",
    figure: Annotated[Path | None, typer.Option(help="Draw it into this .png.", show_default=False)] = None,
    workers: Workers = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Choose a policy from results there are.

    Truths that fit the results are drawn, and every policy plays the same ones.
    """  # fmt: skip
    if (league is None) == (file is None):
        raise MatchbanditError("say whose results: a league, or --file, and not both.")
    if file is None:
        refuse_without_file("--file", column=column, kind=kind, on_missing=on_missing)
    specs = [_policy(text) for text in policy or ()]
    distribution = None if rewards is None else rewards_of(rewards)
    results, own = _of_file(file, column, kind, on_missing) if file is not None else _of_store(store, league or "")
    from matchbandit.studies.replay import largest_part
    from matchbandit.studies.replay import replay as choose

    specs = specs or _default_policies(largest_part(results, truth), selection)  # type: ignore[arg-type]  # as below
    with bar("replaying") as advance:
        replayed = choose(
            results,
            specs,
            horizon=whole_if("--horizon", horizon),
            runs=whole("--runs", runs),
            seed=whole("--seed", seed),
            rewards=distribution or own,
            selection=selection,  # type: ignore[arg-type]  # others are refused with their name, here and below
            start=start,  # type: ignore[arg-type]
            truth=truth,  # type: ignore[arg-type]
            workers=whole_if("--workers", workers),
            progress=lambda finished, total: advance("runs", finished, total),
        )
    if figure is not None:
        replayed.plot(figure)
    if as_json:
        print_json({**_as_data(replayed), "figure": None if figure is None else str(figure)})
    else:
        typer.echo(repr(replayed))


def _default_policies(results: "PastResults", selection: str | None) -> "list[PolicySpec]":
    """Those that can play with so many: of an odd number of players, not all can let one sit out."""
    specs = [_policy(name) for name in POLICIES]
    graph = results.tally.graph
    if not graph.has_bye or selection == "pair":
        return specs
    fitting = [spec for spec in specs if "regret" in spec.kind.capabilities.byes]
    left_out = ", ".join(spec.name for spec in specs if spec not in fitting)
    typer.echo(f"left out, as the players are odd in number: {left_out}.", err=True)
    return fitting


def _policy(text: str) -> "PolicySpec":
    """A policy with its options, of `rank1-thompson half_life=100`."""
    from matchbandit.policies import policy as named

    name, *options = text.split() or [""]
    return named(name, **settings("--policy", options))


def _of_store(store: str, league: str) -> "tuple[PastResults, RewardDistribution | None]":
    with opened_league(store, league) as opened:
        return _of_league(opened)


def _of_league(league: "League") -> "tuple[PastResults, RewardDistribution | None]":
    """The results of a league, and how they are distributed."""
    from matchbandit.past_results import PastResults

    about = league.about()
    rows = league.results()
    if not rows:
        raise MatchbanditError(f"{league.name} has no results yet to replay. Tell some first, or give a --file.")
    sides = about["sides"]
    results = PastResults.from_rows(
        rows,
        kind="players" if sides is None else "sides",
        sides=None if sides is None else tuple(sides),
        source=f"the league {league.name}",
    )
    rewards = rewards_of(about["rewards"])
    if rewards.impossible(results.rewards, results.counts).any():  # stored by a version before 0.8, which took them
        rewards = rewards_of("bernoulli")
    return results, rewards


def _of_file(
    file: Path, column: list[str] | None, kind: str | None, on_missing: str | None
) -> "tuple[PastResults, RewardDistribution | None]":
    """The results of a CSV or Parquet file, or of a league that was exported, which is opened for a moment."""
    if file.name.endswith((".jsonl", ".jsonl.gz")):
        refuse_without_file("a CSV or Parquet file", column=column, kind=kind, on_missing=on_missing)
        with TemporaryDirectory() as folder, opened_store(str(Path(folder) / "replay.db"), may_be_new=True) as imported:
            return _of_league(imported.import_league(file))
    return read_past(file, column, kind=kind, on_missing=on_missing), None


def _as_data(replayed: "Replay") -> dict[str, Any]:
    return {
        "horizon": replayed.horizon,
        "selection": replayed.selection,
        "places": replayed.summary(),
        "verdict": replayed.verdict,
        "product": replayed.product,
        "fit": replayed.fit.p_value,
        "drift": replayed.drift,
        "notes": replayed.notes,
    }


# Files of results ----------------------------------------------------------------------------------------------------


def read_past(path: Path, column: list[str] | None, *, kind: str | None, on_missing: str | None) -> "PastResults":
    """The results of a CSV or Parquet file; what is skipped is said on stderr."""
    from matchbandit.past_results import read_results, skipped_rows

    results = read_results(
        path,
        columns=columns_typed(column) or None,
        kind=kind,  # type: ignore[arg-type]  # others are refused with their name, here and below
        on_missing=on_missing or "error",  # type: ignore[arg-type]
    )
    if results.skipped:
        typer.echo(f"{path.name}: {skipped_rows(results.skipped)}.", err=True)
    return results


def refuse_without_file(file: str, *, column: list[str] | None, kind: str | None, on_missing: str | None) -> None:
    """Refuse what says how a file is read where none is given."""
    for name, typed, what in (
        ("--column", column, "whose columns it names"),
        ("--kind", kind, "whose items it places"),
        ("--on-missing", on_missing, "whose rows it skips"),
    ):
        if typed:
            raise MatchbanditError(f"{name} goes with {file}, {what}.")


def columns_typed(column: list[str] | None) -> dict[str, str]:
    """Which column is what, of `first=ad,second=slot` or of one such option for each.

    >>> columns_typed(["first=ad,second=slot", "reward=clicked, or not"])
    {'first': 'ad', 'second': 'slot', 'reward': 'clicked, or not'}
    """
    parts: list[str] = []
    for text in column or []:
        first, *more = text.split(",")
        parts.append(first)
        for part in more:  # a comma that no role follows belongs to the name of a column
            if "=" in part:
                parts.append(part.strip())
            else:
                parts[-1] += f",{part}"
    return {key: str(value) for key, value in settings("--column", parts).items()}
