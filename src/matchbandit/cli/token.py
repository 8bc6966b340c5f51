"""`matchbandit token new`, `list` and `revoke`: access tokens of the service."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.completion import complete_league
from matchbandit.cli.league.output import format_time
from matchbandit.cli.league.parameters import on_store
from matchbandit.cli.output import Output, print_records, to_json_data
from matchbandit.cli.parameters import argument, choice, optional, parsed_by
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import parse_duration

if TYPE_CHECKING:
    from matchbandit.leagues import Store
    from matchbandit.leagues.tokens import Token


def _parse_lifetime(text: str) -> timedelta:
    seconds = parse_duration("--expires", text)
    if not 0 < seconds <= 36_500 * 86_400:
        raise MatchbanditError(f"--expires is above 0s and at most 36500d; got {text!r}.")
    return timedelta(seconds=seconds)


_SCOPE, _LIFETIME = choice("scope", ("read", "play", "admin")), parsed_by(_parse_lifetime, "DURATION")
_SCOPE_HELP = "What it may do; play is to ask and tell. Each includes those before it."
_LEAGUE_HELP = "A league that it may access; may be repeated. By default all."


@partial(on_store, create=True)
def new(
    store: "Store",
    label: Annotated[str, optional("What the token is for.", metavar="TEXT")],
    scope: Annotated[str, typer.Option(help=_SCOPE_HELP, **_SCOPE)] = "play",
    league: Annotated[list[str] | None, optional(_LEAGUE_HELP, metavar="NAME", autocompletion=complete_league)] = None,
    expires: Annotated[timedelta | None, optional("How long it is valid: 365d; by default forever.", _LIFETIME)] = None,
) -> Output:
    """Create a token.

    It is printed once, on stdout. The store has only its hash.
    """
    from matchbandit.leagues import tokens

    token, secret = tokens.create(store, label, scope=scope, leagues=league or None, lifetime=expires)
    known = {info.slug for each in ("active", "archived") for info in store.leagues(slugs=league or [], status=each)}

    def print_text() -> None:
        typer.echo(secret)
        typer.echo(f"{token.label}: {token.scope}, {_leagues(token)}. Store it now: it is not shown again.", err=True)
        for name in sorted(set(league or ()) - known):
            typer.echo(f"warning: there is no league {name!r} yet; the token will apply once there is.", err=True)

    return Output({**to_json_data(token), "token": secret}, print_text)


@on_store
def list_(store: "Store") -> Output:
    """List all tokens, without their secrets."""
    from matchbandit.leagues import tokens

    listing, now = tokens.list_all(store), store.now()
    if not listing:
        return Output([], "no token yet. Create one: matchbandit token new --label TEXT")
    heads = ("id", "label", "scope", "leagues", "created", "ends")
    rows = [
        (each.id, each.label, each.scope, _leagues(each), format_time(each.created_at), _end(each, now))
        for each in listing
    ]
    return Output(listing, lambda: print_records(rows, heads))


@on_store
def revoke(store: "Store", id: Annotated[str, argument("ID", "Id of the token in `token list`.")]) -> Output:
    """Revoke a token at once.

    Running servers notice within a second.
    """
    from matchbandit.leagues import tokens

    token = tokens.revoke(store, id)
    return Output(token, f"{token.id} ({token.label}): revoked at {format_time(token.revoked_at)}")


VERBS: dict[str, Callable[..., None]] = {"new": new, "list": list_, "revoke": revoke}
"""In the order of --help."""


def _leagues(token: "Token") -> str:
    return "all leagues" if token.leagues is None else ", ".join(token.leagues)


def _end(token: "Token", now: str) -> str:
    if token.revoked_at is not None:
        return f"revoked {format_time(token.revoked_at)}"
    expired = "" if token.is_valid(now) else "expired "
    return "never" if token.expires_at is None else f"{expired}{format_time(token.expires_at)}"
