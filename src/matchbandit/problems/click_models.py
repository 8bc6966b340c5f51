"""Position-based click models fitted to search logs: items in positions, published parameters."""

import json
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

import numpy as np

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.problems.base import Problem
from matchbandit.problems.rank1 import Bipartite
from matchbandit.rewards import Floats, RewardDistribution

Shuffle = Literal["all", "except-first", "none"]
"""Items and positions; items and all positions but the one that is seen most, which stays first; nothing."""


@cache
def published_models() -> dict[str, tuple[Floats, Floats]]:
    """Attractions of the items and visibilities of the positions, by the name of the model.

    Two items of Yandex have an attraction above 1 (1.07 and 2.51), which is not a probability: they have 1 here.
    """
    text = files("matchbandit.problems").joinpath("click_models.json").read_text(encoding="utf-8")
    models = json.loads(text)["models"]
    return {
        name: (np.minimum(model["items"], 1.0), np.array(model["positions"], dtype=np.float64))
        for name, model in models.items()
    }


def model_names(collection: str) -> list[str]:
    """The names of the models of a collection: kdd, yandex or simulated.

    >>> model_names("simulated")
    ['simulated:std', 'simulated:small', 'simulated:xsmall', 'simulated:big']
    """
    names = list(published_models())
    collections = list(dict.fromkeys(name.partition(":")[0] for name in names))
    if collection not in collections:
        raise unknown("collection of click models", collection, collections)
    return [name for name in names if name.partition(":")[0] == collection]


def click_model(model: str, shuffle: str = "all", *, rewards: RewardDistribution, rng: np.random.Generator) -> Problem:
    """A published click model, `kdd:10`, or one of a collection at random, `yandex`; rows are items, shuffled."""
    if shuffle not in get_args(Shuffle):
        raise unknown("shuffle", shuffle, get_args(Shuffle))
    models = published_models()
    if not isinstance(model, str):
        raise MatchbanditError(f"model must be a name such as kdd:10; got {model!r}.")
    names, name = model_names(model.partition(":")[0]), model
    if ":" in model and model not in models:
        raise unknown("click model", model, names)
    if ":" not in model:
        if len({len(models[each][0]) for each in names}) > 1:
            raise MatchbanditError(
                f"the models of {model} differ in size, and a family has one. Name one, such as {names[0]}, or play "
                f"each of click_models({model!r})."
            )
        name = names[rng.integers(len(names))]
    items, positions = models[name]
    if shuffle != "none":
        n_fixed = int(shuffle == "except-first")
        items = rng.permutation(items)
        positions = np.concatenate([positions[:n_fixed], rng.permutation(positions[n_fixed:])])
    return Bipartite(items, positions, rewards=rewards)
