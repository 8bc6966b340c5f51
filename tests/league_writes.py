"""Every writing method, each on leagues in which it changes something."""

from collections.abc import Callable
from typing import Any

from matchbandit.leagues import League, Store

Call = Callable[[Store, str], Any]


def club(store: Store) -> League:
    return store.open("club")


def pair_of(store: Store, number: int = 1) -> tuple[str, str]:
    return club(store).proposal(number).pairs[0].ids


WRITES: dict[str, Call] = {
    "ask": lambda store, key: club(store).ask(key=key),
    "ask fixed": lambda store, key: club(store).ask(fixed=[("ann", "cem")], available=["ann", "cem"], key=key),
    "tell": lambda store, key: club(store).tell(2, {pair_of(store, 2): 1}, key=key),
    "tell_many": lambda store, key: club(store).tell_many({2: {pair_of(store, 2): 1}}, key=key),
    "correct": lambda store, key: club(store).correct(1, {pair_of(store): 0}, key=key),
    "void": lambda store, key: club(store).void(2, key=key),
    "join": lambda store, key: club(store).join("fay", key=key),
    "leave": lambda store, key: club(store).leave("ann", key=key),
    "rejoin": lambda store, key: club(store).rejoin("gus", key=key),
    "rename": lambda store, key: club(store).rename("ann", "anna", key=key),
    "erase_name": lambda store, key: club(store).erase_name("ann", key=key),
    "exclude": lambda store, key: club(store).exclude([("ann", "bob")], key=key),
    "unexclude": lambda store, key: club(store).unexclude([("dee", "gus")], key=key),
    "pin": lambda store, key: club(store).pin([("ann", "bob")], key=key),
    "unpin": lambda store, key: club(store).unpin([("cem", "gus")], key=key),
    "configure": lambda store, key: club(store).configure(title="Chess", key=key),
    "import_results": lambda store, key: store.open("new").import_results([("x", "y", 1.0)], key=key),
    "create": lambda store, key: store.create("third", players=["a", "b"], key=key).slug,
    "archive": lambda store, key: store.archive("new", key=key),
    "restore": lambda store, key: store.restore("gone", key=key),
    "delete": lambda store, key: store.delete("new", key=key),
    "erase": lambda store, key: store.delete("new", now=True, key=key),
}


def fill(store: Store) -> None:
    """Leagues in which each of `WRITES` changes something."""
    league = store.create("club", players=["ann", "bob", "cem", "dee", "gus"], seed=1)
    first = league.ask()
    league.tell(first.number, {pair: 1 for pair in first.pairs})
    league.ask()
    league.leave("gus")
    league.exclude([("dee", "gus")])
    league.pin([("cem", "gus")])
    store.create("new", players=["x", "y"])
    store.create("gone", players=["x", "y"])
    store.delete("gone")


def state(store: Store) -> dict[str, int]:
    """The version of each league."""
    return {
        info.slug: info.version for status in ("active", "archived", "deleted") for info in store.leagues(status=status)
    }
