"""The command line, typed in an empty folder."""

import sys

import pytest

from matchbandit.cli import main


@pytest.fixture
def tmp_path(folder_in_memory):
    return folder_in_memory


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Type `matchbandit …` in an empty folder; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATCHBANDIT_STORE", raising=False)

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["matchbandit", *words])
        with pytest.raises(SystemExit) as end:
            main()
        out = capsys.readouterr()
        return end.value.code or 0, out.out, out.err

    return typed
