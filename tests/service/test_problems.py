"""Refusals: each with a code, a status and words of ours; bodies that are no JSON."""

import json

import pytest
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError

from matchbandit.live.errors import CODES
from matchbandit.service import bodies, problems
from matchbandit.service.json_bodies import parse
from matchbandit.service.problems import ApiError


def test_every_code_has_a_status_and_a_title():
    assert not set(CODES) & set(problems.OWN_CODES)
    assert set(problems.TITLES) == set(problems.STATUSES)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "line 1, column 2"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b"[-Infinity]", "-Infinity is not a number"),
        (b"\xff", "UTF-8"),
        (b'"\\ud800"', "surrogate"),
        (b'{"\\uDfff": 1}', "surrogate"),
        (b"9" * 5000, "thousands of digits"),
        (b"[" * 100_000, "nested"),
        (b"", "line 1"),
    ],
)
def test_what_is_no_json_is_refused(body, words):
    with pytest.raises(ApiError) as refusal:
        parse(body)
    assert (refusal.value.status_code, refusal.value.code) == (400, "bad-json")
    assert words in refusal.value.detail


def test_what_is_json_is_read():
    assert parse(b'["\\ud83d\\ude00", "\\\\ud800", 1e400, 0.5]') == ["\U0001f600", "\\ud800", float("inf"), 0.5]


def mistakes(model, value):
    with pytest.raises(ValidationError) as wrong:
        TypeAdapter(model).validate_python(value)
    found = [{**one, "loc": ("body", *one["loc"])} for one in wrong.value.errors()]
    answer = problems.bad_request(RequestValidationError(found))
    return answer.message, answer.mistakes


@pytest.mark.parametrize(
    ("model", "value", "words"),
    [
        (bodies.Join, {}, "names is missing."),
        (bodies.Join, {"names": ["ann"], "nmes": 1}, "nmes is not known here; got 1."),
        (bodies.Join, {"names": [1]}, "names[0] must be a text; got 1."),
        (bodies.Join, {"names": [""]}, 'names[0] must have at least 1 characters; got "".'),
        (bodies.Join, {"names": []}, "names must have at least 1 entries; got []."),
        (bodies.Join, [], "the body must be an object; got []."),
        (bodies.Outcomes, {"outcomes": [{"pair": ["a"], "reward": 1}]},
         'outcomes[0].pair must have at least 2 entries; got ["a"].'),
        (bodies.Outcomes, {"outcomes": [{"pair": ["a", "b"], "reward": "x"}]},
         'outcomes[0].reward must be a number or "void"; got "x".'),
        (bodies.Outcomes, {"outcomes": [{"pair": ["a", "b"], "reward": True}]},
         'outcomes[0].reward must be a number or "void"; got true.'),
        (bodies.Outcomes, {"outcomes": [{"pair": ["a", "b"], "reward": float("inf")}]},
         'outcomes[0].reward must be a number or "void"; got Infinity.'),
        (bodies.Outcomes, {"outcomes": [{"pair": ["a", 0], "reward": 1}]},
         "outcomes[0].pair[1] must be a name of 1 to 200 characters, or an id; got 0."),
        (bodies.NewLeague, {"slug": "A b"},
         'slug must have 1 to 64 lower-case letters, digits and hyphens; got "A b".'),
        (bodies.NewLeague, {"slug": "a", "selection": "both"},
         "selection must be one of 'pair' or 'matching'; got \"both\"."),
        (bodies.NewLeague, {"slug": "a", "deadline": 0}, "deadline must be more than 0; got 0."),
    ],
)  # fmt: skip
def test_mistakes_of_form_are_told_in_our_words(model, value, words):
    assert mistakes(model, value)[0] == words


def test_long_values_are_cut_and_many_mistakes_counted():
    words, told = mistakes(bodies.Join, {"names": [["x" * 1000]] * 50})
    assert len(words) < 300
    assert "There are 49 more mistakes." in words
    assert len(told) == 20
    assert json.dumps(told)
    assert mistakes(bodies.Join, {"names": [1, 2]})[0].endswith("There is one more mistake.")
