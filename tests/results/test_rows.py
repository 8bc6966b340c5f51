import json
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from reference.made import final, found, made_about

import matchbandit as mb
from matchbandit import extras
from matchbandit.errors import MatchbanditError
from matchbandit.results import Rows, Runs
from matchbandit.results.tables import rows_table


def spiked(gap):
    return mb.family("spiked", n=2, u1=0.9, gap=gap).describe()


def over_time(regret, rounds, **parts):
    """Runs with these regrets at these rounds, the last of which is the horizon."""
    regret = np.array(regret, dtype=float)
    told = made_about(horizon=rounds[-1], **{"runs": len(regret), **parts})
    return Runs(told, np.array(rounds), regret, np.zeros((len(regret), 1), dtype=np.int64), np.zeros((len(regret), 1)))


@pytest.fixture
def some():
    """Two policies, two gaps, two runs, two checkpoints."""
    return Rows.together(
        over_time([[k, 10 * k], [k + 1, 10 * k + 5]], [3, 9], policy=policy, problem=spiked(gap)).rows()
        for k, (policy, gap) in enumerate([("uts", 0.7), ("cucb", 0.7), ("uts", 0.5), ("cucb", 0.5)])
    )


def test_columns_are_arrays(some):
    assert len(some) == 16
    assert some.names[:7] == ["study", "policy", "options", "family", "n", "u1", "gap"]
    assert some["regret"].tolist()[:4] == [0, 0, 1, 5]
    assert (some["n"].dtype, some["gap"].dtype, some["round"].dtype) == (np.int64, np.float64, np.int64)
    assert (some["policy"].dtype, some["policy"][0]) == (object, "uts")
    with pytest.raises(MatchbanditError, match=r"'regrets'.*'regret'"):
        some["regrets"]


def test_where_is_equality_on_columns(some):
    chosen = some.where(policy="uts", gap=0.5)
    assert chosen["regret"].tolist() == [2, 20, 3, 25]
    assert chosen.where(run=1, round=9)["regret"].tolist() == [25]
    assert chosen.where(run=1).where(round=3)["policy"].tolist() == ["uts"]
    assert some.where(gap=np.float64(0.7)).distinct("gap") == [0.7]
    assert len(some.where(gap=0.5 + 1e-12)) == 0
    assert len(some.where(policy="nobody")) == 0
    assert len(some.where()) == 16
    with pytest.raises(MatchbanditError, match=r"'polcy'.*'policy'"):
        some.where(polcy="uts")


def test_the_end_of_each_run_is_its_horizon(some):
    assert some.at_end()["round"].tolist() == [9] * 8
    longer = over_time([[1, 2, 3]], [3, 9, 27], seed=8).rows()
    both = Rows.together([some, longer])
    assert both.at_end().where(seed=8)["regret"].tolist() == [3]
    assert len(both.at_end()) == 9
    taken = found([5, 6]).rows()
    assert taken.at_end() is taken


def test_a_run_that_is_stopped_has_its_end_at_the_horizon_too():
    players = mb.Monopartite([0.9, 0.9, 0.1, 0.1])
    runs = mb.simulate(players, "simple-adaptive-matching", horizon=10**4, runs=4, seed=1, stop="first-split")
    assert (runs.ended < 10**4).all()
    end = runs.rows().at_end()
    assert end["run"].tolist() == [0, 1, 2, 3]
    assert end["regret"].tolist() == runs.final.tolist()


def test_distinct_values_come_in_the_order_of_their_first(some):
    assert some.distinct("gap") == [0.7, 0.5]
    assert some.where(policy="cucb").distinct("policy") == ["cucb"]
    assert some.where(gap=0.5).distinct("gap") == [0.5]
    assert some.distinct("run") == [0, 1]
    assert some.where(run=1).distinct("run") == [1]
    assert [type(value) for value in (some.distinct("n") + some.distinct("run"))] == [int] * 3
    lists = Rows.together(final([1.0], problem=mb.Monopartite(u).describe()).rows() for u in ([0.9, 0.1], [0.8, 0.2]))
    assert lists.distinct("u") == [(0.9, 0.1), (0.8, 0.2)]
    assert lists.where(u=[0.8, 0.2])["u"].tolist() == [(0.8, 0.2)]
    assert lists.where(u=np.array([0.8, 0.2]))["run"].tolist() == [0]


def test_a_curve_is_mean_and_percentiles_at_each_value(some):
    over_gap = some.where(policy="uts").curve("gap")
    assert over_gap.x.tolist() == [0.5, 0.7]
    assert over_gap.mean.tolist() == [22.5, 2.5]
    assert over_gap.p5.tolist() == pytest.approx([20.25, 0.25])
    assert over_gap.p95.tolist() == pytest.approx([24.75, 4.75])
    over_rounds = some.where(policy="uts", gap=0.5).curve("round")
    assert (over_rounds.x.tolist(), over_rounds.mean.tolist()) == ([3, 9], [2.5, 22.5])
    assert some.curve("policy").x.tolist() == ["cucb", "uts"]
    assert some.where(policy="uts").curve("run").mean.tolist() == [10, 15]
    nobody = some.where(policy="nobody").curve("gap")
    assert [len(part) for part in nobody] == [0] * 4


