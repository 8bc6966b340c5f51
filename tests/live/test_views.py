"""What people read: records, history, meetings, the audit trail."""

import pytest
from small_league import START, SmallLeague

from matchbandit.live import views
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import KINDS, LIFE_CYCLE, Draft, Event
from matchbandit.live.model import LeagueModel
from matchbandit.live.records import VOID

PEOPLE = ["ann", "bob", "cem", "dee", "eve"]


def played():
    club = SmallLeague(players=PEOPLE, deadline=600, shadow="cucb")
    club.ask()
    club.ask()
    return club


def test_a_proposal_has_names():
    club = played()
    record = club.record(1)
    first, second = record.state.ids
    club.tell(1, {first: 1, second: VOID})
    club.correct(1, {first: 0})
    proposal = views.proposal(club.record(1), club.directory)
    assert proposal.number == 1
    assert proposal.ids == [first, second]
    assert proposal.pairs == [club.directory.pair(first), club.directory.pair(second)]
    assert proposal.byes == ["eve"]
    assert proposal.bye_ids == [5]
    assert proposal.notes == ["eve sits out: it is their turn."]
    assert proposal.outcomes == {proposal.pairs[0]: 0.0, proposal.pairs[1]: VOID}
    assert not proposal.open
    assert (proposal.at, proposal.due) == (START, "2026-11-16T09:10:00.000000Z")
    assert proposal.best >= proposal.expected > 0
    assert set(proposal.shadow["pairs"]) <= {(a, b) for a in PEOPLE for b in PEOPLE}
    assert views.proposal(club.record(2), club.directory).waiting


def test_records_come_from_their_own_events_only():
    club = played()
    club.void(2)
    both = views.proposal_from([event for event in club.log if event.seq != 4])  # those of the second are no part of it
    assert both.state.number == 1
    assert both.state.open
    with pytest.raises(LeagueError, match="no such proposal"):
        views.proposal_from([])


def test_notes_are_sentences():
    club = SmallLeague(players=PEOPLE)
    notes = [
        ["turn", 1], ["left", 2], ["nobody", 3, "excluded"], ["nobody", 4, "met"], ["nobody", 5, "both"],
        ["near", 9.5, 10.0], ["of a newer program", 1],
    ]  # fmt: skip
    sentences = views.notes({"notes": notes}, club.directory)
    assert len(sentences) == 6
    assert sentences[1].startswith("bob sits out: all who could be partners")
    assert "Allow one of them (allow)" in sentences[2]
    assert "Lower no_rematch" in sentences[3]
    assert "Allow one of them, or lower no_rematch" in sentences[4]
    assert "9.5" in sentences[5]
    assert "95.0%" in sentences[5]


def test_meetings_are_a_table():
    club = SmallLeague(players=PEOPLE, past=[("ann", "bob", 4, 1), ("cem", "ann", 2, 2), ("dee", "eve", 1, 1)])
    club.do("leave", ["eve"])
    table = views.meetings(LeagueModel(club.state))
    assert table.rows == table.columns == [1, 2, 3, 4]
    assert table.counts == [[0, 4, 2, 0], [4, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0]]
    assert table.means[0] == [None, 0.25, 1.0, None]
    assert views.meetings(LeagueModel(club.state), most=2).rows == [1, 2]
    market = SmallLeague(sides={"ads": ["a"], "slots": ["x", "y"]}, past=[("a", "y", 2, 1)])
    table = views.meetings(LeagueModel(market.state))
    assert (table.rows, table.columns, table.counts) == ([1], [2, 3], [[0, 2]])


def test_the_audit_trail_has_a_sentence_for_everything():
    club = SmallLeague(players=[*PEOPLE, "fay", "gus"], deadline=60, past=[("ann", "bob", 3, 1)])
    club.do("exclude", [("ann", "bob")])
    club.do("allow", [("ann", "bob")])
    club.do("wish", [("ann", "cem")])
    club.do("unwish", [("ann", "cem")])
    club.do("leave", ["gus"])
    club.do("join", ["gus"])
    club.do("rename", "gus", "gustav")
    club.do("forget", "gustav")
    club.configure(no_rematch=1, shadow="cucb", deadline=None)
    club.propose((1, 2), (3, 4), byes=(5,))
    club.tell(1, {(1, 2): 0.5, (3, 4): VOID})
    club.correct(1, {(1, 2): VOID})
    club.configure(deadline=60)
    club.propose((1, 2))
    club.wait(60)
    for kind in sorted(LIFE_CYCLE):
        club.take([Draft(kind, {})])
    assert {event.kind for event in club.log} == set(KINDS)
    trail = [views.sentence(event, club.directory) for event in club.log]
    assert len(set(trail)) == len(trail)
    assert not any("unknown kind" in sentence or "gus" in sentence for sentence in trail)
    assert "unknown kind" in views.sentence(Event(1, "", "merged", {}), club.directory)
