"""Every example in README and docs is executed, every link leads somewhere."""

import doctest
import re
import shlex
import sys
from pathlib import Path

import pytest

import matchbandit as mb
from matchbandit.cli import main

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    return [text for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run_and_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for number, text in enumerate(blocks(page, "python")):
        if ">>>" in text:
            example = doctest.DocTestParser().get_doctest(text, names, f"{page.name}[{number}]", str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
            runner.run(example, clear_globs=False)
            assert runner.summarize(verbose=False).failed == 0
            names = example.globs
        else:
            exec(compile(text, f"{page.name}[{number}]", "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for text in blocks(page, "console"):
        for line in text.splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[0] == "make":
                assert all(target in targets for target in words[1:])
            elif words[0] == "matchbandit":
                if words[1] == "reproduce":
                    words += ["--runs", "2"]
                monkeypatch.setattr(sys, "argv", words)
                with pytest.raises(SystemExit) as end:
                    main()
                assert not end.value.code, capsys.readouterr().err
            else:
                assert words[0] in ("git", "cd", "pip")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_reference_names_every_door_and_every_policy():
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert [door for door in mb.__all__ if f"`{door}" not in reference] == []
    policies = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    assert [name for name in mb.CATALOGUE if f"## `{name}`" not in policies] == []


def test_the_readme_says_the_two_commands_and_shows_a_picture():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make reproduce" in readme
    assert "make test" in readme
    assert "docs/img/" in readme


def test_the_citation_and_the_changelog_know_the_version():
    assert f"version: {mb.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {mb.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
