"""Configure Sphinx for the site that `make docs` builds from the Markdown pages and the docstrings.

The pages are plain Markdown, so that they can be read on a code-hosting site, too. The table of contents comes from the
list "All pages" of `index.md`, and pages of the project's root are included.
"""

import ast
import inspect
import logging
import re
import textwrap
import tomllib
from pathlib import Path

from docutils import nodes

import matchbandit as mb

DOCS = Path(__file__).parent
ROOT = DOCS.parent

project = "matchbandit"
author = copyright = "The matchbandit developers"
release = version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx_copybutton"]
exclude_patterns = ["_build", "make"]
nitpicky = True
# Types of other projects have no page here. Links between our own pages are all checked.
nitpick_ignore_regex = [("py:.*", ".*")]

myst_enable_extensions = ["amsmath", "dollarmath"]
myst_dmath_allow_labels = myst_dmath_allow_space = False  # a code-hosting site takes neither
html_math_renderer = "katex"  # see math_visitors
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
logging.getLogger("traitlets").setLevel(logging.WARNING)  # or every notebook is announced

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # see signature_from_source
autodoc_default_options = {"members": True}
autosummary_generate = False
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
smartquotes = False
default_role = "code"  # docstrings put names between single backticks

html_theme = "furo"
html_title = f"matchbandit {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # it fetches pages, which a browser forbids for files
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

CITATION = re.compile(r"\[([A-Z]\w+\d{4}[a-z]?)\]")
MARKED = re.compile(r"(`[^`]*`|(?<!\w)\*\w[^*]*\*(?!\w))")
LONGEST_UNBROKEN_CODE = 23  # characters; on a phone a line has about 40
AT_THE_ROOT = {"CONTRIBUTING.md": "site/contributing", "CHANGELOG.md": "site/changelog"}


def contents(index):
    """Return the table of contents, from the lines `- **Learn**: [Tutorial](tutorial.md) · …` of the front page."""
    listed = index.partition("## All pages")[2]
    parts = re.findall(r"^- \*\*(.+?)\*\*:(.*?)(?=^- \*\*|\Z)", listed, re.MULTILINE | re.DOTALL)
    trees = []
    for caption, links in parts:
        entries = "\n".join(f"{text} <{page}>" for text, page in re.findall(r"\[([^\]]+)\]\(([^)]+)\)", links))
        trees.append(f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n")
    return "".join(trees)


def catalogue():
    """Return a section with the docstring of each policy of the catalogue."""
    section = "\n## `{}`\n\n```{{eval-rst}}\n.. autoclass:: {}.{}\n   :no-members:\n```\n"
    return "".join(section.format(name, kind.__module__, kind.__qualname__) for name, kind in mb.CATALOGUE.items())


def complete_source(app, docname, source):
    """Include pages of the project's root, redirect links to them, and append generated sections."""
    text = source[0]
    for name, page in AT_THE_ROOT.items():
        if docname == page:
            app.env.note_dependency(str(ROOT / name))
            text = re.sub(r"\]\((?!https?:|#)(?:docs/)?", "](/", (ROOT / name).read_text(encoding="utf-8"))
    for name, page in AT_THE_ROOT.items():
        text = re.sub(rf"\]\((?:\.\./|/)*{re.escape(name)}", f"](/{page}.md", text)
    more = {"index": lambda: contents(text), "api/catalogue": catalogue}.get(docname, str)
    source[0] = text + more()


def docstring_to_rst(app, what, name, obj, options, lines):
    """Turn a docstring, plain text with `names` in backticks, into reStructuredText.

    Accidental markup is escaped, headings of sections such as `Parameters` become rubrics, and citations become links.
    """
    example = section = False
    plain, lines[:] = list(lines), []
    for at, line in enumerate(plain):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        below = plain[at + 1].strip() if at + 1 < len(plain) else ""
        if line.strip() and set(below) == {"-"}:
            lines += ["", f".. rubric:: {line.strip()}", ""]
            section = True
        elif section and line.strip() and set(line.strip()) == {"-"}:
            continue  # the rule below a heading
        elif example:
            lines.append(line)
        else:
            if section and line and not line.startswith(" "):
                lines.append("")  # an entry without a description does not run into the next one
            parts = MARKED.split(line)  # every second one is `code` or *emphasis*, and stays
            parts[::2] = (CITATION.sub(_cited, _escaped(part)) for part in parts[::2])
            lines.append("".join(parts))


def _escaped(text):
    return re.sub(r"[*|]|(?<=\w)_(?!\w)", r"\\\g<0>", text)


def _cited(key):
    return f"`{key[0]} <../bibliography.html#{key[1].lower()}>`__"


def signature_from_source(app, what, name, obj, options, signature, returns):
    """Return the signature as written in the source: NumPy's types are unreadable once they are evaluated."""
    own = obj.__init__ if inspect.isclass(obj) else obj
    try:
        node = ast.parse(textwrap.dedent(inspect.getsource(own))).body[0]
        arguments = re.sub(r"^(self|cls)(, )?", "", ast.unparse(node.args))
    except (TypeError, OSError, AttributeError):  # not a function, or generated, such as a dataclass's __init__
        return signature and signature.replace("<factory>", "..."), returns
    if app.env.docname == "api/catalogue":  # keep the options of `mb.policy(name, …)`
        arguments = re.sub(r"^setting: .*?, rng: [\w.]+(, )?|(, )?\*\*options: \w+$", "", arguments)
    return f"({arguments})", ast.unparse(node.returns).strip("'") if node.returns and own is obj else None


def math_visitors(kind):
    """Return visitors that write a formula as TeX in an element, which `math.js` typesets in the browser."""

    def visit(translator, node):
        tag = {"inline": "span", "display": "div"}[kind]
        start = translator.starttag(node, tag, "", CLASS=f"math {kind} notranslate nohighlight")
        translator.body.append(f"{start}{translator.encode(node.astext().strip())}</{tag}>")
        raise nodes.SkipNode

    return visit, None


def add_katex(app, pagename, templatename, context, doctree):
    """Load KaTeX, from local files, on pages that have formulas."""
    if doctree and next(doctree.findall(lambda node: isinstance(node, nodes.math | nodes.math_block)), None):
        app.add_css_file("katex/katex.min.css")
        app.add_js_file("katex/katex.min.js", loading_method="defer")
        app.add_js_file("math.js", loading_method="defer")


def keep_short_code_on_one_line(app, doctree, docname):
    """Let a browser not break a short name or option, such as `--part-runs N`, after its hyphens."""
    for code in doctree.findall(nodes.literal):
        if len(code.astext()) <= LONGEST_UNBROKEN_CODE:
            code["classes"].append("unbroken")


def setup(app):
    """Register the handlers; Sphinx calls this."""
    app.add_html_math_renderer("katex", math_visitors("inline"), math_visitors("display"))
    app.connect("html-page-context", add_katex)
    app.connect("source-read", complete_source)
    app.connect("doctree-resolved", keep_short_code_on_one_line)
    app.connect("autodoc-process-docstring", docstring_to_rst)
    app.connect("autodoc-process-signature", signature_from_source)
