"""docs/production.md, drilled: its metrics and alerts, a copy under load, the move to PostgreSQL, a dump."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import httpx
import postgres
import pytest
import yaml
from anyio.from_thread import start_blocking_portal
from app_transport import AppTransport
from serving import Serving

from matchbandit.cli import main
from matchbandit.leagues import Store, tokens
from matchbandit.leagues.errors import CODES
from matchbandit.leagues.service.app import create_app
from matchbandit.leagues.service.client import RemoteStore

PAGE = (Path(__file__).parents[1] / "docs" / "production.md").read_text(encoding="utf-8")
PLAYERS = [f"player {k}" for k in range(8)]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a command as the page types it; returns what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(line):
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        assert not end.value.code, printed.err
        return printed.out

    return run


def test_the_page_has_every_metric_and_its_alerts_use_metrics_and_codes_that_exist():
    with Store("sqlite://") as store:
        _, secret = tokens.create(store, "prometheus")
        headers = {"Authorization": f"Bearer {secret}"}
        with start_blocking_portal() as portal, httpx.Client(transport=AppTransport(create_app(store), portal)) as http:
            text = http.get("http://here/metrics", headers=headers).text
    exposed = {name.removesuffix("_created") for name in re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)}
    named = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"\bmatchbandit_[a-z_]+", PAGE)}
    assert {name.removesuffix("_total") for name in named} == {name.removesuffix("_total") for name in exposed}
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert all(yaml.safe_load(block) for block in blocks)
    codes = {code for codes in re.findall(r'code=~"([^"]+)"', PAGE) for code in codes.split("|")}
    assert codes
    assert codes <= CODES.keys()


def outcomes(league):
    """The outcomes of a league, by proposal and pair."""
    proposals = league.proposals(limit=10**6)
    return {(each.number, pair.names): pair.outcome for each in proposals for pair in each.pairs}


@pytest.mark.slow
def test_backup_under_load_has_what_was_acknowledged_before(run, tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/store.db"
    monkeypatch.setenv("MATCHBANDIT_STORE", url)
    with Store(url) as store:
        store.create("course", players=PLAYERS, seed=1)
        _, secret = tokens.create(store, "drill")
    acknowledged, stopped = {}, Event()

    def play(address):
        with RemoteStore(address, secret) as client:
            league = client.open("course")
            while not stopped.is_set():
                proposal = league.ask()
                for k, pair in enumerate(proposal.pairs):
                    league.tell(proposal.number, {pair.names: k % 2})
                    acknowledged[proposal.number, pair.names] = k % 2

    with Serving(url) as server:
        players = [Thread(target=play, args=(server.address,)) for _ in range(2)]
        for player in players:
            player.start()
        server.until(lambda: len(acknowledged) > 40)
        before = dict(acknowledged)
        run("matchbandit store backup copy.db")
        server.until(lambda: len(acknowledged) > len(before) + 40)
        stopped.set()
        for player in players:
            player.join()
    run("matchbandit store check --store copy.db")
    with Store("sqlite:///copy.db") as copy, Store(url) as store:
        copied = outcomes(copy.open("course"))
        assert before.items() <= copied.items()
        assert acknowledged.items() <= outcomes(store.open("course")).items()
        assert not acknowledged.items() <= copied.items()


def test_a_store_moves_to_postgresql_as_the_page_types_it(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHBANDIT_STORE", f"sqlite:///{tmp_path}/store.db")
    with Store(f"sqlite:///{tmp_path}/store.db") as store:
        course = store.create("course", players=PLAYERS, seed=1)
        course.tell(1, {course.ask().pairs[0].names: 1})
        course.erase_name("player 3")
        before = course.info(), course.items().rows, course.proposal(1), course.history().rows
    moved = postgres.fresh_database()
    section = PAGE.partition("\n## From SQLite to PostgreSQL\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\$ (.*)", section, re.MULTILINE)
    for line in lines:
        run(line.replace("postgresql:///matchbandit", f"'{moved}'"))
    assert len(lines) == 3
    with Store(moved) as store:
        there = store.open("course")
        assert (there.info(), there.items().rows, there.proposal(1), there.history().rows) == before
        assert there.ask().number == 2
        assert [token.label for token in tokens.list_all(store)] == ["website"]


def test_a_dump_of_postgresql_in_use_is_restored(tmp_path):
    url, restored = postgres.fresh_database(), postgres.fresh_database()
    programs = postgres.server().programs
    with Store(url) as store:
        course = store.create("course", players=PLAYERS, seed=1)
        course.tell(1, {course.ask().pairs[0].names: 1})
        proposal = course.proposal(1)
        dump = tmp_path / "matchbandit.dump"
        subprocess.run([programs / "pg_dump", "--format=custom", f"--file={dump}", url], check=True)
    subprocess.run([programs / "pg_restore", f"--dbname={restored}", dump], check=True)
    with Store(restored) as store:
        assert store.open("course").proposal(1) == proposal
        assert store.check().ok
