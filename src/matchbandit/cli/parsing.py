"""What was typed, as numbers, settings and problems."""

import json
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError, check_int

if TYPE_CHECKING:
    from matchbandit.problems import Family, Problem
    from matchbandit.rewards import RewardDistribution

_LISTS = ("--u", "--v", "--checkpoints")
_LISTS_EQUAL = tuple(f"{name}=" for name in _LISTS)


def gathered(words: list[str]) -> list[str]:
    """`--u 0.9 0.3 0.2` as one value: the numbers that follow a list option are joined; files after --over are not.

    >>> gathered(["simulate", "--u", "0.9", "0.3", "--runs", "2"])
    ['simulate', '--u', '0.9,0.3', '--runs', '2']
    >>> gathered(["bounds", "--over", "a.parquet", "b.parquet"])
    ['bounds', '--over', 'a.parquet', '--over', 'b.parquet']
    """
    joined: list[str] = []
    for word in words:
        in_list = bool(joined) and ((joined[-2:-1] and joined[-2] in _LISTS) or joined[-1].startswith(_LISTS_EQUAL))
        if in_list and not word.startswith("--"):
            joined[-1] += f",{word}"
        elif joined[-2:-1] == ["--over"] and not word.startswith("-"):
            joined += ["--over", word]
        else:
            joined.append(word)
    return joined


def problem_of(
    u: str | None,
    v: str | None,
    family: str | None,
    parameters: dict[str, Any],
    rewards: "RewardDistribution",
    drift: str | None = None,
) -> "Problem | Family":
    """The problem that --u and --v, or --family and --param, describe; with --drift its strengths move."""
    from matchbandit.problems import Bipartite, Drifting, Monopartite
    from matchbandit.problems import family as named
    from matchbandit.problems.drifting import parse_drift

    if drift is not None:
        start = problem_of(u, v, family, parameters, rewards)
        return Drifting(start, parse_drift(drift))  # type: ignore[arg-type]  # a problem without strengths is refused
    if (u is None) == (family is None):
        both = (
            "" if u is not None else " Other means of pairs go through a study file (means = …) or Python (mb.Means)."
        )
        raise MatchbanditError(f"give either --u (and --v for a bipartite problem) or --family.{both}")
    if family is not None:
        if v is not None:
            raise MatchbanditError("--v goes with --u, not with --family.")
        if "rewards" in parameters:
            raise MatchbanditError("the reward distribution is given with --rewards, not with --param.")
        return named(family, rewards=rewards, **parameters)
    if parameters:
        raise MatchbanditError("--param goes with --family, not with --u.")
    strengths = [number("--u", part) for part in listed(u or "")]
    if v is None:
        return Monopartite(strengths, rewards=rewards)
    return Bipartite(strengths, [number("--v", part) for part in listed(v)], rewards=rewards)


def rewards_of(text: str) -> "RewardDistribution":
    """The reward distribution that `bernoulli`, `gaussian:SD` or `binomial:TRIALS` names, imported when it is typed."""
    from matchbandit.rewards import parse_rewards

    return parse_rewards(text)


def listed(text: str) -> list[str]:
    """The parts of a list, separated by commas or spaces."""
    return text.replace(",", " ").split()


def number(name: str, text: str, *, example: str = "0.9") -> float:
    """A number, or an error that names the option."""
    try:
        return float(text)
    except ValueError:
        raise MatchbanditError(f"{name} takes numbers such as {example}; got {text!r}.") from None


def number_if(name: str, text: str | None, *, example: str = "0.05") -> float | None:
    """A number, or None where nothing was typed."""
    return None if text is None else number(name, text, example=example)


def whole(name: str, text: str) -> int:
    """A whole number such as 2e6, at least 1 but for a seed; digits are read as they stand: a float would round."""
    digits = text.strip().lstrip("+-")
    exact = digits.isascii() and digits.isdecimal() and len(digits) < 400
    given = int(text) if exact else number(name, text, example="20 or 2e6")
    return check_int(name, given, minimum=0 if name == "--seed" else 1)


def whole_if(name: str, text: str | None) -> int | None:
    """A whole number, or None where nothing was typed."""
    return None if text is None else whole(name, text)


def settings(name: str, given: list[str] | None) -> dict[str, Any]:
    """key=value … as a dict; the same key twice is a mistake."""
    read: dict[str, Any] = {}
    for text in given or []:
        key, equals, value = text.partition("=")
        key = key.replace("-", "_")
        if not equals or not key:
            raise MatchbanditError(f"{name} takes key=value; got {text!r}.")
        if key in read:
            raise MatchbanditError(f"{name} {key} is given twice.")
        read[key] = _value(value)
    return read


def _value(text: str) -> Any:
    """A number, true, false, none, a list such as [[0, 1], [2, 3]], or else the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if text.startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise MatchbanditError(f"a list is written like [[0, 1], [2, 3]]; got {text!r}.") from None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
