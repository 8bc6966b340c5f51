"""Studies from files and from Python: what they mean, and one line for each mistake."""

import sys

import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.lab.studies.study import Study

GAPS = """\
name = "gaps"
runs = 2
horizon = 1e3
policies = ["uts", {name = "pair-elim", cap_windows = true}]

[problem]
family = "spiked"
n = 3
u1 = 0.9

[sweep]
gap = [0.5, 0.6]
"pair-elim.growth" = [1.05, 4]
"""
OWN = """\
import matchbandit as mb
from matchbandit.policies.uniform import Uniform
from own_helper import NAME


class Mine(Uniform):
    name = NAME


def drawn(n: int, *, rewards, rng):
    return mb.Bipartite(rng.uniform(size=n), [0.5], rewards=rewards)
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file into a folder that is not the current one; forget what was imported from there."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)

    def written(text, name="gaps.toml"):
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    yield written
    for name in set(sys.modules) - before:
        if name.startswith("own_"):
            del sys.modules[name]


def lines_of(file):
    """Return the mistakes in a file, each without the file's name."""
    with pytest.raises(MatchbanditError) as refused:
        Study.from_toml(file)
    lines = str(refused.value).split("\n")
    assert all(line.startswith((str(file), f"'{file}")) for line in lines)
    return [line.removeprefix(f"{file}: ") for line in lines]


def test_points_of_a_file_are_the_product_of_policies_and_sweeps_that_concern_them(write):
    study = Study.from_toml(write(GAPS))
    assert [point.title for point in study.points] == [
        "uts at gap = 0.5",
        "uts at gap = 0.6",
        "pair-elim, growth = 1.05 at gap = 0.5",
        "pair-elim, growth = 4 at gap = 0.5",
        "pair-elim, growth = 1.05 at gap = 0.6",
        "pair-elim, growth = 4 at gap = 0.6",
    ]
    same = study.with_(policies=["uts", mb.policy("pair-elim", cap_windows=True)])
    assert [point.key for point in same.points] == [point.key for point in study.points]


