"""Tidy rows made by hand."""

import pyarrow as pa

from matchbandit.results import Rows


def rows_by_hand(records):
    """Rows of these records; those of a regret are at the end of their run unless they say their round."""
    told = []
    for record in records:
        row = {"study": "s", "options": "{}", "seed": 0, "run": 0, **record}
        if "regret" in row:
            row = {"horizon": 100, "round": row.get("horizon", 100), **row}
        told.append(row)
    return Rows.from_table(pa.Table.from_pylist(told))
