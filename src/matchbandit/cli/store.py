"""`matchbandit store info`, `check`, `prune`, `vacuum` and `backup`: the store as a whole."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.completion import DEFAULT_STORE
from matchbandit.cli.league.output import format_time
from matchbandit.cli.league.parameters import StoreUrl, on_store, open_store, store_url
from matchbandit.cli.output import Output, print_table, print_wrapped, prints_output, to_json_data
from matchbandit.cli.parameters import argument, parsed_by
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import byte_size, grouped, parse_duration, plural

if TYPE_CHECKING:
    from matchbandit.leagues import Store


@on_store
def info(store: "Store") -> Output:
    """Describe a store: its size, and what it contains."""
    description = store.info()
    free = "" if description.free_bytes is None else f", {byte_size(description.free_bytes)} unused"
    oldest = f", the oldest from {format_time(description.oldest_open)}" if description.oldest_open else ""
    rows = [
        ("schema version", str(description.version)),
        ("size", f"{byte_size(description.size_bytes)}{free}"),
        ("leagues", f"{grouped(description.leagues)}, {description.archived} archived, {description.deleted} deleted"),
        ("changes", grouped(description.changes)),
        ("open proposals", f"{grouped(description.open_proposals)}{oldest}"),
        ("idempotency keys", grouped(description.idempotency_keys)),
        ("tokens", grouped(description.tokens)),
        ("sessions", grouped(description.sessions)),
    ]
    return Output(description, lambda: print_table(("store", description.url), rows))


@prints_output
def check(store: StoreUrl = DEFAULT_STORE) -> Output:
    """Check the database, and every league against its history.

    Exit code 1: something is wrong.
    """
    url = store_url(store)
    from matchbandit.leagues.errors import LeagueError
    from matchbandit.leagues.records import StoreCheck

    try:
        with open_store(url) as opened:
            result = opened.check()
    except LeagueError as error:
        if error.code not in ("store-unusable", "damaged"):
            raise
        result = StoreCheck([str(error)], {})
    problems = [*result.problems, *(problem for league in result.leagues.values() for problem in league)]

    def print_text() -> None:
        if result.ok:
            typer.echo(f"no problems: {plural(len(result.leagues), 'league')} checked")
        for problem in problems:
            print_wrapped(problem)

    return Output({"ok": result.ok, **to_json_data(result)}, print_text, exit_code=0 if result.ok else 1)


def _parse_age(text: str) -> timedelta:
    try:
        return timedelta(seconds=parse_duration("--older-than", text))
    except OverflowError:
        raise MatchbanditError(f"--older-than is at most 36500d; got {text!r}.") from None


OlderThan = Annotated[
    timedelta,
    typer.Option(
        help="Age of idempotency keys, ended tokens and sessions; by default 30d.",
        show_default=False,
        **parsed_by(_parse_age, "DURATION"),
    ),
]


@on_store
def prune(
    store: "Store",
    older_than: OlderThan = timedelta(days=30),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be erased.")] = False,
) -> Output:
    """Erase what is no longer needed.

    Old idempotency keys, ended tokens and sessions, and leagues that were deleted 30 days ago. A server does so every
    day.
    """
    pruned = store.prune(older_than=older_than, dry_run=dry_run)
    parts = [plural(pruned.keys, "key"), plural(pruned.tokens, "token"), plural(pruned.sessions, "session")]
    leagues = plural(len(pruned.leagues), "league")
    names = f" ({', '.join(pruned.leagues)})" if pruned.leagues else ""
    return Output(pruned, f"{'would erase' if dry_run else 'erased'} {', '.join(parts)} and {leagues}{names}")


@on_store
def vacuum(store: "Store") -> Output:
    """Return unused space to the disk.

    SQLite rewrites the file: this needs as much free space again, and nobody can write meanwhile.
    """
    before = store.info().size_bytes
    store.vacuum()
    after = store.info().size_bytes
    return Output({"before_bytes": before, "after_bytes": after}, f"{byte_size(before)} before, {byte_size(after)} now")


@on_store
def backup(store: "Store", file: Annotated[Path, argument("FILE", "The copy.")]) -> Output:
    """Copy a SQLite store while others write to it.

    The copy has all leagues and tokens as of one moment.
    """
    store.backup(file)
    return Output({"file": str(file), "size_bytes": file.stat().st_size}, f"{file}: {byte_size(file.stat().st_size)}")


VERBS: dict[str, Callable[..., None]] = {
    "info": info,
    "check": check,
    "prune": prune,
    "vacuum": vacuum,
    "backup": backup,
}
"""In the order of --help."""
