"""What a signal does to long commands: they end as after Ctrl-C, and say what is kept."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer


@contextmanager
def exit_if_stopped(message: str = "") -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt the block as Ctrl-C does, unless they are ignored, as after nohup; then exit."""
    stopped_by = [signal.SIGINT]

    def stop(number: int, _frame: Any) -> None:
        stopped_by.append(signal.Signals(number))
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, stop) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    except KeyboardInterrupt as stopped:
        typer.echo(message or (f"stopped: {stopped}" if str(stopped) else "stopped."), err=True)
        raise typer.Exit(128 + stopped_by[-1]) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
