"""What is public in the product, as it stands: names, members, commands, options, routes, settings, error codes."""

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import matchbandit

Entry = tuple[str, str]
"""A kind and a name."""
API_PAGES = Path(__file__).parents[2] / "docs" / "api"
_DIRECTIVE = re.compile(
    r"^\.\. (currentmodule|autoclass|autofunction|autoexception|autodata|py:data):: ([\w.]+)$"
    r"(?:\n   :exclude-members: (.+)$)?",
    re.MULTILINE,
)
SERVER = "matchbandit.leagues.service"
"""Its packages are for the server; what is public of it is on the API pages."""
PACKAGE = Path(matchbandit.__file__).parent
_VARIABLE = re.compile(r"\bMATCHBANDIT_[A-Z_]*[A-Z]\b")


@cache
def surface() -> frozenset[Entry]:
    """Everything public, by kind."""
    return frozenset(
        [
            *_names(),
            *_members(),
            *_parameters(),
            *_catalogue(),
            *_families(),
            *_commands(),
            *_routes(),
            *_variables(),
            *_league_settings(),
            *_error_codes(),
            *_study_keys(),
        ]
    )


@cache
def _objects() -> dict[str, Any]:
    """Every public name: those of each package's `__all__`, and those that the API pages document."""
    found: dict[str, Any] = {}
    for module in _packages():
        for name in getattr(module, "__all__", ()):
            found[f"{module.__name__}.{name}"] = getattr(module, name)
    for page in sorted(API_PAGES.glob("*.md")):
        current = "matchbandit"
        for directive, name, _ in _DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            if directive == "currentmodule":
                current = name
                continue
            path = name if name.startswith("matchbandit.") else f"{current}.{name}"
            module_name, _, attribute = path.rpartition(".")
            found[path] = getattr(import_module(module_name), attribute)
    return found


def _packages() -> Iterator[Any]:
    yield matchbandit
    for info in pkgutil.walk_packages(matchbandit.__path__, "matchbandit."):
        if info.ispkg and not info.name.rpartition(".")[2].startswith("_") and not info.name.startswith(SERVER):
            yield import_module(info.name)


def _names() -> Iterator[Entry]:
    for path in _objects():
        yield "name", path


def _classes() -> dict[type, str]:
    """Public classes of the product and the shortest path of each."""
    found: dict[type, str] = {}
    for path, value in sorted(_objects().items(), key=lambda entry: (entry[0].count("."), entry[0])):
        if isinstance(value, type) and value.__module__.startswith("matchbandit"):
            found.setdefault(value, path)
    return found


@cache
def _excluded() -> frozenset[str]:
    """Members of public classes that the API pages leave out."""
    pages = [page.read_text(encoding="utf-8") for page in API_PAGES.glob("*.md")]
    listed = [(name.rpartition(".")[2], members) for page in pages for _, name, members in _DIRECTIVE.findall(page)]
    return frozenset(f"{name}.{member.strip()}" for name, members in listed if members for member in members.split(","))


def _defined(value: type, classes: dict[type, str]) -> Iterator[str]:
    """Names of what a public class itself defines, or a base of it that is not public."""
    names, inherited = set[str](), set[str]()
    for base in value.__mro__:
        own = {*vars(base), *vars(base).get("__annotations__", ())}
        if base is not value and base in classes:
            inherited |= own
        elif base.__module__.startswith("matchbandit"):
            names |= own
    yield from {name for name in names - inherited if f"{value.__name__}.{name}" not in _excluded()}


def _members() -> Iterator[Entry]:
    """Public methods, properties and fields, each once: with the public class that defines it."""
    classes = _classes()
    for value, path in classes.items():
        for name in _defined(value, classes):
            if not name.startswith("_") and name != "model_config":  # which is pydantic's
                yield "member", f"{path}.{name}"


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public functions, methods and constructors, each once; generated constructors take the fields, listed above."""
    found = dict[Callable[..., Any], str]()
    for path, value in sorted(_objects().items(), key=lambda entry: (entry[0].count("."), entry[0])):
        if inspect.isfunction(value):
            found.setdefault(value, path)
    for function, path in found.items():
        yield path, function
    classes = _classes()
    for value, path in classes.items():
        constructor = vars(value).get("__init__")
        if inspect.isfunction(constructor) and Path(constructor.__code__.co_filename).is_relative_to(PACKAGE):
            yield path, constructor
        for name in _defined(value, classes):
            attribute = inspect.getattr_static(value, name, None)
            function = getattr(attribute, "__func__", attribute)
            if inspect.isfunction(function) and not name.startswith("_"):
                yield f"{path}.{name}", function


def _parameters() -> Iterator[Entry]:
    """The parameters of all public functions, methods and constructors."""
    for path, function in _functions():
        for parameter in inspect.signature(function).parameters:
            if parameter not in ("self", "cls"):
                yield "parameter", f"{path}({parameter})"


def _catalogue() -> Iterator[Entry]:
    for name, kind in matchbandit.CATALOGUE.items():
        yield "policy", name
        for parameter in inspect.signature(kind).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY:
                yield "policy option", f"{name}.{parameter.name}"


def _families() -> Iterator[Entry]:
    """Families of problems with their parameters."""
    from matchbandit.problems import FAMILIES

    for name, draw in FAMILIES.items():
        yield "family", name
        for parameter in inspect.signature(draw).parameters:
            if parameter not in ("rewards", "rng"):
                yield "family parameter", f"{name}.{parameter}"


def _commands() -> Iterator[Entry]:
    import typer
    from click import Context

    from matchbandit.cli import app

    def walk(command: Any, path: str) -> Iterator[Entry]:
        yield "command", path
        for parameter in command.get_params(Context(command)):  # `serve` makes its options when it is asked
            if parameter.name == "help":
                continue
            if parameter.param_type_name == "argument":
                yield "argument", f"{path} {parameter.name.upper()}"
            else:
                for option in (*parameter.opts, *parameter.secondary_opts):
                    yield "option", f"{path} {option}"
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, f"{path} {name}")

    yield from walk(typer.main.get_command(app), "matchbandit")


def _routes() -> Iterator[Entry]:
    from matchbandit.leagues import Store
    from matchbandit.leagues.service.app import create_app

    with Store("sqlite://") as store:
        app = create_app(store)
    yield from _routes_below(app.routes)


def _routes_below(routes: Any) -> Iterator[Entry]:
    for route in routes:
        if hasattr(route, "original_router"):  # FastAPI 0.116 and later keep included routers
            yield from _routes_below(route.original_router.routes)
        else:
            for method in getattr(route, "methods", None) or ("GET",):
                if method != "HEAD":
                    yield "route", f"{method} {route.path}"


def _variables() -> Iterator[Entry]:
    """Of the server's settings, and those that the source names."""
    from matchbandit.leagues.service.settings import Settings

    for name in Settings.model_fields:
        yield "environment variable", f"MATCHBANDIT_{name.upper()}"
    for file in PACKAGE.rglob("*.py"):
        for name in _VARIABLE.findall(file.read_text(encoding="utf-8")):
            yield "environment variable", name


def _league_settings() -> Iterator[Entry]:
    from matchbandit.leagues.settings import LeagueSettings

    for each in fields(LeagueSettings):
        yield "league setting", each.name


def _error_codes() -> Iterator[Entry]:
    from matchbandit.leagues.errors import CODES

    for code in CODES:
        yield "error code", code


def _study_keys() -> Iterator[Entry]:
    """The keys of a study file."""
    for name in matchbandit.Study.model_fields:
        yield "study key", name
