"""Files of versions 0.1 to 0.5: one table, a row for each run, with lists in it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from matchbandit.results.about import RunInfo
from matchbandit.results.identification import Identification
from matchbandit.results.runs import Runs
from matchbandit.results.tables import eliminations_in, plays_in, splits_in

if TYPE_CHECKING:
    import pyarrow as pa


def result_of_old(table: "pa.Table", metadata: dict[str, Any]) -> Runs | Identification:
    """What such a file holds; a KeyError if it is no such file."""
    about = RunInfo.from_dict(metadata["about"])
    if "answers" in table.column_names:
        return Identification(
            about=about,
            rounds=np.array(table["rounds"].to_pylist(), dtype=np.int64),
            pairs=np.array(table["pairs"].to_pylist(), dtype=np.int64),
            identified=np.array(table["identified"].to_pylist(), dtype=np.bool_),
            correct=np.array(table["correct"].to_pylist(), dtype=np.bool_),
            answers=np.array(table["answers"].to_pylist(), dtype=np.int64),
        )
    return Runs(
        about=about,
        rounds=np.array(metadata["rounds"], dtype=np.int64),
        regret=np.array(table["regret"].to_pylist(), dtype=np.float64),
        counted=plays_in(table),
        **_events_in(table),
    )


def _events_in(table: "pa.Table") -> dict[str, Any]:
    """When runs ended, clusters split and items left; files of version 0.1 say none of it, of 0.3 not the last."""
    events: dict[str, Any] = {}
    if "ended" in table.column_names:
        events["ended"] = np.array(table["ended"].to_pylist(), dtype=np.int64)
        events["splits"] = splits_in(table)
    if "eliminations" in table.column_names:
        events["eliminations"] = eliminations_in(table)
    return events
