"""`matchbandit token new`, `list` and `revoke`: access tokens of the service."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from matchbandit.cli.completion import DEFAULT_STORE, complete_league
from matchbandit.cli.league.parameters import StoreUrl, open_store
from matchbandit.cli.output import Output, print_table, prints_output, to_json_data
from matchbandit.cli.parameters import choice, parse_float, parsed_by
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.service.tokens import Token

ScopeName = Literal["read", "play", "admin"]


def _parse_days(text: str) -> timedelta:
    days = parse_float("--days", text, example="365")
    try:
        return timedelta(days=days)
    except (OverflowError, ValueError):
        raise MatchbanditError(f"--days takes a number of days such as 365; got {text!r}.") from None


@prints_output
def new(
    label: Annotated[str, typer.Option(metavar="TEXT", help="What the token is for.", show_default=False)],
    scope: Annotated[
        ScopeName,
        typer.Option(
            help="What it may do; play is to ask and tell. Each includes those before it.",
            **choice("scope", get_args(ScopeName)),
        ),
    ] = "play",
    league: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A league that it may access; may be repeated. By default all.",
            autocompletion=complete_league,
        ),
    ] = None,
    days: Annotated[
        timedelta | None,
        typer.Option(
            help="Days until it expires; by default it does not.",
            show_default=False,
            **parsed_by(_parse_days, "NUMBER"),
        ),
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Create a token.

    It is printed once, on stdout. The store has only its hash.
    """
    with open_store(store, create=True) as opened:
        from matchbandit.service import tokens

        token, secret = tokens.create(opened, label, scope=scope, leagues=league or None, lifetime=days)
        missing = sorted(set(league or ()) - set(opened.leagues(archived=True)))

    def print_text() -> None:
        typer.echo(secret)
        typer.echo(f"{token.label}: {token.scope}, {_leagues(token)}. Store it now: it is not shown again.", err=True)
        for name in missing:
            typer.echo(f"warning: there is no league {name!r} yet; the token will apply once there is.", err=True)

    return Output({**to_json_data(token), "token": secret}, print_text)


@prints_output
def list_(store: StoreUrl = DEFAULT_STORE) -> Output:
    """List all tokens, without their secrets."""
    with open_store(store) as opened:
        from matchbandit.service import tokens

        listing, now = tokens.list_all(opened), opened.now()
    if not listing:
        return Output([], "no token yet. Create one: matchbandit token new --label TEXT")
    rows = [
        (token.id, token.label, token.scope, _leagues(token), token.created[:10], _end(token, now)) for token in listing
    ]
    return Output(
        [{**to_json_data(token), "ended": token.end_reason(now) is not None} for token in listing],
        lambda: print_table(("id", "label", "scope", "leagues", "created", "ends"), rows),
    )


@prints_output
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token in `token list`.", show_default=False)],
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Revoke a token at once.

    Running servers notice within a second.
    """
    with open_store(store) as opened:
        from matchbandit.service import tokens

        token = tokens.revoke(opened, id)
    return Output(token, f"{token.id} ({token.label}): revoked at {token.revoked}")


VERBS: dict[str, Callable[..., None]] = {"new": new, "list": list_, "revoke": revoke}
"""In the order of --help."""


def _leagues(token: "Token") -> str:
    return "all leagues" if token.leagues is None else ", ".join(token.leagues)


def _end(token: "Token", now: str) -> str:
    if token.revoked is not None:
        return f"revoked {token.revoked[:10]}"
    if token.expires is None:
        return "never"
    return f"{'expired ' if token.end_reason(now) else ''}{token.expires[:10]}"
