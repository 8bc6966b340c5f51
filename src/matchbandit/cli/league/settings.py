"""`matchbandit league new` and `set`: create a league, and change its settings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from matchbandit.cli.completion import DEFAULT_STORE
from matchbandit.cli.league.parameters import (
    BY,
    Columns,
    Duration,
    Kind,
    KindName,
    LeagueName,
    OnMissing,
    StoreUrl,
    duration_option,
    open_league,
    open_store,
    parse_default,
    parse_names,
)
from matchbandit.cli.league.replay import read_past, refuse_without_file
from matchbandit.cli.league.views import league_output
from matchbandit.cli.output import Output, prints_output
from matchbandit.cli.parameters import (
    POLICY_NAME,
    REWARD_DISTRIBUTION,
    Distribution,
    Option,
    Seed,
    SelectionName,
    choice,
    integer,
    merge_settings,
    parsed_by,
)
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.live.records import Outcome
else:
    Outcome = object

DEFAULT_POLICY = "rank1-thompson"

Policy = Annotated[
    str | None,
    typer.Option(
        help=f"A policy from `matchbandit policies`; by default {DEFAULT_POLICY}.", show_default=False, **POLICY_NAME
    ),
]
Selection = Annotated[
    SelectionName | None,
    typer.Option(
        help="Propose a matching (the default where the policy can), or one pair at a time.",
        show_default=False,
        **choice("selection", get_args(SelectionName)),
    ),
]
Deadline = Annotated[
    Duration | None,
    typer.Option(
        help="How long to wait for outcomes: 90m, 12h, 3d, or none, the default.",
        show_default=False,
        **duration_option("--deadline"),
    ),
]
Default = Annotated[
    Outcome | None,
    typer.Option(
        help="What to record at the deadline: a number, or void, the default.",
        show_default=False,
        **parsed_by(parse_default, "OUTCOME"),
    ),
]
NoRematch = Annotated[
    int | None,
    typer.Option(
        help="Do not repeat a pair within this number of proposals; by default 0.",
        show_default=False,
        **integer("--no-rematch", minimum=0),
    ),
]
Shadow = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A second policy, whose proposals are recorded but not played; none ends it.",
        show_default=False,
        autocompletion=POLICY_NAME["autocompletion"],
    ),
]
Title = Annotated[
    str | None, typer.Option(metavar="TEXT", help="A title for people, besides the URL name.", show_default=False)
]
RecordPropensity = Annotated[
    int | None,
    typer.Option(
        help="Record the probability of each proposed pair, estimated from this number of draws; 0: off.",
        show_default=False,
        **integer("--record-propensity", minimum=0),
    ),
]


@prints_output
def new(
    league: LeagueName,
    players: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of the players.", show_default=False)
    ] = None,
    side: Annotated[
        list[str] | None,
        typer.Option(metavar="SIDE=NAMES", help="Instead of players, twice: a side with its items, ads=spring,summer."),
    ] = None,
    past: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Start with the results in this CSV or Parquet file.")
    ] = None,
    column: Columns = None,
    kind: Kind = None,
    on_missing: OnMissing = None,
    policy: Policy = None,
    option: Option = None,
    selection: Selection = None,
    rewards: Annotated[
        Distribution | None,
        typer.Option(
            help="Outcomes: bernoulli (0 or 1, the default), gaussian:SD or binomial:TRIALS.",
            show_default=False,
            **REWARD_DISTRIBUTION,
        ),
    ] = None,
    seed: Seed = 0,
    deadline: Deadline = None,
    default: Default = None,
    no_rematch: NoRematch = None,
    shadow: Shadow = None,
    title: Title = None,
    record_propensity: RecordPropensity = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Create a league of players, or of two sides.

    More items can join at any time.
    """
    sides = _parse_sides(side)
    if sides and players:
        raise MatchbanditError("give the players' names, or --side twice, not both.")
    changes = _changes(deadline, default, no_rematch, shadow, selection, title, record_propensity)
    if option or policy:
        changes |= {"policy": policy or DEFAULT_POLICY, "options": merge_settings("--option", option)}
    if past is not None:
        named_kind: KindName | None = "sides" if sides else "players" if players else None
        if kind and named_kind and kind != named_kind:
            raise MatchbanditError(f"--kind {kind} does not go with a league of {named_kind}. Leave it out.")
        changes["past"] = read_past(past, column, kind=kind or named_kind, on_missing=on_missing)
    else:
        refuse_without_file("--past", column=column, kind=kind, on_missing=on_missing)
    with open_store(store, create=True) as opened:
        created = opened.create(
            league,
            **({"sides": sides} if sides else {"players": players} if players or past is None else {}),
            rewards=rewards or "bernoulli",
            seed=seed,
            by=BY,
            **changes,
        )
        return league_output(created)


@prints_output
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
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Change the rules of a league, or its policy.

    All results are kept. `--shadow none` and `--deadline none` remove what was set.
    """
    changes = _changes(deadline, default, no_rematch, shadow, selection, title, record_propensity)
    if policy is not None:
        changes["policy"] = policy
    if option or policy:
        changes["options"] = merge_settings("--option", option)
    if not changes:
        raise MatchbanditError("say what to set, such as --deadline 3d or --policy cucb; --help lists all.")
    with open_league(store, league) as opened:
        opened.configure(**changes, by=BY)
        return league_output(opened)


def _changes(
    deadline: Duration | None,
    default: Outcome | None,
    no_rematch: int | None,
    shadow: str | None,
    selection: str | None,
    title: str | None,
    record_propensity: int | None,
) -> dict[str, Any]:
    """Return the settings that were given; the others stay as they are."""
    options: dict[str, Any] = {
        "default": default,
        "no_rematch": no_rematch,
        "selection": selection,
        "title": title,
        "record_propensity": record_propensity,
    }
    changes = {name: value for name, value in options.items() if value is not None}
    if deadline is not None:
        changes["deadline"] = deadline.seconds
    if shadow is not None:
        changes["shadow"] = None if shadow.lower() == "none" else shadow
    return changes


def _parse_sides(texts: list[str] | None) -> dict[str, list[str]]:
    """Parse the two sides with their items, from `ads=spring,summer` and `slots=top,left`."""
    sides: dict[str, list[str]] = {}
    for text in texts or []:
        name, _, items = text.partition("=")
        if name.strip() in sides:
            raise MatchbanditError(f"--side {name.strip()} is given twice. The two sides have two names.")
        if not name.strip():
            raise MatchbanditError(f"--side takes a side and its items, such as ads=spring,summer; got {text!r}.")
        sides[name.strip()] = parse_names([items])
    if len(sides) not in (0, 2):
        raise MatchbanditError(f"--side is given twice, once for each side; got {len(sides)}.")
    return sides
