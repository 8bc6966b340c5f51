import json
from importlib.resources import files

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.problems.click_models import model_names, published_models


def test_the_collections_have_the_published_sizes():
    sizes = {name: (len(items), len(positions)) for name, (items, positions) in published_models().items()}
    assert [len(model_names(each)) for each in ("kdd", "yandex", "simulated")] == [8, 60, 4]
    assert {sizes[name] for name in model_names("yandex") + model_names("simulated")} == {(10, 5)}
    assert {sizes[name] for name in model_names("kdd")} == {(5, 3), (6, 3), (8, 3), (11, 3)}


def test_every_model_is_made_of_probabilities_with_the_best_position_first():
    for items, positions in published_models().values():
        assert ((items > 0) & (items <= 1)).all()
        assert positions[0] == 1.0
        assert (np.diff(positions) <= 0).all()


def test_numbers_are_those_of_the_file_and_the_licence_is_beside_it():
    folder = files("matchbandit.problems")
    data = json.loads(folder.joinpath("click_models.json").read_text(encoding="utf-8"))
    assert "github.com/gaudel/ranking_bandits" in data["source"]
    assert "Copyright (c) 2021 Romaric Gaudel" in folder.joinpath("click_models.LICENSE").read_text(encoding="utf-8")
    problem = mb.family("click-model", model="kdd:19", shuffle="none").draw()
    assert problem.u.tolist() == [0.049981, 0.034303, 0.036602, 0.046696, 0.030629]
    assert problem.v.tolist() == [1.0, 0.48575, 0.3298]
    above_one = [max(model["items"]) for model in data["models"].values() if max(model["items"]) > 1]
    assert above_one == [1.0656, 2.509]


@pytest.mark.parametrize("shuffle", ["all", "except-first"])
def test_items_and_positions_are_shuffled_for_each_run(shuffle):
    family = mb.family("click-model", model="kdd:10", shuffle=shuffle)
    items, positions = published_models()["kdd:10"]
    drawn = [family.draw(seed=3, run=run) for run in range(60)]
    for problem in drawn:
        assert sorted(problem.u) == sorted(items)
        assert sorted(problem.v) == sorted(positions)
        assert problem.optimum("matching") == pytest.approx((np.sort(items)[::-1][:3] * positions).sum())
    first = {float(problem.v[0]) for problem in drawn}
    assert first == ({1.0} if shuffle == "except-first" else set(positions.tolist()))
    assert len({problem.v.tobytes() for problem in drawn}) == (2 if shuffle == "except-first" else 6)
    assert len({problem.u.tobytes() for problem in drawn}) > 50
    assert (family.draw(seed=3, run=7).u == drawn[7].u).all()


def test_a_collection_of_one_size_gives_each_run_one_of_its_models():
    family = mb.family("click-model", model="yandex")
    models = {np.sort(items).tobytes() for items, _ in map(published_models().get, model_names("yandex"))}
    drawn = {np.sort(family.draw(run=run).u).tobytes() for run in range(400)}
    assert drawn <= models
    assert len(drawn) > 50


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"model": "kdd"}, r"differ in size.*kdd:19.*click_models\('kdd'\)"),
        ({"model": "kdd:11"}, "unknown click model 'kdd:11'; did you mean 'kdd:1'"),
        ({"model": "yandx"}, "did you mean 'yandex'"),
        ({"model": 10}, "model must be a name such as kdd:10; got 10"),
        ({"model": "kdd:10", "shuffle": "some"}, "unknown shuffle 'some'"),
    ],
)
def test_mistakes_name_what_there_is(parameters, message):
    with pytest.raises(mb.MatchbanditError, match=message):
        mb.family("click-model", **parameters)


def test_a_collection_as_families_by_name():
    models = mb.click_models("simulated", shuffle="none")
    assert models["simulated:big"] == mb.family("click-model", model="simulated:big", shuffle="none")
    with pytest.raises(mb.MatchbanditError, match="collection of click models"):
        mb.click_models("bing")
