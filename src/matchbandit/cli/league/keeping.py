"""`matchbandit league verify`, `export`, `import`, `backup`: that nothing is lost, here or elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from matchbandit.cli.league.common import STORE, StoreUrl, opened_store, plain, print_json, url_of
from matchbandit.cli.options import Json, say
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import plural

MaybeLeague = Annotated[
    str | None,
    typer.Argument(metavar="[LEAGUE]", help="The league's name; by default all of the store.", show_default=False),
]


def verify(league: MaybeLeague = None, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Replay a league from nothing, and compare.

    The state, and every decision again: these are promised to be equal for equal versions only.
    """
    with opened_store(store) as kept:
        found = {name: kept.open(name).verify() for name in ([league] if league else kept.leagues(archived=True))}
    if as_json:
        print_json({name: {**plain(one), "ok": one.ok} for name, one in found.items()})
    else:
        for name, one in found.items():
            say(f"{name}: {one.sentence}")
    if not all(one.ok for one in found.values()):
        raise typer.Exit(1)


def export(
    league: MaybeLeague = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The file, by default LEAGUE.jsonl.gz; of all leagues, the folder.", show_default=False),
    ] = None,
    without_names: Annotated[
        bool, typer.Option("--without-names", help="Leave the names out: items are numbers.")
    ] = False,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Write a league into one file.

    The whole log, for `import` elsewhere. With .gz at its end, it is compressed.
    """
    with opened_store(store) as kept:
        if league is None:
            folder = out or Path()
            folder.mkdir(parents=True, exist_ok=True)
            places = {name: folder / f"{name}.jsonl.gz" for name in kept.leagues(archived=True)}
        else:
            places = {league: out or Path(f"{league}.jsonl.gz")}
        for name, place in places.items():
            kept.open(name).export(place, names=not without_names)
    if as_json:
        print_json({name: str(place) for name, place in places.items()})
    else:
        for name, place in places.items():
            typer.echo(f"{name}: {place}")


def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="What export has written.", show_default=False)
    ],
    as_: Annotated[
        str | None, typer.Option("--as", help="The name here; by default that of the file.", show_default=False)
    ] = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Take in leagues that were exported.

    Numbers and events stay as they were.
    """
    if as_ is not None and len(files) > 1:
        raise MatchbanditError("--as names one league; import one file at a time with it.")
    with opened_store(store, may_be_new=True) as kept:
        names = [kept.import_league(file, slug=as_).name for file in files]
    if as_json:
        print_json(names)
    else:
        for name, file in zip(names, files, strict=True):
            typer.echo(f"{name}: from {file}")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy.", show_default=False)],
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Copy a SQLite store while others write to it.

    All leagues and tokens, as they are at one moment.
    """
    from matchbandit.live.backup import backup as copy

    made = copy(url_of(store), file)
    if as_json:
        print_json({"file": str(file), "leagues": made.leagues, "events": made.events})
    else:
        typer.echo(f"{file}: {plural(made.leagues, 'league')}, {plural(made.events, 'event')}")
