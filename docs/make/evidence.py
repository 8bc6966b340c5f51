"""The picture of docs/identification.md: how the evidence of rank1-certify grows in one run. Takes some seconds.

Usage: python docs/make/evidence.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np

import matchbandit as mb
from matchbandit.certificates import bottleneck_closure
from matchbandit.figures import draw_to
from matchbandit.figures.evidence import Growth, Trace, evidence

STRENGTHS = (0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
TRUE = [(a, b) for first in (0, 2) for a in (first, first + 1) for b in (first + 2, first + 3)]
"""What must be certified for the best matching: every player of a pair above every player of the next."""
FALSE = [(2, 1), (4, 3)]
DELTA, SEED = 0.05, 6


def played() -> Growth:
    """One run, and what it knew at the end of each batch."""
    problem = mb.Monopartite(STRENGTHS)
    policy = mb.policy("rank1-certify", delta=DELTA).build(problem.graph, seed=SEED)
    world = np.random.default_rng(SEED)
    rounds, seen, chains = [], [], []
    while not policy.done:
        pairs = policy.ask()
        policy.tell(pairs, problem.rewards.draw(problem.means[problem.graph.edges(pairs)], world))
        if policy.sampled > (rounds[-1] if rounds else 0):
            rounds.append(policy.sampled)
            seen.append(policy.evidence)
            chains.append(bottleneck_closure(policy.peaks))
    enough = policy.threshold(policy.sampled)

    def trace(a: int, b: int, true: bool) -> Trace:
        certified = [at for at, chain in zip(rounds, chains, strict=True) if chain[a, b] >= enough]
        return Trace(f"{a} above {b}", true, [float(at[a, b]) for at in seen], min(certified, default=None))

    traces = [trace(a, b, True) for a, b in TRUE] + [trace(a, b, False) for a, b in FALSE]
    return Growth(rounds, traces, enough, "enough: log(F/δ)")


def main(folder: Path) -> None:
    caption = f"Six players, u = ({', '.join(map(str, STRENGTHS))}), δ = {DELTA}; one run, seed {SEED}. "
    caption += "Each line ends where its statement is certified; what is not true never is."
    title = "How the evidence of rank1-certify grows"
    print(draw_to(evidence(played(), title=title, caption=caption), folder / "evidence.png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
