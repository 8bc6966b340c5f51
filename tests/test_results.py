import json
import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import bipartite, monopartite
from matchbandit.results import Row, Runs, load_runs, rows_of


def some_runs(graph, n_runs=3, **about):
    """Runs with awkward numbers: huge counts, and regrets with all their digits."""
    rng = np.random.default_rng(0)
    return Runs(
        about={"graph": graph.describe(), "policy": "uts", "seed": 7, **about},
        rounds=np.array([1, 10**6, 2**62]),
        regret=rng.uniform(size=(n_runs, 3)) * [1e-9, 1, 1e15],
        plays_by_edge=rng.integers(2**60, 2**62, size=(n_runs, graph.n_pairs)),
    )


@pytest.fixture
def runs():
    return some_runs(bipartite(2, 3))


def assert_same(one, other):
    assert one.about == other.about
    assert one.splits == other.splits
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
    about = {"options": {"growth": 1.05, "selection": None}, "horizon": 2**62, "name": "Δ ≤ ½", "numbers": [0, 2]}
    runs = some_runs(monopartite(4), **about)
    runs.save(tmp_path / "runs.parquet")
    assert load_runs(tmp_path / "runs.parquet").about == runs.about


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
    assert table.column_names == ["run", "regret", "plays", "ended", "splits"]
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


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_empty,
        spoil_text,
        spoil_half,
        spoil_foreign,
        spoil_foreign_with_metadata,
        spoil_key_without_columns,
        spoil_key_without_json,
        spoil_folder,
    ],
)
def test_a_file_that_save_did_not_write_is_refused_by_name(tmp_path, spoil):
    path = tmp_path / "runs.parquet"
    spoil(path)
    with pytest.raises(MatchbanditError) as refusal:
        load_runs(path)
    assert str(refusal.value) == f"{str(path)!r} was not written by Runs.save."


def test_plays_stand_at_their_pairs():
    slots = Runs({"graph": bipartite(2, 3).describe()}, np.array([5]), np.zeros((1, 1)), np.array([[1, 2, 3, 4, 5, 6]]))
    assert slots.plays.tolist() == [[[1, 2, 3], [4, 5, 6]]]
    players = Runs(
        {"graph": monopartite(3).describe()}, np.array([5]), np.zeros((2, 1)), np.array([[1, 2, 3], [4, 5, 6]])
    )
    assert players.plays.tolist() == [[[0, 1, 2], [0, 0, 3], [0, 0, 0]], [[0, 4, 5], [0, 0, 6], [0, 0, 0]]]


@pytest.mark.parametrize(("graph", "shape"), [(bipartite(4, 2), (3, 4, 2)), (monopartite(6), (3, 6, 6))], ids=str)
def test_plays_are_a_matrix_for_each_run_and_keep_every_play(graph, shape):
    runs = some_runs(graph)
    assert runs.plays.shape == shape
    assert runs.plays.dtype == np.int64
    assert np.array_equal(np.sort(runs.plays[runs.plays > 0]), np.sort(runs.plays_by_edge.ravel()))


def test_final_and_summary_by_hand():
    regret = np.column_stack([np.zeros(21), np.random.default_rng(1).permutation(21)])
    runs = Runs({}, np.array([1, 9]), regret, np.zeros((21, 1), dtype=np.int64))
    assert runs.final.tolist() == regret[:, 1].tolist()
    assert runs.summary() == {"mean": [0.0, 10.0], "p5": [0.0, 1.0], "p95": [0.0, 19.0]}


def test_rows_are_flat_with_a_row_for_each_run_and_checkpoint():
    runs = Runs({"policy": "uts"}, np.array([1, 10**15]), np.array([[0.5, 7.0], [0.25, 9.0]]), np.zeros((2, 1)))
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
    pq.write_table(table.drop_columns(["ended", "splits"]), tmp_path / "then.parquet")
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
    with pytest.raises(mb.MatchbanditError, match=r"was not written by Identification\.save"):
        mb.load_identification(tmp_path / "x.parquet")
