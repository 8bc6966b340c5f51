import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.made import assert_same, assert_same_found, made_about, made_runs

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.files import write_atomically
from matchbandit.graphs import bipartite, monopartite
from matchbandit.policies.explanation import Elimination
from matchbandit.results import Comparison, Identification, Runs, details_file, load, results_file
from matchbandit.results.files import decode_parquet, encode_parquet
from matchbandit.results.tables import metadata_of, rows_table


@pytest.fixture
def runs():
    return made_runs(bipartite(2, 3))


@pytest.mark.parametrize("graph", [bipartite(2, 3), bipartite(1, 1), monopartite(5)], ids=str)
@pytest.mark.parametrize("n_runs", [1, 4])
def test_runs_come_back_from_disk_to_the_bit(tmp_path, graph, n_runs):
    runs = made_runs(graph, n_runs)
    runs.save(tmp_path / "runs.parquet")
    again = load(tmp_path / "runs.parquet")
    assert_same(again, runs)
    assert np.array_equal(again.plays, runs.plays)
    assert again.summary() == runs.summary()


def test_what_was_simulated_comes_back_whole(tmp_path):
    more = {"name": "Δ ≤ ½", "numbers": [0, 2]}
    runs = made_runs(monopartite(4), options={"growth": 1.05, "selection": None}, horizon=2**62, more=more)
    runs.save(tmp_path / "runs.parquet")
    assert load(tmp_path / "runs.parquet").about == runs.about
    assert runs.about["name"] == "Δ ≤ ½"


def test_where_runs_ended_and_how_clusters_split_comes_back(tmp_path):
    plain = made_runs(monopartite(4))
    splits = [[(7, [[0, 1], [2, 3]])], [], [(2**60, [[3], [0, 1, 2]]), (2**61, [[3], [1], [0, 2]])]]
    runs = replace(plain, ended=np.array([7, 2**62, 2**61]), splits=splits)
    runs.save(tmp_path / "runs.parquet")
    again = load(tmp_path / "runs.parquet")
    assert_same(again, runs)
    assert again.ended.tolist() == [7, 2**62, 2**61]
    assert again.splits == splits
    assert {type(split) for run in again.splits for split in run} == {tuple}


def test_simulated_splits_come_back(tmp_path):
    problem = mb.Monopartite([0.9, 0.9, 0.1, 0.1])
    for stop in (None, "first-split"):
        runs = mb.simulate(problem, "simple-adaptive-matching", horizon=2000, runs=3, seed=1, stop=stop)
        runs.save(tmp_path / "runs.parquet")
        assert_same(load(tmp_path / "runs.parquet"), runs)
        assert all(runs.splits)


def test_a_path_may_be_text(tmp_path, runs):
    path = str(tmp_path / "runs")
    runs.save(path)
    assert_same(load(path), runs)


def test_a_link_is_followed_and_stays_a_link(tmp_path, runs):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    runs.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert_same(load(tmp_path / "real"), runs)
    assert_same(load(tmp_path / "link"), runs)


def test_a_place_that_cannot_be_written_is_named(tmp_path, runs):
    for path, named in ((tmp_path / "nowhere" / "runs", "nowhere"), (tmp_path, tmp_path.name), ("/dev/full", "full")):
        with pytest.raises(MatchbanditError, match=named):
            runs.save(path)


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "nowhere.parquet"
    with pytest.raises(MatchbanditError, match=path.name):
        load(path)


def spoil_empty(path):
    path.write_bytes(b"")


def spoil_text(path):
    path.write_text("run,regret\n0,1.5\n")


def spoil_half(path):
    made_runs(bipartite(2, 3)).save(path)
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
    made_runs(bipartite(2, 3)).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) - 12) + whole[-8:])


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_empty, spoil_text, spoil_half, spoil_middle, spoil_foreign, spoil_foreign_with_metadata,
        spoil_key_without_columns, spoil_key_without_json, spoil_folder,
    ],
)  # fmt: skip
def test_a_file_that_save_did_not_write_is_refused_by_name(tmp_path, spoil):
    path = tmp_path / "runs.parquet"
    spoil(path)
    with pytest.raises(MatchbanditError, match=path.name):
        load(path)


