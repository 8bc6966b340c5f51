"""`verify` folds from nothing, decides again and compares: it finds what was changed by hand."""

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from matchbandit.live import Store, snapshots
from matchbandit.live.league import League


def played(store: Store, monkeypatch: pytest.MonkeyPatch) -> League:
    monkeypatch.setattr(snapshots, "_MIN_EVENTS", 5)
    club = store.create("club", players=[*"abcdefg"], policy="cts-gaussian", seed=3, no_rematch=1)
    for _ in range(3):
        club.ask()
        club.wish([("a", "b")])
        proposal = club.ask(available=[*"abcde"], fixed=[("c", "d")])
        club.tell(proposal.number, dict.fromkeys(proposal.pairs, 1))
    return club


@pytest.fixture
def store(sqlite_url: str) -> Iterator[Store]:
    """What was changed by hand is found in the same way on both databases."""
    with Store(sqlite_url) as opened:
        yield opened


@pytest.fixture
def club(store: Store, monkeypatch: pytest.MonkeyPatch) -> League:
    return played(store, monkeypatch)


def change(store: Store, statement: str) -> None:
    with store.writing() as connection:
        assert connection.execute(text(statement)).rowcount


def test_all_is_as_the_log_says(url, monkeypatch):
    seen: list[int] = []
    with Store(url) as store:
        found = played(store, monkeypatch).verify(progress=seen.append)
    assert found.ok
    assert (found.events, found.proposals, found.snapshots, found.other_versions) == (14, 6, 2, 0)
    assert seen == list(range(1, 15))


@pytest.mark.parametrize(
    "settings",
    [
        {"policy": "rank1-thompson", "options": {"half_life": 3}, "shadow": "cucb"},
        {"policy": "adaptive-matching", "options": {"horizon": 100}},
        {"policy": "cts-beta", "rewards": "binomial:4"},
        {"policy": "kl-ucb"},
    ],
)
def test_all_kinds_of_policies_decide_the_same_again(sqlite_url, settings):
    with Store(sqlite_url) as store:
        club = store.create("club", players=[*"abcd"], seed=5, **settings)
        for number in range(1, 7):
            club.tell(number, {pair: number % 2 for pair in club.ask().pairs})
        found = club.verify()
    assert (found.differences, found.proposals) == ((), 6)


def test_a_proposal_that_was_changed(club, store):
    change(store, "UPDATE mb_events SET data = replace(data, '\"pairs\":[[', '\"pairs\":[[6,7],[') WHERE seq = 3")
    found = club.verify()
    assert not found.ok
    assert any("Proposal 1 " in words for words in found.differences)


def test_a_proposal_of_another_version_may_differ(club, store, monkeypatch):
    change(store, "UPDATE mb_events SET data = replace(data, '\"pairs\":[[', '\"pairs\":[[6,7],[') WHERE seq = 3")
    monkeypatch.setattr("matchbandit.live.verify.this_version", lambda: "99.0")
    found = club.verify()
    assert found.other_versions == 1
    assert not any("Proposal 1 " in words for words in found.differences)


def test_an_outcome_that_was_changed(club, store):
    change(store, "UPDATE mb_events SET data = replace(data, ',1.0]', ',0.0]') WHERE kind = 'told'")
    found = club.verify()
    for what in ("table of proposals", "state of this process", "snapshot"):
        assert any(what in words for words in found.differences)


def test_a_row_of_the_table_that_was_changed(club, store):
    change(store, "UPDATE mb_proposals SET reward = reward + 1 WHERE number = 2")
    (words,) = club.verify().differences
    assert "proposal 2" in words
    change(store, "DELETE FROM mb_proposals WHERE number = 6")
    assert "proposal 6" in club.verify().differences[-1]


def test_a_snapshot_that_was_changed(club, store):
    change(store, "UPDATE mb_snapshots SET checksum = 'x' WHERE seq = (SELECT max(seq) FROM mb_snapshots)")
    (words,) = club.verify().differences
    assert "event 10 " in words


def test_an_event_that_is_gone(club, store):
    change(store, "DELETE FROM mb_events WHERE seq = 9")
    found = club.verify()
    assert found.events == 8
    assert "the log has a gap" in found.differences[0]


def test_of_many_differences_the_first_ten_are_told(store):
    club = store.create("club", players=[*"abcd"], policy="cucb")
    for _ in range(12):
        club.ask()
    change(store, "UPDATE mb_proposals SET n_pairs = 7")
    assert len(club.verify().differences) == 10
