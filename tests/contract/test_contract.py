"""What the product does is what was recorded."""

from collections.abc import Iterator
from typing import Any

import pytest

from contract import adapter
from contract.matching import differences, plain, report
from contract.records import AREAS, cases, load

RECORDS = [(area, line) for area in AREAS for line in load(area).values()]
WRONG_ON_PURPOSE = ("league errors", "league creation")
"""Cases of requests that are refused, such as for a policy that does not exist."""
OF_THE_CALL = {"delta", "epsilon"}
"""Options that a case may give for all policies at once."""


@pytest.mark.parametrize(
    ("area", "line"),
    [
        pytest.param(area, line, id=line["name"], marks=pytest.mark.xdist_group(line["group"] or line["name"]))
        for area, line in RECORDS
    ],
)
def test_behaviour_is_as_recorded(area, line):
    found = differences(line["result"], adapter.result_of(area, line["kind"], line["case"]), line["match"])
    assert not found, "\n" + report(line["name"], found)


@pytest.mark.parametrize("area", AREAS)
def test_every_case_has_a_record(area):
    known = load(area)
    listed = {case.name: case for case in cases(area)}
    assert known.keys() == listed.keys()
    for name, case in listed.items():
        assert (known[name]["kind"], known[name]["case"]) == (case.kind, plain(case.case)), name
        assert known[name]["match"] == plain(case.match), name


@pytest.mark.parametrize("area", [area for area in AREAS if area != "theory"])
def test_every_policy_has_all_of_its_options(area):
    policies = [
        (case.name, *policy)
        for case in cases(area)
        if case.name not in WRONG_ON_PURPOSE
        for policy in _policies(plain(case.case))
    ]
    assert policies
    wrong = [(case, name, sorted(options)) for case, name, options in policies if not _is_complete(name, options)]
    assert not wrong


def _is_complete(policy: str, options: set[str]) -> bool:
    expected = set(adapter.options_of(policy))
    return expected - OF_THE_CALL <= options <= expected


def _policies(data: Any) -> Iterator[tuple[str, set[str]]]:
    """Each policy of a case with the names of its options.

    It is a name with options, or a part that has its `name`, and its options as `options` or beside the name; or it is
    named by `policy`, beside `options` and perhaps `selection`.
    """
    if isinstance(data, list):
        if len(data) == 2 and isinstance(data[0], str) and isinstance(data[1], dict):
            yield data[0], set(data[1])
        for entry in data:
            yield from _policies(entry)
    if not isinstance(data, dict):
        return
    if isinstance(data.get("policy"), str) and isinstance(data.get("options"), dict):
        has_selection = "selection" in data and "selection" in adapter.options_of(data["policy"])
        yield data["policy"], {*data["options"], *(["selection"] if has_selection else [])}
    for part in [data.get("policy"), *(data.get("policies") or [])]:
        if isinstance(part, dict) and "name" in part:
            yield part["name"], set(part.get("options", part.keys() - {"name"}))
    for entry in data.values():
        yield from _policies(entry)
