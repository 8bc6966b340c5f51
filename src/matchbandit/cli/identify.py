"""`matchbandit identify`: let a policy seek the best pair or matching."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.options import (
    Budget,
    Engine,
    Epsilon,
    FamilyName,
    Json,
    Option,
    Param,
    PolicyName,
    Rewards,
    Runs,
    Save,
    Seed,
    U,
    V,
    Workers,
    table,
)
from matchbandit.cli.parsing import number_if, problem_of, rewards_of, settings, whole, whole_if
from matchbandit.cli.playing import play_and_report
from matchbandit.formatting import plural

if TYPE_CHECKING:
    from matchbandit.results import Identification


def identify(
    policy: PolicyName,
    u: U = None,
    v: V = None,
    family: FamilyName = None,
    param: Param = None,
    option: Option = None,
    delta: Annotated[
        str | None, typer.Option(help="The error probability δ, for example 0.05; short for --option delta=….")
    ] = None,
    epsilon: Epsilon = None,
    budget: Budget = None,
    rewards: Rewards = "bernoulli",
    runs: Runs = "20",
    seed: Seed = "0",
    max_rounds: Annotated[
        str | None,
        typer.Option(
            help="Stop a run here, for example 1e9; by default 1e12, or 1e7 for policies that decide every round."
        ),
    ] = None,
    engine: Engine = "auto",
    workers: Workers = None,
    save: Save = None,
    as_json: Json = False,
) -> None:
    """Let a policy seek the best pair or matching.

    Reports how long it takes and how often it errs.
    """
    from matchbandit.policies import policy as named
    from matchbandit.simulation import identify as seek

    spec = named(policy, **settings("--option", option))
    problem = problem_of(u, v, family, settings("--param", param), rewards_of(rewards))
    play_and_report(
        f"identifying with {policy}",
        lambda progress: seek(
            problem,
            spec,
            delta=number_if("--delta", delta),
            epsilon=number_if("--epsilon", epsilon),
            budget=whole_if("--budget", budget),
            runs=whole("--runs", runs),
            seed=whole("--seed", seed),
            max_rounds=whole_if("--max-rounds", max_rounds),
            engine=engine,  # type: ignore[arg-type]  # an unknown engine is refused with its name
            workers=whole_if("--workers", workers),
            progress=progress,
        ),
        save=save,
        data=_as_data if as_json else None,
        report=_report,
    )


def _as_data(found: "Identification") -> dict[str, Any]:
    arrays = {name: getattr(found, name).tolist() for name in ("rounds", "pairs", "identified", "correct", "answers")}
    return {"summary": found.summary(), **arrays}


def _report(found: "Identification") -> None:
    summary = found.summary()
    rounds = summary["rounds"]
    line = (
        *(f"{rounds[key]:,.0f}".replace(",", " ") for key in ("mean", "p5", "p95")),
        str(summary["correct"]),
        str(summary["wrong"]),
        str(summary["runs"] - summary["identified"]),
    )
    table(("mean rounds", "5 %", "95 %", "correct", "wrong", "not identified"), [line], right=True)
    answers: dict[str, int] = {}
    for answer, identified in zip(found.answers.tolist(), found.identified, strict=True):
        if identified:
            words = " ".join(f"({i}, {j})" for i, j in answer)
            answers[words] = answers.get(words, 0) + 1
    for words, times in sorted(answers.items(), key=lambda item: -item[1])[:5]:
        typer.echo(f"answered {plural(times, 'time')}: {words}")
