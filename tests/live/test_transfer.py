"""A league as one file, and back; damage is refused, and nothing half is taken in."""

import gzip
import json
from hashlib import blake2b
from pathlib import Path

import pytest

from matchbandit.live import VOID, LeagueError, Store
from matchbandit.live.league import League


@pytest.fixture
def club(store: Store) -> League:
    club = store.create("club", players=["ann", "bob", "cem", "Zoë", "eve"], policy="cucb", seed=3, deadline=60)
    first, second = club.ask(), club.ask()
    club.tell(first.number, {first.pairs[0]: 1, first.pairs[1]: VOID})
    club.tell(second.number, {second.pairs[1]: 0})
    club.correct(first.number, {first.pairs[0]: 0})
    club.rename("bob", "Bob")
    club.forget("ann")
    return club


def refused(store: Store, path: Path, code: str = "damaged") -> str:
    before = store.leagues()
    with pytest.raises(LeagueError) as caught:
        store.import_league(path, slug="copy")
    assert caught.value.code == code
    assert "\n" not in str(caught.value)
    assert store.leagues() == before
    return str(caught.value)


@pytest.mark.parametrize("name", ["club.jsonl", "club.jsonl.gz"])
def test_there_and_back(club, store, tmp_path, name):
    path = club.export(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir() if "club" in file.name] == [name]
    copy = store.import_league(path, slug="copy")
    assert copy.digest() == club.digest()
    assert copy.events() == club.events()
    assert copy.items() == club.items()
    assert copy.proposals() == club.proposals()
    assert copy.verify().ok
    assert copy.ask().pairs == club.ask().pairs  # the streams are named by the league's first name, which it keeps


def test_from_one_database_to_the_other(url, sqlite_url, tmp_path):
    with Store(sqlite_url.replace("store.db", "source.db")) as source, Store(url) as target:
        club = source.create("club", players=["ann", "bob", "cem", "dee"], policy="cucb")
        club.void(club.ask().number)
        moved = target.import_league(club.export(tmp_path / "club.gz"))
        assert (moved.name, moved.digest()) == ("club", club.digest())
        assert moved.ask().number == 2


def test_without_names(club, store, tmp_path):
    path = club.export(tmp_path / "club.jsonl", names=False)
    assert not any(name in path.read_text() for name in ("ann", "bob", "Bob", "cem", "Zo", '"eve"'))
    copy = store.import_league(path, slug="copy")
    assert [item.name for item in copy.items()] == ["#1", "#2", "#3", "#4", "#5"]
    assert copy.digest() == club.digest()
    assert copy.tell(2, {copy.proposal(2).waiting[0]: 1}).booked == 1


def test_keys_stay_at_home(club, store, tmp_path):
    club.join("fay", key="secret-key")
    assert "secret-key" not in club.export(tmp_path / "club.jsonl").read_text()


def test_a_name_that_is_taken(club, store, tmp_path):
    path = club.export(tmp_path / "club.jsonl")
    with pytest.raises(LeagueError, match="there is a league 'club'") as caught:
        store.import_league(path)
    assert caught.value.code == "league-exists"
    with pytest.raises(LeagueError) as caught:
        store.import_league(path, slug="No such name!")
    assert caught.value.code == "bad-name"


@pytest.fixture
def lines(sqlite_url, tmp_path) -> list[str]:
    """The lines of an export."""
    with Store(sqlite_url.replace("store.db", "source.db")) as store:
        club = store.create("club", players=["ann", "bob", "cem", "dee"], policy="cucb")
        club.void(club.ask().number)
        return club.export(tmp_path / "club.jsonl").read_text().splitlines(keepends=True)


