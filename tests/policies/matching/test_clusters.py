"""The ledger of clusters, and what policies that hold another one keep of it."""

import json

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.plans import Tally
from matchbandit.plans.chains import group_clusters
from matchbandit.policies.matching.clusters import ClusterLedger

PLAYERS = mb.monopartite(4)


def samples(counts, sums):
    return Tally(1, np.array(counts), np.array(sums, dtype=float))


def test_by_hand_a_commit_takes_the_open_samples_too_and_books_across_for_the_lower_player_alone():
    # 0, 1, 2 above 3: the first cluster uses the pairs 01, 02, 12, the second 03, 13, 23.
    (group,) = group_clusters([[0, 1, 2], [3]], PLAYERS)
    ledger = ClusterLedger.empty(PLAYERS)
    ledger.keep_open(group, 0, samples([1, 2, 0], [1, 2, 0]))
    ledger.keep_open(group, 1, samples([1, 0, 0], [0.5, 0, 0]))
    assert not ledger.counts.any()
    ledger.commit(group, 0, samples([1, 0, 4], [0, 0, 3]))
    assert ledger.counts.tolist() == [[0, 2, 2, 0], [2, 0, 4, 0], [2, 4, 0, 0], [0, 0, 0, 0]]
    assert ledger.sums.tolist() == [[0, 1, 2, 0], [1, 0, 3, 0], [2, 3, 0, 0], [0, 0, 0, 0]]
    assert ledger.open_counts.sum() == 1
    ledger.commit(group, 1, samples([0, 1, 1], [0, 1, 1]))
    assert ledger.counts[3].tolist() == [1, 1, 1, 0]
    assert ledger.sums[3].tolist() == [0.5, 1, 1, 0]
    assert not ledger.counts[:, 3].any()


def test_what_is_dropped_is_gone_and_other_groups_keep_theirs():
    one, other = group_clusters([[0, 1], [2, 3]], PLAYERS)
    ledger = ClusterLedger.empty(PLAYERS)
    for group in (one, other):
        ledger.keep_open(group, 0, samples([3], [2]))
    ledger.drop(one)
    assert (ledger.open_counts.sum(), ledger.open_sums.sum()) == (3, 2)
    ledger.commit(one, 0, samples([1], [1]))
    ledger.commit(other, 0, samples([1], [1]))
    assert (ledger.counts[0, 1], ledger.counts[2, 3], ledger.sums[3, 2]) == (1, 4, 3)


@pytest.mark.parametrize(("name", "options"), [("exploration-first", {}), ("pair-select", {"delta": 0.5})])
def test_a_policy_that_holds_another_counts_rounds_that_had_to_be_played_again(name, options):
    policy = mb.policy(name, **options).build(mb.monopartite(6), horizon=3, seed=1)
    u = np.array([1.0, 1.0, 0.9, 0.8, 0.0, 0.0])
    seen = []
    for number in range(3000):
        pairs = policy.ask()
        rewards = u[pairs[:, 0]] * u[pairs[:, 1]]
        if number % 3 == 0:
            rewards[0] = np.nan
        policy.tell(pairs, rewards)
        if number % 100 == 50:
            policy = mb.restore(json.loads(json.dumps(policy.state())))
        made = [at for at, _ in policy.splits] + [gone.round for gone in policy.eliminations if gone.window is None]
        if len(made) > len(seen):
            assert set(made[len(seen) :]) == {policy.rounds} == {number + 1}
        seen = made
    assert seen


def test_the_state_names_the_clusters_as_they_are_started_from_and_restoring_does_not_warn_again(recwarn):
    policy = mb.policy("simple-adaptive-matching", clusters=[[5], [4, 3, 0], (1, 2)]).build(
        mb.monopartite(6), horizon=9
    )
    assert policy.options["clusters"] == policy.clusters == [[0, 3, 4, 5], [1, 2]]
    assert len(recwarn) == 1
    assert mb.restore(policy.state()).clusters == policy.clusters
    assert len(recwarn) == 1
