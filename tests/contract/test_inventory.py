"""The inventory lists all that is public in 1.0.0 with its fate in 2.0, and is true of the product as it stands.

A row says `stays`; `renamed to` what stands in `as`; `gone`, because; `new`, for what 1.0.0 did not have; or `open`: to
be decided by whoever rebuilds the part, who then changes the row. Until 2.0.0, what is renamed or gone may still exist.
"""

import csv
from collections import Counter
from pathlib import Path

import pytest

from contract.surface import surface

TABLE = Path(__file__).with_name("inventory.csv")
FATES = ("stays", "renamed to", "gone", "new", "open")


def read_rows():
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


ROWS = read_rows()
LISTED = {(row["kind"], row["name"]) for row in ROWS}
NEW_NAMES = {row["as"] for row in ROWS if row["as"]}
"""Of any kind: a function may become a method."""


def test_each_row_is_complete():
    for row in ROWS:
        assert row["in 2.0"] in FATES, row
        assert (row["in 2.0"] == "renamed to") == bool(row["as"]), row
        assert row["because"] or row["in 2.0"] in ("stays", "renamed to"), row


def test_nothing_is_listed_twice():
    assert [entry for entry, times in Counter((row["kind"], row["name"]) for row in ROWS).items() if times > 1] == []


def test_everything_public_is_listed():
    missing = sorted(entry for entry in surface() - LISTED if entry[1] not in NEW_NAMES)
    assert not missing, "public, but not in inventory.csv: " + show(missing)


@pytest.mark.parametrize("fate", ["stays", "new", "open"])
def test_what_is_listed_exists(fate):
    absent = sorted((row["kind"], row["name"]) for row in ROWS if row["in 2.0"] == fate)
    absent = [entry for entry in absent if entry not in surface()]
    assert not absent, f"{fate} in inventory.csv, but does not exist: " + show(absent)


def test_what_is_renamed_exists_under_either_name():
    names = {name for _, name in surface()}
    renamed = [row for row in ROWS if row["in 2.0"] == "renamed to"]
    absent = [row for row in renamed if (row["kind"], row["name"]) not in surface() and row["as"] not in names]
    assert not absent, "exists under neither name: " + show([(row["kind"], row["name"], row["as"]) for row in absent])


def show(entries):
    lines = ["", *(" | ".join(entry) for entry in entries[:20]), *(["…"] if len(entries) > 20 else [])]
    return "\n  ".join(lines)
