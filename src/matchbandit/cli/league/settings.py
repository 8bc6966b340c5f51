"""`matchbandit league new`, `set`: create a league, and change its settings."""

from pathlib import Path
from typing import Annotated, Any

import typer

from matchbandit.cli.league.common import (
    BY,
    STORE,
    LeagueName,
    StoreUrl,
    count_typed,
    default_typed,
    names_in,
    opened_league,
    opened_store,
    seconds_typed,
)
from matchbandit.cli.league.reading import print_about
from matchbandit.cli.league.replay import Kind, OnMissing, read_past, refuse_without_file
from matchbandit.cli.options import Json, Option, Seed
from matchbandit.cli.parsing import rewards_of, settings, whole
from matchbandit.errors import MatchbanditError

Policy = Annotated[
    str | None, typer.Option(help="A name from `matchbandit policies`; rank1-thompson by default.", show_default=False)
]
Selection = Annotated[
    str | None,
    typer.Option(help="matching (by default, where the policy can) or pair: one pair a time.", show_default=False),
]
Deadline = Annotated[
    str | None,
    typer.Option(help="How long outcomes are waited for: 90m, 12h, 3d; none by default.", show_default=False),
]
Default = Annotated[
    str | None,
    typer.Option(help="What is booked at the deadline: void, which is the default, or a number.", show_default=False),
]
NoRematch = Annotated[
    str | None,
    typer.Option(help="No pair again within so many proposals; 0, which is the default: it may.", show_default=False),
]
Shadow = Annotated[
    str | None,
    typer.Option(help="A second policy, which proposes beside the first; nothing of it is played.", show_default=False),
]

Title = Annotated[str | None, typer.Option(help="A title for people, besides the URL name.", show_default=False)]
RecordPropensity = Annotated[
    str | None,
    typer.Option(
        help="Estimate the probability of each proposed pair from this many repeated draws, and record it; 0: off.",
        show_default=False,
    ),
]


def new(
    league: LeagueName,
    players: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="The players' names.", show_default=False)
    ] = None,
    side: Annotated[
        list[str] | None,
        typer.Option(help="In place of players, twice: a side and its items, such as ads=spring,summer."),
    ] = None,
    past: Annotated[Path | None, typer.Option(help="Begin with the results of this CSV or Parquet file.")] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Which column of that file is what, such as first=ad,second=slot,reward=clicked."),
    ] = None,
    kind: Kind = None,
    on_missing: OnMissing = None,
    policy: Policy = None,
    option: Option = None,
    selection: Selection = None,
    rewards: Annotated[
        str, typer.Option(help="What an outcome can be: bernoulli (0 or 1), gaussian:SD or binomial:TRIALS.")
    ] = "bernoulli",
    seed: Seed = "0",
    deadline: Deadline = None,
    default: Default = None,
    no_rematch: NoRematch = None,
    shadow: Shadow = None,
    title: Title = None,
    record_propensity: RecordPropensity = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Create a league.

    Of players, or of two sides. More can join at any time.
    """
    sides = _sides(side)
    if sides and players:
        raise MatchbanditError("give the players' names, or --side twice, not both.")
    changes = _settings(deadline, default, no_rematch, shadow, selection, title, record_propensity)
    if option or policy:
        changes |= {"policy": policy or "rank1-thompson", "options": settings("--option", option)}
    if past is not None:
        named = "sides" if sides else "players" if players else None
        if kind and named and kind != named:
            raise MatchbanditError(f"--kind {kind} does not go with a league of {named}. Leave it out.")
        changes["past"] = read_past(past, column, kind=kind or named, on_missing=on_missing)
    else:
        refuse_without_file("--past", column=column, kind=kind, on_missing=on_missing)
    with opened_store(store, may_be_new=True) as opened:
        created = opened.create(
            league,
            **({"sides": sides} if sides else {"players": players} if players or past is None else {}),
            rewards=rewards_of(rewards),
            seed=whole("--seed", seed),
            by=BY,
            **changes,
        )
        print_about(created, as_json=as_json)


def set_(
    league: LeagueName,
    policy: Policy = None,
    option: Option = None,
    selection: Selection = None,
    deadline: Deadline = None,
    default: Default = None,
    no_rematch: NoRematch = None,
    shadow: Shadow = None,
    title: Title = None,
    record_propensity: RecordPropensity = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Change a league's rules, or its policy.

    What is known is kept. `--shadow none` and `--deadline none` end what was set.
    """
    changes = _settings(deadline, default, no_rematch, shadow, selection, title, record_propensity)
    if policy is not None:
        changes["policy"] = policy
    if option or policy:
        changes["options"] = settings("--option", option)
    if not changes:
        raise MatchbanditError("say what to set, such as --deadline 3d or --policy cucb; --help lists all.")
    with opened_league(store, league) as opened:
        opened.configure(**changes, by=BY)
        print_about(opened, as_json=as_json)


def _settings(
    deadline: str | None,
    default: str | None,
    no_rematch: str | None,
    shadow: str | None,
    selection: str | None,
    title: str | None,
    record_propensity: str | None,
) -> dict[str, Any]:
    """The settings that were typed; the others are left as they are."""
    changes: dict[str, Any] = {}
    if deadline is not None:
        changes["deadline"] = seconds_typed("--deadline", deadline)
    if default is not None:
        changes["default"] = default_typed(default)
    if no_rematch is not None:
        changes["no_rematch"] = count_typed("--no-rematch", no_rematch)
    if record_propensity is not None:
        changes["record_propensity"] = count_typed("--record-propensity", record_propensity)
    if title is not None:
        changes["title"] = title
    if shadow is not None:
        changes["shadow"] = None if shadow.lower() == "none" else shadow
    if selection is not None:
        changes["selection"] = selection
    return changes


def _sides(typed: list[str] | None) -> dict[str, list[str]]:
    """The two sides with their items, of `ads=spring,summer` and `slots=top,left`."""
    sides: dict[str, list[str]] = {}
    for text in typed or []:
        name, _, items = text.partition("=")
        if name.strip() in sides:
            raise MatchbanditError(f"--side {name.strip()} is given twice. The two sides have two names.")
        if not name.strip():
            raise MatchbanditError(f"--side takes a side and its items, such as ads=spring,summer; got {text!r}.")
        sides[name.strip()] = names_in([items])
    if len(sides) not in (0, 2):
        raise MatchbanditError(f"--side is given twice, once for each side; got {len(sides)}.")
    return sides
