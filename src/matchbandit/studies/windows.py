"""How often Pair-Elim plays sub-optimal pairs, up to horizons of 10^12: the staircase of its windows."""

import json
from typing import Any

import numpy as np

from matchbandit.extras import need
from matchbandit.figures import Chart, Mark
from matchbandit.problems import family
from matchbandit.results import Rows, Runs
from matchbandit.studies.claims import FAILS, HOLDS, Claim, rounded
from matchbandit.studies.folder import StudyFolder
from matchbandit.studies.lines import caption, line_of, reference_of
from matchbandit.studies.registry import Entry
from matchbandit.studies.study import Study

HORIZONS = [10**k for k in range(4, 13)]
FIRST = 10**5
"""Growth is measured from here on: before, the first windows are not over."""
ENDS = {4: 2**16, 5: 2**32}
"""Where a window ends, in samples."""


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """One 8×8 instance of Figure 1, windows as published and with β capped at T."""
    return (
        Study(
            name="windows",
            problem=family("spiked", n=8, u1=0.9, gap=0.75).draw(seed=3),
            policies=[{"name": "pair-elim", "cap_windows": [False, True]}],
            horizon=HORIZONS,
            checkpoints=[],
            runs=runs or 20,
        ),
    )


def rows_in(folder: StudyFolder) -> Rows:
    """For each run how often it played pairs of which both items are sub-optimal, and of which one is."""
    parts = [_counted(result) for result in folder.results() if isinstance(result, Runs)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Rows.from_table(need("pyarrow", "rows of results").table(columns))


def _counted(runs: Runs) -> dict[str, Any]:
    plays, n = runs.plays, len(runs.run_numbers)  # the best row and the best column are the first
    same: dict[str, Any] = {
        "study": "windows",
        "policy": runs.about.policy,
        "options": json.dumps({"cap_windows": runs.about.options["cap_windows"]}),
        "horizon": runs.about.horizon,
        "seed": runs.about.seed,
    }
    return {
        **{name: np.repeat(value, n) for name, value in same.items()},
        "run": np.array(runs.run_numbers),
        "doubly": plays[:, 1:, 1:].sum(axis=(1, 2)),
        "singly": plays[:, 0, 1:].sum(axis=1) + plays[:, 1:, 0].sum(axis=1),
    }


def claims(rows: Rows) -> list[Claim]:
    """Claim 5: doubly sub-optimal pairs are played O(log log T) times, singly sub-optimal ones O(log T)."""
    plain = rows.with_option("cap_windows").where(cap_windows=False)
    last = max(plain.distinct("horizon"))
    logs = float(np.log(last) / np.log(FIRST))
    loglogs = float(np.log(np.log(last)) / np.log(np.log(FIRST)))
    return [
        _claim(plain, "doubly", "O(log log T)", 1.25, f"log log T itself grows × {loglogs:.2f}"),
        _claim(plain, "singly", "O(log T)", logs, "as log T grows"),
    ]


def _claim(rows: Rows, which: str, rate: str, most: float, beside: str) -> Claim:
    of = rows.curve("horizon", y=which)
    means = of.mean[of.x >= FIRST]
    return Claim(
        "windows",
        f"{rate} plays of {which} sub-optimal pairs",
        f"{rounded(means[0])} plays at T = 10⁵, {rounded(means[-1])} at 10¹², at most {rounded(means.max())} between: "
        f"× {means.max() / means[0]:.2f}",
        f"nowhere between more than × {most:.2f} ({beside})",
        HOLDS if means.max() < most * means[0] else FAILS,
    )


def charts(rows: Rows) -> tuple[Chart, ...]:
    """Plays of doubly and singly sub-optimal pairs over the horizon, the ends of windows marked."""
    with_cap = rows.with_option("cap_windows")
    lines = []
    for which in ("doubly", "singly"):
        plain, capped = (with_cap.where(cap_windows=cap).curve("horizon", y=which) for cap in (False, True))
        lines += [line_of(plain, which, which), reference_of(capped, f"{which}, capped", which)]
    return (
        Chart(
            "windows",
            "Pair-Elim: plays of sub-optimal pairs",
            "horizon T",
            "plays up to T",
            tuple(lines),
            caption(
                rows,
                "One 8×8 instance of Figure 1, Δ = 0.75",
                "Doubly: both items are sub-optimal; singly: one is. Dotted: windows whose β is capped at T.",
            ),
            x_log=True,
            marks=tuple(Mark(float(end), f"window {window} ends") for window, end in ENDS.items()),
        ),
    )


ENTRY = Entry("windows", ("windows",), studies, claims, charts, rows_in)
