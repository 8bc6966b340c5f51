"""Shell completion, through typer's machinery: what a shell would offer."""

import os
import subprocess
import sys

import pytest

import matchbandit as mb
from matchbandit.cli import completion, main
from matchbandit.lab.paper.figures import FIGURES
from matchbandit.leagues import Store
from matchbandit.problems import FAMILIES


@pytest.fixture
def offered(monkeypatch, capsys, tmp_path):
    """Return what bash offers for an unfinished command."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATCHBANDIT_STORE", raising=False)
    monkeypatch.setenv("_MATCHBANDIT_COMPLETE", "complete_bash")
    monkeypatch.setattr(sys, "argv", ["matchbandit"])

    def complete(line):
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return capsys.readouterr().out.split()

    return complete


def test_the_names_are_those_of_the_library():
    assert set(completion.POLICIES) == set(mb.CATALOGUE)
    assert set(completion.FAMILIES) == set(FAMILIES)
    drawn = [chart for figure in FIGURES.values() for chart in figure.chart_names]
    assert [*completion.PAPER_FIGURES, *completion.OTHER_FIGURES] == drawn
    assert [*completion.STUDIES] == [name for name in FIGURES if name not in drawn]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("matchbandit sim", ["simulate"]),
        ("matchbandit league arch", ["archive"]),
        ("matchbandit simulate --policy pair-e", ["pair-elim", "pair-elim-mono"]),
        ("matchbandit watch rank1-th", ["rank1-thompson"]),
        ("matchbandit policies cts", ["cts-beta", "cts-gaussian"]),
        ("matchbandit simulate --family sp", ["spiked", "spiked-repeated"]),
        ("matchbandit simulate --engine ", ["auto", "step", "jump", "loop"]),
        ("matchbandit simulate --rewards g", ["gaussian:"]),
        ("matchbandit reproduce fig3", ["fig3-top", "fig3-bottom"]),
        ("matchbandit reproduce fig2 over-g", ["over-gap"]),
        ("matchbandit league new club --policy cuc", ["cucb"]),
        ("matchbandit simulate --hor", ["--horizon"]),
    ],
)
def test_commands_options_and_names_are_completed(offered, line, names):
    assert offered(line) == names


def test_leagues_are_completed_from_the_store_that_is_named(offered, monkeypatch, tmp_path):
    assert offered("matchbandit league ask c") == []  # and no file is created
    assert list(tmp_path.iterdir()) == []
    for file in ("matchbandit.db", "other.db"):
        with Store(f"sqlite:///{file}") as store:
            store.create(f"club-{file[:5]}", players=["ann", "bob"])
            store.create("deleted", players=["ann", "bob"])
            store.delete("deleted")
    assert offered("matchbandit league ask ") == ["club-match"]
    assert offered("matchbandit league ask --store other.db c") == ["club-other"]
    assert offered("matchbandit league ask --store postgresql://x/y c") == []
    monkeypatch.setenv("MATCHBANDIT_STORE", f"sqlite:///{tmp_path / 'other.db'}")
    assert offered("matchbandit league ask c") == ["club-other"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script_and_completes(monkeypatch, capsys, shell):
    monkeypatch.setattr(sys, "argv", ["matchbandit"])
    monkeypatch.setenv("_MATCHBANDIT_COMPLETE", f"source_{shell}")
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert "_MATCHBANDIT_COMPLETE" in capsys.readouterr().out
    monkeypatch.setenv("_MATCHBANDIT_COMPLETE", f"complete_{shell}")
    line = "matchbandit simulate --policy rank1-e"
    for name, value in {
        "COMP_WORDS": line,
        "COMP_CWORD": "3",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        main()
    assert "rank1-elim-kl" in capsys.readouterr().out


def test_completion_imports_nothing_heavy():
    probe = (
        "import sys; from matchbandit.cli import main\nsys.argv = ['matchbandit']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('numpy', 'numba', 'rich', 'sqlalchemy', 'matchbandit.policies') if m in sys.modules])"
    )
    words = {"COMP_WORDS": "matchbandit simulate --policy unif", "COMP_CWORD": "3"}
    environment = {**os.environ, "_MATCHBANDIT_COMPLETE": "complete_bash", **words}
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split("\n") == ["uniform", "[]", ""]
