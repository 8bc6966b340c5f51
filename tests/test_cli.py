import json
import os
import re
import subprocess
import sys
import warnings

import pyarrow.parquet as pq
import pytest

import matchbandit as mb
from matchbandit import numba_cache, progress
from matchbandit.cli import SECTIONS, app, main
from matchbandit.cli.output import print_table

SIMULATE = ["simulate", "--policy", "pair-elim", "--u", "0.9,0.3,0.2", "--v", "0.9,0.5,0.1", "--horizon", "2e4"]


@pytest.fixture
def run(monkeypatch, capsys):
    """Type a command; gives exit code, stdout and stderr."""

    monkeypatch.setattr(progress, "FIRST_LINE_S", 1e9)  # however slow the machine, no line of progress,
    monkeypatch.setattr(numba_cache, "NOTICE_AFTER_S", 1e6)  # nor one that code is being compiled

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["matchbandit", *words])
        with pytest.raises(SystemExit) as end:
            main()
        out = capsys.readouterr()
        return end.value.code or 0, out.out, out.err

    return typed


def test_policies_lists_the_catalogue(run):
    code, out, _ = run("policies")
    assert code == 0
    assert all(name in out for name in mb.CATALOGUE)
    code, out, err = run("policies", "--json")
    entries = {entry["name"]: entry for entry in json.loads(out)}
    assert err == ""
    assert list(entries) == list(mb.CATALOGUE)
    assert entries["pair-elim"]["options"] == {"growth": 4.0, "cap_windows": False, "delta": None}
    assert entries["uts"]["engine"] == "loop"


def test_policies_tells_of_one_policy_in_full(run, monkeypatch):
    kind = mb.CATALOGUE["pair-elim"]
    documented = """One line.

    Parameters
    ----------
    growth : float, default 4
        What the growth
        does.
    cap_windows : bool, default False
        What capping does.

    Notes
    -----
    growth : this is no option.
    """
    monkeypatch.setattr(kind, "__doc__", documented)
    code, out, err = run("policies", "pair-elim")
    assert (code, err) == (0, "")
    for words in (kind.summary, kind.reference, "regret or identification", "needs its horizon"):
        assert words in out
    assert "growth : float, default 4.0\n      What the growth does.\n" in out
    assert "cap_windows : bool, default false\n      What capping does.\n" in out
    assert "delta : " in out
    code, out, _ = run("policies", "rank1-track-and-stop")
    assert "at most 16 items and 1,000 matchings" in out
    code, out, _ = run("policies", "pair-elim", "--json")
    told = json.loads(out)
    assert told["name"] == "pair-elim"
    assert told["parameters"]["growth"] == {"type": "float", "meaning": "What the growth does."}
    code, out, err = run("policies", "pair-elm")
    assert (code, out) == (2, "")
    assert "did you mean 'pair-elim'?" in err


@pytest.mark.parametrize("name", mb.CATALOGUE)
def test_policies_tells_of_every_policy_in_full(run, name):
    code, out, err = run("policies", name)
    assert (code, err) == (0, "")
    assert all(f"{option} : " in out for option in mb.CATALOGUE[name].option_defaults())


def test_warm_up_says_what_it_compiles(run, monkeypatch):
    def warm_up(report):
        report("uts", 1.25)
        report("escb", 2.0)

    monkeypatch.setattr("matchbandit.simulation.warm_up.warm_up", warm_up)
    code, out, err = run("warm-up")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()[2:5]] == [["uts", "1.2"], ["escb", "2.0"], ["in", "all", "3.2"]]
    code, out, _ = run("warm-up", "--json")
    assert json.loads(out) == {"uts": 1.25, "escb": 2.0}


HEADS = ("name", "what is said of it", "")
ROWS = [("pair-elim-regret", "upper bound, proof in the appendix", "212,344"), ("x", "", "7")]


@pytest.mark.parametrize("width", [12, 25, 40, 50, 60, 120])
def test_tables_break_no_words(capsys, monkeypatch, width):
    monkeypatch.setattr("matchbandit.cli.output._width", lambda: width)
    print_table(HEADS, ROWS)
    out = capsys.readouterr().out
    for words in (HEADS, *ROWS):
        assert all(word in out for cell in words for word in cell.split())
    assert "212,344" in out
    assert max(map(len, out.splitlines())) <= max(width, len("  pair-elim-regret"))


def test_a_wide_table_is_laid_out_in_columns(capsys):
    print_table(HEADS, ROWS, right=("",))
    assert capsys.readouterr().out == (
        "name              what is said of it\n"
        "─────────────────────────────────────────────────────────────\n"
        "pair-elim-regret  upper bound, proof in the appendix  212,344\n"
        "x                                                           7\n"
    )


def test_simulate_prints_a_table(run):
    code, out, err = run(*SIMULATE, "--runs", "3", "--seed", "7", "--workers", "1")
    assert (code, err) == (0, "")
    assert "20,000" in out
    assert "mean regret" in out


