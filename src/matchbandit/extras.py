"""What is not installed with the core: drawing, and files of results."""

from importlib import import_module
from types import ModuleType

from matchbandit.errors import MatchbanditError

_EXTRAS = {
    "distributed": "dask",
    **dict.fromkeys(
        ("fastapi", "httpx", "jinja2", "prometheus_client", "psycopg", "sqlalchemy", "uvicorn"),
        "live",
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
