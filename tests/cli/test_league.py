"""`matchbandit league …`, typed: a small course of pairs from its first day on."""

import inspect
import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from matchbandit import numba_cache, progress
from matchbandit.cli import main
from matchbandit.cli.league import VERBS
from matchbandit.live import Store
from matchbandit.studies.replay import MIN_TRUTHS, REPEATS

FOUR = ("ann", "bob", "cem", "dee")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Type a command in an empty folder; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATCHBANDIT_STORE", raising=False)
    monkeypatch.setattr(progress, "FIRST_LINE_S", 1e9)  # however slow the machine, no line of progress,
    monkeypatch.setattr(numba_cache, "NOTICE_AFTER_S", 1e6)  # nor one that code is being compiled

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["matchbandit", "league", *words])
        with pytest.raises(SystemExit) as end:
            main()
        out = capsys.readouterr()
        return end.value.code or 0, out.out, out.err

    return typed


@pytest.fixture
def say(run):
    """Type a command that works; gives its output, from JSON where it is asked for."""

    def typed(*words):
        code, out, err = run(*words)
        assert (code, err) == (0, "")
        return json.loads(out) if "--json" in words else out

    return typed


@pytest.fixture
def refused(run):
    """Type a command that is refused; gives the line that says why."""

    def typed(*words):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
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
    return ["+".join(pair) for pair in proposal["pairs"]]


def test_a_course_of_pairs_from_its_first_day_on(say):
    assert say("new", "course", *FOUR, "--seed", "1").startswith("course: 4 players\n")
    asked = say("ask", "course", "--json")
    assert (asked["number"], asked["open"], len(asked["pairs"])) == (1, True, 2)
    first, second = pairs_of(asked)
    assert say("show", "course", "1") == f"proposal 1\n  {first.replace('+', ' + ')}\n  {second.replace('+', ' + ')}\n"

    told = say("tell", "course", "1", f"{first}=1")
    assert told == "proposal 1: 1 outcome recorded; waiting for 1 pair\n"
    told = say("tell", "course", "1", f"{first}=1", "{1}+{0}=void".format(*second.split("+")))
    assert told == "proposal 1: 1 outcome recorded, 1 known already; all outcomes recorded\n"
    shown = say("show", "course", "1")
    assert f"{first.replace('+', ' + ')} = 1" in shown
    assert f"{second.replace('+', ' + ')} = void" in shown
    assert say("show", "course", "1", "--json")["outcomes"] == [[*first.split("+"), 1.0], [*second.split("+"), "void"]]

    assert say("correct", "course", "1", f"{first}=0", "--json")["booked"] == 1
    places = [(item["name"], item["place"]) for item in say("ranking", "course", "--json")]
    assert places[:2] == [(name, 1) for name in first.split("+")]
    assert [place for _, place in places[2:]] == [None, None]  # void is not a result
    assert say("ranking", "course").splitlines()[-1].startswith("–")
    assert say("meetings", "course", "--json") == [{"pair": first.split("+"), "meetings": 1, "total": 0.0}]
    history = say("history", "course", "--json")
    assert [(line["told"], line["void"], line["reward"]) for line in history] == [(2, 1, 0.0)]
    assert "2 of 2" in say("history", "course")
    assert "0.00" in say("meetings", "course")
    sentences = say("events", "course")
    assert "was corrected" in sentences
    assert "shell" in sentences
    assert [event["kind"] for event in say("events", "course", "--json", "--after", "2", "--limit", "2")] == [
        "proposed",
        "told",
    ]


def test_rosters(say, refused, course):
    assert say("join", course, "eve", "Zoë Martin") == "course: 6 items\n"
    assert say("leave", course, "eve") == "course: 5 items, and 1 who left\n"
    assert len(say("ask", course, "--json")["byes"]) == 1
    assert [item["name"] for item in say("join", course, "eve", "--json") if item["active"]][-2:] == [
        "eve",
        "Zoë Martin",
    ]
    say("rename", course, "Zoë Martin", "Zoë")
    gone = say("forget", course, "Zoë", "--json")[-1]
    assert (gone["name"], gone["active"], gone["forgotten"]) == ("#6", False, True)
    assert "did you mean 'eve'?" in refused("leave", course, "evee")
    assert "ann" not in json.dumps(say("ask", course, "--absent", "ann,eve", "--json")["pairs"])
    assert say("ask", course, "--available", "ann, bob", "--json")["pairs"] == [["ann", "bob"]]
    assert "unknown item 'zoe'" in refused("ask", course, "--absent", "zoe")
    assert "not both" in refused("ask", course, "--absent", "ann", "--available", "bob,cem")


