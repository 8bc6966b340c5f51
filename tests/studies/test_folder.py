import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest
from reference.folders import leftovers, tables_of

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.studies import StudyFolder
from matchbandit.studies import folder as folders
from matchbandit.studies.folder import PartFile
from matchbandit.studies.runner import run_study
from matchbandit.studies.study import Study

SETTINGS = {
    "name": "small",
    "problem": {"family": "spiked", "n": 3, "u1": 0.9, "gap": [0.5, 0.6]},
    "policies": ["pair-elim"],
    "horizon": 2000,
    "runs": 4,
    "seed": 7,
}
SMALL = Study(**SETTINGS)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with all parts, two for each point."""
    out = tmp_path_factory.mktemp("study") / "small"
    run_study(SMALL, out, workers=1, part_runs=2)
    return out


@pytest.fixture
def out(finished, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(finished, tmp_path / "small"))


def shards(out, kind="rows"):
    return sorted((out / kind).glob("*.parquet"))


def again(out, **settings):
    return run_study(SMALL.with_(**settings), out, workers=1, part_runs=2)


def test_a_folder_holds_a_manifest_and_two_tables_for_each_part(out):
    kept = StudyFolder.open(out)
    assert sorted(p.name for p in out.iterdir()) == [".lock", "details", "manifest.json", "rows"]
    assert [p.name for p in shards(out)] == [p.name for p in shards(out, "details")]
    assert kept.study == SMALL
    assert [(part.first, part.runs) for part in kept.parts] == [(0, 2), (2, 2)] * 2
    assert [part.key for part in kept.parts] == [key for point in SMALL.points for key in [point.key] * 2]
    assert all(
        part.path.name == f"pair-elim-{part.key}-{part.first:09}-{part.first + 1:09}.parquet" for part in kept.parts
    )
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["parts"], manifest["runs"]) == (4, 8)
    assert manifest["study"] == SMALL.describe()
    assert set(manifest["versions"]) == {"matchbandit", "simulation source", "numpy", "numba", "python"}
    assert "running" not in manifest
    assert kept.is_complete
    assert kept.seconds == pytest.approx(sum(part.metadata["seconds"] for part in kept.parts))


def test_rows_and_results_are_those_of_simulate(out):
    kept = StudyFolder.open(out)
    for point in SMALL.points:
        bare = mb.simulate(point.problem, "pair-elim", horizon=2000, runs=4, seed=7)
        rows = kept.rows_of(point.key)
        assert rows["regret"].tolist() == bare.regret.ravel().tolist()
        assert rows["round"].tolist() == bare.rounds.tolist() * 4
        assert rows["run"].tolist() == [run for run in range(4) for _ in bare.rounds]
    assert len(kept.rows()) == 2 * len(rows)


def test_results_have_plays_and_eliminations(out):
    results = StudyFolder.open(out).results()
    for point, result in zip(SMALL.points, results, strict=True):
        bare = mb.simulate(point.problem, "pair-elim", horizon=2000, runs=4, seed=7)
        assert (result.plays == bare.plays).all()
        assert result.eliminations == bare.eliminations
        assert result.run_numbers == [0, 1, 2, 3]


def test_duckdb_polars_and_pandas_read_the_rows_directly(out):
    mean = StudyFolder.open(out).rows()["regret"].mean()
    by_hand = duckdb.sql(f"SELECT policy, avg(regret) FROM '{out}/rows/*.parquet' GROUP BY policy").fetchall()
    assert by_hand == [("pair-elim", pytest.approx(mean))]
    assert pl.read_parquet(out / "rows" / "*.parquet")["regret"].mean() == pytest.approx(mean)
    assert pd.read_parquet(out / "rows")["regret"].mean() == pytest.approx(mean)


DAMAGE = {
    "cut off": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "foreign": lambda data: b"not a table",
    "a byte in the middle": lambda data: flipped(data, len(data) // 2),
    "a byte of the footer": lambda data: flipped(data, len(data) - 60),
}


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("kind", ["rows", "details"])
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.sampled(4)
def test_a_damaged_shard_is_named_and_played_again(out, finished, kind, damage):
    victim = shards(out, kind)[1]
    victim.write_bytes(DAMAGE[damage](victim.read_bytes()))
    with pytest.warns(UserWarning, match=f"{kind}/{victim.name} is .*; played again"):
        again(out)
    assert all(a.equals(b) for a, b in zip(tables_of(out), tables_of(finished), strict=True))
    assert shards(out) == [out / "rows" / p.name for p in shards(finished)]


def test_every_flipped_byte_is_found(out):
    part = StudyFolder.open(out).parts[0]
    for file in (part.path, part.details):
        data = file.read_bytes()
        for at in range(0, len(data), 41):
            file.write_bytes(flipped(data, at))
            assert PartFile.named(part.path).damage() is not None, at
        file.write_bytes(data)
    assert PartFile.named(part.path).damage() is None


@pytest.mark.parametrize("gone", ["rows", "details"])
def test_half_a_shard_is_named_and_played_again(out, finished, gone):
    victim = shards(out, gone)[2]
    victim.unlink()
    with pytest.warns(UserWarning, match=f"{gone}/{victim.name} is missing; played again"):
        again(out)
    assert all(a.equals(b) for a, b in zip(tables_of(out), tables_of(finished), strict=True))


def test_a_shard_under_another_name_is_not_taken_for_it(out, finished):
    one, other = shards(out)[0], shards(out)[2]
    shutil.copy(one, other)
    shutil.copy(one.parent.parent / "details" / one.name, other.parent.parent / "details" / other.name)
    with pytest.warns(UserWarning, match=f"rows/{other.name} is not what it says"):
        again(out)
    assert all(a.equals(b) for a, b in zip(tables_of(out), tables_of(finished), strict=True))


def test_temporary_files_of_a_crash_are_removed(out):
    for place in (out, out / "rows", out / "details"):
        (place / ".x.parquet.123.tmp").write_bytes(b"half")
    again(out)
    assert leftovers(out) == []


def test_a_foreign_folder_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(MatchbanditError, match=r"thesis.tex"):
        run_study(SMALL, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_foreign_manifest_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}')
    with pytest.raises(MatchbanditError, match=tmp_path.name):
        run_study(SMALL, tmp_path)


def test_a_foreign_file_among_the_rows_is_refused(out):
    (out / "rows" / "mine.parquet").write_bytes(b"")
    with pytest.raises(MatchbanditError, match=r"mine.parquet'"):
        again(out)


def test_a_manifest_of_a_newer_format_is_refused(out):
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["format"] = 99
    (out / "manifest.json").write_text(json.dumps(manifest))
    for use in (again, StudyFolder.open):
        with pytest.raises(MatchbanditError, match="format 99"):
            use(out)


def test_a_damaged_manifest_says_that_parts_are_kept(out, finished):
    (out / "manifest.json").write_text("{")
    with pytest.raises(MatchbanditError, match="finished parts are kept"):
        again(out)
    (out / "manifest.json").unlink()
    before = {p: p.stat().st_mtime_ns for p in shards(out)}
    again(out)
    assert {p: p.stat().st_mtime_ns for p in shards(out)} == before


def test_a_folder_without_a_study_cannot_be_opened(tmp_path):
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(MatchbanditError, match=folder.name):
            StudyFolder.open(folder)


def test_an_unfinished_folder_can_be_read(out):
    for file in shards(out)[:3]:
        file.unlink()
    kept = StudyFolder.open(out)
    assert len(kept.parts) == 1
    assert not kept.is_complete
    for file in shards(out):
        file.unlink()
    with pytest.raises(MatchbanditError, match=out.name):
        StudyFolder.open(out).rows()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "small").write_text("")
    for folder in (tmp_path / "small", tmp_path / "small" / "below"):
        with pytest.raises(MatchbanditError, match=folder.name):
            run_study(SMALL, folder)
    with pytest.raises(MatchbanditError):
        run_study(SMALL, "")


def test_an_unwritable_folder_is_named(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(MatchbanditError, match=r"small'.*Permission denied"):
        run_study(SMALL, tmp_path / "small")


def test_a_full_disk_ends_in_words_and_keeps_what_was_written(out, finished, monkeypatch):
    replace, left = os.replace, [3]  # the manifest, and a part: details and rows

    def full(*args):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(*args)

    shutil.rmtree(out)
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(MatchbanditError) as error:
            again(out)
    assert "No space left on device" in str(error.value)
    assert "1 of 4 parts" in str(error.value)
    assert leftovers(out) == []
    again(out)
    assert all(a.equals(b) for a, b in zip(tables_of(out), tables_of(finished), strict=True))


def test_a_second_process_is_refused_and_told_who_is_there(out, monkeypatch):
    monkeypatch.setattr(folders, "LOCK_TIMEOUT_S", 0.1)
    script = f"""
