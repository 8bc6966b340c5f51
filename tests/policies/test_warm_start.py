import json

import numpy as np
import pytest

import matchbandit as mb

WARM = [name for name, kind in mb.CATALOGUE.items() if kind.capabilities.warm_start]
COLD = [name for name, kind in mb.CATALOGUE.items() if not kind.capabilities.warm_start]
BY_PAIR = [name for name in WARM if not name.startswith("rank1-")]
"""Those that remember every pair for itself."""
ANY_FIRST = ("cts-beta", "grab", "pb-mhb")
"""Those of them that do not play every pair before anything else."""
HORIZON = {"grab": 1000}
"""Of policies that need to know it."""
PAIRS = [(0, 0), (0, 1), (1, 2)]


def graph_for(name):
    """A graph of six pairs."""
    return mb.bipartite(2, 3) if "bipartite" in mb.CATALOGUE[name].capabilities.graphs else mb.monopartite(4)


def built(name, *logged, graph=None, **kwargs):
    return mb.policy(name).warm_start(*logged).build(graph or graph_for(name), horizon=HORIZON.get(name), **kwargs)


def at(name, *edges):
    return graph_for(name).pairs[list(edges)].tolist()


def seen(policy):
    """Plays and sums by edge."""
    if policy.name == "rank1-track-and-stop":
        return policy.plays.tolist(), policy.sums.tolist()
    if policy.name != "rank1-certify":
        kept = getattr(policy.arrays, "model", policy.arrays)
        return kept.plays.tolist(), kept.sums.tolist()
    kept = policy
    i, j = (policy.graph.pairs + ([0, policy.graph.shape[0]] if policy.graph.kind == "bipartite" else 0)).T
    assert (kept.plays == kept.plays.T).all()
    assert (kept.sums == kept.sums.T).all()
    return kept.plays[i, j].tolist(), kept.sums[i, j].tolist()


@pytest.mark.parametrize("name", WARM)
def test_a_warm_start_is_what_was_played(name):
    assert seen(built(name, at(name, 0, 1, 5), [4, 2, 3], [1, 2, 0])) == (
        [4, 2, 0, 0, 0, 3],
        [1.0, 2.0, 0.0, 0.0, 0.0, 0.0],
    )


@pytest.mark.parametrize("name", WARM)
def test_a_pair_that_comes_twice_is_added_up_and_0_plays_are_none(name):
    policy = built(name, at(name, 4, 2, 4, 0), [4, 2, 3, 0], [1, 2, 0, 0])
    assert seen(policy) == ([0, 0, 2, 0, 7, 0], [0.0, 0.0, 2.0, 0.0, 1.0, 0.0])


@pytest.mark.parametrize("name", [name for name in WARM if "monopartite" in mb.CATALOGUE[name].capabilities.graphs])
def test_players_may_come_in_either_order(name):
    policy = built(name, [(3, 0), (0, 3), (1, 2)], [1, 1, 5], [1, 0, 5], graph=mb.monopartite(4))
    assert seen(policy) == ([0, 0, 2, 5, 0, 0], [0.0, 0.0, 1.0, 5.0, 0.0, 0.0])


