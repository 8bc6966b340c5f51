"""Records as CSV, with text cells that no spreadsheet takes for a formula."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from matchbandit.formatting import float_text
from matchbandit.leagues.records import VOID, Pair

_FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")
"""How a text begins that a spreadsheet would compute, or that was quoted."""


def quote_formula(text: str) -> str:
    """The text with an apostrophe in front if a spreadsheet would compute it; `unquote_formula` is the inverse.

    >>> quote_formula("=1+1"), quote_formula("ann"), unquote_formula("'=1+1")
    ("'=1+1", 'ann', '=1+1')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unquote_formula(cell: str) -> str:
    """Inverse of `quote_formula`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_text(records: Sequence[Any]) -> str:
    """Dataclasses or mappings of one kind as CSV, a column for each field; the names and ids of a pair get two.

    >>> print(csv_text([{"pair": ["ann", "-bob"], "count": 2, "mean": 0.5}]), end="")
    pair 1,pair 2,count,mean
    ann,'-bob,2,0.5
    """
    rows = [list(_cells(record)) for record in records]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if rows:
        writer.writerow(name for name, _ in rows[0])
    writer.writerows([cell for _, cell in row] for row in rows)
    return file.getvalue()


def _cells(record: Any) -> Iterable[tuple[str, Any]]:
    for name, value in (record if isinstance(record, Mapping) else vars(record)).items():
        if name in ("pair", "ids", "names") and isinstance(value, Sequence) and len(value) == 2:
            yield f"{name} 1", _cell(value[0])
            yield f"{name} 2", _cell(value[1])
        else:
            yield name, _cell(value)


_WORDS = {None: "", VOID: "void", True: "true", False: "false"}


def _cell(value: Any) -> Any:
    if value is None or value is VOID or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, int):
        return value
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False, default=asdict)
    if isinstance(value, list | tuple):
        parts = (" + ".join(each.names) if isinstance(each, Pair) else str(each) for each in value)
        return quote_formula(" | ".join(parts))
    return quote_formula(str(value))
