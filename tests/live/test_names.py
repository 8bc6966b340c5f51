"""Names: what is kept, what is refused, and which item is meant."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.live.errors import LeagueError
from matchbandit.live.names import MAX_COMPARED, MAX_NAME_LENGTH, Directory, normalize_name


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("ann", "ann"),
        ("  ann\tlee\n", "ann lee"),
        ("e\u0301va", "\u00e9va"),  # one sign, however it was typed
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),  # a joiner inside a picture
        ("#one", "#one"),
        ("x" * MAX_NAME_LENGTH, "x" * MAX_NAME_LENGTH),
    ],
)
def test_names_are_normalised(given_name, kept):
    assert normalize_name(given_name) == kept


@pytest.mark.parametrize(
    "bad",
    [
        *("", " \n", "x" * (MAX_NAME_LENGTH + 1), "a\x00b", "a\x1bb", "a\u202eb", "a\ud800", "#12", 7, None, b"ann"),
        *("\u200b", "\u200d", "\u3164", "\u0301", "ann\u200b", "a\ufeffnn", "an\u00adn"),  # nobody sees them
    ],
)
def test_what_is_no_name_is_refused(bad):
    with pytest.raises(LeagueError) as caught:
        normalize_name(bad)
    assert caught.value.code == "bad-name"
    assert len(str(caught.value)) < 250


@settings(deadline=None, derandomize=True)
@given(st.text())
@pytest.mark.slow
def test_a_name_that_is_kept_is_kept_as_it_is(text):
    try:
        kept = normalize_name(text)
    except LeagueError:
        return
    assert normalize_name(kept) == kept
    assert 1 <= len(kept) <= MAX_NAME_LENGTH
    people = Directory()
    people.put(1, 0, kept)
    assert people.resolve(text) == people.resolve(kept) == 1


def people():
    directory = Directory()
    for item, name in enumerate(["ann", "bob", "Cem"], start=1):
        directory.put(item, 0, name)
    return directory


def test_items_are_found_by_name_and_by_id():
    directory = people()
    assert directory.resolve("ann") == directory.resolve(1) == directory.resolve("#1") == 1
    assert directory.name(2) == "bob"
    assert directory.resolve_pair(("bob", "ann")) == directory.resolve_pair([1, "bob"]) == (1, 2)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("anne", "no player is named 'anne'; did you mean 'ann'?"),
        ("cem", "did you mean 'Cem'?"),
        ("zzz", "no player is named 'zzz'."),
        (9, "no item has the id 9; there are 3."),
        ("#9", "no item has the id 9"),
        (True, "by name, or by id; got True"),
        (1.5, "by name, or by id; got 1.5"),
    ],
)
def test_unknown_items_are_named_with_the_nearest(name, words):
    with pytest.raises(LeagueError) as caught:
        people().resolve(name)
    assert caught.value.code == "unknown-item"
    assert words in str(caught.value)


@pytest.mark.parametrize("pair", ["ab", ("ann",), ("ann", "bob", "Cem"), 7, ("ann", "ann")])
def test_what_is_no_pair_is_refused(pair):
    with pytest.raises(LeagueError) as caught:
        people().resolve_pair(pair)
    assert caught.value.code == "bad-value"


def test_an_erased_name_leaves_a_number():
    directory = people()
    directory.put(2, 0, None)
    assert directory.name(2) == "#2"
    assert directory.resolve("#2") == directory.resolve(2) == 2
    assert directory.find("bob") is None
    directory.put(4, 0, "bob")  # the name is free again
    assert directory.resolve("bob") == 4


def test_a_renamed_item_loses_its_old_name():
    directory = people()
    directory.put(1, 0, "anna")
    assert directory.find("ann") is None
    assert directory.resolve("anna") == 1
    assert directory.rows() == [(1, "anna"), (2, "bob"), (3, "Cem")]


def test_two_sides_may_have_the_same_name():
    directory = Directory.of(["ads", "slots"], [0, 1, 0], [(1, "top"), (2, "top"), (3, "shoes")])
    assert directory.resolve("top", 0) == 1
    assert directory.resolve("top", 1) == 2
    assert directory.resolve("shoes") == 3
    assert directory.resolve_pair(("top", "top")) == (1, 2)
    assert directory.side(2) == "slots"
    with pytest.raises(LeagueError, match="two items, one of ads and one of slots"):
        directory.resolve("top")
    with pytest.raises(LeagueError, match="nothing among slots is named 'shoes'"):
        directory.resolve("shoes", 1)
    with pytest.raises(LeagueError, match="item 3 is of ads, not slots"):
        directory.resolve(3, 1)


def test_a_copy_changes_by_itself():
    directory = people()
    other = directory.copy()
    other.put(1, 0, None)
    assert directory.resolve("ann") == 1
    assert other.find("ann") is None


def test_the_nearest_of_many_names_begins_alike():
    directory = Directory()
    for item in range(1, MAX_COMPARED + 100):
        directory.put(item, 0, f"x{item}")
    directory.put(9999, 0, "annika")
    with pytest.raises(LeagueError, match="did you mean 'annika'"):
        directory.resolve("anika")
