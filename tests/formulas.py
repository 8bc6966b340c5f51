"""The formulas of a Markdown page: what its source has, and what is wrong with them."""

import re

CODE = re.compile(r"^( *)```.*?^\1```[^\n]*$|`[^`]*`", re.MULTILINE | re.DOTALL)
DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
INLINE = re.compile(r"(?<![\w$\\-])\$(?![\s$])([^$]+?)(?<!\s)\$(?![\w$])")
"""As a code-hosting site takes it: neither a letter nor a digit beside the dollars, and no space inside them."""
MARKER = re.compile(r"\s*([-+*=>]|\d+[.)])\s|\s*#")
"""How a list item, a quotation or a heading begins, and a formula that was broken there."""


def prose(text):
    """The page without its code."""
    return CODE.sub("`", text)


def formulas(text):
    """The TeX of every formula of a page, in order, and whether it is displayed on lines of its own."""
    text = prose(text)
    either = re.compile(f"{DISPLAY.pattern}|{INLINE.pattern}", re.DOTALL)
    return [((match[1] or match[2]).strip(), match[1] is not None) for match in either.finditer(text)]


def faults(text):
    """What keeps the formulas of a page from being typeset as they were meant, a line for each fault."""
    text = prose(text)
    found = [f"empty line in {tex!r}" for tex in DISPLAY.findall(text) if re.search(r"\n\s*\n", tex)]
    rest = DISPLAY.sub("\n", text)
    lines = [line for tex in DISPLAY.findall(text) for line in tex.splitlines()]
    lines += [line for tex in INLINE.findall(rest) for line in tex.splitlines()[1:]]
    found += [f"begins like a list or a heading: {line}" for line in lines if MARKER.match(line)]
    for tex, displayed in formulas(text):
        if tex.count("{") != tex.count("}"):
            found.append(f"unbalanced braces: {tex}")
        if re.search(r"\\operatorname\b|<\S" if displayed else r"\\operatorname\b|<\S|\\[^A-Za-z]", tex):
            found.append(f"not for a code-hosting site: {tex}")
    rest = INLINE.sub("x", rest)
    found += [f"unbalanced $: {line}" for line in rest.splitlines() if "$" in line]
    found += [f"TeX outside a formula: {line}" for line in rest.splitlines() if re.search(r"\\[A-Za-z]", line)]
    found += [f"formula in a heading: {line}" for line in text.splitlines() if re.match(r"#+ .*\$", line)]
    found += [f"formula in a link: {link}" for link in re.findall(r"\[[^\]]*\$[^\]]*\]\(", text)]
    found += [f"begins like a formula: {line}" for line in rest.splitlines() if re.match(r"\s*[+=]\s", line)]
    found += [f"a comment to the site: {line}" for line in rest.splitlines() if re.match(r"\s*%", line)]
    rows = [row for row in text.splitlines() if row.startswith("|")]
    found += [f"| inside a formula: {row}" for row in rows if any(cell.count("$") % 2 for cell in row.split("|"))]
    return found + [f"begins a list within a paragraph: {line}" for line in sudden_items(rest)]


def sudden_items(text):
    """The list items that follow a line of a paragraph, as a formula does that was broken before a minus."""
    inside, before = False, ""
    for line in text.splitlines():
        item = bool(re.match(r"\s*[-*]\s", line))
        if item and before.strip() and not inside:
            yield line
        inside = bool(line.strip()) and (item or inside or bool(re.match(r"\d+\.\s", line)))
        before = line
