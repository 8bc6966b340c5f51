import json
from itertools import pairwise
from math import exp, log, sqrt

import numpy as np
import pytest
from reference import evidence as naive
from reference.strengths import ends_of
from reference.tape import Roll
from scipy.stats import ks_2samp

import matchbandit as mb
from matchbandit import evidence
from matchbandit.certificates import bottleneck_closure
from matchbandit.confidence import NEVER
from matchbandit.plans import Tally
from matchbandit.policies import check_policy
from matchbandit.policies.base import Policy
from matchbandit.policies.rank1_certify import log_g
from matchbandit.policies.serialization import checksum
from matchbandit.schedules import Schedule
from matchbandit.simulation.engines import jump, step
from matchbandit.simulation.play import Job
from matchbandit.simulation.score import Score

FOUR = mb.Monopartite([0.9, 0.8, 0.4, 0.3])
TIES = mb.Monopartite([0.9, 0.6, 0.6, 0.3])
SLOTS = mb.Bipartite([0.8, 0.5, 0.3], [0.9, 0.7, 0.2])


def certify(**options):
    return mb.policy("rank1-certify", **options)


def drive(policy, problem, rounds, seed=1):
    """Play the policy's own batches, and hand out each plan with its tally once it is learnt from."""
    rng = np.random.default_rng(seed)
    while policy.rounds < rounds and not policy.done:
        plan = policy.current
        sweeps, counts = plan.leap(policy.pending, rounds - policy.rounds, policy.rng)
        tally = Tally(sweeps, counts, problem.rewards.sums(problem.means[plan.edges], counts, rng))
        policy.advance(tally)
        yield plan, tally


def driven(spec, problem, rounds, seed=1, horizon=None):
    policy = spec.build(problem.graph, rewards=problem.rewards, horizon=horizon, seed=seed)
    for _ in drive(policy, problem, rounds, seed):
        pass
    return policy


def plays(plan, graph):
    """Counts of the batch by ledger: the best guess, chosen rounds, whole tours."""
    counts = plan.leap(Tally.empty(len(plan.edges)), plan.limit, None)[1]
    return counts.reshape(3, graph.n_pairs)


# The contract


@pytest.mark.slow
def test_it_keeps_the_contract_when_it_identifies():
    check_policy(certify(selection="matching", delta=0.2))  # tests/policies/test_check.py has it without options


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"delta": 0.2}, {"anytime": True}, {"share": 1.0}], ids=str)
@pytest.mark.parametrize("selection", ["pair", "matching"])
def test_it_keeps_the_contract_whatever_its_options(options, selection):
    check_policy(certify(selection=selection, **options))


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (FOUR, {}),
        (FOUR, {"delta": 0.05}),
        (SLOTS, {"selection": "pair", "anytime": True}),
        (SLOTS, {"selection": "matching", "delta": 0.1}),
        (mb.Monopartite([0.9, 0.5, 0.2]), {"delta": 0.1}),
    ],
    ids=str,
)
def test_a_restored_policy_goes_on_to_the_bit_in_the_middle_of_a_batch(problem, options):
    one = certify(**options).build(problem.graph, horizon=None if "delta" in options else 500, seed=4)
    rng = np.random.default_rng(2)
    cuts = 0
    for number in range(400):
        if number in (3, 57, 58, 131, 300):
            cuts += one.pending.sweeps > 0
            one = mb.restore(json.loads(json.dumps(one.state())))
        if number == 131:
            twin = mb.restore(json.loads(json.dumps(one.state())))
        pairs = one.ask()
        rewards = problem.rewards.draw(problem.means[problem.graph.edges(pairs)], rng)
        one.tell(pairs, rewards)
        if number >= 131:
            assert twin.ask().tolist() == pairs.tolist()
            twin.tell(pairs, rewards)
    assert cuts >= 2
    assert json.dumps(one.state()) == json.dumps(twin.state())
    assert one.explain() == twin.explain()
    straight = certify(**options).build(problem.graph, horizon=None if "delta" in options else 500, seed=4)
    rng = np.random.default_rng(2)
    for _ in range(400):
        pairs = straight.ask()
        straight.tell(pairs, problem.rewards.draw(problem.means[problem.graph.edges(pairs)], rng))
    assert json.dumps(straight.state()) == json.dumps(one.state())


@pytest.mark.parametrize(("problem", "selection"), [(FOUR, "matching"), (SLOTS, "pair"), (SLOTS, "matching")], ids=str)
def test_pairs_that_did_not_take_place_are_asked_again_until_the_counts_are_met(problem, selection):
    tape = np.random.default_rng(3).random((problem.graph.n_pairs, 2000)) < problem.means[:, None]
    found = []
    for missing in (0.0, 0.3):
        policy = certify(selection=selection, delta=1e-6).build(problem.graph, seed=1)
        played, away = np.zeros(problem.graph.n_pairs, dtype=int), np.random.default_rng(4)
        while policy.sampled < 300:
            waiting = policy.explain()["waiting_for"] if missing else None
            pairs = policy.ask()
            rewards = np.full(len(pairs), np.nan)
            for k, edge in enumerate(problem.graph.edges(pairs).tolist()):
                counts = waiting is None or waiting == [] or pairs[k].tolist() in waiting
                if away.random() >= missing:
                    rewards[k] = tape[edge, played[edge]]
                    played[edge] += counts
            policy.tell(pairs, rewards)
        found.append((policy.rounds, policy.sampled, policy.evidence.tolist(), policy.plays.tolist()))
    assert found[0][1:] == found[1][1:]
    assert found[1][0] > found[0][0] == found[0][1]


# Refusals


@pytest.mark.parametrize("delta", [0, 1, -1, float("nan"), 1.5, "0.1", True])
def test_a_delta_that_is_no_probability_is_refused(delta):
    with pytest.raises(mb.MatchbanditError, match="delta"):
        certify(delta=delta).build(mb.monopartite(4))


@pytest.mark.parametrize("share", [0, 1e-7, 5e-324, 2, -0.5, float("nan"), float("inf"), "half"])
def test_a_share_outside_0_to_1_is_refused(share):
    with pytest.raises(mb.MatchbanditError, match="share"):
        certify(share=share).build(mb.monopartite(4), horizon=100)


def test_anytime_is_true_or_false_and_for_regret():
    for wrong in (1, "yes", None):
        with pytest.raises(mb.MatchbanditError, match="anytime must be true or false"):
            certify(anytime=wrong).build(mb.monopartite(4))
    with pytest.raises(mb.MatchbanditError, match=r"anytime is for regret.*delta"):
        certify(anytime=True, delta=0.1).build(mb.monopartite(4))
    with pytest.raises(mb.MatchbanditError, match="selection"):
        certify(selection="both").build(mb.monopartite(4))


