"""Tables of runs: rows chosen and joined, and statistics of columns."""

import numpy as np
import pyarrow as pa
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.lab.tables import RunTable, part_table, result_of

TABLE = RunTable({
    "policy": ["uts", "cucb", "uts", "uts"], "gap": [0.6, 0.5, 0.5, 0.6], "growth": [None, 4.0, None, None],
    "run": [0, 0, 0, 1], "regret": [2.0, 9.0, 3.0, 5.0],
})  # fmt: skip


def test_where_selects_exact_values_and_missing_ones():
    assert TABLE.where(policy="uts", gap=0.6)["regret"].tolist() == [2, 5]
    assert TABLE.where({"growth": None})["policy"].tolist() == ["uts"] * 3
    assert len(TABLE.where(gap=0.7)) == 0
    with pytest.raises(MatchbanditError, match="unknown column 'gp'; did you mean 'gap'"):
        TABLE.where(gp=0.5)


def test_split_gives_parts_in_the_order_of_first_appearance():
    parts = [(values, table["run"].tolist()) for values, table in TABLE.split("policy", "gap")]
    assert parts == [
        ({"policy": "uts", "gap": 0.6}, [0, 1]),
        ({"policy": "cucb", "gap": 0.5}, [0]),
        ({"policy": "uts", "gap": 0.5}, [0]),
    ]


def test_curve_has_mean_and_standard_error_in_ascending_order():
    curve = TABLE.where(policy="uts").curve("gap")
    assert curve.x.tolist() == [0.5, 0.6]
    assert curve.mean.tolist() == [3, 3.5]
    assert curve.runs.tolist() == [1, 2]
    assert np.isnan(curve.se[0])
    assert curve.se[1] == pytest.approx(1.5)


def test_concat_joins_columns_that_some_tables_lack():
    joined = RunTable.concat([TABLE, RunTable({"policy": ["x"], "n": [3], "is_new": [True]})])
    assert joined["n"].tolist()[-1] == 3
    assert np.isnan(joined["n"][:4]).all()
    assert joined["is_new"].tolist() == [None, None, None, None, True]


def test_lists_of_arrow_are_arrays_whatever_their_chunks():
    column = pa.chunked_array([pa.array([[1, 2], None, [3]]), pa.array([[], [4]], pa.list_(pa.int64()))])
    lists = RunTable.from_arrow(pa.table({"x": column}))["x"]
    assert [None if each is None else each.tolist() for each in lists] == [[1, 2], None, [3], [], [4]]


@pytest.mark.parametrize("policy", ["pair-elim", "rank1-thompson"])
def test_result_of_a_part_is_the_result_that_it_was_made_of(policy):
    result = mb.simulate(mb.Bipartite([0.9, 0.3], [0.8, 0.4, 0.1]), policy, horizon=300, runs=3, first_run=2)
    table = part_table({"gap": 0.5, "u": [1, 2]}, result)
    assert table["gap"].to_pylist() == [0.5] * 3
    again = result_of(table, result.about.describe())
    assert again.about == result.about
    for name in ("rounds", "regret", "plays", "reward_sums", "ended"):
        assert np.array_equal(getattr(again, name), getattr(result, name))
    assert (again.splits, again.eliminations) == (result.splits, result.eliminations)
    rows = RunTable.from_arrow(table).over_rounds().where(run=3)
    assert rows["round"].tolist() == result.rounds.tolist()
    assert rows["regret"].tolist() == result.regret[1].tolist()


def test_notebooks_show_the_first_rows_escaped():
    html = RunTable({"policy": ["<b>"] * 9, "run": range(9)})._repr_html_()
    assert (html.count("<tr>"), html.count("&lt;b&gt;"), html.count("<b>")) == (6, 5, 0)
