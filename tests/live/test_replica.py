"""Many threads on one league: one commit for many, nobody suffers for another, nothing is seen before it is written."""

import time
from collections.abc import Callable
from itertools import pairwise
from threading import Event as Signal
from threading import Thread

import pytest
from sqlalchemy import text

from matchbandit.live import LeagueError, Store, snapshots
from matchbandit.live.events import Draft
from matchbandit.live.league import League
from matchbandit.live.records import Receipt
from matchbandit.live.replica import View

TEN = [f"player {number}" for number in range(10)]


@pytest.fixture
def club(store: Store) -> League:
    return store.create("club", players=TEN, policy="cucb", seed=1)


def together(*calls: Callable[[], object]) -> list[object]:
    """What each call gives, all at the same time; an error in the place of an answer."""
    answers: list[object] = [None] * len(calls)

    def run(place: int) -> None:
        try:
            answers[place] = calls[place]()
        except BaseException as error:
            answers[place] = error

    threads = [Thread(target=run, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


class Held:
    """Holds the turn of a league, so that requests wait and are then served together."""

    def __init__(self, league: League) -> None:
        self.replica = league._replica
        self.commits = 0
        take = self.replica._execute

        def counted(*given) -> None:
            self.commits += 1
            take(*given)

        self.replica._execute = counted

    def __call__(self, *calls: Callable[[], object]) -> list[object]:
        """Serve these calls in one transaction, in their order."""
        answers: list[object] = [None] * len(calls)

        def run(place: int) -> None:
            try:
                answers[place] = calls[place]()
            except BaseException as error:
                answers[place] = error

        threads = [Thread(target=run, args=(place,)) for place in range(len(calls))]
        with self.replica._turn:
            for number, thread in enumerate(threads, start=1):
                thread.start()
                while len(self.replica._queue) < number:
                    time.sleep(0.0005)
        for thread in threads:
            thread.join()
        return answers


def folded(league: League) -> str:
    """The digest of the state that a new process has, without snapshots."""
    with league.store.writing() as connection:
        connection.execute(text("DELETE FROM mb_snapshots"))
    with Store(league.store.engine.url.render_as_string(hide_password=False)) as other:
        return other.open(league.name).digest()


def test_many_threads_lose_and_double_nothing(club):
    proposals = [club.ask() for _ in range(4)]
    tells = [(proposal.number, pair) for proposal in proposals for pair in proposal.pairs]

    def tell(part: list[tuple[int, tuple[str, str]]]) -> None:
        for number, pair in part:
            club.tell(number, {pair: 1})
            assert pair in club.proposal(number).outcomes  # what is acknowledged can be read

    # Each outcome is told by two threads; others ask, read and join meanwhile.
    answers = together(
        *(lambda part=tells[k::2]: tell(part) for k in (0, 1, 0, 1)),
        lambda: [club.ask().number for _ in range(3)],
        lambda: [club.ask().number for _ in range(3)],
        lambda: [club.ranking() for _ in range(5)],
        lambda: [club.join(f"new {k}") for k in range(3)],
    )
    assert not [answer for answer in answers if isinstance(answer, BaseException)]
    assert sorted(answers[4] + answers[5]) == [5, 6, 7, 8, 9, 10]
    events = club.events()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    told = [
        (event.data["proposal"], *row[:2]) for event in events if event.kind == "told" for row in event.data["outcomes"]
    ]
    assert len(told) == len(set(told)) == 20
    assert [event.data["number"] for event in events if event.kind == "proposed"] == list(range(1, 11))
    assert club.digest() == folded(club)
    assert club.verify().ok


def test_requests_that_wait_are_served_by_one_commit(club):
    one, two = club.ask().pairs[:2]
    before = club.events()[-1].seq
    held = Held(club)
    answers = held(
        lambda: club.tell(1, {one: 1}),
        lambda: club.tell(1, {one: 1}),
        lambda: club.tell(1, {one: 0}),
        lambda: club.tell(1, {two: 1}),
        lambda: club.join("eve"),
        lambda: club.rename("eve", "Eve"),
    )
    assert held.commits == 1
    assert answers[:2] == [Receipt(1, 1, 0, 4), Receipt(1, 0, 1, 4)]
    assert isinstance(answers[2], LeagueError)
    assert answers[2].code == "contradiction"
    assert answers[3] == Receipt(1, 1, 0, 3)
    assert [event.kind for event in club.events(after=before)] == ["told", "told", "joined", "renamed"]
    assert club.item("Eve").id == 11
    assert club.digest() == folded(club)


def test_what_closes_a_proposal_is_known_to_the_next_in_the_same_commit(club):
    pairs = club.ask().pairs
    club.tell(1, dict.fromkeys(pairs[1:], 1))
    held = Held(club)
    answers = held(
        lambda: club.tell(1, {pairs[0]: 1}),
        lambda: club.tell(1, {pairs[0]: 1}),
        lambda: club.correct(1, {pairs[0]: 0}),
        lambda: club.tell(1, {pairs[0]: 0}),
    )
    assert answers == [Receipt(1, 1, 0, 0), Receipt(1, 0, 1, 0), Receipt(1, 1, 0, 0), Receipt(1, 0, 1, 0)]
    assert held.commits == 1


def test_one_key_in_one_commit_is_done_once(club):
    pair = club.ask().pairs[0]
    held = Held(club)
    answers = held(*[lambda: club.tell(1, {pair: 1}, key="a")] * 3, lambda: club.join("eve", key="a"))
    assert answers[:3] == [Receipt(1, 1, 0, 4)] * 3
    assert answers[3].code == "key-reused"
    assert held.commits == 1


def test_nobody_suffers_for_another(club):
    pair = club.ask().pairs[0]

    def nonsense(view: View) -> tuple[list[Draft], dict[str, int]]:
        return [Draft("left", {"items": [1]}), Draft("told", {"proposal": 99, "outcomes": []})], {}

    def broken(view: View) -> tuple[list[Draft], dict[str, int]]:
        raise ZeroDivisionError

    replica = club._replica
    answers = Held(club)(
        lambda: club.tell(1, {pair: 1}),
        lambda: replica.write(nonsense, by="test"),
        lambda: replica.write(broken, by="test"),
        lambda: replica.write(lambda view: ([Draft("left", {"items": {1}})], {}), by="test"),  # a set is no JSON
        lambda: club.join("eve"),
    )
    assert answers[0] == Receipt(1, 1, 0, 4)
    assert answers[1].code == "damaged"
    assert isinstance(answers[2], ZeroDivisionError)
    assert isinstance(answers[3], TypeError)
    assert answers[4][0].name == "eve"
    assert [event.kind for event in club.events()] == ["created", "joined", "proposed", "told", "joined"]
    assert club.item("player 0").active
    assert club.digest() == folded(club)


def test_a_commit_that_fails_leaves_nothing_behind(club, monkeypatch):
    pair = club.ask().pairs[0]
    before = club.digest()
    told = LeagueError("store-unusable", "the disk is full")
    with monkeypatch.context() as patch:
        patch.setattr("matchbandit.live.projection.project", lambda *_: (_ for _ in ()).throw(told))
        answers = Held(club)(
            lambda: club.tell(1, {pair: 1}), lambda: club.join("eve"), lambda: club.rename("player 1", "Pia")
        )
    assert [answer.code for answer in answers] == ["store-unusable"] * 3
    assert club.digest() == before
    assert [item.name for item in club.items()] == TEN
    assert club.tell(1, {pair: 1}) == Receipt(1, 1, 0, 4)
    assert club.join("eve")[0].id == 11
    assert club.digest() == folded(club)


def fail_at_the_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("sqlalchemy.engine.base.RootTransaction.commit", lambda _: (_ for _ in ()).throw(OSError("gone")))


def test_what_failed_is_not_taken_for_what_another_process_wrote_in_its_place(club):
    with Store(club.store.engine.url.render_as_string(hide_password=False)) as there:
        theirs = there.open("club")
        with pytest.MonkeyPatch.context() as patch:
            fail_at_the_end(patch)
            with pytest.raises(OSError, match="gone"):
                club.join("eve")
        theirs.leave("player 1")  # the event of the same number
        assert [item.name for item in club.items()] == TEN
        assert not club.item("player 1").active
        assert club.digest() == theirs.digest()


def test_a_commit_that_fails_at_the_very_end_leaves_nothing_behind(club, monkeypatch):
    with monkeypatch.context() as patch:
        fail_at_the_end(patch)
        with pytest.raises(OSError, match="gone"):
            club.join("eve")
    assert club.join("eve")[0].id == 11
    assert [event.kind for event in club.events()] == ["created", "joined", "joined"]


def test_an_interrupt_is_no_acknowledgement(club, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("matchbandit.live.projection.project", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        answers = Held(club)(lambda: club.join("eve"), lambda: club.join("fay"))
    assert isinstance(answers[0], KeyboardInterrupt)
    assert answers[1].code == "store-busy"
    assert len(club.items()) == 10
    assert club.join("fay")[0].id == 11


def test_who_is_interrupted_while_waiting_is_not_served_later(club, monkeypatch):
    replica = club._replica
    monkeypatch.setattr(type(replica._turn), "__enter__", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        club.join("eve")
    monkeypatch.undo()
    club.join("fay")
    assert [item.name for item in club.items()][10:] == ["fay"]


def test_a_decision_that_was_overtaken_is_taken_again(url):
    with Store(url) as here, Store(url) as there:
        ours = here.create("club", players=TEN, policy="cucb")
        theirs = there.open("club")
        decide, calls = ours._replica.decider.decide, []

        def overtaken(inputs):
            calls.append(inputs.decided_at)
            if len(calls) <= 2:  # outcomes do not matter, proposals and rules do
                theirs.ask() if len(calls) == 1 else theirs.exclude([(1, 2)])
            else:
                theirs.void(1)
            return decide(inputs)

        ours._replica.decider.decide = overtaken
        proposal = ours.ask()
        assert (proposal.number, len(calls)) == (2, 3)
        assert ("player 0", "player 1") not in proposal.pairs
        recorded = ours.events()[-1]
        assert recorded.seq == recorded.data["decided_at"] + 2
        assert ours.verify().ok


@pytest.mark.parametrize(
    "change",
    [
        lambda league: league.join("eve"),
        lambda league: league.leave(1),
        lambda league: league.rejoin(10),
        lambda league: league.exclude([(1, 2)]),
        lambda league: league.allow([(3, 4)]),
        lambda league: league.wish([(1, 2)]),
        lambda league: league.unwish([(5, 6)]),
        lambda league: league.configure(no_rematch=1),
    ],
    ids=["join", "leave", "rejoin", "exclude", "allow", "wish", "unwish", "configure"],
)
def test_every_change_of_items_and_rules_overtakes_a_decision(store, change):
    league = store.create("club", players=TEN, policy="cucb")
    league.leave(10)
    league.exclude([(3, 4)])
    league.wish([(5, 6)])
    decide, calls = league._replica.decider.decide, []

    def overtaken(inputs):
        calls.append(inputs.decided_at)
        if len(calls) == 1:
            change(league)
        return decide(inputs)

    league._replica.decider.decide = overtaken
    league.ask()
    assert len(calls) == 2
    assert league.verify().ok


def test_who_is_always_overtaken_decides_while_the_others_wait(url):
    with Store(url) as here, Store(url) as there:
        ours = here.create("club", players=TEN, policy="cucb")
        theirs = there.open("club")
        decide, calls = ours._replica.decider.decide, []

        def overtaken(inputs):
            calls.append(inputs.number)
            if len(calls) <= 3:
                theirs.ask()
            return decide(inputs)

        ours._replica.decider.decide = overtaken
        assert ours.ask().number == 4
        assert calls == [1, 2, 3, 4]


def test_readers_wait_for_nobody_who_writes_elsewhere(url):
    with Store(url) as here, Store(url, lock_timeout=0.2) as there:
        here.create("club", players=TEN)
        theirs = there.open("club")
        with here.writing() as connection:
            connection.execute(text("UPDATE mb_leagues SET head = head"))
            with pytest.raises(LeagueError) as caught:
                theirs.join("eve")
            assert len(theirs.items()) == 10
        assert caught.value.code == "store-busy"
        assert theirs.join("eve")[0].id == 11


def test_nobody_sees_what_is_not_written_yet(club, monkeypatch):
    writing, go_on = Signal(), Signal()
    project = club._replica.__class__.__dict__["_execute"].__globals__["projection"].project

    def slow(*given):
        writing.set()
        go_on.wait(60)
        return project(*given)

    monkeypatch.setattr("matchbandit.live.projection.project", slow)
    seen: list[int] = []
    writer = Thread(target=lambda: club.join("eve"))
    reader = Thread(target=lambda: seen.append(len(club.items())))
    writer.start()
    assert writing.wait(60)
    reader.start()
    while not club._replica._guard._waiting:  # the reader is in line
        time.sleep(0.0005)
    assert seen == []
    go_on.set()
    writer.join()
    reader.join()
    assert seen == [11]


def test_who_reads_sees_the_log_of_the_same_moment_as_the_state(club, monkeypatch):
    """Another thread asks while a reader waits for its turn: the reader knows that proposal, and can read it."""
    guarded = club._replica._guarded

    def after_another_has_asked():
        monkeypatch.undo()
        club.ask()
        return guarded()

    monkeypatch.setattr(club._replica, "_guarded", after_another_has_asked)
    assert [proposal.number for proposal in club.open_proposals()] == [1]


# Snapshots -----------------------------------------------------------------------------------------------------------


def kept(store: Store) -> list[int]:
    with store.reading() as connection:
        return list(connection.execute(text("SELECT seq FROM mb_snapshots ORDER BY seq")).scalars())


def test_a_snapshot_now_and_then_of_which_two_are_kept(club, store, monkeypatch):
    monkeypatch.setattr(snapshots, "_MIN_EVENTS", 4)
    assert kept(store) == []
    for _ in range(14):
        club.ask()
    seqs = kept(store)
    assert len(seqs) == 2
    assert all(later - sooner == 4 for sooner, later in pairwise(seqs))
    assert club.verify().snapshots == 2
    with Store(store.engine.url.render_as_string(hide_password=False)) as other:
        again = other.open("club")
        assert again._replica._snapshot == seqs[-1]
        assert again.digest() == club.digest()


@pytest.mark.parametrize("damage", ["data = X'00'", "checksum = 'x'", "version = 99", "seq = seq - 1"])
def test_a_snapshot_that_is_damaged_is_left_aside(sqlite_url, damage, monkeypatch):
    with Store(sqlite_url) as store, monkeypatch.context() as patch:
        patch.setattr(snapshots, "_MIN_EVENTS", 4)
        club = store.create("club", players=TEN, policy="cucb")
        for _ in range(9):
            club.ask()
        digest, seqs = club.digest(), kept(store)
        with store.writing() as connection:
            connection.execute(text(f"UPDATE mb_snapshots SET {damage} WHERE seq = {seqs[-1]}"))
    with Store(sqlite_url) as store:
        again = store.open("club")
        assert again._replica._snapshot == seqs[0]
        assert again.digest() == digest
    with Store(sqlite_url) as store:
        with store.writing() as connection:
            connection.execute(text(f"UPDATE mb_snapshots SET {damage}"))
        assert store.open("club").digest() == digest


def test_a_large_league_makes_them_seldom():
    class State:
        seq, tally = 30_000, range(200_000)

    assert not snapshots.is_due(State(), 0)
    assert snapshots.is_due(State(), -10_000)


def test_a_slow_start_leaves_one_for_the_next(sqlite_url, monkeypatch):
    with Store(sqlite_url) as store:
        digest = store.create("club", players=TEN).digest()
    monkeypatch.setattr("matchbandit.live.replica._SLOW_START_S", -1.0)
    with Store(sqlite_url) as store:
        assert store.open("club").digest() == digest
        assert kept(store) == [2]
    with Store(f"sqlite:///file:{sqlite_url.removeprefix('sqlite:///')}?mode=ro&uri=true") as store:
        assert store.open("club").digest() == digest  # where nothing can be written, none is


def test_a_log_that_was_put_back_is_read_again(club, store):
    club.join("eve")
    club.digest()
    with store.writing() as connection:
        connection.execute(text("DELETE FROM mb_events WHERE seq = 3"))
        connection.execute(text("DELETE FROM mb_names WHERE item = 11"))
        connection.execute(text("UPDATE mb_leagues SET head = 2"))
    assert club.join("fay")[0].id == 11


def test_a_snapshot_that_has_to_wait_spoils_no_answer(sqlite_url, monkeypatch):
    with Store(sqlite_url, lock_timeout=0.1) as store:
        club = store.create("club", players=TEN, policy="cucb", seed=1)
        made = club.ask()
        replica = club._replica
        monkeypatch.setattr(snapshots, "is_due", lambda state, last: True)
        taken = replica._turn.release

        def release() -> None:  # somebody takes the guard as soon as the commit is done
            taken()
            if not replica._guard._is_locked:
                replica._guard.acquire()

        monkeypatch.setattr(replica._turn, "release", release)
        assert club.tell(made.number, dict.fromkeys(made.pairs, 1.0)).booked == 5
        replica._guard.release()


def test_outcomes_that_can_be_read_once_are_booked_also_when_a_commit_is_tried_twice(club):
    made = club.ask()

    def fails(view: View) -> tuple[list[Draft], dict[str, int]]:
        raise RuntimeError("a defect")

    told = ((*pair, 1.0) for pair in made.pairs)
    answers = Held(club)(lambda: club.tell(made.number, told, key="k"), lambda: club._replica.write(fails, by="test"))
    assert isinstance(answers[0], Receipt)
    assert answers[0].booked == 5
    assert club.tell(made.number, iter([(*pair, 1.0) for pair in made.pairs]), key="k") == answers[0]
