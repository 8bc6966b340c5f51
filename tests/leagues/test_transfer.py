"""A league as one file, and back: damage is refused, and nothing is imported in part."""

import gzip
import io
import json
import random
import stat
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import pytest
from clocks import Clock
from sqlalchemy import select, update

from matchbandit.leagues import VOID, League, LeagueError, Store, schema, transfer
from matchbandit.leagues.transfer import MAX_LINE_BYTES

PLAYERS = ["ann", "bob", "cem", "Zoë", "eve"]


def play(store: Store, clock: Clock, slug: str = "club") -> League:
    """A league of players in which everything happened that a history can tell."""
    club = store.create(slug, players=PLAYERS, deadline=60, past=[("ann", "bob", 1), ("cem", "Zoë", 0)], seed=3)
    club.pin([("ann", "eve"), ("bob", "cem")])
    club.exclude([("ann", "bob"), ("cem", "eve")])
    first = club.ask(available=["ann", "eve", "cem"], key="first")
    club.tell(first.number, {first.pairs[0]: 1})
    club.correct(first.number, {first.pairs[0]: 0})
    club.unexclude([("ann", "bob")])
    club.unpin([("bob", "cem")])
    second = club.ask()
    club.tell(second.number, {second.pairs[0]: VOID})
    clock.forward(hours=1)
    club.leave("bob")
    club.rejoin("bob")
    club.rename("bob", "Bob")
    club.erase_name("Zoë")
    club.join("fay", "gus")
    club.leave("gus")
    club.join("gus")
    club.configure(policy="cucb", title="Chess", no_rematch=1, record_propensity=2, deadline=None)
    store.archive(slug)
    store.restore(slug)
    club.tell(club.ask().number, [])
    club.pin([("fay", "gus")])
    return club


def play_sides(store: Store) -> League:
    """A league of two sides with fractional rewards."""
    ads = {"ads": ["a", "b", "c"], "slots": ["top", "end"]}
    shop = store.create("shop", sides=ads, rewards="gaussian:0.5", policy="rank1-thompson", options={"half_life": 9.0})
    for reward in (0.25, -0.5, 1.75):
        proposal = shop.ask()
        shop.tell(proposal.number, {pair: reward for pair in proposal.pairs})
    shop.join("side", side="slots")
    return shop


def contents(store: Store) -> dict[str, list[Any]]:
    """All rows of all tables."""
    with store.database.reading() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table)))) for table in schema.metadata.sorted_tables
        }


def read_all(league: League) -> dict[str, Any]:
    """The answers of all reading methods."""
    proposals = list(league.proposals(limit=1000))
    items, results = list(league.items()), list(league.results())
    return {
        "info": {name: value for name, value in vars(league.info()).items() if name != "slug"},
        "items": items,
        "proposals": proposals,
        "summaries": list(league.summaries()),
        "results": results,
        "rules": list(league.rules()),
        "history": list(league.history(limit=1000)),
        "ranking": league.ranking(),
        "fit": league.fit(),
        "why": [
            league.why(),
            *(league.why(proposal.number) for proposal in proposals),
            *(league.why(item=item.name) for item in items if not item.erased),
            *(league.why(result.names) for result in results),
        ],
        "check": league.check(),
    }


# There and back ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["club.jsonl", "club.jsonl.gz"])
def test_import_league_of_an_export_equals_the_league(store, clock, tmp_path, name):
    club = play(store, clock)
    path = club.export(tmp_path / name)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir() if "club" in file.name] == [name]
    answers = read_all(club)
    assert answers["check"] == []
    copy = store.import_league(path, slug="copy")
    assert read_all(copy) == answers
    assert copy.ask().pairs == club.ask().pairs  # its random streams are named by the slug of its creation


def test_export_of_an_imported_league_is_the_same_file(store, clock, tmp_path):
    path = play(store, clock).export(tmp_path / "club.gz")
    store.delete("club", now=True)
    copy = store.import_league(path)
    assert copy.export(tmp_path / "copy.gz").read_bytes() == path.read_bytes()


def test_import_league_moves_between_databases(store, sqlite_url, tmp_path):
    with Store(sqlite_url.replace("store.db", "source.db")) as source:
        shop = play_sides(source)
        path = shop.export(tmp_path / "shop.jsonl")
        moved = store.import_league(path)
        assert read_all(moved) == read_all(shop)
        assert moved.ask().pairs == shop.ask().pairs


