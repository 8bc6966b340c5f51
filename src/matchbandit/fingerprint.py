"""A name for all that a compiled function was made from: what it does, what it calls, what it is called with."""

import types
from hashlib import blake2b
from typing import Any

import numpy as np
from numba.core import types as numba_types
from numba.core.dispatcher import Dispatcher
from numba.np.ufunc.dufunc import DUFunc


def is_compiled(function: object) -> bool:
    """Is it a compiled function, rather than plain Python?"""
    return isinstance(function, Dispatcher)


def fingerprint(function: Any, known: dict[Any, str] | None = None) -> str:
    """A name for all that a function does: its bytecode, and that of what it calls, with the constants in use."""
    known = {} if known is None else known
    source = getattr(function, "py_func", function)
    if id(source) not in known:
        known[id(source)] = "itself"
        parts: list[Any] = [(source.__module__, source.__qualname__)]
        named = _collect_code(source.__code__, parts)
        _collect("defaults", source.__defaults__ or (), named, parts, known)
        cells = (cell.cell_contents for cell in source.__closure__ or ())
        scope = {**source.__globals__, **dict(zip(source.__code__.co_freevars, cells, strict=True))}
        for name in sorted((named | set(source.__code__.co_freevars)) & scope.keys()):
            _collect(name, scope[name], named, parts, known)
        known[id(source)] = blake2b(repr(parts).encode(), digest_size=16).hexdigest()
    first = getattr(getattr(function, "_cache", None), "first", None)
    if first not in (None, known[id(source)]):
        raise ValueError("a constant has changed since this was compiled; what calls it gets the old one")
    return known[id(source)]


def _collect_code(code: types.CodeType, parts: list[Any]) -> set[str]:
    """Note the bytecode and all constants; the names in use."""
    plain = tuple(value for value in code.co_consts if not isinstance(value, types.CodeType))
    parts.append((code.co_code, plain, code.co_names, code.co_varnames))
    named = set(code.co_names)
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            named |= _collect_code(value, parts)
    return named


def _collect(name: str, value: Any, named: set[str], parts: list[Any], known: dict[Any, str]) -> None:
    """Note a value that a function uses: of functions and modules all that matters, of others what they are."""
    if is_compiled(value) or isinstance(value, types.FunctionType):
        parts.append((name, fingerprint(value, known)))
    elif isinstance(value, DUFunc):
        parts.append((name, fingerprint(value._dispatcher, known)))  # type: ignore[attr-defined]
    elif isinstance(value, types.ModuleType):
        parts.append((name, value.__name__))
        looked_at = id(value), frozenset(named)  # modules may hold each other
        if value.__name__.partition(".")[0] not in ("numpy", "numba", "math", "cmath") and looked_at not in known:
            known[looked_at] = value.__name__
            for inner in sorted(named & vars(value).keys()):
                _collect(inner, vars(value)[inner], named, parts, known)
    elif isinstance(value, np.ndarray):
        parts.append((name, value.dtype.descr, value.shape, value.tobytes()))
    elif isinstance(value, tuple | list):
        parts.append((name, type(value).__qualname__, getattr(value, "_fields", None), len(value)))
        for place, inner in enumerate(value):
            _collect(f"{name}[{place}]", inner, named, parts, known)
    elif isinstance(value, type):
        members = repr(getattr(value, "__members__", None))
        parts.append((name, value.__module__, value.__qualname__, getattr(value, "_fields", None), members))
    else:
        parts.append((name, repr(value)))


def typed(kind: Any) -> Any:
    """A numba type as plain data, with the full names and fields of NamedTuples: two may be called alike."""
    told: Any = str(kind)
    if isinstance(kind, tuple):
        told = tuple(map(typed, kind))
    elif isinstance(kind, numba_types.BaseTuple):
        made: Any = getattr(kind, "instance_class", tuple)
        fields = getattr(made, "_fields", None)
        told = made.__module__, made.__qualname__, fields, tuple(map(typed, kind.types))  # type: ignore[attr-defined]
    elif isinstance(kind, numba_types.StructRef):
        told = type(kind).__name__, tuple((name, typed(inner)) for name, inner in kind._fields)
    elif isinstance(kind, numba_types.Dispatcher):
        told = fingerprint(kind.dispatcher)
    elif hasattr(kind, "args") and hasattr(kind, "return_type"):
        told = typed(tuple(kind.args)), str(kind.return_type)
    return told