def test_rules(say, refused, course):
    assert say("exclude", course, "ann+bob", "ann+cem") == "2 pairs excluded\n"
    assert ["ann", "dee"] in say("ask", course, "--json")["pairs"]
    assert "ann + bob" in say("show", course)
    say("allow", course, "ann+bob", "ann+cem")
    say("wish", course, "ann+cem", "bob+dee")
    say("unwish", course, "bob+dee")
    asked = say("ask", course, "--json")
    assert asked["fixed"] == [["ann", "cem"]]
    assert "ann + cem (fixed)" in say("show", course, "2")
    assert say("ask", course, "--fix", "dee+ann", "--json")["fixed"] == [["ann", "dee"]]
    say("set", course, "--no-rematch", "9", "--deadline", "36h", "--default", "0.5", "--shadow", "cucb")
    shown = say("show", course)
    for words in ("no rematch within 9 proposals", "deadline: 36h, then 0.5", "shadow: cucb"):
        assert words in shown
    assert "no_rematch" in refused("ask", course, "--available", "ann,cem")
    say("set", course, "--no-rematch", "0", "--deadline", "none", "--shadow", "none", "--policy", "cucb")
    about = say("show", course, "--json")
    assert (about["no_rematch"], about["deadline"], about["shadow"], about["policy"]) == (0, None, None, "cucb")
    assert "say what to set" in refused("set", course)


def test_two_sides(say, refused):
    assert say("new", "shop", "--side", "ads=spring,summer,sale", "--side", "slots=top,side").startswith(
        "shop: 5 ads and slots"
    )
    asked = say("ask", "shop", "--json")
    assert sorted(slot for _, slot in asked["pairs"]) == ["side", "top"]
    say("join", "shop", "winter", "--side", "ads")
    assert {item["side"] for item in say("ranking", "shop", "--json")} == {"ads", "slots"}
    assert "slots" in say("ranking", "shop")
    say("tell", "shop", "1", f"{'+'.join(asked['pairs'][0])}=1")
    assert "ads × slots" in say("list")
    assert "--side is given twice" in refused("new", "one", "--side", "ads=a")
    assert "not both" in refused("new", "one", "ann", "--side", "ads=a", "--side", "slots=b")


def test_sheets(say, refused, course, tmp_path):
    say("ask", course, "--sheet", "week.csv")
    sheet = tmp_path / "week.csv"
    assert "has no outcomes yet" in refused("tell", course, "1", "--sheet", "week.csv")
    lines = sheet.read_text().splitlines()
    sheet.write_text("\n".join([lines[0], lines[1] + "1", lines[2]]) + "\n")
    assert say("tell", course, "1", "--sheet", "week.csv", "--json") == {
        "proposal": 1, "booked": 1, "repeated": 0, "waiting": 1,
    }  # fmt: skip
    say("ask", course)
    assert "belongs to proposal 1, not to 2" in refused("tell", course, "2", "--sheet", "week.csv")
    assert "or a file of them with --sheet" in refused("tell", course, "1")
    assert "or a file of them with --sheet" in refused("tell", course, "1", "ann+bob=1", "--sheet", "week.csv")
    assert say("void", course, "1", "--json")["booked"] == 1
    assert say("void", course, "2", pairs_of(say("show", course, "2", "--json"))[0], "--json")["waiting"] == 1


def test_what_cannot_be_is_refused_in_one_line(refused, course):
    for words, said in {
        ("ask", "curse"): "did you mean 'course'?",
        ("ask", "\udcff"): "there is no league",
        ("tell", course, "1", "ann+bob=1"): "no proposal 1",
        ("tell", course, "one", "ann+bob=1"): "NUMBER takes numbers",
        ("new", course, "ann"): "there is a league 'course'",
        ("new", "two", "ann", "ann"): "'ann' is in the league already",
        ("new", "Not A Slug"): "lower-case letters",
        ("new", "two", "--column", "reward=x"): "--column goes with --past",
        ("new", "two", "--kind", "sides"): "--kind goes with --past",
        ("new", "two", "--on-missing", "skip"): "--on-missing goes with --past",
        ("replay", course, "--kind", "sides"): "--kind goes with --file",
        ("replay", course, "--on-missing", "skip"): "--on-missing goes with --file",
        ("replay", "--file", "x.jsonl", "--kind", "sides"): "--kind goes with a CSV or Parquet file",
        ("new", "two", "--policy", "ucbb"): "unknown policy 'ucbb'",
        ("new", "two", "--rewards", "poisson"): "poisson",
        ("join", course, "\x07"): "can be seen|control characters",
        ("events", course, "--after", "-1"): "--after must be a whole number",
        ("why", course, "ann", "--proposal", "1"): "one at a time",
        ("import", "none.jsonl"): "none.jsonl",
        ("import", "a", "b", "--as", "c"): "one file at a time",
        ("list", "--store", "none.db"): "there is no store 'none.db'",
        ("list", "--store", "mysql://x/y"): "SQLite or PostgreSQL",
        ("replay",): "give a league or --file",
        ("replay", course): "has no results yet",
    }.items():
        assert any(part in refused(*words) for part in said.split("|")), words


