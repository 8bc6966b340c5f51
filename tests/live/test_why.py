"""Why: sentences whose numbers are right."""

import json
from dataclasses import replace

import numpy as np
import pytest
from small_league import SmallLeague

from matchbandit.live.model import LeagueModel
from matchbandit.live.records import VOID
from matchbandit.live.why import why_item, why_league, why_pair, why_proposal

PEOPLE = ["ann", "bob", "cem", "dee", "eve"]


def league(**settings):
    past = [
        ("ann", "bob", 40, 30),
        ("ann", "cem", 40, 12),
        ("bob", "cem", 40, 11),
        ("cem", "dee", 10, 1),
        ("dee", "ann", 10, 3),
    ]
    return SmallLeague(players=PEOPLE, past=past, **settings)


def test_why_an_item():
    club = league()
    club.propose((1, 2), byes=(3,))
    model = LeagueModel(club.state)
    why = why_item(model, club.directory, 1)
    strength, low, high, meetings, mean = model.item(1)
    assert why.numbers["estimate"] == strength
    assert low < strength < high
    assert (meetings, mean) == (90, 0.5)
    assert str(why) == (
        f"ann has a strength of about {strength:.2f} (with 90 % between {low:.2f} and {high:.2f}), from 90 results "
        f"that were 0.50 on average. That is place 1 of 5. A pair is expected to achieve the product of its two "
        f"strengths."
    )
    assert "It has sat out 1 time." in str(why_item(model, club.directory, 3))
    words = f"eve has no results yet and is taken for average: a strength of {model.item(5)[0]:.2f}"
    assert words in str(why_item(model, club.directory, 5))
    club.do("leave", ["eve"])
    assert "It has left the league." in str(why_item(LeagueModel(club.state), club.directory, 5))
    json.dumps(why.numbers)


def test_why_a_pair():
    club = league()
    club.do("exclude", [("ann", "bob")])
    club.do("wish", [("ann", "eve")])
    model = LeagueModel(club.state)
    why = why_pair(model, club.directory, (1, 2))
    known = model.pair(1, 2)
    assert str(why) == (
        f"ann and bob are expected to achieve {known.estimate:.2f} (with 90 % between {known.low:.2f} and "
        f"{known.high:.2f}). They have met 40 times, and achieved 0.75 on average. They are excluded: they are not "
        f"proposed."
    )
    assert why.numbers["excluded"] is True
    wished = why_pair(model, club.directory, (1, 5))
    assert "They have not met yet" in wished.sentence
    assert "They are wished for" in wished.sentence
    json.dumps(why.numbers)


def test_why_a_pair_was_proposed():
    club = league(seed=1)
    data = club.ask()
    a, b = data["pairs"][0]
    why = why_pair(LeagueModel(club.state), club.directory, (a, b), records=[club.record(1)])
    assert f"In proposal 1: they were expected to achieve {data['estimates'][0]:.2f}" in why.sentence
    assert why.numbers["proposal"]["value"] == data["values"][0]


def test_why_a_proposal():
    club = league(seed=3)
    sentences = []
    for _ in range(12):
        data = club.ask()
        why = why_proposal(club.record(data["number"]), club.directory, club.state.rewards)
        sentences.append(why.sentence)
        numbers = why.numbers
        assert numbers["cost_of_exploring"] == pytest.approx(data["best"] - data["expected"])
        tried = [row for row in numbers["pairs"] if not row["in_best_guess"]]
        cost = f"{data['best'] - data['expected']:.2f}"
        if tried and cost != "0.00":
            assert f"The best guess under the same rules was {data['best']:.2f}" in why.sentence
            assert f"{cost} was given up" in why.sentence
            above = any(row["value"] > row["estimate"] for row in tried)
            assert ("worth a try" in why.sentence) == above  # what was drawn below its estimate speaks for no trial
        else:
            assert "nothing was given up" in why.sentence
        json.dumps(numbers)
    assert len({"nothing was given up" in sentence for sentence in sentences}) == 2  # both happened


