"""The code that numbers depend on: ours, its libraries', and the user's own, which travels to workers."""

import ast
import importlib
import os
import pickle
import platform
import socket
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from types import FunctionType
from typing import Any

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.fingerprint import fingerprint
from matchbandit.lab.studies.study import Point
from matchbandit.user_code import MAIN, is_installed, load_object, module_of

NUMERICAL = (
    "allowed", "certificates", "compiled", "confidence", "evidence", "graphs", "kl", "past_results", "plans",
    "policies", "problems", "product_model", "rewards", "schedules", "seeding", "simulation", "solvers", "strengths",
)  # fmt: skip
"""Modules and packages of ours that may change the numbers of a run, or how they are stored."""
NOT_NUMERICAL = (
    "cache_folder", "errors", "extras", "figures", "files", "fingerprint", "formatting", "numba_cache", "progress",
    "results", "user_code",
)  # fmt: skip
"""What simulation imports besides, for messages and files: an edit of it leaves all numbers as they are."""


@cache
def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on, and that of Python, on which they do not."""
    return {name: version(name) for name in ("matchbandit", "numpy", "numba")} | {"python": platform.python_version()}


def code_digest(point: Point) -> str:
    """Return a digest of all code that the numbers of a point depend on: ours, its libraries', the user's."""
    return _digest(_library_digest(), *map(_part_digest, point.user_parts))[:8]


@cache
def _library_digest() -> str:
    package = Path(__file__).parents[2]
    sources = [file for name in NUMERICAL for file in [package / f"{name}.py", *(package / name).rglob("*.py")]]
    contents = [f"{file.relative_to(package)}\0{file.read_text()}" for file in sorted(sources) if file.is_file()]
    return _digest(*contents, *(versions()[name] for name in ("numpy", "numba")))


_imported: dict[str, tuple[Any, str]] = {}
"""Of each module of the user's, the import that was looked at, and its digest then: that is the code that runs."""


def _part_digest(name: str) -> str:
    """Return a digest of a user's policy or family: of its module with all that it imports from its folder."""
    part = load_object(name, "a policy or family")
    module = sys.modules[module_of(name)]
    if module_of(name) == MAIN:
        return _sent.get(name) or _code_of(part)
    spec, digest = _imported.get(module_of(name), (None, ""))
    if spec is not module.__spec__:  # it was imported, or reloaded, since
        digest = _digest(
            *(f"{path}\0{ast.unparse(ast.parse(text))}" for path, text in user_files(module_of(name))[1].items())
        )
        _imported[module_of(name)] = module.__spec__, digest
    return digest


_sent: dict[str, str] = {}
"""In a worker, the digests of what was defined in the script or notebook that has sent it."""


def user_files(name: str) -> tuple[Path, dict[str, str]]:
    """Return the folder of a module, and the files below it that it needs: its own, and all that it imports there."""
    file = Path(str(sys.modules[name].__file__)).resolve()
    root = file.parents[name.count(".") + (file.name == "__init__.py")]
    if is_installed(root):  # which holds other packages, too
        top = root / name.partition(".")[0]
        files = {*top.rglob("*.py"), file}
    else:
        files, waiting = set[Path](), {file}
        while waiting:
            files.add(at := waiting.pop())
            waiting |= {*_imports(at, root)} - files
    return root, {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in sorted(files)}


def _imports(file: Path, root: Path) -> Iterator[Path]:
    """Yield the files below a folder that a file imports, also from packages without an `__init__.py`."""
    package = file.parent.relative_to(root).parts
    for node in ast.walk(ast.parse(file.read_bytes())):
        names: list[tuple[str, ...]] = []
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = (*base, *(node.module.split(".") if node.module else ()))
            names = [(*start, alias.name) for alias in node.names]
        for parts in names:
            for depth in range(1, len(parts) + 1):
                at = root.joinpath(*parts[:depth])
                yield from (path for path in (at.with_suffix(".py"), at / "__init__.py") if path.is_file())


@dataclass(frozen=True)
class UserCode:
    """The user's own code of a study as it is sent to workers: files, and what is defined in a script or notebook."""

    files: tuple[tuple[str, str], ...]
    roots: tuple[str, ...]
    """Their folders, and the current one: workers on this machine use them as they are."""
    main: bytes
    process: tuple[str, int]
    """Where it comes from."""

    @classmethod
    def of(cls, points: Iterable[Point]) -> "UserCode":
        """Collect the code that the points need."""
        names = sorted({name for point in points for name in point.user_parts})
        files = [user_files(module) for module in sorted({*map(module_of, names)} - {MAIN})]
        own = [(root, texts) for root, texts in files if not is_installed(root)]
        in_main = [name for name in names if module_of(name) == MAIN]
        parts = {name: (load_object(name, "a policy or family"), _part_digest(name)) for name in in_main}
        cloudpickle = need("cloudpickle", "a study of a policy in a script or notebook")  # comes with loky
        try:
            main = cloudpickle.dumps(parts)
        except Exception as error:
            text = f"{', '.join(in_main)} cannot be sent to workers ({error}). Put it into a file."
            raise MatchbanditError(text) from error
        roots = (*(str(root) for root, _ in own), str(Path.cwd()))
        return cls(tuple(item for _, texts in own for item in texts.items()), roots, main, _this_process())

    def install(self) -> None:
        """Make it importable in a worker, in place of what was installed there before."""
        with _lock:
            if self.process == _this_process() or _installed.get("code") == self:
                return
            roots, folder = list(self.roots), None
            if self.process[0] == _this_process()[0] and all(map(os.path.isdir, roots)):
                os.chdir(roots[-1])  # a worker may be older than this study, and its folder be gone
            else:
                folder = TemporaryDirectory(prefix="matchbandit-")  # it is removed with the next one, or at exit
                roots = [folder.name]
                for path, text in self.files:
                    file = Path(folder.name, path)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text, encoding="utf-8")
            sys.path[:] = [*roots, *(place for place in sys.path if place not in _installed.get("roots", ()))]
            tops = {path.partition("/")[0].removesuffix(".py") for path, _ in self.files}
            for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
                del sys.modules[name]
            importlib.invalidate_caches()
            for name, (part, digest) in pickle.loads(self.main).items():
                setattr(sys.modules[MAIN], name.partition(":")[2], part)
                _sent[name] = digest
            _installed.update(code=self, roots=roots, folder=folder)


_installed: dict[str, Any] = {}
"""What a worker has of the user's code: the last that was sent."""
_lock = Lock()


def _this_process() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def _code_of(part: Any) -> str:
    """Return a digest of a class or function of a script or notebook, with what it inherits there and what it calls."""
    kinds = [kind for kind in getattr(part, "__mro__", ()) if kind.__module__ == part.__module__]
    texts = []
    for name, value in [item for kind in kinds for item in sorted(vars(kind).items())] or [(part.__name__, part)]:
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(function, FunctionType) or hasattr(function, "py_func"):
            texts.append(f"{name} {fingerprint(function)}")
        elif isinstance(value, int | float | str | tuple) and not name.startswith("__"):
            texts.append(f"{name} {value!r}")
    return _digest(*texts)


def _digest(*texts: str) -> str:
    return blake2b("\0".join(texts).encode(), digest_size=16).hexdigest()
