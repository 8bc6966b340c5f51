"""`matchbandit watch`: record one run, or a log, as a picture and a page that plays it back."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from matchbandit.cli import parameters as given
from matchbandit.cli.league.parameters import with_options
from matchbandit.cli.league.replay import FILE_OPTIONS, read_past, refuse_without_file
from matchbandit.cli.output import Output, print_wrapped, prints_output
from matchbandit.cli.parameters import integer, make_problem, merge_settings, optional
from matchbandit.errors import MatchbanditError
from matchbandit.progress import bar, stage

POLICY = "A policy from `matchbandit policies`, or your own as module:Class."
LOG = "Watch what the policy would learn from results in CSV or Parquet, instead of simulating."
Limit = Annotated[int | None, optional("Stop identification here, such as 1e9.", integer("--max-rounds"))]
Frames = Annotated[int, optional("Moments to record, by default 120, and all events.", integer("--frames"))]


@prints_output
@partial(with_options, name="reading", options=FILE_OPTIONS)
def watch(
    policy: Annotated[str, typer.Argument(help=POLICY, show_default=False, **given.POLICY_NAME)],
    horizon: Annotated[int | None, optional("Number of rounds; none to identify.", integer("--horizon"))] = None,
    u: given.U = None,
    v: given.V = None,
    family: given.FamilyName = None,
    param: given.Param = None,
    option: given.Option = None,
    delta: given.Delta = None,
    epsilon: given.Epsilon = None,
    budget: given.Budget = None,
    rewards: given.Rewards = None,
    log: Annotated[Path | None, optional(LOG, metavar="FILE")] = None,
    seed: given.Seed = 0,
    max_rounds: Limit = None,
    frames: Frames = 120,
    out: Annotated[str, typer.Option(metavar="PATH", help="Name of the .svg, .png and .html files.")] = "watch",
    *,
    reading: dict[str, Any],
) -> Output:
    """Record one run as a picture and a page that plays it back."""
    with stage(f"watching {policy}: loading"):
        from matchbandit.lab.playback import record
        from matchbandit.policies import policy as named
    record.playback_files(out)
    spec = named(policy, **merge_settings("--option", option))
    if log is not None and (u, v, family, param) != (None,) * 4:
        raise MatchbanditError("--log takes the place of --u, --v, --family and --param. Leave these out.")
    if log is None:
        refuse_without_file("--log", reading)
    problem = make_problem(u, v, family, param, rewards) if log is None else read_past(log, reading)
    settings: dict[str, Any] = {"delta": delta, "epsilon": epsilon, "budget": budget, "seed": seed, "frames": frames}
    settings |= {"horizon": horizon, "max_rounds": max_rounds, "rewards": None if log is None else rewards}
    with bar(f"watching {policy}") as advance:
        run = record.watch(problem, spec, **settings, progress=lambda *at: advance("rounds", *at))
    with stage(f"watching {policy}: drawing"):
        svg, png, page = map(str, run.save(out))

    def report() -> None:
        print_wrapped(run.title)
        print_wrapped(run.caption)
        for frame in dict.fromkeys((*run.events, run.frames[-1])):
            print_wrapped(frame.sentence, indent=2, first="–")
        print_wrapped(f"{len(run.frames)} frames: the picture is {svg} and {png}; open {page} to play it back")

    return Output(run.tables | {"files": [svg, png, page]}, report)
