"""Parameters that commands share, and the parsers of their values.

A parser is what typer calls with the text of an option (its form of a click `ParamType`). Each knows the name of its
parameter, so that a message says which value is wrong.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

import typer

from matchbandit.cli.completion import DRIFTS, FAMILIES, POLICIES, REWARDS, complete_from
from matchbandit.errors import MatchbanditError, check_int, parse_number, unknown

if TYPE_CHECKING:
    from matchbandit.policies import PolicySpec
    from matchbandit.problems import Family, Problem
    from matchbandit.problems.drifting import Drift as DriftBase
    from matchbandit.rewards import RewardDistribution

    Distribution = RewardDistribution
    DriftKind = DriftBase
    Spec = PolicySpec
else:  # the parsers import the classes when they are called
    Distribution = DriftKind = Spec = object

Complete = Callable[..., list[str]]
_DIGITS = re.compile("[+-]?[0-9]{1,400}")

# --- declarations ---


def optional(help_text: str, kind: dict[str, Any] | None = None, **more: Any) -> Any:
    """Declare an option without a default; `kind` says how its value is parsed."""
    return typer.Option(help=help_text, show_default=False, **(kind or {}), **more)


def argument(metavar: str, help_text: str = "", kind: dict[str, Any] | None = None, **more: Any) -> Any:
    """Declare an argument."""
    return typer.Argument(help=help_text, show_default=False, **{**(kind or {}), **more, "metavar": metavar})


# --- parsers ---


class InvalidValue(typer.BadParameter):
    """A value that a parser refused; the message already names the parameter."""

    def format_message(self) -> str:
        """Return the message as it is."""
        return self.message


def parsed_by(parse: Callable[[str], Any], metavar: str, complete: Complete | None = None) -> dict[str, Any]:
    """Return the arguments of `typer.Option` or `typer.Argument` for values that a function parses."""

    def convert(value: Any) -> Any:
        if not isinstance(value, str):  # a default
            return value
        try:
            return parse(value)
        except MatchbanditError as error:
            raise InvalidValue(str(error)) from error

    completion = {} if complete is None else {"autocompletion": complete}
    return {"parser": convert, "metavar": metavar, **completion}


def integer(name: str, *, minimum: int = 1, metavar: str = "INTEGER") -> dict[str, Any]:
    """Parse whole numbers such as 20 or 2e6."""
    return parsed_by(lambda text: parse_int(name, text, minimum=minimum), metavar)


def number(name: str, *, example: str = "0.05") -> dict[str, Any]:
    """Parse numbers such as 0.05 or 1e-3."""
    return parsed_by(lambda text: parse_float(name, text, example=example), "NUMBER")


def choice(kind: str, choices: Iterable[str]) -> dict[str, Any]:
    """Parse one of several words."""
    words = tuple(choices)

    def parse(text: str) -> str:
        if text not in words:
            raise unknown(kind, text, words)
        return text

    return parsed_by(parse, f"[{'|'.join(words)}]", complete_from(words))


def parse_float(name: str, text: str, *, example: str = "0.9") -> float:
    """Parse a number; the error names the parameter."""
    try:
        return float(text)
    except ValueError:
        raise MatchbanditError(f"{name} takes numbers such as {example}; got {text!r}.") from None


def parse_int(name: str, text: str, *, minimum: int = 1) -> int:
    """Parse a whole number such as 2e6; digits are read exactly, without the rounding of a float.

    >>> parse_int("--horizon", "2e6"), parse_int("--horizon", "9007199254740993")
    (2000000, 9007199254740993)
    """
    is_exact = _DIGITS.fullmatch(text.strip()) is not None
    return check_int(name, int(text) if is_exact else parse_float(name, text, example="20 or 2e6"), minimum=minimum)


class NumberList(tuple[float, ...]):
    """Numbers of one option, separated by commas or spaces."""

    __slots__ = ()


def split_list(text: str) -> list[str]:
    """Split at commas and spaces."""
    return text.replace(",", " ").split()


def parse_floats(name: str, text: str) -> NumberList:
    """Parse numbers that are separated by commas or spaces."""
    return NumberList(parse_float(name, part) for part in split_list(text))


def parse_ints(name: str, text: str) -> NumberList:
    """Parse whole numbers that are separated by commas or spaces."""
    return NumberList(parse_int(name, part) for part in split_list(text))


def parse_rewards(text: str) -> Distribution:
    """Parse `bernoulli`, `gaussian:SD` or `binomial:TRIALS`."""
    from matchbandit.rewards import parse_rewards as parse

    return parse(text)


def parse_drift(text: str) -> DriftKind:
    """Parse `random-walk:STEP`, `seasons:PERIOD:AMPLITUDE` or `jumps:RATE`."""
    from matchbandit.problems.drifting import parse_drift as parse

    return parse(text)


def parse_policy_name(text: str) -> str:
    """Check the name of a policy; a class of the user, `module:Class`, is checked when it is imported."""
    if ":" not in text and text not in POLICIES:
        raise unknown("policy", text, POLICIES)
    return text


def parse_policy(text: str) -> Spec:
    """Parse a policy with its options: `rank1-thompson half_life=100`."""
    from matchbandit.policies import policy

    name, *options = text.split() or [""]
    return policy(name, **merge_settings("--policy", [parse_setting("--policy", option) for option in options]))


class Setting(NamedTuple):
    """One key=value."""

    key: str
    value: Any


def parse_setting(name: str, text: str) -> Setting:
    """Parse key=value: a number, true, false, none, a list such as [[0, 1], [2, 3]], or text.

    >>> parse_setting("--option", "cap-windows=true"), parse_setting("--option", "growth=1.5").value
    (Setting(key='cap_windows', value=True), 1.5)
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise MatchbanditError(f"{name} takes key=value; got {text!r}.")
    return Setting(key.replace("-", "_"), _parse_value(value))


