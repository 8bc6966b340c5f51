"""Names of items and leagues: how they are stored, and which are refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.leagues import LeagueError
from matchbandit.leagues.names import MAX_NAME_LENGTH, check_slug, label_number, normalize_name


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("ann", "ann"),
        ("  ann\tlee\n", "ann lee"),
        ("e\u0301va", "\u00e9va"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),  # a joiner inside an emoji
        ("#one", "#one"),
        ("x" * MAX_NAME_LENGTH, "x" * MAX_NAME_LENGTH),
    ],
)
def test_normalize_name_returns_the_stored_form(name, stored):
    assert normalize_name(name) == stored


@pytest.mark.parametrize(
    "name",
    [
        *("", " \n", "x" * (MAX_NAME_LENGTH + 1), "a\x00b", "a\x1bb", "a\u202eb", "a\ud800", "#12", 7, None, b"ann"),
        *("\u200b", "\u200d", "\u3164", "\u0301", "ann\u200b", "a\ufeffnn", "an\u00adn"),  # invisible
    ],
)
def test_normalize_name_refuses_names_that_mislead(name):
    with pytest.raises(LeagueError) as caught:
        normalize_name(name)
    assert caught.value.code == "bad-name"
    assert len(str(caught.value)) < 250


@settings(deadline=None, derandomize=True)
@given(st.text())
def test_normalize_name_is_idempotent(text):
    try:
        stored = normalize_name(text)
    except LeagueError:
        return
    assert normalize_name(stored) == stored
    assert 1 <= len(stored) <= MAX_NAME_LENGTH


@pytest.mark.parametrize(("text", "number"), [("#7", 7), ("7", None), ("#", None), ("#7a", None), ("#٧", None)])
def test_label_number_reads_ascii_digits_only(text, number):
    assert label_number(text) == number


@pytest.mark.parametrize("slug", ["a", "chess-club-2", "0", "x" * 64])
def test_check_slug_returns_valid_names(slug):
    assert check_slug(slug) == slug


@pytest.mark.parametrize("slug", ["", "Club", "a_b", "-a", "a-", "a b", "é", "x" * 65, 7, None, "a\n"])
def test_check_slug_refuses_others(slug):
    with pytest.raises(LeagueError, match="lower-case letters, digits and hyphens"):
        check_slug(slug)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("anne", "no player is named 'anne'; did you mean 'ann'?"),
        ("cem", "no player is named 'cem'; did you mean 'Cem'?"),
        ("lee", "no player is named 'lee'; did you mean 'Ann Lee'?"),
        ("zzz", "no player is named 'zzz'."),
        ("50%", "no player is named '50%'."),
        (9, "no player has the id 9."),
        ("#9", "no player has the id 9."),
        (2**31, "no player has the id 2147483648."),
        ("#999999999999999999", "no player has the id 999999999999999999."),
        pytest.param("a" * 100_000, f"no player is named '{'a' * 60}'.", id="long"),
        (True, "items are given by name or id; got True."),
        (1.5, "items are given by name or id; got 1.5."),
    ],
)
def test_leave_of_an_unknown_player_suggests_the_nearest_name(name, message, sqlite_store):
    league = sqlite_store.create("club", players=["ann", "bob", "Cem", "Ann Lee"])
    with pytest.raises(LeagueError) as caught:
        league.leave(name)
    assert (caught.value.code, str(caught.value)) == ("unknown-item", message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Bar", "no item of ads is named 'Bar'; it is one of slots. A pair is one of ads, then one of slots."),
        (4, "no item of ads has the id 4; it is one of slots. A pair is one of ads, then one of slots."),
        ("shoos", "no item of ads is named 'shoos'; did you mean 'shoes'?"),
        ("bar", "no item of ads is named 'bar'."),
    ],
)
def test_leave_of_an_item_of_the_other_side_says_so(name, message, sqlite_store):
    market = sqlite_store.create("market", sides={"ads": ["top", "shoes"], "slots": ["top", "Bar"]})
    with pytest.raises(LeagueError) as caught:
        market.leave(name, side="ads")
    assert str(caught.value) == message


@pytest.mark.parametrize("pair", ["ab", ("ann",), ("ann", "bob", "cem"), 7, ("ann", "ann")])
def test_exclude_refuses_anything_but_two_names(pair, sqlite_store):
    league = sqlite_store.create("club", players=["ann", "bob", "cem"])
    with pytest.raises(LeagueError, match="a pair is two") as caught:
        league.exclude([pair])
    assert caught.value.code == "bad-value"
