"""Type it: `matchbandit policies`, `simulate`, `reproduce`."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.problems import Family, Problem
    from matchbandit.results import Runs
    from matchbandit.rewards import RewardLaw

app = typer.Typer(
    name="matchbandit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print machine-readable output, and nothing else.")]
Seed = Annotated[int, typer.Option(help="The root of all random streams.")]
Workers = Annotated[int | None, typer.Option(help="Processes; by default one for each core.", show_default=False)]


@app.callback(invoke_without_command=True)
def matchbandit(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Learn whom to pair with whom: the algorithms of matching bandits, right and fast."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"matchbandit {installed('matchbandit')}")
        raise typer.Exit


@app.command()
def policies(as_json: Json = False) -> None:
    """List the policies: what they select, on which graphs, for which goal, and their options."""
    from matchbandit.policies import CATALOGUE, RoundPolicy

    entries: list[dict[str, Any]] = [
        {
            "name": name,
            "selection": list(kind.selections),
            "graphs": list(kind.graphs),
            "goals": list(kind.goals),
            "rewards": "in [0, 1]" if kind.unit_rewards else "any",
            "needs_horizon": kind.needs_horizon,
            "engine": "loop" if issubclass(kind, RoundPolicy) else "jump",
            "options": kind.option_defaults(),
            "summary": kind.summary,
            "reference": kind.reference,
        }
        for name, kind in CATALOGUE.items()
    ]
    if as_json:
        typer.echo(json.dumps(entries, indent=2))
        return
    lines = [
        (
            e["name"],
            " or ".join(e["selection"]),
            ", ".join(e["graphs"]),
            ", ".join(e["goals"]),
            e["rewards"],
            ", ".join(f"{k}={_shown(v)}" for k, v in e["options"].items()) or "–",
            f"{e['summary']} ({e['reference']})",
        )
        for e in entries
    ]
    _table(("policy", "selects", "graphs", "goal", "rewards", "options", "what it does"), lines)


@app.command()
def simulate(
    policy: Annotated[str, typer.Option(help="A name from `matchbandit policies`.")],
    horizon: Annotated[str, typer.Option(help="Rounds to play, for example 2e6.")],
    u: Annotated[str | None, typer.Option(help="Strengths of rows or players: 0.9,0.3,0.2 or 0.9 0.3 0.2.")] = None,
    v: Annotated[str | None, typer.Option(help="Strengths of columns; leave out for players.")] = None,
    family: Annotated[
        str | None, typer.Option(help="Instead of --u: spiked, fixed-mean, staircase or centred; see --param.")
    ] = None,
    param: Annotated[list[str] | None, typer.Option(help="A parameter of the family, key=value.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="An option of the policy, key=value.")] = None,
    rewards: Annotated[str, typer.Option(help="bernoulli, gaussian:SD or binomial:TRIALS.")] = "bernoulli",
    runs: Annotated[int, typer.Option(help="Independent runs.")] = 20,
    seed: Seed = 0,
    engine: Annotated[str, typer.Option(help="auto, step, jump or loop.")] = "auto",
    checkpoints: Annotated[
        str | None, typer.Option(help="Rounds at which the regret is read, for example 1e3,1e4.")
    ] = None,
    workers: Workers = None,
    save: Annotated[Path | None, typer.Option(help="Keep all runs in this Parquet file.")] = None,
    as_json: Json = False,
) -> None:
    """Play a policy on a problem and report its regret."""
    import os

    from matchbandit.policies import policy as named
    from matchbandit.simulation import Interrupted
    from matchbandit.simulation import simulate as play

    spec = named(policy, **_settings("--option", option))
    problem = _problem(u, v, family, _settings("--param", param), _law(rewards))
    stopped = False
    try:
        with _progress(f"simulating {policy}") as advance:
            done = play(
                problem,
                spec,
                horizon=_whole("--horizon", horizon),
                runs=runs,
                seed=seed,
                engine=engine,  # type: ignore[arg-type]  # an unknown engine is refused with its name
                checkpoints=None if checkpoints is None else [_whole("--checkpoints", r) for r in _listed(checkpoints)],
                workers=(os.cpu_count() or 1) if workers is None else workers,
                progress=lambda finished, total: advance("runs", finished, total),
            )
    except Interrupted as stop:
        if stop.finished is None:
            typer.echo("stopped before a run was finished.", err=True)
            raise typer.Exit(130) from None
        done, stopped = stop.finished, True
    if save is not None:
        _save(done, save)
    if as_json:
        typer.echo(json.dumps(_as_data(done)))
    else:
        _report(done, save)
    if stopped:
        typer.echo(f"stopped after {done.about['runs']} of {done.about['interrupted_of']} runs.", err=True)
        raise typer.Exit(130)


@app.command()
def reproduce(
    figure: Annotated[
        list[str] | None, typer.Argument(help="fig1-top, fig1-bottom, u1-regret, u1-ratio, delta-ratio; default all.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs a point, each on a fresh instance.")] = 40,
    out: Annotated[Path, typer.Option(help="The folder for pictures, page and finished runs.")] = Path("reproduction"),
    seed: Seed = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Draw the paper's figures with the published numbers laid over, and judge its claims."""
    from dataclasses import asdict

    from matchbandit.experiments import reproduce as redo

    try:
        with _progress("reproducing") as advance:
            made = redo(figure or (), runs=runs, seed=seed, out=out, workers=workers, progress=advance)
    except KeyboardInterrupt:
        typer.echo(f"stopped; finished parts are kept in {out}, the same command goes on from there.", err=True)
        raise typer.Exit(130) from None
    if as_json:
        claims = [asdict(claim) for claim in made.claims]
        typer.echo(json.dumps({"claims": claims, "pictures": [str(p) for p in made.pictures], "page": str(made.page)}))
        return
    _table(("where", "claim", "measured", "verdict"), [(c.where, c.claim, c.measured, c.verdict) for c in made.claims])
    typer.echo("\npictures:")
    for picture in made.pictures:
        typer.echo(f"  {picture}")
    typer.echo(f"page:\n  {made.page}")


