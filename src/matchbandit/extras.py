"""What is not installed with the core: drawing, files of results, and data frames."""

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Literal

from matchbandit.errors import MatchbanditError, unknown

Frame = Literal["pandas", "polars", "arrow"]
_FRAMES: tuple[Frame, ...] = ("pandas", "polars")

_EXTRAS = {
    "distributed": "dask",
    **dict.fromkeys(
        (
            *("fastapi", "fastapi_offline", "httpx", "msgspec", "prometheus_client", "psycopg"),
            *("pydantic_settings", "sqlalchemy", "uvicorn"),
        ),
        "leagues",
    ),
}
"""Of modules that are not in `lab`."""


def need(module: str, purpose: str) -> ModuleType:
    """A module of an extra, or one line that says what it is for and how to install it.

    >>> need("nowhere.near", "drawing")
    Traceback (most recent call last):
    matchbandit.errors.MatchbanditError: drawing needs nowhere, which is not installed.
        Install it with: pip install 'matchbandit[lab]'
    """
    top = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != top:
            raise
        install = f"Install it with: pip install 'matchbandit[{_EXTRAS.get(top, 'lab')}]'"
        raise MatchbanditError(f"{purpose} needs {top}, which is not installed. {install}") from None


def choose_frame(kind: Frame | None) -> Frame:
    """The kind of frame that is named, else the one of pandas and Polars that is imported, else that is installed."""
    if kind not in (None, *_FRAMES, "arrow"):
        raise unknown("kind of frame", kind, [*_FRAMES, "arrow"])
    if kind is not None:
        return kind
    for name in _FRAMES:
        if name in sys.modules:
            return name
    for name in _FRAMES:
        if find_spec(name) is not None:
            return name
    raise MatchbanditError(
        "a data frame needs pandas or Polars. Install one: pip install pandas; or take kind='arrow'."
    )


def frame_library(name: Literal["pandas", "polars"]) -> Any:
    """Pandas or Polars, which no extra installs."""
    if find_spec(name) is None:
        raise MatchbanditError(f"this data frame needs {name}, which is not installed. Install it: pip install {name}")
    return need(name, "a data frame")


def make_frame(columns: Mapping[str, Any], kind: Frame | None = None) -> Any:
    """A frame of lists or arrays by name, of the kind that `choose_frame` says."""
    chosen = choose_frame(kind)
    if chosen == "arrow":
        return need("pyarrow", "an Arrow table").table(dict(columns))
    return frame_library(chosen).DataFrame(dict(columns))