@pytest.mark.parametrize("name", ["runs.csv", "runs.pq", "runs.parquet.gz"])
def test_only_parquet_is_written(tmp_path, runs, name):
    with pytest.raises(MatchbanditError, match=f"Parquet.*{name}"):
        runs.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x" * 300, "\0.parquet", "\udcff.parquet"], ids=["long", "null", "not UTF-8"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path, runs, name):
    with pytest.raises(MatchbanditError, match="cannot be written"):
        runs.save(tmp_path / name)


def test_details_that_cannot_be_written_are_refused_before_any_work(tmp_path):
    (tmp_path / "runs.details.parquet").mkdir()
    with pytest.raises(MatchbanditError, match=r"runs\.details\.parquet'"):
        results_file(tmp_path / "runs.parquet")
    results_file(tmp_path / "other.parquet")


def test_a_file_without_a_name_is_refused(runs):
    for use in (runs.save, load):
        with pytest.raises(MatchbanditError):
            use("")


def test_eliminations_come_back(tmp_path):
    gone = Elimination(2**60, "row", 3, 1, "all opponents", None, 0.25, (0.2, 0.3), 0.5, (0.4, 0.6))
    runs = replace(made_runs(monopartite(4)), eliminations=[[gone, gone._replace(on=2, window=5)], [], [gone]])
    runs.save(tmp_path / "runs.parquet")
    again = load(tmp_path / "runs.parquet")
    assert_same(again, runs)
    assert {type(gone) for run in again.eliminations for gone in run} == {Elimination}
    assert made_runs(monopartite(4)).eliminations == [[], [], []]


def test_an_identification_is_kept_and_read_back(tmp_path):
    found = mb.identify(mb.Monopartite([0.9, 0.8, 0.4, 0.3]), mb.policy("matching-id", delta=0.2), runs=3, seed=2)
    found.save(tmp_path / "identification.parquet")
    again = load(tmp_path / "identification.parquet")
    assert_same_found(again, found)
    assert again.about["answers"] == "matching"
    assert again.answers.shape == (3, 2, 2)
    assert again.summary() == found.summary()


def test_one_function_reads_every_kind_of_result(tmp_path):
    slots = mb.Bipartite([0.9, 0.3], [0.8, 0.4])
    mb.simulate(slots, "uts", horizon=10).save(tmp_path / "runs.parquet")
    mb.identify(slots, mb.policy("pair-elim", delta=0.2)).save(tmp_path / "identification.parquet")
    mb.compare(slots, ["uts", "kl-ucb"], horizon=10, runs=2).save(tmp_path / "comparison.parquet")
    kinds = {"runs": Runs, "identification": Identification, "comparison": Comparison}
    for name, kind in kinds.items():
        assert type(load(tmp_path / f"{name}.parquet")) is kind
    with pytest.raises(mb.MatchbanditError, match=r"none.parquet"):
        load(tmp_path / "none.parquet")


def test_a_comparison_comes_back_to_the_bit(tmp_path):
    """Results with other checkpoints, parameters, policies, graphs and studies."""
    path = tmp_path / "comparison.parquet"
    large = [(np.array([0, 4]), np.array([3, 1])), (np.array([7]), np.array([4]))]
    sums = [np.array([2.0, 0.5]), np.array([1.0])]
    runs = [
        mb.simulate(mb.family("spiked", n=3, u1=0.9, gap=0.6), "pair-elim", horizon=10**4, runs=3, seed=3, first_run=2),
        mb.simulate(mb.Monopartite([0.9, 0.8, 0.4, 0.3]), "simple-adaptive-matching", horizon=10**4, runs=2),
        made_runs(bipartite(2, 3), study="mine"),
        Runs(made_about(monopartite(2000), runs=2), np.array([4]), np.array([[1.0], [2.0]]), large, sums),
    ]
    Comparison(tuple(runs)).save(path)
    again = load(path)
    for one, other in zip(again, runs, strict=True):
        assert one.about == other.about
        assert (one.splits, one.eliminations) == (other.splits, other.eliminations)
        for part in ("rounds", "regret", "ended"):
            assert np.array_equal(getattr(one, part), getattr(other, part))
        for mine, theirs in zip(one.played, other.played, strict=True):
            assert mine.pairs.tolist() == theirs.pairs.tolist()
            assert mine.counts.tolist() == theirs.counts.tolist()
            assert mine.sums.tolist() == theirs.sums.tolist()
    assert again.rows().to_frame("arrow").equals(Comparison(tuple(runs)).rows().to_frame("arrow"))
    found = [mb.identify(mb.Bipartite([0.9, 0.3], [0.8, 0.4]), "pair-elim", delta=d, runs=2) for d in (0.1, 0.2)]
    Comparison(tuple(found)).save(path)
    for one, other in zip(load(path), found, strict=True):
        assert_same_found(one, other)


