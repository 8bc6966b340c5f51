"""Studies as data: what they mean, what they refuse, and that anything is one or the other."""

import json
import pickle
import sys
from hashlib import blake2b
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import matchbandit as mb
from matchbandit.policies.uniform import Uniform
from matchbandit.problems import families
from matchbandit.studies.normalize import SettingError
from matchbandit.studies.points import value_text
from matchbandit.studies.study import Study

SLOTS = {"u": [0.9, 0.3], "v": [0.8, 0.4]}
SPIKED = {"family": "spiked", "n": 4, "u1": 0.9, "gap": 0.7}
GAPS = {**SPIKED, "gap": [0.5, 0.6, 0.7]}


class Mine(Uniform):
    name = "mine"

    def __init__(self, setting, rng, *, weights=(0.5, 0.5), power: int = 2):
        super().__init__(setting, rng)
        self.options |= {"weights": weights, "power": power}


class Twin(Uniform):
    name = "uniform"


def own_family(n: int, tilt: float = 0.1, *, rewards, rng):
    return mb.Bipartite([0.9] + [0.5 - tilt] * (n - 1), [0.9, 0.2], rewards=rewards)


def study(**changes):
    return Study(**{"name": "it", "problem": SLOTS, "policies": ["uts"], "horizon": 100, "runs": 2, **changes})


def identification(**changes):
    return study(**{"horizon": None, "delta": 0.1, "policies": ["pair-elim"], **changes})


def places(made):
    return [(point.label, point.place) for point in made.points]


def test_points_are_the_product_of_policies_problems_and_horizons_in_the_order_written():
    made = study(
        problem={**GAPS, "n": [4, 5]}, policies=["uts", {"name": "pair-elim", "growth": [1.05, 4]}], horizon=[10, 1e2]
    )
    labels = ["uts", "pair-elim, growth = 1.05", "pair-elim, growth = 4"]
    expected = [
        (label, f"n = {n}, gap = {gap}, horizon = {horizon}")
        for label, n, gap, horizon in product(labels, (4, 5), (0.5, 0.6, 0.7), (10, 100))
    ]
    assert places(made) == expected
    assert made.sweeps == {
        "n": [4, 5], "gap": [0.5, 0.6, 0.7], "horizon": [10, 100], "pair-elim.growth": [1.05, 4.0],
    }  # fmt: skip
    assert len({point.key for point in made.points}) == len(made.points) == 36


def test_a_lone_point_varies_in_nothing():
    made = study()
    assert made.sweeps == {}
    assert places(made) == [("uts", "")]
    assert made.points[0].title == "uts"


def test_the_same_policy_twice_with_other_options_is_told_apart_by_them():
    made = study(policies=["pair-elim", {"name": "pair-elim", "growth": 2}, "uts"])
    assert [point.label for point in made.points] == ["pair-elim, growth = 4", "pair-elim, growth = 2", "uts"]


def test_a_list_of_problems_is_a_sweep_too():
    tastes = {"means": [[0.9, 0.2], [0.1, 0.4]]}
    made = study(problem=[SLOTS, GAPS, tastes])
    assert [point.place for point in made.points] == [
        "bipartite", "spiked, gap = 0.5", "spiked, gap = 0.6", "spiked, gap = 0.7", "means",
    ]  # fmt: skip
    assert made.sweeps["problem"] == ["bipartite", "spiked", "means"]


def test_problems_of_one_family_are_told_apart_by_what_differs():
    made = study(problem=[SPIKED, {**SPIKED, "gap": 0.6}])
    assert made.sweeps["problem"] == ["spiked, gap = 0.7", "spiked, gap = 0.6"]


@pytest.mark.parametrize(
    ("problem", "horizon", "same"),
    [
        (mb.Bipartite(**SLOTS), 100, SLOTS),
        (mb.Bipartite(**SLOTS, rewards=mb.Gaussian(0.5)), 100, {**SLOTS, "rewards": "gaussian:0.5"}),
        (mb.family(SPIKED["family"], n=4, u1=0.9, gap=0.7), 100, SPIKED),
        (mb.Means([[0.9, 0.2], [0.1, 0.4]]), 100, {"means": [[0.9, 0.2], [0.1, 0.4]]}),
        ({**SLOTS, "rewards": mb.Binomial(3)}, 100, {**SLOTS, "rewards": "binomial:3"}),
        ({"u": np.array([0.9, 0.3]), "v": (0.8, 0.4)}, np.float64(100), SLOTS),
        ([mb.Bipartite(**SLOTS), SPIKED], 1e2, [SLOTS, SPIKED]),
    ],
)
def test_problems_that_are_made_already_are_kept_as_plain_data(problem, horizon, same):
    given_made = study(problem=problem, horizon=horizon, policies=["uniform"])
    assert given_made == study(problem=same, policies=["uniform"])
    assert given_made.describe()["problem"] == same
    json.dumps(given_made.describe(), allow_nan=False)