def test_export_without_names_has_none(store, clock, tmp_path):
    path = play(store, clock).export(tmp_path / "club.jsonl", names=False)
    assert not any(
        f'"{name}"' in path.read_text() for name in ("ann", "bob", "Bob", "cem", "Zo", "eve", "fay", "first")
    )  # nor keys
    copy = store.import_league(path, slug="copy")
    assert [item.name for item in copy.items()] == [f"#{k}" for k in range(1, 8)]
    waiting = next(pair for pair in copy.proposal(3).pairs if pair.outcome is None)
    assert copy.tell(3, {waiting: 1}).recorded == 1


def test_export_to_a_full_disk_leaves_the_old_file(sqlite_url, tmp_path, monkeypatch):
    with Store(sqlite_url) as store:
        club = store.create("club", players=PLAYERS)
        before = club.export(tmp_path / "club.jsonl").read_bytes()
        club.join("fay")
        monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(LeagueError, match="cannot be written: No space left on device"):
            club.export(tmp_path / "club.jsonl")
        monkeypatch.undo()
        assert (tmp_path / "club.jsonl").read_bytes() == before
        assert [file.name for file in tmp_path.iterdir() if "club" in file.name] == ["club.jsonl"]


def test_import_league_under_a_key_is_done_once(store, clock, tmp_path):
    path = play(store, clock).export(tmp_path / "club.jsonl")
    copies = [store.import_league(path, slug="copy", key="once") for _ in range(2)]
    assert len(store.leagues()) == 2
    assert copies[0].slug == copies[1].slug == "copy"
    with pytest.raises(LeagueError) as caught:
        store.import_league(path, slug="other", key="once")
    assert caught.value.code == "key-reused"


def test_import_league_with_a_taken_name_is_refused(store, clock, tmp_path):
    path = play(store, clock).export(tmp_path / "club.jsonl")
    for slug, code in ((None, "league-exists"), ("club", "league-exists"), ("No name!", "bad-name")):
        with pytest.raises(LeagueError) as caught:
            store.import_league(path, slug=slug)
        assert caught.value.code == code


def test_import_results_twice_adds_them(store):
    club = store.create("club", players=PLAYERS, past=[("ann", "bob", 1)])
    assert club.import_results([("bob", "ann", 0), ("cem", "eve", 1)]) == 2
    assert [(result.names, result.count, result.total) for result in club.results()] == [
        (("ann", "bob"), 2, 1.0),
        (("cem", "eve"), 1, 1.0),
    ]
    assert club.check() == []


# Damage --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """The lines of two exports, without their checksums."""
    folder = tmp_path_factory.mktemp("exports")
    clock = Clock()
    with Store(f"sqlite:///{folder}/source.db", clock=clock) as store:
        leagues = [play(store, clock), play_sides(store)]
        return [league.export(folder / league.slug).read_bytes().splitlines(keepends=True)[:-1] for league in leagues]


def whole(lines: list[bytes]) -> bytes:
    """The lines with their checksum."""
    checksum = blake2b(b"".join(lines), digest_size=16).hexdigest()
    return b"".join([*lines, json.dumps({"checksum": checksum}, separators=(",", ":")).encode(), b"\n"])


def refusal(store: Store, content: bytes, **options: Any) -> str:
    """The error with which an import is refused; the store is as before."""
    before = contents(store)
    with pytest.raises(LeagueError) as caught:
        store.import_league(io.BytesIO(content), slug="copy", **options)
    assert contents(store) == before
    assert "\n" not in str(caught.value)
    return f"{caught.value.code}: {caught.value}"


@pytest.mark.parametrize(
    ("line", "old", "new", "words"),
    [
        (0, b'"matchbandit-league":1', b'"matchbandit-league":2', "not-supported: the file is an export of format 2"),
        (0, b'"matchbandit-league":1', b'"matchbandit-league":0', "line 1: Invalid enum value 0"),
        (0, b'"matchbandit-league":1', b'"format":1', "damaged: the file is damaged: line 1: "),
        (0, b'"sides":null', b'"sides":"ab"', "line 1: Expected `array | null`, got `str` - at `$.sides`"),
        (0, b'"title":"Chess"', b'"title":5', "line 1: Expected `str`, got `int` - at `$.settings.title`"),
        (0, b'"slug":"club"', b'"slug":"../x"', "line 1: the name of a league is"),
        (0, b'"policy":"cucb"', b'"policy":"magic"', "line 1: unknown policy 'magic'"),
        (0, b'"options":{}', b'"options":{"a":[[[1]]]}', "line 1: Expected"),
    ],
)
def test_import_league_names_what_is_wrong(sqlite_store, exports, line, old, new, words):
    lines = list(exports[0])
    assert old in lines[line]
    lines[line] = lines[line].replace(old, new)
    assert words in refusal(sqlite_store, whole(lines))