def test_an_odd_number_of_players_is_refused_for_regret_by_name_of_who_takes_it():
    for options in ({}, {"anytime": True}, {"selection": "matching"}):
        with pytest.raises(mb.MatchbanditError, match=r"even number of players; got 5.*rank1-thompson"):
            certify(**options).build(mb.monopartite(5), horizon=100)
    certify(selection="pair").build(mb.monopartite(5), horizon=100)


def test_a_log_comes_before_the_first_round():
    policy = certify().build(mb.monopartite(4), horizon=100)
    policy.tell(policy.ask(), [1, 0])
    with pytest.raises(mb.MatchbanditError, match="before the first round"):
        policy.warm_start([(0, 1)], [1], [1])


# Nothing to find


@pytest.mark.parametrize(
    ("graph", "selection"),
    [(mb.monopartite(2), "matching"), (mb.monopartite(2), "pair"), (mb.bipartite(1, 1), "pair"),
     (mb.bipartite(1, 1), "matching")],
    ids=str,
)  # fmt: skip
def test_the_only_answer_is_known_before_the_first_round(graph, selection):
    seeks = certify(selection=selection, delta=1e-9).build(graph)
    assert seeks.done
    assert seeks.recommend().tolist() == graph.pairs.tolist()
    assert seeks.explain()["details"]["rivals"] == []
    for options, horizon in (({}, 1000), ({"anytime": True}, 1000), ({}, None)):
        plays = certify(selection=selection, **options).build(graph, horizon=horizon)
        assert plays.current.limit >= NEVER - 1
        assert plays.certified
        for _ in range(5):
            plays.tell(plays.ask(), [0.0])
        assert plays.explain()["next_check"]["after_sweeps_at_most"] is None
    if selection == "pair" or graph.kind == "monopartite":
        problem = mb.Bipartite([0.5], [0.5]) if graph.kind == "bipartite" else mb.Monopartite([0.5, 0.5])
        runs = mb.simulate(problem, certify(selection=selection), horizon=10**12, runs=2, seed=1)
        assert runs.final.tolist() == [0, 0]


# Evidence


@pytest.mark.parametrize(
    ("problem", "options", "horizon"),
    [
        (TIES, {}, 10**15),
        (mb.Monopartite([0.7, 0.6, 0.5, 0.4, 0.3, 0.2]), {"delta": 1e-40}, None),
        (SLOTS, {"selection": "pair"}, 10**18),
        (SLOTS, {"selection": "matching", "delta": 1e-40}, None),
        (mb.Bipartite([0.8, 0.79], [0.9, 0.89, 0.2], rewards=mb.Gaussian(sd=0.3)), {"selection": "matching"}, 10**15),
        (mb.Monopartite([0.8, 0.5, 0.49], rewards=mb.Binomial(3)), {"selection": "pair"}, 10**15),
    ],
    ids=str,
)
def test_every_batch_is_bet_on_with_what_was_known_before_it(problem, options, horizon):
    """By hand: bets from strengths before the batch, on its full counts; whole tours for themselves."""
    policy = certify(**options).build(problem.graph, rewards=problem.rewards, horizon=horizon, seed=2)
    graph, rows = problem.graph, problem.graph.shape[0] if problem.graph.kind == "bipartite" else 0
    n, noise, sigma = sum(graph.shape) if rows else graph.shape[0], problem.rewards.noise, problem.rewards.sigma
    bets, tours, tour_sums, peaks = np.zeros((evidence.BETS, n, n)), 0, np.zeros(n), np.zeros((n, n))
    before, uneven, total, explored, toured = (policy.strengths.copy(), policy.half_gaps.copy()), 0, 0, 0, 0
    for number, (_, tally) in enumerate(drive(policy, problem, 10**5)):
        counts, sums = tally.counts.reshape(3, -1), tally.sums.reshape(3, -1)
        n_of, s_of = np.zeros((n, n)), np.zeros((n, n))
        for (i, j), count, paid, of_tour in zip(graph.pairs.tolist(), counts.sum(0), sums.sum(0), sums[2], strict=True):
            n_of[i, j + rows] = n_of[j + rows, i] = count
            s_of[i, j + rows] = s_of[j + rows, i] = paid
            tour_sums[[i, j + rows]] += of_tour
        assert len(set(counts[2].tolist())) == 1  # whole tours
        tours += counts[2, 0]
        total, explored = total + tally.sweeps, explored + counts[1:].sum() // policy.round_size
        assert (policy.tours, policy.sampled, policy.explored) == (tours, total, explored)
        u, halves = before
        for a in range(n):
            for b in range(n):
                if a == b or (a < rows) != (b < rows):
                    assert policy.evidence[a, b] == -np.inf
                    continue
                for bet in range(evidence.BETS):
                    if u[a] < u[b]:
                        continue
                    level = (u[a] + u[b]) / 2
                    half = halves[a, b] if bet == 0 else 0.4 * level / 2 ** (bet - 1)
                    for c in range(n):
                        x, y, s, r = n_of[a, c], n_of[b, c], s_of[a, c], s_of[b, c]
                        above, below = (level + half) * u[c], (level - half) * u[c]
                        if x and y:
                            uneven += x != y
                            if noise.trials:
                                above = min(above, 1 - 1e-12)
                            if above > below:
                                bets[bet, a, b] += log_ratio(x, s, y, r, above, below, noise)
                assert policy.log_bets[:, a, b] == pytest.approx(bets[:, a, b], rel=1e-5, abs=1e-3)
                if number < 3:
                    common = n - 2 if not rows else n - rows if a < rows else rows
                    of_tours = naive.log_mixture(
                        tour_sums[a] - tour_sums[b], tours * common, sigma, evidence.SPREAD, 2000
                    )
                    each = (1 - 1 / 32 - 1 / 2) / (evidence.BETS - 1)
                    mean = exp(of_tours) / 32 + exp(bets[0, a, b]) / 2 + each * np.exp(bets[1:, a, b]).sum()
                    assert policy.evidence[a, b] == pytest.approx(log(mean), abs=1e-5)
                peaks[a, b] = max(peaks[a, b], policy.evidence[a, b])
                assert policy.peaks[a, b] == peaks[a, b]
        before = policy.strengths.copy(), policy.half_gaps.copy()
        toured += number > 0 and counts[2, 0] > 0
        if number > 12 and toured:
            break
    assert toured  # beyond the first tours, too
    assert uneven > 0
    assert policy.tour_sums == pytest.approx(tour_sums)


def log_ratio(x, s, y, r, above, below, noise):
    """log F as it is defined."""
    both = (x * above + y * below) / (x + y)
    if noise.trials == 0:
        return naive.gaussian_log_factor(x, s, y, r, above, below, noise.sd)
    return noise.trials * (
        s * log(above / both) + (x - s) * log((1 - above) / (1 - both))
        + r * log(below / both) + (y - r) * log((1 - below) / (1 - both))
    )  # fmt: skip


