"""The records on disk, and the cases that they are of."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("records")
AREAS = ("core", "decisions", "theory", "data", "studies", "leagues")
"""Each has a module `cases_…` and a file of records."""


@dataclass(frozen=True)
class Case:
    """What is done, in plain data: `kind` names the function of the adapter that takes `case`."""

    name: str
    kind: str
    case: dict[str, Any]
    match: dict[str, Any] = field(default_factory=dict)
    group: str = ""
    """Cases of a group share compiled code, so one process plays them."""


def cases(area: str) -> list[Case]:
    """All cases of an area."""
    all_cases: list[Case] = list(import_module(f"contract.cases_{area}").cases())
    names = [case.name for case in all_cases]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"names that stand for several cases: {sorted(repeated)}")
    return all_cases


def load(area: str) -> dict[str, dict[str, Any]]:
    """The records of an area by name."""
    file = FOLDER / f"{area}.jsonl"
    if not file.exists():
        return {}
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {line["name"]: line for line in lines}


def save(area: str, lines: Iterable[dict[str, Any]]) -> None:
    """Write the records of an area, one on each line."""
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    (FOLDER / f"{area}.jsonl").write_text(text, encoding="utf-8")


def to_line(case: Case, result: Any) -> dict[str, Any]:
    """A case with its result, as it stands on disk."""
    return {**asdict(case), "result": result}
