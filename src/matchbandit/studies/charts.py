"""The figures of any study, from its rows: typed data, drawn elsewhere."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.figures import Chart, Line
from matchbandit.policies import CATALOGUE, Policy
from matchbandit.policies.capabilities import Goal
from matchbandit.results import Rows
from matchbandit.results.comparison import task_text
from matchbandit.results.plotting import CORRECT_SHARE, answers_remark, build_chart, is_wide, policy_line
from matchbandit.studies.point import SIGNS, in_words

MOST_CHARTS = 12
OVER_TIME = 5
"""So many checkpoints make a curve over the rounds."""
OPTION_VALUES = 3
"""An option with so many values is worth an axis; fewer are lines of their own."""
MOST_TICKS = 12
ONE_COLOUR = 3
"""So many variants of a policy share its colour; more have colours of their own."""
LONGEST_WORDS = 40
_NO_PLACE = (
    "study", "policy", "options", "run", "seed", "round", "regret", "rounds", "pairs", "identified", "correct",
)  # fmt: skip
_AXES = {"horizon": "horizon T", "delta": "1/δ", "epsilon": "ε", "budget": "budget, in rounds"}
_OVER = {
    "round": "over the rounds", "horizon": "over the horizon", "delta": "over 1/δ", "epsilon": "over ε",
    "budget": "over the budget", "policy": "by policy",
}  # fmt: skip


@dataclass(frozen=True)
class _Place:
    """Rows that make one chart, along what it is drawn, and what is fixed in it but varies in the study."""

    rows: Rows
    along: str
    fixed: Mapping[str, Any]
    is_option: bool = False


@dataclass(frozen=True)
class _Variant:
    """A policy with its options, and its rows in a chart."""

    policy: str
    options: Mapping[str, Any]
    rows: Rows


def charts_of(rows: Rows, *, name: str, x: str | None = None) -> tuple[Chart, ...]:
    """The figures of a study: one line for each policy with its options, over what is swept, or else over the rounds.

    `x` is the column or the option along which to draw; by default the numeric sweep with the most values. Further
    sweeps become further charts, twelve at most. Policies that play pairs and those that play matchings have charts of
    their own, and so have those that seek them.
    """
    if not len(rows):
        raise MatchbanditError(f"the study {name} has no rows yet. Run it first.")
    columns = [column for column in rows.names if column not in _NO_PLACE]
    words = [column for column in columns if not _is_numeric(rows, column)]
    numbers = [column for column in columns if column not in words]
    if x is not None:
        x = _checked_axis(rows, x, numbers)
    places = [
        place
        for part, fixed in _split(rows, words, {})
        for asked, question in _by_question(part)
        for place in _places(asked, {**fixed, **question}, numbers, x)
    ]
    if not places:
        raise MatchbanditError(f"{x} does not vary where all else is the same. Take another x.")
    drawn = [_chart(place, name) for place in places[:MOST_CHARTS]]
    if x is None and len(drawn) < MOST_CHARTS:
        drawn += [_chart(place, name) for place in _at_one_place(places[0])]
    left_out = len(places) - MOST_CHARTS
    if left_out > 0:
        more = f" The study has {left_out} more charts, which are not drawn."
        drawn[-1] = replace(drawn[-1], caption=drawn[-1].caption + more)
    return tuple(_named_apart(drawn))


def _is_numeric(rows: Rows, column: str) -> bool:
    values = [value for value in rows.distinct(column) if value is not None]
    return bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _split(rows: Rows, columns: Sequence[str], fixed: Mapping[str, Any]) -> list[tuple[Rows, dict[str, Any]]]:
    """The rows of each combination of values in these columns, with the values where there is more than one."""
    parts: list[tuple[Rows, dict[str, Any]]] = [(rows, dict(fixed))]
    for column in columns:
        apart = []
        for part, known in parts:
            values = part.distinct(column)
            if len(values) == 1:
                apart.append((part, known))
            else:
                apart += [(part.where(**{column: value}), {**known, column: value}) for value in values]
        parts = apart
    return parts


def _by_question(rows: Rows) -> list[tuple[Rows, dict[str, Any]]]:
    """The rows of each question, and the question if there is more than one.

    Policies of which nothing is known go with the others, if those have one question.
    """
    groups: dict[str | None, list[Rows]] = {}
    for policy in rows.distinct("policy"):
        mine = rows.where(policy=policy)
        for text in mine.distinct("options"):
            question = question_in(policy, text, regret="regret" in rows.names)
            groups.setdefault(question, []).append(mine.where(options=text))
    if len([question for question in groups if question is not None]) <= 1:
        return [(rows, {})]
    return [(Rows.together(parts), {"question": question}) for question, parts in groups.items()]


def question_in(policy: str, options: str, *, regret: bool) -> str | None:
    """What a policy with these options, as they stand in rows, plays in a round, or seeks; None if nobody knows.

    >>> question_in("uts", "{}", regret=True), question_in("pair-select", "{}", regret=False)
    ('one pair per round', 'the best matching')
    """
    kind = CATALOGUE.get(policy) or _own_kinds().get(policy)
    chosen = json.loads(options).get("selection")
    if kind is not None:
        chosen = chosen or kind.capabilities.selections[0]
        chosen = chosen if regret else kind.capabilities.answers or chosen
    return None if chosen is None else task_text(chosen, regret=regret)


def _own_kinds() -> dict[str, type[Policy]]:
    """The user's own policies that are imported, by name; of several of one name the last."""
    kinds = Policy.__subclasses__()
    for kind in kinds:  # it grows while it is read
        kinds += kind.__subclasses__()
    return {kind.name: kind for kind in kinds if hasattr(kind, "name") and hasattr(kind, "capabilities")}


