"""The heaviest matching of what is allowed, by brute force."""


def heaviest(ends, weights):
    """The most disjoint pairs, and of those the greatest sum of weights: (how many, their sum)."""
    best = (0, 0.0)

    def go(k, taken, count, total):
        nonlocal best
        best = max(best, (count, total))
        for m in range(k, len(ends)):
            i, j = ends[m]
            if not (taken >> i & 1 or taken >> j & 1):
                go(m + 1, taken | 1 << i | 1 << j, count + 1, total + weights[m])

    go(0, 0, 0, 0.0)
    return best


def all_largest(ends):
    """All matchings with the most pairs, as lists of places."""
    found = []

    def go(k, taken, chosen):
        found.append(chosen)
        for m in range(k, len(ends)):
            i, j = ends[m]
            if not (taken >> i & 1 or taken >> j & 1):
                go(m + 1, taken | 1 << i | 1 << j, [*chosen, m])

    go(0, 0, [])
    most = max(map(len, found))
    return [chosen for chosen in found if len(chosen) == most]
