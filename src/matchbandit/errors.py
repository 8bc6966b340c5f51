"""Errors and warnings with messages that a user can act on."""

import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from math import inf, isfinite, nan
from numbers import Integral, Real


class MatchbanditError(ValueError):
    """A mistake that the caller can fix: the message names the thing, the value and the fix."""


def unknown(kind: str, name: object, known: Iterable[str]) -> MatchbanditError:
    """The error for a name that is not among the known ones.

    >>> print(unknown("policy", "pair-elm", ["pair-elim", "uts"]))
    unknown policy 'pair-elm'; did you mean 'pair-elim'? Known: pair-elim, uts.
    """
    names = list(known)
    by_lower_case = {each.lower(): each for each in reversed(names)}
    near = get_close_matches(str(name).lower(), by_lower_case, n=1)
    hint = f"; did you mean {by_lower_case[near[0]]!r}?" if near else "."
    choices = f"Known: {', '.join(names)}." if names else "None exist here."
    return MatchbanditError(f"unknown {kind} {str(name)!r}{hint} {choices}")


def check_int(name: str, value: object, *, minimum: int, maximum: int | None = None, hint: str = "") -> int:
    """The value as an int, or an error that says what it must be; 2e6 passes, 2.5 and True do not."""
    bounds = f"at least {minimum}" if maximum is None else f"between {minimum} and {maximum}"
    number: int | None = None
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
    elif isinstance(value, Real) and not isinstance(value, bool) and isfinite(value):
        number = int(float(value)) if float(value).is_integer() else None
    if number is not None and number >= minimum and (maximum is None or number <= maximum):
        return number
    raise MatchbanditError(f"{name} must be a whole number, {bounds}; got {value!r}. {hint}".rstrip())


def check_float(name: str, value: object) -> float:
    """The value as a float, or an error: NaN, infinity, text and True are not numbers here."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else nan
    except OverflowError:
        number = inf
    if not isfinite(number):
        raise MatchbanditError(f"{name} must be a number; got {value!r}.")
    return number


def parse_number(text: str) -> int | float | str:
    """Return the number in a text, or else the text itself.

    >>> parse_number("20"), parse_number("2e6"), parse_number("many")
    (20, 2000000.0, 'many')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside this package, and outside `abc`, which creates subclasses."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("matchbandit", "abc"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