def test_every_line_counts(lines, sqlite_url, tmp_path):
    path = tmp_path / "bad.jsonl"
    with Store(sqlite_url) as store:
        for number in range(len(lines)):
            path.write_text("".join(lines[:number] + lines[number + 1 :]))
            refused(store, path)
            path.write_text("".join(lines[:number]) + lines[number][: len(lines[number]) // 2])
            refused(store, path)
            path.write_text("".join([*lines[:number], lines[number], *lines[number:]]))
            refused(store, path)
        path.write_text("".join(lines))
        assert store.import_league(path).about()["n_events"] == 4


def test_every_byte_counts(lines, sqlite_url, tmp_path):
    whole = "".join(lines).encode()
    path = tmp_path / "bad.jsonl"
    with Store(sqlite_url) as store:
        for place in range(3, len(whole), len(whole) // 40):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(LeagueError):
                store.import_league(path, slug="copy")
        packed = gzip.compress(whole)
        for place in range(12, len(packed), len(packed) // 20):
            path.write_bytes(packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :])
            with pytest.raises(LeagueError):
                store.import_league(path, slug="copy")
            path.write_bytes(packed[:place])
            assert "cannot be unpacked" in refused(store, path) or "cut off" in refused(store, path)
        assert store.leagues() == []


@pytest.mark.parametrize(
    ("place", "new", "words"),
    [
        (0, '{"matchbandit-league": "one"}\n', "is not an export of a league"),
        (0, "[1, 2]\n", "is not an export of a league"),
        (0, "hello\n", "line 1 is not JSON"),
        (1, '{"item": "1", "name": "ann"}\n', "line 2 has no valid name"),
        (1, '{"item": 1, "name": " ann"}\n', "line 2 has no valid name"),
        (1, '{"item": 1}\n', "a name is a text"),
        (5, '{"seq": 1, "at": "now", "kind": "created", "data": {}}\n', "line 6 is not a complete event"),
        (5, '{"seq": 7, "at": "now", "kind": "created", "by": "x", "data": {}}\n', "line 6 has event 7 after 0"),
        (5, '{"seq": 1, "at": "now", "kind": "created", "by": "x", "data": {"a": NaN}}\n', "line 6 is not JSON"),
        (
            5,
            '{"seq": 1, "at": "now", "kind": "left", "by": "x", "data": {"items": [9]}}\n',
            "does not fit those before",
        ),
        (6, "7\n", "line 7 is neither an event nor the end"),
        (8, '{"events": 4, "checksum": "00"}\n', "its checksum does not match"),
    ],
)
def test_what_is_wrong_is_named(lines, sqlite_url, tmp_path, place, new, words):
    path = tmp_path / "bad.jsonl"
    lines[place] = new
    path.write_text("".join(lines))
    with Store(sqlite_url) as store, pytest.raises(LeagueError) as caught:
        store.import_league(path, slug="copy")
    assert words in str(caught.value)


def test_names_of_nobody_are_refused(lines, sqlite_url, tmp_path):
    lines[1] = '{"item":9,"name":"zoe"}\n'
    checksum = blake2b("".join(lines[:-1]).encode(), digest_size=16).hexdigest()
    lines[-1] = json.dumps({"events": 4, "checksum": checksum}) + "\n"
    (tmp_path / "bad.jsonl").write_text("".join(lines))
    with Store(sqlite_url) as store:
        assert "has a name for item 9" in refused(store, tmp_path / "bad.jsonl")


def test_newer_exports_are_refused(lines, sqlite_url, tmp_path):
    lines[0] = lines[0].replace('"matchbandit-league":1', '"matchbandit-league":2')
    (tmp_path / "new.jsonl").write_text("".join(lines))
    with Store(sqlite_url) as store:
        assert "format 2; this matchbandit reads up to 1" in refused(store, tmp_path / "new.jsonl", "not-supported")


def test_unknown_keys_of_events_and_headers_are_ignored(sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        club = store.create("club", players=["ann", "bob"])
        club.ask()
        lines = club.export(tmp_path / "club.jsonl").read_bytes().splitlines()[:-1]
        more = [{**json.loads(line), "new_key": 1} for line in lines]
        for line in more:
            if "data" in line:
                line["data"]["another"] = [1, {"deep": None}]
        body = b"".join(json.dumps(line).encode() + b"\n" for line in more)
        end = {"events": sum("data" in line for line in more), "checksum": blake2b(body, digest_size=16).hexdigest()}
        (tmp_path / "newer.jsonl").write_bytes(body + json.dumps(end).encode() + b"\n")
        copied = store.import_league(tmp_path / "newer.jsonl", slug="copy")
        assert [item.name for item in copied.items()] == ["ann", "bob"]
        assert copied.verify().ok


def test_files_that_are_not_there(sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        club = store.create("club", players=["ann", "bob"])
        assert "cannot be read: No such file" in refused(store, tmp_path / "none.jsonl", "bad-value")
        assert "cannot be read: Is a directory" in refused(store, tmp_path, "bad-value")
        (tmp_path / "empty").touch()
        assert "ends in line 1: it was cut off" in refused(store, tmp_path / "empty")
        for path, words in (
            (tmp_path / "nowhere" / "club.jsonl", "No such file or directory"),
            (tmp_path, "is a folder"),
        ):
            with pytest.raises(LeagueError, match=words) as caught:
                club.export(path)
            assert caught.value.code == "bad-value"


def test_an_export_takes_the_place_of_the_one_before_only_when_it_is_whole(sqlite_url, tmp_path, monkeypatch):
    with Store(sqlite_url) as store:
        club = store.create("club", players=["ann", "bob"])
        path = club.export(tmp_path / "club.jsonl")
        before = path.read_bytes()
        club.join("cem")
        monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(LeagueError, match="cannot be written: No space left on device"):
            club.export(path)
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert sorted(file.name for file in tmp_path.iterdir() if "club" in file.name) == ["club.jsonl"]


def test_one_name_for_two_items_is_refused(sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        file = store.create("club", players=["ann", "bob"]).export(tmp_path / "club.jsonl")
        lines = [line.replace('"bob"', '"ann"') for line in file.read_text().splitlines(keepends=True)]
        checksum = blake2b("".join(lines[:-1]).encode(), digest_size=16).hexdigest()
        lines[-1] = json.dumps({**json.loads(lines[-1]), "checksum": checksum}) + "\n"
        file.write_text("".join(lines))
        with pytest.raises(LeagueError, match="gives one name to two items"):
            store.import_league(file, slug="copy")
        assert store.leagues() == ["club"]
