"""Logs of past results: what is read, and what is refused in which words."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import matchbandit as mb
from matchbandit.past_results import PastResults, read_results


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
    with pytest.raises(mb.MatchbanditError, match=r"^y, row 2, column a: an item is named by text .* got None\.$"):
        read_results(tmp_path / "y")
    (tmp_path / "z").write_bytes(b"PAR1 and no more")
    with pytest.raises(mb.MatchbanditError, match="z cannot be read as Parquet"):
        read_results(tmp_path / "z")


HEAD = "first,second,reward\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEAD}ann,bob,1\nann,bob,win\n", r"line 3, column reward: must be a number; got 'win'; empty or void"),
        ("first;second;reward\nann;bob;0,5\n", r"line 2, column reward: must be a number; got '0,5'; write 0\.5"),
        (f"{HEAD}ann,bob,inf\n", "line 2, column reward: must be a number below 1e\\+150; got 'inf'"),
        (f"{HEAD}ann,,1\n", "line 2, column second: the name of the item is missing"),
        (f"{HEAD}ann,bob,1\nann,bob\n", "line 3: 2 cells, and the first line names 3 columns"),
        (f"{HEAD}bob,ann,1\nann,ann,1\n", "line 3: ann is paired with itself. .* kind='sides'"),
        (f'{HEAD}ann,bob,1\n"ann,bob,1\n', "behind line 2: "),
        (HEAD, r"^teams\.csv holds no results\. "),
        (f"{HEAD}ann,bob,\n", "holds no results, only 1 of pairs that never met"),
        ("", r"^teams\.csv is empty"),
        ("ann,bob,1\nbob,cem,0\n", "a log has one column of rewards, .* it says ann, bob, 1"),
        ("a,b,c,reward\nx,y,z,1\n", r"which columns are the two items\? There are a, b, c besides reward"),
        ("a,reward\nx,1\n", "which columns are the two items"),
        ("a,b,reward,mean\nx,y,1,1\n", "a log has one column of rewards"),
        ("a,a,reward\nx,y,1\n", "more than one column called 'a'"),
        ("a,b,reward,count\nx,y,1,3\n", "the reward in column 'reward' of so many meetings is a sum or a mean"),
        ("a,b,sum\nx,y,1\n", "the sum in column 'sum' needs a count"),
        ("a,b,sum,count\nx,y,1,2.5\n", "line 2, column count: must be a whole number, at least 0; got '2.5'"),
        ("a,b,sum,count\nx,y,1,0\n", "line 2, column sum: must be 0 where the count is; got '1'"),
        (b"first,second,reward\nann,b\xf6b,1\n", "is not UTF-8 text"),
        (b"\x1f\x8b\x08", "is compressed"),
        ('{"matchbandit-league": 1}\n', "is JSON, not CSV or Parquet"),
    ],
)
def test_what_is_wrong_is_named_by_file_line_and_column(written, text, words):
    with pytest.raises(mb.MatchbanditError, match=words) as error:
        written(text)
    assert "teams.csv" in str(error.value)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (("first", "second", "rewrad"), "the column of reward: unknown column 'rewrad'; did you mean 'reward'"),
        ({"frist": "first"}, "unknown role of a column 'frist'; did you mean 'first'"),
        ({"first": "second", "second": "second", "reward": "reward"}, "named for two roles"),
        (("first", "second"), "columns are a mapping, or the names of first, second and reward"),
        ("reward", "columns are a mapping"),
    ],
)
def test_columns_that_are_not_there_are_refused(written, columns, words):
    with pytest.raises(mb.MatchbanditError, match=words):
        written(f"{HEAD}ann,bob,1\n", columns=columns)


def test_a_file_that_is_not_there_and_a_folder(tmp_path):
    with pytest.raises(mb.MatchbanditError, match=r"nothing\.csv cannot be read: no such file or directory"):
        read_results(tmp_path / "nothing.csv")
    with pytest.raises(mb.MatchbanditError, match="cannot be read: is a directory"):
        read_results(tmp_path)


def test_rows_of_ones_own():
    log = PastResults.from_rows([("ann", "bob", 1), ("cem", "ann", None), ("bob", "ann", 10, 4.5)])
    assert log.rows() == [("ann", "bob", 11, 5.5)]
    assert PastResults.from_rows(log.rows(), kind="players").rows() == log.rows()
    assert log.voids == 1
    with pytest.raises(mb.MatchbanditError, match=r"the log, row 2: a row is \(a, b, reward\) or .* got 'ab1'"):
        PastResults.from_rows([("a", "b", 1), "ab1"])
    with pytest.raises(mb.MatchbanditError, match="the log, row 1, reward: must be a number; got 'x'"):
        PastResults.from_rows([("a", "b", "x")])
    with pytest.raises(mb.MatchbanditError, match="unknown kind of results 'teams'"):
        PastResults.from_rows([("a", "b", 1)], kind="teams")


def test_two_sides_may_share_a_name():
    log = PastResults.from_rows([("red", "red", 1), ("blue", "red", 0)], kind="sides")
    assert log.tally.names == (("red", "blue"), ("red",))


def test_rewards_outside_the_distribution_are_refused_with_their_place(written):
    log = written(f"{HEAD}ann,bob,1\nann,cem,1.5\n")
    with pytest.raises(
        mb.MatchbanditError, match=r"^teams\.csv, line 3: bernoulli rewards lie in \[0, 1\]; got 1\.5 for"
    ):
        log.refuse_outside(mb.Bernoulli())
    log.refuse_outside(mb.Gaussian(0.5))
    with pytest.raises(
        mb.MatchbanditError, match=r"row 1: bernoulli rewards of 4 meetings sum to a number in \[0, 4\]"
    ):
        PastResults.from_rows([("a", "b", 4, 5)]).refuse_outside(mb.Bernoulli())


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
