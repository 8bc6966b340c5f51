"""Characteristic time and Graves–Lai constant by brute force: all rounds listed, alternatives on grids of strengths.

A finite set of alternatives in one linear program gives at most the true value. Its plays η, divided by the least
Σ η kl that any alternative leaves, are feasible and cost at least the true value. Both come back: (below, above).

The alternatives that matter lie on faces: two items as strong as each other, whose exchange changes the answer. Proof:
take an alternative λ and go to the truth μ along λ^(1−t) μ^t, item by item. It stays in [0, 1], each mean moves
straight towards its true value, so every kl falls, whatever the law; and on the way the true answer must come level
with another, which takes such a tie (rearrangement inequality). Pairs that pay alike under λ and μ pay so all the way.
"""

from itertools import combinations, product

import numpy as np
from reference.combinatorial import matchings_of
from scipy.optimize import differential_evolution, linprog
from scipy.special import rel_entr

GRID = {1: 2001, 2: 61, 3: 21, 4: 11, 5: 7}  # points per dimension at the first look at a face


def divergence(law, p, q):
    """kl(p, q) of a law, for arrays; infinite where q cannot pay what p can."""
    if law.name == "gaussian":
        return (p - q) ** 2 / (2 * law.sd**2)
    coins = law.trials if law.name == "binomial" else 1
    return coins * (rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def strengths_of(problem):
    """All strengths in one list: rows, then columns; or the players."""
    return np.concatenate([problem.u, problem.v]) if problem.graph.kind == "bipartite" else np.array(problem.u)


def pairs_of(problem):
    """Each pair as two positions in that list."""
    shift = [0, len(problem.u) if problem.graph.kind == "bipartite" else 0]
    return problem.graph.pairs + shift


def means_of(problem, strengths):
    """The means of all pairs, for strengths of shape (…, items)."""
    first, second = pairs_of(problem).T
    return strengths[..., first] * strengths[..., second]


def options(problem, selection):
    """All single pairs or all largest matchings, each a sorted tuple of edges."""
    if selection == "pair":
        return [(edge,) for edge in range(problem.graph.n_pairs)]
    return [tuple(sorted(problem.graph.edges(m).tolist())) for m in matchings_of(problem.graph)]


def incidence(problem, selection):
    """Which round plays which pair: a table of 0 and 1."""
    rounds = options(problem, selection)
    table = np.zeros((len(rounds), problem.graph.n_pairs))
    for line, edges in zip(table, rounds, strict=True):
        line[list(edges)] = 1
    return table


def answer(problem, seeks):
    """The one best pair or matching, by comparing all of them."""
    values = incidence(problem, seeks) @ problem.means
    best = np.flatnonzero(values >= values.max() - 1e-12)
    if len(best) != 1:
        raise ValueError("the answer is tied")
    return options(problem, seeks)[best[0]]


def ties(problem, seeks):
    """The pairs of items whose exchange changes the answer."""
    pairs, rows = pairs_of(problem), len(problem.u)
    items = len(strengths_of(problem))
    played = {frozenset(pairs[e].tolist()) for e in answer(problem, seeks)}
    found = []
    for x, y in combinations(range(items), 2):
        if problem.graph.kind == "bipartite" and (x < rows) != (y < rows):
            continue
        swap = {x: y, y: x}
        if {frozenset(swap.get(i, i) for i in pair) for pair in played} != played:
            found.append((x, y))
    return found


class Face:
    """Strengths with x and y level, from parameters in [0, 1]^dimension."""

    def __init__(self, problem, groups, fixed, partners):
        """`groups`: items that move together, with the least value; `fixed`: items at 1; `partners`: p/λ of another."""
        self.problem, self.groups, self.fixed, self.partners = problem, groups, fixed, partners
        self.dimension = len(groups)

    def strengths(self, theta):
        items = len(strengths_of(self.problem))
        out = np.ones((len(theta), items))
        for k, (members, least) in enumerate(self.groups):
            out[:, members] = (least + (1 - least) * theta[:, k])[:, None]
        for item, (other, mean) in self.partners.items():
            out[:, item] = mean / out[:, other]
        return out

    def divergences(self, theta):
        """Shape (points, pairs)."""
        q = means_of(self.problem, self.strengths(theta))
        return divergence(self.problem.rewards, self.problem.means, np.minimum(q, 1.0))


def all_faces(problem, seeks):
    """Every tie, all strengths otherwise free.

    Rows × c and columns / c pay the same, so some row has strength 1: each is tried in that place.
    """
    items, rows, faces = len(strengths_of(problem)), len(problem.u), []
    for x, y in ties(problem, seeks):
        groups = [[x, y]] + [[i] for i in range(items) if i not in (x, y)]
        if problem.graph.kind == "bipartite":
            for top in (g for g in groups if g[0] < rows):
                faces.append(Face(problem, [(g, 0.0) for g in groups if g is not top], top, {}))
        else:
            faces.append(Face(problem, [(g, 0.0) for g in groups], [], {}))
    return faces


def confusing_faces(problem, selection):
    """Every tie in which each pair of the answer pays exactly its true mean."""
    pairs, items, faces = pairs_of(problem), len(strengths_of(problem)), []
    partner, pays = {}, {}
    for edge in answer(problem, selection):
        i, j = pairs[edge].tolist()
        partner[i], partner[j] = j, i
        pays[i] = pays[j] = problem.means[edge]
    for x, y in ties(problem, selection):
        leaders = [x, y]
        for i in range(items):
            if i not in leaders and partner.get(i) not in leaders:
                leaders.append(i)
        partners = {partner[i]: (i, pays[i]) for i in leaders if i in partner}
        if set(partners) & set(leaders):  # x and y are partners of each other: no alternative
            continue
        groups = [([x, y], max(pays.get(x, 0.0), pays.get(y, 0.0)))] + [([i], pays.get(i, 0.0)) for i in leaders[2:]]
        faces.append(Face(problem, groups, [], partners))
    return faces


def _evidence(weights, table):
    """Σ weights × kl; a pair that is never played tells nothing, even where kl is infinite."""
    played = weights > 0
    return table[:, played] @ weights[played]


def _grid(centre, half, points):
    axes = [np.linspace(max(0.0, c - half), min(1.0, c + half), points) for c in centre]
    return np.array(list(product(*axes)))


def _zoom(face, weights, looked):
    """The least evidence on a face: the best points of a first look, each enlarged again and again."""
    theta, table = looked
    values = _evidence(weights, table)
    points = {1: 9, 2: 7, 3: 5, 4: 3, 5: 3}[face.dimension]
    best = []
    for start in np.argsort(values)[:: max(1, len(values) // 400)][:3]:  # the best, and two that are nearly so
        at, half = theta[start], 2.0 / GRID[face.dimension]
        for _ in range(40):
            near = np.vstack([at[None], _grid(at, half, points)])
            found = _evidence(weights, face.divergences(near))
            k = int(np.argmin(found))
            half *= 0.6 if k == 0 else 0.85
            at = near[k]
        best.append((float(found[k]), at))
    return best


def least_evidence(faces, weights, *, seed=0):
    """min over the faces of Σ weights × kl by differential evolution: a global search, knowing nothing of the rest."""
    least = np.inf
    for face in faces:

        def evidence(theta, face=face):
            return _evidence(weights, face.divergences(theta.T))

        search = differential_evolution(
            evidence, [(0, 1)] * face.dimension, vectorized=True, updating="deferred", polish=False,
            popsize=20, tol=1e-8, maxiter=300, rng=np.random.default_rng(seed),
        )  # fmt: skip
        least = min(least, float(search.fun))
    return least


def _sandwich(faces, table_of_rounds, costs, *, tolerance=5e-4, most=60):
    looks = []
    for face in faces:
        theta = _grid(np.full(face.dimension, 0.5), 0.5, GRID[face.dimension])
        looks.append((theta, face.divergences(theta)))
    coarse = [table[:: max(1, len(table) // 300)] for _, table in looks]
    known = np.vstack(coarse)
    above, below = np.inf, 0.0
    for _ in range(most):
        known = known[np.isfinite(known).all(axis=1)]  # leaving alternatives out only lowers the program
        evidence = known @ table_of_rounds.T
        scale = evidence.max(axis=1, keepdims=True)
        solved = linprog(costs, A_ub=-(evidence / scale), b_ub=-1 / scale[:, 0], method="highs")
        if solved.status != 0:
            raise RuntimeError(solved.message)
        below = max(below, solved.fun * (1 - 1e-9))
        weights = table_of_rounds.T @ solved.x
        worst = []
        for face, look in zip(faces, looks, strict=True):
            worst += [(value, at, face) for value, at in _zoom(face, weights, look)]
        least = min(value for value, _, _ in worst)
        if least > 0 and solved.fun / least <= below * (1 + tolerance):
            above = solved.fun / min(least, least_evidence(faces, weights))
            if above <= below * (1 + tolerance):
                break
        new = [face.divergences(at[None]) for value, at, face in worst if value < 1]
        known = np.vstack([known, *new]) if new else known
    return below, above


def characteristic_time(problem, *, plays, seeks):
    """(below, above) around T*: the least number of rounds that tells the truth from every other answer."""
    table = incidence(problem, plays)
    return _sandwich(all_faces(problem, seeks), table, np.ones(len(table)))


def graves_lai(problem, selection):
    """(below, above) around C: the least regret that tells the truth from what pays alike on the optimal round."""
    table = incidence(problem, selection)
    losses = table @ problem.means
    losses = losses.max() - losses
    worse = losses > 1e-12
    return _sandwich(confusing_faces(problem, selection), table[worse], losses[worse])


def ordinary_bandit(means, law):
    """Lai and Robbins: Σ Δ/kl over the arms that are not the best."""
    best = max(means)
    return sum((best - m) / float(divergence(law, np.float64(m), np.float64(best))) for m in means if m < best)