def test_simulate_json_is_what_the_function_gives(run):
    words = (*SIMULATE, "--option", "growth=1.5", "--option", "cap-windows=true", "--runs", "3", "--seed", "7")
    code, out, err = run(*words, "--workers", "1", "--json")
    told = json.loads(out)
    slots = mb.Bipartite([0.9, 0.3, 0.2], [0.9, 0.5, 0.1])
    spec = mb.policy("pair-elim", growth=1.5, cap_windows=True)
    runs = mb.simulate(slots, spec, horizon=20_000, runs=3, seed=7)
    assert (code, err) == (0, "")
    assert told["final_regret"] == runs.final.tolist()
    assert told["rounds"] == runs.rounds.tolist()
    assert told["regret"]["mean"] == runs.summary()["mean"]
    assert told["options"] == {"growth": 1.5, "cap_windows": True, "delta": None}


@pytest.mark.parametrize(
    "words",
    [
        ("--family", "spiked", "--param", "n=4", "--param", "u1=0.9", "--param", "gap=0.7"),
        ("--family", "fixed-mean", "--param", "n=4", "--param", "u1=0.9", "--param", "mean=0.3"),
        ("--family", "staircase", "--param", "n=4", "--param", "gap=0.1"),
        ("--family", "centred", "--param", "n=4", "--param", "mean=0.5", "--param", "gap=0.1"),
        (
            "--u",
            "0.9 0.5 0.4 0.1",
        ),
        ("--u", "0.9,0.5", "--v", "0.2", "--rewards", "gaussian:0.5"),
        ("--u", "0.9,0.5", "--v", "0.2", "--rewards", "binomial:4", "--engine", "step"),
        ("--u", "0.9,0.5", "--v", "0.2", "--checkpoints", "1e1,50"),
    ],
)
@pytest.mark.sampled(1)
def test_families_laws_engines_and_checkpoints_are_reachable_by_name(run, words):
    code, out, err = run("simulate", "--policy", "uniform", "--horizon", "60", "--runs", "2", *words, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["rounds"][-1] == 60


def test_lists_may_be_written_with_spaces_or_commas(run):
    rest = ("--horizon", "100", "--runs", "1", "--workers", "1", "--json")
    spaces = run("simulate", "--policy", "uts", "--u", "0.9", "0.3", "--v", "0.5", "0.4", "0.1", *rest)
    commas = run("simulate", "--policy", "uts", "--u", "0.9,0.3", "--v", "0.5,0.4,0.1", *rest)
    assert spaces == commas
    assert spaces[0] == 0


def test_the_version_is_told(run):
    assert run("--version") == (0, f"matchbandit {mb.__version__}\n", "")
    code, out, _ = run()
    assert code == 0
    assert "Usage" in out


IDENTIFY = ["identify", "--policy", "pair-elim", "--u", "0.9,0.3", "--v", "0.8,0.2", "--workers", "1"]


def test_identify_prints_how_long_it_took_and_what_it_found(run):
    code, out, err = run(*IDENTIFY, "--delta", "0.1", "--runs", "3")
    assert (code, err) == (0, "")
    assert "mean rounds" in out
    assert "answered 3 times: (0, 0)" in out


def test_identify_json_is_what_the_function_gives(run):
    code, out, err = run(*IDENTIFY, "--option", "delta=0.1", "--runs", "3", "--seed", "4", "--json")
    found = mb.identify(mb.Bipartite([0.9, 0.3], [0.8, 0.2]), mb.policy("pair-elim", delta=0.1), runs=3, seed=4)
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["rounds"] == found.rounds.tolist()
    assert told["answers"] == found.answers.tolist()
    assert told["summary"] == found.summary()


def test_identify_within_a_budget(run):
    code, out, err = run(*IDENTIFY, "--policy", "sequential-halving", "--budget", "1e3", "--runs", "3", "--json")
    found = mb.identify(mb.Bipartite([0.9, 0.3], [0.8, 0.2]), "sequential-halving", budget=1000, runs=3)
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert (told["budget"], told["rounds"]) == (1000, found.rounds.tolist())
    assert told["answers"] == found.answers.tolist()
    assert "max_rounds" not in told


def test_identify_with_epsilon(run):
    """A policy of the user's own has the capability."""
    words = [*IDENTIFY, "--policy", "reference.answers:KnownAnswer", "--option", "answer=1", "--runs", "2", "--json"]
    (_, exact, _), (code, out, err) = run(*words), run(*words, "--epsilon", "0.8", "--delta", "0.2")
    assert (code, err) == (0, "")
    assert json.loads(exact)["correct"] == [False, False]  # worth a quarter of the optimum
    assert json.loads(out)["correct"] == [True, True]
    assert (json.loads(out)["epsilon"], json.loads(out)["options"]["delta"]) == (0.8, 0.2)


def test_identify_stops_at_max_rounds(run):
    _, out, _ = run(*IDENTIFY, "--delta", "1e-9", "--runs", "2", "--max-rounds", "1e2", "--json")
    assert json.loads(out)["rounds"] == [100, 100]
    assert json.loads(out)["identified"] == [False, False]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--delta", "1.5"], "delta must lie between 0 and 1; got 1.5"),
        (["--delta", "0"], "delta must lie between 0 and 1; got 0.0"),
        (["--delta", "0.1", "--option", "delta=0.2"], "pair-elim has delta=0.2 already; got delta=0.1, too."),
        (["--delta", "0.1", "--epsilon", "0.05"], "pair-elim does not support epsilon. Policies that do: "),
        (["--delta", "0.1", "--epsilon", "1"], "epsilon must be at least 0 and below 1; got 1.0"),
        (["--delta", "0.1", "--epsilon", "some"], "--epsilon takes numbers such as 0.05; got 'some'"),
        (["--budget", "100"], "pair-elim does not support a budget. Policies that do: sequential-halving."),
        (
            ["--budget", "100", "--delta", "0.1"],
            "delta is for fixed confidence and budget for a fixed budget; got both",
        ),
        (["--budget", "1.5"], "--budget must be a whole number, at least 1; got 1.5"),
        (["--policy", "sequential-halving"], "sequential-halving needs to know its budget"),
        (["--policy", "sequential-halving", "--budget", "7"], "budget must be at least 8 here"),
        (["--policy", "sequential-halving", "--delta", "0.1"], "sequential-halving has no delta"),
        (
            ["--policy", "sequential-halving", "--budget", "99", "--max-rounds", "9"],
            "max_rounds is for fixed confidence",
        ),
        (["--delta", "0.1", "--max-rounds", "0"], "--max-rounds must be a whole number, at least 1; got 0"),
        (["--delta", "small"], "--delta takes numbers such as 0.05; got 'small'"),
        (["--delta", ""], "--delta takes numbers such as 0.05; got ''"),
        (["--delta", "0.1", "--option", "growth=1"], "growth 1 (every chance) is for regret only"),
        ([], "pair-elim is for regret here, not identification: give it delta="),
    ],
)
def test_a_mistake_in_identify_gets_one_line_and_exit_code_2(run, words, message):
    code, out, err = run(*IDENTIFY, *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_verbs_send_a_policy_after_another_goal_to_the_other_verb(run):
    code, _, err = run("identify", "--policy", "uts", "--u", "0.9,0.3", "--v", "0.8,0.2")
    assert code == 2
    assert "use simulate()" in err
    code, _, err = run(*SIMULATE, "--option", "delta=0.1")
    assert code == 2
    assert "use identify()" in err


def test_equal_best_items_are_refused_without_max_rounds(run):
    words = ("identify", "--policy", "pair-elim", "--delta", "0.1", "--u", "0.9,0.9", "--v", "0.8,0.2", "--runs", "1")
    code, _, err = run(*words)
    assert code == 2
    assert "rows 0 and 1 both have strength 0.9" in err
    assert "max_rounds" in err
    code, out, _ = run(*words, "--max-rounds", "1e4", "--json")
    assert code == 0
    assert json.loads(out)["summary"]["identified"] == 0


def test_saved_runs_can_be_loaded(run, tmp_path):
    path = tmp_path / "runs.parquet"
    code, out, _ = run(*SIMULATE, "--runs", "2", "--workers", "1", "--save", str(path))
    assert code == 0
    assert f"runs saved in {path}, details in {tmp_path / 'runs.details.parquet'}\n" in out
    assert mb.load(path).regret.shape[0] == 2
    kept = pq.read_table(path)
    told = [kept[name].unique().to_pylist() for name in ("study", "policy", "horizon")]
    assert told == [["simulate"], ["pair-elim"], [20_000]]


PLAYERS = ["simulate", "--u", "0.9,0.9,0.1,0.1", "--horizon", "2e3", "--runs", "3", "--seed", "1", "--workers", "1"]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("adaptive-matching", "clusters=[[0,1],[2,3]]"), {"growth": 1.05, "clusters": [[0, 1], [2, 3]]}),
        (("adaptive-matching", "clusters=[[0, 1], [2, 3]]"), {"growth": 1.05, "clusters": [[0, 1], [2, 3]]}),
        (("adaptive-matching", "clusters=none"), {"growth": 1.05, "clusters": None}),
        (("exploration-first", "best=[0,1]"), {"growth": 1.05, "best": [0, 1]}),
        (("exploration-first", "best=[2,0]"), {"growth": 1.05, "best": [2, 0]}),
    ],
)
def test_an_option_may_be_a_list(run, words, options):
    policy, option = words
    code, out, err = run(*PLAYERS, "--policy", policy, "--option", option, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["options"] == options
    given = {key: value for key, value in options.items() if key != "growth"}
    runs = mb.simulate(mb.Monopartite([0.9, 0.9, 0.1, 0.1]), mb.policy(policy, **given), horizon=2000, runs=3, seed=1)
    assert told["final_regret"] == runs.final.tolist()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("clusters=[[0,1],[2,3]", "a list is written like [[0, 1], [2, 3]]; got '[[0,1],[2,3]'"),
        ("clusters=[0 1]", "a list is written like [[0, 1], [2, 3]]; got '[0 1]'"),
        ("clusters=[", "a list is written like"),
        ("clusters=[[0,1],[2]]", "clusters must list each of the players 0 … 3 once"),
        ("clusters=[[0,1],[1,2,3]]", "(twice: [1])"),
        ("clusters=[0,1,2,3]", "clusters must list each of the players 0 … 3 once"),
        (
            "clusters=[[0,1],[2,4]]",
            "clusters must list each of the players 0 … 3 once, best cluster first, such as [[0, 1], [2, 3]]; got",
        ),
        ("clusters=[]", "clusters must list each of the players 0 … 3 once"),
        ("clusters=2", "clusters must list each of the players 0 … 3 once"),
    ],
)
@pytest.mark.sampled(1)
def test_a_malformed_list_gets_one_line_and_exit_code_2(run, option, message):
    code, out, err = run(*PLAYERS, "--policy", "adaptive-matching", "--option", option)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("best", ["[0]", "[0,1,2]", "[1,1]", "[0,4]", "1", "ab", "[[0],[1]]"])
