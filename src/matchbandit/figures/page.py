"""HTML pages of charts, tables and text: one file that needs no network, under a strict content-security policy."""

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from matchbandit.figures.chart import Chart
from matchbandit.figures.echarts_renderer import chart_data
from matchbandit.figures.picture import write_whole

Tone = Literal["good", "part", "bad", "plain"]


@dataclass(frozen=True)
class Badge:
    """A verdict in a cell: a word with an icon, so that it does not depend on colour alone."""

    text: str
    tone: Tone = "plain"


Cell = str | Badge


@dataclass(frozen=True)
class Table:
    """Text and numbers in rows; the first cell of a row is its head."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class ChartChoice:
    """A choice of charts of which one is shown, the first until the reader selects another."""

    label: str
    """What stands beside the select element, such as "Instance"."""
    options: tuple[tuple[str, Chart], ...]
    """Each with the name by which it is selected."""


@dataclass(frozen=True)
class Section:
    """A headline, and below it paragraphs, charts, choices of charts, tables, and settings as they are typed."""

    title: str
    text: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    code: str = ""
    choices: tuple[ChartChoice, ...] = ()

    @property
    def all_charts(self) -> tuple[Chart, ...]:
        """The charts in their order on the page, those of the choices last."""
        return (*self.charts, *(chart for choice in self.choices for _, chart in choice.options))


@dataclass(frozen=True)
class Page:
    """The content of a page; all of it is text, not HTML."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    foot: tuple[str, ...] = ()


ECHARTS = "Charts: Apache ECharts 6.1.0, © 2017–2026 The Apache Software Foundation, Apache License 2.0."
"""The visible notice on a page that holds ECharts; the licences are in its source."""
MAX_ROWS = 40
"""A longer table scrolls in a box, below its heads."""
MAX_SHORT_CELL = 24
"""Characters of a cell; a column with longer ones gets a minimum width."""
_LICENCES = ("NOTICE", "LICENSE", "LICENSE-zrender", "LICENSE-d3")
_ICONS: dict[Tone, str] = {
    "good": '<path d="M2.5 8.5l3.5 4 7.5-9"/>',
    "part": '<circle cx="8" cy="8" r="6"/><path class="half" d="M8 2a6 6 0 0 1 0 12z"/>',
    "bad": '<path d="M3 3l10 10M13 3L3 13"/>',
    "plain": '<circle cx="8" cy="8" r="6"/>',
}
_NUMBER = re.compile(
    r"(?!\d+\.\d+\.\d)[≈<>≤≥±~]?\s*[-−+]?\d(?:[\d\s.,()%±–−+×·⁰¹²³⁴⁵⁶⁷⁸⁹⁻-]|to|e|of)*(?:s|ms|h|min|d)?"
)

_NO_BREAK = re.compile(r"(?<=\d) (?=\d{3}(?!\d)|[%×])")
"""Spaces before the unit of a number, and within a number."""


def page_html(page: Page) -> str:
    """Return the page as HTML: with hover and zoom where scripts run, and tables of the numbers everywhere."""
    charts = [chart for section in page.sections for chart in section.all_charts]
    numbers = iter(range(len(charts)))
    sections = "".join(_section(place, section, numbers) for place, section in enumerate(page.sections, 1))
    links = "".join(
        f'<li><a href="#section-{place}">{escape(section.title)}</a></li>'
        for place, section in enumerate(page.sections, 1)
    )
    without = "<noscript><p>Charts need scripts; their numbers stand in the tables below them.</p></noscript>"
    foot = "".join(f"<p>{escape(line)}</p>" for line in (*page.foot, *([ECHARTS] if charts else [])))
    body = f"""<a class="skip" href="#main">Skip to the content</a>
<header><h1>{escape(page.title)}</h1><p class="lead">{_words(page.lead)}</p>{without if charts else ""}</header>
<nav class="contents" aria-label="Contents"><details><summary>Contents</summary><ol>{links}</ol></details></nav>
<main id="main">{sections}</main>
<footer>{foot}</footer>"""
    data = {"charts": [chart_data(chart) for chart in charts]}
    return self_contained(page.title, body, data=data, script=chart_script(), charts=bool(charts))


def write_page(page: Page, path: str | os.PathLike[str]) -> Path:
    """Write the page, whole or not at all, and return its path."""
    path = Path(path)
    write_whole(path, page_html(page).encode("utf-8", errors="replace"))
    return path


def bundle_scripts(*sources: str) -> str:
    """Join scripts into one that defines no global names, after the helpers of `script/shared.js`.

    Parameters
    ----------
    *sources: str
        JavaScript; all of it shares one scope with the helpers: number formatting, colours, `mountPlot`.

    Returns
    -------
    str
        A script for `self_contained`, or for a file of its own. `mountPlot` needs the global `echarts`.
    """
    parts = "\n".join([_asset("script/shared.js"), *sources])
    return f'(function () {{\n"use strict";\n\n{parts}}})();\n'


def chart_script() -> str:
    """Return the script that draws what `chart_data` describes, with values on hover, tap and keys, and zoom.

    It needs the global `echarts` and the classes of `page.css`, and nothing of the document it is in:
    `matchbanditCharts.mount(element, chart)` draws a chart anywhere. On a page with an element `#data` that holds
    {"charts": [...]} every element `[data-chart]` is drawn when it comes near the screen.
    """
    return bundle_scripts(_asset("script/chart.js"), _asset("script/page.js"))


