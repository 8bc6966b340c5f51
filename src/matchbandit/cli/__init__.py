"""Type it: `matchbandit policies`, `simulate`, `reproduce`; a file for each verb.

Verbs import what they need when they are called, so that --help stays quick.
"""

import sys
from typing import Annotated

import typer

from matchbandit.cli.policies import policies
from matchbandit.cli.reading import gathered
from matchbandit.cli.reproduce import reproduce
from matchbandit.cli.simulate import simulate
from matchbandit.errors import MatchbanditError

app = typer.Typer(
    name="matchbandit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (policies, simulate, reproduce):
    app.command()(verb)


@app.callback(invoke_without_command=True)
def matchbandit(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Learn whom to pair with whom: the algorithms of matching bandits, right and fast."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"matchbandit {installed('matchbandit')}")
        raise typer.Exit


def main() -> None:
    """Run the command line; a user's mistake ends in one line on stderr and exit code 2."""
    try:
        app(gathered(sys.argv[1:]))
    except MatchbanditError as mistake:
        typer.echo(f"error: {mistake}", err=True)
        sys.exit(2)