@pytest.mark.parametrize("options", [{"delta": 1e-30}, {}], ids=str)
def test_in_the_middle_of_a_batch_nobody_looks(options):
    policy = certify(**options).build(FOUR.graph, horizon=None if options else 10**6, seed=1)
    rng, looks, last = np.random.default_rng(1), 0, policy.evidence
    while policy.rounds < 400:
        left = policy.current.limit - policy.pending.sweeps
        pairs = policy.ask()
        policy.tell(pairs, FOUR.rewards.draw(FOUR.means[FOUR.graph.edges(pairs)], rng))
        if left > 1:
            assert policy.evidence is last
            assert policy.sampled + policy.pending.sweeps == policy.rounds
        else:
            assert policy.sampled == policy.rounds
            looks, last = looks + 1, policy.evidence
    assert 5 < looks < 100


def test_the_highest_evidence_stays_while_the_evidence_falls():
    policy = certify(delta=1e-12).build(TIES.graph, seed=1)
    fell, before = 0, policy.peaks
    for _ in drive(policy, TIES, 20_000, seed=3):
        assert (policy.peaks >= before).all()
        assert (policy.peaks >= policy.evidence).all()
        assert (policy.peaks[policy.target.comparable] >= 0).all()
        fell += int((policy.evidence < policy.peaks - 0.5)[policy.target.comparable].any())
        before = policy.peaks
    assert fell > 10


def test_what_is_certified_stays_so_when_its_evidence_falls_again():
    policy = certify(delta=0.05).build(FOUR.graph, seed=1)
    for _ in drive(policy, FOUR, 30):
        pass
    policy.peaks[np.ix_([0, 1], [2, 3])] = 20.0
    policy.evidence[:] = -50.0
    rewards = mb.Monopartite([0.5] * 4)
    list(drive(policy, rewards, policy.rounds + policy.current.limit - policy.pending.sweeps))
    assert policy.done
    assert sorted(policy.recommend().tolist()) == [[0, 1], [2, 3]]


# A null: the e-process of the very policy


def crossings(problem, options, rounds, runs, links, horizon=None, seed=1):
    job = Job(problem, certify(**options), np.array([rounds]), seed, "jump", horizon)
    peaks = [job.play(run)[0].peaks for run in range(runs)]
    return {link: sum(bool(p[link] >= log(20)) for p in peaks) / runs for link in links}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "options", "horizon", "links"),
    [
        (TIES, {"delta": 1e-9}, None, [(1, 2), (2, 1)]),
        (TIES, {}, 600, [(1, 2), (2, 1)]),
        (mb.Bipartite([0.7, 0.7], [0.5, 0.5]), {"delta": 1e-9, "selection": "pair"}, None, [(0, 1), (3, 2)]),
    ],
    ids=["players", "regret", "slots"],
)
def test_a_tie_reaches_20_in_5_percent_of_the_runs_at_most(problem, options, horizon, links):
    runs = 50
    found = crossings(problem, options, 600, runs, links, horizon)
    assert all(rate <= 0.05 + 2.5 * sqrt(0.05 * 0.95 / runs) for rate in found.values()), found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "options", "horizon", "links"),
    [
        (TIES, {"delta": 1e-9}, None, [(1, 2), (2, 1)]),
        (TIES, {}, 10**5, [(1, 2), (2, 1)]),
        (mb.Bipartite([0.7, 0.7], [0.5, 0.5]), {"delta": 1e-9, "selection": "pair"}, None, [(0, 1), (3, 2)]),
        (mb.Monopartite([0.2] * 4), {"delta": 1e-9}, None, [(0, 1), (3, 0)]),
    ],
    ids=["players", "regret", "slots", "small"],
)
def test_a_tie_reaches_20_in_5_percent_of_many_runs_at_most(problem, options, horizon, links):
    runs = 2000
    found = crossings(problem, options, 10_000, runs, links, horizon)
    assert all(rate <= 0.05 + 2.5 * sqrt(0.05 * 0.95 / runs) for rate in found.values()), found


# Warm starts


ALL_PAIRS = [(i, j) for i in range(4) for j in range(i + 1, 4)]


def test_a_log_is_never_evidence():
    wins = (1000 * FOUR.means).round().astype(int)
    warm = certify(delta=0.2).warm_start(ALL_PAIRS, counts=[1000] * 6, sums=wins).build(FOUR.graph, seed=1)
    cold = certify(delta=0.2).build(FOUR.graph, seed=1)
    assert not warm.done
    assert warm.strengths == pytest.approx(FOUR.u, abs=0.02)
    rng = np.random.default_rng(1)
    for _ in range(6):
        for name in ("evidence", "peaks", "log_bets", "tours", "tour_sums", "sampled", "explored", "certified"):
            assert np.array_equal(getattr(warm, name), getattr(cold, name)), name
        assert warm.ask().tolist() == cold.ask().tolist()
        rewards = FOUR.rewards.draw(FOUR.means[FOUR.graph.edges(cold.ask())], rng)
        warm.tell(warm.ask(), rewards)
        cold.tell(cold.ask(), rewards)
    assert (warm.tours, warm.sampled) == (cold.tours, cold.sampled) == (2, 6)
    assert warm.tour_sums.tolist() == cold.tour_sums.tolist()
    assert (warm.log_bets != cold.log_bets).any()  # it has bet on what it knew
    assert warm.plays.sum() == cold.plays.sum() + 12 * 1000


def test_a_true_log_is_of_use():
    wins = (1000 * FOUR.means).round().astype(int)
    warm = certify(delta=0.05).warm_start(ALL_PAIRS, counts=[1000] * 6, sums=wins)
    knows, learns = (mb.identify(FOUR, spec, runs=30, seed=1) for spec in (warm, certify(delta=0.05)))
    assert knows.correct.all()
    assert knows.rounds.mean() < learns.rounds.mean()


def lying(delta, plays):
    """A log in which the weakest are the strongest."""
    wins = (plays * mb.Monopartite([0.3, 0.4, 0.8, 0.9]).means).round().astype(int)
    return certify(delta=delta).warm_start(ALL_PAIRS, counts=[plays] * 6, sums=wins)


def test_a_log_that_lies_costs_rounds_and_not_the_answer():
    found = mb.identify(FOUR, lying(0.2, 100), runs=20, seed=1)
    assert found.identified.all()
    assert (~found.correct).sum() <= 20 * 0.2
    near = mb.identify(mb.Monopartite([0.8, 0.6, 0.58, 0.4]), lying(0.2, 30), runs=25, seed=1, max_rounds=600)
    assert (near.identified & ~near.correct).sum() <= 25 * 0.2