def test_players_keep_that_they_are_players():
    means = [[0.0, 0.9, 0.2, 0.1], [0.9, 0.0, 0.3, 0.2], [0.2, 0.3, 0.0, 0.6], [0.1, 0.2, 0.6, 0.0]]
    made = study(problem=mb.Means(means, players=True), policies=["uniform"])
    assert made.describe()["problem"] == {"means": means, "players": True}
    assert str(made.points[0].problem.graph) == "monopartite with 4 players"


def test_policies_may_be_names_specs_classes_and_tables():
    made = study(policies=["uts", mb.policy("pair-elim", growth=2.0), mb.CATALOGUE["uniform"], {"name": "kl-ucb"}])
    assert made.policies == ["uts", {"name": "pair-elim", "growth": 2.0}, "uniform", "kl-ucb"]
    assert study(policies="uts") == study(policies=["uts"])


def test_a_policy_of_ones_own_becomes_its_name_and_is_found_again():
    made = study(policies=[Mine, {"name": f"{__name__}:Mine", "power": [3.0, 4.0], "weights": [0.1, 0.9]}])
    assert made.policies[0] == f"{__name__}:Mine"
    assert [point.spec.options for point in made.points] == [
        {}, {"power": 3, "weights": [0.1, 0.9]}, {"power": 4, "weights": [0.1, 0.9]},
    ]  # fmt: skip
    assert made.points[0].user_modules == made.user_modules == (__name__,)
    assert made.points[1].label == "mine, weights = 0.1 0.9, power = 3"
    assert Study.from_dict(json.loads(json.dumps(made.describe()))) == made
    assert study().user_modules == ()


