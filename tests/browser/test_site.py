"""The site builds without a warning, all of it hangs together, nothing in it needs a network, and its search finds."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from formulas import formulas

import matchbandit as mb

pytestmark = pytest.mark.slow  # the whole site is built

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.places = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe") and given.get("src"):
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") not in ("canonical", "index", "search", "next", "prev", "genindex"):
            self.loads.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as `make docs` builds it, but for the notebook, which `test_docs` runs."""
    out = tmp_path_factory.mktemp("site") / "html"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    flags = re.search(r"sphinx-build (.*) docs docs/_build/html", makefile)[1].split()
    command = [sys.executable, "-m", "sphinx", *flags, "-D", "nb_execution_mode=off", str(DOCS), str(out)]
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    built = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})
    assert (built.returncode, built.stderr) == (0, "")
    return out


@pytest.fixture(scope="module")
def pages(site):
    return {page: Page(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}


def test_every_page_is_there_and_in_the_sidebar(site, pages):
    sources = [source for kind in ("*.md", "*.ipynb") for source in DOCS.rglob(kind) if "_build" not in source.parts]
    wanted = {source.relative_to(DOCS).with_suffix(".html").as_posix() for source in sources}
    assert sorted(name for name in wanted if site / name not in pages) == []
    front = {urlsplit(link).path for link in pages[site / "index.html"].links}
    top = {name for name in wanted if not name.startswith("api/")} | {"api/index.html"}
    assert sorted(top - front - {"index.html"}) == []


def test_links_and_anchors_lead_somewhere(site, pages):
    broken = []
    for page, content in pages.items():
        for link in content.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if (
                target in pages and parts.fragment and unquote(parts.fragment) not in pages[target].places
            ) or not target.exists():
                broken.append((page.name, link))
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for page, content in pages.items():
        for source in content.loads:
            parts = urlsplit(source)
            assert not parts.scheme or parts.scheme == "data", (page.name, source)
            assert parts.scheme or (page.parent / unquote(parts.path)).exists(), (page.name, source)


def test_every_public_name_and_every_policy_is_there_with_its_docstring(site, pages):
    places = set().union(*(content.places for page, content in pages.items() if page.parent.name == "api"))
    assert [name for name in mb.__all__ if f"matchbandit.{name}" not in places] == []
    kinds = mb.CATALOGUE.values()
    assert [kind.name for kind in kinds if f"{kind.__module__}.{kind.__qualname__}" not in places] == []
    text = (site / "api" / "catalogue.html").read_text(encoding="utf-8")
    assert "doubly sub-optimal pairs" in text
    assert "../bibliography.html#sentenac2021" in text


def test_the_search_knows_the_words(site):
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\);?\s*", text, re.DOTALL)[1])
    terms = {**index["terms"], **index["titleterms"]}
    for word in ("regret", "sweep", "parquet", "thompson", "slurm"):
        assert any(term.startswith(word) for term in terms), word
    assert "studies" in index["docnames"]


@pytest.fixture
def visited(browser):
    """Opens a page of the site; at the end no script may have complained, and nothing been asked of any network."""
    contexts, complaints = [], []

    def opened(file, query="", **settings):
        contexts.append(browser.new_context(offline=True, **settings))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("file:", "data:")) or complaints.append(request.url))
        page.goto(file.as_uri() + query)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def test_the_search_finds_without_a_network(site, visited):
    page = visited(site / "search.html", "?q=resume")
    page.wait_for_selector("#search-results li a[href^='studies.html']")  # results appear one after the other


