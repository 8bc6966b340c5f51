"""Logs of past results: what is read, and what is refused, by file, line and column."""

import math
import subprocess
import sys
from datetime import date
from decimal import Decimal
from itertools import combinations
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import matchbandit as mb
from matchbandit.past_results import CHUNK_ROWS, PastResults, read_results


@pytest.fixture
def written(tmp_path):
    """Write a CSV file and read it."""

    def write(text, name="teams.csv", **how):
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_results(file, **how)

    return write


def test_two_columns_of_items_and_a_reward(written):
    log = written("ad,slot,reward\nshoes,top,1\nshoes,side,0\nbooks,top,1\nshoes,top,0\n")
    assert (log.kind, log.sides, len(log), log.voids) == ("sides", ("ad", "slot"), 4, 0)
    assert log.rows() == [("shoes", "top", 2, 1.0), ("shoes", "side", 1, 0.0), ("books", "top", 1, 1.0)]
    graph, names, pairs, counts, sums = log.tally
    assert graph == mb.bipartite(2, 2)
    assert names == (("shoes", "books"), ("top", "side"))
    assert (pairs.tolist(), counts.tolist(), sums.tolist()) == ([[0, 0], [0, 1], [1, 0]], [2, 1, 1], [1, 0, 1])
    assert repr(log) == "PastResults: 4 results of 3 pairs of 2 ad × 2 slot"


def test_players_are_one_pair_in_either_order(written):
    log = written("first,second,reward\nann,bob,1\nbob,ann,0.5\ncem,ann,0\n")
    assert (log.kind, log.sides) == ("players", None)
    assert log.rows() == [("ann", "bob", 2, 1.5), ("ann", "cem", 1, 0.0)]
    assert log.tally.named(log.tally.pairs) == [("ann", "bob"), ("ann", "cem")]


@pytest.mark.parametrize("blank", ["\n", "\r\n", "  \t \n", ",,\n", "\n\n;\n"])
def test_blank_lines_before_the_names_of_the_columns_are_skipped(written, blank):
    log = written(f"{blank}first;second;reward\nann;bob;1\nann;cem;0\n")
    assert log.rows() == [("ann", "bob", 1, 1.0), ("ann", "cem", 1, 0.0)]
    assert log.where(0).endswith(f"line {blank.count(chr(10)) + 2}")


@pytest.mark.parametrize("cell", ["", "void", "VOID", "NaN", " "])
def test_a_pair_that_never_met_is_no_result_and_not_0(written, cell):
    log = written(f"first,second,reward\nann,bob,1\nann,cem,{cell}\nbob,cem,0\n")
    assert (len(log), log.voids, log.n_results) == (2, 1, 2)
    assert repr(log).endswith("1 void")


@pytest.mark.parametrize("divider", [",", ";", "\t", "|"])
def test_dividers_quotes_marks_of_order_and_blanks(written, divider):
    rows = [["first", "second", "reward", "time"], ['"Ann, B; C\t|"', " bob ", "True", "2026-11-16"]]
    text = "\ufeff" + "\r\n".join(divider.join(row) for row in rows) + "\r\n\r\n"
    log = written(text)
    assert (log.first, log.second) == (["Ann, B; C\t|"], ["bob"])
    assert (log.rewards.tolist(), log.times) == ([1.0], ["2026-11-16"])


def test_counts_with_sums_or_means(written):
    assert written("a,b,count,sum\nx,y,4,3\n").rows() == [("x", "y", 4, 3.0)]
    assert written("a,b,mean,count\nx,y,0.75,4\nx,z,0,0\n").rows() == [("x", "y", 4, 3.0)]
    told = {"sum": "paid", "count": "n", "first": "who", "second": "whom"}
    log = written("n,whom,who,paid,note\n2,b,a,1,hm\n", columns=told)
    assert log.rows() == [("a", "b", 2, 1.0)]