def main() -> None:
    """Run the command line; a user's mistake ends in one line on stderr and exit code 2."""
    try:
        app(_gathered(sys.argv[1:]))
    except MatchbanditError as mistake:
        typer.echo(f"error: {mistake}", err=True)
        sys.exit(2)


def _gathered(words: list[str]) -> list[str]:
    """`--u 0.9 0.3 0.2` as one value: the numbers that follow a list option are joined.

    >>> _gathered(["simulate", "--u", "0.9", "0.3", "--runs", "2"])
    ['simulate', '--u', '0.9,0.3', '--runs', '2']
    """
    gathered: list[str] = []
    for word in words:
        in_list = len(gathered) > 1 and gathered[-2] in ("--u", "--v", "--checkpoints") and not word.startswith("--")
        if in_list:
            gathered[-1] += f",{word}"
        else:
            gathered.append(word)
    return gathered


def _problem(
    u: str | None, v: str | None, family: str | None, parameters: dict[str, Any], law: "RewardLaw"
) -> "Problem | Family":
    from matchbandit.problems import Bipartite, Monopartite
    from matchbandit.problems import family as named

    if (u is None) == (family is None):
        raise MatchbanditError("give either --u (and --v for a bipartite problem) or --family.")
    if family is not None:
        if v is not None:
            raise MatchbanditError("--v goes with --u, not with --family.")
        return named(family, rewards=law, **parameters)
    if parameters:
        raise MatchbanditError("--param goes with --family, not with --u.")
    strengths = _numbers("--u", u or "")
    if v is None:
        return Monopartite(strengths, rewards=law)
    return Bipartite(strengths, _numbers("--v", v), rewards=law)


def _law(text: str) -> "RewardLaw":
    from matchbandit.rewards import law_from

    name, _, parameter = text.partition(":")
    takes = {"gaussian": "sd", "binomial": "trials"}.get(name)
    if takes is None and parameter:
        raise MatchbanditError(f"the law {name} takes no parameter; got {text!r}.")
    if takes is not None and not parameter:
        raise MatchbanditError(f"the law {name} needs its {takes}, for example {name}:{'0.5' if takes == 'sd' else 4}.")
    return law_from({"name": name, **({takes: _value(parameter)} if takes else {})})


def _listed(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _numbers(name: str, text: str) -> list[float]:
    return [_number(name, part) for part in _listed(text)]


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MatchbanditError(f"{name} takes numbers such as 0.9 or 2e6; got {text!r}.") from None


def _whole(name: str, text: str) -> int:
    from matchbandit.errors import whole_number

    # Digits are read as they stand: beyond 2^53 a float would round them.
    return int(text) if text.isdecimal() else whole_number(name, _number(name, text), least=1)


def _settings(name: str, given: list[str] | None) -> dict[str, Any]:
    """key=value … as a dict; the same key twice is a mistake."""
    settings: dict[str, Any] = {}
    for text in given or []:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise MatchbanditError(f"{name} takes key=value; got {text!r}.")
        if key in settings:
            raise MatchbanditError(f"{name} {key} is given twice.")
        settings[key.replace("-", "_")] = _value(value)
    return settings


def _value(text: str) -> Any:
    """A number, true, false, none, or else the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _shown(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _as_data(done: "Runs") -> dict[str, Any]:
    return {
        **done.about,
        "rounds": done.rounds.tolist(),
        "regret": done.summary(),
        "final_regret": done.final.tolist(),
        "mean_plays": done.plays.mean(axis=0).tolist(),
    }


def _report(done: "Runs", saved: Path | None) -> None:
    about, summary = done.about, done.summary()
    options = ", ".join(f"{key}={_shown(value)}" for key, value in about["options"].items())
    typer.echo(f"{about['policy']}{f' ({options})' if options else ''}, {about['runs']} runs, engine {about['engine']}")
    shown = range(len(done.rounds)) if len(done.rounds) <= 12 else range(len(done.rounds) - 1, -1, -5)
    lines = [
        (f"{done.rounds[k]:,}".replace(",", " "), *(f"{summary[s][k]:,.1f}".replace(",", " ") for s in summary))
        for k in sorted(shown)
    ]
    _table(("round", "mean regret", "5 %", "95 %"), lines, right=True)
    if saved is not None:
        typer.echo(f"all runs are kept in {saved}")


def _save(done: "Runs", path: Path) -> None:
    try:
        done.save(path)
    except OSError as error:
        raise MatchbanditError(f"cannot write {str(path)!r}: {error.strerror}. Choose another place.") from None


def _table(heads: tuple[str, ...], lines: Sequence[tuple[str, ...]], *, right: bool = False) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(head, justify="right" if right else "left", overflow="fold")
    for line in lines:
        table.add_row(*line)
    Console(width=None if sys.stdout.isatty() else 120).print(table)


@contextmanager
def _progress(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr, if that is a terminal: call it with what is at work, the runs done and their total."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(title, total=None)
        yield lambda what, done, total: bars.update(bar, description=f"{title}: {what}", completed=done, total=total)


if __name__ == "__main__":
    main()
