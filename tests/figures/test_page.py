import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from matchbandit.errors import MatchbanditError
from matchbandit.figures.chart import Chart, Line
from matchbandit.figures.page import Badge, ChartChoice, Page, Section, Table, page_html, self_contained, write_page

HOSTILE = "<script>alert(1)</script>"
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


def chart(label: str = "uts", **more: object) -> Chart:
    x = np.array([0.1, 0.2, 0.4])
    line = Line(label, x, 100 * x, 90 * x, 120 * x, key="uts")
    return Chart("one", more.pop("title", "Regret"), "gap", "regret", (line,), **more)  # type: ignore[arg-type]


def page(*sections: Section, **more: str) -> Page:
    return Page(more.get("title", "A study"), more.get("lead", "Twenty runs."), sections)


def policy_of(read: Reader) -> dict[str, list[str]]:
    (text,) = [a["content"] for a in read.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert text is not None
    return {name: sources for name, *sources in (part.split() for part in text.split(";"))}


def digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_only_what_is_written_into_the_page_may_run() -> None:
    read = Reader(page_html(page(Section("Regret", charts=(chart(),)))))
    data, echarts, script = read.contents["script"]
    (style,) = read.contents["style"]
    assert policy_of(read) == {
        "default-src": ["'none'"],
        "script-src": [digest(echarts), digest(script)],
        "style-src": [digest(style)],
        "img-src": ["data:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    assert read.all("script")[0] == {"type": "application/json", "id": "data"}
    assert json.loads(data)["charts"][0]["lines"][0]["label"] == "uts"


def test_nothing_on_the_page_comes_from_elsewhere_or_is_an_inline_handler_or_style() -> None:
    read = Reader(page_html(page(Section("Regret", charts=(chart(),), tables=(Table(("a",), (("1",),)),)))))
    links = [attributes[name] for _, attributes in read.elements for name in ("src", "href") if name in attributes]
    assert links
    assert all(link is not None and link.startswith("#") for link in links)
    ids = {attributes.get("id") for _, attributes in read.elements}
    assert {link[1:] for link in links if link} <= ids
    assert not [
        name for _, attributes in read.elements for name in attributes if name == "style" or name.startswith("on")
    ]
    assert not [tag for tag, _ in read.elements if tag in ("link", "iframe", "img", "object", "form", "base")]


@pytest.mark.parametrize("name", [HOSTILE, ENDING])
def test_what_users_typed_is_text_and_nothing_else(name: str) -> None:
    hostile = chart(name, title=name, caption=name)
    tables = (Table((name, name), ((name, Badge(name, "good")),), name),)
    sections = (Section(name, (name,), (hostile,), tables, name), Section("plain", charts=(chart(),), tables=tables))
    read = Reader(page_html(Page(name, name, sections, (name,))))
    plain = Reader(page_html(Page("p", "p", (Section("p", ("p",), (chart(),), tables, "p"), sections[1]), ("p",))))
    assert [tag for tag, _ in read.elements if tag in ("script", "style", "title")] == [
        tag for tag, _ in plain.elements if tag in ("script", "style", "title")
    ]
    assert len(read.comments) == len(plain.comments) == 1
    assert read.contents["title"] == [name]
    assert "".join(read.words).count(name) >= 12
    assert json.loads(read.contents["script"][0])["charts"][0]["lines"][0]["label"] == name
    assert policy_of(read) == policy_of(plain)


def test_the_licences_of_what_is_inlined_are_in_the_file_and_named_in_its_foot() -> None:
    read = Reader(page_html(page(Section("Regret", charts=(chart(),)))))
    (comment,) = read.comments
    for words in ("Apache License", "Version 2.0, January 2004", "Copyright 2017-2026 The Apache Software Foundation"):
        assert words in comment
    assert "Baidu Inc." in comment
    assert "Mike Bostock" in comment
    foot = "".join(read.words)
    assert "Apache ECharts 6.1.0" in foot
    assert 't.version="6.1.0"' in read.contents["script"][1]


def test_a_page_without_charts_carries_no_library() -> None:
    text = page_html(page(Section("Words", ("Only words.",))))
    assert "echarts" not in Reader(text).contents["script"][0]
    assert len(text) < 100_000


def test_each_figure_has_its_numbers_beside_it_open_until_a_script_closes_them() -> None:
    one = chart(caption="Twenty runs.")
    read = Reader(page_html(page(Section("Regret", charts=(one, chart("kl-ucb"))))))
    assert read.all("details").count({"class": "numbers", "open": None}) == 2
    heads, rows = one.numbers()
    words = [text for text in read.words if text.strip()]
    start = words.index(heads[0])
    flat = [*heads, *(cell for row in rows for cell in row)]
    assert words[start : start + len(flat)] == flat
    assert len(read.all("figcaption")) == 1


def test_a_choice_is_a_labelled_select_over_its_charts_with_a_table_for_each() -> None:
    choice = ChartChoice("Gap", tuple((f"gap {k}", chart(title=f"Regret {k}")) for k in range(200)))
    text = page_html(page(Section("Regret", charts=(chart(),), choices=(choice,))))
    read = Reader(text)
    (select,) = read.all("select")
    assert {"for": select["id"]} in read.all("label")
    options = [option["value"] for option in read.all("option")]
    assert options == [f"option-{number}" for number in range(1, 201)]
    shown = [box for box in read.all("div") if (box.get("class") or "").startswith("option")]
    assert [box["id"] for box in shown] == options
    assert [box["class"] for box in shown] == ["option chosen", *["option"] * 199]
    assert read.all("details").count({"class": "numbers"}) == 200
    assert [one["title"] for one in json.loads(read.contents["script"][0])["charts"]][1:3] == ["Regret 0", "Regret 1"]


def test_tables_say_what_their_heads_are_and_align_numbers() -> None:
    table = Table(
        ("policy", "mean", "5–95 %", "words"), (("uts", "1,234", "1,100 to 1,400", "20 runs a point"),), "Results"
    )
    read = Reader(page_html(page(Section("Results", tables=(table,)))))
    heads = read.all("th")
    assert [(head["scope"], head.get("class")) for head in heads] == [
        ("col", None), ("col", "number"), ("col", "number"), ("col", None), ("row", None),
    ]  # fmt: skip
    assert [cell.get("class") for cell in read.all("td")] == ["number", "number", None]
    assert len(read.all("caption")) == 1


def test_a_table_of_sentences_becomes_cards_on_a_phone_and_stays_a_table_to_those_who_listen() -> None:
    sentence = "by more than two standard errors at every gap"
    cards = Table(("claim", "verdict", "measured"), ((sentence, Badge("holds", "good"), sentence),))
    narrow = Table(("policy", "mean"), (("uts", "1,234"),))
    read = Reader(page_html(page(Section("Claims", tables=(cards, narrow)))))
    assert [table.get("class") for table in read.all("table")] == ["cards", None]
    assert [cell["data-head"] for cell in read.all("td")] == ["verdict", "measured", "mean"]
    roles = {tag: {a.get("role") for a in read.all(tag)} for tag in ("table", "tr", "td", "th")}
    assert roles == {"table": {"table"}, "tr": {"row"}, "td": {"cell"}, "th": {"columnheader", "rowheader"}}


def test_no_line_ends_within_a_number() -> None:
    table = Table(("claim", "measured"), (("it passes", "after round 1 112 000, 5.2 % of 2 398; u = 0.9 100 2000"),))
    html = page_html(Page("P", "1 000 runs", (Section("S", ("67.0 × as long",), tables=(table,)),)))
    for words in ("1~000 runs", "67.0~× as", "round 1~112~000, 5.2~% of 2~398; u = 0.9~100 2000"):
        assert words.replace("~", "\u00a0") in html


def test_a_verdict_is_a_word_and_an_icon() -> None:
    rows = ((Badge("holds", "good"), Badge("holds in part", "part"), Badge("does not hold", "bad")),)
    text = page_html(page(Section("Claims", tables=(Table(("a", "b", "c"), rows),))))
    icons = re.findall(r'<svg[^>]*aria-hidden="true">(.*?)</svg>(.*?)</span>', text)
    assert [word for _, word in icons] == ["holds", "holds in part", "does not hold"]
    assert len({icon for icon, _ in icons}) == 3


def test_a_script_that_would_end_early_is_refused() -> None:
    with pytest.raises(ValueError, match="may hold neither"):
        self_contained("t", "<p>b</p>", data={}, script="const a = '</ScRiPt>';", charts=False)
    with pytest.raises(ValueError, match="may hold neither"):
        self_contained("t", "<p>b</p>", data={}, script="", style="p::after { content: '<!--' }", charts=False)


def test_the_same_page_is_the_same_file(tmp_path: Path) -> None:
    one = page(Section("Regret", charts=(chart(),)))
    path = write_page(one, tmp_path / "a.html")
    assert path.read_text(encoding="utf-8") == page_html(one)
    assert [file.name for file in tmp_path.iterdir()] == ["a.html"]


def test_a_name_that_is_no_text_is_written_all_the_same(tmp_path: Path) -> None:
    path = write_page(page(Section("Regret", charts=(chart("a\udcff"),)), title="b\udcff"), tmp_path / "a.html")
    assert "<title>b?</title>" in path.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(MatchbanditError, match=r"cannot write .*nowhere"):
        write_page(page(), tmp_path / "nowhere" / "a.html")
    with pytest.raises(MatchbanditError, match="cannot write"):
        write_page(page(), tmp_path / "taken")
    assert [file.name for file in tmp_path.iterdir()] == ["taken"]