def test_columns_can_be_told_by_their_three_names(written):
    log = written("day,lead,pair,done,x\n1,ann,bob,1,9\n2,bob,cem,0,9\n", columns=("lead", "pair", "done"))
    assert log.rows() == [("ann", "bob", 1, 1.0), ("bob", "cem", 1, 0.0)]
    assert log.times is None


def test_parquet_says_the_same_as_csv(tmp_path, written):
    columns = {"first": ["ann", "bob", "ann"], "second": ["bob", "cem", "cem"], "reward": [1.0, None, math.nan]}
    columns |= {"time": pa.array([1, 2, 3], pa.timestamp("s"))}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    log = read_results(tmp_path / "log.parquet")
    assert log.rows() == [("ann", "bob", 1, 1.0)]
    assert (log.voids, log.times) == (2, ["1970-01-01 00:00:01"])
    numbered = {"ad": pa.array([7, 8]).cast(pa.int16()), "slot": pa.array(["a", "b"]).dictionary_encode()}
    pq.write_table(pa.table({**numbered, "reward": [True, False], "unread": [{"a": 1}, None]}), tmp_path / "x")
    log = read_results(tmp_path / "x", columns={"first": "ad", "second": "slot"})
    assert log.rows() == [("7", "a", 1, 1.0), ("8", "b", 1, 0.0)]
    pq.write_table(pa.table({"a": ["x", None], "b": ["y", "y"], "reward": [1, 1]}), tmp_path / "y")
    with pytest.raises(mb.MatchbanditError, match=r"^y, row 2, column a: "):
        read_results(tmp_path / "y")
    assert read_results(tmp_path / "y", on_missing="skip").skipped == 1
    (tmp_path / "z").write_bytes(b"PAR1 and no more")
    with pytest.raises(mb.MatchbanditError, match=r"^z "):
        read_results(tmp_path / "z")


HEAD = "first,second,reward\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEAD}ann,bob,1\nann,bob,win\n", "line 3, column reward: .*'win'"),
        ("first;second;reward\nann;bob;0,5\n", r"line 2, column reward: .*'0,5'.*0\.5"),
        (f"{HEAD}ann,bob,inf\n", "line 2, column reward: .*'inf'"),
        (f"{HEAD}ann,,1\n", "line 2, column second: "),
        (f"{HEAD}ann,bob,1\nann,bob\n", "line 3: 2 "),
        (f"{HEAD}bob,ann,1\nann,ann,1\n", "line 3: ann .*kind='sides'"),
        (f'{HEAD}ann,bob,1\n"ann,bob,1\n', "line 2"),
        (HEAD, "no results"),
        (f"{HEAD}ann,bob,\n", "no results, only 1"),
        ("", "empty"),
        ("\n  \n,,\n", "empty"),
        ("ann,bob,1\nbob,cem,0\n", "ann, bob, 1"),
        ("a,b,c,reward\nx,y,z,1\n", "a, b, c"),
        ("a,reward\nx,1\n", "two items"),
        ("a,b,reward,mean\nx,y,1,1\n", "one column of rewards"),
        ("a,a,reward\nx,y,1\n", "'a'"),
        ("a,b,reward,count\nx,y,1,3\n", "'reward'"),
        ("a,b,sum\nx,y,1\n", "'sum'"),
        ("a,b,sum,count\nx,y,1,2.5\n", "line 2, column count: .*'2.5'"),
        ("a,b,sum,count\nx,y,1,0\n", "line 2, column sum: .*'1'"),
        (b"first,second,reward\nann,b\xf6b,1\n", "UTF-8"),
        (b"\x1f\x8b\x08", "compressed"),
        ('{"matchbandit-league": 1}\n', "JSON"),
    ],
)
def test_what_is_wrong_is_named_by_file_line_and_column(written, text, words):
    with pytest.raises(mb.MatchbanditError, match=words) as error:
        written(text)
    assert "teams.csv" in str(error.value)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (("first", "second", "rewrad"), "'rewrad'.*'reward'"),
        ({"frist": "first"}, "'frist'.*'first'"),
        ({"first": "second", "second": "second", "reward": "reward"}, "second"),
        (("first", "second"), "first, second and reward"),
    ],
)
def test_columns_that_are_not_there_are_refused(written, columns, words):
    with pytest.raises(mb.MatchbanditError, match=words):
        written(f"{HEAD}ann,bob,1\n", columns=columns)


