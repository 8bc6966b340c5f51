import json
import os
import pickle
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import bipartite, monopartite
from matchbandit.policies.explanation import Elimination
from matchbandit.results import About, Row, Runs, load, load_identification, load_runs, rows_of

OLD = Path(__file__).parent / "data" / "0.3"
SAVED = "Give a file that Runs.save (--save) has written."


def about(graph=None, **parts):
    """The least that runs say of themselves."""
    graph = graph or bipartite(1, 1)
    least = {"problem": {}, "graph": graph.describe(), "policy": "uts", "options": {}, "selection": "pair"}
    return About(**{**least, "runs": 3, "seed": 7, "engine": "loop", **parts})


def some_runs(graph, n_runs=3, **parts):
    """Runs with awkward numbers: huge counts, and regrets with all their digits."""
    rng = np.random.default_rng(0)
    return Runs(
        about=about(graph, **parts),
        rounds=np.array([1, 10**6, 2**62]),
        regret=rng.uniform(size=(n_runs, 3)) * [1e-9, 1, 1e15],
        counted=rng.integers(2**60, 2**62, size=(n_runs, graph.n_pairs)),
    )


@pytest.fixture
def runs():
    return some_runs(bipartite(2, 3))


def assert_same(one, other):
    assert one.about == other.about
    assert one.splits == other.splits
    assert one.eliminations == other.eliminations
    for part in ("rounds", "regret", "plays_by_edge", "ended"):
        assert getattr(one, part).dtype == getattr(other, part).dtype
        assert np.array_equal(getattr(one, part), getattr(other, part))


@pytest.mark.parametrize("graph", [bipartite(2, 3), bipartite(1, 1), monopartite(5)], ids=str)
@pytest.mark.parametrize("n_runs", [1, 4])
def test_runs_come_back_from_disk_to_the_bit(tmp_path, graph, n_runs):
    runs = some_runs(graph, n_runs)
    runs.save(tmp_path / "runs.parquet")
    again = load_runs(tmp_path / "runs.parquet")
    assert_same(again, runs)
    assert np.array_equal(again.plays, runs.plays)
    assert again.summary() == runs.summary()


def test_what_was_simulated_comes_back_whole(tmp_path):
    more = {"name": "Δ ≤ ½", "numbers": [0, 2]}
    runs = some_runs(monopartite(4), options={"growth": 1.05, "selection": None}, horizon=2**62, more=more)
    runs.save(tmp_path / "runs.parquet")
    assert load_runs(tmp_path / "runs.parquet").about == runs.about
    assert runs.about["name"] == "Δ ≤ ½"


def test_where_runs_ended_and_how_clusters_split_comes_back(tmp_path):
    plain = some_runs(monopartite(4))
    splits = [[(7, [[0, 1], [2, 3]])], [], [(2**60, [[3], [0, 1, 2]]), (2**61, [[3], [1], [0, 2]])]]
    runs = replace(plain, ended=np.array([7, 2**62, 2**61]), splits=splits)
    runs.save(tmp_path / "runs.parquet")
    again = load_runs(tmp_path / "runs.parquet")
    assert_same(again, runs)
    assert again.ended.tolist() == [7, 2**62, 2**61]
    assert again.splits == splits
    assert {type(split) for run in again.splits for split in run} == {tuple}


def test_unless_told_otherwise_all_runs_went_to_the_horizon_and_had_no_clusters(tmp_path):
    runs = some_runs(monopartite(4))
    assert runs.ended.tolist() == [2**62] * 3
    assert runs.splits == [[], [], []]
    runs.save(tmp_path / "runs.parquet")
    again = load_runs(tmp_path / "runs.parquet")
    assert again.ended.tolist() == [2**62] * 3
    assert again.splits == [[], [], []]