def _places(rows: Rows, fixed: Mapping[str, Any], numbers: Sequence[str], x: str | None) -> Iterator[_Place]:
    """The charts of rows in which only numbers vary."""
    counts = {column: len(rows.distinct(column)) for column in numbers}
    swept = [column for column, count in counts.items() if count > 1]
    options = {} if x in numbers or x == "round" else _numeric_options(rows)
    along = x
    if along is None:
        widest = max(options, key=lambda option: options[option], default=None)
        if swept:
            along = max(swept, key=lambda column: counts[column])
        elif widest is not None and options[widest] >= OPTION_VALUES:
            along = widest
        else:
            along = "round" if "round" in rows.names and len(rows.distinct("round")) > 1 else "policy"
    is_option = along in options and along not in numbers
    if x is not None and not is_option and (x not in rows.names or rows.distinct(x) == [None]):
        return  # problems of another kind have it
    rows = rows.with_option(along) if is_option else rows
    for part, known in _split(rows, [column for column in swept if column != along], fixed):
        yield _Place(part, along, known, is_option)


def _numeric_options(rows: Rows) -> dict[str, int]:
    """The options that vary and are numbers, and how many values the policy with the most has."""
    found: dict[str, int] = {}
    for policy in rows.distinct("policy"):
        tables = [json.loads(text) for text in rows.where(policy=policy).distinct("options")]
        for option in tables[0]:
            values = {json.dumps(table.get(option)) for table in tables}
            plain = [json.loads(value) for value in values]
            if len(values) > 1 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in plain):
                found[option] = max(found.get(option, 0), len(values))
    return found


def _checked_axis(rows: Rows, x: str, numbers: Sequence[str]) -> str:
    """The column or option that is meant; `pair-elim.growth` is growth."""
    option = x.rpartition(".")[2]
    known = [*(["round"] if "round" in rows.names else []), *numbers, *_numeric_options(rows)]
    if x in known or option in known:
        return x if x in known else option
    if x in rows.names:
        raise MatchbanditError(f"x is a sweep of numbers, and {x} is not one. Take one of {', '.join(known)}.")
    raise unknown("x", x, known)


