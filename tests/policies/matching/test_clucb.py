from math import log, sqrt

import numpy as np
import pytest
from reference.combinatorial import NaiveClucb, total

import matchbandit as mb
from matchbandit.policies import combinatorial
from matchbandit.policies.matching import clucb
from matchbandit.simulation.play import Job
from matchbandit.solvers import best as best_solver

selections = pytest.mark.parametrize("selection", ["pair", "matching"])
PROBLEMS = [
    mb.Monopartite([0.9, 0.7, 0.6, 0.3], rewards=mb.Gaussian(0.01)),
    mb.Monopartite([0.2, 0.9, 0.5, 0.6, 0.8, 0.3], rewards=mb.Gaussian(0.01)),
    mb.Bipartite([0.9, 0.4], [0.3, 0.8, 0.5], rewards=mb.Gaussian(0.02)),
    mb.Bipartite([0.9, 0.4, 0.6], [0.3, 0.8], rewards=mb.Binomial(500)),
]
each_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: f"{problem.graph} {problem.rewards}")


def told(policy, problem, rng, *, missing=0.0):
    """Play a round; give its pairs and rewards."""
    pairs = policy.ask()
    rewards = problem.rewards.draw(problem.means[problem.graph.edges(pairs)], rng)
    rewards[rng.random(len(rewards)) < missing] = np.nan
    policy.tell(pairs, rewards)
    return [tuple(pair) for pair in pairs.tolist()], rewards.tolist()


@each_problem
@selections
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_plays_and_stops_as_the_definition_does(problem, selection, missing):
    graph, law = problem.graph, problem.rewards
    policy = mb.policy("clucb", delta=0.1, selection=selection).build(graph, rewards=law)
    naive, rng, searched = NaiveClucb(graph, law.sigma, 0.1), np.random.default_rng(1), 0
    for _ in range(1000):
        unplayed = [pair for pair in naive.pairs if not naive.rewards[pair]]
        if unplayed:
            assert not policy.done
            expected = [unplayed[0]] if selection == "pair" else naive.opening()
            assert [tuple(pair) for pair in policy.ask().tolist()] == expected
        else:
            done, wanted = naive.decide()
            assert policy.done == done
            if done:
                break
            pairs = [tuple(pair) for pair in policy.ask().tolist()]
            if selection == "pair":
                assert pairs == [wanted]
            else:
                assert wanted in pairs
                assert sum(map(naive.rad, pairs)) == pytest.approx(naive.around(wanted), rel=0, abs=1e-12)
            searched += 1
        naive.tell(*told(policy, problem, rng, missing=missing))
    assert policy.done  # the search and its end have both been seen
    assert searched > 10
    means = {pair: naive.mean(pair) for pair in naive.pairs}
    assert total(map(tuple, policy.recommend().tolist()), means) == pytest.approx(total(naive.best(means), means))


def test_by_hand_two_matchings():
    # Means of 1, 0, 0, 1 at σ = 1/2, δ = 1/2, d = 4: after t rounds, n plays each, the rival gains 4 rad on a lead
    # of 2, so it is out when rad < 1/2, that is 2 log(32 t³) < n.
    policy = mb.policy("clucb", delta=0.5, selection="matching").build(mb.bipartite(2, 2))
    played = 0
    while not policy.done:
        pairs = policy.ask()
        policy.tell(pairs, [float(i == j) for i, j in pairs.tolist()])
        played += 1
    n = next(n for n in range(1, 1000) if 2 * log(32 * (2 * n) ** 3) < n)
    assert abs(played - 2 * n) <= 2
    assert policy.recommend().tolist() == [[0, 0], [1, 1]]
    radius = {tuple(pair["pair"]): pair["radius"] for pair in policy.explain()["pairs"]}
    assert radius[0, 0] == pytest.approx(0.5 * sqrt(2 * log(32 * played**3) / policy.arrays.plays[0]))


def test_by_hand_the_pair_with_the_largest_radius_where_the_two_differ():
    # (0, 0) and (1, 1) lead; the rival is (0, 1), (1, 0), and all four differ: the least played of them.
    log_ = mb.policy("clucb", delta=0.1).warm_start(mb.bipartite(2, 2).pairs, [9, 8, 5, 7], [8, 2, 2, 6])
    assert log_.build(mb.bipartite(2, 2)).ask().tolist() == [[1, 0]]
    # A third row is out of question: (2, ·) never pays and has been played often. Its pairs are not looked at.
    graph, counts, sums = mb.bipartite(3, 2), [900, 800, 700, 850, 500, 400], [800, 600, 560, 700, 0, 0]
    policy = mb.policy("clucb", delta=0.1).warm_start(graph.pairs, counts, sums).build(graph)
    assert not policy.done
    assert policy.ask().tolist() == [[1, 0]]


