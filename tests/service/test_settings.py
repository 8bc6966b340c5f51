"""Settings from options and environment variables, and the table that documents them."""

import importlib.util
from pathlib import Path

import pytest

from matchbandit.errors import MatchbanditError
from matchbandit.service.server import Server
from matchbandit.service.settings import Settings, configurable, read_values, variable_of

ROOT = Path(__file__).parents[2]


def read(environment, **options):
    return read_values((Server, Settings), options, environment)


def test_an_option_is_stronger_than_a_variable_and_a_variable_than_the_default():
    environment = {"MATCHBANDIT_SERVE_PORT": "9000", "MATCHBANDIT_SERVE_HOST": "::1", "HOME": "/root"}
    server, settings = read(environment, port="7000", body_bytes=None)
    assert server == {"port": 7000, "host": "::1"}
    assert settings == {}
    assert Settings(**settings).body_bytes == 2**20


def test_every_setting_has_a_variable():
    samples = {int: ("3", 3), float: ("2.5", 2.5), bool: ("yes", True), str: ("info", "info")}
    samples[tuple[str, ...]] = ("10.0.0.0/8, ::1", ("10.0.0.0/8", "::1"))
    for kind in (Server, Settings):
        for each in configurable(kind):
            text, value = samples[each.type]
            values = read({variable_of(each): text})[(Server, Settings).index(kind)]
            assert values == {each.name: value}
    names = {each.name for kind in (Server, Settings) for each in configurable(kind)}
    assert {"store", "port", "trusted_proxies", "log_level", "rate", "https", "tick_seconds"} <= names
    assert "monotonic" not in names


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("PORT", "x", "MATCHBANDIT_SERVE_PORT must be a number such as 8000; got 'x'."),
        ("PORT", "70000", "MATCHBANDIT_SERVE_PORT must be a whole number, between 0 and 65535; got 70000."),
        ("WORKERS", "1.5", "MATCHBANDIT_SERVE_WORKERS must be a whole number"),
        ("RATE", "0", "MATCHBANDIT_SERVE_RATE must be positive; got 0"),
        ("RATE", "nan", "MATCHBANDIT_SERVE_RATE must be a number"),
        ("BODY_BYTES", "", "MATCHBANDIT_SERVE_BODY_BYTES must be a number"),
        ("DASHBOARD", "maybe", "MATCHBANDIT_SERVE_DASHBOARD must be 1 or 0, true or false; got 'maybe'."),
        ("LOG_LEVEL", "loud", "MATCHBANDIT_SERVE_LOG_LEVEL must be one of debug, info"),
        ("TRUSTED_PROXIES", "10.0.0.0/8,10.1.2.3/16", "MATCHBANDIT_SERVE_TRUSTED_PROXIES takes .* Use 10.1.0.0/16."),
        ("TRUSTED_PROXIES", "*", "MATCHBANDIT_SERVE_TRUSTED_PROXIES takes"),
        ("PROT", "8000", "unknown environment variable 'MATCHBANDIT_SERVE_PROT'; did you mean 'MATCHBANDIT_SERVE_PORT"),
    ],
)
def test_a_bad_value_is_refused_with_the_name_of_its_variable(variable, value, words):
    with pytest.raises(MatchbanditError, match=words):
        read({f"MATCHBANDIT_SERVE_{variable}": value})


def test_a_bad_value_of_an_option_names_the_option():
    with pytest.raises(MatchbanditError, match="--body-bytes must be"):
        read({}, body_bytes="0")
    with pytest.raises(MatchbanditError, match="--trusted-proxy takes"):
        read({}, trusted_proxies=("proxy",))


def test_the_page_documents_every_setting():
    """`python docs/make/server_settings.py` writes the table again."""
    spec = importlib.util.spec_from_file_location("server_settings", ROOT / "docs" / "make" / "server_settings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.PAGE.read_text(encoding="utf-8")
    assert module.with_table(page) == page
    for kind in (Server, Settings):
        for each in configurable(kind):
            assert f"`{variable_of(each)}`" in page