@pytest.mark.parametrize(
    "name", ["index", "tutorial", "gallery", "architecture", "studies", "reference", "api/policies", "api/catalogue"]
)
def test_a_phone_shows_a_page_without_sideways_scrolling(name, site, visited):
    page = visited(site / f"{name}.html", viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_dark_page_is_dark(site, visited):
    page = visited(site / "index.html", color_scheme="dark")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", background)[:3])) < 64


@pytest.fixture(scope="module")
def pages_with_formulas(pages):
    """The pages of the site that load KaTeX, by name, with the formulas of their sources."""
    sources = {page.stem: page for page in DOCS.glob("*.md")} | {"contributing": ROOT / "CONTRIBUTING.md"}
    with_formulas = {page.stem for page, content in pages.items() if any("katex" in each for each in content.loads)}
    with_formulas -= {notebook.stem for notebook in DOCS.glob("notebooks/*.ipynb")}
    assert with_formulas == {name for name, source in sources.items() if formulas(source.read_text(encoding="utf-8"))}
    assert {"certified", "policies", "theory"} <= with_formulas
    return {name: formulas(sources[name].read_text(encoding="utf-8")) for name in sorted(with_formulas)}


RENDERED = """async () => {
    await document.fonts.ready
    const scrolls = element => getComputedStyle(element).overflowX === "auto"
    const fits = element => element.closest(".table-wrapper") || (
        element.getBoundingClientRect().right <= innerWidth
        && (element.scrollWidth <= element.clientWidth || !element.clientWidth || scrolls(element)))
    const all = (selector, what) => [...document.querySelectorAll(selector)].map(what)
    const page = document.querySelector("article")
    const rendered = all(".math annotation", each => each.textContent.trim())
    const report = {
        displays: document.querySelectorAll(".math.display > .katex-display").length,
        errors: all(".katex-error, .katex [style*='color']", error => error.title || error.textContent),
        fonts: [...document.fonts].filter(font => font.status === "error").map(font => font.family),
        typefaces: [...document.fonts].filter(font => font.status === "loaded").map(font => font.family),
        wide: all(".math", each => fits(each) ? null : each.querySelector("annotation").textContent).filter(Boolean),
        stranded: all(".math.inline", formula => {
            const parts = formula.querySelectorAll(".katex-base"), after = formula.nextSibling
            if (after?.nodeType !== Node.TEXT_NODE || !/^\\S/.test(after.data)) return null
            const mark = document.createRange()
            mark.setStart(after, 0)
            mark.setEnd(after, 1)
            const ends = parts[parts.length - 1].getBoundingClientRect().right
            return mark.getBoundingClientRect().left < ends - 2 ? formula.textContent + after.data : null
        }).filter(Boolean),
        overflow: document.documentElement.scrollWidth - innerWidth,
    }
    const prose = page.cloneNode(true)
    prose.querySelectorAll(".katex, pre, code, script, style").forEach(element => element.remove())
    return {rendered, text: prose.textContent, ...report}
}"""


def test_every_formula_is_typeset(site, visited, pages_with_formulas):
    page = visited(site / "index.html", viewport={"width": 360, "height": 740})
    views = [(width, *page_formulas) for page_formulas in pages_with_formulas.items() for width in (360, 1280)]
    for width, name, written in views:
        if width == 360:
            page.goto(next(site.rglob(f"{name}.html")).as_uri())
        page.set_viewport_size({"width": width, "height": 740})
        shown = page.evaluate(RENDERED)
        assert shown["rendered"] == [tex for tex, _ in written], name
        assert shown["displays"] == sum(displayed for _, displayed in written), name
        assert (shown["errors"], shown["fonts"]) == ([], []), name
        assert "KaTeX_Main" in shown["typefaces"], name
        assert (shown["wide"], shown["overflow"]) == ([], 0), name
        assert shown["stranded"] == [], name  # commas and brackets on another line than their formula
        assert re.findall(r"\$|\\[A-Za-z]+", shown["text"]) == [], name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_formula_has_the_colour_of_its_sentence(scheme, site, visited):
    page = visited(site / "theory.html", color_scheme=scheme)
    colours = page.locator(".math .katex-html .mord").evaluate_all(
        "all => all.map(each => getComputedStyle(each).color)"
    )
    assert set(colours) == {page.evaluate("getComputedStyle(document.querySelector('article p')).color")}
