"""Leagues on a store, on both databases: the doors, outcomes, items, rules, keys, deadlines and what is forgotten."""

import json
from pathlib import Path
from time import monotonic

import pytest
from clocks import Clock
from sqlalchemy import select, text

import matchbandit as mb
from matchbandit.live import VOID, LeagueError, Store, schema
from matchbandit.live.league import League
from matchbandit.live.records import Proposal, Receipt

FOUR = ["ann", "bob", "cem", "dee"]


@pytest.fixture
def club(store: Store) -> League:
    return store.create("club", players=FOUR, policy="cucb", seed=1)


@pytest.fixture
def small(sqlite_url: str, clock: Clock) -> League:
    """Where the database does not matter."""
    return Store(sqlite_url, clock=clock).create("club", players=FOUR, policy="cucb", seed=1)


def code_of(call, *arguments, **options) -> str:
    with pytest.raises(LeagueError) as caught:
        call(*arguments, **options)
    return caught.value.code


def everything(store: Store) -> str:
    """All rows of all tables, as text."""
    with store.reading() as connection:
        return "\n".join(
            repr(tuple(row)) for table in schema.metadata.sorted_tables for row in connection.execute(select(table))
        )


# The doors -----------------------------------------------------------------------------------------------------------


def test_the_doors(url, clock):
    store = Store(url, clock=clock)
    club = store.create("club", players=["ann", "bob", "cem", "dee"], policy="rank1-thompson", seed=1)
    today = club.ask(available=["ann", "bob", "cem"])
    assert (today.number, today.pairs, today.byes) == (1, [("ann", "bob")], ["cem"])
    assert club.tell(today.number, {("ann", "bob"): 1}) == Receipt(proposal=1, booked=1, repeated=0, waiting=0)
    club.join("eve")
    club.leave("bob")
    assert {row.name for row in club.ranking()} == {"ann", "cem", "dee", "eve"}
    assert club.ranking()[0].name == "ann"
    assert [event.kind for event in club.events()] == ["created", "joined", "proposed", "told", "joined", "left"]
    assert store.open("club").digest() == club.digest()
    store.close()


def test_two_sides(store):
    shop = store.create("shop", sides={"ads": ["car", "tea"], "slots": ["top", "side", "foot"]}, policy="cucb")
    proposal = shop.ask()
    assert all(ad in ("car", "tea") and slot in ("top", "side", "foot") for ad, slot in proposal.pairs)
    assert len(proposal.pairs) == 2
    shop.tell(proposal.number, dict.fromkeys(proposal.pairs, 0))
    assert [item.side for item in shop.join("end", side="slots")] == ["slots"]
    assert shop.item("end", side="slots").id == 6
    assert code_of(shop.join, "end") == "bad-value"  # which side?


def test_what_is_created_can_be_opened_listed_and_not_created_again(store):
    store.create("club", players=FOUR)
    store.create("art-club")
    assert store.leagues() == ["art-club", "club"]
    assert store.open("club").about()["n_active"] == 4
    assert code_of(store.create, "club") == "league-exists"
    with pytest.raises(LeagueError, match=r"there is no league 'clbu' in .*; did you mean 'club'\?") as caught:
        store.open("clbu")
    assert caught.value.code == "unknown-league"
    for odd in ("a\x00b", "Zoë", "", "x" * 10_000, "\ud800", 7, None):
        assert code_of(store.open, odd) == "unknown-league"


def test_what_cannot_be_created_leaves_nothing(store):
    assert code_of(store.create, "club", players=["ann", "ann"]) == "name-taken"
    assert code_of(store.create, "Club!", players=FOUR) == "bad-name"
    assert code_of(store.create, "club", players=FOUR, policy="cucbb") == "bad-value"
    assert store.leagues() == []