def test_best_that_are_not_two_players_get_one_line_and_exit_code_2(run, best):
    code, out, err = run(*PLAYERS, "--policy", "exploration-first", "--option", f"best={best}")
    assert (code, out) == (2, "")
    assert "best must name two of the players 0 … 3, such as [0, 1]" in err
    assert err.count("\n") == 1


def test_runs_that_stop_at_the_first_split_are_reported(run):
    words = (*PLAYERS, "--policy", "simple-adaptive-matching", "--stop", "first-split")
    runs = mb.simulate(
        mb.Monopartite([0.9, 0.9, 0.1, 0.1]),
        "simple-adaptive-matching",
        horizon=2000,
        runs=3,
        seed=1,
        stop="first-split",
    )
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert f"3 of 3 runs ended at the first-split, on average after {runs.ended.mean():,.0f} rounds\n" in out
    code, out, err = run(*words, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["stop"] == "first-split"
    assert told["ended"] == runs.ended.tolist()
    assert told["splits"] == [[[at, clusters] for at, clusters in splits] for splits in runs.splits]
    assert told["splits"][0][0][1] == [[0, 1], [2, 3]]


def test_runs_without_a_split_are_reported_as_such(run):
    words = (*PLAYERS[:4], "50", *PLAYERS[5:], "--policy", "simple-adaptive-matching")
    _, out, _ = run(*words, "--stop", "first-split")
    assert "0 of 3 runs ended at the first-split\n" in out
    _, out, _ = run(*words, "--stop", "first-split", "--json")
    assert (json.loads(out)["ended"], json.loads(out)["splits"]) == ([50] * 3, [[], [], []])
    _, out, _ = run(*words)
    assert "first-split" not in out
    _, out, _ = run(*words, "--json")
    assert "stop" not in json.loads(out)
    assert (json.loads(out)["ended"], json.loads(out)["splits"]) == ([50] * 3, [[], [], []])


@pytest.mark.parametrize(
    ("policy", "stop", "message"),
    [
        ("adaptive-matching", "other", "unknown stop 'other'. Known: first-split"),
        ("adaptive-matching", "first-splits", "unknown stop 'first-splits'; did you mean 'first-split'?"),
        (
            "uniform",
            "first-split",
            "uniform has no clusters that split; stop='first-split' is for policies with clusters",
        ),
    ],
)
def test_a_stop_that_cannot_be_gets_one_line_and_exit_code_2(run, policy, stop, message):
    code, out, err = run(*PLAYERS, "--policy", policy, "--stop", stop)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


WARNS = (
    "warning: simple-adaptive-matching assumes players in equal pairs and splits at even places only, but two players "
    "are told apart who would have to be partners of equal strength. adaptive-matching makes no such assumption.\n"
)


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.slow
def test_a_warning_is_one_line_on_stderr_and_the_runs_go_on(run, workers):
    words = ("simulate", "--policy", "simple-adaptive-matching", "--u", "1,0.2,0.2,0", "--horizon", "2e4")
    rest = ("--runs", "6", "--seed", "1", "--workers", workers)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as outside of tests, where warnings are no errors
        warnings.simplefilter("ignore", DeprecationWarning)
        code, out, err = run(*words, *rest)
        assert (code, err) == (0, WARNS)
        assert "mean regret" in out
        code, out, err = run(*words, *rest, "--json")
        assert code == 0
        assert set(err.splitlines(keepends=True)) <= {WARNS}  # in the same process it is not shown twice
        assert len(json.loads(out)["final_regret"]) == 6


def test_digits_beyond_2_to_the_53_are_read_as_they_stand(run):
    horizon = 2**53 + 1
    words = ("simulate", "--policy", "uniform", "--u", "0.5,0.5", "--v", "0.5", "--runs", "1", "--workers", "1")
    _, out, _ = run(*words, "--horizon", str(horizon), "--json")
    assert json.loads(out)["horizon"] == horizon


GOOD = {"--policy": "pair-elim", "--u": "0.9,0.3", "--v": "0.9,0.5", "--horizon": "100", "--runs": "2"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"--u": "0.9,1.2"}, "u must lie in [0, 1]; got 1.2 at position 1. Rescale the rewards first."),
        ({"--v": "-0.1"}, "v must lie in [0, 1]; got -0.1 at position 0"),
        ({"--u": "0.9,nan"}, "u must lie in [0, 1]; got nan at position 1"),
        ({"--u": ""}, "u has no items; it needs at least 1"),
        ({"--u": "a,b"}, "--u takes numbers such as 0.9; got 'a'"),
        ({"--u": "0.1,0.2,0.3", "--v": None, "--policy": "uniform"}, "even number of players; got 3"),
        ({"--horizon": "0"}, "horizon must be a whole number"),
        ({"--horizon": "0.5"}, "--horizon must be a whole number, at least 1; got 0.5"),
        ({"--horizon": "1.5"}, "--horizon must be a whole number, at least 1; got 1.5"),
        ({"--horizon": "-2"}, "--horizon must be a whole number, at least 1; got -2"),
        ({"--horizon": "²"}, "--horizon takes numbers such as 20 or 2e6; got '²'"),
        ({"--horizon": ""}, "--horizon takes numbers such as 20 or 2e6; got ''"),
        ({"--option": "growth=" + "[" * 100_000}, "a list is written like"),
        ({"--runs": "1e12"}, "runs=1,000,000,000,000 would need at least "),
        (
            {"--u": None, "--v": None, "--family": "spiked --param n=20000 --param u1=0.9 --param gap=0.5"},
            "bipartite 20000×20000 has 400000000 pairs, and at most 20000000 fit into memory.",
        ),
        ({"--save": "x.csv"}, "results are saved as Parquet; got 'x.csv'. Call the file x.parquet."),
        ({"--horizon": "soon"}, "--horizon takes numbers such as 20 or 2e6; got 'soon'"),
        ({"--runs": "few"}, "--runs takes numbers such as 20 or 2e6; got 'few'"),
        ({"--horizon": "inf"}, "got inf"),
        ({"--runs": "0"}, "runs must be a whole number, at least 1; got 0"),
        ({"--runs": "+-5"}, "--runs takes numbers such as 20 or 2e6; got '+-5'"),
        ({"--policy": "pair-elm"}, "unknown policy 'pair-elm'; did you mean 'pair-elim'?"),
        ({"--option": "groth=2"}, "unknown option of pair-elim 'groth'; did you mean 'growth'?"),
        ({"--option": "growth"}, "--option takes key=value; got 'growth'"),
        ({"--option": "growth=big"}, "growth must be a number; got 'big'"),
        ({"--v": None}, "pair-elim plays on bipartite graphs; got monopartite with 2 players"),
        (
            {"--u": None, "--v": None},
            "or --family. Means that are not products go into a study file (means = …) or mb.Means",
        ),
        ({"--family": "spiked"}, "give either --u"),
        ({"--u": None, "--family": "spiked"}, "--v goes with --u"),
        ({"--u": None, "--v": None, "--family": "spyked"}, "unknown family 'spyked'; did you mean 'spiked'?"),
        ({"--u": None, "--v": None, "--family": "spiked", "--param": "n=8"}, "missing: u1, gap"),
        ({"--param": "n=8"}, "--param goes with --family"),
        ({"--engine": "warp"}, "unknown engine 'warp'"),
        ({"--engine": "loop"}, "pair-elim cannot loop"),
        ({"--rewards": "poisson"}, "unknown reward distribution 'poisson'"),
        ({"--rewards": "gaussian"}, "gaussian rewards need their sd, for example gaussian:0.5"),
        ({"--rewards": "gaussian:-1"}, "sd must be positive; got -1.0"),
        ({"--rewards": "bernoulli:2"}, "bernoulli rewards take no parameter"),
        ({"--policy": "uts", "--rewards": "gaussian:1"}, "uts needs rewards in [0, 1]"),
        ({"--workers": "0"}, "workers must be a whole number, at least 1; got 0"),
        ({"--seed": "-3"}, "seed must be a whole number, at least 0; got -3"),
        ({"--checkpoints": "7,1000"}, "a checkpoint must be a whole number, between 1 and 100; got 1000"),
        ({"--save": "/dev/null/runs.parquet"}, "there is no folder '/dev/null' to write into"),
        ({"--save": "/dev/full"}, "'/dev/full' is not a file that can be replaced"),
        ({"--save": "nowhere/runs.parquet"}, "there is no folder"),
        ({"--save": ""}, "a file to write needs a name; got ''"),
    ],
)
@pytest.mark.sampled(12)
def test_a_mistake_gets_one_line_and_exit_code_2(run, tmp_path, monkeypatch, changes, words):
    monkeypatch.chdir(tmp_path)
    options = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    typed = {name: value.split(" ") if "--param" in value else [value] for name, value in options.items()}
    code, out, err = run("simulate", *[word for name, value in typed.items() for word in (name, *value)])
    assert code == 2
    assert words in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_missing_or_unknown_flag_ends_with_code_2(run):
    for words in (["simulate"], ["simulate", "--polcy", "uts"], ["simulte"]):
        code, _, err = run(*words)
        assert code == 2
        assert err.startswith("error: ")
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("mishap", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "stopped."),
        (
            MemoryError(),
            2,
            "error: this does not fit in memory. Use fewer runs, fewer checkpoints or a smaller problem.",
        ),
        (OSError(28, "No space left on device", "runs/x.png"), 1, "error: runs/x.png: No space left on device."),
        (OSError(5, "Input/output error"), 1, "error: standard output: Input/output error."),
    ],
    ids=lambda part: type(part).__name__,
)
def test_what_goes_wrong_in_the_middle_is_one_line(run, monkeypatch, mishap, code, words):
    def fail(*_, **__):
        raise mishap

    monkeypatch.setattr("matchbandit.simulation.simulate", fail)
    monkeypatch.setattr("matchbandit.cli._silence_stdout", lambda: None)  # the tests go on
    assert run(*SIMULATE) == (code, "", f"{words}\n")


