"""`matchbandit league …`: a course of pairs from its first day on, what each command prints, and what it refuses."""

import csv
import inspect
import io
import json
import re
import sys

import pytest

from matchbandit import numba_cache, progress
from matchbandit.cli.league import VERBS
from matchbandit.lab.replay.run import MIN_TRUTHS, REPEATS
from matchbandit.leagues import Store, proposals

FOUR = ("ann", "bob", "cem", "dee")


@pytest.fixture
def league(run, monkeypatch):
    """Run `matchbandit league …`; gives exit code, stdout and stderr."""
    monkeypatch.setattr(progress, "FIRST_LINE_S", 1e9)  # however slow the machine, no line of progress,
    monkeypatch.setattr(numba_cache, "NOTICE_AFTER_S", 1e6)  # nor one that code is being compiled
    return lambda *words: run("league", *words)


@pytest.fixture
def say(league):
    """Run a command that works; gives its output, decoded with --json."""

    def typed(*words):
        code, out, err = league(*words)
        assert (code, err) == (0, ""), (words, err)
        return json.loads(out) if "--json" in words else out

    return typed


@pytest.fixture
def refused(league):
    """Run a command that is refused; gives the one line that says why."""

    def typed(*words):
        code, out, err = league(*words)
        assert (code, out) == (2, ""), words
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        return err

    return typed


@pytest.fixture
def course(say):
    """A league of four."""
    say("new", "course", *FOUR, "--seed", "1")
    return "course"


def pairs_of(proposal):
    return ["+".join(pair["names"]) for pair in proposal["pairs"]]


# --- ask and tell ---


def test_a_course_from_its_first_day_on(say):
    founded = say("new", "course", *FOUR, "--seed", "1")
    assert founded.startswith("course: 4 players\n")
    assert founded.endswith("Next: matchbandit league ask course\n")
    asked = say("ask", "course", "--json")
    assert (asked["number"], asked["waiting"], len(asked["pairs"]), asked["expected"]) == (1, 2, 2, None)
    first, second = pairs_of(asked)
    shown = say("show", "course", "--proposal", "1")
    lines = [f"  {pair.replace('+', ' + ')}" for pair in (first, second)]
    assert shown.splitlines() == ["proposal 1", *lines, "  expected in all: no data yet"]

    assert say("tell", "course", "1", f"{first}=1") == "proposal 1: 1 outcome recorded; waiting for 1 pair\n"
    text = say("tell", "course", "1", f"{first}=1", "{1}+{0}=void".format(*second.split("+")))
    assert text == "proposal 1: 1 outcome recorded, 1 known already; all outcomes recorded\n"
    outcomes = [pair["outcome"] for pair in say("show", "course", "--proposal", "1", "--json")["pairs"]]
    assert outcomes == [1.0, "void"]
    assert f"{first.replace('+', ' + ')} = 1" in say("show", "course", "--proposal", "1")

    assert say("tell", "course", "1", f"{first}=0", "--correct", "--json")[0]["recorded"] == 1
    ranking = say("ranking", "course", "--json")
    assert ranking["warning"] is None
    assert [(row["name"], row["rank"]) for row in ranking["rows"]][:2] == [(name, 1) for name in first.split("+")]
    assert [row["rank"] for row in ranking["rows"]][2:] == [None, None]  # void is not a result
    asked = say("ask", "course")
    assert re.search(r"expected in all: \d\.\d\d \(90 % \d\.\d\d–\d\.\d\d\)", asked)


def test_tell_void_records_the_pairs_or_all_that_are_open(say, refused, course):
    for _ in range(2):
        say("ask", course)
    (receipt,) = say("tell", course, "1", "--void", "--json")
    assert receipt == {"proposal": 1, "recorded": 2, "repeated": 0, "waiting": 0}
    pair = pairs_of(say("show", course, "--proposal", "2", "--json"))[0]
    assert say("tell", course, "2", "--void", pair, "--json")[0]["waiting"] == 1
    assert "--void goes with a proposal and pairs" in refused("tell", course, "2", "--void", "--correct")


