"""Build the article: the mathematics of docs/certified.md as a PDF.

`python docs/make/paper.py [FILE.pdf]`. Pandoc parses the page and converts its formulas, this script finds the
theorems, proofs and citations, and Typst typesets the result with its bundled fonts. Nothing is downloaded.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parents[1]
PROJECT = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEMPLATE = Path(__file__).with_name("paper.typ")
PDF = DOCS / "_build" / "paper" / "matchbandit-certified.pdf"
CITATION = re.compile(r"@@(\w+)@@")
NUMBER_CELL = re.compile(r"[-−–]?|[-−–]?[\d., \u202f±%]*\d[\d., \u202f±%]*")
STATEMENT = re.compile(r"(Theorem|Lemma|Corollary|Proposition|Definition)\b(?: (\d+))?")
REFERENCE_NUMBER = re.compile(r"(\d+)(\W.*)?$")
POWER = re.compile(r"10\^([−-]?\d+)")
DECIMAL = re.compile(r"\.\d")  # Typst breaks no line before it, unless a zero-width space allows it
# Typst scales a matching pair of brackets by its content; TeX's fixed sizes would lose the pairing.
SIZED_OPENING = re.compile(r"\\[bB]igg?l?(?=[(\[]|\\\{)")
SIZED_CLOSING = re.compile(r"\\[bB]igg?r?(?=[)\]]|\\\})")


class PageError(Exception):
    """The page has a structure that the article cannot show."""


def pandoc(text, source, target):
    """Convert text between two formats of pandoc; a formula that it does not understand is an error."""
    import pypandoc  # noqa: PLC0415  # an optional dependency: `make paper` reports it when it is missing

    return pypandoc.convert_text(text, target, format=source, extra_args=["--fail-if-warnings", "--wrap=preserve"])


def parse(markdown):
    """Return pandoc's document of a Markdown page."""
    return json.loads(pandoc(markdown, "gfm+tex_math_dollars", "json"))


def plain_text(node):
    """Return the text of a node or a list of nodes, with a dollar sign for each formula."""
    if isinstance(node, list):
        return "".join(map(plain_text, node))
    if not isinstance(node, dict):
        return ""
    if node["t"] in ("Str", "Code"):
        return node["c"] if node["t"] == "Str" else node["c"][1]
    if node["t"] in ("Space", "SoftBreak", "LineBreak"):
        return " "
    return "$" if node["t"] == "Math" else plain_text(node.get("c", []))


def raw(text, *, block=False):
    """Return a node that pandoc copies into the article as it is."""
    return {"t": "RawBlock" if block else "RawInline", "c": ["typst", text]}


def is_proof_title(node):
    return node["t"] == "Emph" and plain_text(node).startswith("Proof")


def statement_label(block):
    """Return the label of a theorem, such as "Lemma 1.", if the paragraph begins with one."""
    if block["t"] != "Para" or block["c"][0]["t"] != "Strong":
        return None
    label = plain_text(block["c"][0])
    return label if STATEMENT.match(label) else None


def is_proof(block):
    return block["t"] == "Para" and is_proof_title(block["c"][0])


def split_paragraph(block):
    """Split a paragraph that holds both a statement and, after it, its proof."""
    if block["t"] != "Para":
        return [block]
    for i, node in enumerate(block["c"][1:], start=1):
        if is_proof_title(node):
            return [{"t": "Para", "c": block["c"][: i - 1]}, {"t": "Para", "c": block["c"][i:]}]
    return [block]


def without_qed(block):
    """Return the last paragraph of a proof with the sign ∎ moved to the margin, or None if it has no such sign."""
    if block["t"] != "Para" or not plain_text(block).endswith("∎"):
        return None
    inlines = list(block["c"])
    last = inlines.pop()
    if last != {"t": "Str", "c": "∎"}:
        raise PageError(f"∎ must stand alone after a space; got {plain_text(last)!r}")
    return {"t": "Para", "c": [*inlines, raw("#qed")]}


def statement_name(kind, number):
    """Return the name by which a numbered theorem is referred to."""
    return f"{kind.lower()}-{number}"


