"""The client has the methods and records of a league, and repeats what got lost without doing it twice."""

import inspect
from datetime import datetime, timedelta

import httpx
import msgspec
import pytest

from matchbandit.leagues import VOID, League, LeagueError, Store, tokens
from matchbandit.leagues.service.client import RemoteLeague, RemoteStore
from matchbandit.leagues.settings import settings_tag

PLAYERS = ["ann", "bob", "cem", "dee"]
LOCAL_ONLY = {"check"}


class Lossy(httpx.BaseTransport):
    """Loses answers, or puts others in their place, as its list says; None passes one on."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self.inner, self.plan, self.sent = inner, list[httpx.Response | Exception | None](), list[httpx.Request]()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        answer = self.inner.handle_request(request)
        planned = self.plan.pop(0) if self.plan else None
        if isinstance(planned, Exception):
            raise planned
        return planned or answer


@pytest.fixture
def lossy(transport):
    return Lossy(transport())


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def remote(store, lossy, pauses):
    secret = tokens.create(store, "test", scope="admin")[1]
    with RemoteStore("https://here/", secret, transport=lossy, sleep=pauses.append) as opened:
        yield opened


@pytest.fixture
def club(remote):
    return remote.create("club", players=PLAYERS, deadline=timedelta(days=2))


@pytest.mark.parametrize(("local", "remote"), [(League, RemoteLeague), (Store, RemoteStore)])
def test_methods_have_the_parameters_of_those_of_a_league(local, remote):
    for name, method in inspect.getmembers(remote, inspect.isfunction):
        if name.startswith("_") or name in ("read", "write", "pages", "send"):
            continue
        mine, its = (
            {parameter.strip("_") for parameter in inspect.signature(each).parameters}
            for each in (method, getattr(local, name))
        )
        open_ended = {"params", "bounds", "settings", "changes"}
        assert mine - open_ended <= its | {"path"}, name
        assert mine & open_ended or its <= mine | {"by", "source", "max_bytes"}, name
    if local is League:
        methods = {name for name, _ in inspect.getmembers(League, inspect.isfunction) if not name.startswith("_")}
        assert methods - LOCAL_ONLY <= set(dir(RemoteLeague))


def test_records_are_those_of_the_league(store, club, clock):
    local = store.open("club")
    first = club.ask(available=["ann", "bob", "cem"], fixed=[("ann", "bob")])
    assert first == local.proposal(1)
    assert club.tell(1, [("ann", "bob", 1)]).recorded == 1
    clock.forward(days=1)
    second = club.ask(fixed=[first.pairs[0]])
    assert club.tell_many({2: {pair: VOID if pair.fixed else 0.0 for pair in second.pairs}})[0].recorded == 2
    assert club.correct(2, [("ann", "bob", 1.0)]).waiting == 0
    third = club.ask()
    assert club.void(3, [third.pairs[0]]).waiting == 1
    assert club.void(3).waiting == 0
    assert [club.exclude([("ann", "dee")]), club.unexclude([(1, 4)]), club.pin([("ann", "cem")])] == [1, 1, 1]
    day = datetime.fromisoformat("2026-11-17")
    for name, options in (
        ("info", {}), ("items", {}), ("items", {"active": True, "search": "A", "limit": 1}), ("proposals", {}),
        ("proposals", {"open_only": True}), ("summaries", {"newest_first": True, "limit": 2}),
            ("summaries", {"open_only": True}), ("rules", {}),
        ("rules", {"kind": "pin"}), ("results", {}), ("results", {"item": 2}), ("history", {"since": day}),
        ("ranking", {}), ("ranking", {"search": "b"}), ("fit", {}), ("progress", {"bins": 2}), ("why", {}),
        ("why", {"what": "ann"}), ("why", {"item": 3}), ("why", {"what": ("ann", "bob")}),
        ("why", {"what": 1, "other": "dee"}), ("why", {"what": third.pairs[0]}),
    ):  # fmt: skip
        ours, theirs = (getattr(league, name)(**options) for league in (club, local))
        assert type(ours) is type(theirs)
        assert msgspec.to_builtins(ours) == msgspec.to_builtins(theirs), (name, options)
    assert club.why(1).sentence == local.why(1).sentence
    assert club.unpin([("ann", "cem")]) == 1


def test_items_join_leave_and_lose_their_names(store, remote):
    league = remote.create("ads", sides={"ads": ["a", "b"], "slots": ["top"]}, past=[("a", "top", 3, 2.0)])
    assert league.results()[0].count == 3
    assert [item.id for item in league.join("c", "d", side="ads")] == [4, 5]
    assert [item.active for item in league.leave("c", 5)] == [False, False]
    assert league.rejoin("c", side="ads")[0].active
    assert league.rename("c", "e").name == "e"
    assert league.erase_name("e").erased
    assert league.items() == store.open("ads").items()


def test_configure_with_if_match(club):
    tag = settings_tag(club.info().settings)
    assert club.configure(if_match=tag, default=0.0, title="The club").title == "The club"
    with pytest.raises(LeagueError) as caught:
        club.configure(if_match=tag, deadline=None)
    assert caught.value.code == "changed-since"


def test_a_league_is_exported_imported_archived_and_deleted(tmp_path, remote, club):
    club.ask()
    file = club.export(tmp_path / "club.jsonl.gz")
    assert file.stat().st_mode & 0o777 == 0o600
    copy = remote.import_league(file, slug="copy")
    assert copy.proposals() == club.proposals()
    remote.archive("copy")
    assert [info.slug for info in remote.leagues(status="archived")] == ["copy"]
    remote.restore("copy")
    remote.delete("copy")
    remote.delete("club", now=True)
    assert len(remote.leagues()) == 0
    with pytest.raises(LeagueError, match="club"):
        remote.open("club")


LOST = httpx.ReadError("lost")


@pytest.mark.parametrize(
    "call",
    [
        lambda remote, path: remote.create("new", players=PLAYERS).info().items,
        lambda remote, path: remote.import_league(path, slug="new").info().items,
        lambda remote, path: remote.archive("club"),
        lambda remote, path: remote.delete("club"),
        lambda remote, path: remote.delete("club", now=True),
        lambda remote, path: remote.open("club").ask().number,
        lambda remote, path: remote.open("club").rename("ann", "ada").name,
        lambda remote, path: remote.open("club").erase_name("ann").name,
        lambda remote, path: remote.open("club").leave("ann", "bob")[1].id,
        lambda remote, path: remote.open("club").join("eve")[0].id,
        lambda remote, path: remote.open("club").exclude([("ann", "bob")]),
        lambda remote, path: remote.open("club").configure(title="x").version,
    ],
    ids=["create", "import", "archive", "delete", "erase", "ask", "rename", "erase_name", "leave", "join", "exclude",
         "configure"],
)  # fmt: skip
def test_a_lost_answer_is_asked_for_again(remote, club, lossy, tmp_path, pauses, call):
    file = club.export(tmp_path / "club.jsonl")
    before = club.info().version
    lossy.sent.clear()
    writes = []

    class LoseWrites(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            answer = lossy.inner.handle_request(request)
            if request.method != "GET":
                writes.append(request.headers["idempotency-key"])
                if len(writes) == 1:
                    raise LOST
            return answer

    remote._http._transport = LoseWrites()
    answer = call(remote, file)
    assert answer in (4, None, 1, "ada", "#1", 2, 5, before + 1)
    assert len(writes) == 2
    assert len(set(writes)) == 1
    assert len(pauses) == 1


def test_unavailability_is_waited_for_as_the_service_asks(club, lossy, pauses):
    busy = httpx.Response(503, headers={"Retry-After": "7"}, json={"code": "store-busy", "detail": "busy."})
    lossy.plan = [busy, httpx.Response(429, headers={"Retry-After": "2"}), httpx.Response(502), None]
    club.info()
    assert [7 < pauses[0] < 7.2, 2 < pauses[1] < 2.3, 0.1 < pauses[2] < 0.5] == [True] * 3
    lossy.plan = [busy] * 6
    with pytest.raises(LeagueError, match="busy") as caught:
        club.info()
    assert caught.value.code == "store-busy"
    assert len(pauses) == 3 + 5


@pytest.mark.parametrize("answer", [httpx.ConnectError("no"), httpx.Response(504, text="<html>")])
def test_a_service_that_gives_no_answer_is_unreachable(club, lossy, answer):
    lossy.plan = [answer] * 6
    with pytest.raises(LeagueError) as caught:
        club.info()
    assert caught.value.code == "unreachable"


def test_a_refusal_is_the_error_of_the_league(store, club, pauses):
    local = store.open("club")
    for call in (
        lambda league: league.proposal(9),
        lambda league: league.rename("anna", "x"),
        lambda league: league.ask(available=["ann"]),
        lambda league: league.configure(no_rematch=-1),
    ):
        caught = []
        for league in (club, local):
            with pytest.raises(LeagueError) as info:
                call(league)
            caught.append((info.value.code, str(info.value), info.value.field))
        assert caught[0] == caught[1]
    assert pauses == []
    with pytest.raises(LeagueError) as info:
        club.configure(titel="x")
    assert (info.value.code, info.value.field) == ("bad-request", "titel")
    assert info.value.__notes__[0].startswith("request ")


def test_a_client_is_made_for_a_url_and_a_token():
    for url, token in (("here", "x"), ("https://here", ""), ("https://here", "a b"), ("https://here", "ä")):
        with pytest.raises(LeagueError):
            RemoteStore(url, token)
    with RemoteStore("https://here/", "secret") as store:
        assert repr(RemoteLeague(store, "club")) == "RemoteLeague('club', RemoteStore('https://here'))"