def test_ask_with_a_key_returns_the_same_proposal(say, course):
    assert say("ask", course, "--key", "monday") == say("ask", course, "--key", "monday")
    assert say("ask", course, "--key", "tuesday", "--json")["number"] == 2


def test_ask_pairs_those_who_are_available(say, refused, course):
    say("join", course, "eve")
    assert "ann" not in json.dumps(say("ask", course, "--absent", "ann", "--json")["pairs"])
    assert pairs_of(say("ask", course, "--available", "ann, bob", "--json")) == ["ann+bob"]
    asked = say("ask", course, "--fix", "dee+ann", "--json")
    assert [pair["names"] for pair in asked["pairs"] if pair["fixed"]] == [["ann", "dee"]]
    assert "unknown item 'zoe'" in refused("ask", course, "--absent", "zoe")
    assert "not both" in refused("ask", course, "--absent", "ann", "--available", "bob,cem")


def test_tell_reads_a_scoresheet_of_several_proposals(say, refused, course, tmp_path):
    for number in ("1", "2"):
        say("ask", course, "--sheet", f"{number}.csv")
    first, second = ((tmp_path / f"{number}.csv").read_text().splitlines() for number in ("1", "2"))
    assert "has no outcomes yet" in refused("tell", course, "1", "--sheet", "1.csv")
    sheet = tmp_path / "week.csv"
    sheet.write_text("\n".join([*(line + "1" for line in first[1:]), second[1] + "void"]))
    assert "no column 'first'" in refused("tell", course, "--sheet", "week.csv")
    sheet.write_text(f"{first[0]}\n{sheet.read_text()}\n", encoding="utf-8-sig")  # as spreadsheets write it
    receipts = say("tell", course, "--sheet", "week.csv", "--json")
    assert [(each["proposal"], each["recorded"], each["waiting"]) for each in receipts] == [(1, 2, 0), (2, 1, 1)]
    assert "belongs to proposal 1, not to 2" in refused("tell", course, "2", "--sheet", "week.csv")
    sheet.write_text(sheet.read_text(encoding="utf-8-sig").replace(",1\n", ",0\n"))
    assert [each["recorded"] for each in say("tell", course, "--correct", "--sheet", "week.csv", "--json")] == [2, 0]
    sheet.write_text("first,second,outcome\n" + second[2].partition(",")[2] + "0\n")
    assert "'proposal' must be its number; got ''" in refused("tell", course, "--sheet", "week.csv")
    assert say("tell", course, "2", "--sheet", "week.csv", "--json")[0]["waiting"] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no column 'first'. Its first line must name first, second, outcome"),
        ("first,second\na,b\n", "no column 'outcome'"),
        ("first,second,outcome\na,b,\n", "has no outcomes yet"),
        ("first,second,outcome\n\na,b,yes\n", "line 3: an outcome is a number"),
        ("first,second,outcome\na,,1\n", "line 2: a name is missing"),
        ("proposal,first,second,outcome\n4,a,b,1\n", "line 2 belongs to proposal 4, not to 1"),
        ("first,second,outcome\nZo\udcff,b,1\n", "not a CSV file in UTF-8"),
    ],
)
def test_tell_refuses_a_scoresheet_with_its_place(refused, course, tmp_path, text, message):
    (tmp_path / "week.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert message in refused("tell", course, "1", "--sheet", "week.csv")


def test_a_scoresheet_contains_no_formulas(say, tmp_path):
    names = ['=HYPERLINK("http://x")', "+1", "-2-3", "@SUM(A1)", "Dee, Jr.", "O'Neil"]
    say("new", "odd", "--rewards", "gaussian:1", "--", *names)
    say("ask", "odd", "--sheet", "week.csv")
    sheet = tmp_path / "week.csv"
    rows = list(csv.reader(io.StringIO(sheet.read_text())))
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    sheet.write_text(
        "".join(f"{line}-0.5\n" if line[0] == "1" else f"{line}\n" for line in sheet.read_text().splitlines())
    )
    assert say("tell", "odd", "1", "--sheet", "week.csv", "--json")[0]["recorded"] == 3


def test_ask_refuses_a_sheet_that_cannot_be_written_before_it_proposes(say, refused, course):
    assert "no such folder" in refused("ask", course, "--sheet", "nowhere/week.csv")
    assert "it is a folder" in refused("ask", course, "--sheet", ".")
    assert say("show", course, "--json")["proposals"] == 0


# --- lists and explanations ---


def test_show_prints_each_list_as_a_table_json_and_csv(say, course):
    first = pairs_of(say("ask", course, "--json"))[0]
    say("tell", course, "1", f"{first}=1")
    say("ask", course)
    heads = {"items": "byes", "proposals": "outcome", "results": "mean", "progress": "reward", "history": "sentence"}
    for name, head in heads.items():
        assert head in say("show", course, f"--{name}").splitlines()[0]
        records = say("show", course, f"--{name}", "--json")
        rows = list(csv.DictReader(io.StringIO(say("show", course, f"--{name}", "--csv"))))
        assert len(rows) == len(records) * (2 if name == "proposals" else 1)
    assert records[-2]["action"] == "tell"  # the history
    assert records[-2]["data"]["outcomes"] == [[*say("show", course, "--results", "--json")[0]["ids"], 1.0]]
    assert "waiting for" in say("show", course)


def test_show_lists_the_newest_and_those_of_a_time(say, refused, course, monkeypatch):
    monkeypatch.setattr(proposals, "MAX_PAIRS", 1)  # as in a league of thousands: pages are shorter
    for _ in range(3):
        say("ask", course)
    assert [each["number"] for each in say("show", course, "--proposals", "--limit", "2", "--json")] == [1, 2]
    newest = say("show", course, "--progress", "--newest", "--limit", "2", "--json")
    assert [each["number"] for each in newest] == [3, 2]
    assert len(say("show", course, "--proposals", "--limit", "1", "--json")) == 1
    assert say("show", course, "--history", "--until", "2000-01-01") == "no history yet.\n"
    assert len(say("show", course, "--history", "--since", "2000-01-01T12:00", "--json")) == 5
    assert "2026" in refused("show", course, "--history", "--since", "soon")
    assert "go with a list" in refused("show", course, "--newest")
    assert "--newest, --since and --until go with" in refused("show", course, "--items", "--newest")
    assert "one list at a time" in refused("show", course, "--items", "--history")
    assert "one list at a time" in refused("show", course, "--proposal", "1", "--history")


def test_why_explains_items_pairs_proposals_and_the_league(say, refused, course):
    first, second = pairs_of(say("ask", course, "--json"))
    say("tell", course, "1", f"{first}=1", f"{second}=0")
    a, b = first.split("+")
    assert say("why", course, a).startswith(f"{a} has a strength")
    pair = say("why", course, first)
    assert "expected to achieve" in pair
    assert say("why", course, a, b) == pair == say("why", course, f"{a} + {b}")
    assert say("why", course, "1") == say("why", course, "--proposal", "1")
    assert say("why", course, "1").startswith("Proposal 1 ")
    assert "Too few pairs have met" in say("why", course)
    assert set(say("why", course, "--json")) == {"sentence", "numbers", "warning"}
    assert "did you mean 'ann'?" in refused("why", course, "bob", "annn")
    assert "one at a time" in refused("why", course, "ann", "--proposal", "1")
    assert "there is no proposal 9" in refused("why", course, "9")


def test_why_takes_names_of_several_words_and_numbers_for_names(say, refused):
    say("new", "teams", "team A", "team B", "c++", "2")
    for words in (["team A", "team B"], ["team", "A", "team", "B"], ["team A+team B"]):
        assert say("why", "teams", *words, "--json")["numbers"]["names"] == ["team A", "team B"]
    assert say("why", "teams", "c+++2", "--json")["numbers"]["names"] == ["c++", "2"]
    for words, name in ((["team", "A"], "team A"), (["2"], "2")):  # a name goes before the number of a proposal
        assert say("why", "teams", *words, "--json")["numbers"]["name"] == name
    message = refused("why", "teams", "team", "C", "team", "B")
    assert "'team C team B' is no item, pair or proposal of teams." in message
    assert 'matchbandit league why teams "team A" "team B"' in message


def rejected(name):
    """A league whose results no product of strengths explains: ann and bob, cem and dee do well only together."""
    rows = [("ann", "bob", 40, 40), ("cem", "dee", 40, 40), ("ann", "cem", 40, 0), ("ann", "dee", 40, 0)]
    with Store("sqlite:///matchbandit.db") as store:
        store.create(name, players=FOUR, past=[*rows, ("bob", "cem", 40, 0), ("bob", "dee", 40, 0)]).ask()


def test_a_rejected_model_is_said_first_and_in_json(say, league):
    rejected("odd")
    for words in (
        ["show", "odd"],
        ["ask", "odd"],
        ["why", "odd", "ann"],
        ["why", "odd", "ann", "bob"],
        ["ranking", "odd"],
    ):
        text = say(*words)
        assert text.startswith("warning: The 240 results do not fit the model"), words
        assert "change the policy" in text
        assert say(*words, "--json")["warning"].startswith("The 240 results do not fit the model")
    assert say("show", "odd", "--proposal", "1", "--json")["warning"] is not None
    assert "rejected" in say("list")
    assert "standard deviations off" in say("why", "odd")


# --- items, rules and settings ---


def test_items_join_leave_and_lose_their_names(say, refused, course):
    assert say("join", course, "eve", "Zoë Martin") == "course: 6 players\n"
    assert say("leave", course, "eve") == "course: 5 players, 1 left\n"
    assert [item["active"] for item in say("join", course, "eve", "--json")] == [True]  # it rejoins
    assert say("rename", course, "Zoë Martin", "Zoë", "--json")[0]["name"] == "Zoë"
    (erased,) = say("leave", course, "Zoë", "--erase-name", "--json")
    assert (erased["name"], erased["active"], erased["erased"]) == ("#6", False, True)
    assert "did you mean 'eve'?" in refused("leave", course, "ann", "evee", "--erase-name")
    assert say("show", course, "--items", "--json")[0]["active"]  # all or none


def test_rule_changes_and_lists_rules(say, refused, course):
    assert "no rule yet" in say("rule", course)
    assert say("rule", course, "exclude", "ann+bob", "ann+cem") == "2 pairs excluded\n"
    assert say("rule", course, "exclude", "ann+bob") == "0 pairs excluded, 1 excluded already\n"
    assert "ann+dee" in pairs_of(say("ask", course, "--json"))
    assert "2 exclusions, 0 pins: see matchbandit league rule course" in say("show", course)
    assert say("rule", course, "unexclude", "ann+bob", "cem+dee") == "1 pair allowed again, 1 not excluded\n"
    changed = say("rule", course, "pin", "ann+bob", "cem+dee", "--json")
    assert changed == {"action": "pin", "pairs": [["ann", "bob"], ["cem", "dee"]], "changed": 2}
    assert say("rule", course, "unpin", "cem+dee") == "1 pair no longer pinned\n"
    assert [(each["kind"], each["names"]) for each in say("rule", course, "--json")] == [
        ("pin", ["ann", "bob"]),
        ("exclude", ["ann", "cem"]),
    ]
    assert "ann + bob (fixed)" in say("ask", course)
    assert "say which pairs to pin" in refused("rule", course, "pin")
    assert "unknown action 'forbid'" in refused("rule", course, "forbid", "ann+bob")


def test_set_changes_settings_and_show_prints_them(say, refused, course):
    say("set", course, "--no-rematch", "9", "--deadline", "36h", "--default", "0.5", "--title", "Chess  club")
    shown = say("set", course, "--record-propensity", "5", "--option", "half_life=50")
    for line in (
        "course (Chess club): 4 players",
        "policy: rank1-thompson (half_life=50), bernoulli rewards",
        "deadline: 36h, then 0.5",
        "no rematch within 9 proposals",
        "propensities from 5 draws",
    ):
        assert line in shown
    say("set", course, "--deadline", "none", "--no-rematch", "0", "--default", "void", "--policy", "cucb")
    settings = say("show", course, "--json")["settings"]
    assert [settings[name] for name in ("deadline", "no_rematch", "default", "policy", "options")] == [
        None, 0, "void", "cucb", {}
    ]  # fmt: skip
    assert "say what to set" in refused("set", course)
    assert "--deadline takes a duration such as 90m" in refused("set", course, "--deadline", "soon")
    assert "deadline must be" in refused("set", course, "--deadline", "0s")
    assert "--default takes numbers" in refused("set", course, "--default", "lost")


def test_two_sides_may_share_names(say, refused):
    assert say("new", "swap", "--side", "givers=x,y", "--side", "takers=x,y,z", "--seed", "1").startswith(
        "swap: 5 givers and takers"
    )
    first = say("ask", "swap")
    left_out = say("show", "swap", "--proposal", "1", "--json")["byes"]
    assert len(left_out) == 1
    assert f"sitting out: {left_out[0]}" in first
    say("leave", "swap", "z", "--side", "takers")
    assert pairs_of(say("ask", "swap", "--absent", "x", "--json")) == ["y+y"]
    say("rule", "swap", "exclude", "x+x", "y+y")
    assert set(pairs_of(say("ask", "swap", "--json"))) == {"x+y", "y+x"}
    assert say("tell", "swap", "3", "x+y=1", "y+x=0", "--json")[0]["recorded"] == 2
    assert "side" in say("ranking", "swap").splitlines()[0]
    assert "givers × takers" in say("list")
    assert "Say which side" in refused("why", "swap", "x")
    assert say("why", "swap", "x", "--side", "takers", "--json")["numbers"]["side"] == "takers"
    for sides in (["ads=a"], ["ads=a", "ads=b"], ["=a", "slots=b"], ["a=1", "b=2", "c=3"]):
        message = refused("new", "one", *(word for side in sides for word in ("--side", side)))
        assert (
            f"--side is given twice, for two sides, such as --side ads=spring,summer --side slots=top; got {sides[0]}"
            in message
        )
    assert "not both" in refused("new", "one", "ann", "--side", "ads=a", "--side", "slots=b")


def test_names_may_contain_commas(say):
    say("new", "odd", "Dee, Jr.", "2", "ann", "王小明")
    for typed in (["Dee, Jr.", "ann"], ['"Dee, Jr.", ann']):
        words = [word for names in typed for word in ("--available", names)]
        assert set(say("ask", "odd", *words, "--json")["pairs"][0]["names"]) == {"Dee, Jr.", "ann"}
    assert "Dee" not in say("ask", "odd", "--absent", "Dee, Jr.")


# --- leagues as a whole ---


def test_new_starts_with_past_results(say, refused, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("who,whom,passed\nann,bob,1\nann,bob,1\nbob,cem,0\n")
    columns = ("--column", "first=who,second=whom", "--column", "reward=passed")
    assert say("new", "club", "--past", "log.csv", *columns, "--json")["items"] == 3
    result = say("show", "club", "--results", "--json")[0]
    assert (result["names"], result["count"], result["total"]) == (["ann", "bob"], 2, 2.0)
    log.write_text("first,second,reward\nann,bob,much\n")
    assert "log.csv, line 2, column reward: must be a number" in refused("new", "bad", "--past", "log.csv")
    for name, value in (("--column", "reward=x"), ("--kind", "sides"), ("--on-missing", "skip")):
        assert f"{name} goes with --past" in refused("new", "two", name, value)


def test_new_infers_two_sides_from_past_results(say, league, refused, tmp_path):
    log = tmp_path / "clicks.csv"
    log.write_text("day,ad,slot,clicked\n1,spring,top,1\n1,sale,side,0\n2,spring,side,1\n")
    typed = ("--past", "clicks.csv", "--column", "first=ad,second=slot,reward=clicked")
    assert say("new", "shop", *typed, "--json")["sides"] == ["ad", "slot"]
    named = say("new", "named", *typed, "--side", "ads=winter", "--side", "slots=", "--json")
    assert (named["sides"], named["items"]) == (["ads", "slots"], 5)
    assert say("new", "all", "spring", *typed, "--json")["sides"] is None  # players were named
    assert "--kind sides does not go with a league of players" in refused("new", "x", "ann", *typed, "--kind", "sides")
    log.write_text(log.read_text() + "3,,top,1\n")
    code, _, err = league("new", "skipping", *typed, "--on-missing", "skip")
    assert (code, err) == (0, "clicks.csv: 1 row without a name skipped.\n")


def test_leagues_are_exported_and_imported(say, refused, course, tmp_path):
    say("ask", course)
    assert say("export") == "course: course.jsonl.gz\n"
    assert say("export", course, "--out", "bare.jsonl", "--without-names", "--json") == {"course": "bare.jsonl"}
    assert "ann" not in (tmp_path / "bare.jsonl").read_text()
    assert say("import", "bare.jsonl", "--as", "bare") == "bare: from bare.jsonl\n"
    assert [row["name"] for row in say("show", "bare", "--items", "--json")] == ["#1", "#2", "#3", "#4"]
    say("archive", "bare")
    assert set(say("export", "--out", "all", "--json")) == {"bare", "course"}  # archived ones, too
    assert say("import", "all/course.jsonl.gz", "--store", "elsewhere.db", "--json") == ["course"]
    history = say("show", course, "--history", "--json")
    assert say("show", course, "--history", "--store", "elsewhere.db", "--json")[: len(history)] == history
    assert "one file at a time" in refused("import", "a", "b", "--as", "c")
    assert "none.jsonl" in refused("import", "none.jsonl")


def test_leagues_are_archived_deleted_and_restored(say, refused, course):
    assert say("archive", course) == "course: archived\n"
    assert "no league yet" in say("list")
    assert course in say("list", "--status", "archived")
    assert "Restore it first" in refused("ask", course)
    assert say("restore", course, "--json") == {"slug": "course", "status": "active"}
    assert "cannot ask whether to delete 'course': there is no terminal. Add --yes" in refused("delete", course)
    assert "restored: matchbandit league restore course" in say("delete", course, "--yes")
    assert "there is no league 'course'" in refused("show", course)
    assert course in say("list", "--status", "deleted")
    say("restore", course)
    assert say("delete", course, "--yes", "--now") == "course: erased\n"
    assert "there is no league" in refused("restore", course)


@pytest.mark.parametrize(("answer", "status"), [(True, "deleted"), (False, "active")])
def test_delete_asks_at_a_terminal(league, say, course, monkeypatch, answer, status):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda text, err: (text, answer) == ("Delete the league 'course'?", True))
    assert league("delete", course)[0] == (0 if answer else 2)
    assert course in say("list", "--status", status)


def test_replay_compares_policies_on_a_league_an_export_or_a_file(say, tmp_path):
    (tmp_path / "log.csv").write_text("first,second,reward\n" + "ann,bob,1\nann,cem,1\nbob,dee,0\ncem,dee,0\n" * 20)
    say("new", "club", "--past", "log.csv")
    say("export", "club")
    few = ("--policy", "rank1-thompson half_life=50", "--policy", "uniform", "--runs", "40", "--horizon", "20")
    few += ("--workers", "1")
    replayed = say("replay", "club", *few, "--json")
    assert set(replayed["ranking"]) == {"rank1-thompson", "uniform (cold)", "as before"}
    assert say("replay", "--file", "club.jsonl.gz", *few, "--json") == replayed
    printed = say("replay", "--file", "log.csv", *few, "--figure", "chosen.png")
    assert replayed["verdict"] in printed
    assert (tmp_path / "chosen.png").exists()


def test_replay_without_policies_plays_rank1_thompson(say, refused, tmp_path):
    (tmp_path / "log.csv").write_text("first,second,reward\n" + "a,b,1\nb,c,0\na,c,1\n" * 3)
    few = ("--file", "log.csv", "--horizon", "5", "--workers", "1", "--json")
    assert set(say("replay", *few, "--runs", "40")["ranking"]) == {"rank1-thompson", "as before"}
    least = MIN_TRUTHS * REPEATS
    assert f"at least {least}" in " ".join(say("replay", "--help").split())
    assert f"at least {least}" in refused("replay", *few, "--runs", str(least - 1))


# --- what all commands share ---


def test_what_cannot_be_is_refused_in_one_line(refused, course):
    for words, message in {
        ("ask", "curse"): "there is no league 'curse'",
        ("ask", "\udcff"): "U+DCFF",
        ("tell", course, "1", "ann+bob=1"): "no proposal 1",
        ("tell", course, "ann+bob=1"): "the number of the proposal comes first",
        ("tell", course, "one", "ann+bob=1"): "NUMBER takes numbers",
        ("tell", course, "1"): "or a file of them with --sheet",
        ("tell", course, "1", "ann+bob=1", "--sheet", "x.csv"): "or a file of them with --sheet",
        ("tell", course, "1", "--sheet", "none.csv"): "none.csv cannot be read: No such file",
        ("tell", course, "1", "ann+bob"): "typed like ann+bob=1",
        ("tell", course, "1", "ann+bob=won"): "ann+bob: an outcome is a number, what the pair achieved together",
        ("tell", course, "1", "annbob=1"): "a pair is typed like ann+bob",
        ("new", course, "ann"): "there is a league 'course'",
        ("new", "two", "ann", "ann"): "'ann'",
        ("new", "Not A Slug"): "lower-case letters",
        ("new", "two", "--policy", "ucbb"): "unknown policy 'ucbb'",
        ("new", "two", "--rewards", "poisson"): "poisson",
        ("join", course, "\x07"): "a name needs a character that can be seen",
        ("list", "--store", "none.db"): "there is no store 'none.db'. `matchbandit league new` creates one",
        ("list", "--store", "mysql://x/y"): "got mysql",
        ("show", course, "--limit", "0"): "--limit",
        ("replay",): "give a league or --file",
        ("replay", course): "has no results yet",
        ("replay", "matchbandit.db"): "'matchbandit.db' is a file: give it with --file.",
        ("replay", course, "--kind", "sides"): "--kind goes with --file",
        ("replay", "--file", "x.jsonl", "--kind", "sides"): "--kind goes with a CSV or Parquet file",
    }.items():
        assert message in refused(*words), words


def test_a_store_is_given_by_a_file_a_url_or_a_variable(say, refused, course, monkeypatch, tmp_path):
    for url in ("sqlite+pysqlite:///no.db", "sqlite:///no.db?timeout=5", "sqlite:///file:no.db?mode=rw&uri=true"):
        assert "there is no store 'no.db'" in refused("list", "--store", url)
    assert not (tmp_path / "no.db").exists()
    file = "matchbandit.db"
    for url in (f"sqlite+pysqlite:///{file}", f"sqlite:///{file}?timeout=5", f"sqlite:///file:{file}?uri=true", file):
        assert course in say("list", "--store", url)
    monkeypatch.setenv("MATCHBANDIT_STORE", f"sqlite:///{tmp_path}/other.db")
    say("new", "one", *FOUR)
    assert [info["slug"] for info in say("list", "--json")] == ["one"]


def test_help_lists_every_verb_and_all_take_a_store_and_print_json(league):
    code, out, err = league("--help")
    assert league() == (code, out, err) == (0, out, "")
    assert re.findall(r"^  ([a-z]+)  ", out.partition("Commands:")[2], re.MULTILINE) == list(VERBS)
    assert len(VERBS) == 18
    for name, verb in VERBS.items():
        assert {"store", "as_json"} <= set(inspect.signature(verb).parameters), name
        assert verb.__doc__
