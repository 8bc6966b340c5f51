"""`matchbandit warm-up`: compile everything now, so that nothing has to be compiled later."""

import json

import typer

from matchbandit.cli.options import Json


def warm_up(as_json: Json = False) -> None:
    """Compile all policies and keep the machine code, for images and deployments; it is that of this processor."""
    from matchbandit.compiled import folder
    from matchbandit.simulation.warm_up import warm_up as compile_all

    seconds: dict[str, float] = {}

    def report(name: str, took: float) -> None:
        seconds[name] = took
        if not as_json:
            typer.echo(f"{name:<25} {took:6.1f} s")

    compile_all(report)
    if as_json:
        typer.echo(json.dumps(seconds))
    else:
        kept = (
            f"kept in {folder()}" if folder() else "not kept: there is no folder to write into; set MATCHBANDIT_CACHE"
        )
        typer.echo(f"{'in all':<25} {sum(seconds.values()):6.1f} s, {kept}")