def test_a_curve_is_what_the_summary_of_runs_says():
    runs = mb.simulate(mb.Bipartite([0.9, 0.3], [0.8, 0.4]), "pair-elim", horizon=10**5, runs=7, seed=2)
    curve, told = runs.rows().curve("round"), runs.summary()
    assert curve.x.tolist() == runs.rounds.tolist()
    assert curve.mean.tolist() == pytest.approx(told["mean"])
    assert (curve.p5.tolist(), curve.p95.tolist()) == (told["p5"], told["p95"])


def test_a_curve_of_identifications_is_of_their_rounds():
    told = Rows.together(found([k, 3 * k], options={"delta": 1 / k}).rows() for k in (10, 20))
    curve = told.curve("delta")
    assert (curve.x.tolist(), curve.mean.tolist()) == ([0.05, 0.1], [40, 20])
    assert told.curve("delta", y="pairs").mean.tolist() == [40, 20]
    assert told.curve("delta", y="correct").mean.tolist() == [1, 1]


def test_places_without_a_value_are_on_no_curve(some):
    with_given = Rows.together([some, final([99.0], problem=mb.Bipartite([0.9], [0.5]).describe()).rows()])
    assert with_given.curve("gap").x.tolist() == [0.5, 0.7]


def test_together_has_the_columns_of_all_in_their_order(some):
    given = final([99.0], problem=mb.Bipartite([0.9], [0.5]).describe()).rows()
    both = Rows.together([given, some])
    assert both.names == [
        "study", "policy", "options", "family", "u", "v", "n", "u1", "gap",
        "rewards", "horizon", "run", "seed", "round", "regret",
    ]  # fmt: skip
    assert len(both) == 17
    assert np.isnan(both["gap"][0])
    assert np.isnan(both["n"][0])
    assert both["u"].tolist() == [(0.9,)] + [None] * 16
    assert both.distinct("gap") == [None, 0.7, 0.5]
    assert both.where(gap=None)["regret"].tolist() == [99]
    assert Rows.together([some.where(policy="cucb"), given]).distinct("policy") == ["cucb", "uts"]


def test_what_does_not_go_together_is_refused(some):
    for parts in ([], [some, found([5]).rows()]):
        with pytest.raises(MatchbanditError):
            Rows.together(parts)
    columns = {"x": pa.array(["a"])}, {"x": pa.array([1.0])}
    with pytest.raises(MatchbanditError, match=r"column x .* string and double"):
        Rows.together(Rows.from_table(pa.table({**column, "run": [0]})) for column in columns)


def test_whole_numbers_and_floats_of_one_column_go_together():
    parts = [Rows.from_table(pa.table({"x": pa.array(values), "run": [0, 1]})) for values in ([1, 2], [2.0, 2.5])]
    both = Rows.together(parts)
    assert both["x"].tolist() == [1, 2, 2, 2.5]
    assert both["x"].dtype == np.float64
    assert both.to_frame("arrow")["x"].to_pylist() == [1, 2, 2, 2.5]


def test_an_option_can_be_a_column():
    told = [({"growth": 1.05, "delta": None}, 1.0), ({"growth": 4, "delta": None}, 2.0)]
    swept = [final([regret], policy="pair-elim", options=options).rows() for options, regret in told]
    every = Rows.together([*swept, final([7.0], policy="uts", options={"gamma": 2}).rows()])
    grown = every.with_option("growth")
    assert (grown.curve("growth").x.tolist(), grown.curve("growth").mean.tolist()) == ([1.05, 4], [1, 2])
    assert grown.where(growth=4)["regret"].tolist() == [2]
    assert grown.where(growth=None)["policy"].tolist() == ["uts"]
    assert len(every.where(policy="uts").with_option("gamma").where(gamma=2)) == 1
    with pytest.raises(MatchbanditError, match=r"'groth'.*'growth'"):
        every.with_option("groth")
    with pytest.raises(MatchbanditError, match="'seed'"):
        every.with_option("seed")


def test_options_of_any_kind_can_be_a_column():
    for values in ([True, False], ["pair", "matching"], [[[0, 1]], [[1, 0]]]):
        told = Rows.together(final([k], options={"x": value}).rows() for k, value in enumerate(values))
        for k, value in enumerate(values):
            assert told.with_option("x").where(x=value)["regret"].tolist() == [k]
        assert told.with_option("x").to_frame("arrow")["x"].to_pylist() == values