def self_contained(title: str, body: str, *, data: Any, script: str, style: str = "", charts: bool = True) -> str:
    """Return an HTML file that needs no network and runs only the scripts that are written into it here.

    `body` is HTML; the caller escapes what users typed. The script reads `data` from the element `#data`.
    The base style gives light and dark colours, a phone's width and paper; `style` comes after it. With `charts`,
    Apache ECharts and its licences are in the file.
    """
    scripts = [*([_asset("vendor/echarts.min.js")] if charts else []), script]
    style = _asset("page.css") + style
    for text, end in [(style, "</style"), *((text, "</script") for text in scripts)]:
        if end in text.lower() or "<!--" in text:
            raise ValueError(f"a script or style that is written into a page may hold neither {end!r} nor '<!--'.")
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    plain = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    licences = f"<!--\n{_licences()}\n-->\n" if charts else ""
    ends = "\n".join(f"<script>{text}</script>" for text in scripts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{plain}</script>
{licences}{ends}
</body>
</html>
"""


def _section(place: int, section: Section, numbers: Iterator[int]) -> str:
    text = "".join(f"<p>{_words(words)}</p>" for words in section.text)
    charts = "".join(_figure(next(numbers), chart, section.title) for chart in section.charts)
    choices = "".join(_choice(choice, section.title, numbers) for choice in section.choices)
    tables = "".join(_table(table) for table in section.tables)
    code = f'<pre tabindex="0"><code>{escape(section.code)}</code></pre>' if section.code else ""
    return (
        f'<section id="section-{place}" aria-labelledby="title-{place}"><h2 id="title-{place}">{escape(section.title)}'
        f"</h2>{text}{charts}{choices}{tables}{code}</section>\n"
    )


def _figure(number: int, chart: Chart, heading: str) -> str:
    """Where a chart is drawn, its caption, and its numbers: open until a script closes them."""
    return f'<figure id="figure-{number}">{_drawing(number, chart, heading)}</figure>\n'


def _choice(choice: ChartChoice, heading: str, numbers: Iterator[int]) -> str:
    """A select element and the charts that it chooses from: a script shows one; without scripts all their tables."""
    options, figures, number = "", "", -1
    for name, chart in choice.options:
        number = next(numbers)
        options += f'<option value="option-{number}">{escape(name)}</option>'
        chosen = "" if figures else " chosen"
        figures += (
            f'<div class="option{chosen}" id="option-{number}">'
            f"{_drawing(number, chart, heading, summary=f'The numbers: {name}', is_open=False)}</div>\n"
        )
    name = f"choice-{number}"
    select = f'<label for="{name}">{escape(choice.label)}</label><select id="{name}" data-choice>{options}</select>'
    return f'<figure class="choice"><p class="chooser">{select}</p>{figures}</figure>\n'


def _drawing(number: int, chart: Chart, heading: str, *, summary: str = "The numbers", is_open: bool = True) -> str:
    title = f"<h3>{escape(chart.title)}</h3>" if chart.title and chart.title != heading else ""
    heads, rows = chart.numbers()
    table = _table(Table(tuple(heads), tuple(tuple(row) for row in rows), f"{chart.title or heading}: the numbers"))
    caption = f"<figcaption>{_words(chart.caption)}</figcaption>" if chart.caption else ""
    return (
        f'{title}<div class="chart" data-chart="{number}"></div>{caption}'
        f'<details class="numbers"{" open" if is_open else ""}><summary>{escape(summary)}</summary>{table}</details>'
    )


def _table(table: Table) -> str:
    """A table in a box that scrolls; one of sentences becomes a stack of cards on a phone.

    Roles keep it a table to screen readers, also as cards.
    """
    kinds = [_kind([row[place] for row in table.rows]) for place in range(len(table.heads))]
    columns = [*zip(table.heads, kinds, strict=True)]
    heads = "".join(f'<th scope="col" role="columnheader"{_of(kind)}>{escape(head)}</th>' for head, kind in columns)
    rows = "".join(f'<tr role="row">{_row(row, columns)}</tr>' for row in table.rows)
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    label = escape(table.caption or table.heads[0])
    box = " ".join(["scroll", *(["long"] if len(table.rows) > MAX_ROWS else [])])
    cards = _of("cards" if kinds.count("words") > 1 else "")
    return (
        f'<div class="{box}" tabindex="0" role="region" aria-label="{label}"><table role="table"{cards}>{caption}'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{rows}</tbody></table></div>\n'
    )


def _row(row: Sequence[Cell], columns: Sequence[tuple[str, str]]) -> str:
    (_, kind), *others = columns
    first = f'<th scope="row" role="rowheader"{_of(kind)}>{_cell(row[0])}</th>'
    return first + "".join(
        f'<td role="cell" data-head="{escape(head)}"{_of(kind)}>{_cell(cell)}</td>'
        for cell, (head, kind) in zip(row[1:], others, strict=True)
    )


def _of(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return _words(cell)
    icon = f'<svg viewBox="0 0 16 16" aria-hidden="true">{_ICONS[cell.tone]}</svg>'
    return f'<span class="badge {cell.tone}">{icon}{escape(cell.text)}</span>'


def _words(text: str) -> str:
    """Text as HTML, without line breaks within a number."""
    return escape(_NO_BREAK.sub("\u00a0", text))


def _kind(cells: Sequence[Cell]) -> str:
    """The layout of a column: numbers to the right, sentences with a minimum width, others as narrow as they are."""
    words = [cell for cell in cells if cell not in ("", "–")]
    if words and all(isinstance(cell, str) and _NUMBER.fullmatch(cell) for cell in words):
        return "number"
    return "words" if any(isinstance(cell, str) and len(cell) > MAX_SHORT_CELL for cell in words) else ""


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    return files("matchbandit.figures").joinpath(name).read_text(encoding="utf-8")


def _licences() -> str:
    return "\n\n".join(_asset(f"vendor/{name}").strip() for name in _LICENCES)
