"""`matchbandit warm-up`: compile all policies ahead of time."""

import typer

from matchbandit.cli.completion import POLICIES
from matchbandit.cli.output import Output, print_table, prints_output
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import fixed
from matchbandit.progress import bar


@prints_output
def warm_up() -> Output:
    """Compile all policies and store the machine code.

    For images and deployments. The code is for this type of processor.
    """
    from matchbandit.cache_folder import folder, named_folder
    from matchbandit.simulation.warm_up import warm_up as compile_all

    wanted = named_folder()
    if folder() is None or wanted not in (None, folder()):
        raise MatchbanditError(f"{wanted or 'the cache'} is not writable. Set MATCHBANDIT_CACHE to a writable folder.")
    seconds: dict[str, float] = {}
    with bar("compiling") as advance:

        def report(name: str, took: float) -> None:
            seconds[name] = took
            advance("policies", len(seconds), len(POLICIES))

        compile_all(report)

    def print_text() -> None:
        rows = [*seconds.items(), ("in all", sum(seconds.values()))]
        print_table(("policy", "seconds"), [(name, fixed(took)) for name, took in rows], right=("seconds",))
        typer.echo(f"stored in {folder()}")

    return Output(seconds, print_text)
