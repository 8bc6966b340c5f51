"""`matchbandit warm-up`: compile everything now, so that nothing has to be compiled later."""

import json

import typer

from matchbandit.cli.options import Json
from matchbandit.errors import MatchbanditError


def warm_up(as_json: Json = False) -> None:
    """Compile all policies and keep the machine code.

    For images and deployments; the code is that of this processor.
    """
    from matchbandit.cache_folder import folder, named_folder
    from matchbandit.simulation.warm_up import warm_up as compile_all

    seconds: dict[str, float] = {}

    def report(name: str, took: float) -> None:
        seconds[name] = took
        if not as_json:
            typer.echo(f"{name:<25} {took:6.1f} s")

    wanted = named_folder()
    if folder() is None or wanted not in (None, folder()):
        raise MatchbanditError(
            f"{wanted or 'the cache'} cannot be written. Set MATCHBANDIT_CACHE to a folder of yours."
        )
    compile_all(report)
    if as_json:
        typer.echo(json.dumps(seconds))
    else:
        typer.echo(f"{'in all':<25} {sum(seconds.values()):6.1f} s, kept in {folder()}")