def test_the_details_of_another_comparison_are_refused(tmp_path):
    for name, seed in (("one", 1), ("two", 2)):
        Comparison((made_runs(bipartite(2, 3), seed=seed), made_runs(bipartite(2, 3), policy="cucb"))).save(
            tmp_path / f"{name}.parquet"
        )
    (tmp_path / "two.details.parquet").replace(tmp_path / "one.details.parquet")
    with pytest.raises(MatchbanditError, match=r"one.parquet"):
        load(tmp_path / "one.parquet")


def test_rows_and_details_are_two_files(tmp_path, runs):
    runs.save(tmp_path / "runs.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.details.parquet", "runs.parquet"]
    rows, details = (pq.read_table(tmp_path / name) for name in ("runs.parquet", "runs.details.parquet"))
    assert rows["round"].to_pylist() == [1, 10**6, 2**62] * 3
    assert rows["regret"].to_pylist() == runs.regret.ravel().tolist()
    assert details.column_names == ["run", "ended", "plays", "sums", "splits", "eliminations"]
    assert details["plays"].to_pylist() == runs.plays_by_edge.tolist()
    assert json.loads(rows.schema.metadata[b"matchbandit"])["rounds"] == [1, 10**6, 2**62]


@pytest.mark.parametrize(
    ("rows", "details"),
    [
        ("runs.parquet", "runs.details.parquet"),
        ("a.b.parquet", "a.b.details.parquet"),
        ("runs", "runs.details"),
        ("gaps/rows/uts.parquet", "gaps/details/uts.parquet"),
        ("gaps/rows.parquet", "gaps/rows.details.parquet"),
    ],
)
def test_where_the_details_are(rows, details):
    assert details_file(rows) == Path(details)


def test_in_a_study_s_folder_the_details_are_in_a_folder_of_their_own(tmp_path, runs):
    (tmp_path / "rows").mkdir()
    runs.save(tmp_path / "rows" / "uts.parquet")
    assert (tmp_path / "details" / "uts.parquet").is_file()
    assert_same(load(tmp_path / "rows" / "uts.parquet"), runs)


def test_rows_without_their_details_say_so(tmp_path, runs):
    runs.save(tmp_path / "runs.parquet")
    with pytest.raises(MatchbanditError, match=r"runs\.details\.parquet'"):
        load(tmp_path / "runs.details.parquet")
    (tmp_path / "runs.details.parquet").unlink()
    with pytest.raises(MatchbanditError, match=r"runs.details.parquet"):
        load(tmp_path / "runs.parquet")


def test_rows_and_details_of_different_runs_are_not_mixed(tmp_path, runs):
    runs.save(tmp_path / "runs.parquet")
    made_runs(bipartite(2, 3), seed=8).save(tmp_path / "other.parquet")
    (tmp_path / "other.details.parquet").replace(tmp_path / "runs.details.parquet")
    with pytest.raises(MatchbanditError, match=r"runs.parquet"):
        load(tmp_path / "runs.parquet")


def lack_a_problem(rows, told):
    del told["about"]["problem"]
    return rows, told


def lack_checkpoints(rows, told):
    del told["rounds"]
    return rows, told


