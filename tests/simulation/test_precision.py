"""ε and fixed budgets in identify, compare, watch, studies, tables and files: what they mean, and what is refused."""

import pytest
from reference.answers import KnownAnswer, OtherEpsilon

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.lab.studies.charts import charts_of
from matchbandit.results.plotting import chart_of

SLOTS = mb.Bipartite([1.0, 0.95, 0.5], [1.0])
TIED = mb.Bipartite([0.5, 0.5], [0.8])
SUPPORTING = [name for name, kind in mb.CATALOGUE.items() if kind.capabilities.supports_epsilon]


def answering(answer, **options):
    return mb.policy(KnownAnswer, answer=answer, **options)


@pytest.mark.parametrize(
    ("answer", "epsilon", "correct"),
    [
        (0, None, True),
        (1, None, False),
        (1, 0, False),
        (1, 0.04, False),
        (1, 0.05, True),
        (2, 0.05, False),
        (2, 0.5, True),
    ],
)
def test_an_answer_is_correct_if_it_is_worth_1_minus_epsilon_of_the_optimum(answer, epsilon, correct):
    found = mb.identify(SLOTS, answering(answer), delta=0.1, epsilon=epsilon, runs=2)
    assert found.identified.all()
    assert found.correct.tolist() == [correct] * 2
    assert found.about.epsilon == epsilon
    assert found.about.options["delta"] == 0.1
    as_option = {} if epsilon is None else {"epsilon": epsilon}
    assert mb.identify(SLOTS, answering(answer, delta=0.1, **as_option), runs=2).about == found.about


def test_matchings_are_judged_by_their_sums():
    """The three matchings are worth 0.84, 0.6 and 0.59: the second lacks 28.6 %, the third 29.8 %."""
    players = mb.Monopartite([0.9, 0.8, 0.4, 0.3])
    values = [players.value(players.graph.pairs_of(edges)) for edges in mb.solvers.all_matchings(players.graph)]
    shares = [value / max(values) for value in values]
    for answer, share in enumerate(shares):
        for epsilon in (0.01, 0.28, 0.29, 0.3):
            found = mb.identify(players, answering(answer, selection="matching"), epsilon=epsilon)
            assert found.correct[0] == (share >= 1 - epsilon), (answer, epsilon)
    assert [round(share, 3) for share in shares] == [1.0, 0.714, 0.702]


def test_a_tie_needs_a_positive_epsilon():
    for epsilon in (None, 0):
        with pytest.raises(MatchbanditError, match=r"no number of samples tells them apart.*epsilon \(--epsilon\)"):
            mb.identify(TIED, answering(0), epsilon=epsilon)
    assert mb.identify(TIED, answering(1), epsilon=0.01).correct.all()
    family = mb.family("staircase", n=2, gap=0)
    assert mb.identify(family, answering(1, selection="pair"), epsilon=0.01, runs=3).correct.all()
    assert mb.watch(TIED, answering(1), epsilon=0.01).frames[-1].done
    assert mb.identify(TIED, "sequential-halving", budget=8).correct.all()


def test_an_option_of_that_name_need_not_be_epsilon():
    """Only the capability makes it one."""
    found = mb.identify(SLOTS, mb.policy(OtherEpsilon, answer=1, epsilon=0.5))
    assert (found.correct.tolist(), found.about.epsilon) == ([False], None)
    with pytest.raises(MatchbanditError, match="other-epsilon does not support epsilon"):
        mb.identify(SLOTS, OtherEpsilon, epsilon=0.5)


def test_results_say_epsilon_where_they_say_delta(tmp_path):
    found = mb.identify(SLOTS, answering(1), delta=0.1, epsilon=0.05, runs=3)
    rows = found.rows()
    assert (rows.distinct("delta"), rows.distinct("epsilon"), rows.distinct("budget")) == ([0.1], [0.05], [None])
    assert rows.distinct("options") == ['{"answer": 1, "selection": "pair"}']
    found.save(tmp_path / "found.parquet")
    again = mb.load(tmp_path / "found.parquet")
    assert again.about == found.about
    assert again.about["epsilon"] == 0.05
    assert "δ = 0.1; ε = 0.05" in chart_of(found).caption
    ranked = mb.compare(SLOTS, [answering(1), answering(0)], delta=0.1, epsilon=0.05, runs=2)
    assert "Rounds until identification at delta = 0.1, epsilon = 0.05" in repr(ranked)
    assert [result.correct.all() for result in ranked.results] == [True, True]