def test_a_league_can_begin_from_a_file_of_results(small, tmp_path):
    (tmp_path / "clicks.csv").write_text("ad,slot,reward\ncar,top,1\ntea,top,0\ncar,foot,1\n")
    shop = small.store.create("shop", past=tmp_path / "clicks.csv", policy="cucb")
    assert shop.about()["sides"] == ["ad", "slot"]
    assert [(item.name, item.side) for item in shop.items()] == [
        ("car", "ad"), ("tea", "ad"), ("top", "slot"), ("foot", "slot")
    ]  # fmt: skip
    again = small.store.create("again", sides={"ads": ["car"], "slots": []}, past=str(tmp_path / "clicks.csv"))
    assert again.results() == shop.results()
    frame = mb.read_results(tmp_path / "clicks.csv").to_frame()
    for number, table in enumerate((frame, {name: frame[name].tolist() for name in frame.columns})):
        assert small.store.create(f"framed-{number}", past=table).results() == shop.results()
    assert code_of(small.store.create, "none", past=frame[:0]) == "bad-value"
    assert code_of(small.store.create, "none", past=tmp_path / "none.csv") == "bad-value"
    assert code_of(small.store.create, "none", past=[("ann", "bob", "much")]) == "bad-value"
    assert code_of(small.store.create, "none", past=[("ann", "bob", 7)]) == "reward-outside"
    by_one = [("ann", "bob", 0.37)] * 20  # 7.4 in all, which shares of five trials could be
    assert code_of(small.store.create, "none", past=by_one, rewards="binomial:5") == "reward-outside"
    assert code_of(small.store.create, "none", past=[("ann", "bob", 20, 7.5)], rewards="binomial:5") == "reward-outside"


def test_a_league_can_begin_from_results_of_before(store):
    club = store.create("club", players=["ann"], past=[("ann", "bob", 4, 3.0), ("cem", "bob", 2, 0.0)], policy="cucb")
    assert [item.name for item in club.items()] == ["ann", "bob", "cem"]
    assert club.results() == [("ann", "bob", 4, 3.0), ("bob", "cem", 2, 0.0)]


# Outcomes ------------------------------------------------------------------------------------------------------------


def test_outcomes_come_late_and_in_any_order(club):
    first, second = club.ask(), club.ask()
    late = first.pairs[1]
    assert club.tell(second.number, {second.pairs[0]: 1}).waiting == 1
    assert club.tell(first.number, {late: 0}) == Receipt(1, booked=1, repeated=0, waiting=1)
    assert club.proposal(1).outcomes == {late: 0.0}
    assert [proposal.number for proposal in club.open_proposals()] == [1, 2]
    club.tell(first.number, {first.pairs[0]: 1})
    assert [proposal.number for proposal in club.open_proposals()] == [2]
    assert not club.proposal(1).open


def test_names_of_a_pair_come_in_either_order(small):
    proposal = small.ask()
    a, b = proposal.pairs[0]
    assert small.tell(1, {(b, a): 1}).booked == 1
    assert small.tell(1, [(b, a, 1)]).repeated == 1
    assert small.tell(1, [(*reversed(proposal.ids[0]), 1)]).repeated == 1  # ids stand for names


def test_a_repeat_is_no_news_and_a_contradiction_is_refused_also_when_the_proposal_is_closed(club):
    proposal = club.ask()
    outcomes = {proposal.pairs[0]: 1, proposal.pairs[1]: VOID}
    club.tell(1, outcomes)
    before = club.events()
    assert club.tell(1, outcomes) == Receipt(1, booked=0, repeated=2, waiting=0)
    assert code_of(club.tell, 1, {proposal.pairs[0]: 0}) == "contradiction"
    assert code_of(club.tell, 1, {proposal.pairs[1]: 0}) == "contradiction"
    assert club.events() == before
    assert club.proposal(1).outcomes == outcomes


def test_all_or_nothing(small):
    proposal = small.ask()
    before = small.events()
    assert code_of(small.tell, 1, {proposal.pairs[0]: 1, proposal.pairs[1]: 7}) == "reward-outside"
    assert code_of(small.tell, 1, {proposal.pairs[0]: 1, ("ann", "ann"): 1}) == "bad-value"
    assert code_of(small.tell, 1, {proposal.pairs[0]: 1, ("ann", "zoe"): 1}) == "unknown-item"
    assert code_of(small.tell, 9, {proposal.pairs[0]: 1}) == "unknown-proposal"
    assert code_of(small.proposal, 9) == "unknown-proposal"
    assert code_of(small.tell, "1; DROP", {proposal.pairs[0]: 1}) == "unknown-proposal"
    assert small.events() == before


def test_a_correction_of_a_closed_proposal_leaves_a_trace(club):
    proposal = club.ask()
    one, other = proposal.pairs
    club.tell(1, {one: 1, other: VOID})
    assert club.correct(1, {one: 0, other: 1}).booked == 2
    assert club.proposal(1).outcomes == {one: 0.0, other: 1.0}
    a, b = proposal.ids[0]
    assert [a, b, 1.0, 0.0] in club.events()[-1].data["outcomes"]
    assert sum(paid for *_, paid in club.results()) == 1.0
    assert club.history()[0].reward == 1.0


