import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.cli import main
from matchbandit.errors import MatchbanditError
from matchbandit.figures import Chart, Line
from matchbandit.studies import Study, reproduce, runner
from matchbandit.studies.claims import HOLDS, Claim
from matchbandit.studies.folder import StudyFolder
from matchbandit.studies.registry import Entry, entries, figures
from matchbandit.studies.reproduce import digest_of, reproduced_studies, reproduction_page
from matchbandit.studies.versions import versions

MODULE = sys.modules["matchbandit.studies.reproduce"]  # the package has a function of that name


def small_study(name, runs=None, policies=("uts", "uniform")):
    return Study(
        name=name,
        problem={"family": "spiked", "n": 2, "u1": 0.9, "gap": [0.6, 0.8]},
        policies=[*policies],
        horizon=50,
        checkpoints=[10],
        runs=runs or 20,
    )


def claims_of(rows):
    mean = rows.at_end()["regret"].mean()
    return [Claim(figure, "it loses", f"{mean:.6f}", "more than 0", HOLDS) for figure in ("one", "two")]


def charts_of(rows):
    of = rows.where(policy="uts").curve("gap")
    return tuple(
        Chart(figure, f"Figure {figure}", "gap", "regret", (Line("uts", of.x, of.mean, key="uts"),))
        for figure in ("one", "two")
    )


@pytest.fixture
def small(monkeypatch):
    """A registry of two entries instead of ours, and a list of the pictures that are drawn."""
    first = Entry("first", ("one", "two"), lambda runs: (small_study("a", runs),), claims_of, charts_of)
    second = Entry(
        "second",
        ("three",),
        lambda runs: (small_study("a", runs), small_study("b", runs, ["kl-ucb"])),
        lambda rows: [Claim("three", "rows of both", str(len(rows)), "some", HOLDS)],
        lambda rows: (replace(charts_of(rows)[0], name="three"),),
        is_of_paper=True,
    )
    ours = {entry.name: entry for entry in (first, second)}
    monkeypatch.setattr(MODULE, "entries", lambda: ours)
    monkeypatch.setattr(MODULE, "all_figures", lambda: {"one": first, "two": first, "three": second})
    drawn = []

    def draw(chart, path):
        drawn.append(chart.name)
        path.write_bytes(b"png")
        return path

    monkeypatch.setattr(MODULE, "draw_to", draw)
    return drawn


@pytest.fixture
def played(monkeypatch):
    """How many runs each call of the runner has played."""
    counts = []
    original = runner.play_in_processes

    def counting(parts, *args, **kwargs):
        counts.append(sum(part.runs for part in parts))
        return original(parts, *args, **kwargs)

    monkeypatch.setattr(runner, "play_in_processes", counting)
    return counts


def test_all_figures_are_drawn_with_their_claims_and_a_page(small, tmp_path):
    seen = []
    made = mb.reproduce(out=tmp_path, workers=1, progress=lambda *told: seen.append(told))
    assert [p.name for p in made.pictures] == ["one.png", "two.png", "three.png"]
    assert [(c.where, c.verdict) for c in made.claims] == [("one", HOLDS), ("two", HOLDS), ("three", HOLDS)]
    assert made.claims[-1].measured == str(20 * 2 * 2 * (2 + 1))  # runs, places, checkpoints, policies of both studies
    assert [chart.name for chart in made.charts] == ["one", "two", "three"]
    page = made.page.read_text(encoding="utf-8")
    assert made.page == tmp_path / "index.html"
    assert all(f"Figure {name}" in page for name in ("one", "two"))
    assert all(claim.threshold in page for claim in made.claims)
    total = 20 * 2 * (2 + 1)  # the study that both share is played once
    assert seen[-1] == ("drawing", total, total)
    counts = [done for _, done, _ in seen]
    assert counts == sorted(counts)
    assert {name for name, _, _ in seen} == {"a", "b", "drawing"}
    folders = [StudyFolder.open(tmp_path / name) for name in "ab"]
    assert made.seconds == pytest.approx(sum(folder.seconds for folder in folders))