def test_a_file_that_is_not_there_and_a_folder(tmp_path):
    for missing in (tmp_path / "nothing.csv", tmp_path):
        with pytest.raises(mb.MatchbanditError, match=missing.name):
            read_results(missing)


def test_rows_of_ones_own():
    log = PastResults.from_rows([("ann", "bob", 1), ("cem", "ann", None), ("bob", "ann", 10, 4.5)])
    assert log.rows() == [("ann", "bob", 11, 5.5)]
    assert PastResults.from_rows(log.rows(), kind="players").rows() == log.rows()
    assert log.voids == 1
    with pytest.raises(mb.MatchbanditError, match=r"the log, row 2: .*'ab1'"):
        PastResults.from_rows([("a", "b", 1), "ab1"])
    with pytest.raises(mb.MatchbanditError, match=r"the log, row 1, reward: .*'x'"):
        PastResults.from_rows([("a", "b", "x")])
    with pytest.raises(mb.MatchbanditError, match="'teams'"):
        PastResults.from_rows([("a", "b", 1)], kind="teams")


def test_two_sides_may_share_a_name():
    log = PastResults.from_rows([("red", "red", 1), ("blue", "red", 0)], kind="sides")
    assert log.tally.names == (("red", "blue"), ("red",))


def test_rewards_outside_the_distribution_are_refused_with_their_place(written):
    log = written(f"{HEAD}ann,bob,1\nann,cem,1.5\n")
    with pytest.raises(mb.MatchbanditError, match=r"^teams\.csv, line 3: .*1\.5 for ann and cem"):
        log.refuse_outside(mb.Bernoulli())
    log.refuse_outside(mb.Gaussian(0.5))
    with pytest.raises(mb.MatchbanditError, match=r"row 1: .*0 and 4; got 5 for a and b"):
        PastResults.from_rows([("a", "b", 4, 5)]).refuse_outside(mb.Bernoulli())


def test_rewards_that_are_no_shares_of_the_trials_are_refused_with_their_place(written):
    log = written(f"{HEAD}ann,bob,1\nann,cem,0.37\n")
    with pytest.raises(mb.MatchbanditError, match=r"^teams\.csv, line 3: .*0\.37 for ann and cem"):
        log.refuse_outside(mb.Binomial(5))
    log.refuse_outside(mb.Binomial(100))
    log.refuse_outside(mb.Bernoulli())
    with pytest.raises(mb.MatchbanditError, match=r"row 1: .*0\.2"):
        PastResults.from_rows([("a", "b", 4, 2.5)]).refuse_outside(mb.Binomial(5))


def test_many_rows_are_added_up():
    rng = np.random.default_rng(1)
    ends, paid = rng.integers(0, 12, (5000, 2)), rng.integers(0, 2, 5000)
    met = ends[:, 0] != ends[:, 1]
    log = PastResults.from_rows([(f"p{i}", f"p{j}", int(r)) for (i, j), r in zip(ends[met], paid[met], strict=True)])
    expected: dict[frozenset[str], list[int]] = {}
    for (i, j), r in zip(ends[met], paid[met], strict=True):
        expected.setdefault(frozenset((f"p{i}", f"p{j}")), []).append(int(r))
    assert {frozenset((a, b)): (n, s) for a, b, n, s in log.rows()} == {
        pair: (len(all_paid), sum(all_paid)) for pair, all_paid in expected.items()
    }


