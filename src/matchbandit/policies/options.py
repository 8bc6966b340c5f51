"""Options of a policy: names, defaults and types come from the signature of its constructor.

An option is a keyword-only argument. Its annotation says what it may be: `bool`, `int`, `float`, `str`, a `Literal`,
one of these or None, or `Annotated` with functions that check a value and return it.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from matchbandit.confidence import check_delta, check_epsilon, check_growth
from matchbandit.errors import MatchbanditError, check_float, check_int, unknown

Check = Callable[[Any], Any]


def between(name: str, low: float, high: float, hint: str = "") -> Check:
    """A check that a number lies in [low, high]."""

    def check(value: Any) -> Any:
        if not low <= value <= high:
            raise MatchbanditError(f"{name} must lie between {low:g} and {high:g}; got {value!r}. {hint}".rstrip())
        return value

    return check


def whole_between(name: str, low: int, high: int) -> Check:
    """A check that a number is whole and lies in [low, high]."""
    return lambda value: check_int(name, value, minimum=low, maximum=high)


Delta = Annotated[float, check_delta]
"""δ, the probability of a wrong answer."""
Epsilon = Annotated[float, check_epsilon]
"""ε in [0, 1): an answer is right if it is worth at least (1 − ε) × the optimum. 0 is the same as no ε."""
Growth = Annotated[float, check_growth]
"""g, the factor by which the counts grow from check to check."""


def option_defaults(kind: type) -> dict[str, Any]:
    """The options that the constructor of a class takes, with their defaults."""
    return dict(_defaults(kind.__init__))  # type: ignore[misc]


def record_options(constructor: Callable[..., None]) -> Callable[..., None]:
    """A constructor that stores the values of its options in `self._options` before it runs.

    Constructors thus need not hand their options on to their base class. Those that a constructor passes to that of its
    base class, which declares them too, are stored as they are passed.
    """
    defaults = _defaults(constructor)
    if not defaults:
        return constructor

    @wraps(constructor)
    def recording(self: Any, *arguments: Any, **options: Any) -> None:
        values = {name: options.get(name, default) for name, default in defaults.items()}
        self._options = {**self._options, **values}
        constructor(self, *arguments, **options)

    return recording


def check_options(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, checked against their annotations; an option without one is returned as it is."""
    hints = _hints(kind)
    return {name: _check(name, value, hints.get(name)) for name, value in options.items()}


@cache
def _defaults(constructor: Callable[..., None]) -> dict[str, Any]:
    parameters = inspect.signature(constructor).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


@cache
def _hints(kind: type) -> dict[str, Any]:
    """The annotations of the options of a class and of its base classes."""
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if "__init__" in vars(base):
            try:
                hints.update(get_type_hints(base.__init__, include_extras=True))  # type: ignore[misc]
            except NameError:  # annotations that are imported for type checkers only
                continue
    return {name: hint for name, hint in hints.items() if name != "selection"}  # which depends on the capabilities


def _check(name: str, value: Any, hint: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        value = _check(name, value, arguments[0])
        for check in arguments[1:]:
            value = check(value) if callable(check) else value
        return value
    if origin in (Union, UnionType):
        choices = [argument for argument in arguments if argument is not NoneType]
        if (value is None and len(choices) < len(arguments)) or len(choices) > 1:
            return value
        return _check(name, value, choices[0])
    if origin is Literal and value not in [argument for argument in arguments if isinstance(value, type(argument))]:
        raise unknown(name, value, [str(argument) for argument in arguments])
    if hint is bool and not isinstance(value, bool):
        raise MatchbanditError(f"{name} must be true or false; got {value!r}.")
    if hint is str and not isinstance(value, str):
        raise MatchbanditError(f"{name} must be text; got {value!r}.")
    if hint in (int, float):
        number = check_float(name, value)
        if hint is float:
            return number  # an int would be another type to compiled functions, which would be compiled again
        if not number.is_integer():
            raise MatchbanditError(f"{name} must be a whole number; got {value!r}.")
    return value


def other_values(kind: type) -> Iterator[tuple[str, Any]]:
    """Options with values that are not the default: other choices, neighbouring numbers, 0.1 where the default is None.

    Values that a check refuses are left out.
    """
    hints = _hints(kind)
    for name, default in option_defaults(kind).items():
        for value in _other_values(default, hints.get(name)):
            try:
                yield name, _check(name, value, hints[name])
            except MatchbanditError:
                continue


def _other_values(default: Any, hint: Any) -> list[Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _other_values(default, arguments[0])
    if origin in (Union, UnionType):
        choices = [argument for argument in arguments if argument is not NoneType]
        return [value for choice in choices for value in _other_values(default, choice)]
    if origin is Literal:
        return [argument for argument in arguments if argument != default]
    if hint is bool:
        return [not default]
    if hint in (int, float) and default is not None:
        return [default - 1, default + 1] if hint is int else [default / 2, default * 2]
    return [0.1] if hint is float else []
