"""The report of a study as its reader has it: tables of the page against numbers computed apart from it."""

import json
import sys
import tomllib

import numpy as np
import pytest
from bs4 import BeautifulSoup
from scipy import stats

from matchbandit.cli import main
from matchbandit.lab.studies.folder import StudyFolder
from matchbandit.lab.studies.report import as_toml, report
from matchbandit.lab.studies.study import Study

SPIKED = {"family": "spiked", "n": 3, "u1": 0.9}
GAPS = {"gap": [0.5, 0.7], "pair-elim.growth": [2, 4]}


@pytest.fixture(scope="module")
def gaps(tmp_path_factory):
    """The folder of a study that is finished; tests do not change it."""
    study = Study(
        name="gaps", problem=SPIKED, policies=["uniform", "pair-elim"], sweep=GAPS, horizon=400, runs=4, seed=3
    )
    return study.run(tmp_path_factory.mktemp("played") / "gaps", workers=1).path


def page_of(folder, path):
    return BeautifulSoup(report(folder, path / "page.html").read_text(encoding="utf-8"), "html.parser")


def tables_of(page, title):
    """Of each table in the section: caption, heads and rows; before each row the headline of its group."""
    section = page.find("h2", string=title).find_parent("section")
    tables = {}
    for table in section.find_all("table", recursive=True):
        if table.find_parent("details"):
            continue
        rows, group = [], ""
        for row in table.tbody.find_parent("table").find_all("tr")[1:]:
            texts = [cell.get_text().replace("\u00a0", " ") for cell in row.find_all(["th", "td"])]
            if "group" in row.get("class", []):
                group = texts[0]
            else:
                rows.append([group, *texts])
        heads = [head.get_text().replace("\u00a0", " ") for head in table.thead.find_all("th")]
        tables[table.caption.get_text()] = [dict(zip(["position", *heads], row, strict=True)) for row in rows]
    return tables


def number(text):
    return float(text.replace("−", "-").replace(",", ""))


def regrets(folder):
    runs = StudyFolder.open(folder).runs()
    parts = runs.split("label", "gap")
    return {
        (f"gap = {values['gap']}", values["label"]): part["regret"][np.argsort(part["run"])] for values, part in parts
    }


def test_report_results_are_means_ranges_and_verdicts_of_the_runs(gaps, tmp_path):
    (rows,) = tables_of(page_of(gaps, tmp_path), "Results").values()
    ends = regrets(gaps)
    assert {(row["position"], row["policy"]) for row in rows} == {*ends}
    for position in ("gap = 0.5", "gap = 0.7"):
        here = [row for row in rows if row["position"] == position]
        means = [ends[position, row["policy"]].mean() for row in here]
        assert means == sorted(means)
        assert [row["verdict"] == "best" for row in here] == [True, False, False]
        for row in here:
            regret, best = ends[position, row["policy"]], ends[position, here[0]["policy"]]
            mean, error = map(number, row["mean regret ± s.e."].split(" ± "))
            assert (mean, error) == (pytest.approx(regret.mean(), rel=1e-3), pytest.approx(stats.sem(regret), rel=0.05))
            assert [*map(number, row["5–95 %"].split(" to "))] == pytest.approx(
                np.percentile(regret, [5, 95]), rel=1e-3
            )
            assert row["runs"] == "4"
            if row is not here[0]:
                test = stats.ttest_1samp(regret - best, 0)  # its 95 % interval contains 0 iff p > 0.05
                assert row["verdict"] == ("not distinguishable" if test.pvalue > 0.05 else "worse")
                more, low, high = map(
                    number, row["more than the best (95 % interval)"].rstrip(")").replace(" (", " to ").split(" to ")
                )
                expected = [(regret - best).mean(), *test.confidence_interval(0.95)]
                assert [more, low, high] == pytest.approx(expected, rel=2e-3, abs=1e-3)


def test_report_differences_are_paired_and_of_any_two_of_at_least_three_policies(gaps, tmp_path):
    (rows,) = tables_of(page_of(gaps, tmp_path), "Differences between policies").values()
    ends = regrets(gaps)
    assert len(rows) == 2 * 3
    for row in rows:
        one, other = ends[row["position"], row["policy"]], ends[row["position"], row["minus"]]
        interval = stats.ttest_1samp(one - other, 0).confidence_interval(0.95)
        shown = map(number, row["difference (95 % interval)"].rstrip(")").replace(" (", " to ").split(" to "))
        assert [*shown] == pytest.approx([(one - other).mean(), *interval], rel=2e-3, abs=1e-3)
    two = Study(name="two", problem=SPIKED | {"gap": 0.5}, policies=["uniform", "uts"], horizon=50, runs=2)
    assert (
        page_of(two.run(tmp_path / "two", workers=1).path, tmp_path).find("h2", string="Differences between policies")
        is None
    )


