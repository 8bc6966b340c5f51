"""The numbers behind the published figures, and how fast the authors' code is."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from matchbandit.studies.study import Study


@cache
def published() -> dict[str, Any]:
    """The numbers behind the published figures, with their source."""
    text = files("matchbandit.studies").joinpath("published.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def authors_seconds(study: Study) -> float | None:
    """How long the authors' code would take for these runs on one core; None where it has not the policies.

    From its rates in rounds a second, measured on a 2-core machine of the kind on which our times are; those of Simple
    Adaptive Matching lie between that of 4 pairs and that of 11.
    """
    rates = published()["rounds_a_second"]
    seconds = 0.0
    for point in study.points:
        by_size = rates.get(point.spec.name)
        if by_size is None or point.horizon is None:
            return None
        sizes = sorted(by_size, key=int)
        rate = np.interp(point.problem.graph.matching_size, [int(n) for n in sizes], [by_size[n] for n in sizes])
        seconds += study.runs * point.horizon / float(rate)
    return seconds
