"""The command line: `matchbandit policies`, `simulate`, `identify`, `bounds`, `league`, …; a module for each command.

Commands import what they need when they are called, so that --help is quick.
"""

import atexit
import contextlib
import gc
import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from matchbandit.cli.bounds import bounds
from matchbandit.cli.identify import identify
from matchbandit.cli.league import VERBS as LEAGUE
from matchbandit.cli.parameters import InvalidValue, join_list_options
from matchbandit.cli.policies import policies
from matchbandit.cli.report import report
from matchbandit.cli.reproduce import reproduce
from matchbandit.cli.run import run
from matchbandit.cli.serve import ServeCommand, serve
from matchbandit.cli.simulate import simulate
from matchbandit.cli.store import VERBS as STORE
from matchbandit.cli.token import VERBS as TOKEN
from matchbandit.cli.warm_up import warm_up
from matchbandit.cli.watch import watch
from matchbandit.errors import MatchbanditError
from matchbandit.user_code import UserCodeError

TRACEBACK = "MATCHBANDIT_TRACEBACK"
"""The environment variable that asks for a traceback instead of one line."""
SECTIONS = {
    "Try policies": ("policies", "simulate", "identify", "watch", "bounds"),
    "Run studies": ("run", "report", "reproduce"),
    "Pair people and things": ("league", "serve", "token", "store"),
    "Install": ("warm-up",),
}
"""The commands in the order of --help, by section."""


class _Commands(TyperGroup):
    """Lists the commands by section."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of the sections."""
        return [name for names in SECTIONS.values() for name in names]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a list for each section, with aligned descriptions."""
        width = max(map(len, self.commands))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                limit = formatter.width - width - 6
                formatter.write_dl(
                    [(f"{name:<{width}}", self.commands[name].get_short_help_str(limit)) for name in names]
                )


app = typer.Typer(
    name="matchbandit",
    cls=_Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _interruptible(verb: Callable[..., None]) -> Callable[..., None]:
    """Make Ctrl-C print that the command stopped; typer by itself prints nothing."""

    @wraps(verb)
    def run(*args: Any, **options: Any) -> None:
        try:
            verb(*args, **options)
        except KeyboardInterrupt:
            typer.echo("stopped.", err=True)
            raise typer.Exit(130) from None

    return run


for verb in (policies, simulate, identify, bounds, run, report, watch, reproduce, warm_up):
    app.command()(_interruptible(verb))
app.command(cls=ServeCommand)(_interruptible(serve))


def _add_group(name: str, verbs: dict[str, Callable[..., None]], help_text: str) -> None:
    """Add commands below another, such as `matchbandit league ask`; without a command, its help is printed."""
    group = typer.Typer(rich_markup_mode=None)
    for verb_name, verb in verbs.items():
        group.command(verb_name)(_interruptible(verb))

    @group.callback(invoke_without_command=True, help=help_text)
    def callback(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    app.add_typer(group, name=name)


_add_group(
    "league",
    LEAGUE,
    "Pair people or things by name, day by day.\n\n"
    "You record what pairs achieved together, not who won; the next pairs are learned from it.",
)
_add_group("store", STORE, "Describe, check, prune and copy a store of leagues.")
_add_group("token", TOKEN, "Create, list and revoke access tokens of `matchbandit serve`.")


@app.callback(
    invoke_without_command=True,
    epilog="\b\nStart here:\n"
    "  matchbandit policies\n"
    "  matchbandit simulate --policy uts --u 0.9,0.3 --v 0.8,0.2 --horizon 1e5\n"
    "  matchbandit league new club ann bob cem dee",
)
def matchbandit(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Learn whom to pair with whom: the algorithms of matching bandits.

    `matchbandit COMMAND --help` describes a command. Numbers may be typed like 2e6, and lists like 0.9,0.3 or 0.9 0.3.
    """
    if version:
        from importlib.metadata import version as installed_version

        typer.echo(f"matchbandit {installed_version('matchbandit')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; a user's mistake ends in one line on stderr and exit code 2."""
    # Imports make many objects and no garbage: not looking for it saves a third of the time of `league ask`.
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.freeze)
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Δ shows ? instead
            stream.reconfigure(errors="replace")
    warnings.showwarning = lambda message, *_: typer.echo(f"warning: {message}", err=True)
    try:
        code = app(join_list_options(sys.argv[1:]), prog_name="matchbandit", standalone_mode=False) or 0
        sys.stdout.flush()
        if isinstance(sys.stdout, _ClosedOutput) and sys.stdout.has_lost_output:
            _exit_with("standard output is closed.", code or 1)
        sys.exit(code)
    except MatchbanditError as mistake:
        if os.environ.get(TRACEBACK):
            traceback.print_exc()
            sys.exit(2)
        hint = f" Set {TRACEBACK}=1 to see the traceback." if isinstance(mistake, UserCodeError) else ""
        _exit_with(f"{mistake}{hint}", 2)
    except MemoryError:
        _exit_with("this does not fit in memory. Use fewer runs, fewer checkpoints or a smaller problem.", 2)
    except BrokenPipeError:  # the reader, such as head, has ended
        _silence_stdout()
        sys.exit(1)
    except OSError as error:
        _silence_stdout()  # its buffer cannot be written either
        _exit_with(f"{error.filename or 'standard output'}: {error.strerror or error}.", 1)
    except InvalidValue as mistake:
        _exit_with(mistake.message, 2)
    except Exception as mistake:
        format_message = getattr(mistake, "format_message", None)  # typer's errors in the call of a command
        if format_message is None:
            raise
        message = format_message()
        _exit_with(f"{message}{'' if message.endswith(('.', '?')) else '.'} See --help.", 2)


class _ClosedOutput(io.TextIOWrapper):
    """Stands for a standard output that the shell closed; records whether something was written."""

    has_lost_output = False

    def write(self, text: str) -> int:
        """Discard the text."""
        self.has_lost_output = self.has_lost_output or bool(text)
        return len(text)


def _open_missing_streams() -> None:
    """Open the null device in place of a stream that the shell closed (`>&-`), which is None in Python.

    Otherwise a database could get its file descriptor, and stray output be written into the database.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - open until the process ends
    if sys.stdout is None:
        sys.stdout = _ClosedOutput(open(os.devnull, "wb"), encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _silence_stdout() -> None:
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_with(message: str, code: int) -> NoReturn:
    for line in re.split(r"\n(?=\S)", message):  # each mistake in a study file is a line of its own
        typer.echo(f"error: {' '.join(line.split())}", err=True)
    sys.exit(code)