def mark_statements(blocks):
    """Put each theorem and each proof into a block of its own."""
    blocks = [part for block in blocks for part in split_paragraph(block)]
    marked = []
    i = 0
    while i < len(blocks):
        label = statement_label(blocks[i])
        if label:
            end = _statement_end(blocks, i)
            kind, number = STATEMENT.match(label).groups()
            name = f', name: "{statement_name(kind, number)}"' if number else ""
            title = raw(f'#statement-title("{label}"{name})')
            body = [{"t": "Para", "c": [title, *blocks[i]["c"][1:]]}, *blocks[i + 1 : end]]
            marked += [raw("#statement[", block=True), *body, raw("]", block=True)]
        elif is_proof(blocks[i]):
            end = _proof_end(blocks, i)
            body = [*blocks[i : end - 1], without_qed(blocks[end - 1])]
            marked += [raw("#proof[", block=True), *body, raw("]", block=True)]
        else:
            end = i + 1
            block = without_qed(blocks[i]) or blocks[i]
            before_table = block["t"] == "Para" and end < len(blocks) and blocks[end]["t"] == "Table"
            marked += [raw("#introduction[", block=True), block, raw("]", block=True)] if before_table else [block]
        i = end
    return marked


def _statement_end(blocks, start):
    """Return where a statement ends: at its proof, or after its paragraph if the next block of note is not a proof."""
    for i in range(start + 1, len(blocks)):
        if is_proof(blocks[i]):
            return i
        if blocks[i]["t"] == "Header" or statement_label(blocks[i]):
            break
    return start + 1


def _proof_end(blocks, start):
    for i in range(start, len(blocks)):
        if without_qed(blocks[i]):
            return i + 1
        if blocks[i]["t"] == "Header":
            break
    raise PageError(f"a proof has no ∎ at its end: {plain_text(blocks[start])[:80]}")


class Rewriter:
    """Rewrite links, references, formulas and tables for the article, and collect the citations."""

    def __init__(self):
        self.cited = set(CITATION.findall(TEMPLATE.read_text(encoding="utf-8")))

    def rewrite(self, node):
        """Return a node, or a list of nodes, as the article has it."""
        if isinstance(node, list):
            return [self.rewrite(part) for part in self._link_references(node)]
        if not isinstance(node, dict):
            return node
        kind = node.get("t")
        if kind == "Math":
            style, tex = node["c"]
            return {"t": "Math", "c": [style, SIZED_CLOSING.sub(r"\\right", SIZED_OPENING.sub(r"\\left", tex))]}
        if kind == "Link":
            return self._link(node)
        if kind == "Table":
            return self._table(node)
        return {key: self.rewrite(value) for key, value in node.items()}

    def _link(self, node):
        attributes, text, (target, title) = node["c"]
        page, _, anchor = target.partition("#")
        if page == "bibliography.md":
            self.cited.add(anchor)
            return {"t": "Span", "c": [["", [], []], [*self.rewrite(text), raw(f"@@{anchor}@@")]]}
        if not page:
            return {"t": "Span", "c": [["", [], []], self.rewrite(text)]}
        if not re.match(r"https?:", target):
            path = page.removeprefix("../") if page.startswith("../") else f"docs/{page}"
            target = f"{PROJECT['urls']['Repository']}/blob/main/{path}" + (f"#{anchor}" if anchor else "")
        return {"t": "Link", "c": [attributes, self.rewrite(text), [target, title]]}

    def _table(self, node):
        """Align numbers to the right, and let the layout choose the widths of columns."""
        attributes, caption, columns, head, bodies, foot = node["c"]
        rows = [row[1] for body in bodies for row in body[3]]
        aligned = []
        for i in range(len(columns)):
            is_number = all(NUMBER_CELL.fullmatch(plain_text(row[i][4])) for row in rows)
            aligned.append([{"t": "AlignRight" if is_number and i else "AlignLeft"}, {"t": "ColWidthDefault"}])
        return {"t": "Table", "c": [attributes, caption, aligned, *self.rewrite([head, bodies, foot])]}

    @staticmethod
    def _link_references(nodes):
        """Turn the words "Lemma 4" into a link to that lemma, and 10^6 into a power."""
        linked = []
        i = 0
        while i < len(nodes):
            node = nodes[i]
            word = node["c"] if isinstance(node, dict) and node.get("t") == "Str" else ""
            number = None
            opening, kind = re.fullmatch(r"(\W*)(Theorem|Lemma|Corollary|Proposition)?.*", word, re.DOTALL).groups()
            if kind and word == opening + kind and i + 2 < len(nodes) and nodes[i + 2].get("t") == "Str":
                number = REFERENCE_NUMBER.match(nodes[i + 2]["c"])
            if number:
                name = statement_name(kind, number[1])
                if opening:
                    linked.append({"t": "Str", "c": opening})
                linked.append(raw(f"#link(<{name}>)[{kind}~{number[1]}]"))
                if number[2]:
                    linked.append({"t": "Str", "c": number[2]})
                i += 3
                continue
            if i and DECIMAL.match(word) and nodes[i - 1].get("t") == "Space":
                linked.append({"t": "Str", "c": "\u200b"})
            linked += Rewriter._powers(word) if POWER.search(word) else [node]
            i += 1
        return linked

    @staticmethod
    def _powers(word):
        parts = POWER.split(word)
        nodes = []
        for text, exponent in zip(parts[::2], [*parts[1::2], None], strict=True):
            if text:
                nodes.append({"t": "Str", "c": text})
            if exponent:
                ten = [{"t": "InlineMath"}, f"10^{{{exponent.replace('−', '-')}}}"]
                nodes.append({"t": "Math", "c": ten})
        return nodes


