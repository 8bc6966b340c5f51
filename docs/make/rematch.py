"""What `no_rematch` costs and changes: the table of docs/leagues.md. `python docs/make/rematch.py [LEAGUES]`.

Twelve people, with strengths drawn from [0.3, 0.95], are paired 120 times by a new league under each value of
`no_rematch`, with the same luck. The table is about the last 40 proposals. Rewards are expected ones, so that only the
choice of pairs varies; standard errors are over leagues.
"""

import sys
from itertools import combinations

import numpy as np

from matchbandit.leagues import Store

PEOPLE, PROPOSALS, LAST = 12, 120, 40
LOWEST, HIGHEST = 0.3, 0.95
RULES = (0, 1, 3, 5, 10)
COLUMNS = ("reward per pair", "share of the best", "partners", "with the most frequent one", "reward of the weakest")


def draw_strengths(seed: int) -> np.ndarray:
    """The strengths of a league's people, ascending."""
    return np.sort(np.random.default_rng(seed).uniform(LOWEST, HIGHEST, PEOPLE))


def play(store: Store, seed: int, no_rematch: int) -> list[float]:
    """One league: a row of the table."""
    strengths = draw_strengths(seed)
    luck = np.random.default_rng([seed, 1]).random((PROPOSALS, PEOPLE, PEOPLE))
    names = [f"person {k}" for k in range(PEOPLE)]
    league = store.create(f"people-{seed}-{no_rematch}", players=names, seed=seed, no_rematch=no_rematch)
    met = np.zeros((PEOPLE, PEOPLE))
    for number in range(PROPOSALS):
        proposal = league.ask()
        pairs = [(pair.names, *(item - 1 for item in pair.ids)) for pair in proposal.pairs]
        league.tell(
            proposal.number, {each: int(luck[number, a, b] < strengths[a] * strengths[b]) for each, a, b in pairs}
        )
        if number >= PROPOSALS - LAST:
            for _, a, b in pairs:
                met[[a, b], [b, a]] += 1
    rewards = met * np.outer(strengths, strengths) / LAST
    best = strengths[::2] @ strengths[1::2]
    quarter = PEOPLE // 4
    partners, most = (met > 0).sum(axis=1).mean(), met.max(axis=1).mean() / LAST
    return [rewards.sum() / PEOPLE, rewards.sum() / 2 / best, partners, most, rewards[:quarter].sum() / quarter]


def random_pairs(seed: int) -> list[float]:
    """Reward per pair, its share of the best, and the reward of the weakest, when pairs are drawn at random."""
    strengths = draw_strengths(seed)
    mean = float(np.mean([a * b for a, b in combinations(strengths, 2)]))
    quarter = PEOPLE // 4
    weakest = float(np.mean(strengths[:quarter] * (strengths.sum() - strengths[:quarter]) / (PEOPLE - 1)))
    return [mean, PEOPLE / 2 * mean / (strengths[::2] @ strengths[1::2]), weakest]


def text(values: list[list[float]], shares: tuple[int, ...]) -> list[str]:
    """Mean ± standard error of each column; those of `shares` in per cent."""
    table = np.array(values)
    table[:, list(shares)] *= 100
    errors = table.std(axis=0, ddof=1) / np.sqrt(len(table))
    digits = [1 if column in shares or mean > 1 else 3 for column, mean in enumerate(table.mean(axis=0))]
    return [
        f"{mean:.{n}f} ± {error:.{n}f}{' %' * (column in shares)}"
        for column, (mean, error, n) in enumerate(zip(table.mean(axis=0), errors, digits, strict=True))
    ]


def main(leagues: int) -> None:
    print(f"| `no_rematch` | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
    with Store("sqlite://") as store:
        for no_rematch in RULES:
            cells = text([play(store, seed, no_rematch) for seed in range(leagues)], (1, 3))
            print(f"| {no_rematch} | {' | '.join(cells)} |", flush=True)
    reward, share, weakest = text([random_pairs(seed) for seed in range(leagues)], (1,))
    print(f"| random pairs | {reward} | {share} | {PEOPLE - 1} | | {weakest} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
