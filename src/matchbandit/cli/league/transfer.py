"""`matchbandit league export` and `import`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.league.parameters import SomeLeague, all_rows, on_store
from matchbandit.cli.output import Output
from matchbandit.cli.parameters import argument, optional
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.leagues import Store


@on_store
def export(
    store: "Store",
    league: SomeLeague = None,
    out: Annotated[
        Path | None, optional("The file, by default LEAGUE.jsonl.gz, or the folder.", metavar="PATH")
    ] = None,
    without_names: Annotated[bool, typer.Option("--without-names", help="Leave the names out.")] = False,
) -> Output:
    """Write a league into one file, or all leagues into a folder.

    For `import` elsewhere. A file name that ends in .gz is compressed.
    """
    if league is None:
        folder = out or Path()
        folder.mkdir(parents=True, exist_ok=True)
        infos = [info for status in ("active", "archived") for info in all_rows(store.leagues, status=status)]
        files = {info.slug: folder / f"{info.slug}.jsonl.gz" for info in infos}
    else:
        files = {league: out or Path(f"{league}.jsonl.gz")}
    for name, file in files.items():
        store.open(name).export(file, names=not without_names)
    return Output(
        {name: str(file) for name, file in files.items()}, "\n".join(f"{name}: {file}" for name, file in files.items())
    )


@partial(on_store, create=True)
def import_(
    store: "Store",
    files: Annotated[list[Path], argument("FILE...", "Exported leagues.")],
    as_: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Another name for it.")] = None,
) -> Output:
    """Import leagues that were exported.

    Numbers and the history stay the same.
    """
    if as_ is not None and len(files) > 1:
        raise MatchbanditError("--as names one league; import one file at a time with it.")
    try:
        names = [store.import_league(file, slug=as_).slug for file in files]
    except OSError as error:
        raise MatchbanditError(f"{error.filename} cannot be read: {error.strerror}.") from None
    return Output(names, "\n".join(f"{name}: from {file}" for name, file in zip(names, files, strict=True)))
