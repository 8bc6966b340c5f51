import json

import pytest

import matchbandit as mb
from matchbandit.cli import main
from matchbandit.errors import MatchbanditError
from matchbandit.experiments.reproduce import BEYOND, FIGURES, kept_of


def test_all_figures_are_drawn_with_their_claims_and_a_page(tmp_path):
    seen = []
    made = mb.reproduce(runs=2, out=tmp_path, workers=1, progress=lambda *told: seen.append(told))
    assert [p.name for p in made.pictures] == [f"{name}.png" for name in FIGURES]
    assert all(p.stat().st_size > 10_000 and p.with_suffix(".pdf").exists() for p in made.pictures)
    assert {c.verdict for c in made.claims} == {"not judged: fewer than 20 runs"}
    assert len(made.claims) == 13
    page = made.page.read_text(encoding="utf-8")
    assert all(p.name in page for p in made.pictures)
    assert all(c.measured in page for c in made.claims)
    total = 2 * (2 * (1 + 8 + 8 + 6) + 1 * 10 + 2 * 4)
    assert seen[-1] == ("drawing", total, total)
    assert [done for _, done, _ in seen[:-1]] == list(range(1, total + 1))


def test_only_the_wanted_figures_are_drawn(tmp_path):
    made = mb.reproduce(["u1-ratio"], runs=2, out=tmp_path, workers=1)
    assert [p.name for p in made.pictures] == ["u1-ratio.png"]
    assert {c.where for c in made.claims} == {"u1-ratio", "u1-regret"}


def test_an_unknown_figure_and_a_bad_number_of_runs_write_nothing(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(MatchbanditError, match="unknown figure 'fig1-tpo'; did you mean 'fig1-top'"):
        mb.reproduce(["fig1-tpo"], out=out)
    with pytest.raises(MatchbanditError, match="runs must be a whole number, at least 1; got 0"):
        mb.reproduce(runs=0, out=out)
    assert not out.exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(MatchbanditError, match=r"cannot write into the folder .*file"):
        mb.reproduce(["u1-ratio"], runs=2, out=tmp_path / "file")


def test_the_published_numbers_name_their_source():
    from matchbandit.experiments.reproduce import published

    assert "ICML 2021" in published()["source"]
    assert json.dumps(published())


def test_what_an_interrupted_call_leaves_is_said_without_a_false_word(tmp_path, monkeypatch, capsys):
    assert kept_of([], "x") == "finished parts are kept in x, the same command goes on from there."
    assert kept_of(["fig2", "practical"], "x") == kept_of([], "x")
    assert kept_of(["growth"], "x") == "growth starts anew: its parts are not kept."
    both = kept_of(["fig2", "growth", "windows"], "x")
    assert both == f"{kept_of([], 'x')[:-1]}; but windows, growth start anew: their parts are not kept."
    for name in BEYOND:
        assert f"{name} starts anew" in kept_of([name], "x")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("matchbandit.experiments.beyond.simulate", interrupted)
    monkeypatch.setattr("sys.argv", ["matchbandit", "reproduce", "windows", "--runs", "2", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert "stopped; windows starts anew: its parts are not kept." in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.parquet"))
