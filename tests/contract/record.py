"""Record cases anew and print what changed: `python -m contract.record [--area AREA] [PATTERN ...]`.

Without a pattern, cases that have no record yet are recorded, changed cases again, and records without a case removed.
"""

import argparse
from fnmatch import fnmatch
from typing import Any

from contract import adapter
from contract.matching import differences, plain, report
from contract.records import AREAS, Case, cases, load, save, to_line

EXACT = {"*": "exact"}
"""What is rewritten is printed, whether or not a test would see it."""


def record(area: str, patterns: list[str]) -> None:
    """Record the cases of an area whose names match a pattern, and those without a record."""
    before = load(area)
    lines = []
    for case in cases(area):
        line = to_line(case, None)
        old = before.get(case.name)
        is_same = old is not None and plain(line["case"]) == old["case"] and line["kind"] == old["kind"]
        if old is not None and is_same and not any(fnmatch(case.name, pattern) for pattern in patterns):
            lines.append({**line, "case": old["case"], "result": old["result"]})
            continue
        result = plain(adapter.result_of(area, case.kind, plain(case.case)))
        lines.append(plain(line) | {"match": line["match"], "result": result})
        print_changes(case, old, result)
    for name in before.keys() - {line["name"] for line in lines}:
        print(f"{name}: removed")
    save(area, lines)


def print_changes(case: Case, old: dict[str, Any] | None, result: Any) -> None:
    """Print what a test would see, and how much else is rewritten: within tolerances, or in places that are ignored."""
    if old is None:
        print(f"{case.name}: new")
        return
    changes = differences(old["result"], result, case.match)
    unseen = [change for change in differences(old["result"], result, EXACT) if change not in changes]
    if changes:
        print(report(case.name, changes, most=20))
    if unseen:
        print(report(f"{case.name}: {len(unseen)} that no test sees, such as", unseen[:1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="*", help="names of cases, such as 'simulate uts*'")
    parser.add_argument("--area", choices=AREAS, action="append", help="only these areas")
    options = parser.parse_args()
    for area in options.area or AREAS:
        record(area, options.patterns)


if __name__ == "__main__":
    main()