@pytest.mark.parametrize(
    ("table", "old", "new", "words"),
    [
        ("change", '"action":"tell"', '"action":"ask"', "Object contains unknown field `outcomes`"),
        ("change", '"at":"2026-11-16', '"at":"2026-02-30', "day is out of range for month - at `$.at`"),
        ("change", '"by":"python"', '"by":"\\u0000"', "Expected `str` matching regex"),
        ("change", '"by":"python"', '"by":"\\u001b[2J"', "'\\x1b[2J' is no author"),
        ("proposal", '"expected":', '"expected":1e308,"x":', "Expected `float` <= 1e+300"),
        ("change", '"no_rematch":0', '"no_rematch":0.5', "Expected `int`, got `float`"),
        ("change", '"items":[4]', '"items":[44]', "Expected `int` <= 7 - at `$.items[0]`"),
        ("proposal", '"due":"2026-11-16T09', '"due":"soon', "is not a time - at `$.due`"),
        ("proposal", '"expected":', '"expected":"abc","x":', "Expected `float`, got `str` - at `$.expected`"),
        ("proposal", '"based_on":5', '"based_on":99', "Expected `int` <= 25"),
        ("proposal", '"available":[1,3,5]', '"available":[1,3,55]', "Expected `int` <= 7 - at `$.available[2]`"),
        ("proposal", '"byes":[3]', '"byes":[2]', "an item of proposal 1 was absent, or is in it twice"),
        ("proposal", '"notes":[["turn",3]]', '"notes":[["turn",99]]', "Expected `int` <= 7 - at `$.notes[0][1]`"),
        ("proposal", '"notes":[["turn",3]]', '"notes":[["magic",3]]', "Invalid value 'magic' - at `$.notes[0][0]`"),
        ("proposal_pair", '"a":1,"b":5', '"a":5,"b":5', "are no pair of its items"),
        ("proposal_pair", '"a":1,"b":5', '"a":2,"b":5', "the history says otherwise of its outcome"),
        ("proposal_pair", '"outcome_version":8', '"outcome_version":7', "the history says otherwise of its outcome"),
        ("past_result", '"count":1,"total":1.0', '"count":1,"total":7.0', "its results cannot sum to this"),
        ("rule", '"kind":"exclude"', '"kind":"maybe"', "Invalid enum value 'maybe'"),
        ("item", '"name":"ann"', '"name":"eve"', "'eve' is the name of two items"),
        ("item", '"name":"ann"', '"name":" ann"', "' ann' is not a name"),
        ("item", '"name":"ann"', '"name":"#3"', "'#3' stands for the item of that number"),
        ("item", '"byes":1', '"byes":22', "Expected `int` <= 3 - at `$.byes`"),
        ("item", '"position":0', '"position":1', "its place is another one"),
    ],
)
def test_import_league_names_the_row_that_is_wrong(sqlite_store, exports, table, old, new, words):
    lines = list(exports[0])
    first = f'{{"table":"{table}",'.encode()
    at = next(k for k, line in enumerate(lines) if line.startswith(first) and old.encode() in line)
    lines[at] = lines[at].replace(old.encode(), new.encode(), 1)
    message = refusal(sqlite_store, whole(lines))
    assert message.startswith("damaged: the file is damaged: line ")
    assert words in message