@pytest.mark.slow
def test_a_full_disk_below_stdout_is_named():
    command = [sys.executable, "-m", "matchbandit", "policies"]
    with open("/dev/full", "w") as full:
        made = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (made.returncode, made.stderr) == (1, "error: standard output: No space left on device.\n")


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_ends_it_quietly():
    read, write = os.pipe()
    os.close(read)  # as `head -0` does, whoever of the two is first
    command = [sys.executable, "-m", "matchbandit", "policies"]
    ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (1, "")


@pytest.mark.parametrize(
    ("words", "code", "err"),
    [
        ("policies >&-", 1, "error: standard output is closed.\n"),
        ("policies <&- >&- 2>&-", 1, ""),
        ("policies nothing >&-", 2, None),
    ],
)
@pytest.mark.sampled(1)
def test_output_that_is_lost_is_a_failure(words, code, err):
    command = f"exec {sys.executable} -m matchbandit {words}"
    ended = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == code
    assert err is None or ended.stderr == err


@pytest.mark.slow
def test_the_date_is_kept_in_files_and_not_printed(run, tmp_path):
    path = tmp_path / "runs.parquet"
    _, out, _ = run(*SIMULATE, "--runs", "1", "--workers", "1", "--save", str(path), "--json")
    assert "date" not in json.loads(out)
    assert (json.loads(out)["version"], mb.load(path).about.version) == (mb.__version__, mb.__version__)
    assert mb.load(path).about.date