def test_simulated_splits_come_back(tmp_path):
    problem = mb.Monopartite([0.9, 0.9, 0.1, 0.1])
    for stop in (None, "first-split"):
        runs = mb.simulate(problem, "simple-adaptive-matching", horizon=2000, runs=3, seed=1, stop=stop)
        runs.save(tmp_path / "runs.parquet")
        assert_same(load_runs(tmp_path / "runs.parquet"), runs)
        assert all(runs.splits)


def test_the_file_is_plain_parquet_with_a_row_for_each_run(tmp_path, runs):
    runs.save(tmp_path / "runs.parquet")
    table = pq.read_table(tmp_path / "runs.parquet")
    assert table.column_names == ["run", "regret", "plays", "ended", "splits", "eliminations"]
    assert table["run"].to_pylist() == [0, 1, 2]
    assert table["plays"].to_pylist() == runs.plays_by_edge.tolist()
    assert json.loads(table.schema.metadata[b"matchbandit"])["rounds"] == [1, 10**6, 2**62]


def test_a_path_may_be_text(tmp_path, runs):
    path = str(tmp_path / "runs")
    runs.save(path)
    assert_same(load_runs(path), runs)


def test_a_link_is_followed_and_stays_a_link(tmp_path, runs):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    runs.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert_same(load_runs(tmp_path / "real"), runs)


def test_a_place_that_cannot_be_written_is_named(tmp_path, runs):
    for path, words in (
        (tmp_path / "nowhere" / "runs", "there is no folder"),
        (tmp_path, "is not a file that can be replaced"),
        ("/dev/full", "is not a file that can be replaced"),
    ):
        with pytest.raises(MatchbanditError, match=words):
            runs.save(path)


def test_saving_again_replaces_the_file_and_leaves_nothing_else(tmp_path, runs):
    path = tmp_path / "runs.parquet"
    some_runs(monopartite(4)).save(path)
    runs.save(path)
    assert_same(load_runs(path), runs)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mishap", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_a_save_that_breaks_off_keeps_the_old_file_and_leaves_no_stray_one(tmp_path, runs, monkeypatch, mishap):
    path = tmp_path / "runs.parquet"
    runs.save(path)
    before = path.read_bytes()
    written = []

    def write_half(table, where, *args, **options):
        with open(where, "wb") as file:
            file.write(before[: len(before) // 2])
        written.append(where)
        raise mishap

    monkeypatch.setattr(pq, "write_table", write_half)
    with pytest.raises((MatchbanditError, KeyboardInterrupt)):
        some_runs(monopartite(4)).save(path)
    assert len(written) == 1
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_first_save_that_breaks_off_leaves_no_file_at_all(tmp_path, runs, monkeypatch):
    def write_half(table, where, *args, **options):
        with open(where, "wb") as file:
            file.write(b"PAR1")
        raise OSError("disk full")

    monkeypatch.setattr(pq, "write_table", write_half)
    with pytest.raises(MatchbanditError, match="disk full"):
        runs.save(tmp_path / "runs.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_finished_file_that_cannot_take_its_place_leaves_the_old_one(tmp_path, runs, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError("the file is in use")

    path = tmp_path / "runs.parquet"
    runs.save(path)
    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(MatchbanditError, match="in use"):
        some_runs(monopartite(4)).save(path)
    assert_same(load_runs(path), runs)
    assert list(tmp_path.iterdir()) == [path]


def test_while_a_file_is_written_the_old_one_can_be_read(tmp_path, runs, monkeypatch):
    path = tmp_path / "runs.parquet"
    runs.save(path)
    write, seen = pq.write_table, []

    def write_and_look(table, where, *args, **options):
        write(table, where, *args, **options)
        seen.append(load_runs(path))

    monkeypatch.setattr(pq, "write_table", write_and_look)
    some_runs(monopartite(4)).save(path)
    assert_same(seen[0], runs)
    assert_same(load_runs(path), some_runs(monopartite(4)))


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "nowhere.parquet"
    with pytest.raises(MatchbanditError) as refusal:
        load_runs(path)
    assert str(refusal.value) == f"there is no file {str(path)!r}."


def spoil_empty(path):
    path.write_bytes(b"")


def spoil_text(path):
    path.write_text("run,regret\n0,1.5\n")


def spoil_half(path):
    some_runs(bipartite(2, 3)).save(path)
    path.write_bytes(path.read_bytes()[:-100])


def spoil_foreign(path):
    pq.write_table(pa.table({"x": [1, 2]}), path)


def spoil_foreign_with_metadata(path):
    pq.write_table(pa.table({"run": [1], "regret": [[1.0]]}).replace_schema_metadata({b"pandas": b"{}"}), path)


def spoil_key_without_columns(path):
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata({b"matchbandit": b"{}"}), path)


def spoil_key_without_json(path):
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata({b"matchbandit": b"0.1.0 of"}), path)


def spoil_folder(path):
    path.mkdir()


def spoil_middle(path):
    some_runs(bipartite(2, 3)).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) - 12) + whole[-8:])