def _parse_value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if text.startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise MatchbanditError(f"a list is written like [[0, 1], [2, 3]]; got {text!r}.") from None
    return parse_number(text)


def merge_settings(name: str, settings: Iterable[Setting] | None) -> dict[str, Any]:
    """Return the settings of a repeated option as a dict; the same key twice is a mistake."""
    merged: dict[str, Any] = {}
    for key, value in settings or ():
        if key in merged:
            raise MatchbanditError(f"{name} {key} is given twice.")
        merged[key] = value
    return merged


_LISTS = ("--u", "--v", "--checkpoints")
_LISTS_EQUAL = tuple(f"{name}=" for name in _LISTS)


def join_list_options(argv: list[str]) -> list[str]:
    """Join the numbers that follow a list option, and repeat --over for each file.

    >>> join_list_options(["simulate", "--u", "0.9", "0.3", "--runs", "2"])
    ['simulate', '--u', '0.9,0.3', '--runs', '2']
    >>> join_list_options(["bounds", "--over", "a.parquet", "b.parquet"])
    ['bounds', '--over', 'a.parquet', '--over', 'b.parquet']
    """
    joined: list[str] = []
    for word in argv:
        in_list = bool(joined) and ((joined[-2:-1] and joined[-2] in _LISTS) or joined[-1].startswith(_LISTS_EQUAL))
        if in_list and not word.startswith("--"):
            joined[-1] += f",{word}"
        elif joined[-2:-1] == ["--over"] and not word.startswith("-"):
            joined += ["--over", word]
        else:
            joined.append(word)
    return joined


# --- shared parameters ---

EngineName = Literal["auto", "step", "jump", "loop"]
StopName = Literal["first-split"]
SelectionName = Literal["pair", "matching"]

POLICY_NAME = parsed_by(parse_policy_name, "NAME", complete_from(POLICIES))
SETTING = parsed_by(lambda text: parse_setting("--option", text), "KEY=VALUE")
PARAMETER = parsed_by(lambda text: parse_setting("--param", text), "KEY=VALUE")
REWARD_DISTRIBUTION = parsed_by(parse_rewards, "DISTRIBUTION", complete_from(REWARDS))