def test_reproduce_refuses_what_it_cannot_draw(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("reproduce", "fig9")
    assert code == 2
    assert err.startswith("error: unknown figure 'fig9'")
    code, _, err = run("reproduce", "--runs", "0")
    assert code == 2
    code, _, err = run("reproduce", "u1-ratio", "--out", "")
    assert (code, err) == (2, "error: the folder for what is made needs a name; got ''.\n")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_simulate_reports_and_saves_the_finished_runs(run, tmp_path, monkeypatch):
    from matchbandit import simulation

    whole = simulation.simulate

    def stopped(*args, progress, **kwargs):
        def stop_after_two(done, total):
            progress(done, total)
            if done == 2:
                raise KeyboardInterrupt

        return whole(*args, progress=stop_after_two, **kwargs)

    monkeypatch.setattr(simulation, "simulate", stopped)
    path = tmp_path / "runs.parquet"
    code, out, err = run(*SIMULATE, "--runs", "5", "--workers", "1", "--save", str(path))
    assert code == 130
    assert "2 runs" in out
    assert "stopped after 2 of 5 runs" in err
    assert mb.load(path).regret.shape[0] == 2


def test_help_imports_nothing_heavy():
    probe = (
        "import sys; from matchbandit.cli import main\nsys.argv = ['matchbandit', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = ('numpy', 'numba', 'scipy', 'matplotlib', 'pyarrow', 'rich', 'pydantic', 'importlib.metadata')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "[]"


def test_help_lists_every_command_once_and_cuts_no_line(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = run()
    assert (code, err) == (0, "")
    assert run("--help") == run("-h") == (code, out, err)
    commands = re.findall(r"^  ([a-z][a-z-]+)  +[A-Z]", out, re.MULTILINE)
    assert commands == [name for names in SECTIONS.values() for name in names]
    registered = [command.callback.__name__.replace("_", "-") for command in app.registered_commands]
    assert sorted(commands) == sorted(registered + [group.name for group in app.registered_groups])
    assert max(map(len, out.splitlines())) <= 80
    assert "..." not in out.partition("COMMAND [ARGS]...")[2]


OWN = """
import matchbandit as mb
from matchbandit.policies.pair.pair_elim import PairElim

class Mine(PairElim):
    name = "mine"

def near(gap: float, *, rewards, rng):
    return mb.Bipartite([0.9, 0.9 - gap], [0.8, 0.2], rewards=rewards)
"""


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "--policy", "mine_typed:Mine", "--horizon", "100", "--runs", "1"),
        ("identify", "--policy", "mine_typed:Mine", "--delta", "0.1", "--runs", "1"),
        ("watch", "mine_typed:Mine", "--horizon", "100"),
    ],
)
@pytest.mark.sampled(1)
def test_policies_and_families_of_ones_own_are_played_by_every_verb(run, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_typed.py").write_text(OWN)
    code, out, err = run(*words, "--family", "mine_typed:near", "--param", "gap=0.5")
    sys.modules.pop("mine_typed", None)
    assert (code, err) == (0, "")
    assert "mine" in out


@pytest.mark.slow
def test_a_doors_name_is_imported_when_it_is_used():
    probe = "import matchbandit as mb; assert 'simulate' in dir(mb); mb.simulate; print(mb.__version__)"
    out = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert out.stdout.strip()
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        mb.simulat  # noqa: B018


BOUNDS = ["bounds", "--u", "0.9,0.8,0.5,0.4"]


def test_bounds_prints_quantities_and_bounds_with_their_sources(run):
    code, out, err = run(*BOUNDS, "--horizon", "1e6", "--delta", "0.05")
    assert (code, err) == (0, "")
    for words in ("Δ_min", "γ_min", "Theorem 3.3", "Theorem 4.4", "Theorem 4.1", "LP_m", "asymptotic", "explicit"):
        assert words in out
    assert "simple-adaptive-matching-regret does not apply here, it assumes: partners are equal" in out
    assert "every δ-correct policy: wrong with probability at most δ" in out
    (line,) = [line for line in out.splitlines() if line.startswith("simple-adaptive-matching-regret  ")]
    assert "(vacuous)" in line
    assert "(vacuous): no better than T times the worst round" in out


def test_bounds_speaks_of_regret_or_of_rounds_as_asked(run):
    _, regret, _ = run(*BOUNDS, "--horizon", "1e6")
    _, rounds, _ = run(*BOUNDS, "--delta", "0.05")
    assert "Theorem 4.1" not in regret
    assert "Theorem 3.3" in regret
    assert "δ-correct" not in regret
    assert "Theorem 4.1" in rounds
    assert "consistent" not in rounds


def test_bounds_json_is_what_the_functions_give(run):
    code, out, err = run(*BOUNDS, "--delta", "0.05", "--rewards", "gaussian:0.5", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    players = mb.Monopartite([0.9, 0.8, 0.5, 0.4], rewards=mb.Gaussian(sd=0.5))
    known = mb.bounds(players, delta=0.05)
    assert told["problem"] == players.describe()
    assert (told["horizon"], told["delta"]) == (None, 0.05)
    assert [bound["name"] for bound in told["bounds"]] == [bound.name for bound in known]
    for bound, expected in zip(told["bounds"], known, strict=True):
        assert bound["value"] == (expected.value if expected.value < float("inf") else None)
        assert (bound["met"], bound["vacuous"]) == (expected.met, expected.vacuous)
        assert (bound["task"], bound["short_source"]) == ("identification", expected.short_source)
        assert [a["met"] for a in bound["assumptions"]] == [a.met for a in expected.assumptions]
    assert {q["name"]: q["value"] for q in told["quantities"]}["smallest_loss"] == pytest.approx(0.15)


def test_bounds_of_slots_and_of_a_family(run):
    code, out, _ = run("bounds", "--u", "0.9", "0.3", "--v", "0.8", "0.4", "--horizon", "1e4", "--json")
    assert code == 0
    assert json.loads(out)["problem"]["kind"] == "bipartite"
    family = ["--family", "spiked", "--param", "n=3", "--param", "u1=0.9", "--param", "gap=0.75", "--seed", "5"]
    code, out, _ = run("bounds", *family, "--horizon", "1e4", "--json")
    assert code == 0
    assert json.loads(out)["problem"] == mb.family("spiked", n=3, u1=0.9, gap=0.75).draw(seed=5).describe()


@pytest.mark.slow
def test_kept_runs_say_problem_and_horizon_and_are_drawn(run, tmp_path):
    runs, found = str(tmp_path / "runs.parquet"), str(tmp_path / "found.parquet")
    run(*SIMULATE, "--runs", "2", "--workers", "1", "--save", runs)
    code, out, err = run("bounds", "--over", runs, "--figure", str(tmp_path / "regret.png"), "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["horizon"] == 20_000
    assert told["problem"]["v"] == [0.9, 0.5, 0.1]
    assert told["figure"] == str(tmp_path / "regret.png")
    assert (tmp_path / "regret.png").exists()
    identify = ["identify", "--policy", "matching-id", "--delta", "0.2", "--u", "0.9,0.8,0.4,0.3", "--runs", "2"]
    code, out, _ = run(*identify, "--workers", "1", "--save", found)
    assert code == 0
    details = str(tmp_path / "found.details.parquet")
    assert f"runs saved in {found}, details in {details}\n" in out
    assert mb.load(found).to_frame("arrow").to_pylist() == pq.read_table(found).to_pylist()
    code, out, err = run("bounds", "--over", found, "--figure", str(tmp_path / "rounds.png"))
    assert (code, err) == (0, "")
    assert (tmp_path / "rounds.png").exists()
    assert str(tmp_path / "rounds.png") in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["bounds"], "give either --u"),
        (BOUNDS, "give a horizon, for bounds on the regret, or a delta"),
        ([*BOUNDS, "--delta", "2"], "delta must lie between 0 and 1"),
        ([*BOUNDS, "--delta", "small"], "--delta takes numbers such as 0.05; got 'small'"),
        ([*BOUNDS, "--horizon", "0"], "horizon must be a whole number, at least 1; got 0"),
        ([*BOUNDS, "--horizon", "10", "--over", "nowhere.parquet"], "there is no file 'nowhere.parquet'"),
        ([*BOUNDS, "--horizon", "10", "--figure", "x.gif"], "x.gif"),
        ([*BOUNDS, "--horizon", "10", "--delta", "0.1", "--figure", "x.png"], "do not share a picture"),
        ([*BOUNDS, "--horizon", "1e301"], "horizon must be at most 10^300; got a number of 302 digits"),
    ],
)
def test_mistakes_in_bounds_end_in_one_line(run, words, told):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert told in err
    assert err.count("\n") == 1


