"""All studies of ours: a line for each."""

from matchbandit.studies import (
    comparison,
    evaluations,
    growth,
    identification,
    over_gap,
    over_mu,
    over_n,
    over_time,
    over_u1,
    practical,
    windows,
)
from matchbandit.studies.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    over_time.ENTRY,
    over_gap.ENTRY,
    over_u1.ENTRY,
    over_n.ENTRY,
    over_mu.ENTRY,
    practical.ENTRY,
    windows.ENTRY,
    growth.ENTRY,
    identification.ENTRY,
    comparison.ENTRY,
    evaluations.ENTRY,
)

BY_FIGURE: dict[str, Entry] = {figure: entry for entry in ENTRIES for figure in entry.figures}
"""The figures in the order in which they are drawn, each with the study behind it."""
BY_NAME: dict[str, tuple[str, ...]] = {entry.name: entry.figures for entry in ENTRIES}
"""The figures of each study."""
