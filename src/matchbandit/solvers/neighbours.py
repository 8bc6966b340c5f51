"""The heaviest matching of near neighbours, for players whose pairs weigh the product of their strengths.

With the strengths sorted, x_0 ≥ x_1 ≥ …, a matching loses (x_i − x_j)²/2 with each of its pairs and x_i²/2 with whoever
is alone, as x_i x_j = (x_i² + x_j² − (x_i − x_j)²)/2. The least loss is the greatest weight, and what loses little are
pairs of near neighbours. So the items are taken one after the other, and all that must be remembered is which of the
last few still wait for a partner.

Pairs that are farther apart are not looked at, but they are accounted for. Anyone may be matched *far away*, for no
more than such a pair would lose: its loss g²/2, g the difference of its strengths, is shared out, a part to its two
ends, each as if its partner were as near as can be, and the rest to the steps from item to item that it passes over,
d·g/2 with d the step's own difference, as if g were the shortest far pair over that step. Two must do so, and while the
number of those who did is odd, some pair passes over every step. So the least loss that is found in this way is at most
that of any matching. If nobody is far away in it, then no matching whatever is heavier. Else it still says which far
pairs may be in the heaviest one: those that lose little more than they were charged for.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.compiled import compiled
from matchbandit.graphs import Pairs
from matchbandit.rewards import Counts, Floats

END_SHARE = 0.5
"""The part of the loss of a far pair that its two ends share."""
TIE = 1e-12
"""Far away must be better by more than this: among equals the near ones are taken. The greatest strength is 1."""


ROUNDING = 1e-9
"""By how much sums of losses may be off."""


class Near(NamedTuple):
    """The heaviest matching of near neighbours."""

    mate: Counts
    """Of each item; −1: none."""
    exact: bool
    """It is proved that no matching whatever is heavier, up to rounding."""
    least: float
    """What every matching loses at least, if the greatest strength is 1."""


def match_near(strengths: Floats, may_meet: NDArray[np.bool_]) -> Near:
    """The most pairs, and of those the heaviest, of items in falling order whose places differ by no more than w.

    `may_meet` has a row for each item: may it meet the one before, the one before that, … the w-th one before?

    >>> may_meet = np.array([[0, 0], [0, 0], [1, 1], [1, 1]], dtype=bool)  # all but the two strongest
    >>> match_near(np.array([0.9, 0.8, 0.5, 0.1]), may_meet).mate.tolist()
    [2, 3, 0, 1]
    """
    n, width = may_meet.shape
    x = strengths / (float(strengths.max(initial=0.0)) or 1.0)
    away, toll = _far_away(x, width)
    mate = np.empty(n, dtype=np.int64)
    least, all_near = match(x, may_meet, away, toll, mate)
    if all_near:
        return Near(mate, True, least)
    match(x, may_meet, np.full(n, np.inf), toll, mate)
    return Near(mate, False, least)


def far_pairs(strengths: Floats, width: int, near: Near) -> Pairs:
    """The places of the pairs farther apart than this width that may be in a heavier matching than this one.

    A far pair loses (x_i − x_j)²/2, and was charged for its ends and for the steps between. If that is less by more
    than what this matching loses above the least, so does every matching with that pair.
    """
    x = strengths / (float(strengths.max(initial=0.0)) or 1.0)
    gap = _loss(x, near.mate) - near.least
    away, toll = _far_away(x, width)
    first, second = np.triu_indices(len(x), k=width + 1)
    steps = np.cumsum(toll)
    charged = away[first] + away[second] + steps[second] - steps[first]
    may_be = (x[first] - x[second]) ** 2 / 2 - charged <= gap + ROUNDING
    return np.stack([first[may_be], second[may_be]], axis=1)


def _loss(x: Floats, mate: Counts) -> float:
    """What a matching loses."""
    alone = mate < 0
    gaps = x[~alone] - x[mate[~alone]]
    return float((gaps**2).sum() / 4 + (len(x) + 1 + x[alone] ** 2 / 2).sum())


def _far_away(x: Floats, width: int) -> tuple[Floats, Floats]:
    """What each item loses at least as an end of a pair whose places differ by more than the width, and what such a
    pair loses at least over the step to each item; nobody is far away among so few."""
    away, toll, shortest = np.full(len(x), np.inf), np.zeros(len(x)), np.full(len(x), np.inf)
    spans = x[: -width - 1] - x[width + 1 :] if len(x) > width + 1 else np.zeros(0)
    if len(spans):
        ends = END_SHARE * spans**2 / 4 + TIE
        away[width + 1 :] = ends
        away[: -width - 1] = np.minimum(away[: -width - 1], ends)
        for k in range(1, width + 2):
            part = shortest[k : k + len(spans)]
            np.minimum(part, spans, out=part)
        toll[1:] = (1 - END_SHARE) * (x[:-1] - x[1:]) * shortest[1:] / 2
    return away, toll


@compiled
def match(  # noqa: PLR0912  # one function compiles quicker than three
    x: Floats, may_meet: NDArray[np.bool_], away: Floats, toll: Floats, mate: Counts
) -> tuple[float, bool]:
    """Write down the mates of the least loss; how much it is, and is nobody far away? Whoever is has no mate.

    A state has a bit for each of the last `width` items, whether it waits, and one whether an odd number is far away.
    """
    n, width = may_meet.shape
    half = 1 << width
    states = 2 * half
    waits, alone, distant = width, width + 1, width + 2  # below `width`: it meets the one that many before
    unmatched = float(n) + 1.0  # more than all else can lose
    did = np.empty((n, states), dtype=np.uint8)
    loss, following = np.empty(states), np.empty(states)
    for s in range(states):
        loss[s] = np.inf
    loss[0] = 0.0
    for i in range(n):
        for s in range(states):
            following[s] = np.inf
        lost_alone = unmatched + x[i] * x[i] / 2.0
        for s in range(states):
            now = loss[s]
            if now == np.inf:
                continue
            mask, odd, first = s >> 1, s & 1, 0
            if odd:
                now += toll[i]
            if mask < half >> 1:
                to = (((mask << 1) | 1) << 1) | odd
                if now < following[to]:
                    following[to], did[i, to] = now, waits
                to = (mask << 2) | odd
                if now + lost_alone < following[to]:
                    following[to], did[i, to] = now + lost_alone, alone
                if now + away[i] < following[to ^ 1]:
                    following[to ^ 1], did[i, to ^ 1] = now + away[i], distant
            else:
                first = width - 1  # the one who has waited longest has no other chance
            for d in range(first, width):
                if (mask >> d) & 1 and may_meet[i, d]:
                    gap = x[i - 1 - d] - x[i]
                    to = ((mask ^ (1 << d)) << 2) | odd
                    if now + gap * gap / 2.0 < following[to]:
                        following[to], did[i, to] = now + gap * gap / 2.0, d
        loss, following = following, loss
    s, all_near = 0, True
    for i in range(n):
        mate[i] = -1
    for i in range(n - 1, -1, -1):
        done, mask, odd = did[i, s], s >> 2, s & 1
        if done == distant:
            all_near, odd = False, 1 - odd
        elif done < width:
            mate[i], mate[i - 1 - done] = i - 1 - done, i
            mask |= 1 << done
        s = (mask << 1) | odd
    return float(loss[0]), all_near
