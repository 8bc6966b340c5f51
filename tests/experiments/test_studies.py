import numpy as np
import pytest

import matchbandit as mb
from matchbandit.experiments import studies
from matchbandit.experiments.claims import published_claim
from matchbandit.experiments.reproduce import published
from matchbandit.experiments.studies import STUDIES, Study, run_study
from matchbandit.results import load_runs


def ignore(_more):
    pass


@pytest.fixture
def small():
    return Study(
        "small", (0.6, 0.8), lambda gap: mb.family("spiked", n=2, u1=0.9, gap=gap), ("uts", "uniform"), 50, (10,)
    )


def test_a_study_yields_a_row_for_each_policy_place_run_and_checkpoint(small, tmp_path):
    rows = run_study(small, runs=3, seed=1, workers=1, folder=tmp_path, progress=ignore)
    assert len(rows) == 2 * 2 * 3 * 2
    assert {(r.policy, r.x) for r in rows} == set(small.parts)
    direct = mb.simulate(small.instance(0.8), "uts", horizon=50, runs=3, seed=1, checkpoints=[10])
    assert [r.regret for r in rows if (r.policy, r.x, r.round) == ("uts", 0.8, 50)] == direct.final.tolist()


def test_finished_parts_are_kept_and_not_played_again(small, tmp_path, monkeypatch):
    played = []
    original = studies.simulate

    def counting(problem, policy, **kwargs):
        played.append(policy)
        if len(played) == 3:
            raise KeyboardInterrupt
        return original(problem, policy, **kwargs)

    monkeypatch.setattr(studies, "simulate", counting)
    with pytest.raises(KeyboardInterrupt):
        run_study(small, runs=2, seed=1, workers=1, folder=tmp_path, progress=ignore)
    assert len(list(tmp_path.rglob("*.parquet"))) == 2
    added = []
    rows = run_study(small, runs=2, seed=1, workers=1, folder=tmp_path, progress=added.append)
    assert len(played) == 3 + 2
    assert sum(added) == 4 * 2
    whole = run_study(small, runs=2, seed=1, workers=1, folder=tmp_path / "anew", progress=ignore)
    assert rows == whole


@pytest.mark.parametrize("change", [{"runs": 3}, {"seed": 2}, {"code": "other"}])
def test_parts_of_other_settings_or_other_code_are_played_again(small, tmp_path, monkeypatch, change):
    settings = {"runs": 2, "seed": 1}
    run_study(small, **settings, workers=1, folder=tmp_path, progress=ignore)
    if "code" in change:
        monkeypatch.setattr(studies, "code_fingerprint", lambda: change["code"])
    else:
        settings |= change
    added = []
    run_study(small, **settings, workers=1, folder=tmp_path, progress=added.append)
    assert max(added) == 1  # a part that is read back is reported at once
    kept = load_runs(tmp_path / "small" / "uts at 0.6.parquet")
    assert kept.about["runs"] == settings["runs"]


def test_a_damaged_part_is_played_again(small, tmp_path):
    run_study(small, runs=2, seed=1, workers=1, folder=tmp_path, progress=ignore)
    path = tmp_path / "small" / "uts at 0.6.parquet"
    path.write_bytes(path.read_bytes()[:100])
    rows = run_study(small, runs=2, seed=1, workers=1, folder=tmp_path, progress=ignore)
    assert len(rows) == 2 * 2 * 2 * 2
    assert load_runs(path).about["runs"] == 2


def test_the_studies_stand_where_the_published_numbers_do():
    known = published()
    for name in ("over-gap", "over-u1", "over-n", "over-mu"):
        assert STUDIES[name].places == tuple(known[name]["x"])
        assert STUDIES[name].horizon == known[name]["horizon"]
    assert set(known["over-time"]["x"]) <= set(STUDIES["over-time"].checkpoints)
    assert set(known["over-mu-in-time"]["x"]) <= set(STUDIES["over-mu"].checkpoints)
    assert known["over-mu-in-time"]["mu"] in STUDIES["over-mu"].places
    assert {name: STUDIES[name].policies for name in ("over-n", "over-mu")} == {
        "over-n": ("simple-adaptive-matching",),
        "over-mu": ("simple-adaptive-matching", "escb"),
    }
    assert STUDIES["over-gap-as-printed"].horizon == known["over-gap"]["horizon_in_print"]


def test_the_players_of_figures_2_and_3_are_the_published_ones():
    staircase = STUDIES["over-n"].instance(4).draw().u
    assert np.allclose(staircase, [0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.0, 0.0])
    centred = STUDIES["over-mu"].instance(0.5).draw().u
    assert np.allclose(centred, [0.65, 0.65, 0.55, 0.55, 0.45, 0.45, 0.35, 0.35])
    assert np.allclose(STUDIES["over-mu"].instance(0.8).draw().u - centred, 0.3)


def test_at_least_14_of_the_16_published_means_of_figure_1_lie_in_our_range(tmp_path):
    rows = run_study(STUDIES["over-gap"], runs=40, seed=0, workers=1, folder=tmp_path, progress=ignore)
    inside = int(published_claim(rows, "over-gap", published()["over-gap"], "").measured.split()[0])
    assert inside >= 14


def test_figure_1_top_has_the_published_shape(tmp_path):
    rows = run_study(STUDIES["over-time"], runs=40, seed=0, workers=1, folder=tmp_path, progress=ignore)
    known = published()["over-time"]
    for policy in ("pair-elim", "rank1-elim"):
        final = np.array([r.regret for r in rows if r.policy == policy and r.round == 200_000])
        low, high = np.percentile(final, [5, 95])
        assert low < known[policy]["mean"][-1] < high
