"""Type it: `matchbandit policies`, `simulate`, `identify`, `bounds`, `reproduce`; a file for each verb.

Verbs import what they need when they are called, so that --help stays quick.
"""

import io
import os
import sys
import warnings
from typing import Annotated

import typer

from matchbandit.cli.bounds import bounds
from matchbandit.cli.identify import identify
from matchbandit.cli.parsing import gathered
from matchbandit.cli.policies import policies
from matchbandit.cli.reproduce import reproduce
from matchbandit.cli.simulate import simulate
from matchbandit.errors import MatchbanditError

app = typer.Typer(
    name="matchbandit",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (policies, simulate, identify, bounds, reproduce):
    app.command()(verb)


@app.callback(invoke_without_command=True)
def matchbandit(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Learn whom to pair with whom: the algorithms of matching bandits, right and fast."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"matchbandit {installed('matchbandit')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; a user's mistake ends in one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Δ shows ? instead
            stream.reconfigure(errors="replace")
    warnings.showwarning = lambda message, *_: typer.echo(f"warning: {message}", err=True)
    try:
        sys.exit(app(gathered(sys.argv[1:]), standalone_mode=False) or 0)
    except MatchbanditError as mistake:
        _end(str(mistake), 2)
    except KeyboardInterrupt:
        typer.echo("stopped.", err=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _end(f"{error.strerror or error}.", 1)
    except typer.Abort:
        sys.exit(130)
    except Exception as mistake:
        words = getattr(mistake, "format_message", None)  # what typer raises for a wrong call
        if words is None:
            raise
        _end(f"{words()} --help says what can be typed.", 2)


def _end(words: str, code: int) -> None:
    typer.echo(f"error: {' '.join(words.split())}", err=True)
    sys.exit(code)
