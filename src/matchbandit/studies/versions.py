"""What made the numbers: versions of what computes them, and fingerprints of the user's own modules."""

import ast
import inspect
import platform
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from matchbandit.errors import MatchbanditError
from matchbandit.fingerprint import fingerprint
from matchbandit.user_code import MAIN, is_installed, module_of

if TYPE_CHECKING:
    from matchbandit.studies.points import Point

COMPARED = ("matchbandit", "numpy", "numba")
"""What numbers may depend on; the version of Python is recorded, but numbers do not depend on it."""
SOURCE = "simulation source"
"""The key of our fingerprint."""
FINGERPRINTED = (
    "allowed", "certificates", "compiled", "confidence", "evidence", "graphs", "kl", "past_results", "plans",
    "policies", "problems", "product_model", "results/tables", "rewards", "schedules", "seeding", "simulation",
    "solvers", "strengths",
)  # fmt: skip
"""Modules and packages that may change the numbers of a run."""
NOT_FINGERPRINTED = (
    "cache_folder", "errors", "extras", "figures", "fingerprint", "formatting", "numba_cache",
    "progress", "results", "user_code",
)  # fmt: skip
"""What simulation imports besides, for messages, files and charts: an edit of it leaves all numbers as they are."""
_SHORT = 8
"""Digits of a fingerprint that messages show."""

_imported_as: "WeakKeyDictionary[ModuleType, tuple[Any, str]]" = WeakKeyDictionary()
"""The import of each own module that was looked at, and its fingerprint then."""


def versions() -> dict[str, str]:
    """The versions that compute here, and a fingerprint of our source, which may be edited between two releases."""
    return {
        **{name: _installed(name) for name in COMPARED},
        SOURCE: _source_fingerprint(),
        "python": platform.python_version(),
    }


@cache
def _installed(name: str) -> str:
    """The version of a package; looking it up takes a millisecond, and every part asks."""
    return version(name)


@cache
def _source_fingerprint() -> str:
    package = Path(str(files("matchbandit")))
    digest = blake2b(digest_size=8)
    for name in FINGERPRINTED:
        module = package / f"{name}.py"
        for file in [module] if module.is_file() else sorted((package / name).rglob("*.py")):
            digest.update(f"{file.relative_to(package).as_posix()}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def other_versions(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """List the differences as text; user modules that only one side has are ignored.

    >>> other_versions({"numpy": "2.0.1", "python": "3.11.1"}, {"numpy": "2.1.0", "python": "3.12.0"})
    ['numpy was 2.0.1, is now 2.1.0']
    >>> other_versions({"my_own": "5dcf86b3aa27"}, {"my_own": "6c335a24be03"})
    ['my_own.py, or what it imports, has changed since (5dcf86b3, now 6c335a24)']
    """
    differing = [name for name in then if now.get(name, then[name]) != then[name] and name != "python"]
    return [_difference(name, then[name], now[name]) for name in differing]


def _difference(name: str, then: str, now: str) -> str:
    if name in COMPARED:
        return f"{name} was {then}, is now {now}"
    if name == SOURCE:
        what = "matchbandit's source of simulation and policies"
    elif ":" in name:
        what = f"{name.partition(':')[2]}, or what it calls,"
    else:
        what = f"{'the script' if name == MAIN else name.replace('.', '/') + '.py'}, or what it imports,"
    return f"{what} has changed since ({then[:_SHORT]}, now {now[:_SHORT]})"


def fingerprints(points: "Iterable[Point]") -> dict[str, str]:
    """A fingerprint of each module of the user's own that these points use, with what it imports from its folder.

    What is typed into a notebook has no file: there each class and function has one of its own.
    """
    fingerprints_by_name: dict[str, str] = {}
    for point in points:
        for name, part in point.user_parts.items():
            module = import_module(module_of(name))
            has_file = Path(getattr(module, "__file__", None) or "").is_file()  # that of a script on stdin is "<stdin>"
            key = module_of(name) if has_file else name
            if key not in fingerprints_by_name:
                fingerprints_by_name[key] = _of_file(key, module) if has_file else _of_code(part)
    return fingerprints_by_name


def user_files(name: str, *, also_installed: bool = True) -> dict[str, bytes]:
    """The file of an own module, and of all that it imports from the same folder, by their paths from there."""
    file = Path(str(import_module(name).__file__)).resolve()
    top = "" if name == "__main__" else name.partition(".")[0]
    root = file.parent
    for _ in range(name.count(".") + (file.name == "__init__.py")):
        root = root.parent
    if is_installed(root) and not also_installed:
        return {}
    only = top if is_installed(root) else None  # a folder of installed packages holds others, too
    contents: dict[Path, bytes] = {}
    waiting = [file]
    while waiting:
        at = waiting.pop()
        if at not in contents:
            contents[at] = at.read_bytes()
            near = _imports(at, contents[at], root)
            waiting += [each for each in near if only in (None, each.relative_to(root).parts[0])]
    return {path.relative_to(root).as_posix(): contents[path] for path in sorted(contents)}


def _of_file(name: str, module: ModuleType) -> str:
    digest = blake2b(digest_size=16)
    for path, content in user_files(name).items():
        digest.update(f"{path}\0{_code(ast.parse(content))}\0".encode())
    now = digest.hexdigest()
    spec, then = _imported_as.setdefault(module, (module.__spec__, now))
    if spec is not module.__spec__:  # it was reloaded
        _imported_as[module] = module.__spec__, now
    elif then != now:
        raise MatchbanditError(
            f"the module {name}, or one that it imports, has changed on disk since it was imported here: the code that "
            f"would be played is not the code that is there. Begin a new Python."
        )
    return now


def _code(node: Any) -> str:
    """The syntax tree as text: without comments, blank lines and layout, and the same in any version of Python.

    >>> _code(ast.parse("x = 1  # one")) == _code(ast.parse("x = (1)")), _code(ast.parse("x")) == _code(ast.parse("y"))
    (True, False)
    """
    if isinstance(node, list):
        return f"[{','.join(map(_code, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [f"{name}={_code(value)}" for name, value in ast.iter_fields(node) if value is not None and value != []]
    return f"{type(node).__name__}({','.join(fields)})"


def _of_code(part: Any) -> str:
    """Of a class or function without a file: its methods, those that it inherits from others without one, its code."""
    digest = blake2b(digest_size=16)
    kinds = [kind for kind in getattr(part, "__mro__", ()) if kind.__module__ == part.__module__]
    parts = [item for kind in kinds for item in sorted(vars(kind).items())] or [(part.__name__, part)]
    for name, value in parts:
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if inspect.isfunction(function) or hasattr(function, "py_func"):
            digest.update(f"{name} {fingerprint(function)}\0".encode())
        elif isinstance(value, int | float | str | tuple) and not name.startswith("__"):
            digest.update(f"{name} {value!r}\0".encode())
    return digest.hexdigest()


def _imports(file: Path, content: bytes, root: Path) -> Iterator[Path]:
    """The files below the root that a file imports."""
    package = file.parent.relative_to(root).parts
    for node in ast.walk(ast.parse(content)):
        names: list[tuple[str, ...]] = []
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = (*base, *(node.module.split(".") if node.module else ()))
            names = [start, *((*start, alias.name) for alias in node.names)]
        for parts in names:
            for depth in range(1, len(parts) + 1):
                at = root.joinpath(*parts[:depth])
                yield from (near for near in (at.with_suffix(".py"), at / "__init__.py") if near.is_file())