def other_checkpoints(rows, told):
    return rows, {**told, "rounds": [1, 2, 3]}


def lack_a_column(rows, told):
    return rows.drop_columns(["round"]), told


def lack_a_row(rows, told):
    return rows.slice(1), told


@pytest.mark.parametrize(
    ("spoil", "lacks"),
    [
        (lack_a_problem, "problem"),
        (lack_checkpoints, "'rounds'"),
        (other_checkpoints, "checkpoints"),
        (lack_a_column, "round"),
        (lack_a_row, "same runs"),
    ],
)
def test_a_file_that_lacks_something_is_not_complete(tmp_path, runs, spoil, lacks):
    path = tmp_path / "runs.parquet"
    runs.save(path)
    rows, told = spoil(rows_table(runs), metadata_of(runs))
    path.write_bytes(encode_parquet(rows, told))
    details = pq.read_table(details_file(path)).replace_schema_metadata(None)
    details_file(path).write_bytes(encode_parquet(details, told))
    with pytest.raises(MatchbanditError, match=f"{path.name}.*{lacks}"):
        load(path)


def test_a_file_of_a_later_format_is_refused(tmp_path, runs):
    path = tmp_path / "runs.parquet"
    path.write_bytes(encode_parquet(rows_table(runs), {**metadata_of(runs), "format": 3}))
    with pytest.raises(MatchbanditError, match="format 3"):
        load(path)


@pytest.mark.parametrize("name", ["runs.parquet", "runs.details.parquet"])
def test_no_damaged_byte_changes_what_is_read(tmp_path, runs, name):
    runs.save(tmp_path / "runs.parquet")
    whole = (tmp_path / name).read_bytes()
    refused = 0
    for place in range(5, len(whole), 31):
        (tmp_path / name).write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            read = load(tmp_path / "runs.parquet")
        except MatchbanditError as refusal:
            refused += 1
            assert str(tmp_path) in str(refusal)  # noqa: PT017  # most are refused, some bytes do not matter
        else:
            assert_same(read, runs)
    assert refused > len(whole) / 31 / 3


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_saving_again_replaces_both_files_and_leaves_nothing_else(tmp_path, runs):
    path = tmp_path / "runs.parquet"
    made_runs(monopartite(4)).save(path)
    runs.save(path)
    assert_same(load(path), runs)
    assert names(tmp_path) == ["runs.details.parquet", "runs.parquet"]


