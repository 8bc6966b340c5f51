"""Where one value is expected, a list is a sweep: how deep a value is, and all combinations of what is swept."""

import collections.abc
import types
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.errors import MatchbanditError

Path = tuple[str | int, ...]
"""Where something stands in a study: `("problem", "gap")`, `("policies", 1, "growth")`."""
MOST_POINTS = 20_000
_SEQUENCES = (list, tuple, set, frozenset, np.ndarray, collections.abc.Sequence, collections.abc.Iterable)


class MisplacedError(MatchbanditError):
    """What is wrong in a study, and where it stands: a file can then name the line."""

    def __init__(self, message: str, *path: str | int) -> None:
        """The message, and the way to the setting."""
        super().__init__(message)
        self.path: Path = path


def nesting(value: Any) -> int:
    """How many lists lie inside each other.

    >>> nesting(0.5), nesting([0.5]), nesting([[0, 1], [2]])
    (0, 1, 2)
    """
    return 1 + max(map(nesting, value), default=0) if isinstance(value, list) else 0


def values_of(name: str, value: Any, depth: int, path: Path) -> list[Any]:
    """The values of a setting: one, or those of its sweep. A list nested deeper than the setting is one.

    >>> values_of("gap", [0.5, 0.6], 0, ()), values_of("u", [0.9, 0.3], 1, ())
    ([0.5, 0.6], [[0.9, 0.3]])
    """
    if nesting(value) <= depth:
        return [value]
    if not value:
        raise MisplacedError(f"{name} is swept over an empty list. Give it one value at least.", *path)
    if nesting(value) > depth + 1:
        raise MisplacedError(f"{name} is nested too deeply: a sweep is a list of values; got {value!r}.", *path)
    return list(value)


def combinations(swept: Mapping[str, Sequence[Any]], path: Path) -> list[dict[str, Any]]:
    """All combinations of the values, the last setting first to change.

    >>> combinations({"n": [2, 3], "gap": [0.1]}, ())
    [{'n': 2, 'gap': 0.1}, {'n': 3, 'gap': 0.1}]
    """
    refuse_too_many(prod(map(len, swept.values())), path)
    return [dict(zip(swept, values, strict=True)) for values in product(*swept.values())]


def refuse_too_many(points: int, path: Path) -> None:
    """Refuse a study that nobody could look through."""
    if points > MOST_POINTS:
        raise MisplacedError(
            f"the sweeps make {points} points, and a study has {MOST_POINTS} at most. Sweep less.", *path
        )


def annotations_of(function: Any) -> dict[str, Any]:
    """The annotations of a function as types; those that cannot be resolved are left out."""
    try:
        return get_type_hints(function)
    except Exception:  # an annotation is the user's own text, and may name what is not there
        given = getattr(function, "__annotations__", {})
        return {key: kind for key, kind in given.items() if not isinstance(kind, str)}


def depth_of(annotation: Any, default: Any = None) -> int:
    """How deep the values of a parameter are, by its annotation, or else by its default.

    >>> depth_of(float | None), depth_of(Sequence[int]), depth_of(Sequence[Sequence[int]] | None)
    (0, 1, 2)
    >>> depth_of(None, (0, 1))
    1
    """
    if annotation is None or annotation is Any:
        return nesting(plain_lists(default))
    if annotation is ArrayLike:
        return 1
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return max(map(depth_of, (kind for kind in get_args(annotation) if kind is not type(None))), default=0)
    if annotation in _SEQUENCES or origin in _SEQUENCES:
        inner = () if origin is np.ndarray else [kind for kind in get_args(annotation) if kind is not Ellipsis]
        return 1 + max(map(depth_of, inner), default=0)
    return 0


def as_annotated(value: Any, annotation: Any) -> Any:
    """The value with its numbers as the annotation has them: 8.0 is 8 where whole numbers are, 4 is 4.0 elsewhere.

    >>> as_annotated(8.0, int), as_annotated(4, float), as_annotated([1.0, 2], Sequence[int]), as_annotated(2.5, int)
    (8, 4.0, [1, 2], 2.5)
    """
    kinds = _leaves(annotation)
    if isinstance(value, list):
        return [as_annotated(each, annotation) for each in value]
    if isinstance(value, float) and int in kinds and float not in kinds and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and float in kinds and abs(value) < 2**53:
        return float(value)
    return value


def plain_lists(value: Any) -> Any:
    """The value with its tuples and arrays as lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [plain_lists(each) for each in value] if isinstance(value, list | tuple | range) else value


def _leaves(annotation: Any) -> set[Any]:
    """The types of the single values in an annotation."""
    inner = [kind for kind in get_args(annotation) if kind is not Ellipsis]
    return set().union(*map(_leaves, inner)) if inner else {annotation}