def test_results_of_fresh_instances_cannot_say_their_problem(run, tmp_path):
    family = ["--family", "spiked", "--param", "n=2", "--param", "u1=0.9", "--param", "gap=0.75"]
    run("simulate", "--policy", "uts", *family, "--horizon", "10", "--save", str(tmp_path / "runs.parquet"))
    code, _, err = run("bounds", "--over", str(tmp_path / "runs.parquet"), "--figure", str(tmp_path / "x.png"))
    assert code == 2
    assert "each of these runs is on its own instance of a family" in err
    assert str(tmp_path / "runs.parquet") in err
    code, _, err = run(*BOUNDS, "--horizon", "10", "--over", str(tmp_path / "runs.parquet"))
    assert code == 2
    assert f"{tmp_path / 'runs.parquet'}: the results of uts are those of another problem" in err


def test_what_goes_with_a_named_problem_is_refused_beside_kept_runs(run, tmp_path):
    runs = str(tmp_path / "runs.parquet")
    run(*SIMULATE, "--runs", "1", "--workers", "1", "--save", runs)
    for name, value in (("--v", "0.9,0.5"), ("--rewards", "gaussian:1"), ("--param", "n=3"), ("--seed", "4")):
        code, out, err = run("bounds", "--over", runs, name, value)
        assert (code, out) == (2, "")
        assert f"{name} goes with --u or --family" in err
    code, _, err = run(*BOUNDS, "--horizon", "10", "--seed", "3")
    assert code == 2
    assert "--seed goes with --family" in err


