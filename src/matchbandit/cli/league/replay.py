"""`matchbandit league replay`: play policies on a simulator that is fitted to a league's results."""

from matchbandit.cli.league.opening import STORE, LeagueName, StoreUrl
from matchbandit.cli.options import Json


def replay(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Choose a policy from the results there are."""