@pytest.mark.slow
@pytest.mark.parametrize("plays", [10, 100, 1000])
def test_a_log_that_lies_does_not_raise_the_error(plays):
    runs = 400
    found = mb.identify(mb.Monopartite([0.9, 0.65, 0.6, 0.3]), lying(0.2, plays), runs=runs, seed=1, max_rounds=3000)
    assert (found.identified & ~found.correct).sum() <= runs * 0.2


# Identification


IDENTIFIED = {
    "players": (FOUR, "matching"),
    "five players": (mb.Monopartite([0.4, 0.9, 0.05, 0.85, 0.35]), "matching"),
    "three players": (mb.Monopartite([0.3, 0.9, 0.7]), "matching"),
    "best two": (mb.Monopartite([0.2, 0.9, 0.1, 0.8, 0.3]), "pair"),
    "slots": (SLOTS, "pair"),
    "assignment": (mb.Bipartite([0.2, 0.9, 0.5], [0.8, 0.3]), "matching"),
    "one row": (mb.Bipartite([0.9], [0.3, 0.8, 0.1]), "matching"),
    "Gaussian": (mb.Monopartite([0.9, 0.8, 0.4, 0.3], rewards=mb.Gaussian(sd=0.4)), "matching"),
    "Binomial": (mb.Bipartite([0.6, 0.4], [0.5, 0.8], rewards=mb.Binomial(10)), "pair"),
    "no product, pair": (
        mb.Means(1 - np.outer([0.2, 0.4, 0.9, 0.95], [0.2, 0.4, 0.9, 0.95]), players=True), "pair"),
    "no product, matching": (
        mb.Means(np.add.outer([0.9, 0.8, 0.4, 0.3], [0.9, 0.8, 0.4, 0.3]) ** 2 / 4, players=True), "matching"),
    "no product, assignment": (mb.Means(np.add.outer([0.9, 0.5, 0.1], [0.2, 0.9]) ** 2 / 4), "matching"),
    "nearly one": (mb.Monopartite([1.0, 0.99, 0.8, 0.75]), "matching"),
    "tiny": (mb.Bipartite([0.2, 0.03], [0.3, 0.05, 0.04]), "pair"),
}  # fmt: skip


@pytest.mark.parametrize("case", IDENTIFIED)
def test_it_names_the_best(case):
    problem, selection = IDENTIFIED[case]
    found = mb.identify(problem, certify(selection=selection, delta=0.02), runs=15, seed=1, max_rounds=10**5)
    assert found.identified.all()
    assert found.correct.sum() >= 14


@pytest.mark.parametrize("kind", ["uniform", "beta"])
def test_rewards_in_0_to_1_that_are_no_coins(kind):
    wrong, rounds = 0, []
    for seed in range(10):
        policy, rng = certify(delta=0.05).build(FOUR.graph, seed=seed), np.random.default_rng(seed)
        while not policy.done:
            pairs = policy.ask()
            means = FOUR.means[FOUR.graph.edges(pairs)]
            reach = np.minimum(means, 1 - means)
            rewards = (
                rng.uniform(means - reach, means + reach) if kind == "uniform" else rng.beta(2 * means, 2 - 2 * means)
            )
            policy.tell(pairs, rewards)
        wrong += sorted(policy.recommend().tolist()) != [[0, 1], [2, 3]]
        rounds.append(policy.rounds)
    assert wrong == 0
    assert np.mean(rounds) < 300


def binomial_state(seed, rounds, draw, monkeypatch):
    """The state of a policy that took any rewards as shares of five trials, as version 0.7 did."""
    policy = certify(delta=0.05).build(mb.bipartite(2, 2), rewards=mb.Binomial(5), seed=seed)
    with monkeypatch.context() as old:
        old.setattr(Policy, "_refuse_outside", lambda self, received: None)
        for _ in range(rounds):
            policy.tell(policy.ask(), draw(1))
        policy.ask()
    state = json.loads(json.dumps(policy.state()))
    del state["memory"]["one_coin"], state["checksum"]  # which version 0.7 did not have
    return policy, {**state, "checksum": checksum(state)}


def test_a_state_with_rewards_that_are_no_shares_of_the_trials_begins_again_with_one_coin_each(monkeypatch):
    for seed in range(100):  # until one errs among equals
        rng = np.random.default_rng(seed)
        extremes = lambda size: np.where(rng.random(size) < 0.5, 0.95, 0.05)  # noqa: B023, E731
        was, state = binomial_state(seed, 25, extremes, monkeypatch)
        if was.done:
            break
    assert was.done
    now = mb.restore(state)
    assert not now.done
    assert now.one_coin
    assert (now.peaks <= 0).all()
    assert (now.sampled, now.tours, now.rounds) == (0, 0, 25)
    assert np.array_equal(now.plays, was.plays)
    assert np.array_equal(now.sums, was.sums)
    with pytest.raises(mb.MatchbanditError, match="no round is open"):
        now.tell(was.ask(), [0.2])
    again = mb.restore(json.loads(json.dumps(now.state())))
    for _ in range(40):
        for policy in (now, again):
            policy.tell(policy.ask(), [0.4])
    assert now.state() == again.state()
    assert now.one_coin  # for good
    assert now.explain()["items"]


def test_a_state_in_the_middle_of_a_batch_keeps_what_it_has_seen(monkeypatch):
    was, state = binomial_state(1, 42, lambda size: np.full(size, 0.37), monkeypatch)
    assert was.pending.counts.sum() > 0
    now = mb.restore(state)
    assert now.one_coin
    assert now.plays.sum() == 2 * 42
    assert np.isclose(now.sums.sum(), 2 * 42 * 0.37)
    coins = certify(delta=0.05).build(mb.bipartite(2, 2))
    counts = now.plays[:2, 2:].ravel()
    coins.warm_start(coins.graph.pairs, counts, 0.37 * counts)
    assert np.allclose(now.strengths, coins.strengths, atol=1e-5)
    assert np.allclose(now.half_gaps, coins.half_gaps, atol=1e-5)


def test_a_state_with_shares_goes_on(monkeypatch):
    rng = np.random.default_rng(1)
    was, state = binomial_state(1, 200, lambda size: rng.integers(6, size=size) / 5, monkeypatch)
    now = mb.restore(state)
    assert not now.one_coin
    assert now.state() == was.state()