def test_a_rival_that_is_better_by_rounding_only_is_no_rival():
    def left(lead):
        own = clucb.ClucbParams(
            sigma=0.5,
            cover=160.0,
            rounds=np.array([2]),
            best=np.array([0, 3]),
            rival_left=np.ones(1, dtype=np.int64),
            pair=np.zeros(1, dtype=np.int64),
        )
        clucb.judge(own, np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.5, 0.5 + lead, 0.5, 0.5]), np.array([1, 2]))
        assert own.pair[0] == 3
        return bool(own.rival_left[0])

    assert [left(lead) for lead in (-0.1, 0.0, 9e-13, 1.1e-12, 0.1)] == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("problem", "delta"),
    [
        (mb.Monopartite([0.9, 0.8, 0.45, 0.35], rewards=mb.Binomial(25)), 0.3),
        (mb.Bipartite([0.9, 0.5], [0.8, 0.3, 0.2], rewards=mb.Gaussian(0.1)), 0.3),
    ],
)
@selections
@pytest.mark.sampled(1)
def test_it_errs_less_often_than_delta(problem, delta, selection):
    found = mb.identify(problem, mb.policy("clucb", delta=delta, selection=selection), runs=200, seed=3)
    assert found.identified.all()
    assert 1 - found.correct.mean() <= delta
    assert (found.pairs == found.rounds * (1 if selection == "pair" else 2)).all()
    assert found.answers.shape == (200, 2, 2)


def test_it_takes_about_as_long_as_its_intervals_need():
    # Two matchings with a gap of 2Δ = 1, σ = 1/2: done when 4 rad < 1 with n = t/2 plays each under matching sampling.
    problem = mb.Bipartite([1.0, 0.0], [1.0, 0.0], rewards=mb.Gaussian(0.5))
    found = mb.identify(problem, mb.policy("clucb", selection="matching"), runs=50, seed=1)
    t = next(t for t in range(2, 10**6) if 4 * 0.5 * sqrt(2 * log(4 * 4 * t**3 / 0.05) / (t / 2)) < 1)
    assert 0.8 * t < found.rounds.mean() < 1.2 * t


def test_by_default_matchings_of_players_and_pairs_of_rows_and_columns():
    assert mb.policy("clucb").build(mb.monopartite(4)).ask().shape == (2, 2)
    assert mb.policy("clucb").build(mb.bipartite(2, 2)).ask().shape == (1, 2)
    assert mb.policy("clucb").build(mb.bipartite(2, 2)).recommend().shape == (2, 2)


@each_problem
@selections
def test_the_compiled_loop_finds_what_ask_and_tell_find(problem, selection):
    spec = mb.policy("clucb", delta=0.1, selection=selection)
    slow, fast = (Job(problem, spec, np.array([2000]), 5, engine, None).play(1) for engine in ("step", "loop"))
    assert slow[0].state() == fast[0].state()
    assert slow[1].plays.tolist() == fast[1].plays.tolist()
    assert slow[0].done
    assert fast[0].done


@pytest.mark.sampled(2)
@pytest.mark.parametrize("problem", [PROBLEMS[1], PROBLEMS[2]], ids=lambda problem: str(problem.graph))
@selections
def test_a_solver_decides_as_enumeration_does(problem, selection, monkeypatch):
    # Matchings around a pair are often tied, so the enumerating policy is told what the other has played.
    spec, rng = mb.policy("clucb", delta=0.1, selection=selection), np.random.default_rng(4)
    ours = spec.build(problem.graph, rewards=problem.rewards)
    for _ in range(150):
        state = ours.state()
        monkeypatch.undo()
        few = mb.restore(state)
        pairs, done = few.ask(), few.done
        assert few.compiled
        monkeypatch.setattr(combinatorial, "MAX_MATCHINGS", 0)
        monkeypatch.setattr(best_solver, "MAX_MATCHINGS", 0)
        many = mb.restore(state)
        assert many.compiled == (problem.graph.kind == "bipartite")
        assert (many.done, many.recommend().tolist()) == (done, few.recommend().tolist())
        if selection == "pair" or done or not few.arrays.plays.all():
            assert many.ask().tolist() == pairs.tolist()
        else:
            wanted = int(few.arrays.params.pair[0])
            mine, theirs = (problem.graph.edges(p) for p in (many.ask(), pairs))
            assert wanted in mine.tolist()
            radius = few._radii()
            assert radius[mine].sum() == pytest.approx(radius[theirs].sum())
        told(many, problem, rng)
        ours = many
    assert ours.done


