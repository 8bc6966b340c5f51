"""What the commands of a league share: names, pairs, outcomes, spans of time, and scoresheets."""

import csv

import pytest

from matchbandit.cli.league.parameters import parse_duration, parse_names, parse_outcomes, parse_pair
from matchbandit.cli.league.scoresheet import read_scoresheet, write_scoresheet
from matchbandit.errors import MatchbanditError
from matchbandit.live import VOID
from matchbandit.live.records import Proposal


def nobody():
    pytest.fail("names are looked up only where a pair can be read in several ways")


def proposal(pairs, outcomes):
    return Proposal(3, pairs, [], [(1, 2)] * len(pairs), [], "2026-11-16T09:30:00.000000Z", None, outcomes)


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        (None, []),
        (["ann"], ["ann"]),
        (["ann,bob", " cem "], ["ann", "bob", "cem"]),
        (['"Dee, Jr.", eve'], ["Dee, Jr.", "eve"]),
        (["ann,,bob,"], ["ann", "bob"]),
        (["Zoë Martin, Sam O'Neil"], ["Zoë Martin", "Sam O'Neil"]),
    ],
)
def test_names_are_separated_by_commas(typed, names):
    assert parse_names(typed) == names


def test_a_plus_within_a_name_is_told_from_the_one_between():
    assert parse_pair("ann + bob", nobody) == ("ann", "bob")
    assert parse_pair("c+++java", lambda: ["c++", "java"]) == ("c++", "java")
    assert parse_pair("java+c++", lambda: ["c++", "java"]) == ("java", "c++")


@pytest.mark.parametrize(
    ("text", "names"),
    [("ann", ()), ("", ()), ("+", ()), ("ann+", ()), ("a+b+c", ("a+b", "b+c", "a", "c")), ("a+b+c", ("x",))],
)
def test_what_is_no_pair_or_more_than_one_is_refused(text, names):
    with pytest.raises(MatchbanditError, match=r"a pair is typed like ann\+bob.*got"):
        parse_pair(text, lambda: names)


def test_outcomes_are_numbers_or_void():
    read = parse_outcomes(["ann+bob=1", "cem+dee= VOID ", "a=b+c=-0.5"], nobody)
    assert read == [("ann", "bob", 1.0), ("cem", "dee", VOID), ("a=b", "c", -0.5)]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["ann+bob"], r"typed like ann\+bob=1"),
        (["ann+bob=won"], r"ann\+bob: an outcome is a number, what the pair achieved together"),
        (["ann+bob="], "an outcome is a number"),
    ],
)
def test_what_is_no_outcome_is_refused(typed, words):
    with pytest.raises(MatchbanditError, match=words):
        parse_outcomes(typed, nobody)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90m", 5400), ("12h", 43_200), ("1.5d", 129_600), ("2 W", 1_209_600), ("30s", 30)]
)
def test_durations(text, seconds):
    assert parse_duration("--deadline", text).seconds == seconds
    assert parse_duration("--deadline", "none").seconds is None


@pytest.mark.parametrize("text", ["", "3", "d", "-3d", "3y", "3d4h", "inf", "٣d"])
def test_other_durations_are_refused(text):
    with pytest.raises(MatchbanditError, match="--deadline takes a duration such as 90m"):
        parse_duration("--deadline", text)


def test_a_scoresheet_is_written_filled_in_and_read(tmp_path):
    sheet = tmp_path / "week.csv"
    write_scoresheet(proposal([("Zoë", "Dee, Jr."), ("a", "b"), ("c", "d")], {("a", "b"): VOID}), sheet)
    text = sheet.read_text(encoding="utf-8")
    assert text == 'proposal,first,second,outcome\n3,Zoë,"Dee, Jr.",\n3,a,b,void\n3,c,d,\n'
    sheet.write_text("\ufeff" + text.replace('Jr.",', 'Jr.",0.5'), encoding="utf-8")  # as spreadsheets write it
    assert read_scoresheet(sheet, 3) == [("Zoë", "Dee, Jr.", 0.5), ("a", "b", VOID)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no column 'first'. Its first line must name first, second, outcome"),
        ("first,second\na,b\n", "no column 'outcome'"),
        ("first,second,outcome\na,b,\n", "has no outcomes yet"),
        ("first,second,outcome\n\na,b,yes\n", "line 3: an outcome is a number"),
        ("first,second,outcome\na,,1\n", "line 2: a name is missing"),
        ("proposal,first,second,outcome\n4,a,b,1\n", "line 2 belongs to proposal 4, not to 3"),
        ("first,second,outcome\na,b,1\0\n", "an outcome is a number|not a CSV"),
    ],
)
def test_a_scoresheet_that_cannot_be_read_is_refused_with_its_place(tmp_path, text, words):
    sheet = tmp_path / "week.csv"
    sheet.write_text(text, encoding="utf-8")
    with pytest.raises(MatchbanditError, match=words):
        read_scoresheet(sheet, 3)


def test_a_scoresheet_that_is_no_text_or_not_there_is_refused(tmp_path):
    (tmp_path / "latin.csv").write_bytes("first,second,outcome\nZoë,b,1\n".encode("latin-1"))
    with pytest.raises(MatchbanditError, match="not a CSV file in UTF-8"):
        read_scoresheet(tmp_path / "latin.csv", 3)
    with pytest.raises(MatchbanditError, match="cannot be read: No such file"):
        read_scoresheet(tmp_path / "none.csv", 3)


def test_a_scoresheet_does_not_contradict_what_is_known(tmp_path):
    known = {("a", "b"): 0.987654321, ("c", "d"): -1e-07, ("e", "f"): 1.0}
    write_scoresheet(proposal(list(known), known), tmp_path / "week.csv")
    assert (tmp_path / "week.csv").read_text().splitlines()[1:] == ["3,a,b,0.987654321", "3,c,d,-1e-07", "3,e,f,1"]
    assert read_scoresheet(tmp_path / "week.csv", 3) == [(*pair, outcome) for pair, outcome in known.items()]


def test_a_name_in_a_scoresheet_is_never_a_formula(tmp_path):
    names = ['=HYPERLINK("http://x")', "+1", "-2+3", "@SUM(A1)", "'=quoted", "''-twice", "'plain", "O'Neil"]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    known = {pair: -0.5 for pair in pairs}
    path = tmp_path / "week.csv"
    write_scoresheet(proposal(pairs, known), path)
    with path.open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row[1:3]]
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)
    assert path.read_text().count(",-0.5\n") == 4  # a number stays one
    assert read_scoresheet(path, 3) == [(*pair, -0.5) for pair in pairs]
    path.write_text("first,second,outcome\n=1+1,-2,1\n")  # typed by hand, or its quotes removed by a spreadsheet
    assert read_scoresheet(path, 3) == [("=1+1", "-2", 1.0)]