@pytest.mark.parametrize("name", BY_PAIR)
def test_it_goes_on_as_the_policy_whose_results_were_logged(name):
    # The first has played; the second has been told what it saw. From then on both play alike: same stream, same means.
    graph = graph_for(name)
    means = np.array([0.9, 0.4, 0.3, 0.5, 0.6, 0.1])
    rewards = np.random.default_rng(1)
    one = mb.policy(name).build(graph, horizon=HORIZON.get(name), seed=2)
    for _ in range(40):
        pairs = one.ask()
        one.tell(pairs, rewards.random(len(pairs)) < means[graph.edges(pairs)])
    other = built(name, graph.pairs, *seen(one))
    other.rng.bit_generator.state = one.rng.bit_generator.state
    if name == "uts":
        other.arrays.leads[:] = one.arrays.leads
    if name == "grab":
        other.arrays.params.keys[:] = one.arrays.params.keys
        other.arrays.params.leads[:] = one.arrays.params.leads
    if name == "pb-mhb":
        other.arrays.params.theta[:] = one.arrays.params.theta
        other.arrays.params.kappa[:] = one.arrays.params.kappa
    for _ in range(30):
        pairs = one.ask()
        assert other.ask().tolist() == pairs.tolist()
        told = (rewards.random(len(pairs)) < means[graph.edges(pairs)]).astype(float)
        one.tell(pairs, told)
        other.tell(pairs, told)
    mine, theirs = one.explain(), other.explain()
    for key in ("rounds", "round"):
        assert mine.pop(key) == theirs.pop(key) + 40
    assert json.loads(json.dumps(mine)) == json.loads(json.dumps(theirs))


@pytest.mark.parametrize("name", [name for name in BY_PAIR if name not in ANY_FIRST])
def test_pairs_without_results_come_first_however_many_plays_the_others_have(name):
    policy = built(name, at(name, 0, 1, 5), [10**6, 10**5, 10**4], [10**6, 10**4, 0])
    for _ in range(6):
        policy.tell(policy.ask(), np.ones(policy.round_size))
    assert policy.arrays.plays.min() > 0


@pytest.mark.parametrize("name", WARM)
def test_a_warm_start_survives_a_restart(name):
    policy = built(name, at(name, 0, 1, 5), [4, 2, 3], [1, 2, 0], seed=4)
    twin = mb.restore(json.loads(json.dumps(policy.state())))
    for _ in range(20):
        pairs = policy.ask()
        assert twin.ask().tolist() == pairs.tolist()
        for one in (policy, twin):
            one.tell(pairs, np.ones(len(pairs)))
    assert twin.state() == policy.state()


def test_every_run_of_a_simulation_begins_with_the_logged_results():
    # 10^5 plays of each pair say enough: there is nothing left to explore.
    players = mb.Monopartite([0.9, 0.8, 0.2, 0.1])
    n = np.full(6, 10**5)
    spec = mb.policy("cts-gaussian").warm_start(players.graph.pairs, n, n * players.means)
    for engine in ("step", "loop"):
        runs = mb.simulate(players, spec, horizon=200, runs=3, seed=1, engine=engine)
        assert runs.final == pytest.approx(np.zeros(3), abs=1e-9)
        assert runs.plays.sum() == 3 * 400  # logged plays are not played again
    assert mb.simulate(players, "cts-gaussian", horizon=200, runs=3, seed=1).final.min() > 0.5
    found = mb.identify(players, mb.policy("clucb").warm_start(players.graph.pairs, n, n * players.means))
    assert found.rounds.tolist() == [0]
    assert found.correct.all()


