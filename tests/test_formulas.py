"""The formulas of the docs can be typeset, on the site and on a code-hosting site."""

from pathlib import Path

import pytest
from formulas import faults, formulas

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "CONTRIBUTING.md", *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)]


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_formula_is_broken(page):
    assert faults(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("The bound is\n\n  log F = S_a\n   + S_b log(x).", "begins like a formula"),
        ("The bound is\nlog F = S_a\n- S_b log(x).", "begins a list within a paragraph"),
        ("$$\na\n+ b\n$$", "begins like a list or a heading"),
        ("$$\na\n# b\n$$", "begins like a list or a heading"),
        ("so $a\n- b$ holds", "begins like a list or a heading"),
        ("$$\na\n\nb\n$$", "empty line"),
        ("$$\na\n", "unbalanced $"),
        ("so $a holds", "unbalanced $"),
        ("so $a$b holds", "unbalanced $"),
        ("| $a | b$ | c |", "| inside a formula"),
        ("so $x_{a$ holds", "unbalanced braces"),
        (r"so \alpha holds", "TeX outside a formula"),
        (r"so $\operatorname{kl}(a, b)$ holds", "not for a code-hosting site"),
        (r"so $\{a\}$ holds", "not for a code-hosting site"),
        ("so $a <b$ holds", "not for a code-hosting site"),
        ("## The bound $a$", "formula in a heading"),
        ("see [the bound $a$](theory.md)", "formula in a link"),
        ("in 27\n% of the runs", "a comment to the site"),
    ],
)
def test_a_broken_formula_is_seen(text, fault):
    assert [line for line in faults(text) if line.startswith(fault)]


def test_a_page_without_a_fault_has_its_formulas_in_order():
    text = "So $a < b$:\n\n$$\n\\frac{a}{b} < 1\n$$\n\n- `$ make` and $c$,\n- or $10^6$.\n\n```sh\necho $HOME\n```\n"
    assert formulas(text) == [("a < b", False), (r"\frac{a}{b} < 1", True), ("c", False), ("10^6", False)]
    assert faults(text) == []
