"""Imported by the process from which test processes are forked: loads what decisions need, once for all of them."""

from tempfile import TemporaryDirectory

from matchbandit.leagues import Store

with TemporaryDirectory() as folder, Store(f"sqlite:///{folder}/store.db") as store:
    league = store.create("warm", players=["ann", "bob", "cem"])
    league.ask()
    league.ranking()
