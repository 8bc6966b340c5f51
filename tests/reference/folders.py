"""What a study has left in its folder, read without the library: the same tables whatever happened on the way."""

import re
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

NAME = re.compile(r".+-([0-9a-f]{16})-(\d{9})-(\d{9})\.parquet")


def tables_of(folder):
    """All rows and all details, each sorted by point, run and round."""
    folder = Path(folder)
    return _sorted(folder / "rows"), _sorted(folder / "details")


def _sorted(place):
    pieces = []
    for file in place.glob("*.parquet"):
        key, _, _ = NAME.fullmatch(file.name).groups()
        table = pq.read_table(file)
        pieces.append(table.append_column("key", pa.array([key] * len(table))))
    table = pa.concat_tables(pieces)
    by = [(name, "ascending") for name in ("key", "run", "round") if name in table.column_names]
    return table.sort_by(by).combine_chunks()


def leftovers(folder):
    """Files that do not belong there: temporary ones."""
    return [str(file) for file in Path(folder).rglob("*") if file.name.endswith(".tmp")]


HELD = '''
"""A policy that waits while a file is there."""
import os, time
from pathlib import Path
from matchbandit.policies.pair.pair_elim import PairElim

class Held(PairElim):
    name = "held"

    def learn(self, tally):
        hold = Path({hold!r})
        if hold.exists():
            with open(hold.parent / "who", "a") as who:
                who.write(f"{{os.getpid()}}\\n")
            while hold.exists():
                time.sleep(0.01)
        super().learn(tally)
'''


def waiting_process(folder, at_most=60):
    """The first process in which that policy waits."""
    who, end = folder / "who", time.monotonic() + at_most
    while not (who.exists() and who.read_text().endswith("\n")):
        assert time.monotonic() < end, "nobody came to wait"
        time.sleep(0.01)
    return int(who.read_text().split()[0])


def held_policy(folder, module):
    """Write a module with a policy that waits while the file `hold` is there, and writes its process into `who`."""
    hold = folder / "hold"
    hold.touch()
    (folder / f"{module}.py").write_text(HELD.format(hold=str(hold)))
    return hold
