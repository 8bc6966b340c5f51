"""Identify compiled code: hash everything that a compiled function was made from."""

import types
from hashlib import blake2b
from typing import Any

import numpy as np
from numba import types as numba_types
from numba.extending import is_jitted


def is_compiled(function: Any) -> bool:
    """Is it a compiled function, rather than plain Python?"""
    return bool(is_jitted(function))


def fingerprint(function: Any, cache: dict[Any, str] | None = None) -> str:
    """Hash all that a function does: its bytecode, and that of what it calls, with the constants in use."""
    cache = {} if cache is None else cache
    source = getattr(function, "py_func", function)
    if id(source) not in cache:
        cache[id(source)] = "itself"
        parts: list[Any] = [(source.__module__, source.__qualname__)]
        names = _collect_code(source.__code__, parts)
        _collect("defaults", source.__defaults__ or (), names, parts, cache)
        cells = (cell.cell_contents for cell in source.__closure__ or ())
        scope = {**source.__globals__, **dict(zip(source.__code__.co_freevars, cells, strict=True))}
        for name in sorted((names | set(source.__code__.co_freevars)) & scope.keys()):
            _collect(name, scope[name], names, parts, cache)
        cache[id(source)] = blake2b(repr(parts).encode(), digest_size=16).hexdigest()
    first = getattr(getattr(function, "_cache", None), "first_fingerprint", None)
    if first not in (None, cache[id(source)]):
        raise ValueError("a constant has changed since this was compiled; its callers get the old one")
    return cache[id(source)]


def _collect_code(code: types.CodeType, parts: list[Any]) -> set[str]:
    """Append the bytecode and all constants; return the names in use."""
    constants = tuple(value for value in code.co_consts if not isinstance(value, types.CodeType))
    parts.append((code.co_code, constants, code.co_names, code.co_varnames))
    names = set(code.co_names)
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            names |= _collect_code(value, parts)
    return names


def _collect(name: str, value: Any, names: set[str], parts: list[Any], cache: dict[Any, str]) -> None:
    """Append a value that a function uses: functions and modules with all that matters, others as they print."""
    if is_compiled(value) or isinstance(value, types.FunctionType):
        parts.append((name, fingerprint(value, cache)))
    elif hasattr(getattr(value, "_dispatcher", None), "py_func"):  # made by numba.vectorize
        parts.append((name, fingerprint(value._dispatcher, cache)))
    elif isinstance(value, types.ModuleType):
        parts.append((name, value.__name__))
        visit = id(value), frozenset(names)  # modules may hold each other
        if value.__name__.partition(".")[0] not in ("numpy", "numba", "math", "cmath") and visit not in cache:
            cache[visit] = value.__name__
            for inner in sorted(names & vars(value).keys()):
                _collect(inner, vars(value)[inner], names, parts, cache)
    elif isinstance(value, np.ndarray):
        parts.append((name, value.dtype.descr, value.shape, value.tobytes()))
    elif isinstance(value, tuple | list):
        parts.append((name, type(value).__qualname__, getattr(value, "_fields", None), len(value)))
        for place, inner in enumerate(value):
            _collect(f"{name}[{place}]", inner, names, parts, cache)
    elif isinstance(value, type):
        members = repr(getattr(value, "__members__", None))
        parts.append((name, value.__module__, value.__qualname__, getattr(value, "_fields", None), members))
    else:
        parts.append((name, repr(value)))


def describe_type(kind: Any) -> Any:
    """A numba type as plain data, with the full names and fields of NamedTuples: two may have the same name."""
    if isinstance(kind, tuple):
        return tuple(map(describe_type, kind))
    if isinstance(kind, numba_types.BaseTuple):
        made_by: Any = getattr(kind, "instance_class", tuple)
        fields = getattr(made_by, "_fields", None)
        inner = tuple(map(describe_type, kind.types))  # type: ignore[attr-defined]
        return made_by.__module__, made_by.__qualname__, fields, inner
    if isinstance(kind, numba_types.StructRef):
        return type(kind).__name__, tuple((name, describe_type(inner)) for name, inner in kind._fields)
    if isinstance(kind, numba_types.Dispatcher):
        return fingerprint(kind.dispatcher)
    if hasattr(kind, "args") and hasattr(kind, "return_type"):
        return describe_type(tuple(kind.args)), str(kind.return_type)
    return str(kind)
