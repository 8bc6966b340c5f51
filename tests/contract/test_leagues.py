"""Leagues do the same in any store, and after an export and an import half-way."""

import pytest

from contract.adapter.leagues import league
from contract.matching import differences, report
from contract.records import load

RECORDS = {name: line for name, line in load("leagues").items() if line["kind"] == "league"}
ON_POSTGRESQL = ("league rank1-thompson binomial deadline", "league cts-beta sides binomial", "league change of policy")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", RECORDS)
def test_an_imported_league_goes_on_as_recorded(name):
    assert_as_recorded(name, imports=True)


@pytest.mark.parametrize("name", ON_POSTGRESQL)
def test_leagues_on_postgresql_are_as_recorded(name):
    pytest.importorskip("psycopg")
    from postgres import fresh_database  # it needs psycopg

    assert_as_recorded(name, database=fresh_database, imports=True)


def assert_as_recorded(name, **options):
    line = RECORDS[name]
    changes = differences(line["result"], league(**line["case"], **options), line["match"])
    assert not changes, "\n" + report(name, changes)
