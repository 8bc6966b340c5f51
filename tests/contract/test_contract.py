"""What the product does is what was recorded."""

from collections.abc import Iterator
from typing import Any

import pytest

from contract import adapter
from contract.matching import differences, plain, report
from contract.records import AREAS, cases, load

RECORDS = [(area, line) for area in AREAS for line in load(area).values()]
AREAS_THAT_SPELL_OPTIONS_OUT = ("core",)


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


@pytest.mark.parametrize("area", AREAS_THAT_SPELL_OPTIONS_OUT)
def test_every_policy_has_all_of_its_options(area):
    policies = [(case.name, *policy) for case in cases(area) for policy in _policies(plain(case.case))]
    assert policies
    wrong = {
        f"{case}: {name}": sorted(options ^ set(adapter.options_of(name)))
        for case, name, options in policies
        if options != set(adapter.options_of(name))
    }
    assert not wrong


def _policies(data: Any) -> Iterator[tuple[str, set[str]]]:
    """Each policy of a case with the names of its options.

    It is named by `policy`, beside `options` and perhaps `selection`; or it is a part of its own that has its `name`,
    as `policy` or in `policies`, and its options as `options` or beside the name.
    """
    if isinstance(data, list):
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
