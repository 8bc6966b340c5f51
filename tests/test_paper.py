"""The article: every formula, theorem, proof, table and citation of its page is in it."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
import typst
from formulas import formulas

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "certified.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (DOCS / "bibliography.md").read_text(encoding="utf-8")
SPEC = importlib.util.spec_from_file_location("paper", DOCS / "make" / "paper.py")
paper = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(paper)


def article(text):
    """The body of the article of a small page, after the template."""
    return paper.build_source(f"# Title\n\n{text}\n", BIBLIOGRAPHY).rpartition("#abstract]")[2]


@pytest.fixture(scope="module")
def source():
    return paper.read_source()


def nodes(tree, kind):
    if isinstance(tree, list):
        return [node for part in tree for node in nodes(part, kind)]
    if not isinstance(tree, dict):
        return []
    return [tree] if tree.get("t") == kind else [node for part in tree.values() for node in nodes(part, kind)]


def test_each_formula_of_the_page_is_parsed_as_the_site_parses_it():
    parsed = [
        (node["c"][1].strip(), node["c"][0]["t"] == "DisplayMath")
        for node in nodes(paper.parse(PAGE)["blocks"], "Math")
    ]
    assert parsed == formulas(PAGE)
    assert len(parsed) > 500


@pytest.mark.slow
def test_no_tex_is_left_in_the_article(source):
    macros = {macro for tex, _ in formulas(PAGE) for macro in re.findall(r"\\[A-Za-z]+", tex)}
    assert len(macros) > 30
    assert [macro for macro in macros if re.search(re.escape(macro) + r"(?![A-Za-z])", source)] == []


def test_a_formula_that_is_not_understood_stops_the_article():
    with pytest.raises(RuntimeError, match="notamacro"):
        article(r"A formula $\notamacro{x}$.")


@pytest.mark.slow
def test_each_theorem_and_each_proof_of_the_page_has_its_block(source):
    labels = re.findall(r"^\*\*((?:Theorem|Lemma|Corollary|Proposition)[^*]*)\*\*", PAGE, re.MULTILINE)
    assert len(labels) >= 16
    assert re.findall(r'#statement-title\("([^"]+)"', source) == labels
    assert source.count("\n#proof[\n") == len(re.findall(r"^\*Proof", PAGE, re.MULTILINE))
    assert source.count("#qed\n") == PAGE.count("∎")
    assert "∎" not in source


def test_a_statement_ends_at_its_proof_and_a_proof_at_its_sign():
    text = article(
        "**Lemma 1.** Let\n\n$$\nx = 1.\n$$\n\nThen $y$.\n\n*Proof.* First.\n\nSecond. ∎\n\n"
        "**Lemma 2.** Short.\n*Proof.* By Lemma 1. ∎\n\nAfter.\n\n**Theorem 1.** Without proof.\n\nLast."
    )
    blocks = re.findall(r"#(statement|proof)\[\n(.*?)\n\]\n", text, re.DOTALL)
    assert [kind for kind, _ in blocks] == ["statement", "proof", "statement", "proof", "statement"]
    assert "Then $y$" in blocks[0][1]
    assert "First" in blocks[1][1]
    assert "Second. #qed" in blocks[1][1]
    assert "#link(<lemma-1>)[Lemma~1]." in blocks[3][1]
    assert "Last" not in blocks[4][1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("*Proof.* Never ends.\n\n## Next", "no ∎"),
        ("*Proof.* Done.∎", "stand alone"),
        ("See [2024](bibliography.md#nobody2024).", "cites nobody2024"),
    ],
)
def test_what_the_article_cannot_show_is_an_error(text, message):
    with pytest.raises(paper.PageError, match=message):
        article(text)


def test_citations_are_numbered_and_listed(source):
    keys = {key.lower() for key in re.findall(r"bibliography\.md#(\w+)", PAGE)} | {"sentenac2021"}
    listed = re.findall(r'^#reference\((\d+), "(\w+)"\)\[(.+?)\]$', source, re.MULTILINE | re.DOTALL)
    assert [key for _, key, _ in listed] == sorted(keys)
    assert [int(number) for number, _, _ in listed] == list(range(1, len(keys) + 1))
    assert "@@" not in source
    for number, key, _ in listed:
        assert rf"#link(<{key}>)[\[{number}\]]" in source


def test_links_powers_brackets_and_tables_are_rewritten():
    text = article(
        "See [theory](theory.md#x) and [code](../src/a.py) and [here](#there), 10^6 rounds.\n\n"
        "| T = 10^12 | text | number |\n|---|---|---|\n| .9 .8 | a | 1,234 ± 5 |\n| b | 2 | – |\n\n"
        "$$\n\\Big[\\frac{a}{b}\\Big]\n$$"
    )
    assert '#link("https://github.com/matchbandit/matchbandit/blob/main/docs/theory.md#x")[theory]' in text
    assert '#link("https://github.com/matchbandit/matchbandit/blob/main/src/a.py")[code] and here, $10^6$' in text
    assert "align: (left,left,right,)" in text
    assert "T = $10^12$" in text
    assert ".9 \u200b.8" in text
    assert "#scale" not in text


@pytest.mark.slow
def test_the_article_compiles_with_every_theorem_and_reference(tmp_path, source):
    output = tmp_path / "article.pdf"
    paper.compile_article(source, output)
    assert output.read_bytes().startswith(b"%PDF-")
    metadata = json.loads(typst.query(str(output.with_suffix(".typ")), "metadata", sys_inputs={"version": "x"}))
    names = [item["value"] for item in metadata]
    numbers = re.findall(r"^\*\*(Theorem|Lemma|Corollary|Proposition) (\d+)", PAGE, re.MULTILINE)
    assert [name for name in names if "-" in name] == [f"{kind.lower()}-{number}" for kind, number in numbers]


def test_a_missing_tool_is_reported_in_one_line(monkeypatch, capsys, tmp_path):
    def no_module():
        raise ModuleNotFoundError("No module named 'typst'", name="typst")

    monkeypatch.setattr(paper, "read_source", no_module)
    paper.main(tmp_path / "article.pdf")
    assert capsys.readouterr().out == 'skipped: the article needs typst. Install it with: pip install ".[paper]"\n'