@pytest.mark.parametrize("mishap", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("at", [1, 2])
def test_a_save_that_breaks_off_keeps_the_old_files_and_leaves_no_stray_one(tmp_path, runs, monkeypatch, mishap, at):
    path = tmp_path / "runs.parquet"
    runs.save(path)
    sync, calls = os.fsync, []

    def fail(number):
        calls.append(number)
        if len(calls) == at:
            raise mishap
        sync(number)

    monkeypatch.setattr(os, "fsync", fail)
    kind = MatchbanditError if isinstance(mishap, OSError) else KeyboardInterrupt
    with pytest.raises(kind) as told:
        made_runs(monopartite(4)).save(path)
    monkeypatch.undo()
    assert len(calls) == at
    if kind is MatchbanditError:
        failed = details_file(path) if at == 1 else path
        assert repr(str(failed)) in str(told.value)
        assert "No space left on device" in str(told.value)
    assert_same(load(path), runs)
    assert names(tmp_path) == ["runs.details.parquet", "runs.parquet"]


def test_a_first_save_that_breaks_off_leaves_no_file_at_all(tmp_path, runs, monkeypatch):
    def fail(number):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(MatchbanditError, match="disk full"):
        runs.save(tmp_path / "runs.parquet")
    assert names(tmp_path) == []


def test_a_finished_file_that_cannot_take_its_place_leaves_the_old_one(tmp_path, runs, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError("the file is in use")

    path = tmp_path / "runs.parquet"
    runs.save(path)
    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(MatchbanditError, match="in use"):
        made_runs(monopartite(4)).save(path)
    monkeypatch.undo()
    assert_same(load(path), runs)
    assert names(tmp_path) == ["runs.details.parquet", "runs.parquet"]


def test_the_details_are_there_before_the_rows_and_both_before_either(tmp_path, runs, monkeypatch):
    move, seen = Path.replace, []

    def move_and_look(path, target):
        seen.append((path.name.partition(".parquet")[0], names(tmp_path)))
        return move(path, target)

    monkeypatch.setattr(Path, "replace", move_and_look)
    runs.save(tmp_path / "runs.parquet")
    pid = os.getpid()
    unfinished = [f".runs.details.parquet.{pid}.tmp", f".runs.parquet.{pid}.tmp"]
    assert seen == [(".runs.details", unfinished), (".runs", [unfinished[1], "runs.details.parquet"])]


def test_of_a_large_graph_what_was_played_comes_back(tmp_path):
    played = [(np.array([0, 4]), np.array([3, 2**62])), (np.array([7]), np.array([4]))]
    sums = [np.array([2.0, 0.1]), np.array([1.0])]
    about = made_about(monopartite(2000), runs=2)
    runs = Runs(about, np.array([4]), np.array([[1.0], [2.0]]), played, reward_sums=sums)
    runs.save(tmp_path / "many.parquet")
    again = load(tmp_path / "many.parquet")
    assert [(edges.tolist(), times.tolist()) for edges, times in again.counted] == [
        ([0, 4], [3, 2**62]),
        ([7], [4]),
    ]
    assert all(part.dtype == np.int64 for run in again.counted for part in run)
    assert [run.sums.tolist() for run in again.played] == [[2.0, 0.1], [1.0]]
    assert pq.read_table(tmp_path / "many.details.parquet").column_names[:4] == ["run", "ended", "edges", "times"]


def test_pieces_keep_the_numbers_of_their_runs(tmp_path, runs):
    piece = replace(runs, about=replace(runs.about, first_run=40))
    piece.save(tmp_path / "piece.parquet")
    assert load(tmp_path / "piece.parquet").run_numbers == [40, 41, 42]
    assert pq.read_table(tmp_path / "piece.parquet")["run"].to_pylist() == [run for run in (40, 41, 42) for _ in "abc"]


def test_the_folder_of_a_file_says_nothing_about_its_rows(tmp_path, runs):
    folder = tmp_path / "policy=cucb"
    folder.mkdir()
    runs.save(folder / "runs.parquet")
    assert load(folder / "runs.parquet").about.policy == "uts"


def test_files_have_checksums_zstd_and_dictionaries(tmp_path):
    path = tmp_path / "x.parquet"
    runs = mb.simulate(mb.family("spiked", n=4, u1=0.9, gap=0.6), "uniform", horizon=100, runs=50)
    path.write_bytes(encode_parquet(rows_table(runs), {}))
    columns = {
        column.path_in_schema: column for column in map(pq.ParquetFile(path).metadata.row_group(0).column, range(13))
    }
    assert {column.compression for column in columns.values()} == {"ZSTD"}
    assert [name for name, column in columns.items() if not column.has_dictionary_page] == ["regret"]
    whole = path.read_bytes()
    place = columns["regret"].data_page_offset + columns["regret"].total_compressed_size - 3
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    with pytest.raises(MatchbanditError, match=r"x\.parquet'"):
        decode_parquet(path)


@pytest.mark.parametrize("data", [b"", b"run,regret", b"PAR1 and then", b"PAR1PAR1"])
def test_bytes_that_are_no_file_of_ours_are_refused(data):
    with pytest.raises(MatchbanditError):
        decode_parquet(data)


def test_a_file_is_written_whole_and_lasts(tmp_path, monkeypatch):
    synced, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (synced.append(os.fstat(number).st_mode & 0o170000), sync(number)))
    write_atomically(tmp_path / "x", b"1234")
    assert (tmp_path / "x").read_bytes() == b"1234"
    assert synced == [0o100000, 0o040000]  # the file, then the folder
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MatchbanditError, match=r"x'.*No space left on device"):
        write_atomically(tmp_path / "x", b"1234")
    assert list(tmp_path.iterdir()) == []
