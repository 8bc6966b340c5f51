"""All studies of ours: a line for each."""

from functools import cache
from importlib import import_module

from matchbandit.studies.entry import Entry

FILES = (
    "over_time",
    "over_gap",
    "over_u1",
    "over_n",
    "over_mu",
    "practical",
    "windows",
    "growth",
    "identification",
    "comparison",
    "evaluations",
    "click_models",
)
"""The modules of this package that have an `ENTRY`, in the order in which their figures are drawn."""


@cache
def entries() -> dict[str, Entry]:
    """The studies by name."""
    made: list[Entry] = [import_module(f"matchbandit.studies.{file}").ENTRY for file in FILES]
    return {entry.name: entry for entry in made}


def figures() -> dict[str, Entry]:
    """The figures by name, each with the study that draws it.

    >>> figures()["fig1-bottom"].name
    'over-gap'
    """
    return {figure: entry for entry in entries().values() for figure in entry.figures}
