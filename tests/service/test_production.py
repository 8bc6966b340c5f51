"""The how-to of production, drilled: a copy under load and its restore, an upgrade and its way back, the move."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import postgres
import pytest
import yaml
from serving import Serving
from starlette.testclient import TestClient

from matchbandit.cli import main
from matchbandit.live import LeagueError, Store
from matchbandit.live.warm_up import load_compiled_code
from matchbandit.service import tokens
from matchbandit.service.app import create_app
from matchbandit.service.client import Client
from matchbandit.service.store_metrics import ConnectionMetrics

PAGE = (Path(__file__).parents[2] / "docs" / "production.md").read_text(encoding="utf-8")
PLAYERS = [f"player {k}" for k in range(8)]


def blocks(language, heading=""):
    """The blocks of this language, below this heading."""
    below = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0] if heading else PAGE
    return re.findall(rf"^```{language}\n(.*?)^```", below, re.MULTILINE | re.DOTALL)


@pytest.fixture
def typed(monkeypatch, capsys, tmp_path):
    """Type a command, as the page does; gives what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(line):
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as end:
            main()
        told = capsys.readouterr()
        assert not end.value.code, told.err
        return told.out

    return run


def test_every_metric_of_the_page_is_exposed_and_every_one_exposed_is_on_the_page(tmp_path):
    with Store(f"sqlite:///{tmp_path}/store.db") as store:
        app = create_app(store)
        ConnectionMetrics(app.state.metrics.registry)
        _, token = tokens.create(store, "prometheus")
        with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as http:
            text = http.get("/metrics").text
    exposed = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    exposed = {name.removesuffix("_created") for name in exposed} - {"matchbandit_build"}
    named = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"\bmatchbandit_[a-z_]+", PAGE)}
    assert {name.removesuffix("_total") for name in named} == {name.removesuffix("_total") for name in exposed}
    for block in blocks("yaml"):
        assert yaml.safe_load(block)


class Load:
    """Clients that ask and tell until they are stopped; what was acknowledged is kept."""

    def __init__(self, address, token, clients):
        self.told: dict[tuple[int, tuple[str, str]], int] = {}
        self.stopped, self.errors = Event(), []
        self.threads = [Thread(target=self._play, args=(address, token, number)) for number in range(clients)]
        for thread in self.threads:
            thread.start()

    def _play(self, address, token, number):
        try:
            with Client(address, token, attempts=1) as client:
                league = client.open("course")
                while not self.stopped.is_set():
                    proposal = league.ask()
                    for at, pair in enumerate(proposal.pairs):
                        league.tell(proposal.number, {pair: (at + number) % 2})
                        self.told[proposal.number, pair] = (at + number) % 2
        except Exception as error:
            if not self.stopped.is_set():
                self.errors.append(error)

    def wait_for(self, results):
        """Until so many more outcomes were acknowledged."""
        enough = len(self.told) + results
        while len(self.told) < enough and not self.errors:
            self.stopped.wait(0.01)
        assert self.errors == []

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()


def outcomes_in(league):
    """All outcomes of the log, each with how often it is there."""
    found = {}
    for event in league.events():
        if event.kind == "told":
            for first, second, reward in event.data["outcomes"]:
                key = event.data["proposal"], (PLAYERS[first - 1], PLAYERS[second - 1])
                found.setdefault(key, []).append(reward)
    return found


@pytest.mark.parametrize(("clients", "results"), [(2, 5), pytest.param(8, 1000, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_copy_made_under_load_is_whole_and_is_restored(typed, tmp_path, monkeypatch, clients, results):
    url = f"sqlite:///{tmp_path}/store.db"
    monkeypatch.setenv("MATCHBANDIT_STORE", url)
    with Store(url) as store:
        store.create("course", players=PLAYERS, seed=1)
        _, token = tokens.create(store, "drill")
    with Serving(url) as server:
        load = Load(server.address, token, clients)
        load.wait_for(results)
        before = dict(load.told)
        assert typed("matchbandit league backup copy.db").startswith("copy.db: 1 league, ")
        load.wait_for(results)
        server.kill()
        load.stop()
    with Store(url) as store:  # nothing that was acknowledged is lost, or there twice
        known = outcomes_in(store.open("course"))
        assert {key: [reward] for key, reward in load.told.items()}.items() <= known.items()
        assert store.open("course").verify().ok
    assert "All is as the log says" in typed("matchbandit league verify --store copy.db")
    with Store("sqlite:///copy.db") as copy:
        known = outcomes_in(copy.open("course"))
        assert {key: [reward] for key, reward in before.items()}.items() <= known.items()
        assert len(known) < len(load.told)

    replaced = tmp_path / "replaced"
    replaced.mkdir()
    for part in tmp_path.glob("store.db*"):
        part.rename(replaced / part.name)
    shutil.copy("copy.db", "store.db")
    with Store(url) as store, TestClient(create_app(store)) as server:
        load_compiled_code()  # as it does at its start, in the background
        assert server.get("/readyz").json() == {"status": "ready"}
        course = store.open("course")
        last = course.about()["n_proposals"]
        for (number, pair), reward in load.told.items():  # what the copy has is no news, what it lacks is told again
            if number <= last:
                course.tell(number, {pair: reward})
        with pytest.raises(LeagueError) as refused:
            course.tell(last + 1, {pair: 1})
        assert refused.value.code == "unknown-proposal"
        assert course.ask().number == last + 1
        assert course.verify().ok


def test_a_store_moves_from_sqlite_to_postgresql_as_the_page_types_it(typed, tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHBANDIT_STORE", f"sqlite:///{tmp_path}/store.db")
    with Store(f"sqlite:///{tmp_path}/store.db") as store:
        course = store.create("course", players=PLAYERS, seed=1)
        course.tell(course.ask().number, {course.proposal(1).pairs[0]: 1})
        course.forget("player 3")
        kept = course.digest(), course.items(), course.events()
    moved = postgres.fresh_database()
    (typing,) = blocks("console", "From SQLite to PostgreSQL")
    for line in re.findall(r"^\$ (.*)", typing, re.MULTILINE):
        typed(line.replace("postgresql:///matchbandit", f"'{moved}'"))
    with Store(moved) as store:
        there = store.open("course")
        assert (there.digest(), there.items(), there.events()) == kept
        assert there.ask().number == 2
        assert [token.label for token in tokens.list_all(store)] == ["website"]


def test_postgresql_is_dumped_while_it_is_used_and_restored(tmp_path):
    url, restored = postgres.fresh_database(), postgres.fresh_database()
    programs = postgres.server().programs
    with Store(url) as store:
        course = store.create("course", players=PLAYERS, seed=1)
        course.tell(course.ask().number, {course.proposal(1).pairs[0]: 1})
        digest = course.digest()
        dump = tmp_path / "matchbandit.dump"
        subprocess.run([programs / "pg_dump", "--format=custom", f"--file={dump}", url], check=True)
    subprocess.run([programs / "pg_restore", f"--dbname={restored}", dump], check=True)
    with Store(restored) as store:
        assert store.open("course").digest() == digest
        assert store.open("course").verify().ok