@pytest.mark.parametrize("runs", [15, pytest.param(150, marks=pytest.mark.slow)])
def test_after_such_a_state_it_errs_with_probability_delta_at_most(runs, monkeypatch):
    """What is told from then on are shares, as far as `tell` can see: zeros and ones, with the deviation of a coin."""
    wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng([3, seed])
        _, state = binomial_state(seed, 30, lambda size: np.where(rng.random(size) < 0.5, 0.95, 0.05), monkeypatch)  # noqa: B023
        policy = mb.restore(state)
        while policy.rounds < 1000 and not policy.done:
            policy.tell(policy.ask(), rng.integers(2, size=1))
        wrong += policy.done
    assert wrong <= runs * 0.05 + 3 * sqrt(runs * 0.05 * 0.95)


def test_it_needs_few_rounds():
    players, slots = (
        mb.identify(problem, certify(selection=selection, delta=0.05), runs=40, seed=2).rounds.mean()
        for problem, selection in ((FOUR, "matching"), (SLOTS, "pair"))
    )
    assert players < 160  # rank1-identify 97, matching-id 1046
    assert slots < 800  # pair-elim 6 257


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize(
    ("problem", "selection", "most"),
    [
        (mb.Monopartite([0.9, 0.62, 0.6, 0.3]), "matching", 3000),
        (mb.Monopartite([0.8, 0.7, 0.68]), "matching", 3000),
        (mb.Bipartite([0.7, 0.68], [0.8, 0.78]), "pair", 3000),
        (mb.Monopartite([0.9, 0.62, 0.6, 0.3], rewards=mb.Gaussian(sd=0.3)), "matching", 3000),
        (FOUR, "pair", 10**5),
    ],
    ids=str,
)
def test_it_errs_with_probability_delta_at_most(problem, selection, most, delta):
    runs = 500
    found = mb.identify(problem, certify(selection=selection, delta=delta), runs=runs, seed=3, max_rounds=most)
    assert (found.identified & ~found.correct).sum() <= runs * delta


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "selection", "theirs", "ratio"),
    [
        (FOUR, "matching", "rank1-identify", 1.5),
        (FOUR, "matching", "matching-id", 1 / 4),
        (mb.Monopartite([0.9, 0.8, 0.6, 0.5, 0.3, 0.2]), "matching", "rank1-identify", 1.5),
        (mb.Monopartite([0.9, 0.8, 0.6, 0.5, 0.3, 0.2]), "matching", "matching-id", 1 / 4),
        (SLOTS, "pair", "pair-elim", 1 / 8),
        (FOUR, "pair", "pair-elim-mono", 1 / 8),
    ],
    ids=str,
)
def test_a_proof_costs_little(problem, selection, theirs, ratio):
    ours = mb.identify(problem, certify(selection=selection, delta=0.05), runs=100, seed=1).rounds.mean()
    other = mb.identify(problem, mb.policy(theirs, delta=0.05), runs=100, seed=1).rounds.mean()
    assert ours <= ratio * other


@pytest.mark.slow
def test_as_delta_falls_the_rounds_approach_the_least_possible():
    from matchbandit.theory.asymptotic import characteristic_time

    least = characteristic_time(FOUR, plays="matching", seeks="matching").value * 30 * log(10)
    assert mb.identify(FOUR, certify(delta=1e-30), runs=20, seed=1).rounds.mean() <= 1.4 * least


# Engines


@pytest.mark.parametrize(
    ("problem", "options", "horizon"),
    [
        (FOUR, {}, 2000),
        (FOUR, {"anytime": True}, 2000),
        (SLOTS, {"selection": "pair"}, 2000),
        (SLOTS, {"selection": "matching", "delta": 0.01}, None),
        (mb.Monopartite([0.9, 0.5, 0.2]), {"delta": 0.05}, None),
    ],
    ids=str,
)
def test_leaps_are_what_ask_and_tell_play(problem, options, horizon):
    states = []
    for engine, checkpoints in ((step, [2000]), (jump, [2000]), (jump, [5, 17, 100, 101, 999, 2000])):
        policy = certify(**options).build(problem.graph, horizon=horizon, seed=3)
        score = Score(problem, policy.selection, np.array(checkpoints))
        engine(policy, Roll.bernoulli(problem.means, 2000, seed=5), score)
        memory = policy.state()["memory"]
        states.append((score.plays.tolist(), score.round, json.dumps(memory), policy.recommend().tolist()))
    assert states[0] == states[1] == states[2]


def test_both_engines_need_as_many_rounds():
    fast, slow = (
        mb.identify(FOUR, certify(delta=0.1), runs=runs, seed=seed, engine=engine).rounds
        for engine, runs, seed in (("jump", 80, 1), ("step", 40, 2))
    )
    assert ks_2samp(fast, slow).pvalue > 0.01


# Regret


def committed(policy):
    """It plays its answer for ever."""
    return policy.current.limit == NEVER


def test_once_all_is_certified_the_answer_is_played_for_ever():
    policy = driven(certify(), FOUR, 10**5, horizon=10**6)
    assert committed(policy)
    assert policy.current.rounds.shape == (1, 2)
    answer, explored, before = policy.recommend().tolist(), policy.explored, policy.evidence.copy()
    assert sorted(answer) == [[0, 1], [2, 3]]
    for _ in range(50):
        assert policy.ask().tolist() == answer
        policy.tell(policy.ask(), [0.0, 0.0])  # whatever comes
    assert policy.recommend().tolist() == answer
    assert policy.explored == explored
    assert policy.evidence.tolist() == before.tolist()
    assert policy.target.weakest(policy._order(policy.peaks, policy.sampled), policy.peaks) >= log(4 * 10**6) - 1e-9


def test_it_stops_exploring_where_the_horizon_lies_inside_the_next_batch():
    for horizon, explores in ((21, False), (22, True)):
        policy = certify().build(FOUR.graph, horizon=horizon, seed=1)
        tours = next(iter(drive(policy, FOUR, 6)))[0]
        assert tours.limit == 6
        assert (policy.sampled, policy.explored, policy.tours) == (6, 6, 2)
        assert committed(policy) != explores
        assert explores == (plays(policy.current, FOUR.graph)[1:].sum() > 0 if explores else False)
        list(drive(policy, FOUR, horizon))
        assert policy.sampled == (22 if explores else 6)
    short = certify().build(FOUR.graph, horizon=5, seed=1)
    assert short.current.limit == 6  # the first tours, which are cut off: there is nothing better to play


def test_without_delta_the_horizon_is_one_over_it():
    for horizon in (10, 10**6, 10**18):
        assert certify().build(FOUR.graph, horizon=horizon).threshold(77) == pytest.approx(log(4 * horizon))
    assert certify(delta=0.01).build(FOUR.graph).threshold(10**9) == pytest.approx(log(4 / 0.01))
    assert certify(selection="pair").build(SLOTS.graph, horizon=100).threshold(1) == pytest.approx(log(4 * 100))
    lapsing = certify(anytime=True).build(FOUR.graph, horizon=100)
    assert lapsing.threshold(1000) == pytest.approx(log(4 * 1000 * log(1002) ** 2))
    assert lapsing.needed == pytest.approx(lapsing.threshold(0))


