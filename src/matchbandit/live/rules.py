"""The constraints of a proposal: who is available, fixed pairs, forbidden pairs, and who sits out.

Two steps: `collect_constraints` reads the state and is quick, since it runs under the lock of the league; `assign_bye`
may need a maximum matching and runs without the lock.
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

MAX_EXACT_PLAYERS = 300
"""Most players with rules for whom a fair bye that costs no pair is computed. With more, whoever is left over sits out,
unless the degrees alone show that all others can be paired."""


@dataclass(frozen=True)
class Constraints:
    """Who can be paired with whom in a proposal."""

    available: list[int] | None
    """The items given as available; None: all active ones."""
    fixed: list[tuple[int, int]]
    """Pairs that were requested or wished for."""
    present: Counts
    """Ids of the items still to be paired, in increasing order."""
    forbidden: Counts
    """Pairs of them that must not meet; shape (k, 2)."""
    bye: int | None
    """Who sits out, of an odd number of players; None until it is assigned."""
    is_excluded: NDArray[np.bool_]
    """True for each forbidden pair that is excluded; the others met recently."""
    bye_order: Counts | None = None
    """The order in which players sit out, while the bye of an odd number is not assigned; else None."""


def unconstrained(items: list[int]) -> Constraints:
    """Constraints without rules: the policy decides who sits out."""
    no_pairs = np.zeros((0, 2), dtype=np.int64)
    return Constraints(None, [], np.array(items, dtype=np.int64), no_pairs, None, np.zeros(0, dtype=np.bool_))


def collect_constraints(
    state: State,
    directory: Directory,
    *,
    available: Iterable[str | int] | None = None,
    fixed: Iterable[tuple[str | int, str | int]] | None = None,
) -> Constraints:
    """Collect the constraints from the state, all but the bye.

    If no pair is possible, the error says which rule to relax.
    """
    present = _resolve_available(state, directory, available)
    fixed_pairs = _fixed(state, directory, present, fixed)
    taken = {item for pair in fixed_pairs for item in pair}
    rest = [item for item in present if item not in taken]
    one_pair = state.config["selection"] == "pair"
    if one_pair and fixed_pairs:
        rest = []
    excluded, met = _forbidden(state, rest)
    only_met = met[~_contains(excluded, met)]
    forbidden = np.concatenate([excluded, only_met])
    key_order = np.argsort(forbidden) if len(only_met) else np.arange(len(forbidden))
    is_excluded = (np.arange(len(forbidden)) < len(excluded))[key_order]
    if not fixed_pairs and not _some_pair(state, rest, len(forbidden)):
        raise _infeasible(state, rest, excluded, met)
    order = None
    if not (state.two_sided or one_pair) and len(rest) % 2:
        order = np.array(
            sorted(rest, key=lambda item: (state.effective_byes[item - 1], state.last_bye[item - 1], -item)),
            dtype=np.int64,
        )
    return Constraints(
        available=None if available is None else present,
        fixed=fixed_pairs,
        present=np.array(rest, dtype=np.int64),
        forbidden=np.stack(pairs_of(forbidden[key_order]), axis=1),
        bye=None,
        is_excluded=is_excluded,
        bye_order=order,
    )


def assign_bye(constraints: Constraints) -> Constraints:
    """Assign the bye; unchanged if nobody sits out or there are too many players to compute it."""
    if constraints.bye_order is None:
        return constraints
    bye = _fair_bye(constraints.bye_order, constraints.forbidden)
    if bye is None:
        return replace(constraints, bye_order=None)
    without = (constraints.forbidden != bye).all(axis=1)
    return replace(
        constraints,
        present=constraints.present[constraints.present != bye],
        forbidden=constraints.forbidden[without],
        bye=bye,
        is_excluded=constraints.is_excluded[without],
        bye_order=None,
    )


def _resolve_available(state: State, directory: Directory, available: Iterable[str | int] | None) -> list[int]:
    """The ids of the available items, in increasing order."""
    if available is None:
        return [item for item, active in enumerate(state.active, start=1) if active]
    if isinstance(available, str) or not isinstance(available, Iterable):
        raise LeagueError("bad-value", f"available must be a list of names; got {available!r}.")
    present = {directory.resolve(name) for name in available}
    for item in sorted(present):
        if not state.active[item - 1]:
            raise LeagueError("bad-value", f"{directory.name(item)!r} has left the league. Let it rejoin first (join).")
    return sorted(present)


def _fixed(
    state: State, directory: Directory, available: list[int], requested: Iterable[tuple[str | int, str | int]] | None
) -> list[tuple[int, int]]:
    """The fixed pairs: those requested, then wishes in order, if both items are available and free."""
    present, taken = set(available), set[int]()
    fixed_pairs: list[tuple[int, int]] = []
    for pair in () if requested is None else requested:
        a, b = directory.resolve_pair(pair)
        names = "{!r} and {!r}".format(*directory.pair((a, b)))
        if key_of(a, b) in state.exclusions:
            raise LeagueError("contradiction", f"{names} are excluded. Remove the exclusion first (allow).")
        if not {a, b} <= present:
            raise LeagueError("infeasible", f"{names} are a fixed pair but not both available.")
        if {a, b} & taken:
            raise LeagueError("infeasible", f"{names} are a fixed pair, but one of them is in another fixed pair.")
        taken |= {a, b}
        fixed_pairs.append((a, b))
    if len(fixed_pairs) > 1 and state.config["selection"] == "pair":
        raise LeagueError(
            "infeasible", f"this league proposes one pair at a time; got {len(fixed_pairs)} fixed ones. Fix one."
        )
    for key in state.wishes:
        a, b = pair_of(key)
        if {a, b} <= present and not {a, b} & taken:
            taken |= {a, b}
            fixed_pairs.append((a, b))
    return fixed_pairs[:1] if state.config["selection"] == "pair" else fixed_pairs


def _forbidden(state: State, rest: list[int]) -> tuple[Counts, Counts]:
    """The keys of excluded pairs and of pairs that met, or are to meet, in the last proposals; each in increasing
    order."""
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
    for number, proposal in state.open.items() if window else ():
        met.update(proposal.waiting if number >= since else ())
    return excluded, among(met)


def _contains(sorted_keys: Counts, keys: Counts) -> NDArray[np.bool_]:
    """True for each key that is among the sorted ones."""
    if not len(sorted_keys):
        return np.zeros(len(keys), dtype=np.bool_)
    index = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.asarray(sorted_keys[index] == keys)


def _n_pairs(state: State, rest: list[int]) -> int:
    """Number of pairs without rules."""
    if not state.two_sided:
        return len(rest) * (len(rest) - 1) // 2
    columns = sum(state.sides_by_item[item - 1] for item in rest)
    return (len(rest) - columns) * columns


def _some_pair(state: State, rest: list[int], n_forbidden: int) -> bool:
    return _n_pairs(state, rest) > n_forbidden


def _infeasible(state: State, rest: list[int], excluded: Counts, met: Counts) -> LeagueError:
    """The error for no possible pair; it says which rule to relax."""
    n_pairs, window = _n_pairs(state, rest), state.config["no_rematch"]
    if not n_pairs:
        if not state.two_sided:
            count = "nobody is" if not rest else "only one player is"
            return LeagueError("infeasible", f"{count} available, and a pair needs two. Ask with more players.")
        columns = sum(state.sides_by_item[item - 1] for item in rest)
        missing = state.config["sides"][0 if columns == len(rest) and rest else 1 if rest else 0]
        return LeagueError("infeasible", f"none of {missing} is available, and a pair needs one of each side.")
    of = f"the {len(rest)} available items"
    lower = f"Lower no_rematch (now {window})"
    if not n_pairs > len(excluded):
        return LeagueError("infeasible", f"all pairs of {of} are excluded. Remove an exclusion (allow).")
    if not n_pairs > len(met):
        return LeagueError("infeasible", f"all pairs of {of} met within the last {window} proposals. {lower}.")
    return LeagueError(
        "infeasible",
        f"all pairs of {of} are excluded or met within the last {window} proposals. {lower}, or remove an "
        f"exclusion (allow).",
    )


def _fair_bye(order: Counts, forbidden: Counts) -> int | None:
    """Who sits out: the first in `order` whose absence costs no pair.

    None if there are too many players to tell; then whoever is left over sits out.
    """
    first = int(order[0])
    others = order[1:]
    among_others = forbidden[(forbidden != first).all(axis=1)]
    degrees = len(others) - 1 - np.bincount(among_others.ravel(), minlength=int(order.max()) + 1)[others]
    if _can_pair_all(np.sort(degrees)):
        return first
    if len(order) > MAX_EXACT_PLAYERS:
        return None
    return _matching_bye(order.tolist(), {(a, b) for a, b in forbidden.tolist()})


def _can_pair_all(degrees: ArrayLike) -> bool:
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


def _matching_bye(order: list[int], forbidden: set[tuple[int, int]]) -> int:
    """The first in this order without whom as many pairs are possible as with them.

    A dummy vertex is connected to everyone: of the largest matchings, take the one in which it meets the first.
    """
    import rustworkx as rx  # noqa: PLC0415  # only players with many rules need it

    graph: Any = rx.PyGraph()
    graph.add_nodes_from(order)
    dummy = graph.add_node(0)
    n = len(order)
    graph.add_edges_from([(dummy, place, n - place) for place in range(n)])
    graph.add_edges_from(
        [
            (i, j, 0)
            for i in range(n)
            for j in range(i + 1, n)
            if (min(order[i], order[j]), max(order[i], order[j])) not in forbidden
        ]
    )
    for i, j in rx.max_weight_matching(graph, max_cardinality=True, weight_fn=int):
        if dummy in (i, j):
            return order[i if j == dummy else j]
    raise AssertionError("a vertex connected to all others is matched")
