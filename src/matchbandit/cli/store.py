"""`matchbandit store info`, `check`, `prune`, `vacuum`, `backup`: the store as a whole."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.league.common import STORE, StoreUrl, moment, opened_store, print_json, seconds_typed
from matchbandit.cli.league.keeping import backup
from matchbandit.cli.options import Json, say, table
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import plural

if TYPE_CHECKING:
    from matchbandit.live.maintenance import StoreInfo


def info(store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Say what a store holds, in numbers."""
    with opened_store(store) as opened:
        found = opened.info()
    if as_json:
        print_json(found)
        return
    table(("store", found.url), _lines(found))
    for status in found.inactive:
        until = f", erased after {moment(status.erase_after)}" if status.erase_after else ""
        typer.echo(f"{status.name}: {status.status} at {moment(status.since or '')}{until}")


def check(store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Check the file, the tables and the log of every league.

    Exit code 1: something is wrong. Decisions are not made again; `league verify` does that.
    """
    from matchbandit.live.errors import LeagueError
    from matchbandit.live.maintenance import StoreCheck

    try:
        with opened_store(store) as opened:
            result = opened.check()
    except LeagueError as error:
        if error.code not in ("store-unusable", "damaged"):
            raise
        result = StoreCheck(0, 0, (str(error),))
    if as_json:
        print_json({"ok": result.ok, "leagues": result.leagues, "events": result.events, "problems": result.problems})
    elif result.ok:
        typer.echo(f"nothing is wrong: {plural(result.leagues, 'league')}, {plural(result.events, 'event')} folded")
    else:
        for problem in result.problems:
            say(problem)
    if not result.ok:
        raise typer.Exit(1)


def prune(
    older_than: Annotated[
        str | None,
        typer.Option(
            help="The age of idempotency keys, ended tokens and sessions. By default 30d.", show_default=False
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be erased.")] = False,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Erase what is over.

    Old idempotency keys, ended tokens and sessions, and deleted leagues after 30 days. A server does so every day.
    """
    from datetime import timedelta

    seconds = None if older_than is None else seconds_typed("--older-than", older_than)
    if older_than is not None and seconds is None:
        raise MatchbanditError("--older-than takes a span of time such as 12h or 30d; got 'none'.")
    try:
        age = None if seconds is None else timedelta(seconds=seconds)
    except OverflowError:
        raise MatchbanditError(f"--older-than is at most 36500d; got {older_than!r}.") from None
    with opened_store(store) as opened:
        pruned = opened.prune(older_than=age, dry_run=dry_run)
    if as_json:
        print_json(pruned)
        return
    parts = [plural(pruned.keys, "key"), plural(pruned.tokens, "token"), plural(pruned.sessions, "session")]
    leagues = plural(len(pruned.leagues), "league")
    names = f" ({', '.join(pruned.leagues)})" if pruned.leagues else ""
    typer.echo(f"{'would erase' if dry_run else 'erased'} {', '.join(parts)} and {leagues}{names}")


def vacuum(store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Give unused space back to the disk.

    On SQLite the file is written anew: it needs as much free space again, and nobody can write meanwhile.
    """
    with opened_store(store) as opened:
        before = opened.info().size_bytes
        opened.vacuum()
        after = opened.info().size_bytes
    if as_json:
        print_json({"before_bytes": before, "after_bytes": after})
    else:
        typer.echo(f"{_size(before)} before, {_size(after)} now")


VERBS: dict[str, Callable[..., None]] = {
    "info": info,
    "check": check,
    "prune": prune,
    "vacuum": vacuum,
    "backup": backup,
}
"""In the order of --help."""


def _lines(info: "StoreInfo") -> list[tuple[str, str]]:
    free = "" if info.free_bytes is None else f", {_size(info.free_bytes)} unused"
    oldest = f", the oldest of {moment(info.oldest_open)}" if info.oldest_open else ""
    return [
        ("schema version", f"{info.schema_version}, by matchbandit {info.program}"),
        ("made", moment(info.created)),
        ("size", f"{_size(info.size_bytes)}{free}"),
        ("leagues", str(info.leagues)),
        ("events", str(info.events)),
        ("open proposals", f"{info.open_proposals}{oldest}"),
        ("idempotency keys", str(info.keys)),
        ("tokens", str(info.tokens)),
        ("sessions", str(info.sessions)),
    ]


def _size(count: int) -> str:
    """A number of bytes, for people.

    >>> _size(1536), _size(3 * 2**20)
    ('1.5 KiB', '3.0 MiB')
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
