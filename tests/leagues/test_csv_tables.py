"""Records as CSV: every kind, and no cell that a spreadsheet computes."""

import csv
import io
import json
from dataclasses import fields

import pytest

from matchbandit.leagues import VOID, Store
from matchbandit.leagues.csv_tables import csv_text, quote_formula, unquote_formula

FORMULAS = ["=1+1", "+1", "-bob", "@sum", "\t=1", "＝1", "'=1", "''+2", "="]


@pytest.fixture
def club(sqlite_url):
    """A league whose names and title a spreadsheet would compute."""
    with Store(sqlite_url) as store:
        club = store.create("club", players=["=ann", "-bob", "@cem", "dee"], title="=1+1", deadline=60)
        first = club.ask()
        club.tell(first.number, {first.pairs[0]: 0.0, first.pairs[1]: VOID})
        club.exclude([("=ann", "dee")])
        club.ask()
        yield club


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    "name", ["items", "proposals", "summaries", "results", "rules", "history", "ranking", "leagues"]
)
def test_csv_text_has_every_field_of_every_record(club, name):
    records = list(club.store.leagues() if name == "leagues" else getattr(club, name)())
    rows = read(csv_text(records))
    assert len(rows) == len(records) > 0
    for field in fields(records[0]):
        assert any(column in (field.name, f"{field.name} 1") for column in rows[0])
    assert all(len(row) == len(rows[0]) and None not in row for row in rows)
    assert not any(quote_formula(cell) != cell for row in rows for cell in row.values() if cell and cell[0] != "'"
                   and not cell.lstrip("-").replace(".", "").isdigit())  # fmt: skip


def test_csv_text_of_results_reads_back(club):
    (result,) = club.results()
    (row,) = read(csv_text([result]))
    assert tuple(unquote_formula(row[f"names {k}"]) for k in (1, 2)) == result.names
    assert (row["ids 1"], row["ids 2"], row["count"], float(row["total"])) == (*map(str, result.ids), "1", 0.0)


def test_csv_text_of_proposals_and_changes_can_be_read_by_people(club):
    proposal, *_ = club.proposals()
    (row, *_) = read(csv_text([proposal]))
    assert unquote_formula(row["pairs"]) == " | ".join(" + ".join(pair.names) for pair in proposal.pairs)
    change = list(club.history())[1]
    assert json.loads(read(csv_text([change]))[0]["data"]) == change.data


def test_csv_text_writes_missing_void_and_pairs():
    rows = [{"pair": ("ann", "bob"), "outcome": outcome, "open": outcome is None} for outcome in (None, VOID, 0.5)]
    expected = "pair 1,pair 2,outcome,open\nann,bob,,true\nann,bob,void,false\nann,bob,0.5,false\n"
    assert csv_text(rows) == expected
    assert csv_text([]) == ""


@pytest.mark.parametrize("text", FORMULAS)
def test_quote_formula_is_undone_by_unquote_formula(text):
    assert quote_formula(text) == f"'{text}"
    assert unquote_formula(quote_formula(text)) == text


@pytest.mark.parametrize("text", ["ann", "'ann", "", "1-2", "a=b"])
def test_quote_formula_leaves_other_texts(text):
    assert quote_formula(text) == unquote_formula(text) == text