def test_results_with_another_epsilon_are_ranked_apart():
    mixed = mb.compare(SLOTS, [answering(0), answering(0, epsilon=0.05)], delta=0.1, runs=2)
    assert mixed.labels == ("known-answer", "known-answer, epsilon = 0.05")
    assert [len(ranking) for ranking in mixed.rankings] == [1, 1]


def test_watch_says_what_is_claimed():
    watched = mb.watch(SLOTS, answering(1), epsilon=0.05)
    assert "δ = 0.05, ε = 0.05" in watched.caption
    claim = "it stops: (1, 0) is certified to be worth at least 95% of the best pair, which is correct"
    assert claim in watched.frames[-1].sentence
    halved = mb.watch(SLOTS, "sequential-halving", budget=600)
    assert "budget 600" in halved.caption
    assert "certified" not in halved.frames[-1].sentence
    assert "it stops: its answer is the pair (" in halved.frames[-1].sentence


def test_a_study_sweeps_epsilon(tmp_path):
    study = mb.Study(
        name="e", problem=SLOTS, policies=[{"name": "reference.answers:KnownAnswer", "answer": 1}],
        delta=0.1, sweep={"epsilon": [0, 0.04, 0.05]}, runs=2,
    )  # fmt: skip
    runs = study.run(tmp_path / "e", workers=1).runs()
    curve = runs.curve("epsilon", "correct")
    assert (curve.x.tolist(), curve.mean.tolist()) == ([0.0, 0.04, 0.05], [0.0, 0.0, 1.0])
    (chart,) = charts_of(study, runs)
    assert (chart.x_label, chart.y_label) == ("ε", "rounds until the answer")
    assert chart.series[0].y.tolist() == [100, 96, 95]
    assert "over ε" in chart.title
    with pytest.raises(MatchbanditError, match="no number of samples tells them apart"):
        study.with_(problem=TIED)
    assert len(study.with_(problem=TIED, sweep={}, epsilon=0.1).points) == 1


def test_a_policy_of_a_study_may_have_its_own_epsilon(tmp_path):
    """Policies without one are a level to compare with."""
    policies = [{"name": "reference.answers:KnownAnswer", "selection": "pair"}, "pair-elim"]
    sweep = {"reference.answers:KnownAnswer.epsilon": [0.05, 0.1, 0.2, 0.5]}
    study = mb.Study(name="own", problem=SLOTS, policies=policies, delta=0.1, sweep=sweep, runs=2)
    runs = study.run(tmp_path / "own", workers=1).runs()
    assert runs.distinct("reference.answers:KnownAnswer.epsilon") == [0.05, 0.1, 0.2, 0.5, None]
    (chart,) = charts_of(study, runs)
    assert [line.kind for line in chart.series] == ["line", "reference"]


@pytest.mark.slow
def test_a_study_sweeps_the_budget(tmp_path):
    problem = {"u": [0.9, 0.6], "v": [0.9]}
    sweep = {"budget": [2, 20, 200]}
    study = mb.Study(name="b", problem=problem, policies=["sequential-halving"], sweep=sweep, runs=30)
    assert study.goal == "identification"
    folder = study.run(tmp_path / "b", workers=1)
    runs = folder.runs()
    assert sorted(runs.distinct("budget")) == [2, 20, 200]
    (chart,) = charts_of(study, runs)
    shares = chart.series[0].y
    assert (chart.x_label, chart.y_label, chart.y_log) == ("budget, in rounds", "share of correct answers", False)
    assert shares[0] < shares[2] == 1
    assert shares.tolist() == [result.correct.mean() for result in folder.results().results]
    assert "Share of wrong answers within 200 rounds" in repr(folder.results())
    assert [ranking[0].mean for ranking in folder.results().rankings] == pytest.approx((1 - shares).tolist())
    assert chart_of(folder.results()).series[0].y.tolist() == shares.tolist()
    assert study.points[0].budget == 2


