"""Every example in README and docs is executed, every link leads somewhere, and the reference is complete."""

import ast
import doctest
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from dataclasses import fields
from pathlib import Path

import duckdb
import nbclient
import nbformat
import pytest
from serving import Serving

import matchbandit as mb
from matchbandit import lab, leagues
from matchbandit.cli import app, main
from matchbandit.lab.paper.figures import FIGURES
from matchbandit.leagues.errors import CODES
from matchbandit.leagues.service.app import create_app
from matchbandit.leagues.settings import LeagueSettings
from matchbandit.policies.explanation import PARTS, Elimination
from matchbandit.problems.families import FAMILIES, parameters_taken
from matchbandit.results.tables import HEAD, TAIL

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)])
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
BLOCK = re.compile(r"^```([\w{}-]*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w-]+\.(?:py|toml|sh))\n")
AS_PRINTED = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NOT_RUN = ("git", "cd", "pip", "source", "sbatch", "ssh", "dask")  # what a page may type besides
ELSEWHERE = ("tcp://", "postgresql://")  # servers of the reader's; test_production.py has a PostgreSQL
SERVER = "http://127.0.0.1:8000"  # where pages say that the server is; here it takes any port that is free
DRAWN = {chart for figure in FIGURES.values() for chart in figure.chart_names}
QUICK = {"fig1-top", "fig3-bottom", "u1-regret", "u1-ratio"}  # figures that are drawn in some seconds, with two runs


def name_of(page):
    return page.relative_to(ROOT).as_posix()


class Reader:
    """Types a page along: the files that it writes, the Python and the commands that it runs, in its order."""

    def __init__(self, page, folder, monkeypatch, capsys):
        self.page, self.folder, self.monkeypatch, self.capsys = page, folder, monkeypatch, capsys
        self.names = {"__name__": "__main__"}
        self.server, self.address = None, SERVER
        monkeypatch.chdir(folder)
        monkeypatch.syspath_prepend(folder)

    def read(self):
        try:
            self.type_along()
        finally:
            if self.server is not None:
                self.server.__exit__()

    def type_along(self):
        for number, (language, text) in enumerate(BLOCK.findall(self.page.read_text(encoding="utf-8"))):
            file = FILE.match(text)
            if file is not None:  # a file of the reader's own
                (self.folder / file[1]).write_text(text, encoding="utf-8")
                self.monkeypatch.delitem(sys.modules, Path(file[1]).stem, raising=False)
            if language == "python" and file is None:
                self.python(text.replace(SERVER, self.address), f"{self.page.name}[{number}]")
            elif language == "console":
                self.console(text)
            elif language == "sql":
                assert duckdb.sql(text).fetchall()
            elif language == "toml":
                tomllib.loads(text)
            elif language == "sh":
                subprocess.run(["bash", "-n"], input=text, text=True, check=True)
            elif language == "json":
                json.loads(text)

    def python(self, text, name):
        if ">>>" not in text:
            exec(compile(text, name, "exec"), self.names)
            return
        example = doctest.DocTestParser().get_doctest(text, self.names, name, str(self.page), 0)
        runner = doctest.DocTestRunner(optionflags=AS_PRINTED)
        runner.run(example, clear_globs=False)
        assert runner.summarize(verbose=False).failed == 0
        self.names = example.globs

    def console(self, text):
        """Run what stands after a `$ `; what stands below it is what it prints."""
        for line, printed in typed(text):
            words = shlex.split(line, comments=True)
            if takes_long(words):
                assert words[1] == "warm-up" or set(words[2:]) <= DRAWN
            elif words[:2] == ["matchbandit", "serve"]:
                self.serve(words)
            elif words[0] == "matchbandit" and not any(word.startswith(ELSEWHERE) for word in words):
                self.compare(printed, run(words, self.monkeypatch, self.capsys))
            elif words[0] == "export":
                name, command = re.fullmatch(r"export (\w+)=\$\((.*)\)", line).groups()
                self.monkeypatch.setenv(name, run(shlex.split(command), self.monkeypatch, self.capsys).strip())
            elif words[0] == "curl":
                self.curl(line, printed)
            elif words[0] == "make":
                assert set(words[1:]) <= set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
            else:
                assert words[0] in (*NOT_RUN, "matchbandit")

    def compare(self, printed, told):
        assert not printed or doctest.OutputChecker().check_output(printed, told, AS_PRINTED), told

    def serve(self, words):
        """Start the server beside the page, on a free port; the page's end stops it."""
        assert words[2:] in ([], ["--port", "8000"])
        self.server = Serving()
        self.address = self.server.address

    def curl(self, line, printed):
        """Run it if there is one; it is no part of the project."""
        if shutil.which("curl"):
            done = subprocess.run(
                ["bash", "-c", line.replace(SERVER, self.address)], capture_output=True, text=True, check=True
            )
            self.compare(printed, done.stdout)