@pytest.mark.slow
def test_kept_results_are_placed_among_the_bounds(run, tmp_path):
    runs, found = str(tmp_path / "runs.parquet"), str(tmp_path / "found.parquet")
    slots = ["--u", "0.9,0.3,0.2", "--v", "0.9,0.5,0.1"]
    run(*SIMULATE, "--runs", "3", "--workers", "1", "--save", runs)
    run("identify", "--policy", "track-and-stop", "--delta", "0.1", *slots, "--runs", "2", "--save", found)
    _, out, _ = run("bounds", "--over", runs, "--over", found, "--json")
    told = json.loads(out)
    first, second = told["results"]
    kept = mb.load(runs)
    known = {bound["name"]: bound["value"] for bound in told["bounds"]}
    assert (told["horizon"], told["delta"], told["figure"]) == (20_000, 0.1, None)
    assert (first["policy"], first["of"], first["mean"]) == ("pair-elim", "regret", kept.final.mean())
    assert first["times_lower"] == pytest.approx(kept.final.mean() / known["model-pair-regret"])
    assert first["upper"] == known["pair-elim-regret"]
    assert (second["policy"], second["of"], second["binds"]) == ("track-and-stop", "rounds", False)
    assert second["times_lower"] == pytest.approx(mb.load(found).rounds.mean() / known["model-pair"])
    _, out, _ = run("bounds", "--over", runs, "--over", found)
    assert "times that" in out
    assert "(does not bind)" in out


