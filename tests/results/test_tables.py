import json
import sys
from dataclasses import replace
from types import ModuleType

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from reference.made import assert_same, assert_same_found, final, found, made_about, made_runs

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import monopartite
from matchbandit.results import Runs, tables
from matchbandit.results.files import decode_parquet, encode_parquet
from matchbandit.results.tables import (
    details_table,
    metadata_of,
    options_text,
    parameter_types,
    parameters_of,
    result_from,
    rows_table,
)

TEXT, WHOLE, REAL = pa.dictionary(pa.int32(), pa.string()), pa.int64(), pa.float64()
SPIKED = mb.family("spiked", n=4, u1=0.9, gap=0.6)


def kinds(table):
    """Names and types of the columns, lists without the names of what is in them."""
    return {part.name: str(part.type).replace("item: ", "").replace("element: ", "") for part in table.schema}


def test_rows_of_a_family_by_hand():
    runs = mb.simulate(
        SPIKED, mb.policy("pair-elim", growth=1.5), horizon=50, checkpoints=[5], runs=2, first_run=3, seed=9
    )
    table = rows_table(runs)
    assert table.schema.types == [TEXT] * 4 + [WHOLE, REAL, REAL, TEXT] + [WHOLE] * 4 + [REAL]
    first = {
        "study": "simulate", "policy": "pair-elim", "options": options_text(runs.about.options), "family": "spiked",
        "n": 4, "u1": 0.9, "gap": 0.6, "rewards": "bernoulli", "horizon": 50, "run": 3, "seed": 9,
        "round": 5, "regret": runs.regret[0, 0],
    }  # fmt: skip
    rows = table.to_pylist()
    assert rows[0] == first
    assert list(rows[0]) == list(first)  # the order of the columns is a promise
    assert [(row["run"], row["round"], row["regret"]) for row in rows] == [
        (run, at, runs.regret[k, c]) for k, run in enumerate([3, 4]) for c, at in enumerate([5, 50])
    ]
    assert json.loads(rows[0]["options"])["growth"] == 1.5
    assert [*json.loads(rows[0]["options"])] == sorted(mb.CATALOGUE["pair-elim"].option_defaults())


def test_rows_of_an_identification_by_hand():
    told = found([10, 30], correct=[True, False], policy="matching-id", options={"growth": 4.0, "delta": 0.1})
    assert rows_table(told, study="mine").to_pylist()[1] == {
        "study": "mine", "policy": "matching-id", "options": '{"growth": 4.0}', "family": "", "rewards": "",
        "delta": 0.1, "epsilon": None, "budget": None, "run": 1, "seed": 7, "rounds": 30, "pairs": 30,
        "identified": True, "correct": False,
    }  # fmt: skip
    assert list(rows_table(told).column_names)[-9:] == [
        "delta", "epsilon", "budget", "run", "seed", "rounds", "pairs", "identified", "correct",
    ]  # fmt: skip
    assert rows_table(told)["study"].to_pylist() == ["identify"] * 2


def test_epsilon_and_budget_have_columns_of_their_own():
    """ε is taken from the options, like δ, unless the option of that name is something else."""
    precise = found([10], policy="mine", options={"delta": 0.1, "epsilon": 0.05}, epsilon=0.05)
    other = found([10], policy="mine", options={"epsilon": 0.05})
    within = found([10], policy="sequential-halving", options={}, budget=12)
    rows = [rows_table(told).to_pylist()[0] for told in (precise, other, within)]
    assert [(row["options"], row["delta"], row["epsilon"], row["budget"]) for row in rows] == [
        ("{}", 0.1, 0.05, None),
        ('{"epsilon": 0.05}', None, None, None),
        ("{}", None, None, 12),
    ]
    assert kinds(rows_table(within))["budget"] == "int64"


@pytest.mark.parametrize(
    ("problem", "values", "types"),
    [
        (mb.Bipartite([0.9, 0.5], [0.8]), {"u": [0.9, 0.5], "v": [0.8]}, ["list<double>", "list<double>"]),
        (mb.Monopartite([1, 0]), {"u": [1.0, 0.0]}, ["list<double>"]),
        (mb.Means([[1, 0]]), {"means": [[1.0, 0.0]], "players": False}, ["list<list<double>>", "bool"]),
        (mb.family("staircase", n=2, gap=0), {"n": 2, "gap": 0}, ["int64", "double"]),
        (mb.family("staircase", n=2.0, gap=0.5), {"n": 2.0, "gap": 0.5}, ["int64", "double"]),
    ],
    ids=repr,
)
def test_parameters_have_columns_whose_types_do_not_hang_on_the_values(problem, values, types):
    told = problem.describe()
    assert parameters_of(told) == values
    assert [str(kind).replace("item: ", "") for kind in parameter_types(told).values()] == types
    made = rows_table(final([1.0], problem=told, graph=problem.graph))
    assert [kinds(made)[name] for name in values] == types
    assert {name: made[name][0].as_py() for name in values} == values