def test_the_same_key_gives_the_same_proposal(say, course):
    assert say("ask", course, "--key", "monday") == say("ask", course, "--key", "monday")
    assert say("ask", course, "--key", "tuesday", "--json")["number"] == 2


def test_why_is_said_of_items_pairs_proposals_and_the_league(say, course):
    first, second = pairs_of(say("ask", course, "--json"))
    say("tell", course, "1", f"{first}=1", f"{second}=0")
    name = first.split("+")[0]
    for words in ((name,), (first,), ("--proposal", "1"), ()):
        told = say("why", course, *words, "--json")
        assert set(told) == {"sentence", "numbers"}
        printed = say("why", course, *words)
        assert " ".join(printed.split()).startswith(" ".join(told["sentence"].split()))
        assert printed.count("\n") > 1
    say("join", course, "c++")
    assert "c++" in say("why", course, "c++")
    assert "Too few pairs have met" in say("fit", course)
    assert say("fit", course, "--json")["fits"] is None


def spoil(store):
    """Change a recorded proposal behind the league's back: its players meet others."""
    with closing(sqlite3.connect(store)) as connection, connection:
        ((data,),) = connection.execute("SELECT data FROM mb_events WHERE kind = 'proposed' AND league_id = 2")
        (a, b), (c, d) = json.loads(data)["pairs"]
        other = data.replace(f"[[{a},{b}],[{c},{d}]]", f"[[{a},{d}],[{min(b, c)},{max(b, c)}]]")
        assert other != data
        connection.execute("UPDATE mb_events SET data = ? WHERE kind = 'proposed' AND league_id = 2", (other,))
        connection.execute("DELETE FROM mb_snapshots")


def test_a_league_is_exported_imported_copied_and_verified(say, run, refused, course, tmp_path):
    say("ask", course)
    assert say("export") == "course: course.jsonl.gz\n"
    assert say("export", course, "--out", "bare.jsonl", "--without-names", "--json") == {"course": "bare.jsonl"}
    assert "ann" not in (tmp_path / "bare.jsonl").read_text()
    assert say("import", "bare.jsonl", "--as", "bare") == "bare: from bare.jsonl\n"
    assert [item["name"] for item in say("ranking", "bare", "--json")] == ["#1", "#2", "#3", "#4"]
    assert say("import", "course.jsonl.gz", "--store", "elsewhere.db", "--json") == ["course"]
    assert say("backup", "copy.db") == "copy.db: 2 leagues, 6 events\n"
    assert "copy.db exists already" in refused("backup", "copy.db")
    assert "pg_dump" in refused("backup", "other.db", "--store", "postgresql://x/y")
    found = say("verify", "--json", "--store", "copy.db")
    assert {name: (one["ok"], one["events"]) for name, one in found.items()} == {"bare": (True, 3), "course": (True, 3)}
    spoil(tmp_path / "copy.db")
    code, out, err = run("verify", "bare", "--store", "copy.db")
    assert (code, err) == (1, "")
    assert "bare: Not all is as the log says." in out


