"""Type it: `matchbandit policies`, `simulate`, `identify`, `bounds`, `reproduce`, `league`, …; a file for each verb.

Verbs import what they need when they are called, so that --help stays quick.
"""

import contextlib
import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from matchbandit.cli.bounds import bounds
from matchbandit.cli.identify import identify
from matchbandit.cli.league import VERBS as LEAGUE
from matchbandit.cli.parsing import gathered
from matchbandit.cli.policies import policies
from matchbandit.cli.report import report
from matchbandit.cli.reproduce import reproduce
from matchbandit.cli.run import run
from matchbandit.cli.serve import serve
from matchbandit.cli.simulate import simulate
from matchbandit.cli.store import VERBS as STORE
from matchbandit.cli.token import VERBS as TOKEN
from matchbandit.cli.warm_up import warm_up
from matchbandit.cli.watch import watch
from matchbandit.errors import MatchbanditError
from matchbandit.user_code import UserCodeError

TRACEBACK = "MATCHBANDIT_TRACEBACK"
"""The variable that asks for a traceback in place of one line."""

app = typer.Typer(
    name="matchbandit",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _interruptible(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb, which says that it stopped; typer by itself ends without a word."""

    @wraps(verb)
    def run(*args: Any, **options: Any) -> None:
        try:
            verb(*args, **options)
        except KeyboardInterrupt:
            typer.echo("stopped.", err=True)
            raise typer.Exit(130) from None

    return run


for verb in (policies, simulate, identify, bounds, run, report, watch, reproduce, warm_up, serve):
    app.command()(_interruptible(verb))


def _group(name: str, verbs: dict[str, Callable[..., None]], about: str) -> None:
    """Verbs that are typed below another: `matchbandit league ask`; the name alone shows them."""
    group = typer.Typer(rich_markup_mode=None)
    for typed, verb in verbs.items():
        group.command(typed)(_interruptible(verb))

    @group.callback(invoke_without_command=True, help=about)
    def alone(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    app.add_typer(group, name=name)


_group(
    "league",
    LEAGUE,
    "Pair people or things with names, day by day.\n\n"
    "You tell what pairs achieved together, not who won; whom to pair next is learnt from it.",
)
_group("store", STORE, "Describe, check, prune and copy a store of leagues.")
_group("token", TOKEN, "Make, list and end the keys to `matchbandit serve`.")


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
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Δ shows ? instead
            stream.reconfigure(errors="replace")
    warnings.showwarning = lambda message, *_: typer.echo(f"warning: {message}", err=True)
    try:
        code = app(gathered(sys.argv[1:]), standalone_mode=False) or 0
        sys.stdout.flush()
        sys.exit(code)
    except MatchbanditError as mistake:
        if os.environ.get(TRACEBACK):
            traceback.print_exc()
            sys.exit(2)
        more = f" {TRACEBACK}=1 before the command shows all of it." if isinstance(mistake, UserCodeError) else ""
        _end(f"{mistake}{more}", 2)
    except MemoryError:
        _end("this does not fit in memory. Take fewer runs, fewer checkpoints or a smaller problem.", 2)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _silence_stdout()
        sys.exit(1)
    except OSError as error:
        _silence_stdout()  # what it still holds cannot be written either
        _end(f"{error.filename or 'standard output'}: {error.strerror or error}.", 1)
    except Exception as mistake:
        words = getattr(mistake, "format_message", None)  # what typer raises for a wrong call
        if words is None:
            raise
        told = words()
        _end(f"{told}{'' if told.endswith(('.', '?')) else '.'} --help says what can be typed.", 2)


def _open_missing_streams() -> None:
    """Open the null device in place of a stream that the shell has closed (`>&-`), which is None in Python.

    Its number is then taken, too: a database would be opened under it otherwise, and stray output end up in there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open until the process ends


def _silence_stdout() -> None:
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(words: str, code: int) -> None:
    typer.echo(f"error: {' '.join(words.split())}", err=True)
    sys.exit(code)