CLICKS = {
    "ad": [3, 1, 3, 2],
    "slot": ["top", "top", "side", "top"],
    "clicked": [1.0, 0.0, None, 1.0],
    "day": ["mon", "tue", "wed", "thu"],
    "note": [None, "x", None, "y"],
}
FRAMES = {
    "mapping": lambda columns: columns,
    "arrays": lambda columns: {name: np.array(column) for name, column in columns.items()},
    "pandas": pd.DataFrame,
    "pandas with an index": lambda columns: pd.DataFrame(columns).set_index(np.arange(9, 9 - len(columns["ad"]), -1)),
    "pandas of Arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pandas with NA": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas categories": lambda columns: pd.DataFrame(columns).astype({"ad": "category", "slot": "category"}),
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "arrow batch": pa.RecordBatch.from_pydict,
    "arrow reader": lambda columns: pa.table(columns).to_reader(),
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
}


@pytest.mark.parametrize("made", FRAMES.values(), ids=FRAMES)
def test_frames_say_the_same_as_a_file(made):
    roles = {"first": "ad", "second": "slot", "reward": "clicked", "time": "day"}
    log = read_results(made(CLICKS), columns=roles)
    assert log.first == ["3", "1", "2"]
    assert log.rows() == [("3", "top", 1, 1.0), ("1", "top", 1, 0.0), ("2", "top", 1, 1.0)]
    assert (log.kind, log.sides, log.voids, log.times) == ("sides", ("ad", "slot"), 1, ["mon", "tue", "thu"])
    assert (log.where(2), log.skipped) == ("the data frame, row 4", 0)


def test_columns_of_a_frame_may_be_numbered():
    frame = pd.DataFrame([["ann", "bob", 1], ["bob", "cem", 0]])
    assert read_results(frame, columns=(0, 1, 2)).rows() == [("ann", "bob", 1, 1.0), ("bob", "cem", 1, 0.0)]


def test_frames_need_no_library_of_their_own():
    code = "import sys, matchbandit as mb; mb.read_results({'first': ['a'], 'second': ['b'], 'reward': [1]}); "
    code += "assert not {'pandas', 'polars', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


GOOD = {"first": ["ann", "bob"], "second": ["bob", "cem"], "reward": [1, 0]}


@pytest.mark.parametrize(
    "made", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=["pandas", "polars", "arrow", "mapping"]
)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reward": None}, "first, second"),
        ({"second": None}, "two items"),
        ({"reward": ["won", "lost"]}, "row 1, column reward: .*'won'"),
        ({"reward": [[1], [2]]}, "row 1, column reward: "),
        ({"reward": [date(2026, 1, 1)] * 2}, "row 1, column reward: "),
        ({"reward": [0.0, math.inf]}, "row 2, column reward: "),
        ({"first": [True, False]}, "row 1, column first: .*True"),
        ({"first": [1.0, 1e17]}, r"row 2, column first: .*1e\+17"),
        ({"first": [{"a": 1}, {"a": 2}]}, r"row 1, column first: .*\{'a': 1\}"),
        ({"first": ["ann", None]}, "row 2, column first: "),
        ({"first": ["ann", " "]}, "row 2, column first: "),
        ({"reward": [math.nan, math.nan]}, "no results, only 2"),
        ({"second": ["ann", "bob"]}, "row 1: ann "),
    ],
)
def test_what_is_wrong_in_a_frame_is_named_by_row_and_column(made, change, words):
    columns = {name: column for name, column in {**GOOD, **change}.items() if column is not None}
    with pytest.raises(mb.MatchbanditError, match=words) as error:
        read_results(made(columns))
    assert str(error.value).startswith("the data frame")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (pd.DataFrame(), "no columns"),
        ({}, "no columns"),
        (pl.DataFrame(GOOD).clear(), "no results"),
        (pd.DataFrame(GOOD)[:0], "no results"),
        (pd.concat([pd.DataFrame(GOOD)] * 2, axis=1), "'first'"),
        ({**GOOD, "reward": [1]}, "first 2, second 2, reward 1"),
        ({**GOOD, "reward": "10"}, "column reward: .*'10'"),
        ({**GOOD, "reward": 1.0}, "column reward: .*1.0"),
        ({**GOOD, "reward": np.array(1.0)}, "column reward: "),
        ({**GOOD, "reward": np.array(["2026-01-01"] * 2, "M8[ns]")}, "column reward: .*'2026-01"),
        ([("ann", "bob", 1)], "list.*from_rows"),
        (np.ones((2, 3)), "ndarray"),
        ({**GOOD, "reward": [1, 10**400]}, "row 2, column reward: .*1000"),
        ({**GOOD, "reward": [1.5, np.datetime64("2026-01-01")]}, "row 2, column reward: "),
        (None, "NoneType"),
        (pl.LazyFrame(GOOD), "LazyFrame"),
        (pl.Series([1.0]), "Series"),
        (pa.chunked_array([[1.0]]), "ChunkedArray"),
    ],
)
def test_what_is_no_frame_of_results_is_refused(source, words):
    with pytest.raises(mb.MatchbanditError, match=words):
        read_results(source)


