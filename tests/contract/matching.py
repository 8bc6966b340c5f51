"""Compare a result with its record: integers and text exactly, numbers to 1e-9, unless the record says otherwise."""

import math
from collections.abc import Iterator
from typing import Any

NUMBERS = {"rtol": 1e-9, "atol": 1e-9}
RELATIVE = {"rtol": 1e-9}
"""For the rule "relative": of numbers of any size, such as 1e-13, which do not come from sums that cancel."""
DIGITS = 12
"""Recorded numbers have so many significant digits."""
Difference = tuple[str, Any, Any]
"""The place, what was recorded, and what came out."""
MISSING = "(missing)"


def plain(value: Any) -> Any:
    """Plain data for JSON: arrays as lists, keys as text, floats with 12 digits, those that are not finite as text."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key if isinstance(key, str) else repr(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{value!r} is not plain data")


def differences(recorded: Any, measured: Any, match: dict[str, Any]) -> list[Difference]:
    """All places where a result is not as recorded.

    `match` has a rule for each place that needs one, by its path without positions, such as `explain.items.low`, or by
    the beginning of that path: "exact", "ignore", "relative", or tolerances `{"rtol": …, "atol": …}` for numbers; with
    `"may_exceed": true`, more than was recorded is as good.
    """
    return list(_compare(recorded, plain(measured), match, "", ""))


def _compare(recorded: Any, measured: Any, match: dict[str, Any], path: str, place: str) -> Iterator[Difference]:
    rule = _rule(match, path)
    if rule == "ignore":
        return
    if isinstance(recorded, dict) and isinstance(measured, dict):
        for key in [*recorded, *(key for key in measured if key not in recorded)]:
            inner = f"{path}.{key}" if path else key
            where = f"{place}.{key}" if place else key
            if key not in recorded or key not in measured:
                if _rule(match, inner) != "ignore":
                    yield where, recorded.get(key, MISSING), measured.get(key, MISSING)
            else:
                yield from _compare(recorded[key], measured[key], match, inner, where)
    elif isinstance(recorded, list) and isinstance(measured, list):
        if len(recorded) != len(measured):
            yield f"{place} (length)", len(recorded), len(measured)
        for number, (one, other) in enumerate(zip(recorded, measured, strict=False)):
            yield from _compare(one, other, match, path, f"{place}[{number}]")
    elif not _equal(recorded, measured, rule):
        yield place, recorded, measured


def _rule(match: dict[str, Any], path: str) -> Any:
    """The rule of the longest beginning of this path."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        rule = match.get(".".join(parts[:length]))
        if rule is not None:
            return rule
    return match.get("*")


def _equal(recorded: Any, measured: Any, rule: Any) -> bool:
    numbers = [type(value) in (int, float) for value in (recorded, measured)]
    if not all(numbers) or rule == "exact":
        return type(recorded) is type(measured) and bool(recorded == measured)
    if not isinstance(rule, dict) and type(recorded) is int and type(measured) is int:
        return recorded == measured
    tolerance = NUMBERS if rule is None else RELATIVE if rule == "relative" else rule
    if tolerance.get("may_exceed") and measured > recorded:
        return True
    return math.isclose(recorded, measured, rel_tol=tolerance.get("rtol", 0.0), abs_tol=tolerance.get("atol", 0.0))


def report(name: str, changes: list[Difference], most: int = 5) -> str:
    """One line for each of the first differences."""
    lines = [f"{name}: at {place}: recorded {_short(old)}, now {_short(new)}" for place, old, new in changes[:most]]
    return "\n".join([*lines, *([f"{name}: {len(changes) - most} more"] if len(changes) > most else [])])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