def test_all_is_compiled_before_the_first_run_counts_and_nothing_if_all_is_there(small, tmp_path, monkeypatch):
    """The time left included compiling."""
    seen = []
    monkeypatch.setattr(MODULE, "compile_points", lambda points, tick: seen.append(f"compile {len(points)}"))
    for _ in range(2):
        mb.reproduce("one", runs=2, out=tmp_path, workers=1, progress=lambda *_: seen.append("progress"))
    calls = [call for call in seen if call != "progress"]
    assert seen[0] == calls[0] != "compile 0"
    assert calls[1:] == ["compile 0"]


def test_only_the_wanted_figures_are_drawn_with_the_claims_that_they_show(small, tmp_path):
    made = mb.reproduce(["two"], runs=2, out=tmp_path, workers=1)
    assert [p.name for p in made.pictures] == ["two.png"]
    assert [c.where for c in made.claims] == ["two"]
    assert not (tmp_path / "b").exists()


def test_a_long_study_is_drawn_only_if_it_is_named(small, tmp_path, monkeypatch):
    known = {name: replace(entry, is_default=name != "three") for name, entry in MODULE.all_figures().items()}
    monkeypatch.setattr(MODULE, "all_figures", lambda: known)
    assert [chart.name for chart in mb.reproduce(runs=2, out=tmp_path, workers=1).charts] == ["one", "two"]
    assert [chart.name for chart in mb.reproduce("three", runs=2, out=tmp_path, workers=1).charts] == ["three"]


def test_a_study_stands_for_all_its_figures(small, tmp_path):
    made = mb.reproduce("first", runs=2, out=tmp_path, workers=1)
    assert [p.name for p in made.pictures] == ["one.png", "two.png"]


@pytest.mark.slow
def test_fewer_than_20_runs_are_not_judged_unless_they_are_only_shown_beside(small, tmp_path, monkeypatch):
    made = mb.reproduce("one", runs=19, out=tmp_path, workers=1)
    assert {c.verdict for c in made.claims} == {"not judged: fewer than 20 runs"}
    assert mb.reproduce("one", runs=20, out=tmp_path, workers=1).claims[0].verdict == HOLDS
    few = Entry(
        "first",
        ("one",),
        lambda runs: (small_study("a", runs), small_study("b", 2, ["kl-ucb"])),
        claims_of,
        charts_of,
        beside=("b",),
    )
    monkeypatch.setattr(MODULE, "all_figures", lambda: {"one": few})
    assert mb.reproduce("one", out=tmp_path, workers=1).claims[0].verdict == HOLDS
    monkeypatch.setattr(MODULE, "all_figures", lambda: {"one": replace(few, beside=())})
    assert mb.reproduce("one", out=tmp_path, workers=1).claims[0].verdict.startswith("not judged")


@pytest.mark.slow
def test_a_second_call_plays_and_draws_nothing(small, played, tmp_path):
    first = mb.reproduce(runs=3, out=tmp_path, workers=1)
    assert (played, small) == ([3 * 4, 3 * 2], ["one", "two", "three"])
    again = mb.reproduce(runs=3, out=tmp_path, workers=1)
    assert (sum(played), len(small)) == (3 * 6, 3)
    assert again.claims == first.claims
    (tmp_path / "two.png").unlink()
    mb.reproduce(runs=3, out=tmp_path, workers=1)
    assert small[3:] == ["two"]
    (tmp_path / ".pictures.json").write_text("[damaged")
    mb.reproduce(runs=3, out=tmp_path, workers=1)
    assert small[4:] == ["one", "two", "three"]


