"""`matchbandit watch`: record one run, as a picture and a page that plays it back."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.output import Output, print_wrapped, prints_output
from matchbandit.cli.parameters import (
    POLICY_NAME,
    Budget,
    Epsilon,
    FamilyName,
    Option,
    Param,
    Rewards,
    Seed,
    U,
    V,
    integer,
    make_problem,
    merge_settings,
    number,
)
from matchbandit.progress import bar, stage

if TYPE_CHECKING:
    from pathlib import Path

    from matchbandit.watching import WatchedRun


@prints_output
def watch(
    policy: Annotated[
        str, typer.Argument(help="A policy from `matchbandit policies`, or your own as module:Class.", **POLICY_NAME)
    ],
    horizon: Annotated[
        int | None,
        typer.Option(help="Number of rounds, such as 1e6; none for identification.", **integer("--horizon")),
    ] = None,
    u: U = None,
    v: V = None,
    family: FamilyName = None,
    param: Param = None,
    option: Option = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Identify instead, with this error probability δ; short for --option delta=….", **number("--delta")
        ),
    ] = None,
    epsilon: Epsilon = None,
    budget: Budget = None,
    rewards: Rewards = None,
    seed: Seed = 0,
    max_rounds: Annotated[
        int | None, typer.Option(help="Stop identification here, such as 1e9.", **integer("--max-rounds"))
    ] = None,
    frames: Annotated[
        int, typer.Option(help="Number of moments to record; events are always recorded.", **integer("--frames"))
    ] = 120,
    out: Annotated[
        str, typer.Option(metavar="PATH", help="Files to write, without a suffix: .svg, .png and .html.")
    ] = "watch",
) -> Output:
    """Record one run as a picture and a page that plays it back.

    It shows eliminations, splits and certificates with the numbers that decided them.
    """
    title = f"watching {policy}"
    with stage(f"{title}: loading"):
        from matchbandit.figures.playback_files import playback_paths
        from matchbandit.policies import policy as named
        from matchbandit.watching import watch as record

    playback_paths(out)
    spec = named(policy, **merge_settings("--option", option))
    problem = make_problem(u, v, family, param, rewards)
    with bar(title) as advance:
        run = record(
            problem,
            spec,
            horizon=horizon,
            delta=delta,
            epsilon=epsilon,
            budget=budget,
            seed=seed,
            max_rounds=max_rounds,
            frames=frames,
            progress=lambda played, most: advance("rounds", played, most),
        )
    with stage(f"{title}: drawing"):
        paths = run.save(out)
    return Output(_to_json(run, paths), lambda: _report(run, paths))


def _to_json(run: "WatchedRun", paths: "tuple[Path, ...]") -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(run.recording), "files": [str(path) for path in paths]}


def _report(run: "WatchedRun", paths: "tuple[Path, ...]") -> None:
    print_wrapped(run.recording.title)
    print_wrapped(run.recording.caption)
    for frame in run.frames:
        if frame.event or frame is run.frames[-1]:
            print_wrapped(frame.sentence, indent=2, first="–")
    *pictures, page = map(str, paths)
    print_wrapped(f"{len(run.frames)} frames: the picture is {' and '.join(pictures)}; open {page} to play it back")
