"""Tables of plays and rewards for tests of the rank-1 model."""

import numpy as np


def random_tables(graph, rng, least=0, most=200, shape=(4, 3), weakest=0.1):
    """Strengths, and counts and sums that they could have given."""
    N, M = (shape[0], shape[0]) if graph == "monopartite" else shape
    u = rng.uniform(weakest, 0.95, N)
    v = u if graph == "monopartite" else rng.uniform(weakest, 0.95, M)
    C = rng.integers(least, most + 1, (N, M))
    C = np.triu(C, 1) if graph == "monopartite" else C
    strengths = u if graph == "monopartite" else np.concatenate([u, v])
    return strengths, C.astype(float), rng.binomial(C, np.outer(u, v)).astype(float)


def symmetric(table, graph):
    """The table over all items, rows before columns, as the model keeps it."""
    if graph == "monopartite":
        return table + table.T
    N, M = table.shape
    return np.block([[np.zeros((N, N)), table], [table.T, np.zeros((M, M))]])
