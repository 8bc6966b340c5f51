"""A league as its users see it: keys, conflicts, deadlines, archived leagues."""

from threading import Barrier, Thread

import pytest
from clocks import Clock

from matchbandit.leagues import VOID, LeagueError, Store, deciding

PEOPLE = ["ann", "bob", "cem", "dee"]


def test_ask_with_the_same_key_returns_the_same_proposal(store: Store) -> None:
    league = store.create("club", players=PEOPLE)
    first = league.ask(key="monday")
    league.rename("ann", "anna")
    again = league.ask(key="monday")
    assert (again.number, [pair.ids for pair in again.pairs]) == (1, [pair.ids for pair in first.pairs])
    assert league.ask(key="tuesday").number == 2
    with pytest.raises(LeagueError, match="Use a new key") as caught:
        league.ask(key="monday", available=["bob", "cem"])
    assert caught.value.code == "key-reused"


def test_ask_returns_what_proposal_reads(store: Store) -> None:
    league = store.create("club", players=[*PEOPLE, "eve"], deadline=60, record_propensity=3, no_rematch=1)
    for _ in range(3):
        asked = league.ask()
        assert league.proposal(asked.number) == asked
        league.tell(asked.number, {pair.names: 1 for pair in asked.pairs})


def test_ask_again_if_another_process_proposed_meanwhile(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(store_url) as first, Store(store_url) as second:
        here, there = first.create("club", players=PEOPLE), second.open("club")
        decide, conflicts = deciding.decide, iter([1, 2, 3, 4])

        def decide_late(*args: object) -> deciding.Draft:
            draft = decide(*args)  # type: ignore[arg-type]
            if next(conflicts, None) is not None:
                with monkeypatch.context() as patch:
                    patch.setattr(deciding, "decide", decide)
                    there.ask()
            return draft

        monkeypatch.setattr(deciding, "decide", decide_late)
        assert here.ask().number == 5
        assert [proposal.number for proposal in here.proposals()] == [1, 2, 3, 4, 5]


def test_ask_gives_up_if_the_league_changes_all_the_time(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(sqlite_url, timeout=0.2) as store, Store(sqlite_url) as other:
        league, decide = store.create("club", players=PEOPLE), deciding.decide

        def decide_late(*args: object) -> deciding.Draft:
            draft = decide(*args)  # type: ignore[arg-type]
            other.open("club").pin([("ann", "bob")])
            other.open("club").unpin([("ann", "bob")])
            return draft

        monkeypatch.setattr(deciding, "decide", decide_late)
        with pytest.raises(LeagueError, match="others change the league 'club' all the time") as caught:
            league.ask()
        assert caught.value.code == "store-busy"
        assert league.info().proposals == 0


def test_ask_in_many_threads_gives_consecutive_numbers_without_repeated_decisions(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create("club", players=PEOPLE)
    decisions, decide, start = [], deciding.decide, Barrier(6)
    monkeypatch.setattr(deciding, "decide", lambda *args: (decisions.append(1), decide(*args))[1])

    def ask() -> None:
        start.wait(60)
        store.open("club").ask()

    threads = [Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [proposal.number for proposal in store.open("club").proposals()] == [1, 2, 3, 4, 5, 6]
    assert len(decisions) == 6


def test_ask_decides_with_the_outcomes_of_a_passed_deadline(store: Store, clock: Clock) -> None:
    league = store.create("club", players=PEOPLE[:2], deadline=60, default=1.0, no_rematch=0)
    league.ask()
    clock.forward(seconds=61)
    proposal = league.ask()
    assert [pair.outcome for pair in league.proposal(1).pairs] == [1.0]
    assert proposal.expected is not None
    league.configure(default=VOID, no_rematch=1)
    clock.forward(seconds=61)
    assert len(league.ask().pairs) == 1  # proposal 2 became void, so they did not meet
    assert [change.by for change in league.history() if change.action == "tell"] == ["deadline", "deadline"]


def test_ask_of_an_archived_league_is_refused(store: Store) -> None:
    league = store.create("club", players=PEOPLE)
    store.archive("club")
    with pytest.raises(LeagueError) as caught:
        league.ask()
    assert caught.value.code == "league-archived"
    assert league.why().warning is None


def test_tell_correct_and_void_return_receipts(store: Store) -> None:
    league = store.create("club", players=PEOPLE)
    first, second = (pair.names for pair in league.ask().pairs)
    receipt = league.tell(1, {first: 1})
    assert (receipt.recorded, receipt.repeated, receipt.waiting) == (1, 0, 1)
    receipt = league.tell(1, [(*first, 1), (*second, 0)], key="all")
    assert league.tell(1, [(*first, 1), (*second, 0)], key="all") == receipt
    assert (receipt.recorded, receipt.repeated, receipt.waiting) == (1, 1, 0)
    with pytest.raises(LeagueError, match="correct it") as caught:
        league.tell(1, {first: 0})
    assert caught.value.code == "contradiction"
    assert league.correct(1, {first: 0}).recorded == 1
    league.ask()
    assert league.void(2).recorded == 2
    assert [pair.outcome for pair in league.proposal(2).pairs] == [VOID, VOID]


def test_repr_names_league_and_store(store: Store) -> None:
    assert repr(store.create("club", players=PEOPLE)) == f"League('club', {store.database.display_url})"
