"""Imported by the server from which test processes are forked: loads what is compiled, once for all of them."""

from small_league import SmallLeague

SmallLeague(players=["ann", "bob", "cem", "dee"], policy="cucb").ask()