def spoil_problem(path):
    some_runs(bipartite(2, 3)).save(path)
    table = pq.read_table(path)
    kept = json.loads(table.schema.metadata[b"matchbandit"])
    del kept["about"]["problem"]
    pq.write_table(table.replace_schema_metadata({b"matchbandit": json.dumps(kept)}), path)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_empty, f"is empty. {SAVED}"),
        (spoil_text, f"is not a Parquet file. {SAVED}"),
        (spoil_half, "is cut off: its end is missing. Make or copy it again."),
        (spoil_middle, "is damaged: it cannot be decoded. Make or copy it again."),
        (spoil_foreign, f"was not written by Runs.save. {SAVED}"),
        (spoil_foreign_with_metadata, f"was not written by Runs.save. {SAVED}"),
        (spoil_key_without_columns, f"was not written by Runs.save. {SAVED}"),
        (spoil_key_without_json, f"was not written by Runs.save. {SAVED}"),
        (spoil_problem, f"is not complete: the description of the runs lacks problem. {SAVED}"),
        (spoil_folder, f"is a folder. {SAVED}"),
    ],
)
def test_a_file_that_save_did_not_write_is_refused_by_name(tmp_path, spoil, words):
    path = tmp_path / "runs.parquet"
    spoil(path)
    with pytest.raises(MatchbanditError) as refusal:
        load_runs(path)
    assert str(refusal.value) == f"{str(path)!r} {words}"


@pytest.mark.parametrize("name", ["runs.csv", "runs.pq", "runs.parquet.gz"])
def test_only_parquet_is_written(tmp_path, runs, name):
    with pytest.raises(MatchbanditError, match=r"results are kept as Parquet; got .*Call the file runs"):
        runs.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "why"),
    [("x" * 300, "File name too long"), ("\0.parquet", "embedded null"), ("\udcff.parquet", "surrogates not allowed")],
    ids=["long", "null", "not UTF-8"],
)
def test_a_name_that_no_file_can_have_is_refused(tmp_path, runs, name, why):
    with pytest.raises(MatchbanditError, match=f"cannot be written: .*{why}"):
        runs.save(tmp_path / name)


def test_a_file_without_a_name_is_refused(runs):
    with pytest.raises(MatchbanditError, match="a file to write needs a name"):
        runs.save("")
    with pytest.raises(MatchbanditError, match="there is no file ''"):
        load("")


def test_eliminations_come_back(tmp_path):
    gone = Elimination(2**60, "row", 3, 1, "all opponents", None, 0.25, (0.2, 0.3), 0.5, (0.4, 0.6))
    runs = replace(some_runs(monopartite(4)), eliminations=[[gone, gone._replace(on=2, window=5)], [], [gone]])
    runs.save(tmp_path / "runs.parquet")
    again = load_runs(tmp_path / "runs.parquet")
    assert_same(again, runs)
    assert {type(gone) for run in again.eliminations for gone in run} == {Elimination}
    assert some_runs(monopartite(4)).eliminations == [[], [], []]