def test_what_is_typed_into_a_notebook_is_found_there(monkeypatch):
    monkeypatch.setattr(Mine, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Mine", Mine, raising=False)
    assert study(policies=[Mine]).policies == ["__main__:Mine"]


def test_a_family_of_ones_own_is_drawn_by_name_with_its_defaults():
    made = study(problem={"family": own_family, "n": [2.0, 3.0]})
    assert made.problem["family"] == f"{__name__}:own_family"
    assert [point.problem.parameters for point in made.points] == [{"n": 2, "tilt": 0.1}, {"n": 3, "tilt": 0.1}]
    assert made.user_modules == (__name__,)
    assert made.points[0].problem.draw().u.tolist() == [0.9, 0.4]


def test_numbers_are_whole_where_whole_numbers_are_needed():
    made = study(problem={**SPIKED, "n": 4.0}, horizon=1e2, runs=2.0, seed=3.0, checkpoints=[50.0, 1e1, 50])
    assert (made.horizon, made.runs, made.seed, made.checkpoints) == (100, 2, 3, [10, 50])
    assert all(type(value) is int for value in (made.horizon, made.runs, made.seed, *made.checkpoints))
    assert type(made.points[0].problem.parameters["n"]) is int


def test_checkpoints_are_those_before_each_horizon():
    made = study(checkpoints=[50, 10, 40], horizon=[100, 40])
    assert [point.checkpoints for point in made.points] == [(10, 40, 50), (10,)]
    assert made.points[1].play(0, 1).rounds.tolist() == [10, 40]
    assert study(checkpoints=[]).points[0].key == study(checkpoints=[100]).points[0].key != study().points[0].key
    assert study(checkpoints=[]).points[0].play(0, 1).rounds.tolist() == [100]


def test_delta_of_the_study_is_that_of_every_policy():
    made = identification(policies=["pair-elim", "track-and-stop"], delta=[0.1, 1e-3], max_rounds=1e6)
    assert [point.spec.options["delta"] for point in made.points] == [0.1, 1e-3, 0.1, 1e-3]
    assert {point.goal for point in made.points} == {made.goal} == {"identification"}
    assert made.points[0].max_rounds == 10**6
    assert study().goal == "regret"


def test_the_key_stands_for_what_determines_the_numbers_and_for_nothing_else():
    plain = study().points[0]
    same = [
        study(name="other", runs=7),
        study(policies=["uts", "uniform"]),
        study(policies=[{"name": "uts", "gamma": 2.0}]),
        study(problem=mb.Bipartite(**SLOTS)),
        study(problem=[SLOTS, SPIKED]),
        study(horizon=[100, 200]),
    ]
    assert {made.points[0].key for made in same} == {plain.key}
    others = [
        study(seed=1), study(horizon=101), study(checkpoints=[10]), study(engine="step"), study(policies=["uniform"]),
        study(problem={**SLOTS, "rewards": "binomial:2"}), study(problem={**SLOTS, "u": [0.9, 0.4]}),
        study(policies=[{"name": "uts", "gamma": 3}]), study(policies=[{"name": "uniform", "selection": "matching"}]),
        identification(), identification(delta=0.2),
        identification(max_rounds=5),
    ]  # fmt: skip
    assert len({plain.key, *(made.points[0].key for made in others)}) == len(others) + 1
    assert len(plain.key) == 16
    assert int(plain.key, 16) >= 0


def test_keys_are_the_same_in_every_version_to_come():
    told = (
        '{"engine":"auto","horizon":100,"options":{"gamma":2},"policy":"uts","problem":{"kind":"bipartite",'
        '"rewards":{"name":"bernoulli"},"u":[0.9,0.3],"v":[0.8,0.4]},"seed":0}'
    )
    assert study().points[0].key == blake2b(told.encode(), digest_size=8).hexdigest() == "05aad8ba7f3a18dc"


def test_a_point_plays_what_simulate_plays():
    point = study(problem=SPIKED, policies=["pair-elim"], horizon=1000, seed=3, checkpoints=[10, 100]).points[0]
    told = []
    played = point.play(1, 2, progress=lambda done, total: told.append((done, total)))
    whole = mb.simulate(
        mb.family("spiked", n=4, u1=0.9, gap=0.7), "pair-elim", horizon=1000, runs=3, seed=3, checkpoints=[10, 100]
    )
    assert played.run_numbers == [1, 2]
    assert played.regret.tolist() == whole.regret[1:].tolist()
    assert told[-1] == (2, 2)


def test_a_point_plays_what_identify_plays():
    point = identification(problem=SPIKED, delta=0.05, seed=4).points[0]
    whole = mb.identify(mb.family("spiked", n=4, u1=0.9, gap=0.7), mb.policy("pair-elim", delta=0.05), runs=3, seed=4)
    assert point.play(1, 2).rounds.tolist() == whole.rounds[1:].tolist() != whole.rounds[:2].tolist()


def test_points_travel_to_other_processes():
    for point in study(problem={"family": own_family, "n": 2}, policies=["uts", Mine]).points:
        copy = pickle.loads(pickle.dumps(point))
        assert (copy.key, copy.title) == (point.key, point.title)


@pytest.mark.parametrize(
    "made",
    [
        study(problem=GAPS, policies=["uts", {"name": "pair-elim", "growth": [1.05, 4]}], checkpoints=[5, 9]),
        identification(delta=[0.1, 0.01], max_rounds=100),
        study(problem=[SLOTS, SPIKED], policies=["uniform"], engine="step"),
        study(problem={"u": [0.9, 0.8, 0.3, 0.1]}, policies=["adaptive-matching"], stop="first-split"),
    ],
)
def test_a_study_comes_back_from_its_description(made):
    described = json.loads(json.dumps(made.describe(), allow_nan=False))
    again = Study.from_dict(described)
    assert again == made
    assert hash(again) == hash(made)
    assert [point.key for point in again.points] == [point.key for point in made.points]
    assert made != made.with_(seed=99)
    assert made != "made"


def test_a_study_without_its_own_modules_can_still_be_read():
    data = {"name": "far", "problem": SLOTS, "policies": ["nowhere_here:Ucb"], "horizon": 10}
    read = Study.from_dict(data, check=False)
    assert (read.name, read.runs, read.goal) == ("far", 20, "regret")
    assert Study.from_dict(read.describe(), check=False) == read
    with pytest.raises(mb.MatchbanditError, match="nowhere_here"):
        _ = read.points
    assert repr(read).startswith("Study far, whose points cannot be built here: unknown module 'nowhere_here'")
    assert "nowhere_here" in read._repr_html_()


def test_values_are_written_as_one_would():
    told = [value_text(value) for value in (None, True, 0.1 + 0.2, 10**6, [0.9, 0.3], [[0, 1], [2, 3]], "log")]
    assert told == ["none", "true", "0.3", "1,000,000", "0.9 0.3", "0 1 / 2 3", "log"]


MISTAKES = [
    ({"name": ""}, ("name",), "name must be"),
    ({"name": "a/b"}, ("name",), "a folder is called so"),
    ({"name": ".hidden"}, ("name",), "name must be"),
    ({"name": "x" * 200}, ("name",), "name must be"),
    ({"name": 7}, ("name",), "name must be"),
    ({"runs": 0}, ("runs",), "runs must be a whole number, at least 1; got 0"),
    ({"runs": "20"}, ("runs",), "got '20'"),
    ({"runs": [10, 20]}, ("runs",), "runs takes one value"),
    ({"seed": -1}, ("seed",), "seed must be a whole number, at least 0"),
    ({"seed": True}, ("seed",), "seed must be"),
    ({"horizon": 0}, ("horizon",), "horizon must be"),
    ({"horizon": 2.5}, ("horizon",), "horizon must be"),
    ({"horizon": "1e5"}, ("horizon",), "horizon must be"),
    ({"horizon": []}, ("horizon",), "empty list"),
    ({"horizon": [10, [20]]}, ("horizon",), "nested too deeply"),
    ({"horizon": {"a": 1}}, ("horizon",), "horizon must be"),
    ({"delta": 0.1}, ("delta",), "both horizon and delta"),
    ({"horizon": None}, ("delta",), "neither horizon nor delta"),
    ({"horizon": None, "delta": 1.5, "policies": ["pair-elim"]}, ("delta",), "delta must lie between 0 and 1"),
    ({"horizon": None, "delta": "small", "policies": ["pair-elim"]}, ("delta",), "delta must be a number"),
    ({"max_rounds": 10}, ("max_rounds",), "max_rounds goes with delta only"),
    ({"epsilon": 0.1}, ("epsilon",), "epsilon goes with delta only"),
    ({"horizon": None, "delta": 0.1, "budget": 9}, ("budget",), "both delta and budget"),
    ({"horizon": None, "budget": 0}, ("budget",), "budget must be a whole number"),
    ({"horizon": None, "budget": 9}, ("policies", 0), "uts is for regret, and this study is for identification"),
    ({"horizon": None, "budget": 9, "policies": ["pair-elim"]}, ("policies", 0), "that do: sequential-halving"),
    ({"horizon": None, "delta": 0.1, "policies": ["sequential-halving"]}, ("policies", 0), "has no delta"),
    ({"horizon": None, "budget": 2, "policies": ["sequential-halving"]}, ("budget",), "budget must be at least"),
    ({"policies": ["sequential-halving"]}, ("policies", 0), "give the study budget in place of horizon"),
    (
        {"horizon": None, "delta": 0.1, "epsilon": [0, 0.2], "policies": ["pair-elim"]},
        ("epsilon",),
        "pair-elim does not support epsilon",
    ),
    (
        {"horizon": None, "delta": 0.1, "epsilon": 1, "policies": ["pair-elim"]},
        ("epsilon",),
        "epsilon must be at least 0 and below 1; got 1",
    ),
    (
        {"horizon": None, "delta": 0.1, "policies": [{"name": "pair-elim", "epsilon": 0.2}]},
        ("policies", 0, "epsilon"),
        "pair-elim does not support epsilon",
    ),
    ({"horizon": None, "delta": 0.1, "stop": "first-split"}, ("stop",), "stop goes with horizon only"),
    ({"horizon": None, "delta": 0.1, "checkpoints": [1]}, ("checkpoints",), "checkpoints goes with horizon"),
    ({"checkpoints": [101]}, ("checkpoints",), "a checkpoint must be a whole number, between 1 and 100; got 101"),
    ({"checkpoints": [150], "horizon": [100, 40]}, ("checkpoints",), "between 1 and 100"),
    ({"checkpoints": 10}, ("checkpoints",), "checkpoints must be a list"),
    ({"checkpoints": [[1, 2]]}, ("checkpoints",), "takes one value"),
    ({"engine": "jumb"}, ("engine",), "did you mean 'jump'"),
    ({"engine": ["jump", "step"]}, ("engine",), "unknown engine"),
    ({"engine": "jump"}, ("policies", 0), "uts cannot jump"),
    ({"stop": "first"}, ("stop",), "unknown stop 'first'"),
    ({"stop": "first-split"}, ("policies", 0), "has no clusters that split"),
    ({"policies": []}, ("policies",), "policies is an empty list"),
    ({"policies": 3}, ("policies",), "policies must be a list"),
    ({"policies": [3]}, ("policies", 0), "a policy is given by its name"),
    ({"policies": [{"growth": 4}]}, ("policies", 0), "needs its name"),
    ({"policies": [{"name": "pair-elim", "growth": {"a": 1}}]}, ("policies", 0, "growth"), "growth must be a number"),
    ({"policies": ["uts", "utz"]}, ("policies", 1, "name"), "did you mean 'uts'"),
    ({"policies": ["uts", "uts"]}, ("policies", 1), "uts is there twice"),
    ({"policies": ["uts", {"name": "uts", "gamma": 2}]}, ("policies", 1), "uts is there twice"),
    ({"policies": [{"name": "uts", "gama": 2}]}, ("policies", 0, "gama"), "did you mean 'gamma'"),
    ({"policies": [{"name": "uts", "gamma": []}]}, ("policies", 0, "gamma"), "empty list"),
    ({"policies": [{"name": "uts", "gamma": [[2]]}]}, ("policies", 0, "gamma"), "nested too deeply"),
    ({"policies": [{"name": "pair-elim", "growth": "big"}]}, ("policies", 0, "growth"), "growth must be a number"),
    ({"policies": [{"name": "pair-elim", "growth": [4, 0.5]}]}, ("policies", 0, "growth"), "growth = 0.5: growth must"),
    ({"policies": [{"name": "pair-elim", "delta": 0.1}]}, ("policies", 0, "delta"), "delta is a setting of the whole"),
    ({"policies": [{"name": "uts", "delta": 0.1}]}, ("policies", 0, "delta"), "delta belongs to the study"),
    ({"policies": [{"name": "uts", "runs": 5}]}, ("policies", 0, "runs"), "runs belongs to the study"),
    ({"policies": ["uts", "track-and-stop"]}, ("policies", 1), "track-and-stop is for identification"),
    ({"horizon": None, "delta": 0.1}, ("policies", 0), "uts is for regret, and this study is for identification"),
    ({"policies": ["nowhere_here:Ucb"]}, ("policies", 0, "name"), "unknown module 'nowhere_here'"),
    ({"policies": [{"name": f"{__name__}:Mine", "power": float("inf")}]}, ("policies", 0, "power"), "a finite number"),
    ({"policies": [f"{__name__}:Mini"]}, ("policies", 0, "name"), "did you mean 'Mine'"),
    ({"policies": [f"{__name__}:own_family"]}, ("policies", 0, "name"), "is not a policy"),
    ({"policies": ["uniform", Twin]}, ("policies", 1), "are both named 'uniform'"),
    ({"policies": [":Ucb"]}, ("policies", 0, "name"), "module:name"),
    ({"policies": [mb.policy("uts").build(mb.bipartite(2, 2))]}, ("policies", 0), "built already"),
    ({"policies": [mb.policy("kl-ucb").warm_start([(0, 0)], [1], [1])]}, ("policies", 0), "logged results"),
    ({"problem": []}, ("problem",), "problem is an empty list"),
    ({"problem": 3}, ("problem",), "problem must be a table"),
    ({"problem": [SLOTS, 3]}, ("problem", 1), "problem must be a table"),
    ({"problem": {}}, ("problem",), "neither family, u nor means"),
    ({"problem": {"v": [0.5]}}, ("problem",), "neither family, u nor means"),
    ({"problem": {"u": [0.5], "means": [[0.5]]}}, ("problem",), "both u and means"),
    ({"problem": {**SLOTS, "players": True}}, ("problem", "players"), "players goes with means only"),
    ({"problem": {"means": [[0.5]], "v": [0.5]}}, ("problem", "v"), "v goes with u only"),
    ({"problem": {**SLOTS, "famly": "spiked"}}, ("problem", "famly"), "did you mean 'family'"),
    ({"problem": {**SLOTS, "runs": 5}}, ("problem", "runs"), "above the first line [problem]"),
    ({"problem": {**SPIKED, "seed": 5}}, ("problem", "seed"), "seed belongs to the study"),
    ({"problem": {**SPIKED, "family": "spikd"}}, ("problem", "family"), "did you mean 'spiked'"),
    ({"problem": {**SPIKED, "family": 3}}, ("problem", "family"), "family must be a name"),
    ({"problem": {**SPIKED, "gab": 0.5}}, ("problem", "gab"), "did you mean 'gap'"),
    ({"problem": {"family": "spiked", "n": 4, "u1": 0.9}}, ("problem",), "missing: gap"),
    ({"problem": {**SPIKED, "gap": []}}, ("problem", "gap"), "gap is swept over an empty list"),
    ({"problem": {**SPIKED, "gap": [0.7, 1.2]}}, ("problem", "gap"), "at gap = 1.2: gap must lie in [0, 1]"),
    ({"problem": {**SPIKED, "gap": [0.7, 0.1]}}, ("problem", "gap"), "at gap = 0.1: gap must lie between"),
    ({"problem": {**SPIKED, "gap": [0.7, 0.7]}}, ("problem", "gap"), "uts at gap = 0.7 is there twice"),
    ({"problem": [SLOTS, SPIKED, SLOTS]}, ("problem", 2), "uts at bipartite (3) is there twice"),
    ({"problem": {"means": [[0.5], [0.5, 0.1]]}}, ("problem", "means"), "means must be rows of numbers"),
    ({"horizon": [10, 10]}, ("horizon",), "horizon = 10 is there twice"),
    ({"horizon": None, "delta": [0.1, 0.1], "policies": ["pair-elim"]}, ("delta",), "delta = 0.1 is there twice"),
    ({"policies": [{"name": "uts", "gamma": [2, 2]}]}, ("policies", 0), "uts is there twice"),
    ({"problem": {**SPIKED, "gap": "wide"}}, ("problem", "gap"), "gap must be a number"),
    ({"problem": {**SPIKED, "gap": float("nan")}}, ("problem", "gap"), "gap must be a finite number"),
    ({"problem": {**SPIKED, "n": 4.5}}, ("problem", "n"), "n must be a whole number"),
    ({"problem": [SLOTS, {**SPIKED, "n": 4.5}]}, ("problem", 1, "n"), "n must be a whole number"),
    ({"problem": {**SLOTS, "u": 0.5}}, ("problem", "u"), "u must be"),
    ({"problem": {"u": [[0.9, 0.3], [0.9]]}, "policies": ["uniform"]}, ("problem", "u"), "at u = 0.9: u has only"),
    ({"problem": {**SLOTS, "u": [0.9, 1.2]}}, ("problem", "u"), "1.2"),
    ({"problem": {**SLOTS, "rewards": "gausian:1"}}, ("problem", "rewards"), "did you mean 'gaussian'"),
    ({"problem": {**SLOTS, "rewards": "gaussian"}}, ("problem", "rewards"), "gaussian rewards need their sd"),
    ({"problem": {**SLOTS, "rewards": 3}}, ("problem", "rewards"), "rewards are named by a text"),
    ({"problem": {**SLOTS, "rewards": ["bernoulli", "gaussian:1"]}}, ("policies", 0), "needs rewards in [0, 1]"),
    ({"problem": {"u": [0.9, 0.3, 0.1, 0.2]}, "policies": ["rank1-elim"]}, ("policies", 0), "rank1-elim plays on bip"),
    ({"problem": {"family": f"{__name__}:own_famly", "n": 2}}, ("problem", "family"), "did you mean 'own_family'"),
    ({"problem": {"family": f"{__name__}:Mine", "n": 2}}, ("problem", "family"), "is not a family"),
    ({"problem": {"family": f"{__name__}:study", "n": 2}}, ("problem", "family"), "is not a family"),
    ({"problem": {"family": f"{__name__}:own_family", "m": 2}}, ("problem", "m"), "unknown parameter of"),
    ({"problem": {1: 2}}, ("problem",), "settings are named by texts"),
    ({"problem": {**SPIKED, "n": list(range(2, 3000)), "u1": [0.9] * 30}}, ("problem",), "points; a study has at most"),
    ({"horizon": None, "delta": 0.1, "policies": ["pair-elim"], "problem": {"u": [0.9, 0.9], "v": [0.5]}},
     ("policies", 0), "Give max_rounds"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "path", "told"), MISTAKES, ids=[told for _, _, told in MISTAKES])
def test_every_mistake_gives_one_clear_line_and_its_place(changes, path, told):
    with pytest.raises(SettingError) as refused:
        study(**changes)
    assert told in str(refused.value)
    assert refused.value.path == path
    assert "rank1-elim: rank1-elim" not in str(refused.value)  # nothing is said twice
    assert "\n" not in str(refused.value)


def test_unknown_and_missing_keys_are_named():
    with pytest.raises(mb.MatchbanditError, match="unknown key 'horzion'; did you mean 'horizon'"):
        Study.from_dict({"name": "a", "problem": SLOTS, "policies": ["uts"], "horzion": 5})
    with pytest.raises(mb.MatchbanditError, match="missing: problem, policies"):
        Study.from_dict({"name": "a"})
    with pytest.raises(mb.MatchbanditError, match="policies belongs to the study"):
        Study.from_dict({"name": "a", "horizon": 5, "problem": {**SLOTS, "policies": ["uts"]}})
    with pytest.raises(mb.MatchbanditError, match="a table of settings"):
        Study.from_dict(["a"])
    with pytest.raises(mb.MatchbanditError, match="unknown setting of a study 'run'; did you mean 'runs'"):
        study().with_(run=5)


def test_with_changes_one_setting_and_checks_it():
    made = study().with_(runs=5, horizon=[10, 20])
    assert (made.runs, made.horizon, made.name) == (5, [10, 20], "it")
    with pytest.raises(mb.MatchbanditError, match="runs must be"):
        study().with_(runs=0)


def test_a_family_whose_parameter_is_a_column_of_the_rows_is_refused(monkeypatch):
    def rounds_family(rounds: int, *, rewards, rng):
        return mb.Bipartite([0.9, 0.1], [0.9, 0.2], rewards=rewards)

    monkeypatch.setitem(families.FAMILIES, "odd", rounds_family)
    with pytest.raises(mb.MatchbanditError, match="rows have a column of that name already"):
        study(problem={"family": "odd", "rounds": 2})


def test_problems_that_rows_could_not_tell_apart_are_refused():
    long = [0.5 + k / 1000 for k in range(300)]
    assert len(study(problem={"u": long, "v": [0.5, 0.2]}).points) == 1
    with pytest.raises(mb.MatchbanditError, match=r"rows could not tell uts at u = .* from uts at u = "):
        study(problem={"u": [long, long[::-1]], "v": [0.5, 0.2]})


def test_an_option_that_is_chosen_for_the_graph_is_the_same_as_the_one_that_is_given():
    plain, given_one = study(policies=["uniform"]), study(policies=[{"name": "uniform", "selection": "pair"}])
    assert plain.points[0].key == given_one.points[0].key
    with pytest.raises(mb.MatchbanditError, match="is there twice"):
        study(policies=["uniform", {"name": "uniform", "selection": "pair"}])


class Calling(Uniform):
    name = "calling"

    def __init__(self, setting, rng, *, function=max):
        super().__init__(setting, rng)


def test_an_option_that_no_file_can_keep_is_refused():
    with pytest.raises(mb.MatchbanditError, match="the option function must be a number, a text"):
        study(policies=[Calling])


def test_code_of_ones_own_that_fails_is_named_with_its_line(monkeypatch):
    def broken(self, setting, rng, *, power: int = 2):
        raise KeyError("no such thing")

    monkeypatch.setattr(Mine, "__init__", broken)
    with pytest.raises(mb.MatchbanditError, match=r"mine cannot be built: KeyError: .*\(test_study.py, line \d+\)"):
        study(policies=[Mine])
    with pytest.raises(mb.MatchbanditError, match=r"ZeroDivisionError: .*\(test_study.py, line \d+\)"):
        study(problem={"family": f"{__name__}:dividing", "n": 0})


def dividing(n: int, *, rewards, rng):
    return mb.Bipartite([1 / n], [0.5], rewards=rewards)


def test_classes_inside_functions_cannot_be_found_again():
    class Hidden(Uniform):
        name = "hidden"

    with pytest.raises(mb.MatchbanditError, match="Move it to the top of its module"):
        study(policies=[Hidden])


NUMBERS = st.sampled_from([0, 1, 2, 4, -1, 0.5, 0.05, 1e3, 1e30, 2.0, float("nan"), float("inf"), True])
TEXTS = st.sampled_from(["", "uts", "pair-elim", "spiked", "gaussian:1", "a:b", "matching-id", "first-split", "jump"])
VALUES = st.recursive(
    st.one_of(NUMBERS, NUMBERS, TEXTS, st.none()), lambda inner: st.lists(inner, max_size=3), max_leaves=5
)
PROBLEMS = [SLOTS, SPIKED, GAPS, {"u": [0.9, 0.8, 0.3, 0.1]}, {"means": [[0.9, 0.2], [0.1, 0.4]]}]
POLICIES = {
    "regret": ["uts", "pair-elim", "adaptive-matching", "exploration-first", "rank1-certify", "uniform"],
    "identification": ["pair-elim", "rank1-certify", "matching-id", "clucb"],
}
KEYS = {
    "problem": ["family", "n", "u1", "gap", "u", "v", "means", "players", "rewards", "runs", "typo"],
    "policies": ["name", "growth", "gamma", "delta", "best", "clusters", "share", "selection", "cap_windows", "typo"],
    "study": ["horizon", "delta", "runs", "seed", "checkpoints", "max_rounds", "stop", "engine", "typo", "name",
              "problem", "policies"],
}  # fmt: skip


@st.composite
def nearly_sound(draw):
    """A study, with up to two of its settings replaced by anything."""
    goal = draw(st.sampled_from(["regret", "regret", "identification"]))
    end = {"horizon": 100} if goal == "regret" else {"delta": 0.1, "max_rounds": 100}
    names = draw(st.lists(st.sampled_from(POLICIES[goal]), min_size=1, max_size=2, unique=True))
    tables = {"problem": dict(draw(st.sampled_from(PROBLEMS))), "policies": {"name": names[0]}, "study": {}}
    for where in draw(st.lists(st.sampled_from([*KEYS]), max_size=2)):
        tables[where][draw(st.sampled_from(KEYS[where]))] = draw(VALUES)
    problem = draw(st.sampled_from([tables["problem"], [tables["problem"], SLOTS]]))
    return {"name": "it", "problem": problem, "policies": [tables["policies"], *names[1:]], **end, **tables["study"]}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nearly_sound())
