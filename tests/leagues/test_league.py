"""A league as its users see it: keys, conflicts, deadlines, archived leagues."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from matchbandit.leagues import VOID, LeagueError, Store, deciding

PEOPLE = ["ann", "bob", "cem", "dee"]


def test_ask_returns_what_proposal_reads(store):
    league = store.create("club", players=[*PEOPLE, "eve"], deadline=60, record_propensity=3, no_rematch=1)
    for _ in range(3):
        asked = league.ask()
        assert league.proposal(asked.number) == asked
        league.tell(asked.number, {pair.names: 1 for pair in asked.pairs})


def test_ask_again_if_another_process_changed_the_league_meanwhile(store_url, monkeypatch):
    with Store(store_url) as first, Store(store_url) as second:
        here, there = first.create("club", players=PEOPLE), second.open("club")
        others = [
            there.ask,
            there.ask,
            lambda: there.exclude([("ann", "bob"), ("cem", "dee")]),
            lambda: there.join("eve"),
        ]
        decide = deciding.decide

        def decide_late(*args: object) -> deciding.Draft:
            draft = decide(*args)
            if others:
                with monkeypatch.context() as patch:
                    patch.setattr(deciding, "decide", decide)
                    others.pop()()
            return draft

        monkeypatch.setattr(deciding, "decide", decide_late)
        proposal = here.ask()
        assert (proposal.number, len(proposal.byes)) == (3, 1)
        assert {("ann", "bob"), ("cem", "dee")}.isdisjoint(pair.names for pair in proposal.pairs)
        assert [proposal.number for proposal in here.proposals()] == [1, 2, 3]


def test_ask_decides_while_others_wait_if_the_league_changes_all_the_time(sqlite_url, monkeypatch):
    with Store(sqlite_url) as store, Store(sqlite_url, timeout=0.05) as other:
        league, decide, errors = store.create("club", players=PEOPLE), deciding.decide, []

        def decide_late(*args: object) -> deciding.Draft:
            draft = decide(*args)
            try:
                other.open("club").pin([("ann", "bob")])
                other.open("club").unpin([("ann", "bob")])
            except LeagueError as error:
                errors.append(error.code)
            return draft

        monkeypatch.setattr(deciding, "decide", decide_late)
        assert league.ask().number == league.info().proposals == 1
        assert errors == ["store-busy"]


def test_ask_in_many_threads_gives_consecutive_numbers_without_repeated_decisions(store, monkeypatch):
    store.create("club", players=PEOPLE)
    decisions, decide, start = [], deciding.decide, Barrier(6)
    monkeypatch.setattr(deciding, "decide", lambda *args: (decisions.append(1), decide(*args))[1])
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: (start.wait(60), store.open("club").ask()), range(6)))
    assert [proposal.number for proposal in store.open("club").proposals()] == [1, 2, 3, 4, 5, 6]
    assert len(decisions) == 6


def test_ask_decides_with_the_outcomes_of_a_passed_deadline(store, clock):
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


def test_repr_names_league_and_store(store):
    assert repr(store.create("club", players=PEOPLE)) == f"League('club', {store.database.display_url})"