def test_about_reads_like_a_record_and_like_a_dict():
    told = mb.simulate(mb.Bipartite([0.9, 0.3], [0.8, 0.4]), "pair-elim", horizon=10, runs=2, seed=3).about
    assert (told.policy, told["policy"], told.get("policy")) == ("pair-elim",) * 3
    assert (told.horizon, told.stop, told.get("stop"), "stop" in told) == (10, None, None, False)
    assert {**told} == told.describe()
    assert About.from_dict(told.describe()) == told
    assert json.loads(json.dumps(told.describe())) == told
    with pytest.raises(KeyError):
        told["stop"]
    with pytest.raises(AttributeError):
        told.policy = "uts"
    assert told.version == mb.__version__
    assert told.numpy == np.__version__
    assert datetime.fromisoformat(told.date) <= datetime.now(UTC)


def test_about_is_the_same_on_any_day_but_not_for_another_seed():
    one = about(date="2020-01-01T00:00:00+00:00")
    assert one == about(date="2021-01-01T00:00:00+00:00") == about()
    assert one != about(seed=8)
    assert one != 7


def test_files_of_version_0_3_are_read():
    runs, splits = load_runs(OLD / "runs.parquet"), load_runs(OLD / "splits.parquet")
    found = load_identification(OLD / "identification.parquet")
    for kept in (runs, splits, found):
        assert (kept.about.version, kept.about.numpy, kept.about.date) == (None, None, None)
    assert (runs.about.policy, runs.about.horizon, runs.regret.shape[0]) == ("pair-elim", 100_000, 2)
    assert runs.eliminations == [[], []]
    assert splits.splits[0][-1][1] == [[0, 1], [2, 3]]
    assert (found.about.answers, found.correct.tolist()) == ("matching", [True, True])


def test_runs_say_what_they_are(runs):
    slots = mb.simulate(mb.Bipartite([0.9, 0.3], [0.8, 0.4]), mb.policy("uts"), horizon=10, runs=2)
    assert repr(slots).startswith("<Runs: uts(")
    assert "on bipartite 2×2, bernoulli rewards; runs 2, rounds 10, final regret " in repr(slots)
    assert "(5–95 %: " in repr(slots)
    html = replace(runs, about=replace(runs.about, policy="<b>x</b>"))._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert "<th>final regret</th>" in html


def test_an_identification_says_what_it_is():
    found = load_identification(OLD / "identification.parquet")
    assert "matching-id(growth=4.0, delta=0.05) on monopartite with 4 players" in repr(found)
    assert "runs 2, right 2, wrong 0, not identified 0, rounds " in repr(found)
    assert "<th>wrong</th><td>0</td>" in found._repr_html_()


def test_plays_stand_at_their_pairs():
    slots = Runs(about(bipartite(2, 3)), np.array([5]), np.zeros((1, 1)), np.array([[1, 2, 3, 4, 5, 6]]))
    assert slots.plays.tolist() == [[[1, 2, 3], [4, 5, 6]]]
    players = Runs(about(monopartite(3)), np.array([5]), np.zeros((2, 1)), np.array([[1, 2, 3], [4, 5, 6]]))
    assert players.plays.tolist() == [[[0, 1, 2], [0, 0, 3], [0, 0, 0]], [[0, 4, 5], [0, 0, 6], [0, 0, 0]]]


@pytest.mark.parametrize(("graph", "shape"), [(bipartite(4, 2), (3, 4, 2)), (monopartite(6), (3, 6, 6))], ids=str)
def test_plays_are_a_matrix_for_each_run_and_keep_every_play(graph, shape):
    runs = some_runs(graph)
    assert runs.plays.shape == shape
    assert runs.plays.dtype == np.int64
    assert np.array_equal(np.sort(runs.plays[runs.plays > 0]), np.sort(runs.plays_by_edge.ravel()))


