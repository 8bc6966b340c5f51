"""`matchbandit watch`: one run, frame by frame, as a picture and a page that moves."""

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

    from matchbandit.watching import Watched


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
        int, typer.Option(help="Number of moments to show; events are always shown.", **integer("--frames"))
    ] = 120,
    out: Annotated[str, typer.Option(help="Files to write, without their ending: .svg, .png and .html.")] = "watch",
) -> Output:
    """Watch a policy think, as a picture and a page that moves.

    Who leaves, how clusters split, how intervals shrink.
    """
    title = f"watching {policy}"
    with stage(f"{title}: loading"):
        from matchbandit.figures.timeline import film_places
        from matchbandit.policies import policy as named
        from matchbandit.watching import watch as look_on

    film_places(out)
    spec = named(policy, **merge_settings("--option", option))
    problem = make_problem(u, v, family, param, rewards)
    with bar(title) as advance:
        watched = look_on(
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
        written = watched.save(out)
    return Output(_as_data(watched, written), lambda: _report(watched, written))


def _as_data(watched: "Watched", written: "tuple[Path, ...]") -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(watched.film), "files": [str(path) for path in written]}


def _report(watched: "Watched", written: "tuple[Path, ...]") -> None:
    film = watched.film
    print_wrapped(film.title)
    print_wrapped(film.caption)
    for frame in film.frames:
        if frame.event or frame is film.frames[-1]:
            print_wrapped(frame.sentence, indent=2, first="–")
    *pictures, page = map(str, written)
    print_wrapped(f"{len(film.frames)} frames: the picture is {' and '.join(pictures)}; open {page} to see it move")
