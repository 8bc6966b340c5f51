import json

import numpy as np
import pytest

import matchbandit.lab.paper.figure as declarations
import matchbandit.lab.paper.reproduce as module
from matchbandit.cli import main
from matchbandit.errors import MatchbanditError
from matchbandit.figures import Chart, Series
from matchbandit.lab.paper.claims import Claim, Verdict
from matchbandit.lab.paper.figure import Figure
from matchbandit.lab.paper.figures import FIGURES
from matchbandit.lab.paper.reproduce import authors_seconds, reproduce

PROBLEM = {"family": "spiked", "n": 2, "u1": 0.9}
COMMON = {"problem": PROBLEM, "horizon": 50, "checkpoints": [10], "runs": 20, "sweep": {"gap": [0.6, 0.8]}}
STUDIES = {
    "a": {"name": "a", "policies": ["pair-elim", "rank1-elim"], **COMMON},
    "b": {"name": "b", "policies": ["uniform"], **COMMON, "runs": 4},
}


def charts_of(*names):
    def charts(runs):
        of = runs.where(policy="pair-elim").curve("gap")
        return tuple(Chart(name, f"Figure {name}", "gap", "regret", (Series("ours", of.x, of.mean),)) for name in names)

    return charts


def claim_about(name):
    return Claim(name, f"{name} loses", lambda runs: Verdict(f"{runs['regret'].sum():.6f}", "more than 0", "holds"))


@pytest.fixture
def drawn(monkeypatch):
    """Two figures instead of ours, and a list of the pictures that are drawn."""
    one = Figure("first", ("one", "two"), charts_of("one", "two"), (claim_about("one"), claim_about("two")), ("a",))
    both = Figure("second", ("three",), charts_of("three"), (claim_about("three"),), ("a", "b"), is_default=False)
    monkeypatch.setattr(module, "FIGURES", {"first": one, "second": both})
    monkeypatch.setattr(declarations, "study_settings", lambda: STUDIES)
    monkeypatch.setattr(module, "BESIDE", ("b",))
    times = {"authors_rates": {"pair-elim": {"8": 1.0}}, "seconds_per_run": {"a": 0.5, "b": 0.5}}
    monkeypatch.setattr(module, "read_toml", lambda _: times)
    pictures = []

    def save(chart, path):
        pictures.append(chart.name)
        path.write_bytes(b"png")

    monkeypatch.setattr(Chart, "save", save)
    return pictures


def test_reproduce_draws_judges_and_writes_a_page(drawn, tmp_path):
    calls = []
    made = reproduce(["first", "three"], out=tmp_path, workers=1, progress=lambda *call: calls.append(call))
    assert [path.stem for path in made.pictures] == drawn == ["one", "two", "three"]
    assert [(claim.chart, verdict.outcome) for claim, verdict in made.verdicts.items()] == [
        ("one", "holds"), ("two", "holds"), ("three", "holds"),
    ]  # fmt: skip
    page = made.page.read_text(encoding="utf-8")
    assert all(text in page for text in ("Figure one", "two loses", "more than 0", "3 claims (holds: 3)"))
    total = 20 * 4 + 4 * 2  # the study that both share is played once
    assert calls[0] == (f"{total} runs, 0 of them there: about 44 s, and up to a minute of compiling", 0, total)
    assert calls[-1] == ("drawing", total, total)
    counts = [done for _, done, _ in calls]
    assert counts == sorted(counts)
    assert made.seconds > 0


def test_reproduce_again_plays_and_draws_only_what_is_missing_or_has_changed(drawn, tmp_path):
    first = reproduce(runs=3, out=tmp_path, workers=1)
    parts = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    calls = []
    again = reproduce(runs=3, out=tmp_path, workers=1, progress=lambda *call: calls.append(call))
    assert drawn == ["one", "two"]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == parts
    assert calls[0][0] == "all 12 runs are there"
    assert again.describe() == first.describe()
    (tmp_path / "two.png").unlink()
    reproduce(runs=3, out=tmp_path, workers=1)
    assert drawn[2:] == ["two"]
    (tmp_path / ".pictures.json").write_text("[damaged")
    reproduce(runs=3, out=tmp_path, workers=1)
    assert drawn[3:] == ["one", "two"]
    more = reproduce(runs=5, out=tmp_path, workers=1)
    assert drawn[5:] == ["one", "two"]
    assert len([*tmp_path.rglob("*.parquet")]) > len(parts)
    assert more.describe()["claims"] != first.describe()["claims"]
    assert reproduce(runs=3, out=tmp_path, workers=1).describe()["claims"] == first.describe()["claims"]


