"""The constraints of a proposal: who is available, fixed pairs, forbidden pairs, and who sits out."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, or_, select

from matchbandit.leagues import library, schema
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.items import Name, NameIndex, as_list, pair_index
from matchbandit.leagues.rules import REMOVE_FIRST
from matchbandit.leagues.state import Counts, LeagueState, id_pairs

_pair = schema.proposal_pair
MAX_EXACT_PLAYERS = 300
"""Most players with rules for whom a fair bye that costs no pair is computed. With more, whoever is left over sits out,
unless the degrees alone show that all others can be paired."""


@dataclass(frozen=True)
class Constraints:
    """Who can be paired with whom in a proposal."""

    available: list[int] | None
    """The items given as available; None: all active ones."""
    fixed: list[tuple[int, int]]
    """Pairs that were requested or pinned."""
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


def collect_constraints(
    connection: Connection,
    state: LeagueState,
    *,
    available: Iterable[Name] | None = None,
    fixed: Iterable[Any] | None = None,
) -> Constraints:
    """Collect the constraints, all but the bye. If no pair is possible, the error says which rule to relax."""
    present = _present(connection, state, available)
    fixed_pairs = _fixed(connection, state, present, fixed)
    taken = {item for pair in fixed_pairs for item in pair}
    one_pair = state.league.settings["selection"] == "pair"
    rest = [] if one_pair and fixed_pairs else [item for item in present if item not in taken]
    free = np.array(rest, dtype=np.int64)
    excluded = _among(state.exclusions, free, len(state.items))
    met = _among(_recent_pairs(connection, state), free, len(state.items))
    keys = np.unique(np.concatenate([excluded, met]))
    if not fixed_pairs:
        _refuse_if_infeasible(state, free, excluded, met, keys)
    order = None
    if state.league.sides is None and not one_pair and len(rest) % 2:
        rows = (state.items[item - 1] for item in rest)
        order = np.array([row.id for row in sorted(rows, key=lambda row: (row.bye_level, row.last_bye, -row.id))])
    return Constraints(
        available=None if available is None else present,
        fixed=fixed_pairs,
        present=free,
        forbidden=np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1),
        bye=None,
        is_excluded=np.isin(keys, excluded),
        bye_order=order,
    )


def _present(connection: Connection, state: LeagueState, available: Iterable[Name] | None) -> list[int]:
    """The ids of the available items, in rising order."""
    if available is None:
        return [int(item) for item in np.flatnonzero(state.active) + 1]
    index = NameIndex(connection, state.league, names := as_list("available", available))
    present = sorted({index.resolve(name) for name in names})
    for item in present:
        if not state.active[item - 1]:
            raise LeagueError("bad-value", f"{state.name(item)!r} has left the league. Let it rejoin first (rejoin).")
    return present


def _fixed(
    connection: Connection, state: LeagueState, available: list[int], requested: Iterable[Any] | None
) -> list[tuple[int, int]]:
    """The fixed pairs: those requested, then pins in order, if both items are available and free."""
    one_pair, present, taken = state.league.settings["selection"] == "pair", set(available), set[int]()
    pairs: list[tuple[int, int]] = []
    if listed := as_list("fixed", () if requested is None else requested):
        index, excluded = pair_index(connection, state.league, listed), set(map(tuple, state.exclusions.tolist()))
        pairs = [index.resolve_pair(pair) for pair in listed]
    for ids in pairs:
        if ids in excluded:
            raise LeagueError("contradiction", f"{index.pair_text(ids)} {REMOVE_FIRST['exclude']}")
        if not present.issuperset(ids):
            raise LeagueError("infeasible", f"{index.pair_text(ids)} are a fixed pair but not both available.")
        if not taken.isdisjoint(ids):
            raise LeagueError("infeasible", f"one of {index.pair_text(ids)} is in another fixed pair as well.")
        taken.update(ids)
    if len(pairs) > 1 and one_pair:
        raise LeagueError("infeasible", f"this league proposes one pair at a time; got {len(pairs)} fixed.")
    for pin in state.pins:
        if present.issuperset(pin) and taken.isdisjoint(pin):
            taken.update(pin)
            pairs.append(pin)
    return pairs[:1] if one_pair else pairs


def _recent_pairs(connection: Connection, state: LeagueState) -> Counts:
    """Pairs that met, or are to meet, within the last `no_rematch` proposals."""
    window = state.league.settings["no_rematch"]
    if not window:
        return id_pairs(())
    where = [_pair.c.league_id == state.league.id, _pair.c.number > state.league.n_proposals - window]
    where.append(or_(_pair.c.outcome_version.is_(None), _pair.c.outcome.is_not(None)))  # a void pair never met
    return id_pairs(connection.execute(select(_pair.c.a, _pair.c.b).where(*where).distinct()))


def _among(pairs: Counts, items: Counts, n_items: int) -> Counts:
    """Those of these pairs whose items are both among `items`, as sorted keys."""
    present = np.zeros(n_items + 1, dtype=np.bool_)
    present[items] = True
    a, b = pairs[:, 0], pairs[:, 1]
    return np.sort((a << 32 | b)[present[a] & present[b]])


def _refuse_if_infeasible(state: LeagueState, present: Counts, excluded: Counts, met: Counts, keys: Counts) -> None:
    n, window, sides = len(present), state.league.settings["no_rematch"], state.league.sides
    n_pairs = state.count_pairs(present)
    if n_pairs > len(keys):
        return
    if not n_pairs and sides is None:
        count = "only one player is" if n else "nobody is"
        raise LeagueError("infeasible", f"{count} available, and a pair needs two. Ask with more players.")
    if not n_pairs and sides is not None:
        missing = sides[0 in state.sides[present - 1]]
        raise LeagueError("infeasible", f"none of {missing} is available, and a pair needs one of each side.")
    causes = [
        (len(excluded), "are excluded", "remove an exclusion (unexclude)"),
        (len(met), f"met within the last {window} proposals", f"lower no_rematch (now {window})"),
    ]
    _, reasons, fixes = zip(*([cause for cause in causes if cause[0] == n_pairs][:1] or causes), strict=True)
    raise LeagueError(
        "infeasible", f"all pairs of the {n} available items {' or '.join(reasons)}: {', or '.join(fixes)}."
    )


def assign_bye(constraints: Constraints) -> Constraints:
    """Assign the bye, if somebody sits out: the first in the order whose absence costs no pair.

    With too many players to compute it nobody is assigned; then whoever is left over sits out.
    """
    order, forbidden = constraints.bye_order, constraints.forbidden
    if order is None:
        return constraints
    bye, others = int(order[0]), order[1:]
    among_others = forbidden[(forbidden != bye).all(axis=1)]
    degrees = len(others) - 1 - np.bincount(among_others.ravel(), minlength=int(order.max()) + 1)[others]
    if not _can_pair_all(np.sort(degrees)):
        if len(order) > MAX_EXACT_PLAYERS:
            return replace(constraints, bye_order=None)
        place = np.zeros(int(order.max()) + 1, dtype=np.int64)
        place[order] = np.arange(len(order))
        bye = int(order[library.first_to_sit_out(len(order), place[forbidden])])
    without = (forbidden != bye).all(axis=1)
    return replace(
        constraints,
        present=constraints.present[constraints.present != bye],
        forbidden=forbidden[without],
        bye=bye,
        is_excluded=constraints.is_excluded[without],
        bye_order=None,
    )


def _can_pair_all(degrees: Counts) -> bool:
    """Can all be paired, by their sorted degrees alone? (False: perhaps.)

    An even number n of players has a Hamiltonian cycle, and so a perfect matching, if for all i < n/2 with d_i ≤ i the
    degree d_(n−i) is at least n − i [Chvatal1972]; two need to be allowed to meet.
    """
    n = len(degrees)
    if n <= 2:
        return n == 0 or bool(degrees[0] > 0)
    i = np.arange(1, (n + 1) // 2)
    return bool(((degrees[i - 1] > i) | (degrees[n - i - 1] >= n - i)).all())