@pytest.mark.parametrize(
    "names",
    [
        [1, 2, 10],
        [np.int64(1), np.uint8(2), np.int32(10)],
        [1.0, 2.0, 10.0],
        [np.float32(1), np.float64(2), 10],
        [Decimal(1), Decimal("2.0"), Decimal("1E+1")],
        ["1", np.str_("2"), " 10 "],
    ],
)
def test_whole_numbers_of_all_types_are_one_name(names):
    others = ["1", "2", "10"]
    log = PastResults.from_rows([(a, "x", 1) for a in [*names, *others]])
    assert log.first == others * 2
    assert read_results({"first": names, "second": ["x"] * 3, "reward": [1] * 3}).first == others


def test_other_names():
    one = UUID(int=1)
    assert PastResults.from_rows([(one, 2**64, 1)]).rows() == [(str(one), str(2**64), 1, 1.0)]
    for name in (True, np.True_, b"ann", 0.5, math.inf, Decimal("0.5"), Decimal("Infinity"), ["ann"], 1j):
        with pytest.raises(mb.MatchbanditError, match=r"^the log, row 2, second: "):
            PastResults.from_rows([("ann", 1, 1), ("ann", name, 1)])


@pytest.mark.parametrize("missing", [None, math.nan, np.nan, pd.NA, pd.NaT, "", "  ", Decimal("NaN")])
def test_rows_without_a_name_can_be_skipped(missing):
    rows = [("ann", "bob", 1), (missing, "bob", 1), ("bob", missing, "not looked at"), (missing, missing, None)]
    with pytest.raises(mb.MatchbanditError, match=r"^the log, row 2, first: "):
        PastResults.from_rows(rows)
    log = PastResults.from_rows([*rows, ("cem", "bob", None), ("cem", "ann", 0)], on_missing="skip")
    assert (log.skipped, log.voids, log.rows()) == (3, 1, [("ann", "bob", 1, 1.0), ("ann", "cem", 1, 0.0)])
    assert repr(log) == "PastResults: 2 results of 2 pairs of 3 players, 1 void, 3 rows without a name skipped"
    assert log.where(1) == "the log, row 6"
    with pytest.raises(mb.MatchbanditError, match="no results, 3 rows"):
        PastResults.from_rows(rows[1:], on_missing="skip")


def test_rows_of_files_and_frames_are_skipped(written):
    text = "ad,slot,reward,time\n1,top,1,mon\n,top,1,tue\n2,top,0,wed\n"
    log = written(text, on_missing="skip")
    assert (log.skipped, log.first, log.times, log.places) == (1, ["1", "2"], ["mon", "wed"], [2, 4])
    gap = pd.DataFrame({"ad": [1, None, 2], "slot": "top", "reward": 1})
    assert gap["ad"].dtype == np.float64
    log = read_results(gap, on_missing="skip")
    assert (log.skipped, log.first) == (1, ["1", "2"])
    with pytest.raises(mb.MatchbanditError, match=r"'drop'.* error, skip"):
        read_results(gap, on_missing="drop")


