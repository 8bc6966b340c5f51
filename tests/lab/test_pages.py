import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from chart_examples import HOSTILE, over_gap, over_size, over_time

from matchbandit.errors import MatchbanditError
from matchbandit.figures import Chart
from matchbandit.lab.pages import Badge, Table, write_page

ENDING = "</script></style><!-- \" ' & </title>"


class Reader(HTMLParser):
    """What a browser sees: elements with their attributes, scripts, styles, comments and visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.contents: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.comments: list[str] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag in self.contents:
            self.contents[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.contents:
            self.contents[self._inside][-1] += data
        else:
            self.words.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]


def page(folder: Path, *charts: Chart, **more: Any) -> Reader:
    """The page of a report with these charts and what is given."""
    empty = dict.fromkeys(("differences", "missing", "times", "versions"), Table(("a",), ()))
    context: dict[str, Any] = (
        empty | dict.fromkeys(("warnings", "damaged"), ()) | {"curves": {}, "omitted": 0, "measured": "regret"}
    )
    context |= {"title": "A study", "lead": "Twenty runs.", "settings": "runs = 20", "results": ()}
    context["charts"] = {f"{chart.name} {k}": chart for k, chart in enumerate(charts)}
    return Reader(write_page(folder / "a.html", "report.html", **(context | more)).read_text(encoding="utf-8"))


def policy_of(read: Reader) -> dict[str, list[str]]:
    (text,) = [a["content"] for a in read.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    return {name: sources for name, *sources in (part.split() for part in str(text).split(";"))}


def test_write_page_allows_only_the_scripts_that_are_within(tmp_path: Path) -> None:
    read = page(tmp_path, over_gap())
    spec, *scripts = read.contents["script"]
    digests = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts]
    (style,) = read.contents["style"]
    assert policy_of(read) == {
        "default-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "script-src": digests,
        "style-src": [f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'"],
    }
    assert read.all("script")[0] == {"type": "application/json"}
    assert json.loads(spec)["usermeta"]["axes"] == over_gap().vega_lite()["usermeta"]["axes"]


def test_write_page_takes_nothing_from_elsewhere_and_has_no_inline_handlers(tmp_path: Path) -> None:
    read = page(tmp_path, over_gap(), over_time())
    links = [attributes[name] for _, attributes in read.elements for name in ("src", "href") if name in attributes]
    assert links
    assert {str(link)[1:] for link in links} <= {attributes.get("id") for _, attributes in read.elements}
    assert not [name for _, a in read.elements for name in a if name == "style" or name.startswith("on")]
    assert not [tag for tag, _ in read.elements if tag in ("link", "iframe", "img", "object", "form", "base")]


@pytest.mark.parametrize("name", [HOSTILE, ENDING])
def test_write_page_shows_names_of_users_as_text(tmp_path: Path, name: str) -> None:
    def both(name: str) -> Reader:
        table = Table((name, "b", "c"), ((name, Badge(name, "good"), name),), name, group_by="c")
        chart = Chart(name, name, name, name, over_size().series, name)
        return page(
            tmp_path, chart, *[over_gap()] * 4, title=name, lead=name, results=[table], settings=name, warnings=[name]
        )

    read, plain = both(name), both("p")
    tags = [[tag for tag, _ in one.elements if tag in ("script", "style", "title")] for one in (read, plain)]
    assert tags[0] == tags[1]
    assert read.contents["title"] == [name]
    assert read.comments == []
    assert "".join(read.words).count(name) >= 12
    assert json.loads(read.contents["script"][0])["usermeta"]["axes"]["x"]["log"]["channel"]["title"] == name
    assert policy_of(read) == policy_of(plain)


def test_write_page_carries_the_licences_of_its_scripts(tmp_path: Path) -> None:
    vega = page(tmp_path).contents["script"][0]
    for words in (
        "University of Washington Interactive Data Lab",
        "Mike Bostock",
        "Observable, Inc.",
        "vega-lite 6.5.0",
    ):
        assert words in vega
    assert len(vega) < 800_000
    assert not re.search("</script|<!--", vega, re.IGNORECASE)


def test_write_page_has_the_numbers_beside_each_chart(tmp_path: Path) -> None:
    read = page(tmp_path, over_gap(), over_time())
    heads, rows = over_time().numbers()
    words = [text for text in read.words if text.strip()]
    start = words.index(heads[1], words.index("Regret over time: the numbers")) - 1
    flat = [*heads, *(cell for row in rows for cell in row if cell)]
    assert words[start : start + len(flat)] == flat
    charts = [a for a in read.all("div") if a.get("class") == "chart"]
    assert [(chart["role"], chart["aria-label"]) for chart in charts] == [
        ("img", "Regret over the gap: regret over gap Δ"),
        ("img", "Regret over time: regret over round"),
    ]


def test_write_page_groups_rows_and_aligns_numbers(tmp_path: Path) -> None:
    rows = tuple((gap, key, f"{k},234 ± 5", "20 runs a point") for gap in ("0.1", "0.2") for k, key in enumerate("ab"))
    read = page(tmp_path, results=[Table(("gap", "policy", "mean", "words"), rows, "Results", group_by="gap")])
    heads = read.all("th")[: 3 + 2 * 3]
    assert [(head["scope"], head.get("class")) for head in heads] == [
        ("col", None), ("col", "number"), ("col", None), *[("rowgroup", None), ("row", None), ("row", None)] * 2,
    ]  # fmt: skip
    assert [cell.get("class") for cell in read.all("td")] == ["number", None] * 4
    assert len(read.all("tbody")) == 2


def test_write_page_breaks_no_line_within_a_number(tmp_path: Path) -> None:
    page(tmp_path, results=[Table(("claim",), (("after round 1 112 000, 5.2 % of 2 398; u = 0.9 100 2000",),))])
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "after round 1~112~000, 5.2~% of 2~398; u = 0.9~100 2000".replace("~", "\u00a0") in text


def test_write_page_puts_many_charts_into_a_choice(tmp_path: Path) -> None:
    read = page(tmp_path, *[over_gap()] * 30)
    (select,) = read.all("select")
    assert {"for": select["id"]} in read.all("label")
    assert len(read.all("option")) == 30
    shown = [a["class"] for a in read.all("figure")]
    assert shown == ["option chosen", *["option"] * 29]


def test_write_page_writes_the_same_file_again_and_names_that_are_no_text(tmp_path: Path) -> None:
    page(tmp_path, over_gap(), title="b\udcff")
    before = (tmp_path / "a.html").read_bytes()
    page(tmp_path, over_gap(), title="b\udcff")
    assert (tmp_path / "a.html").read_bytes() == before
    assert b"<title>b?</title>" in before
    assert [file.name for file in tmp_path.iterdir()] == ["a.html"]


def test_write_page_says_why_it_cannot_write_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.html").mkdir()
    with pytest.raises(MatchbanditError, match="cannot write"):
        page(tmp_path)
    with pytest.raises(MatchbanditError, match="cannot write"):
        page(tmp_path / "nowhere")
    assert [file.name for file in tmp_path.iterdir()] == ["a.html"]
