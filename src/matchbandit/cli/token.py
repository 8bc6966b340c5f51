"""`matchbandit token new`, `list`, `revoke`: the keys to the service."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.league.common import STORE, StoreUrl, opened_store, print_json
from matchbandit.cli.options import Json, table
from matchbandit.cli.parsing import number

if TYPE_CHECKING:
    from matchbandit.service.tokens import Token


def new(
    label: Annotated[str, typer.Option(help="What it is for, in a word or two.", show_default=False)],
    scope: Annotated[
        str, typer.Option(help="read, play (ask and tell) or admin; each may what those before may.")
    ] = "play",
    league: Annotated[
        list[str] | None, typer.Option(help="A league that it opens; may be repeated. By default all.")
    ] = None,
    days: Annotated[
        str | None, typer.Option(help="How long it opens them; by default until it is revoked.", show_default=False)
    ] = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Make a token.

    It is printed once, on stdout. The store keeps a hash only.
    """  # fmt: skip
    with opened_store(store, may_be_new=True) as kept:
        from matchbandit.service import tokens

        token, text = tokens.create(kept, label, scope=scope, leagues=league or None, lifetime=_lasting(days))
        missing = sorted(set(league or ()) - set(kept.leagues(archived=True)))
    if as_json:
        print_json({**_told(token), "token": text})
    else:
        typer.echo(text)
        typer.echo(f"{token.label}: {token.scope}, {_leagues(token)}. Keep it: it is not shown again.", err=True)
        for name in missing:
            typer.echo(f"warning: there is no league {name!r} yet; the token will open it once there is.", err=True)


def list_(store: StoreUrl = STORE, as_json: Json = False) -> None:
    """List all tokens, without their secrets."""
    with opened_store(store) as kept:
        from matchbandit.service import tokens

        found, now = tokens.list_all(kept), kept.now()
    if as_json:
        print_json([{**_told(token), "ended": token.end_reason(now) is not None} for token in found])
    elif not found:
        typer.echo("no token yet. Make one: matchbandit token new --label WHAT-FOR")
    else:
        lines = [
            (token.id, token.label, token.scope, _leagues(token), token.created[:10], _end(token, now))
            for token in found
        ]
        table(("id", "label", "scope", "leagues", "made", "ends"), lines)


def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="As `token list` shows it.", show_default=False)],
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """End a token at once.

    Running servers notice within a second.
    """
    with opened_store(store) as kept:
        from matchbandit.service import tokens

        token = tokens.revoke(kept, id)
    if as_json:
        print_json(_told(token))
    else:
        typer.echo(f"{token.id} ({token.label}): revoked at {token.revoked}")


VERBS: dict[str, Callable[..., None]] = {"new": new, "list": list_, "revoke": revoke}
"""In the order of --help."""


def _lasting(days: str | None) -> timedelta | None:
    from matchbandit.errors import MatchbanditError

    if days is None:
        return None
    try:
        return timedelta(days=number("--days", days, example="365"))
    except (OverflowError, ValueError) as error:
        if isinstance(error, MatchbanditError):
            raise
        raise MatchbanditError(f"--days takes a number of days such as 365; got {days!r}.") from None


def _told(token: "Token") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(token)


def _leagues(token: "Token") -> str:
    return "all leagues" if token.leagues is None else ", ".join(token.leagues)


def _end(token: "Token", now: str) -> str:
    if token.revoked is not None:
        return f"revoked {token.revoked[:10]}"
    if token.expires is None:
        return "never"
    return f"{'expired ' if token.end_reason(now) else ''}{token.expires[:10]}"
