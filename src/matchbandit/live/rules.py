"""Whom the rules let meet today: who is there, who is fixed, who must not meet, and who sits out in turn."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import rustworkx as rx

from matchbandit.live.errors import LeagueError
from matchbandit.live.names import Directory
from matchbandit.live.state import State
from matchbandit.live.tally import key_of, pair_of
from matchbandit.rewards import Counts

LARGEST_EXACT = 300
"""Players with rules among whom a fair bye that costs no pair is looked for; of more, whoever is left sits out, unless
their rules are so few that a look at the degrees tells that all can be paired."""


@dataclass(frozen=True)
class Constraints:
    """Who can be paired now, by the rules of the league."""

    available: list[int] | None
    """The items that were said to be there; None: all that are active."""
    fixed: list[tuple[int, int]]
    """Pairs that were asked or wished for."""
    present: Counts
    """The ids of those that are left to be paired, in rising order."""
    forbidden: Counts
    """Pairs of them that must not meet, shape (k, 2)."""
    bye: int | None
    """Who sits out in turn, of an odd number of players."""
    by_exclusion: frozenset[int]
    """Which of the forbidden pairs are excluded, by key; the others have met lately."""


def unconstrained(items: list[int]) -> Constraints:
    """A day without rules, on which a policy decides itself who sits out."""
    nobody = np.zeros((0, 2), dtype=np.int64)
    return Constraints(None, [], np.array(items, dtype=np.int64), nobody, None, frozenset())


def constraints(
    state: State,
    directory: Directory,
    *,
    available: Iterable[str | int] | None = None,
    fixed: Iterable[tuple[str | int, str | int]] | None = None,
) -> Constraints:
    """Who can be paired now; an error that says which rule to relax if no pair is possible at all."""
    there = _resolve_available(state, directory, available)
    chosen = _fixed(state, directory, there, fixed)
    taken = {item for pair in chosen for item in pair}
    rest = [item for item in there if item not in taken]
    one_pair = state.config["selection"] == "pair"
    if one_pair and chosen:
        rest = []
    excluded, met = _forbidden(state, set(rest))
    forbidden = excluded | met
    if not chosen and not _some_pair(state, rest, len(forbidden)):
        raise _infeasible(state, rest, excluded, met)
    bye = None
    if not (state.two_sided or one_pair) and len(rest) % 2:
        bye = _fair_bye(state, rest, forbidden)
    if bye is not None:
        rest.remove(bye)
        forbidden = {key for key in forbidden if bye not in pair_of(key)}
    return Constraints(
        available=None if available is None else there,
        fixed=chosen,
        present=np.array(rest, dtype=np.int64),
        forbidden=np.array([pair_of(key) for key in sorted(forbidden)], dtype=np.int64).reshape(-1, 2),
        bye=bye,
        by_exclusion=frozenset(excluded & forbidden),
    )


def _resolve_available(state: State, directory: Directory, available: Iterable[str | int] | None) -> list[int]:
    """The ids of those that are there, in rising order."""
    if available is None:
        return [item for item, active in enumerate(state.active, start=1) if active]
    if isinstance(available, str) or not isinstance(available, Iterable):
        raise LeagueError("bad-value", f"those who are available come as a list of names; got {available!r}.")
    there = {directory.resolve(name) for name in available}
    for item in sorted(there):
        if not state.active[item - 1]:
            raise LeagueError(
                "bad-value", f"{directory.name(item)!r} has left the league. Let it come back first (join)."
            )
    return sorted(there)


def _fixed(
    state: State, directory: Directory, there: list[int], asked: Iterable[tuple[str | int, str | int]] | None
) -> list[tuple[int, int]]:
    """The pairs that are fixed: those asked for, then wishes in their order whose two are there and free."""
    present, taken = set(there), set[int]()
    chosen: list[tuple[int, int]] = []
    for pair in () if asked is None else asked:
        a, b = directory.resolve_pair(pair)
        names = "{!r} and {!r}".format(*directory.pair((a, b)))
        if key_of(a, b) in state.exclusions:
            raise LeagueError("contradiction", f"{names} are excluded. Take the exclusion back first (allow).")
        if not {a, b} <= present:
            raise LeagueError("infeasible", f"{names} are to be a pair, and are not both available.")
        if {a, b} & taken:
            raise LeagueError("infeasible", f"{names} are to be a pair, and one of them is in another fixed pair.")
        taken |= {a, b}
        chosen.append((a, b))
    if len(chosen) > 1 and state.config["selection"] == "pair":
        raise LeagueError(
            "infeasible", f"this league proposes one pair at a time; got {len(chosen)} fixed ones. Ask for one."
        )
    for key in state.wishes:
        a, b = pair_of(key)
        if {a, b} <= present and not {a, b} & taken:
            taken |= {a, b}
            chosen.append((a, b))
    return chosen[:1] if state.config["selection"] == "pair" else chosen


def _forbidden(state: State, rest: set[int]) -> tuple[set[int], set[int]]:
    """Pairs of these that are excluded, and pairs that have met, or are to meet, within the last proposals."""
    excluded = {key for key in state.exclusions if rest.issuperset(pair_of(key))}
    window = state.config["no_rematch"]
    if not window:
        return excluded, set()
    since = max(state.next_number - window, 1)
    met = {key for key in state.tally.met_since(since) if rest.issuperset(pair_of(key))}
    for number in range(since, state.next_number):
        sheet = state.open.get(number)
        met.update(key for key in (sheet.waiting if sheet is not None else ()) if rest.issuperset(pair_of(key)))
    return excluded, met


def _n_pairs(state: State, rest: list[int]) -> int:
    """How many pairs they could form without rules."""
    if not state.two_sided:
        return len(rest) * (len(rest) - 1) // 2
    columns = sum(state.sides_by_item[item - 1] for item in rest)
    return (len(rest) - columns) * columns


def _some_pair(state: State, rest: list[int], n_forbidden: int) -> bool:
    return _n_pairs(state, rest) > n_forbidden


def _infeasible(state: State, rest: list[int], excluded: set[int], met: set[int]) -> LeagueError:
    """Why there is no pair at all, and which rule to relax."""
    n_pairs, window = _n_pairs(state, rest), state.config["no_rematch"]
    if not n_pairs:
        if not state.two_sided:
            count = "nobody is" if not rest else "only one player is"
            return LeagueError("infeasible", f"{count} available, and a pair needs two. Ask with more of them.")
        columns = sum(state.sides_by_item[item - 1] for item in rest)
        missing = state.config["sides"][0 if columns == len(rest) and rest else 1 if rest else 0]
        return LeagueError("infeasible", f"none of {missing} is available, and a pair needs one of each side.")
    of = f"the {len(rest)} that are available"
    lower = f"Lower no_rematch, which is {window} now"
    if not n_pairs > len(excluded):
        return LeagueError("infeasible", f"all pairs of {of} are excluded. Take an exclusion back (allow).")
    if not n_pairs > len(met):
        return LeagueError("infeasible", f"all pairs of {of} have met within the last {window} proposals. {lower}.")
    return LeagueError(
        "infeasible",
        f"all pairs of {of} are excluded, or have met within the last {window} proposals. {lower}, or take an "
        f"exclusion back (allow).",
    )


def _fair_bye(state: State, rest: list[int], forbidden: set[int]) -> int | None:
    """Who sits out: the fewest effective byes, then the longest since the last bye, then the last to join.

    Nobody whose absence costs a pair. None: too many to tell, and whoever is left sits out.
    """
    order = sorted(rest, key=lambda item: (state.effective_byes[item - 1], state.last_bye[item - 1], -item))
    pairs = [pair_of(key) for key in forbidden]
    degrees = dict.fromkeys(rest, len(rest) - 1)
    for pair in pairs:
        for item in pair:
            degrees[item] -= 1
    first = order[0]
    without = {item: degree - 1 for item, degree in degrees.items() if item != first}
    for pair in pairs:
        if first in pair:
            without[pair[0] if pair[1] == first else pair[1]] += 1
    if _surely_all(sorted(without.values())):
        return first
    if len(rest) > LARGEST_EXACT:
        return None
    return _cheapest_bye(order, set(pairs))


def _surely_all(degrees: list[int]) -> bool:
    """Can all be paired, by their sorted degrees alone? (False: perhaps.)

    An even number n of players has a Hamiltonian cycle, and so a perfect matching, if for all i < n/2 with d_i ≤ i the
    degree d_(n−i) is at least n − i [Chvatal1972]; two need to be allowed to meet.
    """
    n = len(degrees)
    if n <= 2:
        return n == 0 or degrees[0] > 0
    return all(degrees[i - 1] > i or degrees[n - i - 1] >= n - i for i in range(1, (n + 1) // 2))


def _cheapest_bye(order: list[int], forbidden: set[tuple[int, int]]) -> int:
    """The first in this order without whom as many pairs are possible as with him.

    A guest who may meet everybody joins: of the largest matchings the one is wanted in which he meets whoever comes
    first in the order.
    """
    graph: Any = rx.PyGraph()
    graph.add_nodes_from(order)
    guest = graph.add_node(0)
    n = len(order)
    graph.add_edges_from([(guest, place, n - place) for place in range(n)])
    graph.add_edges_from(
        [
            (i, j, 0)
            for i in range(n)
            for j in range(i + 1, n)
            if (min(order[i], order[j]), max(order[i], order[j])) not in forbidden
        ]
    )
    for i, j in rx.max_weight_matching(graph, max_cardinality=True, weight_fn=int):
        if guest in (i, j):
            return order[i if j == guest else j]
    raise AssertionError("a guest who may meet everybody is paired")