def test_each_result_of_a_saved_comparison_is_placed_among_the_bounds(run, tmp_path):
    path = str(tmp_path / "comparison.parquet")
    slots = mb.Bipartite([0.9, 0.3, 0.2], [0.9, 0.5, 0.1])
    compared = mb.compare(slots, ["pair-elim", "uts"], horizon=1000, runs=2)
    compared.save(path)
    _, out, _ = run("bounds", "--over", path, "--json")
    placed = json.loads(out)["results"]
    assert [(one["policy"], one["mean"]) for one in placed] == [
        (result.about.policy, result.final.mean()) for result in compared
    ]


def test_bounds_says_what_is_left_out_and_why(run):
    _, out, _ = run("bounds", "--u", "0.9,0.5,0.5,0.3", "--delta", "0.05")
    assert "left out, as there is more than one best pair: model-pair." in out
    _, out, _ = run("bounds", "--u", ",".join(f"{0.9 - k / 20:.2f}" for k in range(12)), "--horizon", "1e4")
    assert "left out, as the problem is too large for it when playing matchings: model-matching-regret." in out
    assert "playing pairs:" not in out


def test_corrections_are_told_when_asked_for(run):
    _, brief, _ = run(*BOUNDS, "--delta", "0.05")
    assert "--notes prints what was corrected" in brief
    assert "sums end at 2N" not in brief
    _, full, _ = run(*BOUNDS, "--delta", "0.05", "--notes")
    assert "sums end at 2N" in full


@pytest.mark.slow
def test_several_files_may_follow_one_over(run, tmp_path):
    files = [str(tmp_path / f"{name}.parquet") for name in ("uts", "uniform")]
    for name, file in zip(("uts", "uniform"), files, strict=True):
        run("simulate", "--policy", name, "--u", "0.9,0.3", "--v", "0.9,0.5", "--horizon", "100", "--save", file)
    code, out, err = run("bounds", "--over", *files, "--json")
    assert (code, err) == (0, "")
    assert [row["policy"] for row in json.loads(out)["results"]] == ["uts", "uniform"]
    other = str(tmp_path / "other.parquet")
    run("simulate", "--policy", "uts", "--u", "0.8,0.3", "--v", "0.9,0.5", "--horizon", "100", "--save", other)
    code, _, err = run("bounds", "--over", files[0], other)
    assert code == 2
    assert f"{other}: the results of uts are those of another problem" in err


def test_ctrl_c_while_bounds_are_computed_says_so(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("matchbandit.theory.report", interrupted)
    code, out, err = run(*BOUNDS, "--delta", "0.05")
    assert (code, out, err) == (130, "", "stopped.\n")
