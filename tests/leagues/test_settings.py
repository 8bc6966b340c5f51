"""Settings: defaults, changes, and what is refused."""

import re
from datetime import timedelta

import numpy as np
import pytest

from matchbandit.leagues import VOID, LeagueError
from matchbandit.leagues.settings import LeagueSettings, check_reward, field_descriptions
from matchbandit.rewards import Bernoulli, Gaussian, parse_rewards

BERNOULLI = Bernoulli()


def test_validate_fills_in_defaults():
    settings = LeagueSettings().validate("players", BERNOULLI)
    assert settings.to_config() == {
        "policy": "rank1-thompson",
        "options": {},
        "selection": "matching",
        "deadline": None,
        "default": "void",
        "no_rematch": 0,
        "title": "",
        "record_propensity": 0,
    }
    assert LeagueSettings.from_config(settings.to_config()) == settings
    assert LeagueSettings.from_config({}) == LeagueSettings()


def test_validate_converts_values():
    settings = LeagueSettings(
        deadline=timedelta(hours=1), default=1, title="  Chess \t club ", options={"half_life": np.float64(9.0)}
    ).validate("players", BERNOULLI)
    assert (settings.deadline, settings.default, settings.title) == (3600.0, 1.0, "Chess club")
    assert settings.to_config()["options"] == {"half_life": 9.0}
    assert type(settings.options["half_life"]) is float


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"policy": "rank1-thomson"}, "bad-value", "did you mean 'rank1-thompson'"),
        ({"policy": 7}, "bad-value", "7"),
        ({"policy": "rank1-certify"}, "not-supported", "rank1-certify plays whole rounds"),
        ({"policy": "kl-ucb", "selection": "matching"}, "bad-value", "selection of kl-ucb"),
        ({"options": ["half_life"]}, "bad-value", "options must be a mapping"),
        ({"options": {"halflife": 3}}, "not-supported", "half_life"),
        ({"options": {"half_life": 0.0001}}, "not-supported", "half_life must be at least 0.001"),
        ({"deadline": 0}, "bad-value", "seconds above 0"),
        ({"deadline": float("nan")}, "bad-value", "seconds above 0"),
        ({"deadline": True}, "bad-value", "seconds above 0"),
        ({"deadline": "soon"}, "bad-value", "got 'soon'"),
        ({"deadline": 10**10}, "bad-value", "at most ten years"),
        ({"default": 1.5}, "reward-outside", "1.5 for a pair by default"),
        ({"default": "void"}, "reward-outside", "got 'void'"),
        ({"no_rematch": -1}, "bad-value", "no_rematch"),
        ({"no_rematch": 1.5}, "bad-value", "no_rematch"),
        ({"record_propensity": 10_001}, "bad-value", "record_propensity"),
        ({"title": "x" * 101}, "bad-value", "at most 100 printable"),
        ({"title": "a\x00b"}, "bad-value", "printable"),
        ({"title": 5}, "bad-value", "title must be a text; got 5"),
        ({"norematch": 1}, "bad-value", "did you mean 'no_rematch'"),
    ],
)
def test_replace_and_validate_refuse_values_that_do_not_fit(changes, code, words):
    with pytest.raises(LeagueError, match=re.escape(words)) as caught:
        LeagueSettings().replace(changes).validate("players", BERNOULLI)
    assert caught.value.code == code


def test_replace_of_the_policy_drops_its_options():
    settings = LeagueSettings(options={"half_life": 5}, no_rematch=2)
    assert settings.replace({"policy": "cucb"}) == LeagueSettings(policy="cucb", no_rematch=2)
    assert settings.replace({"policy": "rank1-thompson", "no_rematch": 3}).options == {"half_life": 5}


@pytest.mark.parametrize(
    ("reward", "stored"), [(1, 1.0), (True, 1.0), (np.float32(0.5), 0.5), (-0.0, 0.0), (VOID, None)]
)
def test_check_reward_returns_plain_numbers(reward, stored):
    checked = check_reward(BERNOULLI, reward, "'ann' and 'bob'")
    assert checked == stored
    assert str(checked) == str(stored)  # 0 has no sign


@pytest.mark.parametrize("reward", ["1", None, float("nan"), float("inf"), 10**400, [1], 1.01, -0.01])
def test_check_reward_refuses_what_cannot_be_achieved(reward):
    with pytest.raises(LeagueError, match="'ann' and 'bob'") as caught:
        check_reward(BERNOULLI, reward, "'ann' and 'bob'")
    assert caught.value.code == "reward-outside"


def test_check_reward_depends_on_the_distribution():
    assert check_reward(Gaussian(sd=0.5), -3.0, "a pair") == -3.0
    with pytest.raises(LeagueError):
        check_reward(parse_rewards("binomial:4"), 0.3, "a pair")


def test_configure_changes_settings_and_keeps_results(sqlite_store):
    league = sqlite_store.create("club", past=[("ann", "bob", 3, 2.0)], players=["cem", "dee"])
    before = league.info().version
    info = league.configure(policy="cts-beta", deadline=60, title="chess")
    assert (info.settings["policy"], info.settings["deadline"], info.title) == ("cts-beta", 60.0, "chess")
    assert league.configure(title="chess").version == info.version == before + 1  # nothing new is no change
    assert [row.total for row in league.results()] == [2.0]
    with pytest.raises(LeagueError, match="did you mean 'title'"):
        league.configure(titel="go")
    assert league.info().settings == info.settings


def test_field_descriptions_are_the_docstrings_of_the_fields():
    descriptions = field_descriptions(LeagueSettings)
    assert list(descriptions) == list(LeagueSettings.names())
    assert descriptions["policy"] == "The policy of the catalogue that decides."
