"""Drifting problems in study files and on the command line."""

import json

import pytest
from typer.testing import CliRunner

import matchbandit as mb
from matchbandit.cli import app
from matchbandit.studies import StudyFolder
from matchbandit.studies.report import report

WALK = """
name = "walk"
runs = 2
horizon = 50
policies = ["rank1-thompson"]
[problem]
u = [0.9, 0.7, 0.4, 0.1]
"""


def study(tmp_path, drift):
    (tmp_path / "walk.toml").write_text(f"{WALK}{drift}\n", encoding="utf-8")
    return mb.Study.from_toml(tmp_path / "walk.toml")


def test_a_table_is_swept_like_any_other_parameter(tmp_path):
    walk = study(tmp_path, 'drift = {kind = "random-walk", step = [0.01, 0.1], every = 5}')
    walk.run(out=tmp_path / "out", workers=1)
    rows = walk.rows(tmp_path / "out")
    assert rows.groupby("drift_step")["run"].nunique().to_dict() == {0.01: 2, 0.1: 2}
    assert set(rows["drift"]) == {"random-walk"}
    assert set(rows["drift_every"]) == {5}
    direct = mb.simulate(
        mb.Drifting(mb.Monopartite([0.9, 0.7, 0.4, 0.1]), mb.RandomWalk(0.1, every=5)), "rank1-thompson", horizon=50,
        runs=2,
    )  # fmt: skip
    last = rows[(rows["drift_step"] == 0.1) & (rows["round"] == 50)]["regret"]
    assert last.tolist() == direct.final.tolist()


def test_problems_with_and_without_drift_are_compared_in_one_study(tmp_path):
    start = {"u": [0.9, 0.7, 0.4, 0.1]}
    drifts = [{}, {"drift": "jumps:0.1"}, {"drift": "random-walk:0.1"}]
    both = mb.Study(
        name="both", problem=[start | drift for drift in drifts], policies=["rank1-thompson"], horizon=50, runs=2
    )
    both.with_(problem=[start]).run(out=tmp_path / "out", workers=1)  # the others are added to it
    both.run(out=tmp_path / "out", workers=1)
    rows = both.rows(tmp_path / "out")
    ends = rows[rows["round"] == 50].astype({"drift": object}).fillna({"drift": "none"})
    assert ends.groupby("drift")["run"].nunique().to_dict() == {"none": 2, "jumps": 2, "random-walk": 2}
    assert ends[ends["drift"] == "none"]["drift_rate"].isna().all()
    page = report(tmp_path / "out").read_text(encoding="utf-8")
    assert "drift\u00a0=\u00a0random-walk" in page


def test_charts_of_problems_that_lack_a_swept_number_are_apart(tmp_path):
    start = {"u": [0.9, 0.7, 0.4, 0.1]}
    problems = [start | {"drift": f"jumps:0.1{items}"} for items in ("", ":items=1", ":items=2")]
    some = mb.Study(name="some", problem=problems, policies=["rank1-thompson", "uniform"], horizon=50, runs=2)
    some.run(out=tmp_path / "out", workers=1)
    charts = some.charts(StudyFolder.open(tmp_path / "out").rows())
    assert [chart.title for chart in charts] == [
        "some: regret over drift_items",
        "some: regret over the rounds, drift_items = none",
        "some: regret over the rounds, drift_items = 2",
    ]
    assert charts[0].lines[0].x.tolist() == [1, 2]
    assert "drift_items = none" in report(tmp_path / "out").read_text(encoding="utf-8")


def test_lists_of_rounds_are_not_sweeps_but_lists_of_them_are(tmp_path):
    one = study(tmp_path, "[problem.drift]\nkind = 'jumps'\nrounds = [10, 20]")
    two = study(tmp_path, "[problem.drift]\nkind = 'jumps'\nrounds = [[10, 20], [30]]")
    assert [point.problem.drift.rounds for point in one.points] == [(10, 20)]
    assert [point.problem.drift.rounds for point in two.points] == [(10, 20), (30,)]


def test_objects_texts_and_tables_mean_the_same(tmp_path):
    start, walk = mb.Monopartite([0.9, 0.7, 0.4, 0.1]), mb.RandomWalk(0.01)
    ways = [
        mb.Drifting(start, walk),
        {"u": start.u, "drift": walk},
        {"u": start.u, "drift": {"kind": "random-walk", "step": 0.01}},
    ]
    keys = {mb.Study(name="x", problem=way, policies="rank1-thompson", horizon=9).points[0].key for way in ways}
    assert keys == {study(tmp_path, 'drift = "random-walk:0.01"').with_(horizon=9).points[0].key}


@pytest.mark.parametrize(
    ("drift", "message"),
    [
        ('drift = {kind = "random-walk", stepp = 1}', "line 8: unknown parameter of random-walk 'stepp'; did you mean"),
        ('drift = {kind = "random-walk", step = -1}', "line 8: step must be at least 0; got -1"),
        ('drift = {kind = "walk"}', "line 8: unknown drift 'walk'"),
        ("drift = 3", "line 8: drift must be a table"),
        ("drift_step = 3", "line 8: unknown key of problem 'drift_step'"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path, drift, message):
    with pytest.raises(mb.MatchbanditError, match=message):
        assert study(tmp_path, drift).points


def test_identification_is_refused():
    drifting = mb.Drifting(mb.Monopartite([0.9, 0.7, 0.4, 0.1]), mb.RandomWalk(0.01))
    with pytest.raises(mb.MatchbanditError, match="cannot be used on a drifting problem"):
        assert mb.Study(name="x", problem=drifting, policies=["matching-id"], delta=0.1, max_rounds=100).points


def test_the_command_line_takes_a_drift():
    command = ["simulate", "--policy", "rank1-thompson", "--u", "0.9,0.7,0.4,0.1", "--horizon", "50", "--runs", "2"]
    done = CliRunner().invoke(app, [*command, "--drift", "jumps:rounds=10,20", "--workers", "1", "--json"])
    drifting = mb.Drifting(mb.Monopartite([0.9, 0.7, 0.4, 0.1]), mb.Jumps(rounds=[10, 20]))
    data = json.loads(done.stdout)
    assert data["final_regret"] == mb.simulate(drifting, "rank1-thompson", horizon=50, runs=2).final.tolist()
    assert data["problem"]["drift"] == drifting.drift.describe()