def test_void_is_not_zero(club):
    club.ask()
    assert club.void(1) == Receipt(1, booked=2, repeated=0, waiting=0)
    assert set(club.proposal(1).outcomes.values()) == {VOID}
    assert club.results() == []


def test_lists_of_proposals_go_on_where_they_ended(club):
    for _ in range(5):
        club.ask()
    club.void(2)
    assert [proposal.number for proposal in club.proposals()] == [1, 2, 3, 4, 5]
    assert [proposal.number for proposal in club.proposals(after=1, limit=2)] == [2, 3]
    assert club.proposals(after=1, limit=1) == [club.proposal(2)]
    assert [line.void for line in club.history(after=1, limit=2)] == [2, 0]
    assert [event.seq for event in club.events(after=3, limit=2)] == [4, 5]
    assert club.events(after=100) == []


def test_why(club):
    proposal = club.ask()
    assert "no results yet" in club.why("ann").sentence
    assert "have not met yet" in club.why(proposal.pairs[0]).sentence
    assert club.why(proposal.pairs[0]).numbers["proposal"]["number"] == 1
    club.tell(1, dict.fromkeys(proposal.pairs, 1))
    assert club.why("ann").numbers["meetings"] == club.why(item=1).numbers["meetings"] == 1
    assert club.why(proposal.pairs[0]).numbers["proposal"]["outcome"] == 1.0
    assert club.why(1).sentence.startswith("Proposal 1 is 2 pairs")
    assert club.why().numbers["results"] == 2
    assert code_of(club.why, 2) == "unknown-proposal"
    assert code_of(club.why, "zoe") == "unknown-item"


def test_what_there_is_to_see(club):
    proposal = club.ask()
    club.tell(1, dict.fromkeys(proposal.pairs, 1))
    assert club.meetings().rows == [1, 2, 3, 4]
    assert sum(map(sum, club.meetings().counts)) == 4
    assert club.fit().results == 2
    assert club.shadow_report().shadow is None
    assert [sentence for _, sentence in club.audit(after=1, limit=1)] == ["ann, bob, cem, dee joined."]
    about = club.about()
    assert (about["name"], about["policy"], about["n_results"], about["n_open"]) == ("club", "cucb", 2, 0)
    assert json.loads(json.dumps(about))["n_events"] == 4


# Items and rules -----------------------------------------------------------------------------------------------------


def test_items_join_leave_return_and_are_renamed_and_nobody_else_is_forgotten(club):
    proposal = club.ask()
    club.tell(1, dict.fromkeys(proposal.pairs, 1))
    assert [(item.id, item.name, item.meetings) for item in club.join("eve", "fay")] == [(5, "eve", 0), (6, "fay", 0)]
    assert [item.active for item in club.leave("ann", "bob")] == [False, False]
    assert {name for pair in club.ask().pairs for name in pair} == {"cem", "dee", "eve", "fay"}
    assert [(item.id, item.meetings) for item in club.join("ann")] == [(1, 1)]
    assert club.leave("bob")[0].name == "bob"  # it is gone already
    assert club.rejoin("bob")[0].active
    assert club.rename("ann", "Anna").name == "Anna"
    assert code_of(club.rename, "bob", "Anna") == "name-taken"
    with pytest.raises(LeagueError, match=r"no player is named 'anna'; did you mean 'Anna'\?"):
        club.ask(available=["anna", "bob"])
    assert club.results()[0][0] == "Anna"


def test_rules(club):
    club.exclude([("ann", "bob"), ("ann", "cem")])
    assert ("ann", "dee") in club.ask().pairs
    club.allow([("ann", "cem")])
    club.wish([("ann", "cem")])
    proposal = club.ask()
    assert ("ann", "cem") in proposal.fixed
    assert club.about()["exclusions"] == [("ann", "bob")]
    assert club.about()["wishes"] == []  # fulfilled
    assert ("cem", "dee") in club.ask(fixed=[("dee", "cem")]).fixed
    club.wish([("bob", "cem")])
    club.unwish([("bob", "cem")])
    assert club.configure(no_rematch=2, policy="cts-gaussian")["no_rematch"] == 2
    assert code_of(club.configure, colour="red") == "bad-value"


def test_an_infeasible_day_says_why_and_writes_nothing(club):
    before = club.events()
    assert code_of(club.ask, available=["ann"]) == "infeasible"
    assert club.events() == before
    assert club.ask().number == 1


# Keys ----------------------------------------------------------------------------------------------------------------


