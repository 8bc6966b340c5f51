"""Record cases anew and print what changed: `python -m contract.record [--area AREA] [PATTERN ...]`.

Without a pattern, cases that have no record yet are recorded, changed cases again, and records without a case removed.
"""

import argparse
from fnmatch import fnmatch

from contract import adapter
from contract.matching import differences, plain, report
from contract.records import AREAS, cases, load, save, to_line


def record(area: str, patterns: list[str]) -> None:
    """Record the cases of an area whose names match a pattern, and those without a record."""
    before = load(area)
    lines = []
    for case in cases(area):
        line = to_line(case, None)
        known = before.get(case.name)
        is_same = known is not None and plain(line["case"]) == known["case"] and line["kind"] == known["kind"]
        if known is not None and is_same and not any(fnmatch(case.name, pattern) for pattern in patterns):
            lines.append({**line, "case": known["case"], "result": known["result"]})
            continue
        result = plain(adapter.result_of(area, case.kind, plain(case.case)))
        lines.append(plain(line) | {"match": line["match"], "result": result})
        if known is None:
            print(f"{case.name}: new")
        elif changes := differences(known["result"], result, case.match):
            print(report(case.name, changes, most=20))
    for name in before.keys() - {line["name"] for line in lines}:
        print(f"{name}: removed")
    save(area, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="*", help="names of cases, such as 'simulate uts*'")
    parser.add_argument("--area", choices=AREAS, action="append", help="only these areas")
    chosen = parser.parse_args()
    for area in chosen.area or AREAS:
        record(area, chosen.patterns)


if __name__ == "__main__":
    main()