def test_reproduce_judges_nothing_by_19_runs_but_some_studies_are_only_shown(drawn, tmp_path, monkeypatch):
    assert {v.outcome for v in reproduce("one", runs=19, out=tmp_path, workers=1).verdicts.values()} == {"not judged"}
    assert {v.outcome for v in reproduce("three", out=tmp_path, workers=1).verdicts.values()} == {"holds"}
    monkeypatch.setattr(module, "BESIDE", ())
    assert {v.outcome for v in reproduce("three", out=tmp_path, workers=1).verdicts.values()} == {"not judged"}


def test_every_seed_has_a_folder_of_its_own(drawn, tmp_path):
    first = reproduce("one", runs=2, out=tmp_path, workers=1)
    other = reproduce("one", runs=2, seed=7, out=tmp_path, workers=1)
    assert [other.page, *other.pictures] == [tmp_path / "seed-7" / name for name in ("index.html", "one.png")]
    assert other.describe()["claims"] != first.describe()["claims"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["a", "seed-7"]


def test_names_and_numbers_that_are_wrong_write_nothing(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(MatchbanditError, match="unknown figure 'fig1-tpo'; did you mean 'fig1-top'"):
        reproduce(["fig1-tpo"], out=out)
    with pytest.raises(MatchbanditError, match="runs must be a whole number, at least 1; got 0"):
        reproduce(runs=0, out=out)
    assert not out.exists()
    out.write_text("in the way")
    with pytest.raises(MatchbanditError, match=r"cannot write into the folder .*out"):
        reproduce("u1-ratio", runs=2, out=out, workers=1)


def test_authors_seconds_are_rounds_by_their_rate():
    studies = {name: FIGURES[name].studies(10) for name in ("over-time", "over-mu", "over-n")}
    assert np.isclose(authors_seconds(*studies["over-time"]), 10 * 200_000 * (1 / 30_300 + 1 / 65_200))
    assert np.isclose(authors_seconds(*studies["over-mu"]), 10 * 4 * 200_000 * (1 / 5300 + 1 / 650))
    rates = [5300, 5300, *(5300 - (n - 4) / 7 * (5300 - 1170) for n in range(4, 12))]
    assert np.isclose(authors_seconds(*studies["over-n"]), sum(10 * 200_000 / rate for rate in rates))


@pytest.fixture
def typed(drawn, tmp_path, monkeypatch, capsys):
    """Type the command with further options; return its exit code and what it prints."""

    def run(*options):
        words = ["matchbandit", "reproduce", "one", "--runs", "2", "--workers", "1", "--out", str(tmp_path), *options]
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    return run


def test_command_line_prints_claims_pictures_and_times(typed, tmp_path):
    code, out, err = typed("--json")
    data = json.loads(out)
    assert (code, *data) == (0, "claims", "pictures", "page", "seconds", "authors_seconds")
    assert [*data["claims"][0]] == ["figure", "claim", "measured", "threshold", "verdict"]
    assert data["pictures"] == [str(tmp_path / "one.png")]
    assert "8 runs, 0 of them there" in err
    code, out, _ = typed()
    assert all(text in out for text in ("more than 0", "not judged", "one.png", "computed in", "index.html"))


def test_command_line_says_what_is_kept_when_it_is_interrupted(typed, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Chart, "save", interrupt)
    code, _, err = typed()
    assert (code, f"stopped; finished parts are in {tmp_path}." in err) == (130, True)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FIGURES])
def test_figures_go_from_studies_to_pictures_and_claims(name, tmp_path, monkeypatch):
    figure = FIGURES[name]
    smaller = {
        study: {**settings, **({"max_rounds": 300} if "delta" in settings else {})}
        for study, settings in declarations.study_settings().items()
    }
    monkeypatch.setattr(declarations, "study_settings", lambda: smaller)
    runs = 3 if name == "over-n" else 1  # there a single run says nothing
    made = reproduce([name], runs=runs, out=tmp_path, workers=1)
    assert [path.name for path in made.pictures] == [f"{chart}.png" for chart in figure.chart_names]
    assert all(path.stat().st_size > 10_000 for path in made.pictures)
    assert {claim.chart for claim in made.verdicts} <= set(figure.chart_names)
    assert {verdict.outcome for verdict in made.verdicts.values()} == {"not judged"}
    assert all(np.isfinite(line.y).all() and len(line.x) for chart in made.charts for line in chart.series)
    assert all("seed 0" in chart.caption for chart in made.charts)