def test_report_of_identification_counts_answers_apart_by_what_is_sought(tmp_path):
    policies = ["matching-id", "rank1-certify", {"name": "rank1-certify", "selection": "pair"}]
    study = Study(
        name="sure", problem={"u": [0.9, 0.5, 0.3, 0.1]}, policies=policies, delta=0.3, runs=6, max_rounds=200
    )
    folder = study.run(tmp_path / "sure", workers=1)
    tables = tables_of(page_of(folder.path, tmp_path), "Results")
    assert [*tables] == ["Results: the best matching", "Results: the best pair"]
    for label, part in ((values["label"], part) for values, part in folder.runs().split("label")):
        (row,) = [row for rows in tables.values() for row in rows if row["policy"] == label]
        identified, correct = part["identified"], part["correct"]
        counts = [(identified & correct).sum(), (identified & ~correct).sum(), (~identified).sum()]
        assert [int(row[name]) for name in ("right", "wrong", "not identified")] == counts
        assert number(row["mean rounds ± s.e."].split(" ± ")[0]) == pytest.approx(part["rounds"].mean(), rel=1e-3)
    alone = tables["Results: the best pair"]
    assert not {"verdict", "more than the best (95 % interval)"} & alone[0].keys()


def test_report_of_budgets_has_the_share_of_wrong_answers(tmp_path):
    problem = {"u": [0.9, 0.8], "v": [0.8, 0.7, 0.3]}
    policies = [{"name": "sequential-halving", "selection": "pair"}]
    folder = Study(name="b", problem=problem, policies=policies, sweep={"budget": [18, 300]}, runs=20).run(
        tmp_path / "b", workers=1
    )
    (rows,) = tables_of(page_of(folder.path, tmp_path), "Results").values()
    wrong = [(~part["correct"]).mean() for _, part in folder.runs().split("budget")]
    assert [number(row["share wrong ± s.e."].split(" ± ")[0]) for row in rows] == pytest.approx(wrong, rel=1e-3)


def test_report_of_an_unfinished_study_names_what_is_missing_and_damaged(tmp_path):
    study = Study(name="it", problem=SPIKED, policies=["uniform", "uts"], sweep={"gap": [0.5, 0.7]}, horizon=50, runs=2)
    folder = study.run(tmp_path / "it", workers=1, part_runs=1)
    parts = sorted(folder.parts_folder.glob("uts-*.parquet"))
    content = bytearray(parts[0].read_bytes())
    content[len(content) // 2] ^= 1
    parts[0].write_bytes(content)
    parts[1].unlink()
    with pytest.warns(UserWarning, match="damaged"):
        page = page_of(folder.path, tmp_path)
    assert parts[0].name in page.find("h2", string="Damaged files").find_parent("section").get_text()
    (rows,) = tables_of(page, "What is missing").values()
    assert sum(int(row["runs missing"].split(" of ")[0]) for row in rows) == 2
    assert {row["policy"] for row in rows} == {"uts"}


def test_report_names_policies_whose_assumption_does_not_hold(tmp_path):
    study = Study(name="m", problem={"means": [[0.7, 0.4], [0.5, 0.6]]}, policies=["uts", "kl-ucb"], horizon=50, runs=2)
    (note,) = page_of(study.run(tmp_path / "m", workers=1).path, tmp_path).find_all("p", class_="note")[-1:]
    assert "not products of strengths, as uts assumes" in note.get_text()


@pytest.mark.parametrize(
    "settings",
    [
        {
            "problem": SPIKED,
            "policies": ["uts", {"name": "pair-elim", "cap_windows": True}],
            "horizon": 100,
            "sweep": GAPS,
        },
        {
            "problem": [{"u": [0.9, 0.3]}, {"means": [[0.5, 0.1]]}],
            "policies": ["kl-ucb"],
            "sweep": {"horizon": [50, 60]},
        },
        {
            "problem": SPIKED | {"drift": {"kind": "random-walk", "step": 0.01}, "gap": 0.5},
            "policies": ["uts"],
            "horizon": 9,
        },
    ],
)
def test_as_toml_reads_back_as_the_same_study(settings):
    study = Study(name="it", runs=3, **settings)
    assert Study(**tomllib.loads(as_toml(study))) == study


def test_report_command_writes_page_and_picture_and_refuses_other_folders(gaps, tmp_path, capsys, monkeypatch):
    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["matchbandit", "report", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, "".join(capsys.readouterr())

    code, text = typed(gaps, "--out", tmp_path, "--plot", tmp_path / "gaps.svg", "--json")
    assert (code, json.loads(text)) == (0, {"page": f"{tmp_path}/report.html", "plot": f"{tmp_path}/gaps.svg"})
    assert (tmp_path / "report.html").is_file()
    assert "<svg" in (tmp_path / "gaps.svg").read_text(encoding="utf-8")
    for words, error in (
        ([tmp_path], "is not the folder of a study"),
        ([gaps, "--x", "horizon"], "unknown x 'horizon'"),
    ):
        code, text = typed(*words)
        assert (code, error in text, "Traceback" in text) == (2, True, False)
