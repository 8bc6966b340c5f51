"""The client: the methods of a league over HTTP, and requests that are repeated without being done twice."""

import json
from datetime import timedelta

import httpx
import pytest
from wire import Wire

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.live.errors import LeagueError
from matchbandit.live.league import League
from matchbandit.live.records import VOID, Receipt
from matchbandit.live.store import Store
from matchbandit.service.client import Client, RemoteLeague, ServiceError


@pytest.fixture
def wire(served):
    return Wire(served())


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def client(wire, bearer, pauses):
    token = bearer()["Authorization"].removeprefix("Bearer ")
    with Client("http://testserver/", token, transport=wire, sleep=pauses.append) as client:
        yield client


@pytest.fixture
def club(client):
    return client.create("club", players=["ann", "bob", "cem", "dee"], seed=1)


def test_the_doors_work_from_afar(client, club, store):
    today = club.ask(available=["ann", "bob", "cem"])
    near = store.open("club")
    assert today == near.proposal(1)
    assert club.tell(today.number, {today.pairs[0]: 1}) == Receipt(proposal=1, booked=1, repeated=0, waiting=0)
    assert near.proposal(1).outcomes == {today.pairs[0]: 1}
    assert club.correct(1, {today.pairs[0]: VOID}).booked == 1
    assert club.proposal(1).outcomes == {today.pairs[0]: VOID}
    assert [item.name for item in club.join("eve")] == ["eve"]
    assert [item.active for item in club.leave("bob", 1)] == [False, False]
    assert club.rejoin("ann")[0].active
    assert club.rename("eve", "Eve").name == "Eve"
    assert club.forget("Eve").name == "#5"
    club.exclude([("ann", "cem")])
    club.wish([("ann", "dee")])
    assert (near.about()["exclusions"], near.about()["wishes"]) == ([("ann", "cem")], [("ann", "dee")])
    club.allow([("ann", "cem")])
    club.unwish([("ann", "dee")])
    assert (near.about()["exclusions"], near.about()["wishes"]) == ([], [])
    later = club.ask()
    assert club.open_proposals() == [later] == near.open_proposals()
    assert club.void(later.number).waiting == 0
    assert club.configure(deadline=timedelta(hours=1), default=0, shadow="cucb")["deadline"] == 3600
    assert client.leagues() == ["club"]
    assert client.open("club").name == "club"


def test_what_is_read_from_afar_is_what_is_read_nearby(club, store, tmp_path):
    near = store.open("club")
    near.configure(shadow="cucb")
    for _ in range(6):
        today = near.ask()
        near.tell(today.number, {pair: int("ann" in pair) for pair in today.pairs})
    assert club.items() == near.items()
    assert club.proposals() == near.proposals()
    assert club.proposals(after=2, limit=3) == near.proposals(2, 3)
    assert club.ranking() == near.ranking()
    assert club.fit() == near.fit()
    assert club.shadow_report() == near.shadow_report()
    assert club.events() == near.events()
    assert club.events(after=3, limit=2) == near.events(3, 2)
    assert club.history() == near.history()
    assert club.meetings() == near.meetings()
    assert club.results() == near.results()
    about = near.about()
    del about["key"], about["matchbandit"]  # of the program, not of the league
    assert club.about() == json.loads(json.dumps(about))
    for what in ("ann", ("ann", "bob"), 3, None):
        assert club.why(what).sentence == near.why(what).sentence
    with Store(f"sqlite:///{tmp_path}/elsewhere.db") as elsewhere:
        copy = elsewhere.import_league(club.export(tmp_path / "club.jsonl"))
        assert copy.digest() == near.digest()
        nameless = club.export(tmp_path / "nameless.jsonl", names=False)
        assert "ann" not in nameless.read_text()
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_it_has_the_methods_of_a_league():
    near = {name for name in dir(League) if not name.startswith("_")}
    far = {"name", *(name for name in dir(RemoteLeague) if not name.startswith("_"))}
    assert near - far == {"audit", "digest", "expire", "view"}  # an operator's, or the dashboard's
    assert far <= near


def test_names_are_normalised_as_in_a_store(client):
    club = client.create("cafe", players=["Jose\u0301  Garc\u00eda", "bob"])
    for name in ("Jos\u00e9 Garc\u00eda", " Jose\u0301\tGarci\u0301a ", "#1", " #1", 1):
        assert club.item(name).id == 1
    assert club.rename(" bob ", "Bob").name == "Bob"
    assert "Bob" in club.why("  Bob").sentence
    assert club.leave("Jose\u0301 Garc\u00eda")[0].id == 1
    for name in ("jose", 0, True, None):
        with pytest.raises(LeagueError, match="no item has the name or id") as caught:
            club.item(name)
        assert caught.value.code == "unknown-item"


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b"", b"[1, 2]", b"\xff", b"null"])
@pytest.mark.sampled(1)
def test_an_answer_that_is_not_of_the_service_is_an_error_in_words(club, wire, pauses, body):
    wire.troubles = [httpx.Response(200, content=body)]
    with pytest.raises(
        ServiceError, match="testserver answered 200 with something that is not JSON of the service"
    ) as e:
        club.items()
    assert (e.value.code, e.value.status, pauses) == ("unreachable", 200, [])


