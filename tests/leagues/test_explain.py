"""Explanations and the history in words, by hand."""

import pytest
from playing import play, product

from matchbandit.leagues import LeagueError
from matchbandit.leagues.explain import note_sentence

PAST = [("team A", "bob", 4, 4.0), ("team A", "cem", 4, 2.0), ("bob", "cem", 4, 2.0)]


@pytest.fixture
def club(sqlite_store):
    return sqlite_store.create("club", players=["team A", "bob", "cem", "dee"], past=PAST)


def test_why_of_an_item_gives_strength_interval_results_and_rank(club):
    text, numbers = club.why("bob").sentence, club.why("bob").numbers
    assert text == (
        f"bob has a strength of about {numbers['estimate']:.2f} (90 % between {numbers['low']:.2f} and "
        f"{numbers['high']:.2f}), from 8 results of 0.75 on average. A pair is expected to achieve the product of its "
        "two strengths. That is rank 1 of 4."
    )
    assert (numbers["id"], numbers["rank"], numbers["of"], numbers["results"], numbers["mean"]) == (2, 1, 4, 8, 0.75)
    club.leave("bob")
    assert club.why(item=2).sentence.endswith("strengths. bob has left the league.")
    assert club.why("#3").numbers["name"] == "cem"


def test_why_of_an_item_without_results_says_what_is_assumed(club):
    assert club.why("dee").sentence.startswith("dee has no results yet, so its strength is taken to be average: 0.")
    club.ask(available=["dee", "bob", "cem"])
    assert "It has sat out 1 time." in club.why("dee").sentence


@pytest.mark.parametrize("pair", [("bob", "team A"), (("team A", "bob"),), ((1, 2),), ("#1", "#2")])
def test_why_of_a_pair_takes_two_names_or_ids(pair, club):
    explanation = club.why(*pair)
    numbers = explanation.numbers
    assert explanation.sentence == (
        f"team A and bob are expected to achieve {numbers['expected']:.2f} (90 % between {numbers['low']:.2f} and "
        f"{numbers['high']:.2f}). They have met 4 times and achieved 1.00 on average."
    )
    assert (numbers["ids"], numbers["results"], numbers["mean"]) == ([1, 2], 4, 1.0)
    assert numbers["low"] < numbers["expected"] < numbers["high"]


def test_why_of_a_pair_mentions_rules_and_its_last_proposal(club):
    assert "They have not met yet" in club.why("bob", "dee").sentence
    club.exclude([("bob", "dee")])
    assert club.why("dee", "bob").sentence.endswith("They are excluded, so they are not proposed.")
    club.pin([("cem", "dee")])
    assert "They are pinned" in club.why("cem", "dee").sentence
    club.ask()
    explanation = club.why("cem", "dee")
    assert "In proposal 1 they were expected to achieve 0." in explanation.sentence
    assert explanation.sentence.endswith(", and fixed.")
    assert (explanation.numbers["pinned"], explanation.numbers["last_proposal"]) == (False, 1)


def test_why_of_two_sides_needs_the_side_of_an_ambiguous_name(sqlite_store):
    market = sqlite_store.create("market", sides={"ads": ["top", "shoes"], "slots": ["top"]})
    assert market.why("shoes").numbers["side"] == "ads"
    assert market.why("top", side="slots").numbers["id"] == 3
    assert market.why("top", "top").numbers["ids"] == [1, 3]
    with pytest.raises(LeagueError, match="two items, one of ads and one of slots"):
        market.why("top")


def test_why_without_results_says_that_there_are_no_data(sqlite_store):
    league = sqlite_store.create("club", players=["ann", "bob"])
    league.ask()
    assert league.why("ann").sentence == "There are no data yet."
    assert league.why("ann", "bob").sentence == ("There are no data yet. In proposal 1 they were chosen without data.")
    assert league.why(1).sentence == "Proposal 1 has 1 pair, chosen by rank1-thompson. There were no data yet."
    assert league.why("ann", "bob").numbers["expected"] is None
    assert "There are no data yet to test the model with." in league.why().sentence