def _at_one_place(place: _Place) -> Iterator[_Place]:
    """The same policies over the rounds, at the middle of what is swept, if there are checkpoints enough."""
    if place.is_option or place.along in ("round", "policy") or "round" not in place.rows.names:
        return
    values = sorted(place.rows.distinct(place.along))
    middle = values[len(values) // 2]
    rows = place.rows.where(**{place.along: middle})
    if len(rows.distinct("round")) >= OVER_TIME:
        yield _Place(rows, "round", {**place.fixed, place.along: middle})


def _chart(place: _Place, name: str) -> Chart:
    """One chart: a line for each policy with its options."""
    rows, along = place.rows, place.along
    goal: Goal = "regret" if "regret" in rows.names else "identification"
    variants = _variants(place)
    labels = _labels(variants)
    lines = [
        _line(place, variant, label, key, goal)
        for variant, label, key in zip(variants, labels, _keys(variants, labels), strict=True)
    ]
    if along == "policy":
        lines = [replace(line, x=np.array([float(at)]), kind="points") for at, line in enumerate(lines)]
    x_values = np.concatenate([line.x for line in lines])
    x_log = along in ("round", "delta") or (along != "policy" and is_wide(x_values))
    places = sorted(set(x_values.tolist()))
    column = _measured(rows)
    measured = {"regret": "regret", "rounds": "rounds until the answer", "correct": CORRECT_SHARE}[column]
    fixed = "".join(f", {_setting(key, value)}" for key, value in place.fixed.items() if value is not None)
    whose = f" of {labels[0]}" if len(labels) == 1 and along != "policy" else ""  # one line has no name beside it
    return build_chart(
        lines,
        name=re.sub(r"[^\w.-]+", "-", f"{name}-over-{along}"),
        title=f"{name}: {measured}{whose} {_OVER.get(along, f'over {along}')}{fixed}",
        x_label=_AXES.get(along, along),
        goal=goal,
        description=_description(place, variants),
        remarks=_remarks(place, variants, labels, goal),
        y_label=measured,
        y_log=False if column == "correct" else None,
        x_log=x_log,
        x_ticks=tuple(places) if along != "policy" and not x_log and len(places) <= MOST_TICKS else None,
        rows=tuple(labels) if along == "policy" else (),
    )


def _measured(rows: Rows) -> str:
    """The column that is drawn; with a fixed budget whether answers are correct, for all take equally long."""
    if "regret" in rows.names:
        return "regret"
    return "correct" if "budget" in rows.names and None not in rows.distinct("budget") else "rounds"


def _variants(place: _Place) -> list[_Variant]:
    """Every policy with its options, but for the one along which the chart is drawn."""
    found = []
    for policy in place.rows.distinct("policy"):
        mine = place.rows.where(policy=policy)
        groups: dict[str, list[Rows]] = {}
        for text in mine.distinct("options"):
            options = json.loads(text)
            if place.is_option:
                options.pop(place.along, None)
            groups.setdefault(json.dumps(options), []).append(mine.where(options=text))
        found += [
            _Variant(policy, json.loads(text), parts[0] if len(parts) == 1 else Rows.together(parts))
            for text, parts in groups.items()
        ]
    return found


def _labels(variants: Sequence[_Variant]) -> list[str]:
    """The name of each: its policy, and those options that tell it from others of that policy here."""
    labels = []
    for variant in variants:
        kin = [other.options for other in variants if other.policy == variant.policy]
        differ = [key for key in variant.options if any(other.get(key) != variant.options[key] for other in kin)]
        labels.append(", ".join([variant.policy, *(f"{key} = {in_words(variant.options[key])}" for key in differ)]))
    return labels


def _keys(variants: Sequence[_Variant], labels: Sequence[str]) -> list[str]:
    """Whose colour each takes: its policy's, as long as few share it."""
    policies = [variant.policy for variant in variants]
    pairs = zip(policies, labels, strict=True)
    return [policy if policies.count(policy) <= ONE_COLOUR else label for policy, label in pairs]


def _line(place: _Place, variant: _Variant, label: str, key: str, goal: Goal) -> Line:
    """Mean and 5–95 % of the runs of a policy."""
    rows, line = variant.rows, partial(policy_line, label, variant.policy, goal=goal, key=key)
    column = _measured(place.rows)
    curve = rows.curve(place.along, y=column)
    if not len(curve.x):  # it has no such option, or no ε: a level to compare with
        values = place.rows.curve(place.along).x.astype(np.float64)
        mean = float(rows.at_end()[column].mean())
        return line(values[[0, -1]], np.full(2, mean), kind="reference")
    x, y, low, high = curve.x, curve.mean, curve.p5, curve.p95
    if place.along == "policy":
        return line(np.zeros(1), y) if column == "correct" else line(np.zeros(1), y, low, high)
    x = x.astype(np.float64)
    if place.along == "delta":  # the smaller δ, the harder: that is to the right
        x, y, low, high = 1 / x[::-1], y[::-1], low[::-1], high[::-1]
    no_band = column == "correct" or len(place.rows.distinct("run")) == 1
    return line(x, y) if no_band else line(x, y, low, high)


def _description(place: _Place, variants: Sequence[_Variant]) -> str:
    """The instance, what is played, the runs and the seed."""
    rows, regret = place.rows, "regret" in place.rows.names
    known = [column for column in rows.names if column not in (*_NO_PLACE, place.along) and column != "rewards"]
    settings = [
        _setting(column, value)
        for column in known
        for value in rows.distinct(column)[:1]
        if value not in (None, "") and not (column == "players" and not value)
    ]
    fewest, runs = _runs_a_place(place, variants)
    counted = f"{f'{fewest} to ' if fewest < runs else ''}{runs} run{'s' if runs != 1 else ''}"
    settings.append(_setting("rewards", rows.distinct("rewards")[0]))
    questions = {
        question_in(variant.policy, text, regret=regret)
        for variant in variants
        for text in variant.rows.distinct("options")
    }
    played = [question for question in questions if question is not None and len(questions) == 1]
    return f"{'; '.join([', '.join(settings), *played])}; {counted}, seed {rows.distinct('seed')[0]}"


def _remarks(place: _Place, variants: Sequence[_Variant], labels: Sequence[str], goal: Goal) -> Iterator[str]:
    """How many answers were wrong or missing, and where other policies are."""
    if goal == "identification":
        counts = {}
        for variant, label in zip(variants, labels, strict=True):
            identified, correct = variant.rows["identified"], variant.rows["correct"]
            counts[label] = (int((identified & ~correct).sum()), int((~identified).sum()), len(correct))
        yield answers_remark(counts)
    if "question" in place.fixed:
        yield f"Policies that {'play' if goal == 'regret' else 'seek'} something else have a chart of their own."


def _runs_a_place(place: _Place, variants: Sequence[_Variant]) -> tuple[int, int]:
    """The fewest and the most runs of a policy at a place: a study that is not finished has not the same everywhere."""
    counts = []
    for variant in variants:
        ends = variant.rows.at_end()
        apart = [ends]
        if place.along not in ("round", "policy"):
            apart = [ends.where(**{place.along: value}) for value in ends.distinct(place.along)]
        counts += [len(each) for each in apart]
    return min(counts), max(counts)


def _setting(key: str, value: Any) -> str:
    """A setting in words; long lists are cut."""
    short = in_words(value, LONGEST_WORDS)
    if key == "family":
        return f"family {short}" if short else "given"
    if key == "rewards":
        return f"{short} rewards"
    if key == "question":
        return short
    return f"{SIGNS.get(key, key)} = {short}"


def _named_apart(charts: Sequence[Chart]) -> Iterator[Chart]:
    """The charts with file names of their own."""
    names = [chart.name for chart in charts]
    for at, chart in enumerate(charts):
        earlier = names[:at].count(chart.name)
        yield replace(chart, name=f"{chart.name}-{earlier + 1}") if names.count(chart.name) > 1 else chart