@pytest.mark.parametrize("share", [0.1, 0.25, 1.0])
def test_the_best_guess_is_played_but_for_the_share_that_explores(share):
    policy = certify(share=share).build(FOUR.graph, horizon=10**6, seed=2)
    for number, (plan, _) in enumerate(drive(policy, FOUR, 5000)):
        guessed, chosen, toured = plays(plan, FOUR.graph).sum(axis=1) / 2
        if number and plan.limit < NEVER:
            assert chosen + toured <= share * plan.limit * (1 + 1e-12)
            assert guessed == plan.limit - chosen - toured
        assert policy.explored - 6 <= 8 * sqrt(policy.sampled * log(4 * 10**6))


def test_the_best_guess_goes_by_certificates_then_by_whole_tours_then_by_the_fit():
    policy = certify().build(FOUR.graph, horizon=10**4, seed=1)
    policy.strengths[:] = 0.3, 0.4, 0.5, 0.6
    nothing = np.where(policy.target.comparable, 0.0, -np.inf)
    assert policy._order(nothing, 100).tolist() == [3, 2, 1, 0]
    policy.tours, policy.sampled = 100, 600
    policy.tour_sums[:] = 90, 30, 30, 30  # 0 is far ahead in 200 plays: r = √(3 log(4 · 600) · 200) = 68
    assert policy._order(nothing, 100).tolist() == [3, 2, 1, 0]
    policy.tour_sums[:] = 100, 30, 30, 30
    assert policy._order(nothing, 100).tolist() == [0, 3, 2, 1]
    certified = nothing.copy()
    certified[2, 0] = policy.threshold(100)
    assert policy._order(certified, 100).tolist() == [3, 2, 0, 1]  # beyond 2 > 0 the tours hold
    certified[2, 0] -= 1e-9
    assert policy._order(certified, 100).tolist() == [0, 3, 2, 1]
    seeks = certify(delta=0.1).build(FOUR.graph, seed=1)
    seeks.strengths[:], seeks.tours, seeks.sampled = policy.strengths, 100, 600
    seeks.tour_sums[:] = 100, 30, 30, 30
    assert seeks._order(nothing, 100).tolist() == [3, 2, 1, 0]  # for identification the fit alone


def test_regret_is_small():
    players = mb.simulate(FOUR, certify(), horizon=10**6, runs=20, seed=1, checkpoints=[10**6]).final
    slots = mb.simulate(SLOTS, certify(), horizon=10**6, runs=10, seed=1, checkpoints=[10**6]).final
    assert players.mean() < 50  # adaptive-matching 369
    assert slots.mean() < 250


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.5, 0.6, 0.7, 0.8])
def test_on_figure_3_it_loses_a_tenth_of_simple_adaptive_matching(mean):
    family = mb.family("centred", n=4, mean=mean, gap=0.1)
    ours, theirs = (
        mb.simulate(family, name, horizon=200_000, runs=100, seed=1, checkpoints=[200_000]).final.mean()
        for name in ("rank1-certify", "simple-adaptive-matching")
    )
    assert ours <= theirs / 10


@pytest.mark.slow
def test_on_figure_1_it_loses_a_fortieth_of_pair_elim():
    family = mb.family("spiked", n=8, u1=0.9, gap=0.75)
    ours, theirs = (
        mb.simulate(family, name, horizon=200_000, runs=10, seed=1, checkpoints=[200_000]).final.mean()
        for name in ("rank1-certify", "pair-elim")
    )
    assert ours <= theirs / 40


@pytest.mark.slow
def test_no_run_is_trapped_by_a_bad_start():
    slots = mb.Bipartite([0.9] + [0.45] * 7, [0.9] + [0.45] * 7)
    lost = mb.simulate(slots, certify(), horizon=10**6, runs=200, seed=5, checkpoints=[10**6]).final
    assert lost.mean() < 1.15 * np.median(lost)
    assert lost.max() < 10 * np.median(lost)


# Ties


@pytest.mark.slow
@pytest.mark.parametrize("anytime", [False, True])
def test_ties_cost_less_and_less_of_every_round(anytime):
    spec = certify(anytime=anytime)
    regret = [
        mb.simulate(TIES, spec, horizon=horizon, runs=3, seed=1, checkpoints=[horizon]).final.mean()
        for horizon in (10**6, 10**9, 10**12)
    ]
    assert 0 < regret[2] < 10**7.5  # T^(5/8)
    assert regret[2] <= 1000**0.6 * max(regret[1], 100)
    assert regret[1] <= 1000**0.6 * max(regret[0], 100)


def test_with_ties_it_explores_for_ever_up_to_the_cap():
    policy = certify().build(TIES.graph, horizon=10**12, seed=1)
    batches = 0
    for _ in drive(policy, TIES, 10**11):
        batches += 1
        assert policy.explored - 6 <= 8 * sqrt(policy.sampled * log(4 * 10**12)) * (1 + 1e-12)
    assert batches < 1000
    assert policy.explored > 10**6
    assert policy.tours >= policy.explored / 32 / 3 - 1


# Anytime


@pytest.mark.parametrize("problem", [FOUR, TIES, SLOTS], ids=str)
def test_anytime_ignores_the_horizon(problem):
    rounds = [100, 1000, 5000]
    short, longer = (
        mb.simulate(problem, certify(anytime=True), horizon=horizon, runs=6, seed=6, checkpoints=[*rounds, horizon])
        for horizon in (5000, 10**6)
    )
    assert short.regret[:, :3].tolist() == longer.regret[:, :3].tolist()
    known = mb.simulate(problem, certify(), horizon=5000, runs=6, seed=6, checkpoints=rounds)
    assert known.regret.tolist() != short.regret.tolist()


def test_without_a_horizon_it_is_anytime():
    one = driven(certify(), FOUR, 20_000)
    other = driven(certify(anytime=True), FOUR, 20_000, horizon=50)
    assert one.lapses
    assert one.state()["memory"] == other.state()["memory"]


def test_certificates_lapse_where_the_threshold_passes_them():
    policy = certify(anytime=True).build(FOUR.graph, seed=1)
    held, lapses = [], 0
    for plan, _ in drive(policy, FOUR, 10**7):
        exploring = plays(plan, FOUR.graph)[1:].sum() > 0
        held.append((plan.limit, exploring))
        if len(plan.rounds) == 1 and not exploring and policy.pending.sweeps == 0:
            # A commitment has just ended: in its last round the weakest link held, in the next it does not.
            weakest = policy.target.weakest(policy._order(policy.peaks, policy.sampled), policy.peaks)
            assert policy.threshold(policy.sampled) <= weakest < policy.threshold(policy.sampled + 1)
            assert not policy.certified
            assert plays(policy.current, FOUR.graph)[1:].sum() > 0  # it explores again
            lapses += 1
    assert lapses >= 3
    long = [limit for limit, exploring in held if not exploring]
    assert all(later > earlier for earlier, later in pairwise(long))
    assert mb.simulate(FOUR, certify(anytime=True), horizon=10**9, runs=3, seed=1).final.mean() < 150