def typed(text):
    """The lines of a console that are typed, each with what is printed below it."""
    assert text.startswith("$ ")
    for lines in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, printed = lines.replace("\\\n", " ").partition("\n")
        yield line, printed


def takes_long(words):
    """Does it compile everything, or draw figures that take more than some seconds, even with two runs?"""
    verb = words[1] if words[0] == "matchbandit" else None
    return verb == "warm-up" or (verb == "reproduce" and not QUICK.intersection(words))


def run(words, monkeypatch, capsys):
    """What a command prints."""
    few = ["--runs", "2"] if words[1] == "reproduce" and "--runs" not in words else []
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", [*words, *few])
    with pytest.raises(SystemExit) as end:
        main()
    told = capsys.readouterr()
    assert not end.value.code, told.err
    return told.out


LONG = sorted(
    {
        " ".join(words)
        for page in PAGES
        for language, text in BLOCK.findall(page.read_text(encoding="utf-8"))
        if language == "console"
        for line, _ in typed(text)
        if takes_long(words := shlex.split(line, comments=True))
    }
)


@pytest.mark.slow
@pytest.mark.parametrize("line", LONG)
def test_what_takes_long_runs(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert ("in all" if "warm-up" in line else "page:") in run(line.split(), monkeypatch, capsys)


SLOW_PAGES = {
    "gallery.md", "watching.md", "production.md", "studies.md", "how-to.md", "drifting.md", "ads-in-slots.md",
    "replay.md",
}  # fmt: skip


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=name_of(page), marks=pytest.mark.slow if page.name in SLOW_PAGES else ()) for page in PAGES],
)
def test_examples_run_and_print_what_they_say(page, tmp_path, monkeypatch, capsys):
    Reader(page, tmp_path, monkeypatch, capsys).read()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name_of)
@pytest.mark.slow
def test_notebooks_run_and_are_kept_without_what_they_print(notebook, tmp_path):
    book = nbformat.read(notebook, as_version=4)
    nbformat.validate(book)
    assert [cell.source for cell in book.cells if cell.get("outputs") or cell.get("execution_count")] == []
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert any("image/png" in output.get("data", {}) for cell in book.cells for output in cell.get("outputs", []))


def blocks(page):
    """The code of a page: language and text of each block."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        return BLOCK.findall(text)
    return [("python", "".join(cell["source"])) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]


def studies_in(language, text):
    """Name and content of the studies that a block writes down, as TOML or as `mb.Study(…)`."""
    if language == "toml":
        found = [tomllib.loads(text)]
    elif language == "python":
        code = doctest.script_from_examples(text) if ">>>" in text else text
        calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
        calls = [call for call in calls if ast.unparse(call.func) in ("mb.Study", "Study")]
        found = [{key.arg: eval(ast.unparse(key.value), {"mb": mb}) for key in call.keywords} for call in calls]
    else:
        found = []
    return [(study["name"], study) for study in found]


def files_in(_, text):
    """Name and content of the file that a block makes."""
    file = FILE.match(text)
    return [] if file is None else [(file[1], text)]


@pytest.mark.parametrize("things_in", [studies_in, files_in])
def test_what_two_pages_name_alike_is_the_same(things_in):
    """A reader who types several pages along in one folder is not refused; within a page a study may grow."""
    contents = defaultdict(lambda: defaultdict(list))
    for page in [*PAGES, *NOTEBOOKS]:
        for language, text in blocks(page):
            for name, content in things_in(language, text):
                contents[name][name_of(page)].append(content)
    assert contents
    differ = {
        name: list(pages)
        for name, pages in contents.items()
        if any(a != b for a in pages.values() for b in pages.values())
    }
    assert differ == {}


def prose(page):
    """The page without its code, line by line."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "\n".join(
            "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"
        )
    return BLOCK.sub("", text).splitlines()


