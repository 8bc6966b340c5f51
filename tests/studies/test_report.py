import json
import shutil
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

import matchbandit as mb
from matchbandit.cli import main
from matchbandit.errors import MatchbanditError
from matchbandit.figures import Chart, Line
from matchbandit.figures.page import Badge, page_html
from matchbandit.studies import Study
from matchbandit.studies.claims import Claim, not_judged
from matchbandit.studies.folder import StudyFolder
from matchbandit.studies.registry import entries
from matchbandit.studies.report import as_toml, report, study_page
from matchbandit.studies.reproduce import FigureReport, reproduction_page, reproduction_report

HOSTILE = "<script>alert(1)</script>"
OWN = f"""
from matchbandit.policies.uniform import Uniform
class Mine(Uniform):
    name = {HOSTILE!r}
"""


def gaps(**changes):
    settings = {
        "name": "gaps",
        "problem": {"family": "spiked", "n": 3, "u1": 0.9, "gap": [0.5, 0.7]},
        "policies": ["uniform", {"name": "pair-elim", "growth": [2, 4]}],
        "horizon": 400,
        "runs": 4,
        "seed": 3,
    }
    return Study(**{**settings, **changes})


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The folder of a study that is finished; tests copy it before they change it."""
    out = tmp_path_factory.mktemp("played") / "gaps"
    gaps().run(out, workers=1, part_runs=2)
    return out


@pytest.fixture
def folder(played, tmp_path):
    return Path(shutil.copytree(played, tmp_path / "gaps"))


@pytest.fixture(scope="module")
def identified(tmp_path_factory):
    out = tmp_path_factory.mktemp("identified") / "sure"
    study = Study(
        name="sure", problem={"u": [0.9, 0.5, 0.3, 0.1]}, policies=["matching-id", "rank1-track-and-stop"],
        delta=0.3, runs=6, seed=1, max_rounds=200,
    )  # fmt: skip
    study.run(out, workers=1)
    return out


def section(page, title):
    (found,) = [each for each in page.sections if each.title == title]
    return found


def plain(text):
    return text.replace("\u00a0", " ")


def ends_of(folder):
    """The last row of each run by label and point, read with pandas alone."""
    rows = pq.read_table(folder / "rows").to_pandas()
    ends = rows[rows["round"] == rows["horizon"]].sort_values("run")
    growths = [json.loads(text).get("growth") for text in ends["options"]]
    labels = [p if g is None else f"{p}, growth = {g:g}" for p, g in zip(ends["policy"], growths, strict=True)]
    return {
        key: group["regret"].to_numpy() for key, group in ends.groupby([labels, [f"gap = {g}" for g in ends["gap"]]])
    }


def test_the_table_of_results_has_means_errors_and_ranges_of_the_files(played):
    (table,) = section(study_page(StudyFolder.open(played)), "Results").tables
    ends = ends_of(played)
    heads = ("policy", "point", "verdict", "mean regret ± s.e.", "more than the best (95 % interval)", "5–95 %", "runs")
    assert table.heads == heads
    assert {(plain(row[0]), plain(row[1])) for row in table.rows} == {*ends}
    for label, point, _, mean, _, interval, runs in table.rows:
        regret = ends[plain(label), plain(point)]
        assert int(runs) == len(regret) == 4
        shown = [float(number.replace(",", "")) for number in mean.split(" ± ")]
        assert shown[0] == pytest.approx(regret.mean(), rel=1e-3)
        assert shown[1] == pytest.approx(regret.std(ddof=1) / 2, rel=0.05)
        bounds = [float(end.replace(",", "")) for end in interval.split(" to ")]
        assert bounds == pytest.approx(np.percentile(regret, [5, 95]), rel=1e-3)


def test_the_best_policy_of_each_point_and_those_that_may_be_as_good_are_marked(played):
    (table,) = section(study_page(StudyFolder.open(played)), "Results").tables
    ends, verdict = ends_of(played), table.heads.index("verdict")
    verdicts = {(plain(row[0]), plain(row[1])): row[verdict] for row in table.rows}
    order = [ends[key].mean() for key in verdicts]
    assert order[:3] == sorted(order[:3])  # at the first point, the best first
    assert order[3:] == sorted(order[3:])
    for point in ("gap = 0.5", "gap = 0.7"):
        here = {label: regret for (label, where), regret in ends.items() if where == point}
        best = min(here, key=lambda label: here[label].mean())
        assert verdicts[best, point] == Badge("best", "good")
        for label in here.keys() - {best}:
            test = stats.ttest_1samp(here[label] - here[best], 0)  # its 95 % interval contains 0 iff p > 0.05
            expected = Badge("not distinguishable from the best", "part") if test.pvalue > 0.05 else ""
            assert verdicts[label, point] == expected


def test_differences_between_all_policies_of_a_point_have_students_interval(played):
    page, ends = study_page(StudyFolder.open(played)), ends_of(played)
    (table,) = section(page, "Differences between policies").tables
    assert len(table.rows) == 2 * 3
    for first, second, point, runs, difference, _ in table.rows:
        one, other = (ends[plain(label), plain(point)] for label in (first, second))
        low, high = stats.ttest_1samp(one - other, 0).confidence_interval(0.95)
        mean, interval = difference.replace("−", "-").replace(",", "").rstrip(")").split(" (")
        assert [float(mean), *map(float, interval.split(" to "))] == pytest.approx(
            [(one - other).mean(), low, high], rel=2e-3, abs=1e-3
        )
        assert runs == "4"
    assert any("Student's t" in text for text in section(page, "Results").text)


def test_two_policies_need_no_second_table(tmp_path):
    folder = gaps(policies=["uniform", "pair-elim"], runs=2).run(tmp_path / "gaps", workers=1)
    page = study_page(folder)
    assert "Differences between policies" not in [each.title for each in page.sections]
    assert "more than the best (95 % interval)" in section(page, "Results").tables[0].heads


def test_the_reader_chooses_the_point_whose_curves_are_shown(played):
    page, opened = study_page(StudyFolder.open(played)), StudyFolder.open(played)
    charts = section(page, "Charts")
    over_gap, middle = opened.study.charts(opened.rows())
    assert [chart.numbers() for chart in charts.charts] == [over_gap.numbers()]
    (choice,) = charts.choices
    assert (choice.label, [name for name, _ in choice.options]) == ("Curves at", ["gap = 0.5", "gap = 0.7"])
    assert choice.options[1][1].numbers() == middle.numbers()
    assert choice.options[0][1].numbers() != middle.numbers()
    assert page.title == "Study gaps"
    assert "What is missing" not in [each.title for each in page.sections]


def test_more_charts_than_fit_are_a_choice_and_what_is_omitted_is_counted(played, monkeypatch):
    module = sys.modules["matchbandit.studies.report"]
    opened = StudyFolder.open(played)
    monkeypatch.setattr(module, "MAX_CHARTS", 0)
    many = section(study_page(opened), "Charts")
    assert [(choice.label, len(choice.options)) for choice in many.choices] == [("Chart", 1), ("Curves at", 2)]
    assert (many.charts, many.text) == ((), ())
    monkeypatch.setattr(module, "MAX_OPTIONS", 1)
    fewest = section(study_page(opened), "Charts")
    assert [len(choice.options) for choice in fewest.choices] == [1, 1]
    assert "1 chart more" in fewest.text[0]


def test_its_settings_can_be_taken_as_a_study_file(played):
    settings = section(study_page(StudyFolder.open(played)), "Settings")
    assert Study.from_dict(tomllib.loads(settings.code)) == gaps()
    words = dict(settings.tables[0].rows)
    assert words["problem"] == "spiked: n = 3, u1 = 0.9, gap = 0.5, 0.7"
    assert words["policies"] == "uniform; pair-elim: growth = 2, 4"
    assert words["horizon T"] == "400"


@pytest.mark.parametrize(
    "data",
    [
        {"name": "a", "policies": ['b"\\\n\u007f'], "problem": [{"u": [0.5, 1.0]}, {"means": [[0.1], [0.2]]}]},
        {"name": "a", "policies": [{"name": "x", "deep": [[1, 2], [3]], "on": True}], "problem": {"a b": 1e-7, "é": 2}},
    ],
)
def test_settings_as_toml_read_back_as_they_were(data):
    assert tomllib.loads(as_toml(data)) == data


def test_times_and_versions_are_those_of_the_parts(played):
    page, opened = study_page(StudyFolder.open(played)), StudyFolder.open(played)
    assert "in 12 parts" in section(page, "Times").text[0]
    versions = section(page, "Versions")
    assert dict(versions.tables[0].rows)["numpy"] == np.__version__
    assert versions.text == ()
    assert opened.manifest["begun"].replace("T", " ").replace("+00:00", " UTC") in section(page, "Times").text[0]


@pytest.mark.slow
def test_parts_of_several_versions_are_told_apart(tmp_path, monkeypatch):
    gaps(runs=2).run(tmp_path / "gaps", workers=1)
    from matchbandit.studies import parts

    now = parts.versions()
    monkeypatch.setattr(parts, "versions", lambda: {**now, "numpy": "9.9.9"})
    gaps(runs=4).run(tmp_path / "gaps", workers=1, allow_other_versions=True)
    versions = section(study_page(StudyFolder.open(tmp_path / "gaps")), "Versions")
    assert "different versions" in versions.text[0]
    told = {row[0]: row[1:] for row in versions.tables[0].rows}
    half = f"{len(StudyFolder.open(tmp_path / 'gaps').parts) // 2} parts"
    assert told["numpy"][0] == f"{np.__version__} ({half}); 9.9.9 ({half})"
    assert told["numpy"][-1] == Badge("differs", "part")
    assert told["numba"][-1] == Badge("the same")


def test_what_only_some_parts_record_is_no_difference(tmp_path, monkeypatch):
    from matchbandit.studies import parts

    now, marks = parts.versions(), iter(range(100))
    monkeypatch.setattr(
        parts, "versions", lambda: {**now, **({"own": "0123456789abcdef"} if next(marks) % 4 == 1 else {})}
    )
    gaps(runs=2).run(tmp_path / "gaps", workers=1)
    opened = StudyFolder.open(tmp_path / "gaps")
    assert len({"own" in part.made_with for part in opened.parts}) == 2
    versions = section(study_page(opened), "Versions")
    assert versions.text == ()
    assert dict(versions.tables[0].rows)["own"] == "01234567"
    assert dict(versions.tables[0].rows)["simulation source"] == now["simulation source"][:8]


def test_policies_of_different_tasks_are_not_compared(tmp_path):
    problem = {"u": [0.9, 0.6, 0.3, 0.1]}
    study = mb.Study(name="both", problem=problem, policies=["cucb", "kl-ucb"], horizon=50, runs=2)
    page = study_page(study.run(tmp_path / "both", workers=1))
    (table,) = section(page, "Results").tables
    assert [(row[0], row[table.heads.index("plays")]) for row in table.rows] == [
        ("cucb", "one matching per round"), ("kl-ucb", "one pair per round"),
    ]  # fmt: skip
    assert "only those of the same kind are compared" in section(page, "Results").text[-1]
    assert [[line.label for line in chart.lines] for chart in section(page, "Charts").charts] == [["cucb"], ["kl-ucb"]]


@pytest.mark.slow
def test_policies_of_one_task_have_no_column_for_it(played, identified):
    for folder in (played, identified):
        (table,) = section(study_page(StudyFolder.open(folder)), "Results").tables
        assert not {"plays", "seeks"} & {*table.heads}


def test_one_run_is_one_run(tmp_path):
    Study(name="one", problem={"u": [0.9, 0.3], "v": [0.8, 0.4]}, policies="uts", horizon=100, runs=1).run(
        tmp_path / "one", workers=1
    )
    assert study_page(StudyFolder.open(tmp_path / "one")).lead == "Regret: 1 point, 1 run, seed 0."


def test_of_an_unfinished_study_it_shows_what_there_is_and_says_what_is_not(folder):
    opened = StudyFolder.open(folder)
    first, *others = (part for part in opened.parts if part.key == opened.manifest["points"][0])
    gone = [first, *(part for part in opened.parts if part.key == opened.manifest["points"][-1])]
    for part in gone:
        part.remove()
    assert len(others) == 1
    page = study_page(StudyFolder.open(folder))
    assert "18 of 24 runs are there" in plain(page.lead)
    missing = section(page, "What is missing")
    assert missing.text[0].startswith("6 runs of this study are missing")
    assert missing.tables[0].rows == (
        ("uniform", "gap = 0.5", "2 of 4"), ("pair-elim, growth = 4", "gap = 0.7", "4 of 4"),
    )  # fmt: skip
    assert len(section(page, "Results").tables[0].rows) == 5


@pytest.mark.parametrize("place", ["rows", "details"])
def test_a_damaged_file_is_named_with_the_way_out(folder, place):
    file = sorted((folder / place).glob("*.parquet"))[3]
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(MatchbanditError, match=rf"{place}/{file.name} is .* Run the study again"):
        report(folder)
    assert not (folder / "report.html").exists()


def test_rows_without_their_details_are_named(folder):
    file = sorted((folder / "details").glob("*.parquet"))[0]
    file.unlink()
    with pytest.raises(MatchbanditError, match=rf"details/{file.name} is missing"):
        report(folder)


def test_a_folder_as_the_place_of_the_page_gets_it(folder, tmp_path, monkeypatch):
    (tmp_path / "pages").mkdir()
    assert report(folder, tmp_path / "pages") == tmp_path / "pages" / "report.html"
    assert (tmp_path / "pages" / "report.html").is_file()
    monkeypatch.chdir(tmp_path / "pages")
    assert report(folder, ".") == Path("report.html")
    assert report(folder, "other.html") == Path("other.html")


def test_what_is_no_study_is_refused(tmp_path, folder):
    with pytest.raises(MatchbanditError, match="there is no folder"):
        report(tmp_path / "nowhere")
    (tmp_path / "foreign").mkdir()
    with pytest.raises(MatchbanditError, match="is not the folder of a study"):
        report(tmp_path / "foreign")
    for place in ("rows", "details"):
        shutil.rmtree(folder / place)
    with pytest.raises(MatchbanditError, match="no finished part yet"):
        report(folder)


@pytest.mark.slow
def test_answers_are_counted_as_right_wrong_and_none(identified):
    page = study_page(StudyFolder.open(identified))
    results = section(page, "Results")
    rows = pq.read_table(identified / "rows").to_pandas()
    assert len(results.tables[0].rows) == 2
    for label, _, _, _, _, runs, right, wrong, none in results.tables[0].rows:
        mine = rows[rows["policy"] == label]
        counted = [
            (mine["identified"] & mine["correct"]).sum(),
            (mine["identified"] & ~mine["correct"]).sum(),
            (~mine["identified"]).sum(),
        ]
        assert [int(right), int(wrong), int(none)] == counted
        assert sum(counted) == int(runs)
    assert (~rows["identified"]).any()
    assert "were stopped" in results.text[0]
    assert "answers were wrong" in results.text[1]


def test_a_folder_can_be_reported_where_the_users_module_is_not(tmp_path, monkeypatch):
    (tmp_path / "mine_for_report.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Study(
        name="own", problem={"u": [0.9, 0.2], "v": [0.8, 0.1]}, policies="mine_for_report:Mine", horizon=50, runs=2
    ).run("own", workers=1)
    (tmp_path / "mine_for_report.py").unlink()
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(tmp_path)])
    monkeypatch.delitem(sys.modules, "mine_for_report")
    page = study_page(StudyFolder.open("own"))
    assert section(page, "Results").tables[0].rows[0][0] == HOSTILE
    assert HOSTILE not in page_html(page)


def test_the_page_is_written_beside_the_rows_or_where_one_says(folder, tmp_path):
    assert mb.report(folder) == folder / "report.html"
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert mb.report(folder, tmp_path / "other.html").read_text(encoding="utf-8") == text
    gaps().run(folder, workers=1)  # the page does not make it a foreign folder


def claim(where, verdict, words="c"):
    return Claim(where, words, "1.02 at 0.5", "at least 0.8", verdict)


def figure(name, *verdicts, **more):
    x = np.array([1.0, 2.0])
    chart = Chart(name, f"Figure {name}", "x", "y", (Line("uts", x, x),))
    settings = {"studies": (name,), "runs": 100, "seconds": 2.0, **more}
    return FigureReport(name, f"Figure {name}", (chart,), tuple(claim(name, each) for each in verdicts), **settings)


def reproduction(*figures, **more):
    settings = {"runs": 100, "seed": 0, **more.pop("settings", {})}
    return reproduction_report(
        figures,
        settings=settings,
        versions={"numpy": "2.0"},
        source="the authors' notebook",
        date="2026-01-02T03:04:05+00:00",
        **more,
    )


def test_verdicts_are_counted_at_the_top_and_stand_beside_their_figure():
    page = reproduction(
        figure("a", "holds", "partly holds"), figure("b", "holds", "does not hold"), figure("c", "not judged: few")
    )
    assert page.lead == "3 figures: 2 claims hold, 1 partly holds, 1 does not, 1 not judged."
    summary = page.sections[0]
    assert [row[1:4] for row in summary.tables[0].rows] == [
        (Badge("1", "good"), Badge("1", "part"), "–"), (Badge("1", "good"), "–", Badge("1", "bad")), ("–", "–", "–"),
    ]  # fmt: skip
    assert [(row[1], row[2]) for row in summary.tables[1].rows] == [
        (Badge("partly holds", "part"), "a"), (Badge("does not hold", "bad"), "b"),
    ]  # fmt: skip
    own = section(page, "Figure b")
    assert own.tables[0].heads == ("claim", "verdict", "measured", "threshold")
    assert own.tables[0].rows[1] == ("c", Badge("does not hold", "bad"), "1.02 at 0.5", "at least 0.8")
    assert len(own.charts) == 1
    assert section(page, "Figure c").tables[0].rows[0][1] == Badge("not judged: few")


def test_shared_studies_count_once_and_the_time_of_the_authors_is_one_number():
    figures = (figure("a", studies=("s", "t")), figure("b", studies=("s", "t")), figure("c", seconds=30.0))
    page = reproduction(*figures, authors_seconds=7200.0)
    assert section(page, "Figure a").text[0] == "a: 100 runs per point of s, t, computed in 2 s."
    times = section(page, "Times")
    assert times.text == (
        "All of it was computed in 32 s of one process.",
        "The authors' code would take 2 h for the paper's figures among these.",
    )
    assert times.tables[0].rows == (("s, t", "100", "2 s"), ("c", "100", "30 s"))
    assert len(section(reproduction(*figures), "Times").text) == 1


def test_settings_versions_date_and_source_are_told():
    last = reproduction(figure("a", "holds")).sections[-1]
    assert last.text == ("Published numbers: the authors' notebook",)
    assert dict(last.tables[0].rows) == {"runs": "100", "seed": "0", "date": "2026-01-02 03:04:05 UTC"}
    assert dict(last.tables[1].rows) == {"numpy": "2.0"}


@pytest.mark.slow
def test_what_reproduce_has_left_is_reported_with_its_claims(tmp_path):
    entry = entries()["over-time"]
    (study,) = entry.studies(2)
    kept = {"over-time": study.run(tmp_path / "over-time", workers=1)}
    claims = not_judged(entry.claims(kept["over-time"].rows()))
    shown = [row for each in reproduction_page(kept).sections[1:-2] for row in each.tables[0].rows]
    assert [(row[0], row[1].text, row[2], row[3]) for row in shown] == [
        (claim.claim, claim.verdict, claim.measured, claim.threshold) for claim in claims
    ]
    assert mb.report(tmp_path) == tmp_path / "index.html"
    shutil.rmtree(tmp_path / "over-time" / "rows")
    with pytest.raises(MatchbanditError, match="no figure is finished"):
        mb.report(tmp_path)


def test_typed_it_says_where_the_page_is(folder, capsys, monkeypatch):
    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["matchbandit", "report", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr()

    code, told = typed(folder)
    assert (code, told.out.split()) == (0, ["page:", str(folder / "report.html")])
    code, told = typed(folder, "--out", folder.parent / "a.html", "--json")
    assert (code, json.loads(told.out)) == (0, {"page": str(folder.parent / "a.html")})
    code, told = typed(folder / "nowhere")
    assert (code, told.out) == (2, "")
    assert told.err.startswith("error: there is no folder")
