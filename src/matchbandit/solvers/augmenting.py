"""Augmenting paths: a matching of players made as large as possible."""

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.rewards import Counts


@compiled
def enlarge(start: Counts, partners: Counts, mate: Counts) -> None:  # noqa: PLR0912, PLR0915  # one compiles quicker
    """Make a matching as large as possible, by augmenting paths from whoever has no mate yet [Edmonds1965].

    Item i may meet partners[start[i]] … partners[start[i + 1] − 1]; mate[i] is −1 where there is none. A search grows
    a tree of alternating paths from one item; odd cycles in it are shrunk to their base.
    """
    n = len(mate)
    parent, base, queue = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    reached, in_cycle, above = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for root in range(n):
        if mate[root] >= 0:
            continue
        for i in range(n):
            reached[i], parent[i], base[i] = 0, -1, i
        reached[root], queue[0] = 1, root
        first, last, end = 0, 1, -1
        while first < last and end < 0:
            i = queue[first]
            first += 1
            for k in range(start[i], start[i + 1]):
                j = partners[k]
                if base[i] == base[j] or mate[i] == j:
                    continue
                if j == root or (mate[j] >= 0 and parent[mate[j]] >= 0):  # an odd cycle
                    for v in range(n):
                        above[v], in_cycle[v] = 0, 0
                    a = base[i]
                    above[a] = 1
                    while mate[a] >= 0:
                        a = base[parent[mate[a]]]
                        above[a] = 1
                    b = base[j]
                    while above[b] == 0:
                        b = base[parent[mate[b]]]
                    for side in range(2):
                        v, child = (i, j) if side == 0 else (j, i)
                        while base[v] != b:
                            in_cycle[base[v]] = 1
                            in_cycle[base[mate[v]]] = 1
                            parent[v] = child
                            child = mate[v]
                            v = parent[child]
                    for v in range(n):
                        if in_cycle[base[v]] == 1:
                            base[v] = b
                            if reached[v] == 0:
                                reached[v] = 1
                                queue[last] = v
                                last += 1
                elif parent[j] < 0:
                    parent[j] = i
                    if mate[j] < 0:
                        end = j
                        break
                    reached[mate[j]] = 1
                    queue[last] = mate[j]
                    last += 1
        while end >= 0:  # swap the edges of the path
            before = parent[end]
            following = mate[before]
            mate[end], mate[before] = before, end
            end = following
