"""Each correction to the paper is stored once: the docs show it, and bounds quote it."""

import re
from pathlib import Path

from formulas import plain

import matchbandit as mb
from matchbandit.theory import CORRECTIONS
from matchbandit.theory.corrections import FIRST_BORDER, SINGLE_BORDER

DOCS = Path(__file__).parents[2] / "docs" / "theory.md"
SRC = Path(__file__).parents[2] / "src" / "matchbandit" / "theory"


def test_the_docs_show_every_correction():
    head = ("where", "the paper as printed", "here", "how one sees it")
    rows = [(c.where, c.printed, c.here, c.evidence) for c in CORRECTIONS.values()]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in (head, *rows))
    section = DOCS.read_text(encoding="utf-8").partition("## What was corrected")[2].partition("\n## ")[0]
    shown = "".join(f"{line}\n" for line in section.splitlines() if line.startswith("|") and "---" not in line)
    assert plain(shown) == "".join(table.split()), f"the table of docs/theory.md should say:\n{table}"


def test_bounds_quote_the_notes_of_their_corrections():
    problems = (mb.Bipartite([0.9, 0.3], [0.8, 0.4]), mb.Monopartite([0.9, 0.8, 0.5, 0.4, 0.2, 0.1]))
    bounds = [bound for problem in problems for bound in mb.bounds(problem, horizon=1000, delta=0.05)]
    for name, correction in CORRECTIONS.items():
        assert not correction.note or any(correction.note in bound.note for bound in bounds), name


def test_the_constants_are_those_of_the_text():
    assert (SINGLE_BORDER, FIRST_BORDER) == (72, 192)
    assert "192 for 72 at border 1" in CORRECTIONS["border-constants"].note


def test_docstrings_refer_to_corrections_that_exist():
    source = " ".join(file.read_text() for file in SRC.glob("*.py"))
    lists = re.findall(r'((?:"[\w-]+"(?:, | and )?)+) in `CORRECTIONS`', source)
    names = [name for each in lists for name in re.findall(r'"([\w-]+)"', each)]
    assert len(set(names)) >= 20
    assert set(names) <= set(CORRECTIONS)