def listed(frame):
    """The rows of a frame of any kind, lists as lists and what is missing as None."""

    def plain(value):
        if isinstance(value, list | tuple | np.ndarray):
            return [plain(part) for part in value]
        return None if value is None or value != value else value

    if isinstance(frame, pd.DataFrame):
        frame = frame.to_dict("records")
    else:
        frame = frame.to_dicts() if isinstance(frame, pl.DataFrame) else frame.to_pylist()
    return [{name: plain(value) for name, value in row.items()} for row in frame]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_frames_have_all_rows_and_columns(some, kind):
    mixed = Rows.together([some, final([99.0], problem=mb.Bipartite([0.9], [0.5]).describe()).rows()])
    frame = mixed.to_frame(kind)
    assert type(frame).__module__.partition(".")[0] == {"arrow": "pyarrow"}.get(kind, kind)
    rows = listed(frame)
    assert len(rows) == 17
    assert [*rows[0]] == mixed.names
    assert [row["regret"] for row in rows] == mixed["regret"].tolist()
    assert [row["policy"] for row in rows] == mixed["policy"].tolist()
    assert rows[-1]["u"] == [0.9]
    assert rows[-1]["gap"] is None
    assert rows[0]["u"] is None
    assert listed(mixed.where(gap=0.5).to_frame(kind)) == rows[8:16]


def test_text_is_text_in_frames(some):
    assert some.to_frame("polars").schema["policy"] == pl.String
    assert not isinstance(some.to_frame("pandas")["policy"].dtype, pd.CategoricalDtype)
    frame = some.to_frame("pandas")
    frame.loc[0, "regret"] = 7.0
    assert some["regret"][0] == 0


def test_the_frame_is_of_what_is_there(some, monkeypatch):
    modules = {name: sys.modules[name] for name in ("pandas", "polars")}
    assert extras.choose_frame(None) == "pandas"
    monkeypatch.delitem(sys.modules, "pandas")
    assert extras.choose_frame(None) == "polars"
    monkeypatch.delitem(sys.modules, "polars")
    assert extras.choose_frame(None) == "pandas"
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pandas" else find_spec(name))
    assert extras.choose_frame(None) == "polars"
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    for kind, install in ((None, "pip install pandas"), ("polars", "pip install polars")):
        with pytest.raises(MatchbanditError, match=install):
            some.to_frame(kind)
    assert len(some.to_frame("arrow")) == 16
    sys.modules.update(modules)
    with pytest.raises(MatchbanditError, match=r"'panda'.*'pandas'"):
        some.to_frame("panda")


def test_results_give_rows_and_frames():
    runs = final([1.0, 2.0])
    assert runs.rows("mine").distinct("study") == ["mine"]
    assert runs.to_frame("pandas")["regret"].tolist() == [1, 2]
    assert found([5, 6]).to_frame("polars")["rounds"].to_list() == [5, 6]


def test_lists_that_change_within_a_chunk_are_told_apart():
    rng = np.random.default_rng(0)
    kinds = [[0.5], [0.5, 0.25], [], None, [0.25, 0.5]]
    given = [kinds[k] for k in rng.integers(5, size=200)]
    table = pa.table({"u": pa.array(given, pa.list_(pa.float64())), "run": np.arange(200)})
    told = Rows.from_table(table)
    assert told["u"].tolist() == [None if one is None else tuple(one) for one in given]
    for kind in kinds:
        assert told.where(u=kind)["run"].tolist() == [k for k, one in enumerate(given) if one == kind]
    assert told.to_frame("arrow")["u"].to_pylist() == given


def test_chunks_with_dictionaries_of_their_own_are_one_column():
    chunks = [pa.array(texts).dictionary_encode() for texts in (["a", "b", None], ["b", "c"], ["c", "a"])]
    told = Rows.from_table(pa.table({"policy": pa.chunked_array(chunks), "run": np.arange(7)}))
    assert told["policy"].tolist() == ["a", "b", None, "b", "c", "c", "a"]
    assert told.where(policy="b")["run"].tolist() == [1, 3]
    assert told.where(policy=None)["run"].tolist() == [2]


def test_an_empty_table_has_no_rows():
    table = rows_table(final([1.0], problem=mb.Monopartite([0.9, 0.1]).describe())).slice(0, 0)
    told = Rows.from_table(table)
    assert len(told) == 0
    assert told["u"].tolist() == told["policy"].tolist() == told["regret"].tolist() == []
    assert told.distinct("policy") == []


def test_options_are_in_the_rows_as_json(some):
    runs = mb.simulate(mb.Bipartite([0.9], [0.5]), mb.policy("pair-elim", growth=2), horizon=9)
    (text,) = runs.rows().distinct("options")
    assert json.loads(text) == runs.about.options
    assert list(json.loads(text)) == sorted(runs.about.options)


def test_text_that_is_missing_is_missing_in_frames():
    rows = Rows.from_table(pa.table({"x": pa.array(["a", None, "b"]), "run": [0, 1, 2]}))
    table = rows.to_frame("arrow")
    assert table["x"].null_count == 1
    assert table["x"].to_pylist() == rows.to_frame("polars")["x"].to_list() == ["a", None, "b"]
    assert rows["x"].tolist() == rows.distinct("x") == ["a", None, "b"]