def test_items_and_positions_that_share_numbers_are_not_taken_for_players():
    rng = np.random.default_rng(1)
    shown = pd.DataFrame({"item": rng.integers(0, 34, 2000), "position": rng.integers(1, 4, 2000), "reward": 0})
    with pytest.raises(mb.MatchbanditError, match="kind='sides'"):
        read_results(shown)
    different = shown[shown["item"] != shown["position"]]
    for columns in (("item", "position", "reward"), ("position", "item", "reward")):
        with pytest.raises(mb.MatchbanditError, match=r"^the data frame: .*'[123]' "):
            read_results(different, columns=columns)
    assert repr(read_results(shown, kind="sides")) == "PastResults: 2000 results of 102 pairs of 34 item × 3 position"
    assert read_results(different, kind="players").tally.graph == mb.monopartite(34)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9])
def test_players_need_not_be_called_so(n):
    everyone = [(a, b, 1) for a, b in combinations(range(n), 2)]
    if n > 2:
        assert PastResults.from_rows(everyone).kind == "players"
    assert PastResults.from_rows([*everyone, (n - 1, 0, 1)]).kind == "players"
    rng = np.random.default_rng(n)
    drawn = [(*rng.permutation(n)[:2].tolist(), 1) for _ in range(6 * n)]
    assert PastResults.from_rows(drawn).kind == "players"


def test_twice_as_many_names_in_a_column_are_too_many_for_players():
    rows = [("a", "b", 1), ("b", "a", 1), ("c", "a", 1)]
    assert PastResults.from_rows(rows).kind == "players"
    with pytest.raises(mb.MatchbanditError, match=r"'a' .* 4 .* 2"):
        PastResults.from_rows([*rows, ("d", "b", 1)])


