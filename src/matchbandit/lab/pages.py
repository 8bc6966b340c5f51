"""Pages of charts and tables: one HTML file that needs no network, under a strict content-security policy."""

import os
import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from matchbandit.extras import need
from matchbandit.files import write_atomically

if TYPE_CHECKING:
    from jinja2 import Environment

Tone = Literal["good", "part", "bad", "plain"]
MAX_SHORT_CELL = 24  # characters; a longer cell is a sentence
_NUMBER = re.compile(
    r"–|(?!\d+\.\d+\.\d)[≈<>≤≥±~]?\s*[-−+]?\d(?:[\d\s.,()%±–−+×·⁰¹²³⁴⁵⁶⁷⁸⁹⁻-]|to|e|of)*(?:s|ms|h|min|d)?"
)


@dataclass(frozen=True)
class Badge:
    """A verdict in a cell: a word with a sign, so that it does not depend on colour alone."""

    text: str
    tone: Tone = "plain"

    def __str__(self) -> str:
        """Return the word."""
        return self.text


Cell = str | Badge


@dataclass(frozen=True)
class Table:
    """Text and numbers in rows; the first cell of a row is its head."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    group_by: str = ""
    """The head of a column whose equal neighbours form a group of rows, with a headline of its own."""

    @cached_property
    def columns(self) -> list[tuple[int, str, bool]]:
        """The columns beside that of groups: position, head, and whether its cells are numbers."""
        every = [[str(row[at]) for row in self.rows] for at in range(len(self.heads))]
        numeric = [any(cells) and all(_NUMBER.fullmatch(cell) for cell in cells if cell) for cells in every]
        return [(at, head, numeric[at]) for at, head in enumerate(self.heads) if head != self.group_by]

    @property
    def groups(self) -> list[tuple[str, list[tuple[Cell, ...]]]]:
        """Groups of rows with their headlines; a table without `group_by` is one group."""
        at = self.heads.index(self.group_by) if self.group_by else None
        return [(name, [*rows]) for name, rows in groupby(self.rows, lambda row: "" if at is None else str(row[at]))]

    @property
    def has_sentences(self) -> bool:
        """Whether several columns hold sentences, so that on a phone each row is a card."""
        columns = zip(*self.rows, strict=True)
        return sum(any(len(str(cell)) > MAX_SHORT_CELL for cell in column) for column in columns) > 1


def write_page(path: str | os.PathLike[str], template: str, **context: Any) -> Path:
    """Write a page from a template of `lab/templates`, whole or not at all; text is never read as HTML."""
    write_atomically(Path(path), render_page(template, **context).encode("utf-8", errors="replace"))
    return Path(path)


def render_page(template: str, **context: Any) -> str:
    """Return a page as text: the template of this name with what it shows."""
    return _environment().get_template(template).render(context)


@cache
def _environment() -> "Environment":
    jinja2 = need("jinja2", "writing pages")
    loader = jinja2.PackageLoader("matchbandit.lab")
    environment: Environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.globals |= {"static": _static, "content_hash": _content_hash, "Table": Table}
    headings = re.compile(r'<h2 id="([^"]*)">(.*?)</h2>')
    environment.filters["headings"] = lambda html: headings.findall(str(html))
    environment.filters["slug"] = lambda title: re.sub(r"\W+", "-", title.lower()).strip("-")
    environment.tests["badge"] = lambda cell: isinstance(cell, Badge)
    return environment


@cache
def _static(name: str) -> Any:
    """A script or style, as it is written into a page."""
    folder = files("matchbandit.figures") / "vendor" if name == "vega.js" else files("matchbandit.lab") / "static"
    return need("markupsafe", "writing pages").Markup((folder / name).read_text(encoding="utf-8"))


@cache
def _content_hash(name: str) -> str:
    """The source that allows a script or style in the content-security policy."""
    return f"'sha256-{b64encode(sha256(_static(name).encode()).digest()).decode()}'"