def anchors(page):
    """The anchors of a page's headings, as they are made on the web; equal ones are numbered."""
    seen: dict[str, int] = {}
    found = set()
    for line in prose(page):
        if line.startswith("#"):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("# "))
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
            seen[slug] = seen.get(slug, 0) + 1
    return found


LINK = re.compile(r"\]\(([^)#]*)(?:#([^)]*))?\)")


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=name_of)
def test_links_lead_somewhere(page):
    broken = []
    for target, anchor in LINK.findall("\n".join(prose(page))):
        place = page.parent / target if target else page
        if not target.startswith("https://") and not (place.exists() and (not anchor or anchor in anchors(place))):
            broken.append(f"{target}#{anchor}" if anchor else target)
    assert broken == []


def names_on_api_pages():
    """Return the names that a directive of `docs/api` renders from its docstring."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
    return {name.rpartition(".")[2] for name in re.findall(r"^\.\. (?:auto|py:)\w+:: (\S+)", text, re.MULTILINE)}


def test_the_api_pages_have_every_public_name_and_every_policy_has_an_entry():
    modules = {"theory"}
    assert {*mb.__all__, *lab.__all__, *leagues.__all__} - modules - names_on_api_pages() == set()
    policies = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    assert [name for name in mb.CATALOGUE if f"## `{name}`" not in policies] == []


def test_the_reference_has_every_family_and_every_figure():
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert [name for name in FAMILIES if f"| `{name}` | {', '.join(parameters_taken(name))} |" not in reference] == []
    assert [name for name in sorted(DRAWN) if f"`{name}`" not in reference] == []


def test_the_table_of_columns_is_that_of_the_rows():
    section = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8").partition("## The rows")[2]
    written = {
        name for row in re.findall(r"^\|([^|]*)\|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert written == {*HEAD, *TAIL}


def test_the_pictures_of_the_gallery_are_made_by_its_lines():
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"img/(gallery-[\w-]+)\.png", text))
    code = "".join(block for language, block in BLOCK.findall(text) if language == "python")
    assert shown == set(re.findall(r"\"(gallery-[\w-]+)(?:\.png)?\"", code))


def test_the_table_of_policies_says_what_they_fit():
    lines = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if re.match(r"\| `[\w-]+` \|", line)]
    assert [row[0] for row in rows] == [f"`{name}`" for name in mb.CATALOGUE]
    for kind, (_, plays, graph, goals, rewards, horizon, engine) in zip(mb.CATALOGUE.values(), rows, strict=True):
        fits, loops = kind.capabilities, issubclass(kind, mb.RoundPolicy)
        assert plays.split("; ")[0] == " or ".join(f"a {selection}" for selection in fits.selections), kind.name
        assert ("answers with a matching" in plays) == (fits.answers == "matching"), kind.name
        assert (graph.startswith("bipartite"), "players" in graph and "any" not in graph) == (
            fits.graphs == ("bipartite",),
            fits.graphs == ("monopartite",),
        ), kind.name
        assert goals == ", ".join(fits.goals), kind.name
        assert rewards.startswith("in [0, 1]" if fits.unit_rewards else "any"), kind.name
        known = ("for regret" if len(fits.goals) > 1 else "needed") if fits.horizon else "no"
        assert horizon == ("the budget" if fits.fixed_budget else known), kind.name
        assert engine == (
            ("loop*" if fits.compiled_max_items or fits.compiled_max_players else "loop") if loops else "jump"
        ), kind.name


def options_of(words, monkeypatch, capsys):
    """What --help of a command lists."""
    monkeypatch.setattr(sys, "argv", ["matchbandit", *words, "--help"])
    with pytest.raises(SystemExit):
        main()
    return sorted(set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out)) - {"--help"})


def test_every_command_and_option_is_in_the_reference(capsys, monkeypatch):
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    for command in app.registered_commands:
        verb = command.callback.__name__.replace("_", "-")
        assert f"### `matchbandit {verb}" in reference
        missing = [option for option in options_of([verb], monkeypatch, capsys) if f"`{option}" not in reference]
        assert missing == []


@pytest.mark.parametrize("group", app.registered_groups, ids=lambda group: group.name)
@pytest.mark.sampled(1)
def test_every_verb_of_a_group_has_a_row_with_its_options(group, capsys, monkeypatch):
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    section = reference.partition(f"### `matchbandit {group.name} ")[2].partition("\n### ")[0]
    above, rows = section.partition("\n| verb |")[::2]
    assert rows
    for command in group.typer_instance.registered_commands:
        row = next((row for row in rows.splitlines() if re.match(rf"\| `{command.name}[ `]", row)), "")
        options = options_of([group.name, command.name], monkeypatch, capsys)
        assert [option for option in options if f"`{option}" not in above + row] == [], command.name


def test_settings_and_codes_of_leagues_are_in_the_reference():
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    section = reference.partition("\n## Leagues\n")[2].partition("\n## Over HTTP\n")[0]
    settings, codes = section.split("### Error codes")
    assert [name for name in LeagueSettings.names() if f"`{name}`" not in settings] == []
    rows = re.findall(r"^\| (`.*?) \| (\d+) \|", codes, re.MULTILINE)
    statuses = {code: int(status) for written, status in rows for code in re.findall(r"`([\w-]+)`", written)}
    assert statuses == {code: row.status for code, row in CODES.items()}


def test_the_table_of_server_settings_is_up_to_date():
    """`python docs/make/server_settings.py` writes it again."""
    spec = importlib.util.spec_from_file_location("server_settings", ROOT / "docs" / "make" / "server_settings.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.with_table(page) == page


def test_every_request_over_http_is_in_the_reference():
    section = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8").partition("\n## Over HTTP\n")[2]
    section = section.partition("\nOutside `/v1`")[0]
    with leagues.Store("sqlite://") as store:
        paths = create_app(store).openapi()["paths"]
    requests = {f"{way.upper()} {path.removeprefix('/v1')}" for path, ways in paths.items() for way in ways}
    written = set(re.findall(r"`((?:GET|POST|PATCH|DELETE|PUT) [^`]+)`", section))
    assert written == requests


def test_explain_is_written_down():
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    keys = {*mb.Explanation.__annotations__, *Elimination._fields, *(key for part in PARTS.values() for key in part)}
    assert [key for key in sorted(keys) if f"`{key}`" not in reference] == []
    fits = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [field.name for field in fields(mb.Capabilities) if f"| `{field.name}` |" not in fits] == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", mb.CATALOGUE)
def test_what_a_policy_adds_to_its_explanation_is_written_down(name):
    kind = mb.CATALOGUE[name]
    players = mb.monopartite(5 if "regret" in kind.capabilities.byes else 4)
    graph = players if "monopartite" in kind.capabilities.graphs else mb.bipartite(2, 2)
    live = mb.policy(name).build(graph, horizon=1000)
    for _ in range(3):
        live.tell(live.ask(), [1.0] * live.round_size)
    told = live.explain()
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    keys = {key for part in PARTS for record in told[part] for key in record} | set(told["details"])
    assert [key for key in sorted(keys) if f"`{key}`" not in reference] == []


def test_what_is_cited_is_in_the_bibliography():
    entries = anchors(ROOT / "docs" / "bibliography.md")
    texts = [*("\n".join(prose(page)) for page in PAGES), *(kind.reference for kind in mb.CATALOGUE.values())]
    cited = {key for text in texts for key in re.findall(r"\[([A-Z]\w+\d{4}[a-z]?)\]", text)}
    assert sorted(key for key in cited if key.lower() not in entries) == []


def test_every_page_is_on_the_front_page():
    guide = ROOT / "docs" / "index.md"
    listed = set(re.findall(r"\]\(([^)#]+)", guide.read_text(encoding="utf-8")))
    assert [page.name for page in guide.parent.glob("*.md") if page.name not in {*listed, "index.md"}] == []