@pytest.mark.parametrize(
    ("logged", "words"),
    [
        ((PAIRS, [1, 2, -1], [0, 0, 0]), r"the count of the pair \[1, 2\] must be a whole number, .*; got -1"),
        ((PAIRS, [1, 2.5, 1], [0, 0, 0]), r"the count of the pair \[0, 1\] must be a whole number, .*; got 2.5"),
        ((PAIRS, [1, np.nan, 1], [0, 0, 0]), r"the count of the pair \[0, 1\] must be a whole number, .*; got nan"),
        ((PAIRS, [1, np.inf, 1], [0, 0, 0]), r"the count of the pair \[0, 1\] must be a whole number, .*; got inf"),
        ((PAIRS, [1, 1e17, 1], [0, 0, 0]), r"the count of the pair \[0, 1\] must be a whole number, between 0 and"),
        ((PAIRS, [1, 2, 1], [0, 2.5, 0]), r"2 bernoulli rewards sum to between 0 and 2; got 2.5 for"),
        ((PAIRS, [1, 2, 1], [0, -0.5, 0]), r"sum to between 0 and 2; got -0.5 for the pair \[0, 1\]"),
        ((PAIRS, [1, 0, 1], [0, 1, 0]), r"0 bernoulli rewards sum to between 0 and 0; got 1"),
        ((PAIRS, [1, 2, 1], [0, np.nan, 0]), r"the sum of the pair \[0, 1\] must be a number; got nan"),
        ((PAIRS, [1, 2], [0, 0, 0]), r"3 logged pairs need a count and a sum each; got shapes \(2,\) and \(3,\)"),
        ((PAIRS, [1, 2, 1], 0), r"3 logged pairs need a count and a sum each; got shapes \(3,\) and \(\)"),
        ((PAIRS, ["one", 2, 1], [0, 0, 0]), "counts and sums must be numbers"),
        (([(2, 0)], [1], [0]), r"\(2, 0\) is not a pair of bipartite 2×3"),
        (([0, 1], [1, 1], [0, 0]), r"pairs must be whole numbers of shape \(k, 2\)"),
    ],
)
@pytest.mark.parametrize("name", ["kl-ucb", "cucb"])
def test_what_cannot_have_been_logged_is_refused_and_leaves_no_trace(name, logged, words):
    policy = mb.policy(name).build(mb.bipartite(2, 3))
    before = policy.state()
    with pytest.raises(mb.MatchbanditError, match=words):
        policy.warm_start(*logged)
    assert policy.state() == before
    with pytest.raises(mb.MatchbanditError, match=words):
        built(name, *logged)


def test_gaussian_rewards_sum_to_anything_finite():
    policy = built("cucb", PAIRS, [1, 2, 1], [-7, 100, 0], rewards=mb.Gaussian(1.0))
    assert seen(policy) == ([1, 2, 0, 0, 0, 1], [-7.0, 100.0, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(mb.MatchbanditError, match="must be a number; got inf"):
        built("cucb", PAIRS, [1, 2, 1], [0, np.inf, 0], rewards=mb.Gaussian(1.0))


def test_it_comes_before_the_first_round():
    for name in WARM:
        policy = mb.policy(name).build(graph_for(name), horizon=HORIZON.get(name))
        pairs = policy.ask()
        with pytest.raises(mb.MatchbanditError, match="before the first round"):
            policy.warm_start(pairs, [1] * len(pairs), [0] * len(pairs))
        policy.tell(pairs, np.ones(len(pairs)))
        with pytest.raises(mb.MatchbanditError, match="before the first round; build a fresh policy"):
            policy.warm_start(pairs, [1] * len(pairs), [0] * len(pairs))


@pytest.mark.parametrize("name", COLD)
def test_a_policy_with_a_schedule_of_its_own_refuses(name):
    graph = mb.bipartite(2, 2) if "bipartite" in mb.CATALOGUE[name].capabilities.graphs else mb.monopartite(4)
    with pytest.raises(mb.MatchbanditError, match=f"{name} samples by a schedule of its own and cannot use"):
        mb.policy(name).warm_start([(0, 1)], [1], [1]).build(graph, horizon=10)


@pytest.mark.parametrize("name", ["kl-ucb", "rank1-thompson", "rank1-certify"])
def test_sums_that_shares_of_the_trials_cannot_have_are_refused(name):
    policy = mb.policy(name).build(mb.bipartite(2, 3), rewards=mb.Binomial(5))
    words = r"^2 binomial rewards with 5 trials sum to a multiple of 0\.2; got 1\.5 for the pair \[0, 1\]\. Round"
    with pytest.raises(mb.MatchbanditError, match=words):
        policy.warm_start(PAIRS, [1, 2, 1], [0, 1.5, 0])
    with pytest.raises(
        mb.MatchbanditError, match=r"^binomial rewards with 5 trials are 0, 0\.2, …, 1; got 0\.5 for the"
    ):
        policy.warm_start(PAIRS, [1, 2, 1], [0.5, 1.4, 0])
    policy.warm_start(PAIRS, [1, 2, 1], [0.2, 1.4, 0])