def test_settings_travel(client, store):
    made = client.create(
        "ads", sides={"ads": ["spring"], "slots": ("top", "left")}, rewards=mb.Gaussian(sd=0.5), seed=0, default=VOID,
        deadline=90, past=[("spring", "top", 2, 1.5)], options={"half_life": 100},
    )  # fmt: skip
    about = store.open(made.name).about()
    assert (about["sides"], about["rewards"], about["seed"], about["deadline"]) == (
        ["ads", "slots"],
        "gaussian:0.5",
        0,
        90,
    )
    assert store.open("ads").results() == [("spring", "top", 2, 1.5)]


@pytest.mark.parametrize("trouble", ["unsent", "lost"])
def test_a_lost_answer_is_asked_for_again_and_nothing_is_done_twice(club, store, wire, pauses, trouble):
    wire.troubles = [trouble] * 3
    first = club.ask()
    assert first.number == 1
    assert len(store.open("club").proposals()) == 1
    keys = {request.headers["idempotency-key"] for request in wire.sent[-4:]}
    assert len(keys) == 1
    assert len(pauses) == 3
    assert all(0.05 * 2**k <= pause <= 0.1 * 2**k for k, pause in enumerate(pauses))
    wire.troubles = [trouble]
    assert club.join("eve")[0].id == 5
    wire.troubles = [trouble]
    assert club.tell(1, dict.fromkeys(first.pairs, 1)).booked == 2
    assert club.ask().number == 2  # a new request has a new key


def test_busy_services_are_given_time(club, wire, pauses):
    wire.troubles = [
        httpx.Response(429, headers={"Retry-After": "7"}), httpx.Response(503, headers={"Retry-After": "x"}),
        httpx.Response(502), httpx.Response(504, headers={"Retry-After": "1000000"}),
    ]  # fmt: skip
    assert club.ask().number == 1
    assert pauses[0] == 7
    assert 0.1 <= pauses[1] <= 0.2
    assert pauses[3] == 30


@pytest.mark.slow
def test_it_gives_up_in_the_end_and_says_why(club, wire, pauses):
    wire.troubles = ["unsent"] * 6
    with pytest.raises(ServiceError, match="gave no answer in 6 attempts") as failure:
        club.ask()
    assert (failure.value.code, failure.value.status, len(pauses)) == ("unreachable", None, 5)
    wire.troubles = [httpx.Response(502, text="<html>bad gateway</html>")] * 6
    with pytest.raises(ServiceError, match="answered 502"):
        club.ask()
    wire.troubles = [httpx.Response(503, json={"code": "store-busy", "detail": "busy.", "request_id": "r7"})] * 6
    with pytest.raises(ServiceError) as failure:
        club.ask()
    assert (failure.value.code, failure.value.status, failure.value.request_id) == ("store-busy", 503, "r7")


def test_refusals_are_the_league_s_own_and_not_repeated(client, club, wire, pauses):
    sent = len(wire.sent)
    with pytest.raises(LeagueError, match="did you mean 'ann'") as refusal:
        club.ask(available=["anne", "bob"])
    assert (refusal.value.code, len(wire.sent) - sent, pauses) == ("unknown-item", 1, [])
    with pytest.raises(LeagueError, match="opens no league") as refusal:
        client.open("nowhere")
    assert refusal.value.code == "unknown-league"
    with pytest.raises(LeagueError, match="no item has"):
        club.leave("zoe")
    with pytest.raises(LeagueError, match="there is nothing"):
        RemoteLeague(client, "../../metrics").about()
    with pytest.raises(LeagueError):
        client.open("nowhere").export("x.jsonl")


def test_what_is_no_service_is_refused_at_once():
    with pytest.raises(MatchbanditError, match="http"):
        Client("localhost:8000", "mbt_x")
    with pytest.raises(MatchbanditError, match="plain characters"):
        Client("http://localhost:8000", "mbt_x\n")


def test_a_download_that_breaks_off_leaves_nothing(club, wire, tmp_path):
    wire.troubles = ["lost"]
    with pytest.raises(ServiceError, match="broke off"):
        club.export(tmp_path / "club.jsonl")
    wire.troubles = [httpx.Response(503, json={"code": "store-busy", "detail": "busy."})]
    with pytest.raises(ServiceError, match="busy"):
        club.export(tmp_path / "club.jsonl")
    assert [path for path in tmp_path.iterdir() if "club" in path.name] == []
