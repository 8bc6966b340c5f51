"""Settings of the server: from the environment, and as options of `matchbandit serve`."""

import subprocess
import sys

import pytest
import typer
from pydantic import ValidationError
from typer.testing import CliRunner

from matchbandit.cli.serve import ServeCommand, serve
from matchbandit.errors import MatchbanditError
from matchbandit.leagues.service.settings import Settings


def test_settings_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("MATCHBANDIT_STORE", "postgresql://there/pairs")
    monkeypatch.setenv("MATCHBANDIT_DASHBOARD", "off")
    settings = Settings(port=1)
    assert (settings.store, settings.dashboard, settings.port) == ("postgresql://there/pairs", False, 1)


@pytest.mark.parametrize("values", [{"port": 70_000}, {"rate": 0}, {"concurrency": 0}, {"max_body_bytes": "many"}])
def test_settings_outside_their_range_are_refused(values):
    with pytest.raises(ValidationError):
        Settings(**values)


def test_every_setting_is_described():
    assert all(field.description and field.description.endswith((".", ",")) for field in Settings.model_fields.values())


@pytest.fixture
def served(monkeypatch):
    """The settings with which `serve` was called."""
    calls: list[Settings] = []
    monkeypatch.setattr("matchbandit.leagues.service.app.serve", calls.append)
    return calls


def app() -> typer.Typer:
    made = typer.Typer()
    made.command(cls=ServeCommand)(serve)
    return made


def test_serve_has_an_option_for_every_setting(served):
    text = CliRunner().invoke(app(), ["--help"], env={"COLUMNS": "200"}).output
    assert all(f"--{name.replace('_', '-')}" in text for name in Settings.model_fields)
    options = ["--store", "sqlite:///a.db", "--no-dashboard", "--rate", "2.5", "--max-body-bytes", "2048"]
    result = CliRunner().invoke(app(), options, env={"MATCHBANDIT_PORT": "81", "MATCHBANDIT_RATE": "9"})
    assert result.exit_code == 0, result.output
    expected = Settings(store="sqlite:///a.db", dashboard=False, rate=2.5, max_body_bytes=2048, port=81)
    assert served == [expected]


def test_serve_takes_the_name_of_a_file_as_store(served):
    assert CliRunner().invoke(app(), ["--store", "club.db"]).exit_code == 0
    assert CliRunner().invoke(app(), [], env={"MATCHBANDIT_STORE": "club.db"}).exit_code == 0
    assert [settings.store for settings in served] == ["sqlite:///club.db"] * 2


def test_serve_names_the_option_that_is_wrong(served):
    result = CliRunner().invoke(app(), [], env={"MATCHBANDIT_PORT": "x"})
    assert isinstance(result.exception, MatchbanditError)
    assert "--port, or MATCHBANDIT_PORT" in str(result.exception)
    assert served == []


def test_the_options_are_read_only_when_they_are_needed():
    code = "import sys, matchbandit.cli.serve; print({'pydantic', 'fastapi', 'sqlalchemy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
