"""The folder of a study: readable at any time, and no damage goes unnoticed."""

import random
import shutil
import sys

import pyarrow.parquet as pq
import pytest

from matchbandit.errors import MatchbanditError
from matchbandit.lab.studies.folder import StudyFolder
from matchbandit.lab.studies.study import Study

SMALL = Study(
    name="small", problem={"family": "spiked", "n": 3, "u1": 0.9}, sweep={"gap": [0.5, 0.6]},
    policies=["pair-elim", "uts"], horizon=300, runs=4, seed=7, checkpoints=[10],
)  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    SMALL.run(folder, workers=1, part_runs=2)
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "study")


def regret(path):
    return StudyFolder.open(path).runs()["regret"].tolist()


def test_a_part_is_a_parquet_file_with_one_row_per_run(finished):
    tables = [pq.read_table(file) for file in sorted((finished / "parts").glob("pair-elim-*-0-1-*.parquet"))]
    assert [table.num_rows for table in tables] == [2, 2]
    assert {table["gap"][0].as_py() for table in tables} == {0.5, 0.6}
    assert tables[0]["rounds"][0].as_py() == [10, 300]


def test_open_returns_the_study_without_importing_the_users_code(tmp_path, monkeypatch):
    code = "import matchbandit as mb\nclass Mine(mb.CATALOGUE['pair-elim']):\n    name = 'mine'\n"
    code += "def steep(n: int, *, rewards, rng):\n    return mb.Bipartite([0.9, 0.1], [0.5] * n, rewards=rewards)\n"
    (tmp_path / "own_once.py").write_text(code)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    sweep = {"n": [2, 4], "own_once:Mine.growth": [1.5, 4]}
    settings = {"problem": {"family": "own_once:steep"}, "policies": ["own_once:Mine"], "sweep": sweep}
    study = Study(name="own", **settings, horizon=5, runs=2)
    study.run(tmp_path / "out", workers=1)
    (tmp_path / "own_once.py").unlink()
    monkeypatch.delitem(sys.modules, "own_once")
    reopened = StudyFolder.open(tmp_path / "out")
    assert (reopened.study.name, len(reopened.runs()), reopened.missing) == ("own", 8, {})


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at // 8 % len(data)] ^= 1 << at % 8
    path.write_bytes(data)


def test_a_damaged_part_is_named_and_played_again(folder, finished):
    flipped, cut, empty, renamed, backup, *_ = sorted((folder / "parts").iterdir())
    flip(flipped, 12_345)
    cut.write_bytes(cut.read_bytes()[:-7])
    empty.write_bytes(b"")
    renamed.rename(renamed.with_name(renamed.name.replace("-0-1-", "-4-5-").replace("-2-3-", "-0-1-")))
    backup.rename(folder / "parts" / "backup.parquet")
    opened = StudyFolder.open(folder)
    with pytest.warns(UserWarning, match="damaged or renamed, and ignored: backup.parquet"):
        assert sum(opened.missing.values()) == 10
    assert len(opened.damaged) == 5
    with pytest.warns(UserWarning, match="damaged or renamed, and ignored: backup.parquet"):
        SMALL.run(folder, workers=1, part_runs=2)
    (folder / "parts" / "backup.parquet").unlink()
    assert StudyFolder.open(folder).damaged == []
    assert regret(folder) == regret(finished)


def test_a_folder_of_another_format_is_refused_in_one_line(folder, monkeypatch):
    monkeypatch.setattr("matchbandit.lab.studies.folder.FORMAT", 2)
    with pytest.raises(MatchbanditError, match="was written by another version of matchbandit"):
        StudyFolder.open(folder)


def test_a_folder_named_like_a_part_is_refused_in_one_line(folder):
    part = min((folder / "parts").iterdir())
    part.unlink()
    part.mkdir()
    with pytest.raises(MatchbanditError, match="is a folder"):
        SMALL.run(folder, workers=1)


@pytest.mark.slow
def test_none_of_200_flipped_bits_is_silent(finished, tmp_path):
    rng = random.Random(1)
    files = sorted(file for file in finished.rglob("*") if file.is_file())
    whole = regret(finished)
    for k in range(200):
        copy = shutil.copytree(finished, tmp_path / str(k))
        file = copy / rng.choice(files).relative_to(finished)
        flip(file, rng.randrange(8 * file.stat().st_size))
        if file.name == "study.json":
            with pytest.raises(MatchbanditError, match=r"study\.json' is damaged"):
                StudyFolder.open(copy)
            SMALL.run(copy, workers=1)
        else:
            with pytest.warns(UserWarning, match=file.name):
                SMALL.run(copy, workers=1)
        assert regret(copy) == whole
        shutil.rmtree(copy)


def test_overlapping_parts_count_each_run_once(folder, finished):
    for file in (folder / "parts").glob("uts-*-2-3-*.parquet"):
        file.unlink()
    SMALL.with_(runs=4).run(folder, workers=1, part_runs=1)
    for file in (finished / "parts").iterdir():
        shutil.copy(file, folder / "parts")
    assert regret(folder) == regret(finished)
    assert [len(result) for result in StudyFolder.open(folder).results()] == [4] * 4


def test_metadata_names_seconds_versions_and_warnings_of_each_part(finished):
    first, *rest = StudyFolder.open(finished).metadata
    assert len(rest) == 7
    assert (first["label"], first["position"], first["runs"], first["warnings"]) == ("pair-elim", "gap = 0.5", 2, [])
    assert first["seconds"] > 0
    assert set(first["versions"]) == {"matchbandit", "numpy", "numba", "python"}


def test_open_refuses_what_is_not_the_folder_of_a_study(tmp_path):
    with pytest.raises(MatchbanditError, match=r"is not the folder of a study: it has no study\.json"):
        StudyFolder.open(tmp_path)
    StudyFolder.create(tmp_path, SMALL)
    with pytest.raises(MatchbanditError, match="holds no finished part yet"):
        StudyFolder.open(tmp_path).runs()
    (tmp_path / "study.json").write_text("[" * 100_000)
    with pytest.raises(MatchbanditError, match=r"study\.json' is damaged"):
        StudyFolder.open(tmp_path)