def test_import_league_refuses_what_is_no_whole_export(sqlite_store, exports, tmp_path):
    content = whole(exports[0])
    packed = gzip.compress(content)
    for damaged, words in (
        (b"", "it is empty"),
        (whole([]), "line 1: "),
        (b"hello\n", "line 1 is not the checksum"),
        (content[:-10], "was cut off"),
        (content[:-60] + b"\n", "is not the checksum"),
        (content + b"{}\n", "Object missing required field `table`"),
        (content.replace(b'"Bob"', b'"Rob"'), "is not the checksum"),
        (packed[: len(packed) // 2], "cannot be unpacked"),
        (packed[:100] + b"xxxx" + packed[104:], "cannot be unpacked"),
        (b"[" * 2**20 + b"\n{}\n", "line 1: "),
        (gzip.compress(b"0" * (MAX_LINE_BYTES + 1)), "line 1 was cut off, or is too long"),
    ):
        assert words in refusal(sqlite_store, damaged), words
    assert "bad-value: the file is too large" in refusal(sqlite_store, packed, max_bytes=len(content) - 1)
    assert sqlite_store.import_league(io.BytesIO(packed), max_bytes=len(content)).check() == []
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(LeagueError, match="cannot be read"):
            sqlite_store.import_league(path)


def test_import_league_writes_proposals_before_their_pairs(store, clock, tmp_path, monkeypatch):
    path = play(store, clock).export(tmp_path / "club.gz")
    for batch in (1, 2, 3, 5):
        monkeypatch.setattr(transfer, "_BATCH", batch)
        assert store.import_league(path, slug=f"copy-{batch}").check() == []


WRONG = [None, True, -1, 0, 1, 2, 7, 2**31, 2**62, 10**30, 0.5, 1e308, "", "ann", "\x00", "2026-02-30T09:30:00.000000Z"]
WRONG += ["2026-11-16T09:30:00.000000Z", "9999-12-31T23:59:59.000000Z", [], {}, [1, 2], [[1, 2, 3]], {"a": 1}, "#3"]
WRONG += ["rank1-thompson", "bernoulli", "pin", "leave", "item"]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in JSON data."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


def change_value(lines: list[bytes], rng: random.Random) -> None:
    """Replace, remove, or repeat a value somewhere."""
    at = rng.randrange(len(lines))
    row = json.loads(lines[at])
    *path, last = rng.choice(list(places(row)))
    container = row
    for key in path:
        container = container[key]
    kind = rng.random()
    if kind < 0.1 and isinstance(container, dict):
        container[f"{last} "] = container.pop(last)
    elif kind < 0.2:
        del container[last]
    elif kind < 0.3 and isinstance(container, list):
        container.append(container[last])
    elif kind < 0.55 and isinstance(container[last], int | float):
        container[last] += rng.choice([-1, 1, 0.5, 100])
    else:
        container[last] = rng.choice(WRONG)
    lines[at] = json.dumps(row, separators=(",", ":")).encode() + b"\n"


def remove_line(lines: list[bytes], rng: random.Random) -> None:
    del lines[rng.randrange(len(lines))]


def repeat_line(lines: list[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    lines.insert(rng.choice([at, rng.randrange(len(lines))]), lines[at])


def swap_lines(lines: list[bytes], rng: random.Random) -> None:
    a, b = rng.sample(range(len(lines)), 2)
    lines[a], lines[b] = lines[b], lines[a]


def cut_off(lines: list[bytes], rng: random.Random) -> None:
    del lines[rng.randrange(len(lines)) :]


def spoil_line(lines: list[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    junk = [b"", b"[]", b"7", b"null", b"NaN", b"{", b"[" * 100_000, b'{"table":"item"}', b'"\xff"', b"\x00"]
    lines[at] = rng.choice(junk) + b"\n"


DAMAGES: list[Callable[[list[bytes], random.Random], None]] = [
    *[change_value] * 12, remove_line, repeat_line, swap_lines, cut_off, spoil_line,
]  # fmt: skip


def imported(store: Store, content: bytes) -> tuple[League | None, LeagueError | None]:
    """The league of an export, or the error with which it is refused."""
    try:
        return store.import_league(io.BytesIO(content), slug="copy"), None
    except LeagueError as error:
        return None, error


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 4))])
def test_import_league_of_a_damaged_export_is_refused_or_valid(sqlite_store, exports, tmp_path, part):
    store, n_refused = sqlite_store, 0
    for case in range(150):
        rng = random.Random(f"{part} {case}")
        lines = list(rng.choice(exports))
        rng.choice(DAMAGES)(lines, rng)
        content = whole(lines)
        league, error = imported(store, content)
        if error is not None:
            assert error.code in ("damaged", "not-supported"), content
            assert str(error).startswith("the file is "), error
            n_refused += 1
        if league is not None:
            assert read_all(league)["check"] == [], content
            with store.database.writing() as connection:  # under its own name, it is exported as it came
                league.slug = json.loads(lines[0])["slug"]
                connection.execute(update(schema.league).values(slug=league.slug))
            again = league.export(tmp_path / "again").read_bytes().splitlines()[:-1]
            assert [json.loads(line, parse_int=float) for line in again] == [
                json.loads(line, parse_int=float) for line in lines
            ]
            league.void(league.ask().number)
            assert league.check() == []
            store.delete(league.slug, now=True)
        assert [table for table, rows in contents(store).items() if rows] == ["mb_store"]
    assert 100 < n_refused < 150
