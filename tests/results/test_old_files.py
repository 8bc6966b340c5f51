import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.made import made_runs

from matchbandit.graphs import bipartite
from matchbandit.policies.explanation import Elimination
from matchbandit.results import load, load_identification, load_runs

OLD = Path(__file__).parents[1] / "data" / "0.3"


def test_files_of_version_0_3_are_read():
    runs, splits = load_runs(OLD / "runs.parquet"), load_runs(OLD / "splits.parquet")
    found = load_identification(OLD / "identification.parquet")
    for kept in (runs, splits, found):
        assert (kept.about.version, kept.about.numpy, kept.about.date) == (None, None, None)
    assert (runs.about.policy, runs.about.horizon, runs.regret.shape[0]) == ("pair-elim", 100_000, 2)
    assert runs.eliminations == [[], []]
    assert splits.splits[0][-1][1] == [[0, 1], [2, 3]]
    assert (found.about.answers, found.correct.tolist()) == ("matching", [True, True])


def write_as_0_5(runs, path, **columns):
    """One table with a row for each run, as versions 0.1 to 0.5 wrote it."""
    kept = {"about": runs.about.describe(), "rounds": runs.rounds.tolist()}
    table = pa.table({"run": runs.run_numbers, "regret": list(runs.regret), **columns})
    pq.write_table(table.replace_schema_metadata({b"matchbandit": json.dumps(kept).encode()}), path)


@pytest.fixture
def runs():
    return made_runs(bipartite(2, 3))


def test_a_file_of_version_0_1_has_no_ends_and_no_splits(runs, tmp_path):
    write_as_0_5(runs, tmp_path / "then.parquet", plays=list(runs.counted))
    then = load_runs(tmp_path / "then.parquet")
    assert then.regret.tolist() == runs.regret.tolist()
    assert then.plays_by_edge.tolist() == runs.plays_by_edge.tolist()
    assert then.ended.tolist() == [runs.rounds[-1]] * 3
    assert then.splits == then.eliminations == [[]] * 3


def test_a_file_of_version_0_5_has_all_events_and_of_large_graphs_what_was_played(runs, tmp_path):
    gone = Elimination(2**60, "row", 3, 1, "all opponents", None, 0.25, (0.2, 0.3), 0.5, (0.4, 0.6))
    write_as_0_5(
        runs,
        tmp_path / "then.parquet",
        edges=[[1, 2], [], [5]],
        times=[[7, 2**60], [], [1]],
        ended=[7, 8, 9],
        splits=["[]", "[[7, [[0], [1]]]]", "[]"],
        eliminations=["[]", "[]", json.dumps([gone.describe()])],
    )
    then = load(tmp_path / "then.parquet")
    assert [(edges.tolist(), times.tolist()) for edges, times in then.counted] == [
        ([1, 2], [7, 2**60]),
        ([], []),
        ([5], [1]),
    ]
    assert then.ended.tolist() == [7, 8, 9]
    assert then.splits == [[], [(7, [[0], [1]])], []]
    assert then.eliminations == [[], [], [gone]]


def test_what_is_read_from_an_old_file_is_kept_as_a_new_one(tmp_path):
    old = load_runs(OLD / "runs.parquet")
    old.save(tmp_path / "new.parquet")
    new = load_runs(tmp_path / "new.parquet")
    assert new.about == old.about
    assert np.array_equal(new.regret, old.regret)
    assert len(old.rows().at_end()) == 2
    found = load_identification(OLD / "identification.parquet")
    assert found.rows()["delta"].tolist() == [0.05, 0.05]