@pytest.mark.slow
def test_large_graphs_are_identified_through_ask_and_tell():
    players = mb.Monopartite([1.0] * 2 + [0.0] * 10, rewards=mb.Gaussian(0.001))
    for selection in ("pair", "matching"):
        spec = mb.policy("clucb", selection=selection)
        found = mb.identify(players, spec, max_rounds=300, seed=1)
        assert found.about["engine"] == "step"
        # Ten players are worth nothing: their pairs are told apart by noise only, so that only (0, 1) is certain.
        assert [0, 1] in found.answers[0].tolist()
    slots = mb.Bipartite(np.arange(1, 8) / 7, np.arange(1, 8) / 7, rewards=mb.Gaussian(0.0005))
    found = mb.identify(slots, "clucb", seed=1)
    assert found.correct.all()


def test_asking_whether_it_is_done_changes_nothing():
    problem = PROBLEMS[0]
    curious, calm = (mb.policy("clucb").build(problem.graph, rewards=problem.rewards) for _ in range(2))
    one, other = np.random.default_rng(4), np.random.default_rng(4)
    for _ in range(100):
        told(curious, problem, one)
        before = curious.state()
        assert curious.done in (True, False)
        assert curious.state() == before
        told(calm, problem, other)
    assert curious.state() == calm.state()


def test_a_loaded_state_replaces_what_was_decided_before():
    # The least played pair is another, the number of rounds the same.
    graph, spec = mb.bipartite(2, 2), mb.policy("clucb")
    one, other = (spec.warm_start(graph.pairs, n, [1, 1, 1, 1]).build(graph) for n in ([9, 8, 5, 7], [5, 8, 9, 7]))
    assert not one.done
    assert not other.done  # it has decided on (0, 0)
    other.load(one.state())
    assert other.ask().tolist() == one.ask().tolist() == [[1, 0]]


def test_finding_and_choosing_decide_once(monkeypatch):
    graph, calls = mb.monopartite(12), []
    policy = mb.policy("clucb", selection="pair").build(graph, rewards=mb.Gaussian(0.5))
    rng = np.random.default_rng(1)
    for _ in range(graph.n_pairs):
        policy.tell(policy.ask(), rng.normal(size=1))
    best_matching = clucb.best_matching
    monkeypatch.setattr(clucb, "best_matching", lambda *given: calls.append(1) or best_matching(*given))
    policy.tell(policy.ask(), [0.3])
    assert len(calls) == 2
    assert not policy.done
    policy.ask()
    assert not policy.done
    assert len(calls) == 2
    policy.tell(policy.ask(), [np.nan])  # nothing new, nothing to decide
    policy.ask()
    assert len(calls) == 2
    policy.tell(policy.ask(), [0.3])
    policy.ask()
    assert len(calls) == 4


def test_logged_results_count_as_the_rounds_that_they_fill():
    graph = mb.monopartite(4)
    for selection, counts, rounds in (
        ("pair", [1, 2, 3, 4, 5, 6], 21),
        ("matching", [4, 4, 4, 4, 4, 5], 13),
        ("matching", [1, 1, 9, 1, 1, 1], 9),
    ):
        spec = mb.policy("clucb", selection=selection).warm_start(graph.pairs, counts, np.zeros(6))
        assert spec.build(graph).arrays.params.rounds[0] == rounds


@pytest.mark.parametrize("options", [{}, {"selection": "pair"}, {"selection": "matching"}])
def test_an_odd_number_of_players_is_refused(options):
    with pytest.raises(mb.MatchbanditError, match=r"clucb needs an even number of players; got 5\. .* add one\.$"):
        mb.policy("clucb", **options).build(mb.monopartite(5))


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5])
def test_delta_lies_between_0_and_1(delta):
    with pytest.raises(mb.MatchbanditError, match="delta must lie between 0 and 1"):
        mb.policy("clucb", delta=delta).build(mb.bipartite(2, 2))


def test_it_does_not_minimise_regret():
    with pytest.raises(mb.MatchbanditError, match=r"clucb is for identification here, not regret: use identify\(\)"):
        mb.simulate(mb.Bipartite([0.5], [0.4]), "clucb", horizon=10)


def test_one_matching_is_the_answer_after_every_pair_was_played_once():
    found = mb.identify(mb.Bipartite([0.5], [0.5]), "clucb")
    assert found.rounds.tolist() == [1]
    assert found.correct.all()