def test_the_same_request_under_the_same_key_is_done_once(club):
    first = club.ask(key="a")
    assert club.ask(key="a") == first
    assert club.ask(key="b").number == 2
    receipt = club.tell(1, {first.pairs[0]: 1}, key="c")
    club.tell(1, {first.pairs[1]: 1})
    assert club.tell(1, {first.pairs[0]: 1.0}, key="c") == receipt == Receipt(1, booked=1, repeated=0, waiting=1)
    assert club.tell(1, {first.pairs[0]: 1}, key="d") == Receipt(1, booked=0, repeated=1, waiting=0)
    assert club.tell(1, {first.pairs[0]: 1}, key="d").repeated == 1  # what did nothing has an answer, too
    joined = club.join("eve", key="e")
    assert club.join("eve", key="e") == joined
    club.leave("eve", key="f")
    club.join("eve")
    assert club.leave("eve", key="f")[0].active  # done once
    club.exclude([("ann", "bob")], key="g")
    club.exclude([("ann", "bob")], key="g")
    club.configure(no_rematch=1, key="h")
    club.configure(no_rematch=1, key="h")
    assert len([event for event in club.events() if event.kind == "excluded"]) == 1


def test_a_key_is_for_one_request(club):
    club.ask(key="a")
    club.tell(1, {club.proposal(1).pairs[0]: 1}, key="b")
    before = club.events()
    for other in (
        lambda: club.ask(key="a", available=["ann", "bob"]),
        lambda: club.join("eve", key="a"),
        lambda: club.tell(1, {club.proposal(1).pairs[0]: 0}, key="b"),
    ):
        assert code_of(other) == "key-reused"
    for bad in ("", "x" * 201, "a\nb", 7):
        assert code_of(club.ask, key=bad) == "bad-value"
    assert club.events() == before


def test_a_request_that_was_refused_leaves_its_key_free(club):
    assert code_of(club.ask, available=["ann"], key="a") == "infeasible"
    assert club.ask(key="a").number == 1


def test_a_league_is_created_once_under_its_key(store):
    club = store.create("club", players=FOUR, key="a")
    assert store.create("club", players=FOUR, key="a").digest() == club.digest()
    assert code_of(store.create, "club", players=FOUR[:2], key="a") == "key-reused"
    assert code_of(store.create, "club", players=FOUR, key="b") == "league-exists"
    club.ask(key="c")
    assert code_of(store.create, "club", players=FOUR, key="c") == "key-reused"


# Deadlines -----------------------------------------------------------------------------------------------------------


def test_a_deadline_that_passes_is_an_event(store, clock):
    club = store.create("club", players=FOUR, policy="cucb", deadline=3600)
    proposal = club.ask()
    assert proposal.due == "2026-11-16T10:30:00.000000Z"
    club.tell(1, {proposal.pairs[0]: 1})
    clock.forward(minutes=59)
    assert store.tick() == 0
    clock.forward(minutes=1)
    assert store.tick() == 1
    assert store.tick() == 0
    event = club.events()[-1]
    assert (event.kind, event.by, event.at) == ("expired", "clock", "2026-11-16T10:30:00.000000Z")
    assert club.proposal(1).outcomes == {proposal.pairs[0]: 1.0, proposal.pairs[1]: VOID}
    assert club.correct(1, {proposal.pairs[1]: 1}).booked == 1


def test_one_league_that_fails_does_not_stop_the_clock_of_others(store, clock):
    for slug in ("a", "b", "c"):
        store.create(slug, players=FOUR, policy="cucb", deadline=60).ask()
    with store.writing() as connection:  # "b" has an event that nobody knows
        connection.execute(text("UPDATE mb_leagues SET head = 4 WHERE slug = 'b'"))
        connection.execute(
            text("INSERT INTO mb_events SELECT league_id, 4, at, 'x', NULL, by, data FROM mb_events WHERE seq = 1"),
        )
        connection.execute(text("DELETE FROM mb_events WHERE seq = 4 AND league_id <> 2"))
    clock.forward(seconds=61)
    with pytest.raises(LeagueError, match="newer than this program"):
        store.tick()
    assert [store.open(slug).events()[-1].kind for slug in "ac"] == ["expired", "expired"]


def test_deadlines_pass_before_anything_else_is_written(club, clock):
    club.configure(deadline=60, default=0)
    one, two = club.ask(), club.ask()
    clock.forward(seconds=61)
    assert code_of(club.tell, 1, {one.pairs[0]: 1}) == "contradiction"
    assert [event.kind for event in club.events()[-2:]] == ["expired", "expired"]
    assert set(club.proposal(two.number).outcomes.values()) == {0.0}
    clock.forward(days=1)
    club.ask()
    assert club.events()[-1].data["due"] == "2026-11-17T09:32:01.000000Z"


