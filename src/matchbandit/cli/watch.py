"""`matchbandit watch`: record one run, as a picture and a page that plays it back."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.options import Budget, Epsilon, FamilyName, Json, Option, Param, Rewards, Seed, U, V, say
from matchbandit.cli.parsing import number_if, problem_of, rewards_of, settings, whole, whole_if
from matchbandit.progress import bar, stage

if TYPE_CHECKING:
    from pathlib import Path

    from matchbandit.watching import WatchedRun


def watch(
    policy: Annotated[str, typer.Argument(help="A name from `matchbandit policies`, or module:Class of your own.")],
    horizon: Annotated[
        str | None, typer.Option(help="Rounds to play, for example 1e6; none for identification.")
    ] = None,
    u: U = None,
    v: V = None,
    family: FamilyName = None,
    param: Param = None,
    option: Option = None,
    delta: Annotated[
        str | None, typer.Option(help="Identify instead, with this error probability δ; short for --option delta=….")
    ] = None,
    epsilon: Epsilon = None,
    budget: Budget = None,
    rewards: Rewards = "bernoulli",
    seed: Seed = "0",
    max_rounds: Annotated[str | None, typer.Option(help="Stop identification here, for example 1e9.")] = None,
    frames: Annotated[str, typer.Option(help="Moments to record; events are always recorded.")] = "120",
    out: Annotated[str, typer.Option(help="Files to write, without a suffix: .svg, .png and .html.")] = "watch",
    as_json: Json = False,
) -> None:
    """Record one run of a policy, as a picture and a page that plays it back.

    It shows eliminations, splits and certificates with the numbers that decided them.
    """
    title = f"watching {policy}"
    with stage(f"{title}: loading"):
        from matchbandit.figures.playback_files import playback_paths
        from matchbandit.policies import policy as named
        from matchbandit.watching import watch as record

    playback_paths(out)
    spec = named(policy, **settings("--option", option))
    problem = problem_of(u, v, family, settings("--param", param), rewards_of(rewards))
    with bar(title) as advance:
        run = record(
            problem,
            spec,
            horizon=whole_if("--horizon", horizon),
            delta=number_if("--delta", delta),
            epsilon=number_if("--epsilon", epsilon),
            budget=whole_if("--budget", budget),
            seed=whole("--seed", seed),
            max_rounds=whole_if("--max-rounds", max_rounds),
            frames=whole("--frames", frames),
            progress=lambda played, most: advance("rounds", played, most),
        )
    with stage(f"{title}: drawing"):
        paths = run.save(out)
    if as_json:
        typer.echo(json.dumps(_to_json(run, paths)))
    else:
        _report(run, paths)


def _to_json(run: "WatchedRun", paths: "tuple[Path, ...]") -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(run.recording), "files": [str(path) for path in paths]}


def _report(run: "WatchedRun", paths: "tuple[Path, ...]") -> None:
    say(run.recording.title)
    say(run.recording.caption)
    for frame in run.frames:
        if frame.event or frame is run.frames[-1]:
            say(frame.sentence, indent=2, first="–")
    *pictures, page = map(str, paths)
    say(f"{len(run.frames)} frames: the picture is {' and '.join(pictures)}; open {page} to play it back")
