import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup, Comment
from chart_examples import HOSTILE, over_gap, over_size, over_time

from matchbandit.figures import Chart
from matchbandit.lab.pages import Badge, Table, write_page

ENDING = "</script></style><!-- \" ' & </title>"


def page(folder: Path, *charts: Chart, **more: Any) -> Any:
    """The page of a report with these charts and what is given."""
    context: dict[str, Any] = dict.fromkeys(("differences", "missing", "times", "versions"), Table(("a",), ()))
    context |= {"warnings": (), "damaged": (), "results": (), "curves": {}, "omitted": 0, "measured": "regret"}
    context |= {"title": "A study", "lead": "Twenty runs.", "settings": "runs = 20"}
    context["charts"] = {f"{chart.name} {k}": chart for k, chart in enumerate(charts)}
    path = write_page(folder / "a.html", "report.html", **(context | more))
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def policy_of(read: Any) -> dict[str, list[str]]:
    text = read.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
    return {name: sources for name, *sources in (part.split() for part in text.split(";"))}


def digest(element: Any) -> str:
    return f"'sha256-{b64encode(sha256(element.string.encode()).digest()).decode()}'"


def test_write_page_allows_only_the_scripts_that_are_within(tmp_path: Path) -> None:
    read = page(tmp_path, over_gap())
    spec, *scripts = read.find_all("script")
    assert policy_of(read) == {
        "default-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "script-src": [digest(script) for script in scripts],
        "style-src": [digest(read.style)],
    }
    licences = "University of Washington Interactive Data Lab", "Mike Bostock", "Observable, Inc.", "vega-lite 6.5.0"
    assert all(words in scripts[0].string for words in licences)
    assert spec.attrs == {"type": "application/json"}
    assert json.loads(spec.string)["usermeta"] == over_gap().vega_lite()["usermeta"]


def test_write_page_takes_nothing_from_elsewhere_and_has_no_inline_handlers(tmp_path: Path) -> None:
    read = page(tmp_path, over_gap(), over_time())
    links = [element[name] for name in ("src", "href") for element in read.find_all(attrs={name: True})]
    assert links
    assert {link[1:] for link in links} <= {element["id"] for element in read.find_all(id=True)}
    assert not [name for element in read.find_all() for name in element.attrs if re.match("style|on", name)]
    assert not read.find_all(["link", "iframe", "img", "object", "form", "base"])


@pytest.mark.parametrize("name", [HOSTILE, ENDING])
def test_write_page_shows_names_of_users_as_text(tmp_path: Path, name: str) -> None:
    def both(name: str) -> Any:
        table = Table((name, "b", "c"), ((name, Badge(name, "good"), name),), name, group_by="c")
        charts = Chart(name, name, name, name, over_size().series, name), *[over_gap()] * 4
        return page(tmp_path, *charts, title=name, lead=name, results=[table], settings=name, warnings=[name])

    read, plain = both(name), both("p")
    assert [element.name for element in read.find_all()] == [element.name for element in plain.find_all()]
    assert read.title.string == name
    assert read.find_all(string=lambda text: isinstance(text, Comment)) == []
    assert read.body.get_text().count(name) >= 12
    assert json.loads(read.body.script.string)["usermeta"]["axes"]["x"]["log"]["channel"]["title"] == name
    assert policy_of(read) == policy_of(plain)


def test_write_page_has_the_numbers_beside_each_chart(tmp_path: Path) -> None:
    read = page(tmp_path, over_gap(), over_time())
    for chart, host in zip((over_gap(), over_time()), read.select(".chart"), strict=True):
        assert host["role"] == "img"
        assert host["aria-label"] == f"{chart.title}: {chart.y_label} over {chart.x_label}"
        rows = host.find_parent("figure").details.find_all("tr")
        heads, cells = chart.numbers()
        assert [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in rows] == [
            [*heads],
            *map(list, cells),
        ]


def test_write_page_groups_rows_and_aligns_numbers(tmp_path: Path) -> None:
    rows = tuple((gap, key, f"{k},234 ± 5", "20 runs a point") for gap in ("0.1", "0.2") for k, key in enumerate("ab"))
    read = page(tmp_path, results=[Table(("gap", "policy", "mean", "words"), rows, "Results", group_by="gap")])
    table = read.find("caption", string="Results").parent
    assert [(cell.get_text(), cell["scope"]) for cell in table.find_all("th")] == [
        *[(head, "col") for head in ("policy", "mean", "words")],
        *[(text, "rowgroup" if text[0] == "0" else "row") for text in ("0.1", "a", "b", "0.2", "a", "b")],
    ]
    assert [cell.get("class") for cell in table.find_all("td")] == [["number"], None] * 4


def test_write_page_makes_cards_of_sentences_only(tmp_path: Path) -> None:
    sentence = "by more than two standard errors at every gap"
    tables = [Table(("claim", "measured"), ((sentence, sentence),)), Table(("policy", "mean"), ((sentence, "1,234"),))]
    read = page(tmp_path, results=tables)
    assert [table.get("class") for table in read.find("h2", id="results").parent.find_all("table")] == [["cards"], None]


def test_write_page_puts_many_charts_into_a_choice(tmp_path: Path) -> None:
    read = page(tmp_path, *[over_gap()] * 30)
    assert read.find("label", {"for": read.select_one("select")["id"]})
    assert len(read.find_all("option")) == 30
    assert [figure["class"] for figure in read.find_all("figure")] == [["option", "chosen"], *[["option"]] * 29]
