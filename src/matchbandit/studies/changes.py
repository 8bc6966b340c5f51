"""What has changed between two studies, in words."""

from collections.abc import Iterator, Mapping
from typing import Any

from matchbandit.studies.points import value_text

_DEPTHS = {"checkpoints": 1, "u": 1, "v": 1, "means": 2}
"""How deep a single value is, where it is a list itself."""


def changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What `now` no longer has, or has otherwise; what is only added, and the number of runs, is not a change.

    >>> changes({"seed": 7, "problem": {"gap": [0.5, 0.6]}}, {"seed": 8, "problem": {"gap": [0.5, 0.7]}})
    ['seed was 7, is now 8', 'gap no longer has 0.6']
    """
    return list(_changes(then, now))


def _changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*then, *now]):
        before, after = then.get(name), now.get(name)
        if before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _changes(before, after)
        elif None not in (before, after) and (_is_sweep(name, before) or _is_sweep(name, after)):
            yield from _of_lists(name, _values(name, before), _values(name, after))
        elif name != "runs":
            then_text, now_text = (str(each) if name == "seed" else _typed(each) for each in (before, after))
            yield f"{name} was {then_text}, is now {now_text}"


def _of_lists(name: str, before: list[Any], after: list[Any]) -> Iterator[str]:
    gone = [each for each in before if each not in after]
    if name == "policies":
        for each in list(gone):
            now = [other for other in after if _name(other) == _name(each)]
            if len(now) == 1 and sum(_name(other) == _name(each) for other in before) == 1:
                gone.remove(each)
                yield from _of_options(_name(each), _options(each), _options(now[0]))
    elif len(before) == len(after) == 1 and all(isinstance(each, Mapping) for each in (*before, *after)):
        yield from _changes(before[0], after[0])
        return
    if gone:
        yield f"{name} no longer has {', '.join(map(_typed, gone))}"


def _of_options(policy: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What has changed of a policy that is still there."""
    for name in dict.fromkeys([*then, *now]):
        before, after = (each.get(name) for each in (then, now))
        had, has = (each if isinstance(each, list) else [each] for each in (before, after))
        gone = [each for each in had if each not in has]
        if gone and len(gone) < len(had):
            yield f"{policy}'s {name} no longer has {', '.join(map(_typed, gone))}"
        elif gone:
            yield f"{policy}'s {name} was {_typed(before)}, is now {_typed(after)}"


def _name(policy: Any) -> str:
    return str(policy["name"] if isinstance(policy, Mapping) else policy)


def _options(policy: Any) -> dict[str, Any]:
    return {key: value for key, value in policy.items() if key != "name"} if isinstance(policy, Mapping) else {}


def _is_sweep(name: str, value: Any) -> bool:
    """Is it a list of values, rather than a value that is a list?"""
    for _ in range(_DEPTHS.get(name, 0)):
        value = value[0] if isinstance(value, list) and value else None
    return isinstance(value, list)


def _values(name: str, value: Any) -> list[Any]:
    return value if _is_sweep(name, value) else [value]


def _typed(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, Mapping):
        named = [f"{key} = {_typed(each)}" for key, each in value.items() if key != "name"]
        return (
            f"{value['name']} ({', '.join(named)})"
            if "name" in value and named
            else ", ".join([str(value["name"])] if "name" in value else named)
        )
    return value_text(value)
