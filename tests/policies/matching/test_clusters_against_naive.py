"""Play by play against the naive implementations in tests/reference, which were written from the definitions alone."""

import json
import warnings

import numpy as np
import pytest
from reference import clusters as reference
from reference.tape import Roll

import matchbandit as mb
from matchbandit.simulation.engines import jump
from matchbandit.simulation.score import Score

SHORT = 3
"""The horizon that policies are told: with log 3 in place of log T splits, some of them wrong, come soon."""
REFERENCES = {
    "adaptive-matching": reference.AdaptiveMatching,
    "simple-adaptive-matching": reference.SAM,
    "exploration-first": reference.ExplorationFirst,
    "matching-id": reference.MatchingId,
}


@pytest.fixture(autouse=True)
def _players_who_do_not_come_in_equal_pairs():
    """SAM warns of them; that is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def instance(n, seed):
    """Players far apart in any order; with an even seed they come in equal pairs."""
    spread = np.repeat(np.linspace(1, 0, n // 2), 2) if seed % 2 == 0 else np.linspace(1, 0, n)
    return np.random.default_rng([n, seed]).permutation(spread)


def some_clusters(n, seed):
    """Players in any order, cut at up to three places."""
    rng = np.random.default_rng([n, seed])
    players, cuts = rng.permutation(n), np.sort(rng.choice(np.arange(1, n), min(n - 1, 3), replace=False))
    return [part.tolist() for part in np.split(players, cuts)]


class Watched:
    """Notes the round and the ledger after everything that a policy learns."""

    def __init__(self, policy):
        self.ledgers, self.learn, self.policy = [], policy.learn, policy
        policy.learn = self

    def __call__(self, tally):
        self.learn(tally)
        self.ledgers.append((self.policy.rounds, *ledger_of(self.policy)))


def ledger_of(policy):
    if policy.name == "matching-id":
        return policy.averages.counts.tolist(), policy.averages.sums.tolist(), policy.above.tolist()
    keeper = getattr(policy, "adaptive", policy)
    return *used(keeper.ledger, policy.clusters), keeper.chains


def reference_ledger(naive):
    if isinstance(naive, reference.MatchingId):
        return naive.item_counts, naive.item_sums, naive.above.tolist()
    return *used(naive, naive.clusters), naive.chains


def used(ledger, clusters):
    """Counts and sums of all that can still be used: each player against those of its own and of better clusters.

    The definition commits a player's samples against worse clusters too, which nobody looks at again.
    """
    place = np.empty(len(ledger.counts), dtype=int)
    for k, cluster in enumerate(clusters):
        place[cluster] = k
    looked_at = place[:, None] >= place[None, :]
    return (ledger.counts * looked_at).tolist(), (ledger.sums * looked_at).tolist()


def build(name, n, growth, **options):
    return mb.policy(name, growth=growth, **options).build(
        mb.monopartite(n), horizon=None if name == "matching-id" else SHORT, seed=1
    )


def naive_of(name, n, growth, delta=None, **options):
    return REFERENCES[name](n, delta or SHORT, growth, **options)


def play_by_play(policy, naive, tape, rounds):
    """Both on the same rewards; every round must be the same, and the ledgers whenever the policy has learnt."""
    learnt = Watched(policy)
    checked = 0
    for _ in range(rounds):
        if policy.done:
            break
        pairs = policy.ask()
        assert sorted(map(tuple, pairs.tolist())) == naive.next_round()
        rewards = tape.sums(policy.graph.edges(pairs), np.ones(len(pairs), dtype=np.int64))
        policy.tell(pairs, rewards)
        naive.tell({(i, j): reward for (i, j), reward in zip(pairs.tolist(), rewards.tolist(), strict=True)})
        if len(learnt.ledgers) > checked:
            checked = len(learnt.ledgers)
            assert learnt.ledgers[-1] == (naive.rounds, *reference_ledger(naive))
    return learnt.ledgers


def compare(name, n, growth, seed, rounds, u=None, **options):
    """Oracle, `step` and `jump` on the same tape: how many clusters there are after each split."""
    problem = mb.Monopartite(instance(n, seed) if u is None else u)
    policy, leaping = build(name, n, growth, **options), build(name, n, growth, **options)
    naive = naive_of(name, n, growth, **options)
    learnt = play_by_play(policy, naive, Roll.bernoulli(problem.means, rounds, seed), rounds)

    score = Score(problem, "matching", np.array([7, rounds // 3, rounds // 2 + 1, rounds]))
    learnt_leaping = Watched(leaping)
    jump(leaping, Roll.bernoulli(problem.means, rounds, seed), score)
    assert learnt_leaping.ledgers == learnt
    assert score.round == (rounds if not policy.done else policy.rounds)
    assert policy.done == leaping.done
    assert leaping.recommend().tolist() == policy.recommend().tolist()
    if name == "matching-id":
        assert policy.done == naive.done
        assert not policy.done or policy.recommend().tolist() == [list(pair) for pair in naive.answer]
        return policy.rounds if policy.done else None
    assert policy.splits == leaping.splits == naive.splits
    assert policy.clusters == naive.clusters
    assert getattr(policy, "adaptive", policy).chains == naive.chains
    return [len(clusters) for _, clusters in policy.splits]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("growth", [1.0, 1.05, 4.0])
@pytest.mark.parametrize("n", [4, 6, 10])
def test_adaptive_matching_plays_what_the_definition_plays(n, growth):
    splits = [compare("adaptive-matching", n, growth, seed, 500) for seed in range(2)]
    assert sum(map(len, splits)) >= (2 if growth == 4 else 3)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("growth", [1.0, 1.05, 4.0])
@pytest.mark.parametrize("n", [4, 8, 12])
def test_adaptive_matching_from_given_clusters_plays_what_the_definition_plays(n, growth):
    splits = [compare("adaptive-matching", n, growth, seed, 400, clusters=some_clusters(n, seed)) for seed in range(3)]
    assert n == 4 or any(splits)


@pytest.mark.slow
def test_long_chains_commit_break_and_go_on_as_the_definition_does():
    # 12 players in chains of two to five clusters; one chain goes on while the other is broken.
    starts = [
        [[0, 1, 2], [3, 4], [5, 6, 7], [8, 9, 10, 11]],
        [[0], [1, 2, 3, 4], [5, 6, 7], [8, 9, 10], [11]],
        [[0, 1, 2], [3, 4], [5, 6], [7], [8, 9, 10], [11]],
    ]
    for seed, clusters in enumerate(starts):
        splits = compare("adaptive-matching", 12, 1.05, seed, 1000, clusters=clusters)
        assert splits


@pytest.mark.sampled(3)
@pytest.mark.parametrize("growth", [1.0, 1.05, 4.0])
@pytest.mark.parametrize("n", [4, 6, 10])
def test_simple_adaptive_matching_plays_what_the_definition_plays(n, growth):
    splits = [compare("simple-adaptive-matching", n, growth, seed, 400) for seed in range(2)]
    assert any(splits)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("growth", [1.0, 1.05, 4.0])
@pytest.mark.parametrize("n", [6, 8, 10])
def test_exploration_first_plays_what_the_definition_plays(n, growth):
    splits = [compare("exploration-first", n, growth, seed, 500, best=(1, seed + 2)) for seed in range(2)]
    assert any(splits)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("growth", [1.05, 1.5, 4.0])
@pytest.mark.parametrize("n", [2, 4, 6, 8])
def test_matching_id_plays_what_the_definition_plays(n, growth):
    if n == 2:
        assert build("matching-id", n, growth, delta=0.3).done
        return
    for seed in range(3):
        compare("matching-id", n, growth, seed, 1000, delta=0.3)


def test_matching_id_ends_as_the_definition_does():
    for u in ([0.2, 1.0, 0.3, 0.95], [0.9, 0.1, 1.0, 0.0, 0.45, 0.6]):
        assert compare("matching-id", len(u), 1.5, 1, 6000, u=u, delta=0.8)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("adaptive-matching", {"clusters": [[0, 1, 2], [3, 4], [5, 6, 7]]}),
        ("simple-adaptive-matching", {}),
        ("exploration-first", {"best": (2, 4)}),
        ("matching-id", {"delta": 0.3}),
    ],
)
@pytest.mark.sampled(1)
def test_a_policy_restored_in_the_middle_goes_on_identically(name, options):
    # Through JSON, every 83 rounds; and once by leaps from there.
    n, rounds = 8, 500
    problem = mb.Monopartite([1.0, 0.9, 0.1, 0.05, 0.6, 0.5, 0.1, 0.0])
    one, other = build(name, n, 1.05, **options), build(name, n, 1.05, **options)
    tapes = Roll.bernoulli(problem.means, rounds, 5), Roll.bernoulli(problem.means, rounds, 5)
    learnt = Watched(one)
    for number in range(rounds):
        if number % 83 == 50:
            other = mb.restore(json.loads(json.dumps(other.state())))
        for policy, tape in zip((one, other), tapes, strict=True):
            pairs = policy.ask()
            policy.tell(pairs, tape.sums(policy.graph.edges(pairs), np.ones(len(pairs), dtype=np.int64)))
        assert one.state() == other.state()
    assert learnt.ledgers
    assert name == "matching-id" or one.splits == other.splits != []
