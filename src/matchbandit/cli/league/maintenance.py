"""`matchbandit league verify`, `export`, `import`, `backup`, `archive`, `restore` and `delete`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.completion import DEFAULT_STORE
from matchbandit.cli.league.output import format_time
from matchbandit.cli.league.parameters import (
    BY,
    LeagueName,
    OptionalLeagueName,
    StoreUrl,
    open_store,
    store_url,
)
from matchbandit.cli.output import Output, print_wrapped, prints_output, to_json_data
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import plural

if TYPE_CHECKING:
    from matchbandit.live.lifecycle import LeagueStatus


@prints_output
def verify(league: OptionalLeagueName = None, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Replay the log of a league and compare.

    Rebuilds the state and makes every decision again. Decisions are promised to be equal for equal versions only. Exit
    code 1: something differs.
    """
    with open_store(store) as opened:
        names = [league] if league else opened.leagues(archived=True)
        checks = {name: opened.open(name).verify() for name in names}

    def print_text() -> None:
        for name, check in checks.items():
            print_wrapped(f"{name}: {check.sentence}")

    data = {name: {**to_json_data(check), "ok": check.ok} for name, check in checks.items()}
    return Output(data, print_text, exit_code=0 if all(check.ok for check in checks.values()) else 1)


@prints_output
def export(
    league: OptionalLeagueName = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The file, by default LEAGUE.jsonl.gz; for all leagues, the folder.",
            show_default=False,
        ),
    ] = None,
    without_names: Annotated[
        bool, typer.Option("--without-names", help="Leave the names out: items are numbers.")
    ] = False,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Write the log of a league into one file.

    For `import` elsewhere. A file name that ends in .gz is compressed.
    """
    with open_store(store) as opened:
        if league is None:
            folder = out or Path()
            folder.mkdir(parents=True, exist_ok=True)
            files = {name: folder / f"{name}.jsonl.gz" for name in opened.leagues(archived=True)}
        else:
            files = {league: out or Path(f"{league}.jsonl.gz")}
        for name, file in files.items():
            opened.open(name).export(file, names=not without_names)
    data = {name: str(file) for name, file in files.items()}
    return Output(data, "\n".join(f"{name}: {file}" for name, file in data.items()))


@prints_output
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Exported leagues.", show_default=False)],
    as_: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Name here; by default the name in the file.", show_default=False),
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Import leagues that were exported.

    Numbers and events stay the same.
    """
    if as_ is not None and len(files) > 1:
        raise MatchbanditError("--as names one league; import one file at a time with it.")
    with open_store(store, create=True) as opened:
        names = [opened.import_league(file, slug=as_).name for file in files]
    return Output(names, "\n".join(f"{name}: from {file}" for name, file in zip(names, files, strict=True)))


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
def archive(league: LeagueName, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Make a league read-only.

    It is no longer listed, and its deadlines do not pass.
    """
    with open_store(store) as opened:
        status = opened.archive(league, by=BY)
    return _status_output(status, f"archived at {format_time(status.since or '')}")


@prints_output
def restore(league: LeagueName, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Make an archived or deleted league active again."""
    with open_store(store) as opened:
        status = opened.restore(league, by=BY)
    return _status_output(status, "active")


@prints_output
def delete(
    league: LeagueName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    now: Annotated[bool, typer.Option("--now", help="Erase it at once: it cannot be restored.")] = False,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Delete a league.

    It is hidden at once, can be restored for 30 days, and is then erased.
    """
    with open_store(store) as opened:
        if not yes:
            _confirm(league, now=now)
        status = opened.delete(league, now=now, by=BY)
    erased = "erased" if now else f"deleted; it can be restored until {format_time(status.erase_after or '')}"
    return _status_output(status, erased)


def _confirm(league: str, *, now: bool) -> None:
    if not sys.stdin.isatty():
        raise MatchbanditError(f"cannot ask whether to delete {league!r}: there is no terminal. Add --yes.")
    action = "Erase" if now else "Delete"
    if not typer.confirm(f"{action} the league {league!r}?", err=True):
        raise MatchbanditError(f"{league!r} was not deleted.")


def _status_output(status: "LeagueStatus", text: str) -> Output:
    return Output(status, f"{status.name}: {text}")