def bibliography_entries(markdown):
    """Return the entries of docs/bibliography.md by key: authors, title, venue, and a link if there is one."""
    entries = {}
    for key, text in re.findall(r"^### (\w+)\n(.*?)(?=\n#|\Z)", markdown, re.MULTILINE | re.DOTALL):
        line = " ".join(text.split())
        # The reference ends with the year after the title; comments on what the project uses it for follow.
        match = re.match(r"[^*]*\*[^*]+\*.*?\b\d{4}\.(?: \[arXiv:[^\]]+\]\([^)]+\)\.)?", line)
        if not match:
            raise PageError(f"the bibliography's entry {key} has no title in *…* or no year")
        entries[key.lower()] = match[0]
    return entries


def build_source(page, bibliography):
    """Return the article in Typst's language, from the Markdown of the page and of the bibliography."""
    document = parse(re.sub(r"\b([Tt]his) page\b", r"\1 article", page))
    blocks = document["blocks"]
    if blocks[0]["t"] != "Header" or blocks[0]["c"][0] != 1:
        raise PageError("the page must begin with its title")
    rewriter = Rewriter()
    document["blocks"] = rewriter.rewrite(mark_statements(blocks[1:]))
    body = pandoc(json.dumps(document), "json", "typst")

    entries = bibliography_entries(bibliography)
    missing = sorted(rewriter.cited - set(entries))
    if missing:
        raise PageError(f"the page cites {', '.join(missing)}, which docs/bibliography.md does not have")
    numbers = {key: number for number, key in enumerate(sorted(rewriter.cited), start=1)}
    text = TEMPLATE.read_text(encoding="utf-8") + "\n" + body
    text = CITATION.sub(lambda match: rf"~#link(<{match[1]}>)[\[{numbers[match[1]]}\]]", text)
    references = [
        f'#reference({number}, "{key}")[{pandoc(entries[key], "gfm", "typst").strip()}]'
        for key, number in numbers.items()
    ]
    return "\n\n".join([text, "== References", *references, ""])


def read_source():
    """Return the article of the project's pages in Typst's language."""
    pages = ((DOCS / name).read_text(encoding="utf-8") for name in ("certified.md", "bibliography.md"))
    return build_source(*pages)


def compile_article(source, output):
    """Typeset the article; `output` is a PDF file."""
    import typst  # noqa: PLC0415

    output.parent.mkdir(parents=True, exist_ok=True)
    written = output.with_suffix(".typ")
    written.write_text(source, encoding="utf-8")
    typst.compile(
        str(written), output=str(output), ignore_system_fonts=True, sys_inputs={"version": PROJECT["version"]}
    )


def main(output=PDF):
    try:
        compile_article(read_source(), Path(output))
    except ModuleNotFoundError as error:
        if error.name not in ("pypandoc", "typst"):
            raise
        print(f'skipped: the article needs {error.name}. Install it with: pip install ".[paper]"')
        return
    print(f"wrote {output}")


if __name__ == "__main__":
    main(*sys.argv[1:])