def test_final_and_summary_by_hand():
    regret = np.column_stack([np.zeros(21), np.random.default_rng(1).permutation(21)])
    runs = Runs(about(), np.array([1, 9]), regret, np.zeros((21, 1), dtype=np.int64))
    assert runs.final.tolist() == regret[:, 1].tolist()
    assert runs.summary() == {"mean": [0.0, 10.0], "p5": [0.0, 1.0], "p95": [0.0, 19.0]}


def test_rows_are_flat_with_a_row_for_each_run_and_checkpoint():
    runs = Runs(about(), np.array([1, 10**15]), np.array([[0.5, 7.0], [0.25, 9.0]]), np.zeros((2, 1)))
    assert rows_of(runs, "over-gap", 0.75) == [
        Row("over-gap", "uts", 0.75, 0, 1, 0.5),
        Row("over-gap", "uts", 0.75, 0, 10**15, 7.0),
        Row("over-gap", "uts", 0.75, 1, 1, 0.25),
        Row("over-gap", "uts", 0.75, 1, 10**15, 9.0),
    ]
    assert {type(value) for row in rows_of(runs, "over-gap", 0.75) for value in row} == {str, int, float}


def test_a_file_of_version_0_1_has_no_ends_and_no_splits(runs, tmp_path):
    now = runs
    now.save(tmp_path / "now.parquet")
    table = pq.read_table(tmp_path / "now.parquet")
    pq.write_table(table.drop_columns(["ended", "splits", "eliminations"]), tmp_path / "then.parquet")
    then = load_runs(tmp_path / "then.parquet")
    assert then.regret.tolist() == now.regret.tolist()
    assert then.ended.tolist() == [now.rounds[-1]] * len(now.regret)
    assert then.splits == [[]] * len(now.regret)


def test_an_identification_is_kept_and_read_back(tmp_path):
    found = mb.identify(mb.Monopartite([0.9, 0.8, 0.4, 0.3]), mb.policy("matching-id", delta=0.2), runs=3, seed=2)
    found.save(tmp_path / "found.parquet")
    again = mb.load_identification(tmp_path / "found.parquet")
    assert again.about == found.about
    assert again.about["answers"] == "matching"
    for part in ("rounds", "pairs", "identified", "correct", "answers"):
        kept, read = getattr(found, part), getattr(again, part)
        assert kept.dtype == read.dtype
        assert (kept == read).all()
    assert again.summary() == found.summary()


def test_runs_and_identifications_are_not_taken_for_each_other(tmp_path):
    slots = mb.Bipartite([0.9, 0.3], [0.8, 0.4])
    mb.simulate(slots, "uts", horizon=10).save(tmp_path / "runs.parquet")
    mb.identify(slots, mb.policy("pair-elim", delta=0.2)).save(tmp_path / "found.parquet")
    with pytest.raises(mb.MatchbanditError, match=r"holds simulated runs, not an identification\. Use load_runs"):
        mb.load_identification(tmp_path / "runs.parquet")
    with pytest.raises(
        mb.MatchbanditError, match=r"holds an identification, not simulated runs\. Use load_identification"
    ):
        mb.load_runs(tmp_path / "found.parquet")
    with pytest.raises(mb.MatchbanditError, match="there is no file"):
        mb.load_identification(tmp_path / "none.parquet")
    (tmp_path / "x.parquet").write_text("x")
    with pytest.raises(mb.MatchbanditError, match=r"is not a Parquet file\. Give a file that Identification\.save"):
        mb.load_identification(tmp_path / "x.parquet")


def test_pickles_of_version_0_4_are_read(runs):
    old = object.__new__(Runs)
    old.__dict__.update({f.name: runs.__dict__[f.name] for f in fields(Runs)})  # where a plain dataclass keeps them
    assert_same(pickle.loads(pickle.dumps(old)), runs)