@pytest.mark.parametrize("weakest", [5.0, 20.0, 40.0])
@pytest.mark.parametrize("sampled", [0, 100])
def test_a_commitment_lasts_until_the_threshold_reaches_its_weakest_link(weakest, sampled):
    policy = certify(anytime=True).build(FOUR.graph, seed=1)
    policy.sampled = sampled
    last = policy._lapse(weakest)
    if policy.threshold(sampled) <= weakest:
        assert policy.threshold(last) <= weakest
        assert policy.threshold(last + 1) > weakest - 1e-12
    else:
        assert last == sampled


def test_after_a_lapse_it_explores_for_a_certificate_that_holds_four_times_as_long():
    policy = certify(anytime=True).build(FOUR.graph, seed=1)
    policy.sampled, policy.explored, policy.tours = 10_000, 300, 3
    links = np.ix_([0, 1], [2, 3])
    policy.peaks[links] = policy.threshold(40_000) - 1e-9
    assert plays(policy.plan(), FOUR.graph)[1:].sum() > 0
    policy.peaks[links] = policy.threshold(40_000) + 1e-9
    plan = policy.plan()
    assert plays(plan, FOUR.graph)[1:].sum() == 0
    assert plan.limit == 40_000 - 10_000


def test_the_chances_of_a_wrong_certificate_sum_to_less_than_two():
    assert log_g(0) == log_g(1) == pytest.approx(2 * log(log(3)))
    t = np.arange(1, 10**6)
    assert (1 / (t * np.log(t + 2) ** 2)).sum() + 1 / log(10**6) < 1.9
    assert all(log_g(int(k)) < log_g(2 * int(k)) for k in np.geomspace(1, 1e15, 40))


# What it says


def test_explain_says_what_each_link_has_and_lacks():
    policy = driven(certify(delta=0.01), FOUR, 60)
    told = policy.explain()
    rivals = told["details"]["rivals"]
    assert json.loads(json.dumps(rivals, allow_nan=False)) == rivals
    first, second = told["recommendation"]
    assert {(r["above"], r["below"]) for r in rivals} == {(a, b) for a in first for b in second} or {
        (r["above"], r["below"]) for r in rivals
    } == {(a, b) for a in second for b in first}
    for rival in rivals:
        assert set(rival) == {
            "side", "above", "below", "log_evidence", "threshold", "certified", "expected_rounds"}  # fmt: skip
        assert rival["side"] == "player"
        assert rival["threshold"] == pytest.approx(log(400))
        assert isinstance(rival["certified"], bool)
        assert rival["certified"] == (rival["expected_rounds"] == 0) or rival["expected_rounds"] is None
        assert rival["expected_rounds"] is None or rival["expected_rounds"] >= 0
    assert told["details"]["explored"] == policy.explored
    assert told["details"]["tours"] == policy.tours
    assert [item["side"] for item in told["items"]] == ["player"] * 4
    assert told["next_check"]["after_sweeps_at_most"] == policy.current.limit - policy.pending.sweeps


def test_explain_is_right_about_how_long_it_takes_and_about_rows_and_columns():
    policy = driven(certify(delta=1e-6, selection="pair"), SLOTS, 500)
    rivals = policy.explain()["details"]["rivals"]
    assert [(r["side"], r["above"], r["below"]) for r in rivals if r["side"] == "row"] == [("row", 0, 1), ("row", 0, 2)]
    assert sorted((r["above"], r["below"]) for r in rivals if r["side"] == "column") == [(0, 1), (0, 2)]
    guessed = max(r["expected_rounds"] or 0 for r in rivals)
    took = [driven(certify(delta=1e-6, selection="pair"), SLOTS, 10**6, seed=seed).rounds for seed in range(5)]
    assert guessed / 3 < np.mean(took) < 3 * (500 + guessed)


def test_explain_changes_nothing():
    one, other = (driven(certify(), FOUR, 100, horizon=10**5) for _ in range(2))
    one.explain()
    repr(one)
    assert json.dumps(one.state()) == json.dumps(other.state())


def test_once_done_every_link_is_certified():
    policy = driven(certify(delta=0.05), FOUR, 10**5)
    assert policy.done
    told = policy.explain()
    assert all(r["certified"] for r in told["details"]["rivals"])
    assert all(r["expected_rounds"] == 0 for r in told["details"]["rivals"])
    assert told["next_check"] is None


# Averages that contradict the fit


def warm(graph, rewards, counts, means, **options):
    """The policy after logged results with exactly these means."""
    counts = np.broadcast_to(counts, graph.n_pairs)
    spec = certify(**options).warm_start(graph.pairs, counts, counts * np.asarray(means))
    return spec.build(graph, rewards=rewards, horizon=10**6, seed=1)


def contradicted(policy):
    """The pairs whose average contradicts the fit."""
    found = policy._contradicted(np.outer(policy.strengths, policy.strengths))
    assert (found == found.T).all()
    return [pair for pair, end in zip(policy.graph.pairs.tolist(), policy._ends, strict=True) if found[tuple(end)]]


@pytest.mark.parametrize("rewards", [mb.Bernoulli(), mb.Binomial(4), mb.Gaussian(0.5)], ids=str)
def test_by_hand_when_an_average_contradicts_the_fit(rewards):
    policy = warm(mb.bipartite(2, 2), rewards, 100, [0.9, 0.1, 0.1, 0.9])  # no product: all four would be about 1/2
    n, mean = 100, 0.9
    p = policy.strengths[0] * policy.strengths[2]
    if isinstance(rewards, mb.Gaussian):
        evidence = n * (mean - p) ** 2 / (2 * 0.25)
    else:
        evidence = n * rewards.noise.trials * (mean * log(mean / p) + (1 - mean) * log((1 - mean) / (1 - p)))
    assert evidence > log(4) + 8
    assert [0, 0] in contradicted(policy)
    enough = (log(4) + 8) / evidence  # the share of these plays that just contradicts
    for share, expected in ((1.001 * enough, True), (0.999 * enough, False)):
        policy.plays[0, 2] = policy.plays[2, 0] = share * n
        policy.sums[0, 2] = policy.sums[2, 0] = share * n * mean
        assert ([0, 0] in contradicted(policy)) is expected


