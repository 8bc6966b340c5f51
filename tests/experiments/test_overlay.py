import re

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.experiments.overlay import lines_of
from matchbandit.figures import bounds as pictures

SLOTS = mb.Bipartite([0.9, 0.3, 0.2], [0.9, 0.5, 0.1])
PLAYERS = mb.Monopartite([0.9, 0.8, 0.5, 0.4])


def test_a_line_is_the_bound_at_every_horizon():
    horizons = np.array([10.0, 1e3, 1e6])
    lines = {line.label: line for line in lines_of(SLOTS, {("pair", "pair")}, ["pair-elim"], horizons=horizons)}
    own = lines["pair-elim, Theorem 3.1"]
    at = [next(b for b in mb.bounds(SLOTS, horizon=int(t)) if b.name == "pair-elim-regret") for t in horizons]
    assert (own.kind, own.exact, own.x) == ("upper", True, horizons.tolist())
    assert own.y == [bound.value for bound in at]
    model = next(line for label, line in lines.items() if "product model" in label)
    assert (model.kind, model.exact) == ("lower", False)
    assert np.allclose(np.array(model.y) / np.log(horizons), model.y[0] / np.log(10))
    assert "asymptotic" in model.label


def test_only_bounds_on_what_was_played_and_by_whom_are_drawn():
    risks = np.array([0.1, 0.01])
    goal = {("matching", "matching")}
    labels = [line.label for line in lines_of(PLAYERS, goal, ["matching-id"], risks=risks)]
    assert any(label.startswith("matching-id") for label in labels)
    assert not any("pair" in label for label in labels)
    labels = [line.label for line in lines_of(PLAYERS, goal, ["clucb"], risks=risks)]
    assert not any(label.startswith("matching-id") for label in labels)
    # Partners are not equal here, so that the theorem on Simple Adaptive Matching does not speak.
    labels = [line.label for line in lines_of(PLAYERS, goal, horizons=np.array([100.0, 1000.0]))]
    assert any("Theorem 4.4" in label for label in labels)
    assert not any("Theorem 4.3" in label for label in labels)


def test_of_the_papers_lower_bounds_the_highest_is_drawn():
    risks = np.array([0.1, 0.01])
    lower = [line for line in lines_of(PLAYERS, {("pair", "pair")}, risks=risks) if line.kind == "lower"]
    known = [b for b in mb.bounds(PLAYERS, delta=0.01) if b.kind == "lower" and (b.plays, b.seeks) == ("pair", "pair")]
    paper = max(b.value for b in known if not b.name.startswith("model"))
    assert len(lower) == 2
    assert {line.y[-1] for line in lower} == {paper, next(b.value for b in known if b.name.startswith("model"))}


def test_results_are_laid_over(tmp_path, monkeypatch):
    drawn = {}

    def keep(axes, lines, overlays):
        drawn.update(lines=lines, overlays=overlays)
        real(axes, lines, overlays)

    real = pictures.over_horizon
    monkeypatch.setattr(pictures, "over_horizon", keep)
    runs = [mb.simulate(SLOTS, name, horizon=5000, runs=4, seed=2) for name in ("pair-elim", "uts")]
    path = mb.draw_bounds(SLOTS, runs, path=tmp_path / "regret.png")
    assert path == tmp_path / "regret.png"
    assert path.stat().st_size > 10_000
    assert path.with_suffix(".pdf").exists()
    assert [overlay.label for overlay in drawn["overlays"]] == ["pair-elim", "uts"]
    for overlay, result in zip(drawn["overlays"], runs, strict=True):
        lost = np.array(result.summary()["mean"]) > 0
        assert overlay.curve.mean.tolist() == np.array(result.summary()["mean"])[lost].tolist()
        assert overlay.curve.x[-1] == 5000
    assert max(line.x[-1] for line in drawn["lines"]) == 5000


def test_answers_of_a_policy_at_several_risks_make_one_curve(tmp_path, monkeypatch):
    drawn = {}
    real = pictures.over_risk

    def keep(axes, lines, overlays):
        drawn.update(overlays=overlays, lines=lines)
        real(axes, lines, overlays)

    monkeypatch.setattr(pictures, "over_risk", keep)
    found = [
        mb.identify(PLAYERS, mb.policy(name, delta=delta), runs=3, seed=1)
        for name, delta in (("matching-id", 0.001), ("matching-id", 0.1), ("rank1-identify", 0.1))
    ]
    path = mb.draw_bounds(PLAYERS, found, path=tmp_path / "rounds.png")
    assert path.exists()
    first, second = drawn["overlays"]
    assert (first.label, second.label) == ("matching-id", "rank1-identify (no proof)")
    assert np.allclose(first.curve.x, [10, 1000])
    assert first.curve.mean.tolist() == [found[1].rounds.mean(), found[0].rounds.mean()]
    assert np.isclose(max(drawn["lines"][0].x), 1000)