from matchbandit.studies.folder import lock_folder, read_manifest, process_info, write_manifest
with lock_folder({str(out)!r}) as folder:
    write_manifest(folder, {{**read_manifest(folder), "running": process_info()}})
    print("locked", flush=True)
    input()
"""
    first = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert first.stdout.readline() == "locked\n"
        with pytest.raises(MatchbanditError, match=rf"\b{first.pid}\b"):
            again(out)
        assert len(StudyFolder.open(out).parts) == 4  # reading is free
    finally:
        first.communicate("\n")
    again(out)


def test_two_threads_of_one_process_are_two(out, monkeypatch):
    monkeypatch.setattr(folders, "LOCK_TIMEOUT_S", 0.1)
    errors = []

    def second():
        with pytest.raises(MatchbanditError, match=out.name), folders.lock_folder(out):
            pass
        errors.append("refused")

    with folders.lock_folder(out):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert errors == ["refused"]


def test_the_lock_is_given_back_after_an_error(out):
    with pytest.raises(MatchbanditError, match=r"seed .*7.* 8"):
        again(out, seed=8)
    again(out)


def test_details_are_joined_with_rows_by_the_name_of_their_file(out):
    both = duckdb.sql(
        f"""
        SELECT gap, r.run, any_value(plays)
        FROM read_parquet('{out}/rows/*.parquet', filename = true) AS r
        JOIN read_parquet('{out}/details/*.parquet', filename = true) AS d
          ON parse_filename(r.filename) = parse_filename(d.filename) AND r.run = d.run
        GROUP BY gap, r.run ORDER BY gap, r.run
        """
    ).fetchall()
    results = StudyFolder.open(out).results()
    told = [(gap, run, plays) for gap in (0.5, 0.6) for run, plays in
            enumerate(results.select(gap=gap).results[0].plays_by_edge.tolist())]  # fmt: skip
    assert both == told


def test_results_say_their_study_and_load_names_the_way_to_them(out):
    assert set(SMALL.results(out).to_frame("pandas")["study"]) == {"small"}
    with pytest.raises(MatchbanditError, match=r"StudyFolder\.open\('"):
        mb.load(out)
    assert mb.studies.StudyFolder is StudyFolder
