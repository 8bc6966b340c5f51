"""Deprecated names work, and warn at the line of the user that uses them."""

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.deprecation import REMOVED, RENAMED
from matchbandit.live import Store
from matchbandit.live.league import League
from matchbandit.service.client import RemoteLeague
from matchbandit.studies.replay import Difference
from matchbandit.watching import WatchedRun
from matchbandit.watching.recording import Frame

SCRIPT = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "make" / "deprecations.py"))


def subclass_with(name):
    """Define a policy with an attribute under this name, and return the attribute that it has then."""
    new = RENAMED[f"Policy.{name}"].partition(".")[2]
    value = mb.CATALOGUE["uniform"].capabilities if name == "fits" else ("x",)
    return lambda: vars(type("Old", (mb.CATALOGUE["uniform"],), {"name": "old", name: value}))[new] is value


def decided(method, *args):
    policy = mb.counts_policy("cucb", mb.monopartite(4))
    getattr(policy, method)(*args)
    return policy.arrays.plays.sum() == 2


def standing_error():
    slots = mb.Bipartite([0.9, 0.3], [0.8, 0.4])
    second = mb.compare(slots, ["uniform", "pair-elim"], horizon=1000, runs=2).rankings[0][1]
    return second.error == 2 * second.to_best.se


USES = {
    "matchbandit.Fits": lambda: mb.Fits is mb.Capabilities,
    "matchbandit.Found": lambda: mb.Found is mb.Identification,
    "matchbandit.draw_bounds": lambda: mb.draw_bounds is mb.plot_bounds,
    "matchbandit.for_decisions": lambda: mb.for_decisions is mb.counts_policy,
    "matchbandit.load_found": lambda: mb.load_found is mb.load,
    "matchbandit.load_identification": lambda: mb.load_identification is mb.load,
    "matchbandit.propose": lambda: callable(mb.propose),
    **{
        f"Policy.{name}": subclass_with(name)
        for name in ("fits", "remembered", "derived", "reasons", "take", "credited")
    },
    "CountsPolicy.book": lambda: decided("book", [(0, 1)] * 2, [1, 0], np.random.default_rng(1)),
    "CountsPolicy.put": lambda: decided("put", [1], [2], [1]),
    "League.bring_back": lambda: League.bring_back is League.rejoin,
    "RemoteLeague.bring_back": lambda: RemoteLeague.bring_back is RemoteLeague.rejoin,
    "Study.own_modules": lambda: mb.Study.own_modules is mb.Study.user_modules,
    "Difference.told_apart": lambda: Difference(1, 0.5, 1.5, 0, 2).told_apart,
    "WatchedRun.film": lambda: WatchedRun("recorded").film == "recorded",
    "Frame.beaten": lambda: Frame.beaten is Frame.eliminations,
    "Store(patience=)": lambda: Store("sqlite:///club.db", patience=3).close() is None,
    "Standing.error": standing_error,
}


@pytest.mark.parametrize("name", [*RENAMED, *REMOVED])
def test_a_deprecated_name_works_and_names_its_replacement(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert USES[name]()
    (warning,) = [each for each in warned if each.category is DeprecationWarning]
    replacement = (RENAMED | REMOVED)[name]
    assert replacement.rpartition(".")[2] in str(warning.message)
    assert "will be removed in matchbandit 2.0" in str(warning.message)
    assert warning.filename == __file__


def test_the_documentation_lists_every_deprecated_name():
    rows = [line.split(" | ")[0] for line in SCRIPT["table"]().splitlines()[2:]]
    assert rows == [f"| `{name}`" for name in (*RENAMED, *REMOVED)]
    for page in SCRIPT["pages"]():
        text = page.read_text(encoding="utf-8")
        assert SCRIPT["with_table"](text) == text, f"python docs/make/deprecations.py updates {page.name}"