@pytest.mark.slow
def test_anything_is_a_study_or_an_error_in_words(data):
    try:
        made = Study.from_dict(data)
    except mb.MatchbanditError as error:
        told = str(error)
    else:
        told = repr(made)
        assert Study.from_dict(json.loads(json.dumps(made.describe(), allow_nan=False))) == made
    assert "\n" not in told


def test_a_study_runs_reads_and_draws_its_folder(tmp_path):
    made = study(problem=GAPS, policies=["pair-elim"], horizon=300, runs=2, checkpoints=[])
    folder = made.run(tmp_path / "out", workers=1)
    assert folder.study == made
    frame = made.rows(tmp_path / "out")
    whole = {point.settings["gap"]: point.play(0, 2).final for point in made.points}
    told = zip(frame["gap"].to_list(), frame["run"].to_list(), frame["regret"].to_list(), strict=True)  # of either kind
    assert sorted(told) == [(gap, run, final[run]) for gap, final in whole.items() for run in range(2)]
    assert len(made.results(tmp_path / "out")) == 3
    picture = made.plot(tmp_path / "out", x="gap", path=tmp_path / "gaps.svg")
    assert picture.chart.lines[0].y == pytest.approx([whole[gap].mean() for gap in (0.5, 0.6, 0.7)])
    assert (tmp_path / "gaps.svg").read_text().startswith("<?xml")
    with pytest.raises(mb.MatchbanditError, match="holds the study it, not other"):
        made.with_(name="other").rows(tmp_path / "out")


def test_long_lists_are_cut_in_labels():
    two = [[0.9 - 0.01 * k for k in range(50)], [0.8 - 0.01 * k for k in range(50)]]
    for made in (
        study(problem={"u": two, "v": [0.5, 0.4]}),
        study(problem=[{"u": u, "v": [0.5, 0.4]} for u in two]),
    ):
        assert [point.place.endswith(" …") and len(point.place) < 90 for point in made.points] == [True, True]
        assert len(made._repr_html_()) < 600


def test_charts_of_runs_that_are_stopped_say_so(tmp_path):
    made = mb.Study(
        name="split", problem={"u": [0.9, 0.8, 0.3, 0.2]}, policies=["adaptive-matching"], horizon=10**5, runs=2
    )
    words = "Runs end when a cluster splits"
    for each, told in ((made, False), (made.with_(stop="first-split"), True)):
        out = tmp_path / str(told)
        rows = each.run(out, workers=1).rows()
        assert all((words in chart.caption) is told for chart in each.charts(rows))
        page = mb.report(out).read_text()
        assert (words in page) is told