def test_a_league_begins_with_results_from_before(say, refused, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("who,whom,passed\nann,bob,1\nann,bob,1\nbob,cem,0\n")
    columns = ("--column", "first=who", "--column", "second=whom", "--column", "reward=passed")
    assert say("new", "begun", "--past", "log.csv", *columns, "--json")["n_items"] == 3
    assert say("meetings", "begun", "--json")[0] == {"pair": ["ann", "bob"], "meetings": 2, "total": 2.0}
    log.write_text("first,second,reward\nann,bob,much\n")
    assert "log.csv, line 2, column reward: must be a number" in refused("new", "bad", "--past", "log.csv")


def test_policies_are_replayed_on_a_league_its_export_or_a_file(say, tmp_path):
    log = "first,second,reward\n" + "ann,bob,1\nann,cem,1\nbob,dee,0\ncem,dee,0\n" * 20
    (tmp_path / "log.csv").write_text(log)
    say("new", "begun", "--past", "log.csv")
    say("export", "begun")
    few = ("--policy", "rank1-thompson half_life=50", "--policy", "uniform", "--runs", "40", "--horizon", "20")
    told = say("replay", "begun", *few, "--workers", "1", "--json")
    assert set(told["places"]) == {"rank1-thompson", "uniform (cold)", "as before"}
    again = say("replay", "--file", "begun.jsonl.gz", *few, "--workers", "1", "--json")
    assert again == told
    printed = say("replay", "--file", "log.csv", *few, "--workers", "1", "--figure", "chosen.png")
    assert told["verdict"] in printed
    assert (tmp_path / "chosen.png").exists()
    assert all(note in printed for note in told["notes"])
    for assumption in (
        "That all means are products ",
        "Rewards are taken to be bernoulli, with ",
        "as before: a random ",
    ):
        assert any(note.startswith(assumption) for note in told["notes"])


def test_shares_of_other_trials_are_refused(say, refused, tmp_path):
    say("new", "shares", "ann", "bob", "cem", "--rewards", "binomial:5", "--policy", "kl-ucb")
    first = pairs_of(say("ask", "shares", "--json"))[0]
    words = "binomial rewards with 5 trials are 0, 0.2, …, 1; got 0.37 for"
    assert words in refused("tell", "shares", "1", f"{first}=0.37")
    say("tell", "shares", "1", f"{first}=0.4")
    assert words in refused("correct", "shares", "1", f"{first}=0.37")
    log = tmp_path / "log.csv"
    log.write_text("first,second,reward\n" + "ann,bob,0.37\nann,cem,1\nbob,cem,0\n" * 20)  # 7.4 in all
    assert f"log.csv, line 2: {words} ann and bob" in refused(
        "new", "bad", "--past", "log.csv", "--rewards", "binomial:5"
    )
    few = ("--policy", "rank1-thompson", "--runs", "40", "--horizon", "20", "--workers", "1")
    assert f"log.csv, line 2: {words} ann and bob" in refused(
        "replay", "--file", "log.csv", "--rewards", "binomial:5", *few
    )


def test_a_log_of_two_sides_founds_a_league_of_two_sides(say, refused, tmp_path):
    (tmp_path / "clicks.csv").write_text("day,ad,slot,clicked\n1,spring,top,1\n1,sale,side,0\n2,spring,side,1\n")
    typed = ("--past", "clicks.csv", "--column", "first=ad,second=slot,reward=clicked")
    assert say("new", "shop", *typed, "--json")["sides"] == ["ad", "slot"]
    assert say("new", "named", *typed, "--side", "ads=winter", "--side", "slots=", "--json")["sides"] == [
        "ads",
        "slots",
    ]
    assert say("new", "all", "spring", *typed, "--json")["sides"] is None  # players were named
    assert "--column reward=…" in refused("new", "bad", "--past", "clicks.csv")
    assert "--side ads is given twice" in refused("new", "bad", "--side", "ads=a", "--side", "ads=b")


def test_items_and_positions_that_share_numbers_need_a_kind(say, run, refused, tmp_path):
    shown = [f"{item},{position},0" for item in range(1, 7) for position in (1, 2) if item != position] * 4
    file = tmp_path / "shown.csv"
    file.write_text("item,position,reward\n" + "\n".join(shown) + "\n")
    few = ("--file", "shown.csv", "--policy", "rank1-thompson", "--horizon", "5", "--runs", "40", "--workers", "1")
    for typed in (("new", "shop", "--past", "shown.csv"), ("replay", *few)):
        assert "one has 6 names and the other 2. " in refused(*typed)
        assert "--kind players or --kind sides on the command line" in refused(*typed)
        assert "unknown kind of results 'side'; did you mean 'sides'?" in refused(*typed, "--kind", "side")
    assert say("new", "shop", "--past", "shown.csv", "--kind", "sides", "--json")["sides"] == ["item", "position"]
    assert say("new", "all", "--past", "shown.csv", "--kind", "players", "--json")["n_items"] == 6
    typed = ("--side", "items=1", "--side", "positions=1", "--past", "shown.csv")
    assert "--kind players does not go with a league of sides" in refused("new", "bad", *typed, "--kind", "players")
    assert say("new", "both", *typed, "--kind", "sides", "--json")["sides"] == ["items", "positions"]
    assert "of 6 item × 2 position" in say("replay", *few, "--kind", "sides")
    file.write_text(file.read_text() + ",1,1\n2,,1\n")
    assert "shown.csv, line 42, column item: the name" in refused("replay", *few, "--kind", "sides")
    code, out, err = run("replay", *few, "--kind", "sides", "--on-missing", "skip")
    assert code == 0
    assert "of 6 item × 2 position, 2 rows without a name skipped" in out
    assert "shown.csv: 2 rows without a name skipped.\n" in err
    typed = ("--past", "shown.csv", "--kind", "sides", "--on-missing", "skip")
    assert run("new", "skipping", *typed)[2] == "shown.csv: 2 rows without a name skipped.\n"
    assert "unknown choice of on_missing 'drop'" in refused("replay", *few, "--on-missing", "drop")


def test_the_help_says_how_many_runs_a_replay_needs(say, refused, tmp_path):
    (tmp_path / "log.csv").write_text("first,second,reward\n" + "ann,bob,1\nann,cem,1\nbob,dee,0\n" * 5)
    least = MIN_TRUTHS * REPEATS
    assert f"at least {least}" in " ".join(say("replay", "--help").split())
    assert f"at least {least}" in refused("replay", "--file", "log.csv", "--runs", str(least - 1))


def test_a_replay_without_policies_plays_rank1_thompson(run, tmp_path):
    rows = ["a,b,1", "b,c,0", "a,c,1"] * 3  # which can let one of three players sit out
    (tmp_path / "log.csv").write_text("\n".join(["first,second,reward", *rows]) + "\n")
    few = ("--horizon", "5", "--runs", "40", "--workers", "1", "--json")
    code, out, err = run("replay", "--file", "log.csv", *few)
    assert (code, err) == (0, "")
    assert set(json.loads(out)["places"]) == {"rank1-thompson", "as before"}


def test_a_store_is_given_by_a_file_or_any_url_of_sqlite(say, refused, course, tmp_path):
    for url in (
        "sqlite+pysqlite:///no.db",
        "sqlite:///no.db?timeout=5",
        "sqlite:///file:no.db?mode=rw&uri=true",
        "no.db",
    ):
        assert "there is no store 'no.db'. `matchbandit league new` creates one" in refused("list", "--store", url)
    assert not (tmp_path / "no.db").exists()
    file = "matchbandit.db"
    for url in (f"sqlite+pysqlite:///{file}", f"sqlite:///{file}?timeout=5", f"sqlite:///file:{file}?uri=true", file):
        assert course in say("list", "--store", url)
    say("new", "other", *FOUR, "--store", "100%?.db")
    assert (tmp_path / "100%?.db").exists()
    for url, words in (
        ("sqlite:///x.db?timeout=soon", "could not convert string to float: 'soon'"),
        ("sqlite:///x.db?mode=rwc", "require that 'uri=true'"),
    ):
        assert words in refused("new", "other", *FOUR, "--store", url)


def test_two_sides_may_share_names(say, refused, tmp_path):
    say("new", "swap", "--side", "givers=x,y", "--side", "takers=x,y", "--seed", "1")
    assert pairs_of(say("ask", "swap", "--absent", "x", "--json")) == ["y+y"]
    say("exclude", "swap", "x+x", "y+y")
    proposal = say("ask", "swap", "--json", "--sheet", "week.csv")
    assert set(pairs_of(proposal)) == {"x+y", "y+x"}
    assert say("tell", "swap", "2", "x+y=1", "y+x=0", "--json")["booked"] == 2
    sheet = tmp_path / "week.csv"
    sheet.write_text(sheet.read_text().replace("x,y,", "x,y,1").replace("y,x,", "y,x,0"))
    assert say("tell", "swap", "2", "--sheet", "week.csv", "--json")["repeated"] == 2
    assert "'x' and 'y' are given twice, with 1 and 0" in refused("correct", "swap", "2", "x+y=1", "x+y=0")


def test_names_with_commas_and_numbers_for_names(say, refused):
    say("new", "odd", "Dee, Jr.", "2", "ann", "王小明")
    assert "Dee" not in say("ask", "odd", "--absent", "Dee, Jr.")
    assert say("ask", "odd", "--available", "Dee, Jr.", "--available", "ann").count("+") == 1
    for typed in ("Dee, Jr.,ann", "ann, Dee, Jr.", '"Dee, Jr.", ann'):
        assert set(say("ask", "odd", "--available", typed, "--json")["pairs"][0]) == {"Dee, Jr.", "ann"}
        assert set(say("ask", "odd", "--absent", typed, "--json")["pairs"][0]) == {"2", "王小明"}
    assert "no player is named 'Dee'" in refused("ask", "odd", "--available", "Dee,ann")
    say("leave", "odd", "王小明")
    assert "'王小明' has left" in refused("ask", "odd", "--available", "ann,王小明")
    say("join", "odd", "王小明")
    assert say("why", "odd", "2").startswith("2 has no results yet")  # a name goes first
    assert say("why", "odd", "--proposal", "2").startswith("Proposal 2 ")
    assert say("why", "odd", "1").startswith("Proposal 1 ")
    assert "no proposal 9" in refused("why", "odd", "9")
    heads, _, *lines = say("ranking", "odd").splitlines()
    wide = next(line for line in lines if "王小明" in line)
    assert wide.index("0.25") + 4 == heads.index("strength") + 8 - 3  # three signs take two columns each


def test_a_sheet_that_cannot_be_written_is_refused_before_a_proposal_is_made(say, refused, course):
    made = say("show", course, "--json")["n_proposals"]
    assert "no such folder" in refused("ask", course, "--sheet", "nowhere/week.csv")
    assert "it is a folder" in refused("ask", course, "--sheet", ".")
    assert say("show", course, "--json")["n_proposals"] == made


def test_rules_that_change_nothing_say_so(say, course):
    assert say("exclude", course, "ann+bob", "ann+cem") == "2 pairs excluded\n"
    assert say("exclude", course, "ann+bob") == "0 pairs excluded, 1 excluded already\n"
    assert say("allow", course, "ann+bob", "cem+dee") == "1 pair allowed again, 1 not excluded\n"
    assert say("unwish", course, "ann+bob") == "0 pairs no longer wished for, 1 not wished for\n"


def test_the_store_is_named_by_option_or_variable(say, monkeypatch, tmp_path):
    say("new", "one", *FOUR, "--store", "one.db")
    monkeypatch.setenv("MATCHBANDIT_STORE", f"sqlite:///{tmp_path}/one.db")
    assert [about["name"] for about in say("list", "--json")] == ["one"]
    assert not (tmp_path / "matchbandit.db").exists()


def test_a_shadow_proposes_beside_the_live_policy(say, course):
    assert "no shadow yet" in say("shadow", course)
    say("set", course, "--shadow", "cts-beta")
    say("ask", course)
    report = say("shadow", course, "--json")
    assert (report["shadow"], report["live"], report["proposals"]) == ("cts-beta", "rank1-thompson", 1)
    assert report["sentence"].split() == say("shadow", course).split()


def test_a_list_without_leagues_says_how_to_begin(say):
    with Store("sqlite:///matchbandit.db"):
        pass
    assert "matchbandit league new" in say("list")
    assert say("list", "--json") == []


def test_the_group_alone_and_its_help_list_every_verb(run):
    alone, asked = run(), run("--help")
    assert alone == asked
    code, out, err = asked
    assert (code, err) == (0, "")
    listed = re.findall(r"^  ([a-z]+)  ", out.partition("Commands:")[2], re.MULTILINE)
    assert listed == list(VERBS)


def test_every_verb_takes_a_store_and_speaks_json():
    for name, verb in VERBS.items():
        taken = inspect.signature(verb).parameters
        assert {"store", "as_json"} <= set(taken), name
        assert verb.__doc__


def test_help_of_leagues_imports_nothing_heavy():
    probe = (
        "import sys; from matchbandit.cli import main\nsys.argv[1:] = ['league', 'ask', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('numpy', 'numba', 'sqlalchemy', 'fastapi', 'matchbandit.live') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, env=os.environ)
    assert out.stdout.splitlines()[-1] == "[]"


def test_titles_and_propensities_are_settings(run):
    _, out, _ = run("new", "club", "ann", "bob", "--title", "Chess  club")
    assert out.splitlines()[0] == "club (Chess club): 2 players"
    assert run("set", "club", "--title", "Go", "--record-propensity", "5")[0] == 0
    about = json.loads(run("show", "club", "--json")[1])
    assert (about["title"], about["record_propensity"]) == ("Go", 5)
    code, _, error = run("set", "club", "--record-propensity", "x")
    assert code == 2
    assert "--record-propensity" in error