@pytest.mark.slow
def test_an_interrupted_call_is_continued_by_the_next(small, played, tmp_path, monkeypatch):
    whole = mb.reproduce("one", runs=4, out=tmp_path / "whole", workers=1)
    keep, kept = runner.write_part, []

    def stop_at_the_third(folder, part):
        if len(kept) == 2:
            raise KeyboardInterrupt
        kept.append(part.runs)
        keep(folder, part)

    monkeypatch.setattr(runner, "write_part", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        mb.reproduce("one", runs=4, out=tmp_path / "out", workers=1)
    monkeypatch.setattr(runner, "write_part", keep)
    made = mb.reproduce("one", runs=4, out=tmp_path / "out", workers=1)
    assert played[-1] == 4 * 4 - sum(kept)
    assert [c.measured for c in made.claims] == [c.measured for c in whole.claims]


def test_more_runs_are_added_and_of_fewer_the_first_are_shown(small, played, tmp_path):
    three = mb.reproduce("one", runs=3, out=tmp_path, workers=1)
    five = mb.reproduce("one", runs=5, out=tmp_path, workers=1)
    assert played == [3 * 4, 2 * 4]
    assert five.claims[0].measured != three.claims[0].measured
    again = mb.reproduce("one", runs=3, out=tmp_path, workers=1)
    assert played == [3 * 4, 2 * 4]
    assert again.claims == three.claims
    assert mb.reproduce("one", runs=5, out=tmp_path, workers=1).claims == five.claims


@pytest.mark.parametrize(("runs", "part_runs"), [(20, 5), (8000, 2000), (100_000, 2000)])
def test_parts_are_small_however_many_runs_are_wanted(runs, part_runs):
    assert MODULE._part_runs(small_study("a", runs)) == part_runs


def test_every_seed_has_a_folder_of_its_own(small, played, tmp_path):
    first = mb.reproduce("one", runs=2, out=tmp_path, workers=1)
    other = mb.reproduce("one", runs=2, seed=7, out=tmp_path, workers=1)
    assert other.claims != first.claims
    assert mb.reproduce("one", runs=2, out=tmp_path, workers=1).claims == first.claims
    assert len(played) == 2
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == ["a", "seed-7"]
    assert [other.page, *other.pictures] == [tmp_path / "seed-7" / name for name in ("index.html", "one.png")]
    assert [first.page, *first.pictures] == [tmp_path / name for name in ("index.html", "one.png")]


def test_of_more_runs_than_are_shown_only_their_share_of_the_time_counts(small, tmp_path):
    all_of_them = mb.reproduce("one", runs=8, out=tmp_path, workers=1)
    shown = mb.reproduce("one", runs=2, out=tmp_path, workers=1)
    assert all_of_them.seconds == StudyFolder.open(tmp_path / "a").seconds
    parts = [part for part in StudyFolder.open(tmp_path / "a").parts if part.first < 2]
    assert shown.seconds == pytest.approx(sum(part.seconds * min(2, part.runs) / part.runs for part in parts))
    assert shown.seconds < all_of_them.seconds
    entry = MODULE.entries()["first"]
    (report, _) = MODULE.reports_of(
        entry, entry.figures, entry.studies(2), {"a": StudyFolder.open(tmp_path / "a").first_runs(2)}, own=["a"]
    )
    assert report.seconds == pytest.approx(shown.seconds)


@pytest.mark.slow
def test_of_an_interrupted_reproduction_fewer_runs_are_shown_and_only_what_is_missing_is_played(
    small, played, tmp_path, monkeypatch
):
    whole = mb.reproduce("one", runs=5, out=tmp_path / "whole", workers=1)
    keep, parts = runner.write_part, []

    def stop(folder, part):
        keep(folder, part)
        parts.append(part)
        if len(parts) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(runner, "write_part", stop)
    with pytest.raises(KeyboardInterrupt):
        mb.reproduce("one", runs=40, out=tmp_path / "out", workers=1)
    monkeypatch.setattr(runner, "write_part", keep)
    there = [(part.key, part.first, part.runs) for part in StudyFolder.open(tmp_path / "out" / "a").parts]
    assert {(first, runs) for _, first, runs in there} == {(0, 10)}  # a part goes beyond the fifth run
    fewer = mb.reproduce("one", runs=5, out=tmp_path / "out", workers=1)
    assert played[-1] == 5  # of the one point without a part
    assert fewer.claims == whole.claims
    assert [chart.numbers() for chart in fewer.charts] == [chart.numbers() for chart in whole.charts]
    assert StudyFolder.open(tmp_path / "out" / "a").study.runs == 40  # nothing is forgotten
    page = reproduction_page(reproduced_studies(tmp_path / "out"))
    assert [row[2] for row in page.sections[1].tables[0].rows] == [whole.claims[0].measured]
    mb.reproduce("one", runs=40, out=tmp_path / "out", workers=1)
    assert played[-1] == 4 * 40 - 3 * 10 - 5
    assert StudyFolder.open(tmp_path / "out" / "a").is_complete


def test_studies_of_several_versions_are_shown_on_one_page(small, tmp_path):
    mb.reproduce(out=tmp_path, workers=1, runs=2)
    file = tmp_path / "a" / "manifest.json"
    manifest = json.loads(file.read_bytes())
    manifest["versions"]["matchbandit"] = "1.9.0"
    file.write_text(json.dumps(manifest), encoding="utf-8")
    rows = dict(reproduction_page(reproduced_studies(tmp_path)).sections[-1].tables[-1].rows)
    assert rows["matchbandit"] == f"1.9.0 and {versions()['matchbandit']}"


def test_an_unknown_figure_and_a_bad_number_of_runs_write_nothing(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(MatchbanditError, match="unknown figure 'fig1-tpo'; did you mean 'fig1-top'"):
        mb.reproduce(["fig1-tpo"], out=out)
    with pytest.raises(MatchbanditError, match="unknown figure 'over-gpa'; did you mean 'over-gap'"):
        mb.reproduce("over-gpa", out=out)
    with pytest.raises(MatchbanditError, match="runs must be a whole number, at least 1; got 0"):
        mb.reproduce(runs=0, out=out)
    assert not out.exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(MatchbanditError, match=r"cannot write into the folder .*file"):
        mb.reproduce(["u1-ratio"], runs=2, out=tmp_path / "file")


def test_a_digest_stands_for_all_that_a_chart_shows():
    line = Line("a", np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    chart = Chart("one", "One", "x", "y", (line,))
    assert digest_of(chart) == digest_of(replace(chart, lines=(replace(line, y=np.array([3.0, 4.0])),)))
    others = [
        replace(chart, title="Two"),
        replace(chart, y_log=True),
        replace(chart, lines=(line, line)),
        replace(chart, lines=(replace(line, y=np.array([3.0, 4.0 + 1e-12])),)),
        replace(chart, lines=(replace(line, low=np.array([1.0, 1.0])),)),
    ]
    assert len({digest_of(each) for each in (chart, *others)}) == 1 + len(others)


def test_ctrl_c_says_what_is_kept(small, tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "write_part", interrupted)
    out = tmp_path / "out"
    monkeypatch.setattr("sys.argv", ["matchbandit", "reproduce", "one", "--runs", "2", "--out", str(out)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    words = f"stopped; finished parts are in {out}. The same command continues from there."
    assert words in capsys.readouterr().err


def test_the_command_line_tells_claims_with_thresholds_pictures_and_times(small, tmp_path, monkeypatch, capsys):
    command = ["matchbandit", "reproduce", "one", "--runs", "2", "--out", str(tmp_path), "--json"]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit):
        main()
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"claims", "pictures", "page", "seconds", "authors_seconds"}
    assert set(told["claims"][0]) == {"where", "claim", "measured", "threshold", "verdict"}
    assert told["pictures"] == [str(tmp_path / "one.png")]
    monkeypatch.setattr("sys.argv", command[:-1])
    with pytest.raises(SystemExit):
        main()
    out = capsys.readouterr().out
    assert "more than 0" in out
    assert "computed in" in out
    assert "pictures:" in out
    assert str(tmp_path / "index.html") in out


SPIKED = {"family": "spiked", "n": 8, "u1": 0.9, "gap": [0.5, 0.85]}
CENTRED = {"family": "centred", "n": 4, "mean": [0.5, 0.8], "gap": 0.1}
SMALLER = {
    "over-time": {"over-time": {"horizon": 40_000, "checkpoints": [20_000]}},
    "over-gap": {
        "over-gap": {"horizon": 2000, "problem": SPIKED},
        "over-gap-as-printed": {"horizon": 2000, "problem": SPIKED},
        "over-gap-instances": {
            "horizon": [1000, 2000],
            "problem": {**SPIKED, "family": "spiked-repeated", "repeats": 10},
        },
    },
    "over-u1": {"over-u1": {"horizon": 2000}},
    "over-n": {"over-n": {"horizon": 2000}},
    "over-mu": {"over-mu": {"horizon": 2000, "checkpoints": [1000]}},
    "practical": {
        "over-mu": {"horizon": 2000, "checkpoints": [1000], "problem": CENTRED},
        "practical": {"horizon": 2000, "problem": CENTRED},
        "practical-blind": {"horizon": 2000, "problem": CENTRED},
    },
    "windows": {"windows": {"horizon": [10**5, 10**6]}},
    "growth": {"growth": {"horizon": 2000}},
    "identification": {
        "identification": {"problem": {"family": "half", "n": [4, 16, 32], "u1": 0.9}, "delta": [0.05, 1e-3, 1e-10]},
        "identification-certified": {"problem": {"family": "half", "n": [4, 8], "u1": 0.9}, "delta": [1e-3, 1e-10]},
        "identification-blind": {"problem": {"family": "half", "n": [4, 8], "u1": 0.9}, "delta": [1e-3, 1e-10]},
    },
    "comparison": {
        "comparison": {
            "horizon": 10**12,
            "problem": {"family": "two-best", "n": 4, "u1": 0.95, "second": [0.02, 0.04, 1.0], "third": 0.9},
        }
    },
    "evaluations": {"evaluations": {"max_rounds": 200}},
    "click-models": {
        "click-models": {
            "horizon": 2000,
            "checkpoints": [1000],
            "problem": {"family": "click-model", "model": ["kdd:19", "simulated:big"]},
        },
        "click-models-yandex": {"horizon": 2000, "checkpoints": [1000]},
    },
}
"""Of the real studies, so that each goes the whole way in a second."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [*entries()])
def test_every_study_goes_from_its_parts_to_pictures_and_claims(name, tmp_path, monkeypatch):
    entry = entries()[name]
    smaller = replace(
        entry, studies=lambda runs: tuple(study.with_(**SMALLER[name][study.name]) for study in entry.studies(runs))
    )
    ours = {figure: smaller for figure in entry.figures}
    monkeypatch.setattr(MODULE, "all_figures", lambda: ours)
    drawn = []
    monkeypatch.setattr(MODULE, "draw_to", lambda chart, path: drawn.append(chart.name))
    monkeypatch.setattr("matchbandit.studies.over_n.per_n_log_n", lambda rows: rows.curve("n"))  # none splits so soon
    monkeypatch.setattr("matchbandit.studies.over_time.published", lambda: _only("over-time", [20_000, 40_000]))
    made = mb.reproduce(entry.figures, runs=1, out=tmp_path, workers=1)
    assert drawn == list(entry.figures)
    assert {claim.where for claim in made.claims} <= set(entry.figures)
    assert all(claim.threshold and claim.measured for claim in made.claims)
    assert all(np.isfinite(line.y).all() and len(line.x) for chart in made.charts for line in chart.lines)
    assert all("seed 0" in chart.caption for chart in made.charts)


def _only(name, places):
    """The published numbers at these places alone."""
    from matchbandit.studies.published import published

    known = published()[name]
    ours = {policy: {**of, "mean": of["mean"][: len(places)]} for policy, of in known.items() if isinstance(of, dict)}
    return {**published(), name: {**known, "x": places, **ours}}


def test_figures_are_named_where_they_are_told_about(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["matchbandit", "reproduce", "--help"])
    with pytest.raises(SystemExit):
        main()
    told = " ".join(capsys.readouterr().out.split())
    assert all(figure in told for figure in figures())


@pytest.mark.slow
def test_the_whole_reproduction(tmp_path):
    made = reproduce(runs=2, out=tmp_path)
    assert [p.name for p in made.pictures] == [f"{name}.png" for name, entry in figures().items() if entry.is_default]
    assert all(p.stat().st_size > 10_000 for p in made.pictures)
    assert {c.verdict for c in made.claims} == {"not judged: fewer than 20 runs"}
    assert made.authors_seconds > 100 * made.seconds