@pytest.mark.parametrize("rewards", [mb.Bernoulli(), mb.Binomial(4), mb.Gaussian(0.5)], ids=str)
@pytest.mark.parametrize("graph", [mb.monopartite(6), mb.bipartite(3, 4)], ids=str)
def test_products_are_not_contradicted(graph, rewards):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        u, ends = 10 ** rng.uniform(-2, 0, 7), ends_of(graph)
        counts = np.floor(10 ** rng.uniform(0, 5, graph.n_pairs)).astype(np.int64)
        sums = rewards.sums(u[ends].prod(axis=1), counts, rng)
        spec = certify(selection="pair").warm_start(graph.pairs, counts, sums)
        assert contradicted(spec.build(graph, rewards=rewards, horizon=10**6)) == []


def explored(policy):
    """Tables and rounds by which a batch of 200 rounds chooses the 101 with which it explores."""
    seen, choose = [], policy._chosen_by

    def watch(table, links, missing, plays, rounds, best):
        chosen, times = choose(table, links, missing, plays, rounds, best)
        seen.append((table, rounds, times.sum()))
        return chosen, times

    policy._chosen_by = watch
    chains = bottleneck_closure(policy.peaks)
    order = policy._order(chains, 200)
    missing = policy.target.missing(order, chains, policy.needed)
    _, times = policy._chosen(Schedule(rounds=200, explored=101, tours=0), policy._best(order), missing)
    assert times.sum() == 101
    return seen


@pytest.mark.parametrize("options", [{"delta": 0.1}, {}], ids=["identification", "regret"])
def test_while_averages_contradict_the_fit_half_of_the_exploration_follows_them(options):
    u = np.array([0.9, 0.8, 0.5, 0.3])
    products = u[FOUR.graph.pairs].prod(axis=1)
    policy = warm(FOUR.graph, None, 1000, products, **options)
    ((table, rounds, _),) = explored(policy)
    assert table.tolist() == np.outer(policy.strengths, policy.strengths).tolist()
    assert rounds == 101

    means = products.copy()
    means[0] = 0.2  # the two strongest do not get on
    policy = warm(FOUR.graph, None, 1000, means, **options)
    fitted = np.outer(policy.strengths, policy.strengths)
    off = contradicted(policy)
    assert [0, 1] in off
    (by_fit, first, times), (by_averages, second, more) = explored(policy)
    assert by_fit.tolist() == fitted.tolist()
    assert (first, second) == (times, more) == (51, 50)
    for (i, j), mean in zip(FOUR.graph.pairs.tolist(), means, strict=True):
        assert by_averages[i, j] == by_averages[j, i] == pytest.approx(mean if [i, j] in off else fitted[i, j])


# Extremes


@pytest.mark.parametrize(
    "problem",
    [
        mb.Monopartite([0.0] * 4),
        mb.Monopartite([1.0] * 4),
        mb.Monopartite([1.0, 1.0, 0.0, 0.0]),
        mb.Monopartite([0.0] * 14, rewards=mb.Gaussian(sd=0.5)),
        mb.Monopartite([0.5] * 14),
        mb.Bipartite([0.0, 1.0], [1.0, 0.0, 1.0]),
        mb.Bipartite([0.3] * 3, [0.3] * 3, rewards=mb.Gaussian(sd=1e-3)),
        mb.Monopartite([0.9, 0.8, 0.4, 0.3], rewards=mb.Gaussian(sd=30.0)),
        mb.Monopartite([0.9, 0.8, 0.4, 0.3], rewards=mb.Binomial(1000)),
    ],
    ids=str,
)
@pytest.mark.parametrize("selection", ["pair", "matching"])
def test_odd_problems_are_played_to_the_end_and_all_stays_finite(problem, selection):
    policy = certify(selection=selection).build(problem.graph, rewards=problem.rewards, horizon=10**9, seed=1)
    for _ in drive(policy, problem, 10**9):
        pass
    assert policy.rounds == 10**9
    assert np.isfinite(policy.log_bets).all()
    assert np.isfinite(policy.evidence[policy.target.comparable]).all()
    assert ((policy.strengths >= 0) & (policy.strengths <= 1)).all()
    json.dumps(policy.explain(), allow_nan=False)


@pytest.mark.parametrize("slip", [1e150, -1e150])
def test_one_gaussian_reward_beyond_belief_does_not_decide(slip):
    wrong = 0
    for seed in range(5):
        policy = certify(delta=0.01).build(FOUR.graph, rewards=mb.Gaussian(0.5), seed=seed)
        rng = np.random.default_rng(seed)
        for n in range(3000):
            pairs = policy.ask()
            rewards = rng.normal(FOUR.means[FOUR.graph.edges(pairs)], 0.5)
            if n == 20:
                rewards[0] = slip
            policy.tell(pairs, rewards)
            assert np.isfinite(policy.strengths).all()
        wrong += policy.done and sorted(policy.recommend().tolist()) != [[0, 1], [2, 3]]
    assert wrong <= 5  # a slip is no reward of the model: nothing is promised but that it goes on


def test_many_players_are_certified_by_matchings_that_are_solved_for():
    problem = mb.Monopartite(np.repeat(np.linspace(0.95, 0.05, 6), 2))
    policy = driven(certify(delta=0.05), problem, 10**6)
    assert policy._listed is None
    assert policy.done
    assert problem.is_optimal(policy.recommend(), "matching")
    regret = mb.simulate(problem, certify(), horizon=10**5, runs=2, seed=1, checkpoints=[10**5]).final
    assert regret.mean() < 2500


def test_too_many_items_are_refused_before_a_batch_takes_minutes():
    with pytest.raises(mb.MatchbanditError, match=r"at most 400 items; got 402. Use rank1-thompson for more"):
        certify().build(mb.monopartite(402), horizon=1000)
    with pytest.raises(mb.MatchbanditError, match="got 500"):
        certify(delta=0.1).build(mb.bipartite(100, 400))


def test_anytime_a_recommendation_rests_on_nothing_that_has_lapsed():
    policy = driven(certify(anytime=True), FOUR, 20_000)
    policy.peaks[:] = -np.inf
    policy.peaks[2, 0] = policy.threshold(policy.rounds) + 1e-9  # wrong, and holds by a hair
    assert sorted(policy.recommend().tolist()) == [[0, 3], [1, 2]]
    policy.rounds *= 10
    assert sorted(policy.recommend().tolist()) == [[0, 1], [2, 3]]


def test_a_horizon_shorter_than_the_first_tours_is_spent_on_them_not_on_the_order_of_the_items():
    runs = mb.simulate(mb.Monopartite(np.linspace(0.95, 0.05, 20)), certify(), horizon=19, runs=1, seed=1)
    assert runs.plays.max() == 2  # of two tours, as far as they come