def test_a_budget_is_kept_with_the_results(tmp_path):
    found = mb.identify(SLOTS, "sequential-halving", budget=1e3, runs=3)
    assert (found.about.budget, found.about.max_rounds, found.about.epsilon) == (1000, None, None)
    assert (found.rounds <= 1000).all()
    found.save(tmp_path / "within.parquet")
    assert mb.load(tmp_path / "within.parquet").about == found.about


@pytest.mark.parametrize("results", [{"epsilon": 0.05}, {"budget": 600}], ids=str)
def test_there_is_no_place_among_the_bounds_for_other_promises(results):
    found = mb.identify(SLOTS, "sequential-halving" if "budget" in results else KnownAnswer, **results)
    with pytest.raises(MatchbanditError, match="the bounds are for fixed confidence and the optimum itself"):
        mb.plot_bounds(SLOTS, [found])


@pytest.mark.parametrize(
    ("policy", "settings", "words"),
    [
        ("pair-elim", {"delta": 0.1, "epsilon": 0.1}, "pair-elim does not support epsilon. Policies that do: "),
        ("pair-elim", {"delta": 0.1, "epsilon": -0.1}, "epsilon must be at least 0 and below 1; got -0.1"),
        (KnownAnswer, {"epsilon": 1}, "epsilon must be at least 0 and below 1; got 1"),
        (KnownAnswer, {"epsilon": "much"}, "epsilon must be a number; got 'much'"),
        (answering(0, epsilon=0.1), {"epsilon": 0.2}, "has epsilon=0.1 already; got epsilon=0.2, too. Give it once."),
        ("sequential-halving", {}, "needs to know its budget"),
        ("sequential-halving", {"delta": 0.1}, "has no delta: it identifies within a fixed budget"),
        ("sequential-halving", {"delta": 0.1, "budget": 100}, "got both. Give one of them."),
        ("sequential-halving", {"budget": 100, "epsilon": 0.1}, "does not support epsilon"),
        ("sequential-halving", {"budget": 100, "max_rounds": 50}, "max_rounds is for fixed confidence"),
        ("sequential-halving", {"budget": 0}, "budget must be a whole number, between 1"),
        ("sequential-halving", {"budget": 5}, "budget must be at least 6 here"),
        ("pair-elim", {"budget": 100}, "does not support a budget. Policies that do: sequential-halving. Give delta="),
        ("uts", {"budget": 100}, "It is for regret: use simulate."),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(policy, settings, words):
    with pytest.raises(MatchbanditError) as refusal:
        mb.identify(SLOTS, policy, **settings)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_policies_refuse_what_is_no_option_of_theirs():
    with pytest.raises(MatchbanditError, match="budget is not an option of sequential-halving: give it to identify"):
        mb.policy("sequential-halving", budget=100)
    with pytest.raises(MatchbanditError, match="uts does not support epsilon"):
        mb.policy("uts", epsilon=0.1)
    with pytest.raises(MatchbanditError, match="sequential-halving is for identification here, not regret"):
        mb.simulate(SLOTS, "sequential-halving", horizon=100)
    assert mb.identify(SLOTS, "pair-elim", delta=0.1, epsilon=0).about.epsilon is None  # 0 is none


@pytest.mark.parametrize("name", SUPPORTING)
@pytest.mark.slow
def test_ties_end_and_answers_are_good_enough(name):
    for problem, selection in ((TIED, "pair"), (mb.Monopartite([0.9, 0.6, 0.6, 0.3]), "matching")):
        spec = mb.policy(name, selection=selection)
        found = mb.identify(problem, spec, delta=0.05, epsilon=0.2, runs=40, seed=1, max_rounds=10**6)
        assert found.identified.all()
        assert (~found.correct).sum() <= 7  # of 40 at δ = 0.05, four standard errors above


@pytest.mark.parametrize("name", SUPPORTING)
def test_epsilon_0_is_none(name):
    slots = mb.Bipartite([0.9, 0.4], [0.8])
    exact, zero = (mb.identify(slots, name, delta=0.05, epsilon=e, runs=5) for e in (None, 0))
    assert exact.rounds.tolist() == zero.rounds.tolist()
    with pytest.raises(MatchbanditError, match="epsilon is for identification: give"):
        mb.simulate(slots, mb.policy(name, epsilon=0.1), horizon=100)
