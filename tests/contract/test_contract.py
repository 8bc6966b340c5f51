"""What the product does is what was recorded."""

import pytest

from contract import adapter
from contract.matching import differences, plain, report
from contract.records import AREAS, cases, load

RECORDS = [(area, line) for area in AREAS for line in load(area).values()]


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