def test_a_decision_comes_after_the_deadlines_that_have_passed(store, clock):
    club = store.create("club", players=FOUR, policy="cucb", deadline=60, default=1)
    club.ask()
    clock.forward(seconds=61)
    club.ask()
    assert [event.kind for event in club.events()[-2:]] == ["expired", "proposed"]
    assert club.events()[-1].data["decided_at"] == club.events()[-1].seq - 1


# Privacy -------------------------------------------------------------------------------------------------------------


def test_events_carry_no_names(club):
    club.tell(1, {club.ask().pairs[0]: 1}, key="a")
    club.rename("ann", "Annabel")
    club.exclude([("Annabel", "bob")])
    assert not any(name in str(event.data) for event in club.events() for name in ("ann", "bob", "Annabel"))


def test_what_is_forgotten_is_nowhere(store, tmp_path):
    club = store.create("club", players=["Annabel", "bob", "cem", "dee"], policy="cucb", key="a")
    proposal = club.ask(key="b", available=["Annabel", "bob"])
    club.tell(1, {("Annabel", "bob"): 1}, key="c")
    club.rename("Annabel", "Annabella", key="d")
    assert "Annabella" in everything(store)
    club.join("eve", key="Annabella joins")
    gone = club.forget("Annabella", key="forget Annabella")
    assert (gone.name, gone.active, gone.forgotten, gone.meetings) == ("#1", False, True, 1)
    assert club.forget("Annabella", key="forget Annabella") == gone
    assert "Annab" not in everything(store)
    assert club.results() == [("#1", "bob", 1, 1.0)]
    assert club.proposal(1).pairs == [("#1", "bob")]
    if store.database.is_sqlite:  # not in the files, either
        assert not any(b"Annab" in file.read_bytes() for file in tmp_path.iterdir())
    assert club.ask(key="b", available=[1, "bob"]).number == proposal.number
    assert club.join("Annabel")[0].id == 6


def test_a_key_is_for_one_request_also_after_an_item_was_forgotten(club, store):
    first = club.ask(key="a", available=["ann", "bob"])
    club.tell(1, {("ann", "bob"): 1}, key="b")
    club.join("eve", key="c")
    club.rename("eve", "Eve", key="d")
    club.exclude([("ann", "cem")], key="e")
    club.leave("dee", "bob", key="f")
    club.forget("cem", key="g")
    before = club.events()
    for other in (
        lambda: club.ask(key="a"),
        lambda: club.ask(key="a", available=["ann", "Eve"]),
        lambda: club.tell(1, {("ann", "bob"): 0}, key="b"),
        lambda: club.tell(1, {("ann", "Eve"): 1}, key="b"),
        lambda: club.join("fay", key="c"),
        lambda: club.rename("Eve", "Evelyn", key="d"),
        lambda: club.rename("ann", "Eve", key="d"),
        lambda: club.exclude([("ann", "bob")], key="e"),
        lambda: club.exclude([("ann", "cem")], key="e"),  # nobody knows any more who that was
        lambda: club.leave("dee", key="f"),
        lambda: club.forget("dee", key="g"),
        lambda: store.create("club", players=FOUR, key="a"),
    ):
        assert code_of(other) == "key-reused"
    assert club.ask(key="a", available=["bob", "ann"]) == club.ask(key="a", available=[1, 2]) == club.proposal(1)
    assert first.pairs == club.proposal(1).pairs
    assert club.tell(1, {("bob", "ann"): 1}, key="b") == club.tell(1, [(1, 2, 1.0)], key="b") == Receipt(1, 1, 0, 0)
    assert club.join("Eve", key="c")[0].name == "Eve"
    assert club.rename("eve", "Eve", key="d").name == "Eve"
    club.exclude([(3, 1)], key="e")
    assert {item.id for item in club.leave("bob", "dee", key="f")} == {2, 4}
    assert club.forget("cem", key="g").name == "#3"
    assert club.events() == before