def test_bounds_are_drawn_without_results_too(tmp_path):
    assert mb.draw_bounds(SLOTS, path=tmp_path / "a.png", horizon=1000).exists()
    assert mb.draw_bounds(PLAYERS, path=tmp_path / "b.png", delta=0.05).exists()
    assert mb.draw_bounds(mb.Monopartite([0.9, 0.5, 0.2]), path=tmp_path / "c.png", delta=0.05).exists()


def test_what_cannot_be_drawn_is_refused(tmp_path):
    runs = mb.simulate(SLOTS, "uts", horizon=100)
    found = mb.identify(SLOTS, mb.policy("pair-elim", delta=0.2), seed=1)
    unfinished = mb.identify(SLOTS, mb.policy("pair-elim", delta=0.2), max_rounds=10)
    fresh = mb.simulate(mb.family("spiked", n=2, u1=0.9, gap=0.75), "uts", horizon=100)
    for problem, results, given, words in (
        (PLAYERS, [runs], {}, "the results of uts are those of another problem"),
        (SLOTS, [fresh], {}, "another problem"),
        (SLOTS, [runs, found], {}, "do not share a picture"),
        (SLOTS, [runs], {"delta": 0.05}, "do not share a picture"),
        (SLOTS, [found], {"horizon": 100}, "do not share a picture"),
        (SLOTS, [], {}, "give results to lay over, or a horizon or a delta"),
        (SLOTS, [], {"horizon": 100, "delta": 0.1}, "do not share a picture"),
        (SLOTS, [], {"horizon": 1.5}, "horizon must be a whole number"),
        (SLOTS, [], {"delta": 2}, "delta must lie between 0 and 1"),
        (SLOTS, [1], {}, "results are what simulate or identify gave; got 1"),
        (SLOTS, [unfinished], {}, "some runs of pair-elim ended without an answer"),
        (mb.Monopartite([0.5, 0.3]), [], {"delta": 0.1}, "there is nothing to draw"),
        (SLOTS, [runs], {"path": tmp_path / "x.svg"}, "written as .png and .pdf"),
        (SLOTS, [runs], {"path": tmp_path / "no" / "x.png"}, "there is no folder"),
    ):
        with pytest.raises(mb.MatchbanditError, match=re.escape(words)):
            mb.draw_bounds(problem, results, **{"path": tmp_path / "x.png", **given})


def kept(monkeypatch, name):
    """What a picture is made of."""
    drawn = {}

    def made(stem, drawing, folder, *, beside):
        drawing(None)
        return folder / f"{stem}.png"

    monkeypatch.setattr(pictures, name, lambda axes, lines, overlays: drawn.update(lines=lines, overlays=overlays))
    monkeypatch.setattr("matchbandit.experiments.overlay.draw", made)
    return drawn


def test_the_same_policy_with_other_options_is_another_curve(tmp_path, monkeypatch):
    drawn = kept(monkeypatch, "over_horizon")
    runs = [mb.simulate(SLOTS, mb.policy("pair-elim", growth=g), horizon=500) for g in (4, 1.5)]
    mb.draw_bounds(SLOTS, runs, path=tmp_path / "x.png")
    assert [overlay.label for overlay in drawn["overlays"]] == ["pair-elim", "pair-elim (growth=1.5)"]
    assert any("Theorem 3.1" in line.label for line in drawn["lines"])


def test_a_theorem_is_not_drawn_for_options_that_it_does_not_speak_of(tmp_path, monkeypatch):
    drawn = kept(monkeypatch, "over_horizon")
    mb.draw_bounds(SLOTS, [mb.simulate(SLOTS, mb.policy("pair-elim", growth=16), horizon=500)], path=tmp_path / "x.png")
    assert not any("Theorem 3.1" in line.label for line in drawn["lines"])
    drawn = kept(monkeypatch, "over_risk")
    found = mb.identify(SLOTS, mb.policy("pair-elim", delta=0.1, growth=2), seed=1)
    mb.draw_bounds(SLOTS, [found], path=tmp_path / "x.png")
    assert not any("Theorem 3.2" in line.label for line in drawn["lines"])


def test_rounds_of_pairs_and_of_matchings_are_told_apart(tmp_path, monkeypatch):
    drawn = kept(monkeypatch, "over_risk")
    found = [
        mb.identify(PLAYERS, mb.policy("clucb", delta=0.1, selection=selection), seed=1)
        for selection in ("pair", "matching")
    ]
    mb.draw_bounds(PLAYERS, found, path=tmp_path / "x.png")
    assert [overlay.label for overlay in drawn["overlays"]] == ["clucb, playing pairs", "clucb, playing matchings"]
    labels = [line.label for line in drawn["lines"]]
    assert len(set(labels)) == len(labels)
    assert "T* of the product model, playing pairs" in labels