ROUND_TRIPS = {
    "players": PastResults.from_rows([("ann", "bob", 1), ("bob", "cem", 0.5), ("cem", "ann", 0)]),
    "players who never change places": PastResults.from_rows([("ann", "bob", 1)], kind="players"),
    "counted": PastResults.from_rows([("ann", "bob", 1), ("bob", "cem", 7, 2.5)]),
    "sides": PastResults.from_rows([(1, "top", 1), (2, "top", 0), (1, "top", 0)], sides=("ad", "slot")),
    "sides of equal names": PastResults.from_rows([("red", "red", 3, 1)], kind="sides", sides=("hat", "coat")),
    "sides without names": PastResults.from_rows([("x", "y", 1)]),
    "sides called alike": PastResults.from_rows([("x", "y", 1)], sides=("item", "item")),
    "sides called as roles": PastResults.from_rows([("x", "y", 1)], sides=("Second", "count")),
    "times": read_results({"first": ["a", "b"], "second": ["b", "c"], "reward": [1, 0], "time": [None, 7]}),
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("log", ROUND_TRIPS.values(), ids=ROUND_TRIPS)
def test_frames_are_read_back(log, kind):
    frame = log.to_frame(kind)
    assert type(frame).__module__.partition(".")[0] == {"arrow": "pyarrow"}.get(kind, kind)
    again = read_results(frame, kind=log.kind)
    assert (again.first, again.second, again.times) == (log.first, log.second, log.times)
    assert (again.rewards.tolist(), again.counts.tolist()) == (log.rewards.tolist(), log.counts.tolist())
    assert again.kind == log.kind
    assert again.rows() == log.rows()


def test_the_columns_of_a_frame():
    def columns(log):
        return list(log.to_frame("pandas").columns)

    assert columns(ROUND_TRIPS["players"]) == ["first", "second", "reward"]
    assert columns(ROUND_TRIPS["counted"]) == ["first", "second", "count", "sum"]
    assert columns(ROUND_TRIPS["sides"]) == ["ad", "slot", "reward"]
    assert columns(ROUND_TRIPS["sides called alike"]) == ["first", "second", "reward"]
    assert columns(ROUND_TRIPS["times"]) == ["first", "second", "reward", "time"]
    assert type(ROUND_TRIPS["players"].to_frame()).__module__.startswith("pandas")
    with pytest.raises(mb.MatchbanditError, match="'spark'"):
        ROUND_TRIPS["players"].to_frame("spark")


def test_the_first_wrong_row_of_a_long_log_is_named(written):
    n = 2 * CHUNK_ROWS + 5
    columns = {"first": ["ann"] * n, "second": ["bob"] * n, "reward": [1.0] * n}
    log = read_results(columns)
    assert (len(log), log.n_results, log.where(n - 1)) == (n, n, f"the data frame, row {n}")
    columns["second"][3] = columns["first"][n - 1] = ""
    assert read_results(columns, on_missing="skip").skipped == 2
    columns["second"][3] = "bob"
    columns["reward"][CHUNK_ROWS + 4] = "x"
    columns["first"][CHUNK_ROWS + 7] = None
    with pytest.raises(mb.MatchbanditError, match=f"row {CHUNK_ROWS + 5}, column reward: .*'x'"):
        read_results(columns)
    columns["first"][n - 1] = "ann"
    lines = [f"{a},{b},{r}" for a, b, r in zip(*columns.values(), strict=True)]
    lines[CHUNK_ROWS + 10] = "ann"
    with pytest.raises(mb.MatchbanditError, match=f"line {CHUNK_ROWS + 6}, column reward: .*'x'"):
        written(HEAD + "\n".join(lines))
    lines[CHUNK_ROWS + 4] = "ann,bob,true"
    with pytest.raises(mb.MatchbanditError, match=f"line {CHUNK_ROWS + 12}: 1 "):
        written(HEAD + "\n".join(lines))
    lines[CHUNK_ROWS + 10] = ""
    assert written(HEAD + "\n".join(lines)).n_results == n - 1
    rows = list(zip(*columns.values(), strict=True))
    with pytest.raises(mb.MatchbanditError, match=f"row {CHUNK_ROWS + 5}, reward: .*'x'"):
        PastResults.from_rows(rows)


@pytest.mark.parametrize("reward", [0, 1])
@pytest.mark.parametrize("ads", [["a"], ["a", "b"]])
@pytest.mark.sampled(1)
def test_frames_of_one_item_or_of_equal_rewards_can_be_replayed(ads, reward):
    frame = pd.DataFrame([(ad, slot) for ad in ads for slot in "xy"] * 5, columns=["ad", "slot"]).assign(reward=reward)
    done = mb.replay(frame, ["rank1-thompson"], horizon=5, runs=40)
    assert all(math.isfinite(policy.reward) for policy in done.ranking)


def test_a_frame_of_one_pair_is_read_and_leaves_nothing_to_choose():
    log = read_results({"ad": ["a"], "slot": ["x"], "reward": [1]})
    assert repr(log) == "PastResults: 1 result of 1 pair of 1 ad × 1 slot"
    with pytest.raises(mb.MatchbanditError, match=r"^the data frame .* a and x"):
        mb.replay(log, ["rank1-thompson"], horizon=5, runs=40)


def test_select_keeps_what_belongs_to_the_rows(written):
    log = written("first,second,reward,time\na,b,1,mon\nc,d,0,tue\na,c,1,wed\n")
    part = log.select([0, 2])
    assert part.rows() == [("a", "b", 1, 1.0), ("a", "c", 1, 1.0)]
    assert part.times == ["mon", "wed"]
    assert part.where(1) == log.where(2)
    assert log.row_pairs.tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["players", "sides"])
def test_largest_part_leaves_out_the_item_with_the_fewest_results_again_and_again(kind, seed):
    rng, other = np.random.default_rng(seed), "a" if kind == "players" else "b"
    drawn = ((rng.integers(12), rng.integers(12), int(rng.integers(1, 9))) for _ in range(40))
    rows = [(f"a{i}", f"{other}{j}", n, 0) for i, j, n in drawn if i != j]
    log = PastResults.from_rows(rows, kind=kind)
    names = [name for side in log.tally.names for name in side]
    while len(names) > 5:
        results = {name: sum(n for a, b, n, _ in rows if name in (a, b) and {a, b} <= {*names}) for name in names}
        names.remove(min(reversed(names), key=results.__getitem__))
    part = log.largest_part(5)
    assert part.rows() == PastResults.from_rows([row for row in rows if {*row[:2]} <= {*names}], kind=kind).rows()
    assert log.largest_part(100) is log