def test_a_league_of_two_sides_is_created_once_under_its_key(store):
    settings = {"sides": {"ads": ["a", "b"], "slots": ["a"]}, "past": [("b", "a", 2, 1.0)], "key": "k"}
    shop = store.create("shop", **settings)
    shop.join("c", side="ads")
    assert store.create("shop", **settings).name == "shop"
    assert code_of(store.create, "shop", **settings | {"past": [("a", "a", 2, 1.0)]}) == "key-reused"
    assert code_of(store.create, "shop", **settings | {"sides": {"ads": ["a", "c"], "slots": ["a"]}}) == "key-reused"
    assert code_of(store.create, "shop", **settings | {"policy": "cucb"}) == "key-reused"


def test_the_same_key_is_kept_otherwise_in_every_league_and_store(store, tmp_path):
    with Store(f"sqlite:///{tmp_path}/other.db") as other:
        kept = set()
        for opened, slug in ((store, "club"), (store, "team"), (other, "club")):
            opened.create(slug, players=FOUR).ask(key="ann")
            with opened.reading() as connection:
                kept |= set(connection.execute(select(schema.keys.c.key)).scalars())
        assert len(kept) == 3


# Several handles -----------------------------------------------------------------------------------------------------


def test_two_stores_on_one_database_see_what_the_other_wrote(url, clock):
    with Store(url, clock=clock) as here, Store(url, clock=clock) as there:
        ours = here.create("club", players=FOUR, policy="cucb")
        theirs = there.open("club")
        proposal = theirs.ask()
        assert ours.proposal(1) == proposal
        ours.tell(1, {proposal.pairs[0]: 1})
        assert theirs.tell(1, {proposal.pairs[0]: 1}).repeated == 1
        theirs.join("eve")
        ours.rename("eve", "Eve")
        assert theirs.item("Eve").id == 5
        assert theirs.ask(key="x") == ours.ask(key="x")
        ours.configure(policy="cts-gaussian")
        assert theirs.about()["policy"] == "cts-gaussian"
        assert ours.digest() == theirs.digest()


def test_a_league_that_is_gone(club, store):
    with store.writing() as connection:
        connection.execute(text("DELETE FROM mb_leagues"))
    assert code_of(club.ask) == "unknown-league"
    assert code_of(club.join, "eve") == "unknown-league"
    assert everything(store).count("\n") == 0  # all that belonged to it went with it


def test_the_log_of_a_newer_program_is_not_read(store):
    club = store.create("club", players=FOUR)
    with store.writing() as connection:
        connection.execute(text("UPDATE mb_events SET kind = 'teleported' WHERE seq = 2"))
    other = Store(store.engine.url.render_as_string(hide_password=False))
    with pytest.raises(LeagueError, match="this log is newer than this program"):
        other.open("club")
    other.close()
    assert len(club.items()) == 4


def test_policies_that_play_whole_rounds(store):
    club = store.create("club", players=FOUR, policy="adaptive-matching", options={"horizon": 1000})
    proposal = club.ask()
    assert code_of(club.ask) == "round-open"
    club.tell(1, dict.fromkeys(proposal.pairs, 1))
    again = club.ask()
    assert isinstance(again, Proposal)
    assert code_of(club.join, "eve") == "not-supported"


def test_gaussian_rewards_by_their_distribution(small):
    store = small.store
    other = store.create("other", players=FOUR, policy="cucb", rewards=mb.Gaussian(sd=0.5))
    assert other.about()["rewards"] == "gaussian:0.5"


def test_a_league_says_which_one_it_is(small, tmp_path: Path):
    assert repr(small) == f"League('club', sqlite:///{tmp_path}/store.db)"
    assert small.name == "club"


def test_what_is_forgotten_while_somebody_reads_is_wiped_afterwards(sqlite_url, tmp_path):
    def lingers() -> bool:
        return any(b"Annabella" in file.read_bytes() for file in tmp_path.glob("store.db*"))

    with Store(sqlite_url, lock_timeout=120.0) as store:
        club = store.create("club", players=["Annabella", "bob"])
        with store.reading() as connection:
            connection.execute(text("SELECT count(*) FROM mb_names")).scalar_one()
            began = monotonic()
            club.forget("Annabella")
            assert monotonic() - began < 60  # not the lock_timeout of the store
            assert lingers()
        store.tick()
        assert not lingers()


def test_an_unknown_side_and_a_number_beyond_floats_are_refused_in_words(small):
    ads = small.store.create("ads", sides={"ads": ["x"], "slots": ["top"]})
    assert code_of(ads.item, "x", side="nope") == "bad-value"
    assert code_of(ads.why, "x", side="nope") == "bad-value"
    made = small.ask()
    assert code_of(small.tell, made.number, {made.pairs[0]: 10**400}, key="k") == "reward-outside"