Seed = Annotated[int, typer.Option(help="Seed of all random numbers.", **integer("--seed", minimum=0))]
PolicyName = Annotated[
    str,
    typer.Option("--policy", help="A policy from `matchbandit policies`, or your own as module:Class.", **POLICY_NAME),
]
Option = Annotated[list[Setting] | None, typer.Option(help="An option of the policy; may be repeated.", **SETTING)]
U = Annotated[
    NumberList | None,
    typer.Option(
        help="Strengths of the rows, or of the players: 0.9,0.3,0.2 or 0.9 0.3 0.2.",
        **parsed_by(lambda text: parse_floats("--u", text), "LIST"),
    ),
]
V = Annotated[
    NumberList | None,
    typer.Option(
        help="Strengths of the columns; leave it out to pair players with each other.",
        **parsed_by(lambda text: parse_floats("--v", text), "LIST"),
    ),
]
FamilyName = Annotated[
    str | None,
    typer.Option(
        "--family",
        metavar="NAME",
        help="Instead of --u: a family of problems, with --param; or your own as module:function.",
        autocompletion=complete_from(FAMILIES),
    ),
]
Param = Annotated[list[Setting] | None, typer.Option(help="A parameter of the family; may be repeated.", **PARAMETER)]
Delta = Annotated[
    float | None,
    typer.Option(help="The error probability δ, such as 0.05; short for --option delta=….", **number("--delta")),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        help="Accept an answer worth (1 − ε) × the optimum, such as 0.05; short for --option epsilon=….",
        **number("--epsilon"),
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(help="Answer within this number of rounds, such as 1e4: sequential-halving.", **integer("--budget")),
]
Rewards = Annotated[
    Distribution | None,
    typer.Option(
        help="bernoulli (default), gaussian:SD or binomial:TRIALS.", show_default=False, **REWARD_DISTRIBUTION
    ),
]
Drift = Annotated[
    DriftKind | None,
    typer.Option(
        help="Let the strengths drift: random-walk:STEP, seasons:PERIOD:AMPLITUDE, jumps:RATE or jumps:rounds=R,…; "
        "further parameters follow as :name=value.",
        **parsed_by(parse_drift, "DRIFT", complete_from(DRIFTS)),
    ),
]
Runs = Annotated[int, typer.Option(help="Number of independent runs.", **integer("--runs"))]
Save = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Save all runs in this .parquet file, and their details beside it."),
]
Engine = Annotated[EngineName, typer.Option(help="How rounds are simulated.", **choice("engine", get_args(EngineName)))]
Workers = Annotated[
    int | None,
    typer.Option(help="Number of processes; by default one per core.", show_default=False, **integer("--workers")),
]


def make_problem(
    u: NumberList | None,
    v: NumberList | None,
    family: str | None,
    param: list[Setting] | None,
    rewards: Distribution | None,
    drift: DriftKind | None = None,
) -> "Problem | Family":
    """Build the problem that --u and --v, or --family and --param, describe; with --drift its strengths move."""
    from matchbandit.problems import Bipartite, Drifting, Monopartite
    from matchbandit.problems import family as make_family

    if drift is not None:
        start = make_problem(u, v, family, param, rewards)
        return Drifting(start, drift)  # type: ignore[arg-type]  # a problem without strengths is refused
    parameters = merge_settings("--param", param)
    if (u is None) == (family is None):
        other = "" if u is not None else " Means that are not products go into a study file (means = …) or mb.Means."
        raise MatchbanditError(f"give either --u (and --v for a bipartite problem) or --family.{other}")
    if family is not None:
        if v is not None:
            raise MatchbanditError("--v goes with --u, not with --family.")
        if "rewards" in parameters:
            raise MatchbanditError("the reward distribution is given with --rewards, not with --param.")
        return make_family(family, rewards=rewards, **parameters)
    if parameters:
        raise MatchbanditError("--param goes with --family, not with --u.")
    strengths = list(u or ())
    return Monopartite(strengths, rewards=rewards) if v is None else Bipartite(strengths, list(v), rewards=rewards)
