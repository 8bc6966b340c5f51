"""Whom the rules let meet today: who is there, who is fixed, who must not meet, and who sits out in turn.

In two steps: `collect_constraints` reads the state and is quick, since others wait meanwhile; `assign_bye` may need a
maximum matching, and takes its time on what was read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.live.errors import LeagueError
from matchbandit.live.names import Directory
from matchbandit.live.state import State
from matchbandit.live.tally import key_of, pair_of, pairs_of
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
    """Who sits out in turn, of an odd number of players; None as long as it is not assigned."""
    is_excluded: NDArray[np.bool_]
    """True for each forbidden pair that is excluded; the others have met lately."""
    bye_order: Counts | None = None
    """Of an odd number of players whose bye is not assigned yet: all of them, the first in turn first."""


def unconstrained(items: list[int]) -> Constraints:
    """A day without rules, on which a policy decides itself who sits out."""
    nobody = np.zeros((0, 2), dtype=np.int64)
    return Constraints(None, [], np.array(items, dtype=np.int64), nobody, None, np.zeros(0, dtype=np.bool_))


def collect_constraints(
    state: State,
    directory: Directory,
    *,
    available: Iterable[str | int] | None = None,
    fixed: Iterable[tuple[str | int, str | int]] | None = None,
) -> Constraints:
    """Who can be paired now, with the bye still to be assigned: all that needs the state.

    An error says which rule to relax if no pair is possible at all.
    """
    there = _resolve_available(state, directory, available)
    chosen = _fixed(state, directory, there, fixed)
    taken = {item for pair in chosen for item in pair}
    rest = [item for item in there if item not in taken]
    one_pair = state.config["selection"] == "pair"
    if one_pair and chosen:
        rest = []
    excluded, met = _forbidden(state, rest)
    only_met = met[~_contains(excluded, met)]
    forbidden = np.concatenate([excluded, only_met])
    order_of_keys = np.argsort(forbidden) if len(only_met) else np.arange(len(forbidden))
    is_excluded = (np.arange(len(forbidden)) < len(excluded))[order_of_keys]
    if not chosen and not _some_pair(state, rest, len(forbidden)):
        raise _infeasible(state, rest, excluded, met)
    order = None
    if not (state.two_sided or one_pair) and len(rest) % 2:
        order = np.array(
            sorted(rest, key=lambda item: (state.effective_byes[item - 1], state.last_bye[item - 1], -item)),
            dtype=np.int64,
        )
    return Constraints(
        available=None if available is None else there,
        fixed=chosen,
        present=np.array(rest, dtype=np.int64),
        forbidden=np.stack(pairs_of(forbidden[order_of_keys]), axis=1),
        bye=None,
        is_excluded=is_excluded,
        bye_order=order,
    )


def assign_bye(today: Constraints) -> Constraints:
    """The constraints once it is known who sits out; the same if nobody does, or it is too much to tell."""
    if today.bye_order is None:
        return today
    bye = _fair_bye(today.bye_order, today.forbidden)
    if bye is None:
        return replace(today, bye_order=None)
    without = (today.forbidden != bye).all(axis=1)
    return replace(
        today,
        present=today.present[today.present != bye],
        forbidden=today.forbidden[without],
        bye=bye,
        is_excluded=today.is_excluded[without],
        bye_order=None,
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


def _forbidden(state: State, rest: list[int]) -> tuple[Counts, Counts]:
    """The keys of pairs of these that are excluded, and of pairs that have met, or are to meet, within the last
    proposals; each in rising order."""
    present = np.zeros(state.n_items + 1, dtype=np.bool_)
    present[rest] = True

    def among(keys: set[int]) -> Counts:
        array = np.fromiter(keys, dtype=np.int64, count=len(keys))
        first, second = pairs_of(array)
        return np.sort(array[present[first] & present[second]])

    excluded = among(state.exclusions)
    window = state.config["no_rematch"]
    since = max(state.next_number - window, 1)
    met = set(state.tally.met_since(since) if window else ())
    for number, sheet in state.open.items() if window else ():
        met.update(sheet.waiting if number >= since else ())
    return excluded, among(met)


def _contains(keys: Counts, wanted: Counts) -> NDArray[np.bool_]:
    """True for each wanted key that is among these, which are in rising order."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.bool_)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(keys[place] == wanted)


def _n_pairs(state: State, rest: list[int]) -> int:
    """How many pairs they could form without rules."""
    if not state.two_sided:
        return len(rest) * (len(rest) - 1) // 2
    columns = sum(state.sides_by_item[item - 1] for item in rest)
    return (len(rest) - columns) * columns


def _some_pair(state: State, rest: list[int], n_forbidden: int) -> bool:
    return _n_pairs(state, rest) > n_forbidden


def _infeasible(state: State, rest: list[int], excluded: Counts, met: Counts) -> LeagueError:
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


def _fair_bye(order: Counts, forbidden: Counts) -> int | None:
    """Who sits out: the fewest effective byes, then the longest since the last bye, then the last to join.

    Nobody whose absence costs a pair. None: too many to tell, and whoever is left sits out.
    """
    first = int(order[0])
    others = order[1:]
    kept = forbidden[(forbidden != first).all(axis=1)]
    degrees = len(others) - 1 - np.bincount(kept.ravel(), minlength=int(order.max()) + 1)[others]
    if _surely_all(np.sort(degrees)):
        return first
    if len(order) > LARGEST_EXACT:
        return None
    return _cheapest_bye(order.tolist(), {(a, b) for a, b in forbidden.tolist()})


def _surely_all(degrees: ArrayLike) -> bool:
    """Can all be paired, by their sorted degrees alone? (False: perhaps.)

    An even number n of players has a Hamiltonian cycle, and so a perfect matching, if for all i < n/2 with d_i ≤ i the
    degree d_(n−i) is at least n − i [Chvatal1972]; two need to be allowed to meet.
    """
    d = np.asarray(degrees)
    n = len(d)
    if n <= 2:
        return n == 0 or bool(d[0] > 0)
    i = np.arange(1, (n + 1) // 2)
    return bool(((d[i - 1] > i) | (d[n - i - 1] >= n - i)).all())


def _cheapest_bye(order: list[int], forbidden: set[tuple[int, int]]) -> int:
    """The first in this order without whom as many pairs are possible as with him.

    A guest who may meet everybody joins: of the largest matchings the one is wanted in which he meets whoever comes
    first in the order.
    """
    import rustworkx as rx  # noqa: PLC0415  # only players with many rules need it

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