def test_why_a_proposal_tells_of_wishes_byes_and_outcomes():
    club = league()
    club.do("wish", [("ann", "eve")])
    data = club.ask()
    club.tell(1, {tuple(data["pairs"][0]): 0.25})
    club.tell(1, {tuple(data["pairs"][1]): VOID})
    why = why_proposal(club.record(1), club.directory, club.state.rewards)
    assert "ann + eve was fixed, not chosen." in why.sentence
    assert "sits out: it is their turn." in why.sentence
    assert "So far 1 outcome came to 0.25." in why.sentence
    assert [row["outcome"] for row in why.numbers["pairs"]] == [0.25, "void"]


def test_reasons_and_sentence_agree():
    """No pair is "to learn" where nothing was given up, and one at least is where something was."""
    club, seen = league(seed=3), set()
    for _ in range(12):
        number = club.ask()["number"]
        why = why_proposal(club.record(number), club.directory, club.state.rewards)
        reasons = {row["reason"] for row in why.numbers["pairs"]}
        assert ("to learn" in reasons) == ("to learn more" in why.sentence)
        assert ("to learn" in reasons) != ("nothing was given up" in why.sentence)
        seen |= reasons
    assert seen >= {"to learn", "best guess"}


def test_no_value_lies_above_what_a_pair_can_achieve():
    club = SmallLeague(players=PEOPLE, policy="cucb", past=[("ann", "bob", 2, 2), ("cem", "dee", 2, 1)])
    records = [club.record(club.ask()["number"]) for _ in range(5)]
    assert max(value for record in records for value in record.data["values"]) > 1
    for record in records:
        why = why_proposal(record, club.directory, club.state.rewards)
        assert all(row["value"] <= 1 for row in why.numbers["pairs"])
        pair = why_pair(LeagueModel(club.state), club.directory, record.state.ids[0], records=[record])
        assert pair.numbers["proposal"]["value"] <= 1


def test_an_explanation_does_not_list_a_thousand_byes():
    club = SmallLeague(players=[f"p{k}" for k in range(30)], selection="pair", policy="kl-ucb")
    club.ask()
    record = club.record(1)
    notes = [["turn", item] for item in range(1, 31)]
    why = why_proposal(replace(record, data={**record.data, "notes": notes}), club.directory, club.state.rewards)
    assert why.sentence.count("sits out") == 10
    assert "20 more notes of this kind" in why.sentence


def test_why_one_pair_is_proposed():
    club = league(selection="pair", policy="kl-ucb", options={})
    club.ask()
    assert (
        "is one pair, expected to achieve" in why_proposal(club.record(1), club.directory, club.state.rewards).sentence
    )


def test_why_of_whole_rounds_has_no_draws():
    club = SmallLeague(players=PEOPLE[:4], policy="uniform")
    data = club.ask()
    why = why_proposal(club.record(1), club.directory, club.state.rewards)
    assert all(row["value"] is None for row in why.numbers["pairs"])
    pair = why_pair(LeagueModel(club.state), club.directory, data["pairs"][0], records=[club.record(1)])
    assert f"expected to achieve {data['estimates'][0]:.2f}" in pair.sentence


def test_why_a_league():
    club = league()
    why = why_league(LeagueModel(club.state), club.directory)
    assert why.sentence.startswith("5 active items, 140 results. The strongest is ann (")
    assert "The 140 results cannot tell whether the model" in why.sentence
    assert why.numbers["fits"] is None
    nothing = why_league(LeagueModel(SmallLeague(players=PEOPLE).state), SmallLeague(players=PEOPLE).directory)
    assert nothing.sentence == "5 active items, 0 results. There are no results yet to test the model with."


def test_a_league_says_when_the_model_does_not_fit():
    rng = np.random.default_rng(1)
    friends = {(0, 1), (2, 3)}
    past = [
        (PEOPLE[i], PEOPLE[j], 60, int(rng.binomial(60, 0.95 if (i, j) in friends else 0.3)))
        for i in range(5)
        for j in range(i + 1, 5)
    ]
    club = SmallLeague(past=past)
    why = why_league(LeagueModel(club.state), club.directory)
    assert "do not fit the model" in why.sentence
    assert "stick out most: they achieve more than their strengths say." in why.sentence
    assert why.numbers["worst"][0]["names"] in (["ann", "bob"], ["cem", "dee"])
    json.dumps(why.numbers)
