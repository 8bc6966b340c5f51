"""A figure as a declaration: what is played, drawn and claimed; and the series that figures have in common."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from matchbandit.figures import AxisRule, Chart, Series
from matchbandit.figures.chart import Dash, Numbers
from matchbandit.formatting import plural
from matchbandit.lab.paper.claims import Claim, Verdict, published
from matchbandit.lab.studies.study import Study
from matchbandit.lab.tables import Curve, RunTable

NAMES = {
    "pair-elim": "Pair-Elim",
    "rank1-elim": "Rank1Elim",
    "simple-adaptive-matching": "Simple Adaptive Matching",
    "escb": "ESCB-2",
}
"""How the paper writes the names of its policies."""
MULTIPLES = {"over-gap-instances": 2}
"""How many times as many runs as asked for a study has."""
BESIDE = ("practical-blind", "identification-blind")
"""Studies that no verdict rests on: they may have fewer runs than a verdict needs."""


@cache
def read_toml(name: str) -> dict[str, Any]:
    """Read a file of this package: studies, charts or times."""
    return tomllib.loads(files("matchbandit.lab.paper").joinpath(name).read_text(encoding="utf-8"))


def study_settings() -> Mapping[str, Mapping[str, Any]]:
    """Return the settings of each study by its name."""
    return {name: {"name": name, **table} for name, table in read_toml("studies.toml").items()}


@dataclass(frozen=True, eq=False)
class Figure:
    """Studies, the charts of their runs, and the claims that these show. A new one is an entry of `FIGURES`."""

    name: str
    chart_names: tuple[str, ...]
    charts: Callable[[RunTable], tuple[Chart, ...]]
    """Draws the runs of all studies."""
    claims: tuple[Claim, ...]
    study_names: tuple[str, ...] = ()
    """Tables of `studies.toml`; by default the one of its name."""
    is_default: bool = True
    """Whether it is drawn when no figure is named: not if it takes several minutes."""
    is_of_paper: bool = False
    """Whether its charts are the paper's: then its time is compared with that of the authors' code."""
    prepare: Callable[[RunTable], RunTable] = lambda runs: runs
    """Adds columns that charts and claims need to the runs as they are stored."""

    def studies(self, runs: int | None = None, seed: int = 0) -> tuple[Study, ...]:
        """Build the studies with this number of runs per point, or each with its default."""
        studies = []
        for name in self.study_names or (self.name,):
            changes = {"runs": runs * MULTIPLES.get(name, 1)} if runs else {}
            studies.append(Study(**{**study_settings()[name], **changes, "seed": seed}))
        return tuple(studies)

    def judge(self, runs: RunTable) -> dict[Claim, Verdict]:
        """Check the claims that these runs are about, however few there are."""
        chosen = {claim: runs.where(claim.rows) for claim in self.claims}
        return {claim: claim.check(rows) for claim, rows in chosen.items() if len(rows)}


def numbers(values: Any) -> Numbers:
    """Return an array of floats."""
    return np.asarray(values, dtype=np.float64)


def line_of(curve: Curve, label: str, key: str, *, dash: Dash | None = None) -> Series:
    """Return mean and range of runs as a line with its band."""
    return Series(label, numbers(curve.x), curve.mean, curve.p5, curve.p95, key=key, dash=dash)


def reference_of(curve: Curve, label: str, key: str) -> Series:
    """Return the mean of runs as a thin dotted line, beside others."""
    return Series(label, numbers(curve.x), curve.mean, key=key, kind="reference", dash="dotted")


def lines_over(runs: RunTable, x: str, policies: Iterable[str]) -> list[Series]:
    """Return a line for each policy, under the paper's names."""
    return [line_of(runs.where(policy=policy).curve(x), NAMES[policy], policy) for policy in policies]


def points_at(x: Any, y: Any, key: str) -> Series:
    """Return published numbers as points without ranges."""
    return Series("published", numbers(x), numbers(y), key=key, kind="points", is_hollow=True)


def published_points(study: str, policy: str, *, record: int = 1) -> Series:
    """Return published means with their 5–95 % range; those of a second record under a name of their own."""
    known = published(study).where(label=policy, record=float(record))
    x, mean, low, high = (known[name] for name in ("x", "mean", "p5", "p95"))
    label = "published" if record == 1 else "published, second record"
    return Series(label, x, mean, low, high, key=policy, kind="points", is_hollow=True)


def published_in_time(study: str, policies: Iterable[str]) -> list[Series]:
    """Return published means over time, each with a stroke for the 5–95 % range of the last, which alone has one."""
    series = []
    for policy in policies:
        known = published(study).where(label=policy)
        ends = numbers([known["p5"][-1], known["p95"][-1]])
        series.append(Series("", np.repeat(known["x"][-1:], 2), ends, key=policy, kind="reference", dash="solid"))
        series.append(points_at(known["x"], known["mean"], policy))
    return series


def chart(name: str, runs: RunTable, series: Iterable[Series], categories: tuple[str, ...] = (), **words: str) -> Chart:
    """Build a chart, whose titles, axes and caption are in `charts.toml`."""
    settings = read_toml("charts.toml")[name]
    count, seeds = plural(len(runs.distinct("run")), "run"), ", ".join(map(str, runs.distinct("seed")))
    changes = {
        "caption": settings["caption"].format(count=count, seed=seeds, **words),
        "rules": tuple(AxisRule(**rule) for rule in settings.get("rules", ())),
        "x_ticks": tuple(map(float, settings["x_ticks"])) if "x_ticks" in settings else None,
    }
    return Chart(name, series=tuple(series), categories=categories, **{**settings, **changes})