def test_why_of_a_proposal_says_what_exploring_costs(sqlite_store):
    league = sqlite_store.create("club", players=[f"p{k}" for k in range(1, 9)], seed=2)
    proposals = play(league, 12, product)
    explored = [p for p in proposals if p.expected is not None and p.best is not None and p.best - p.expected > 0.01]
    exploited = [p for p in proposals if p.best is not None and all(pair.in_best_guess for pair in p.pairs)]
    assert explored
    for proposal in explored:
        explanation = league.why(proposal.number)
        assert proposal.best is not None
        assert proposal.expected is not None
        cost = proposal.best - proposal.expected
        assert f"was {proposal.best:.2f}: {cost:.2f} was given up to learn more. For example, " in explanation.sentence
        assert explanation.numbers["cost_of_exploring"] == pytest.approx(cost)
        assert explanation.numbers["experiments"] == sum(not pair.in_best_guess for pair in proposal.pairs)
    for proposal in exploited:
        assert "No other pairs were expected to achieve more under the rules." in league.why(proposal.number).sentence
    total = sum(pair.outcome for pair in league.proposal(12).pairs)
    assert f"So far 4 results came to {total:.2f}; " in league.why(12).sentence


def test_why_of_a_large_proposal_is_small(sqlite_store):
    league = sqlite_store.create("club", players=[f"p{k}" for k in range(401)])
    proposal = league.ask()
    assert len(proposal.pairs) == 200
    assert len(repr(league.why(1))) < 2000


def test_why_of_the_league_says_who_is_paired_with_whom(club):
    text = club.why().sentence
    assert text.startswith("4 active items, 12 results. The strongest are team A (")
    assert "rank1-thompson pairs strong with strong" in text
    club.configure(policy="cucb")
    assert "strong with strong" not in club.why().sentence


def test_str_of_an_explanation_ends_with_the_warning(sqlite_store):
    past = [(f"p{i}", f"p{j}", 60, 54.0 if (i - j) % 2 else 6.0) for i in range(6) for j in range(i)]
    league = sqlite_store.create("club", past=past)
    explanation = league.why()
    assert explanation.warning is not None
    assert str(explanation).endswith(explanation.warning)
    assert str(league.why("p0", "p1")).endswith(explanation.warning)
    assert "deviate most" in explanation.sentence


def test_history_says_who_changed_what_in_words(sqlite_store):
    league = sqlite_store.create("club", players=["ann", "bob", "cem"], rewards="binomial:4")
    league.join("dee")
    league.leave("dee")
    league.rejoin("dee")
    league.rename("dee", "eva")
    league.exclude([("ann", "eva")])
    league.unexclude([("ann", "eva")])
    league.pin([("ann", "bob")])
    league.unpin([("ann", "bob")])
    league.configure(no_rematch=1, title="chess")
    league.ask(fixed=[("ann", "bob")])
    league.tell(1, {("ann", "bob"): 0.5})
    league.correct(1, {("ann", "bob"): 0.75})
    league.void(1)
    league.erase_name("eva")
    sqlite_store.archive("club")
    sqlite_store.restore("club")
    sentences = [change.sentence for change in league.history()]
    assert sentences == [
        "The league was created with rank1-thompson and binomial:4 rewards.",
        "ann, bob, cem joined.",
        "#4 joined.",
        "#4 left.",
        "#4 came back.",
        "Item 4 was renamed; it is now #4.",
        "ann + #4 were excluded.",
        "ann + #4 may meet again.",
        "ann + bob were pinned.",
        "ann + bob are no longer pinned.",
        "Settings were changed: no_rematch = 1, title = chess.",
        "Proposal 1: 2 pairs.",
        "Outcomes of proposal 1: ann + bob = 0.5.",
        "Proposal 1 was corrected: ann + bob = 0.75, not 0.5.",
        "Outcomes of proposal 1: cem + #4 = void.",
        "The name of item 4 was erased.",
        "The league was archived.",
        "The league was restored.",
    ]


def test_note_sentence_of_each_code():
    name = {1: "ann"}.__getitem__
    assert note_sentence(["turn", 1], name) == "ann sits out: it is their turn."
    assert note_sentence(["left", 1], name) == "ann sits out: all possible partners are paired with others."
    assert note_sentence(["nobody", 1, "met"], name).endswith("were met too recently. Lower no_rematch.")
    assert "their value is 9 of at most 10 (90.0%)" in note_sentence(["near", 9, 10], name)