@pytest.mark.parametrize(
    ("rewards", "text"),
    [(mb.Bernoulli(), "bernoulli"), (mb.Gaussian(sd=0.5), "gaussian:0.5"), (mb.Binomial(4), "binomial:4")],
)
def test_rewards_stand_there_as_they_are_typed(rewards, text):
    told = final([1.0], problem=mb.Bipartite([0.9], [0.8], rewards=rewards).describe())
    assert rows_table(told)["rewards"].to_pylist() == [text]


@pytest.fixture
def own_family(monkeypatch):
    """A module with families of the user's own."""
    module = ModuleType("my_families")
    code = """
import matchbandit as mb

def mine(n: int, gap: float, kind: str | None = None, loud: bool = False, at: list[int] = (), odd=1, *, rewards, rng):
    return mb.Bipartite([0.9] * int(n), [0.5], rewards=rewards)

def clash(run, *, rewards, rng):
    return mb.Bipartite([0.9], [0.5], rewards=rewards)
"""
    exec(code, module.__dict__)
    monkeypatch.setitem(sys.modules, "my_families", module)


def test_a_family_of_ones_own_says_the_types_of_its_columns(own_family):
    expected = ["int64", "double", "string", "bool", "list<item: int64>", "double"]
    for parameters in ({"n": 3, "gap": 1}, {"n": 3.0, "gap": 0.5, "kind": "x", "loud": True, "at": [1, 2], "odd": 2}):
        told = mb.family("my_families:mine", **parameters).describe()
        assert [str(kind) for kind in parameter_types(told).values()] == expected
    table = rows_table(final([1.0], problem=told))
    assert [table[name][0].as_py() for name in ("n", "gap", "kind", "loud", "at", "odd")] == [
        3,
        0.5,
        "x",
        True,
        [1, 2],
        2,
    ]


def test_a_family_that_is_not_there_any_more_has_rows_and_is_not_imported(own_family, tmp_path, monkeypatch):
    told = mb.family("my_families:mine", n=3, gap=1, kind="x").describe()
    monkeypatch.delitem(sys.modules, "my_families")
    (tmp_path / "my_families.py").write_text("open('imported', 'w')")
    monkeypatch.chdir(tmp_path)
    assert {name: str(kind) for name, kind in parameter_types(told).items()} == {
        "n": "double", "gap": "double", "kind": "string", "loud": "bool", "at": "list<item: double>", "odd": "double",
    }  # fmt: skip
    assert rows_table(final([1.0], problem=told))["n"].to_pylist() == [3.0]
    assert not (tmp_path / "imported").exists()


def test_a_parameter_with_the_name_of_another_column_is_refused_before_anything_is_played(own_family):
    with pytest.raises(
        MatchbanditError, match=r"has a parameter 'run', and rows have a column .* Rename the parameter"
    ):
        mb.simulate(mb.family("my_families:clash", run=1), "uts", horizon=10)


def test_a_value_that_does_not_fit_its_column_is_named():
    told = {"family": "staircase", "parameters": {"n": 2.5, "gap": 0.1}, "rewards": {"name": "bernoulli"}}
    with pytest.raises(MatchbanditError, match=r"n = 2\.5 does not fit a column of the type int64"):
        rows_table(final([1.0], problem=told))


def test_in_a_study_each_has_the_columns_of_all():
    columns = {**parameter_types(SPIKED.describe()), **parameter_types(mb.Means([[0.5]]).describe())}
    one = rows_table(final([1.0], problem=SPIKED.describe()), study="both", columns=columns)
    two = rows_table(final([2.0], problem=mb.Means([[0.5]]).describe()), study="both", columns=columns)
    assert one.schema == two.schema
    assert one.column_names[4:9] == ["n", "u1", "gap", "means", "players"]
    assert (one["means"].to_pylist(), one["gap"].to_pylist()) == ([None], [0.6])
    assert rows_table(final([1.0], problem=SPIKED.describe()), columns={"x": pa.string()}).column_names[4:8] == [
        "x", "n", "u1", "gap",
    ]  # fmt: skip
    assert (two["means"].to_pylist(), two["gap"].to_pylist(), two["players"].to_pylist()) == (
        [[[0.5]]],
        [None],
        [False],
    )


def test_long_lists_do_not_stand_in_every_row():
    u = np.linspace(0, 1, 257)
    told = final([1.0], problem=mb.Monopartite(u).describe(), graph=monopartite(257))
    assert rows_table(told)["u"].to_pylist() == [None]
    assert kinds(rows_table(told))["u"] == "list<double>"
    assert rows_table(final([1.0], problem=mb.Monopartite(u[:256]).describe()))["u"][0].as_py() == u[:256].tolist()


def test_a_seed_that_no_column_holds_is_left_out_of_the_rows_only(tmp_path):
    told = final([1.0], seed=2**63)
    assert rows_table(told)["seed"].to_pylist() == [None]
    assert rows_table(final([1.0], seed=2**63 - 1))["seed"].to_pylist() == [2**63 - 1]
    told.save(tmp_path / "runs.parquet")
    assert mb.load(tmp_path / "runs.parquet").about.seed == 2**63


