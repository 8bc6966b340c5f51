"""`matchbandit store info`, `check`, `prune`, `vacuum` and `backup`: the store as a whole."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.completion import DEFAULT_STORE
from matchbandit.cli.league.output import format_time
from matchbandit.cli.league.parameters import StoreUrl, store_url
from matchbandit.cli.output import Output, print_table, print_wrapped, prints_output
from matchbandit.cli.parameters import parsed_by
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import byte_size, grouped, parse_duration, plural

if TYPE_CHECKING:
    from matchbandit.live import Store
    from matchbandit.live.maintenance import StoreInfo


@contextmanager
def open_store(url: str) -> "Iterator[Store]":
    """Open the store of `live`, whose tables are not those of `leagues`."""
    url = store_url(url)
    from matchbandit.live import Store
    from matchbandit.live.database import sqlite_file

    file = sqlite_file(url)
    if file is not None and not file.exists():
        raise MatchbanditError(f"there is no store {str(file)!r}.")
    with Store(url) as store:
        yield store


@prints_output
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy.", show_default=False)],
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Copy a SQLite store while others write to it.

    The copy has all leagues and tokens as of one moment.
    """
    from matchbandit.live.backup import backup as copy

    copied = copy(store_url(store), file)
    data = {"file": str(file), "leagues": copied.leagues, "events": copied.events}
    return Output(data, f"{file}: {plural(copied.leagues, 'league')}, {plural(copied.events, 'event')}")


@prints_output
def info(store: StoreUrl = DEFAULT_STORE) -> Output:
    """Describe a store: its size, and what it contains."""
    with open_store(store) as opened:
        description = opened.info()

    def print_text() -> None:
        print_table(("store", description.url), _rows(description))
        for status in description.inactive:
            until = f", erased after {format_time(status.erase_after)}" if status.erase_after else ""
            typer.echo(f"{status.name}: {status.status} at {format_time(status.since or '')}{until}")

    return Output(description, print_text)


@prints_output
def check(store: StoreUrl = DEFAULT_STORE) -> Output:
    """Check the file, the tables and the log of every league.

    Exit code 1: something is wrong. Decisions are not made again; `league verify` does that.
    """
    from matchbandit.live.errors import LeagueError
    from matchbandit.live.maintenance import StoreCheck

    try:
        with open_store(store) as opened:
            result = opened.check()
    except LeagueError as error:
        if error.code not in ("store-unusable", "damaged"):
            raise
        result = StoreCheck(0, 0, (str(error),))

    def print_text() -> None:
        if result.ok:
            typer.echo(f"no problems: {plural(result.leagues, 'league')}, {plural(result.events, 'event')} checked")
        for problem in result.problems:
            print_wrapped(problem)

    data = {"ok": result.ok, "leagues": result.leagues, "events": result.events, "problems": result.problems}
    return Output(data, print_text, exit_code=0 if result.ok else 1)


def _parse_age(text: str) -> timedelta:
    seconds = parse_duration("--older-than", text)
    try:
        return timedelta(seconds=seconds)
    except OverflowError:
        raise MatchbanditError(f"--older-than is at most 36500d; got {text!r}.") from None


@prints_output
def prune(
    older_than: Annotated[
        timedelta | None,
        typer.Option(
            help="Age of idempotency keys, ended tokens and sessions; by default 30d.",
            show_default=False,
            **parsed_by(_parse_age, "DURATION"),
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be erased.")] = False,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Erase what is no longer needed.

    Old idempotency keys, ended tokens and sessions, and leagues that were deleted 30 days ago. A server does so every
    day.
    """
    with open_store(store) as opened:
        pruned = opened.prune(older_than=older_than, dry_run=dry_run)
    parts = [plural(pruned.keys, "key"), plural(pruned.tokens, "token"), plural(pruned.sessions, "session")]
    leagues = plural(len(pruned.leagues), "league")
    names = f" ({', '.join(pruned.leagues)})" if pruned.leagues else ""
    return Output(pruned, f"{'would erase' if dry_run else 'erased'} {', '.join(parts)} and {leagues}{names}")


@prints_output
def vacuum(store: StoreUrl = DEFAULT_STORE) -> Output:
    """Return unused space to the disk.

    SQLite rewrites the file: this needs as much free space again, and nobody can write meanwhile.
    """
    with open_store(store) as opened:
        before = opened.info().size_bytes
        opened.vacuum()
        after = opened.info().size_bytes
    data = {"before_bytes": before, "after_bytes": after}
    return Output(data, f"{byte_size(before)} before, {byte_size(after)} now")


VERBS: dict[str, Callable[..., None]] = {
    "info": info,
    "check": check,
    "prune": prune,
    "vacuum": vacuum,
    "backup": backup,
}
"""In the order of --help."""


def _rows(info: "StoreInfo") -> list[tuple[str, str]]:
    free = "" if info.free_bytes is None else f", {byte_size(info.free_bytes)} unused"
    oldest = f", the oldest from {format_time(info.oldest_open)}" if info.oldest_open else ""
    return [
        ("schema version", f"{info.schema_version}, by matchbandit {info.program}"),
        ("created", format_time(info.created)),
        ("size", f"{byte_size(info.size_bytes)}{free}"),
        ("leagues", grouped(info.leagues)),
        ("events", grouped(info.events)),
        ("open proposals", f"{grouped(info.open_proposals)}{oldest}"),
        ("idempotency keys", grouped(info.keys)),
        ("tokens", grouped(info.tokens)),
        ("sessions", grouped(info.sessions)),
    ]
