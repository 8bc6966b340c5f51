"""What commands load: a command that is typed a hundred times a day must not import what it does not need."""

import subprocess
import sys

import pytest

PROBE = """
import sys
from matchbandit.cli import main
sys.argv[1:] = {words!r}
try:
    main()
except SystemExit as end:
    assert not end.code
print([name for name in {heavy!r} if name in sys.modules])
"""


def imported(folder, words, heavy):
    probe = PROBE.format(words=words.split(), heavy=heavy)
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("words", ["--help", "league --help", "league ask --help", "token new --help"])
def test_help_imports_no_library(tmp_path, words):
    heavy = ("numpy", "scipy", "numba", "sqlalchemy", "fastapi", "rich", "matchbandit.leagues")
    assert imported(tmp_path, words, heavy) == "[]"


def test_recording_and_showing_import_neither_numba_nor_scipy(run, tmp_path, monkeypatch):
    monkeypatch.delenv("MATCHBANDIT_STORE", raising=False)
    assert run("league", "new", "club", "ann", "bob")[0] == 0
    assert run("league", "ask", "club")[0] == 0
    for words in ("tell club 1 ann+bob=1", "show club", "show club --history", "list", "join club cem", "rule club"):
        assert imported(tmp_path, f"league {words}", ("numba", "scipy")) == "[]", words
    assert imported(tmp_path, "token list", ("numba", "scipy")) == "[]"