def test_many_rows_take_no_memory_for_what_is_the_same_in_all():
    told = Runs(
        made_about(problem=mb.Bipartite([0.5] * 100, [0.5] * 100).describe(), runs=2000),
        np.arange(1, 51), np.zeros((2000, 50)), np.zeros((2000, 1), dtype=np.int64),
        np.zeros((2000, 1)),
    )  # fmt: skip
    table = rows_table(told)
    before = pa.total_allocated_bytes()
    assert len(table) == 100_000
    assert len({chunk.flatten().buffers()[1].address for chunk in table["u"].chunks}) == 1
    assert before < 100_000 * 200 * 8 / 2  # which u and v would take


def both_tables(result):
    rows, details = encode_parquet(rows_table(result), metadata_of(result)), encode_parquet(details_table(result), {})
    return decode_parquet(rows), decode_parquet(details)


def test_what_is_encoded_comes_back_to_the_bit():
    runs = mb.simulate(SPIKED, "pair-elim", horizon=10**6, runs=3, seed=1)
    (rows, told), (details, _) = both_tables(runs)
    assert_same(result_from(rows, details, told), runs)
    assert rows.equals(rows_table(runs).combine_chunks().cast(rows.schema))
    found = mb.identify(mb.Monopartite([0.9, 0.8, 0.4, 0.3]), "matching-id", delta=0.2, runs=3, seed=2)
    (rows, told), (details, _) = both_tables(found)
    assert_same_found(result_from(rows, details, told), found)


def test_what_is_read_back_may_be_written_to():
    (rows, told), (details, _) = both_tables(made_runs(monopartite(4)))
    runs = result_from(rows, details, told)
    for part in (runs.rounds, runs.regret, runs.counted, runs.ended):
        part[...] = 0


@pytest.fixture
def kept(tmp_path):
    """Two policies on two gaps, in files of rows; gives the folder and the mean regret at the end by policy."""
    means = {}
    for policy in ("uniform", "pair-elim"):
        problems = {gap: mb.family("spiked", n=2, u1=0.9, gap=gap) for gap in (0.5, 0.7)}
        runs = {gap: mb.simulate(family, policy, horizon=1000, runs=3, seed=1) for gap, family in problems.items()}
        for gap, some in runs.items():
            some.save(tmp_path / f"{policy}-{gap}.parquet")
        means[policy] = np.mean([some.final for some in runs.values()])
    return f"{tmp_path}/*[5,7].parquet", means


def test_duckdb_reads_the_rows_without_any_metadata(kept):
    files, means = kept
    sql = f"SELECT policy, avg(regret) FROM '{files}' WHERE round = horizon GROUP BY policy"
    assert dict(duckdb.sql(sql).fetchall()) == pytest.approx(means)
    rows = duckdb.sql(f"FROM '{files}'")
    types = dict(zip(rows.columns, map(str, rows.types), strict=True))
    assert (types["policy"], types["n"], types["gap"], types["regret"]) == ("VARCHAR", "BIGINT", "DOUBLE", "DOUBLE")


def test_polars_reads_the_rows_without_any_metadata(kept):
    files, means = kept
    at_end = pl.scan_parquet(files).filter(pl.col("round") == pl.col("horizon"))
    told = at_end.group_by("policy").agg(pl.col("regret").mean()).collect()
    assert dict(told.iter_rows()) == pytest.approx(means)
    assert told.schema["policy"] == pl.String


def test_pandas_reads_the_rows_without_any_metadata(kept, tmp_path):
    _, means = kept
    frame = pd.concat(pd.read_parquet(path) for path in sorted(tmp_path.glob("*[57].parquet")))
    told = frame[frame["round"] == frame["horizon"]].groupby("policy")["regret"].mean()
    assert told.to_dict() == pytest.approx(means)
    assert pd.api.types.is_string_dtype(frame["policy"])
    assert not isinstance(frame["policy"].dtype, pd.CategoricalDtype)


def test_lists_are_read_by_all_three(tmp_path):
    path = tmp_path / "x.parquet"
    mb.simulate(mb.Means([[0.9, 0.1]]), "uts", horizon=10, checkpoints=[10]).save(path)
    assert duckdb.sql(f"SELECT means FROM '{path}'").fetchall() == [([[0.9, 0.1]],)]
    assert pl.read_parquet(path)["means"].to_list() == [[[0.9, 0.1]]]
    assert [list(row) for row in pd.read_parquet(path)["means"][0]] == [[0.9, 0.1]]


def test_plays_that_one_list_cannot_hold_are_in_several(monkeypatch):
    runs = made_runs(monopartite(4), n_runs=5)
    monkeypatch.setattr(tables, "_MAX_ARRAY_LENGTH", 13)  # two runs of six pairs
    details = details_table(runs)
    assert [len(chunk) for chunk in details["plays"].chunks] == [2, 2, 1]
    assert details["plays"].to_pylist() == runs.counted.tolist()
    told = decode_parquet(encode_parquet(details, {}))[0]
    assert_same(result_from(rows_table(runs), told, metadata_of(runs)), runs)


def test_a_horizon_that_is_not_told_is_the_last_checkpoint():
    assert set(rows_table(replace(made_runs(monopartite(4))))["horizon"].to_pylist()) == {2**62}
