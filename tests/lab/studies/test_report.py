"""The report of a study as its reader has it: tables of the page against numbers computed apart from it."""

import json
import re
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
    settings = {"policies": ["uniform", "pair-elim"], "sweep": GAPS, "horizon": 400, "runs": 4, "seed": 3}
    study = Study(name="gaps", problem=SPIKED, **settings)
    return study.run(tmp_path_factory.mktemp("played") / "gaps", workers=1).path


def page_of(folder, path):
    return BeautifulSoup(report(folder, path / "page.html").read_text(encoding="utf-8"), "html.parser")


def tables_of(page, title):
    """Of each table in the section: its caption and rows, each with the headline of its group as position."""
    tables, position = {}, ""
    for table in page.find("h2", string=title).find_parent("section").find_all("table"):
        heads, *lines = (
            [cell.get_text().replace("\u00a0", " ") for cell in row.find_all(["th", "td"])]
            for row in table.find_all("tr")
        )
        rows = tables.setdefault(table.caption.get_text(), [])
        for line in lines:
            if len(line) == 1:
                position = line[0]
            else:
                rows.append({"position": position, **dict(zip(heads, line, strict=True))})
    return tables


def numbers(text):
    """The numbers in a cell."""
    return [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", text.replace("−", "-").replace(",", ""))]


def regrets(folder):
    """The regret of each run by position and label, in the order of the runs."""
    parts = StudyFolder.open(folder).runs().split("label", "gap")
    return {(f"gap = {at['gap']}", at["label"]): part["regret"][np.argsort(part["run"])] for at, part in parts}


def test_report_results_are_means_ranges_and_verdicts_of_the_runs(gaps, tmp_path):
    page = page_of(gaps, tmp_path)
    for table in page.find_all("table"):
        groups = [row.get_text() for row in table.find_all("tr", class_="group")]
        assert len(groups) == len(set(groups))
    (rows,) = tables_of(page, "Results").values()
    ends = regrets(gaps)
    assert {(row["position"], row["policy"]) for row in rows} == {*ends}
    for position in ("gap = 0.5", "gap = 0.7"):
        here = [row for row in rows if row["position"] == position]
        best = ends[position, here[0]["policy"]]
        assert [row["verdict"] == "best" for row in here] == [True, False, False]
        assert best.mean() == min(regret.mean() for (at, _), regret in ends.items() if at == position)
        for row in here:
            regret = ends[position, row["policy"]]
            mean, error = numbers(row["mean regret ± s.e."])
            assert (mean, error) == (pytest.approx(regret.mean(), rel=1e-3), pytest.approx(stats.sem(regret), rel=0.05))
            assert numbers(row["5–95 %"]) == pytest.approx(np.percentile(regret, [5, 95]), rel=1e-3)
            assert row["runs"] == "4"
            if regret is not best:
                test = stats.ttest_1samp(regret - best, 0)  # its 95 % interval contains 0 iff p > 0.05
                assert row["verdict"] == ("not distinguishable" if test.pvalue > 0.05 else "worse")
                shown = numbers(row["more than the best (95 % interval)"])
                expected = [(regret - best).mean(), *test.confidence_interval(0.95)]
                assert shown == pytest.approx(expected, rel=2e-3, abs=1e-3)


def test_report_differences_are_paired_and_of_any_two_of_at_least_three_policies(gaps, tmp_path):
    (rows,) = tables_of(page_of(gaps, tmp_path), "Differences between policies").values()
    ends = regrets(gaps)
    assert len(rows) == 2 * 3
    for row in rows:
        difference = ends[row["position"], row["policy"]] - ends[row["position"], row["minus"]]
        interval = stats.ttest_1samp(difference, 0).confidence_interval(0.95)
        shown = numbers(row["difference (95 % interval)"])
        assert shown == pytest.approx([difference.mean(), *interval], rel=2e-3, abs=1e-3)


def test_report_of_identification_counts_answers_apart_by_what_is_sought(tmp_path):
    policies, sweep = ["matching-id", "rank1-certify"], {"rank1-certify.selection": ["matching", "pair"]}
    problem = {"u": [0.9, 0.5, 0.3, 0.1]}
    study = Study(name="sure", problem=problem, policies=policies, sweep=sweep, delta=0.3, runs=6, max_rounds=200)
    folder = study.run(tmp_path / "sure", workers=1)
    tables = tables_of(page_of(folder.path, tmp_path), "Results")
    assert [*tables] == ["Results: the best matching", "Results: the best pair"]
    for at, part in folder.runs().split("label"):
        (row,) = [row for rows in tables.values() for row in rows if row["policy"] == at["label"]]
        identified, correct = part["identified"], part["correct"]
        counts = [(identified & correct).sum(), (identified & ~correct).sum(), (~identified).sum()]
        assert [int(row[name]) for name in ("right", "wrong", "not identified")] == counts
        assert numbers(row["mean rounds ± s.e."])[0] == pytest.approx(part["rounds"].mean(), rel=1e-3)
    assert "verdict" not in tables["Results: the best pair"][0]


def test_report_of_budgets_has_the_share_of_wrong_answers(tmp_path):
    problem, sweep = {"u": [0.9, 0.8], "v": [0.8, 0.7, 0.3]}, {"budget": [18, 300]}
    study = Study(name="b", problem=problem, policies=["sequential-halving"], sweep=sweep)
    folder = study.run(tmp_path / "b", workers=1)
    (rows,) = tables_of(page_of(folder.path, tmp_path), "Results").values()
    wrong = [(~part["correct"]).mean() for _, part in folder.runs().split("budget")]
    assert [numbers(row["share wrong ± s.e."])[0] for row in rows] == pytest.approx(wrong, rel=1e-3)


def test_report_of_an_unfinished_study_names_what_is_missing_and_damaged_and_what_is_assumed(tmp_path):
    means = {"means": [[0.7, 0.4], [0.5, 0.6]]}
    study = Study(name="it", problem=means, policies=["kl-ucb", "uts"], horizon=50, runs=2)
    folder = study.run(tmp_path / "it", workers=1, part_runs=1)
    (flipped, *_), (*_, lost) = (sorted(folder.parts_folder.glob(f"{name}-*")) for name in ("uts", "kl-ucb"))
    content = bytearray(flipped.read_bytes())
    content[len(content) // 2] ^= 1
    flipped.write_bytes(content)
    lost.unlink()
    with pytest.warns(UserWarning, match="damaged"):
        page = page_of(folder.path, tmp_path)
    assert flipped.name in page.find("h2", string="Damaged files").find_parent("section").get_text()
    (rows,) = tables_of(page, "What is missing").values()
    assert [(row["policy"], row["runs missing"]) for row in rows] == [("kl-ucb", "1 of 2"), ("uts", "1 of 2")]
    assert page.find("p", class_="note", string=re.compile("not products of strengths, as uts assumes"))


@pytest.mark.parametrize(
    "settings",
    [
        {"problem": SPIKED, "policies": [{"name": "pair-elim", "cap_windows": True}], "horizon": 100, "sweep": GAPS},
        {"problem": [{"u": [0.9, 0.3]}, {"means": [[0.5, 0.1]]}], "policies": ["kl-ucb"], "horizon": 9},
        {
            "problem": {"u": [0.9, 0.3], "drift": {"kind": "random-walk", "step": 0.01}},
            "policies": ["cucb"],
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
    assert "<svg" in (tmp_path / "gaps.svg").read_text(encoding="utf-8")
    for words, error in (
        ([tmp_path], "is not the folder of a study: it has no study.json. Run the study first."),
        ([gaps.parent], "it has no study.json. Choose one of those in it: gaps."),
        ([gaps, "--x", "horizon"], "unknown x 'horizon'"),
    ):
        code, text = typed(*words)
        assert (code, error in text, "Traceback" in text) == (2, True, False)


def test_report_has_a_chart_for_each_of_long_values_that_are_cut_to_equal_texts(tmp_path):
    sweep = {"u": [[0.9] + [0.5] * 30 + [last] for last in (0.1, 0.2)]}
    study = Study(name="long", problem={}, policies=["rank1-thompson"], sweep=sweep, horizon=20, runs=1)
    assert len(page_of(study.run(tmp_path / "long", workers=1).path, tmp_path).find_all("figure")) == 2