@pytest.mark.parametrize(
    "problem",
    [
        mb.Bipartite([0.9, 0.3], [0.8, 0.4], rewards=mb.Gaussian(0.5)),
        mb.Monopartite([0.9, 0.8, 0.3, 0.2]),
        mb.Means([[0.9, 0.1], [0.2, 0.3]]),
        mb.family("staircase", n=2, gap=0.1),
        mb.Drifting(mb.Bipartite([0.9, 0.3], [0.8, 0.4]), mb.RandomWalk(0.01)),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_problem_objects_are_played_as_simulate_plays_them(problem):
    study = Study(
        name="one", problem=problem, policies=[mb.policies.catalogue.CATALOGUE["uniform"]], horizon=50, seed=3
    )
    (point,) = study.points
    expected = mb.simulate(problem, "uniform", horizon=50, seed=3, first_run=1, runs=2)
    assert (point.play(1, 2).regret == expected.regret).all()


def test_points_of_several_problems_have_distinct_names_and_the_sweeps_of_their_own():
    problems = [
        {"family": "staircase", "n": 2},
        {"u": [0.9, 0.3], "v": [0.8, 0.4]},
        {"means": [[0.9, 0.1], [0.2, 0.3]]},
        {"u": [0.9, 0.3], "v": [0.7, 0.4]},
    ]
    study = Study(name="many", problem=problems, policies=["uniform"], horizon=9, sweep={"gap": [0.1, 0.2]})
    names = ["staircase, gap = 0.1", "staircase, gap = 0.2", "bipartite 1", "means", "bipartite 2"]
    assert [point.position for point in study.points] == names


def test_keys_stand_for_what_determines_the_numbers_and_for_nothing_else():
    common = {"problem": {"family": "half", "n": 2, "u1": 0.9}, "policies": ["pair-elim"], "horizon": 100}
    key = Study(name="one", **common).points[0].key
    same = Study(name="two", runs=7, **{**common, "policies": [{"name": "pair-elim", "growth": 4}], "horizon": 100.0})
    assert same.points[0].key == key
    changed = {"seed": 1, "horizon": 101, "checkpoints": [5], "engine": "step", "policies": ["uniform"]}
    others = [Study(name="one", **{**common, name: value}) for name, value in changed.items()]
    assert len({key, *(study.points[0].key for study in others)}) == 6


def test_sweep_of_a_drift_changes_its_parameter():
    problem = {"u": [0.9, 0.3], "v": [0.8, 0.4], "drift": "random-walk"}
    study = Study(name="d", problem=problem, policies=["uts"], horizon=10, sweep={"drift.step": [0.01, 0.02]})
    assert [point.build()[0].drift.step for point in study.points] == [0.01, 0.02]


MISTAKES = [
    ("horizon = 1e3", "horzion = 1e3", "horzion: unknown key 'horzion'; did you mean 'horizon'?"),
    ("horizon = 1e3", "", "study: give one of horizon"),
    ("horizon = 1e3", 'horizon = "1e3"', "horizon: must be a whole number"),
    ("horizon = 1e3", "horizon = [10, 100]", "got [10, 100]. To vary it, list the values below [sweep]."),
    ("horizon = 1e3", "horizon = 1e3\ndelta = 0.1", "study: give one of horizon"),
    ("horizon = 1e3", "horizon = 1e3\nmax_rounds = 5", "max_rounds: goes with delta only"),
    ("horizon = 1e3", "horizon = 1e3\nstop = 'never'", "stop: should be 'first-split'; got 'never'."),
    ("horizon = 1e3", "horizon = 1e3\ncheckpoints = [1, -2]", "checkpoints.1: must be a whole number"),
    ("horizon = 1e3", "horizon = 1e3\ncheckpoints = [50, 5000]", "checkpoints: must be at most the horizon, 1,000"),
    ("horizon = 1e3", "delta = 1.5", "delta: should be less than 1; got 1.5."),
    ("horizon = 1e3", "delta = true", "delta: should be a valid number; got True."),
    ("horizon = 1e3", "delta = 0.1", "uts at gap = 0.5 and 1 more: uts has no delta: it is for regret"),
    ("runs = 2", "seed = 2026-01-01", "seed: must be a whole number"),
    *(
        ('name = "gaps"', f"name = {name}", "name: must be letters")
        for name in ('"../x"', '""', '"."', '".ssh"', r'"ab\n"', r'"a\u0000b"', f'"{"x" * 300}"', '"x "', "3")
    ),
    ('name = "gaps"', "", "name: is missing"),
    ('"uts"', '"utz"', "policies.0: unknown policy 'utz'; did you mean 'uts'?"),
    ('"uts"', '"uts", "uts"', "policies.1: uts is listed twice. Remove one."),
    ('"uts"', '"pair-select"', "pair-select is for identification here, not regret"),
    ('"uts"', '"os:system"', "policies.0: os:system is not a policy"),
    ("cap_windows", "cap_windos", "policies.1.cap_windos: unknown option of pair-elim 'cap_windos'; did you mean"),
    ("cap_windows = true", "growth = 0.5", "policies.1.growth: must lie between 1"),
    ("cap_windows = true", "growth = [2, 4]", "policies.1.growth: must be a number; got [2, 4]. To vary it, list"),
    ("cap_windows = true", "delta = 0.1", "policies.1.delta: belongs to the study: write it above"),
    ('"spiked"', '"spikd"', "problem: unknown family 'spikd'; did you mean 'spiked'?"),
    ('family = "spiked"', "", "problem.n: unknown parameter of the problem 'n'."),
    ("n = 3", "n = [3, 4]", "got [3, 4]. To vary it, list the values below [sweep]."),
    ("n = 3", "", "the family spiked needs n, u1, gap; missing: n."),
    ("u1 = 0.9", "u1 = 7", "problem.u1: must lie in [0, 1]; got 7."),
    ("u1 = 0.9", 'u1 = 0.9\nrewards = "gauss:1"', "problem.rewards: unknown"),
    ("u1 = 0.9", "u1 = 0.9\nepsilon = 0.1", "Known: family, n, u1, gap, rewards, drift. It belongs above the first"),
    ("u1 = 0.9", 'u1 = 0.9\ndrift = "randm-walk:1"', "problem.drift: unknown drift 'randm-walk'; did you mean"),
    ("u1 = 0.9", 'u1 = 0.9\ndrift = {kind = "jumps", step = 1}', "problem.drift: unknown parameter of the drift"),
    ("gap = [0.5, 0.6]", "gap = 0.5", "sweep.gap: should be a valid list; got 0.5."),
    ("gap = [0.5, 0.6]", "gap = [0.5, nan]", "sweep.gap: must be a finite number"),
    ("gap = [0.5, 0.6]", "gap = [0.5, 1.2]", "sweep.gap: must lie in [0, 1]; got 1.2."),
    ("gap = [0.5, 0.6]", "gap = [0.5, 0.5]", "sweep.gap.1: 0.5 is listed twice. Remove one."),
    ("gap = [0.5, 0.6]", "gp = [0.5, 0.6]", "sweep.gp: unknown setting or parameter 'gp'; did you mean 'gap'?"),
    ("gap = [0.5, 0.6]", "gap = [0.5, 0.6]\nn = [2, 3]", "sweep.n: is given in [problem], too."),
    ("gap = [0.5, 0.6]", "seed = [-1]", "sweep.seed: must be a whole number, at least 0; got -1."),
    ("gap = [0.5, 0.6]", f"seed = {[*range(150)]}\ngap = {[*range(150)]}", "sweep: a study has at most 20,000 points"),
    ('"pair-elim.growth"', '"pair-elm.growth"', "sweep.pair-elm.growth: unknown policy of the study 'pair-elm'; did"),
    ('"pair-elim.growth"', '"pair-elim.grwth"', "sweep.pair-elim.grwth: unknown option of pair-elim 'grwth'; did"),
    ("[problem]", "[problem", "line 6"),
    ('"spiked"', "spiked", "Texts need quotes"),
    ("[1.05, 4]", "[1.05, 0.5]", "sweep.pair-elim.growth: must lie between 1 (every chance) and 10^6; got 0.5."),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "text"), MISTAKES, ids=[(new or old)[-30:] for old, new, _ in MISTAKES])
def test_from_toml_with_one_mistake_gives_a_line_with_its_path(write, old, new, text):
    assert GAPS.count(old) >= 1
    lines = lines_of(write(GAPS.replace(old, new, 1)))
    assert any(text in line for line in lines), lines
    assert len(lines) == 1 or "runs" in new or "family" in old, lines


def test_from_toml_with_many_mistakes_names_all_at_once(write):
    text = GAPS.replace("runs = 2", "rns = 2").replace("1e3", "-1").replace("u1 = 0.9", "u2 = 7\nm = 3")
    text = text.replace("cap_windows = true", "growth = 0.5, grwth = 4").replace('"uts"', '"utz"')
    paths = ["horizon", "policies.0", "policies.1.growth", "policies.1.grwth", "problem.u2", "problem.m", "rns"]
    assert [line.partition(":")[0] for line in lines_of(write(text))] == paths
    text = GAPS.replace("horizon = 1e3", "").replace("[1.05, 4]", "[0.5, 4]\n'pair-elim.grwth' = [1]\nhorizon = [-1]")
    paths = ["sweep.horizon", "sweep.pair-elim.grwth", "sweep.pair-elim.growth"]
    assert sorted(line.partition(":")[0] for line in lines_of(write(text))) == sorted(paths)
    assert len(lines_of(write(GAPS.replace("horizon = 1e3", "").replace("gap =", "horizn = [9]\ngap =")))) == 1


def test_mistakes_in_one_of_several_problems_have_its_index(write):
    other = GAPS.replace("[problem]", '[[problem]]\nfamily = "half"\nn = 3\nu1 = 0.9\n\n[[problem]]')
    (line,) = lines_of(write(other.replace('"spiked"\nn = 3', '"spiked"\nn = [3, 4]')))
    assert line.startswith("problem.1.n: must be a whole number")


def test_from_toml_refuses_a_policy_that_cannot_play_the_graph(write):
    text = GAPS.replace('"uts"', '"uts", "simple-adaptive-matching"').replace(
        'family = "spiked"\nn = 3\nu1 = 0.9', "u = [0.9, 0.5, 0.4]"
    )
    text = text.replace("gap = [0.5, 0.6]\n", "")
    starts = ["uts: ", "simple-adaptive-matching: ", "pair-elim, growth = 1.05 a"]
    lines = lines_of(write(text))
    assert [line[: len(start)] for line, start in zip(lines, starts, strict=False)] == starts
    assert "even number" in lines[1]


def test_from_toml_refuses_what_cannot_be_read(write, tmp_path):
    assert "No such file" in lines_of(tmp_path / "none.toml")[0]
    assert "directory" in lines_of(tmp_path)[0]
    assert "utf-8" in lines_of(write(b"\xff\xfe"))[0]
    assert "recursion" in lines_of(write("a = " + "[" * 3000 + "]" * 3000))[0]
    assert "quotes" not in lines_of(write("a = [1"))[0]
    starts = [f"{key}: is missing. Add, for example, {key} = " for key in ("name", "policies", "problem")]
    assert [line[: len(start)] for line, start in zip(lines_of(write("")), starts, strict=True)] == starts


def test_user_code_is_found_beside_the_file_and_by_its_short_name(write):
    write(OWN, "own_code.py")
    write('NAME = "mine"', "own_helper.py")
    text = GAPS.replace('"uts"', '"own_code:Mine"').replace('"spiked"\nn = 3\nu1 = 0.9', '"own_code:drawn"')
    study = Study.from_toml(write(text.replace("gap = [0.5, 0.6]", "n = [2, 3]")))
    assert study.points[0].title == "mine at n = 2"


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [
        ("x = 1\n1/0", "own_bad:Mine", "cannot be imported: ZeroDivisionError: division by zero (own_bad.py, line 2)"),
        ("Mine = 1", "own_bad:Mine", "own_bad:Mine is not a policy"),
        ("", "own_bda:Mine", "unknown module 'own_bda'; did you mean 'own_bad'?"),
    ],
)
def test_user_code_that_cannot_be_imported_is_one_line(write, code, name, text):
    write(code, "own_bad.py")
    (line,) = lines_of(write(GAPS.replace('"uts"', f'"{name}"')))
    assert text in line


def test_a_class_inside_a_function_is_refused():
    class Inner(mb.CATALOGUE["uniform"]):
        name = "inner"

    with pytest.raises(MatchbanditError, match=r"policies\.0: the policy Inner is defined inside a function"):
        Study(name="x", horizon=1, policies=[Inner], problem={"u": [0.9, 0.1]})


def test_points_of_a_policy_listed_with_other_options_are_named_by_these():
    again = [{"name": "rank1-thompson", "half_life": 100}, {"name": "rank1-thompson", "half_life": 10}]
    sweep = {"gap": [0.6, 0.7]}
    problem = {"family": "spiked", "n": 4, "u1": 0.9}
    study = Study(name="own", problem=problem, policies=["uts", "rank1-thompson", *again], horizon=9, sweep=sweep)
    labels = ["uts", "rank1-thompson", *(f"rank1-thompson, half_life = {value}" for value in (100, 10))]
    assert [point.label for point in study.points] == [label for label in labels for _ in range(2)]
    assert len({point.key for point in study.points}) == 8
