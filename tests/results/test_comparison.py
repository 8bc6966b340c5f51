from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from reference.made import assert_same, assert_same_found, final, found, made_about

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import monopartite
from matchbandit.results import Comparison, Runs, concat

SLOTS = mb.Bipartite([0.9, 0.3], [0.8, 0.4])


def spiked(gap, **more):
    return mb.family("spiked", n=2, u1=0.9, gap=gap, **more).describe()


def labels(*results):
    return list(Comparison(results).labels)


def test_a_label_is_the_name_and_what_differs():
    assert labels(final([1]), final([2], policy="cucb")) == ["uts", "cucb"]
    grown = [final([1], policy="pair-elim", options={"growth": g, "delta": None}) for g in (1.05, 4)]
    assert labels(final([1], options={"gamma": 2}), *grown) == [
        "uts",
        "pair-elim, growth = 1.05",
        "pair-elim, growth = 4",
    ]
    assert labels(*(final([1], problem=spiked(gap)) for gap in (0.5, 0.6))) == ["uts, gap = 0.5", "uts, gap = 0.6"]
    assert labels(final([1], rounds=10), final([1], rounds=20)) == ["uts, horizon = 10", "uts, horizon = 20"]
    assert labels(final([1], seed=1), final([1], seed=2)) == ["uts, seed = 1", "uts, seed = 2"]
    assert labels(*(found([1], options={"delta": d}) for d in (0.1, 0.2))) == ["uts, delta = 0.1", "uts, delta = 0.2"]


def test_problems_of_different_kinds_are_told_apart():
    given = final([1], problem=mb.Monopartite([0.9, 0.5]).describe())
    noisy = final([1], problem=spiked(0.5, rewards=mb.Gaussian(sd=0.5)))
    assert labels(given, final([1], problem=spiked(0.5)), noisy) == [
        "uts, u = [0.9, 0.5], rewards = bernoulli",
        "uts, family = spiked, n = 2, u1 = 0.9, gap = 0.5, rewards = bernoulli",
        "uts, family = spiked, n = 2, u1 = 0.9, gap = 0.5, rewards = gaussian:0.5",
    ]
    long = [final([1], problem=mb.Monopartite(np.linspace(0, top, 30)).describe()) for top in (0.9, 1)]
    assert all(len(label) < 60 for label in labels(*long))


def test_how_it_was_played_is_in_the_label_only_among_results_of_one_policy():
    assert labels(final([1], engine="loop"), final([1], engine="step")) == ["uts, engine = loop", "uts, engine = step"]
    assert labels(final([1], engine="loop"), final([1], engine="jump", policy="pair-elim")) == ["uts", "pair-elim"]
    usual = [found([1], max_rounds=10**7), found([1], max_rounds=10**12, policy="matching-id")]
    assert labels(*usual) == ["uts", "matching-id"]
    assert len(Comparison(tuple(usual)).rankings) == 1
    assert labels(final([1]), final([2]), final([3])) == ["uts", "uts (2)", "uts (3)"]


def test_results_are_found_by_label():
    one, two = final([1.0]), final([2.0], policy="cucb")
    both = Comparison((one, two))
    assert both["uts"] is one
    assert both["cucb"] is two
    assert [*both] == [one, two]
    assert len(both) == 2
    with pytest.raises(MatchbanditError, match=r"unknown result 'cucbb'; did you mean 'cucb'\? Known: uts, cucb"):
        both["cucbb"]


def test_the_ranking_and_its_paired_differences_by_hand():
    best = final([1, 2, 3, 4])
    worse = final([10, 20, 30], policy="cucb", first_run=2)  # runs 2, 3 and 4: two are shared
    apart = final([50, 60], policy="escb", first_run=7)
    (ranking,) = Comparison((worse, apart, best)).rankings
    assert [(one.rank, one.label, one.runs, one.mean) for one in ranking] == [
        (1, "uts", 4, 2.5), (2, "cucb", 3, 20), (3, "escb", 2, 55),
    ]  # fmt: skip
    assert (ranking[0].difference, ranking[0].to_best, ranking[0].shared) == (None, None, None)
    differences = np.array([10 - 3, 20 - 4])
    assert ranking[1].shared == 2
    assert ranking[1].difference == differences.mean()
    assert ranking[1].to_best.se == pytest.approx(differences.std(ddof=1) / sqrt(2))
    assert ranking[0].se == pytest.approx(np.std([1, 2, 3, 4], ddof=1) / 2)
    assert (ranking[2].difference, ranking[2].shared) == (None, 0)
    assert (ranking[0].p5, ranking[0].p95) == (pytest.approx(1.15), pytest.approx(3.85))


def test_only_what_is_up_against_the_same_is_ranked():
    results = [final([k], policy=policy, problem=spiked(gap)) for k, (policy, gap) in
               enumerate([("uts", 0.5), ("cucb", 0.5), ("uts", 0.6), ("cucb", 0.6)])]  # fmt: skip
    rankings = Comparison(tuple(results)).rankings
    assert [[one.mean for one in ranking] for ranking in rankings] == [[0, 1], [2, 3]]
    assert len(Comparison((final([1]), final([1], seed=8))).rankings) == 2
    assert len(Comparison((final([1]), final([1], stop="first-split"))).rankings) == 2


def test_what_plays_pairs_is_not_ranked_with_what_plays_matchings():
    both = Comparison((final([1]), final([2], policy="cucb", selection="matching"), final([3], policy="kl-ucb")))
    assert [[one.label for one in ranking] for ranking in both.rankings] == [["uts", "kl-ucb"], ["cucb"]]
    titles = [line for line in repr(both).splitlines() if line.startswith("Regret")]
    assert [title.rpartition("; ")[2] for title in titles] == ["one pair per round", "one matching per round"]
    assert both.labels == ("uts", "cucb", "kl-ucb")


def test_identifications_are_ranked_by_what_they_seek_not_by_what_they_play():
    one = found([1], policy="pair-select", selection="pair", answers="matching")
    two = found([2], policy="matching-id", selection="matching", answers="matching")
    both = Comparison((one, two, found([3], policy="pair-elim", answers="pair")))
    assert [[one.label for one in ranking] for ranking in both.rankings] == [
        ["pair-select", "matching-id"], ["pair-elim"],
    ]  # fmt: skip
    titles = [line for line in repr(both).splitlines() if line.startswith("Rounds")]
    assert [title.rpartition("; ")[2] for title in titles] == ["the best matching", "the best pair"]


def many():
    """Two policies at three gaps."""
    return Comparison(
        tuple(
            final([1], policy=policy, problem=spiked(gap), study="gaps")
            for gap in (0.5, 0.6, 0.7)
            for policy in ("uts", "kl-ucb")
        )
    )


def test_a_ranking_does_not_repeat_what_its_heading_says():
    assert many().labels[0] == "uts, gap = 0.5"
    lines = [line.split() for line in repr(many()).splitlines() if line[:2] in ("1.", "2.")]
    assert [line[1] for line in lines] == ["uts", "kl-ucb"] * 3
    assert [line[2] for line in lines] == ["1"] * 6
    twice = Comparison((final([2]), final([1]), final([1], seed=8)))
    assert [line.split("  ")[1] for line in repr(twice).splitlines() if line[:2] in ("1.", "2.")] == [
        "uts (2)", "uts", "uts",
    ]  # fmt: skip


def test_an_unknown_label_names_a_few_that_are_near():
    with pytest.raises(MatchbanditError, match=r"'kl-ucb, gap = 0.7'\. select\(policy='kl-ucb'\)") as told:
        many()["kl-ucb"]
    assert "uts" not in str(told.value)
    with pytest.raises(MatchbanditError, match=r"closest of \d+: 'uts, gap = 0.5'"):
        many()["uts gap = 0.5"]
    with pytest.raises(
        MatchbanditError, match=r"no result is called '0'; closest of 4: 'uts, gap = 0.5'; 'kl-ucb, gap = 0.5'"
    ):
        Comparison(many().results[:4])["0"]


def test_results_are_chosen_by_what_they_are_of():
    chosen = many().select(gap=0.6)
    assert chosen.labels == ("uts", "kl-ucb")
    assert chosen.rows().distinct("study") == ["gaps"]
    assert many().select(policy="uts", gap=0.7).results[0].about.problem == spiked(0.7)
    with pytest.raises(MatchbanditError, match=r"no result has gap = 0.8. Of these results, gap is 0.5, 0.6, 0.7\."):
        many().select(gap=0.8)
    with pytest.raises(MatchbanditError, match="unknown setting 'gab'; did you mean 'gap'"):
        many().select(gab=0.8)


def test_the_rows_say_whose_they_are():
    assert many().rows().distinct("study") == ["gaps"]
    assert many().rows("mine").distinct("study") == ["mine"]
    assert Comparison((final([1], problem=spiked(0.5)),)).rows().distinct("study") == ["simulate"]


def test_a_ranking_is_printed():
    slow = final([1000, 3000], policy="cucb", problem=SLOTS.describe())
    printed = repr(Comparison((slow, final([1, 2], problem=SLOTS.describe()))))
    assert printed == (
        "Regret after 10 rounds, 2 runs, seed 7: bipartite 1×1, bernoulli rewards, u = [0.9, 0.3], v = [0.8, 0.4]"
        "; one pair per round\n"
        "    policy  mean regret ± s.e.  5–95 %          more than the best (95 % interval)\n"
        "1.  uts     1.5 ± 0.5           1.05 to 1.95\n"
        "2.  cucb    2,000 ± 1,000       1,100 to 2,900  1,998 (−10,700 to 14,700)"
    )


def test_an_identification_s_ranking_is_by_rounds_and_counts_answers():
    one = found([10, 20, 30], identified=[1, 1, 0], correct=[1, 0, 0])
    two = found([1, 2, 3], policy="matching-id", first_run=10)
    both = Comparison((one, two))
    assert [(s.label, s.right, s.wrong, s.not_identified) for s in both.rankings[0]] == [
        ("matching-id", 3, 0, 0), ("uts", 1, 1, 1),
    ]  # fmt: skip
    lines = repr(both).splitlines()
    assert lines[0].startswith("Rounds until identification at delta = 0.1, 3 runs, seed 7: ")
    assert lines[1].split("  ")[-3:] == ["right", "wrong", "not identified"]
    assert lines[3].split()[-7:] == ["no", "runs", "in", "common", "1", "1", "1"]


def test_many_rankings_are_not_all_printed():
    many = Comparison(tuple(final([1], seed=seed) for seed in range(15)))
    assert repr(many).count("Regret after") == 12
    assert repr(many).endswith("… and 3 more such rankings; see summary().")
    assert "and 3 more" in many._repr_html_()


def test_notebooks_get_a_table_that_cannot_be_broken_out_of():
    html = Comparison((final([1], policy="<b>x</b>"), final([2])))._repr_html_()
    assert "<b>" not in html
    assert html.count("<tr>") == 3
    assert "<td>&lt;b&gt;x&lt;/b&gt;</td>" in html


def test_the_summary_is_plain_data_by_label():
    told = Comparison((final([1, 3]), final([2, 6], policy="cucb"))).summary()
    assert told["uts"] == {"rank": 1, "runs": 2, "mean": 2, "se": 1, "p5": 1.1, "p95": 2.9}
    assert told["cucb"]["difference"] == 2
    assert told["cucb"]["difference_se"] == pytest.approx(np.std([1, 3], ddof=1) / sqrt(2))
    t = 12.706204736432095  # the 97.5 % quantile with one degree of freedom
    assert told["cucb"]["difference_interval"] == pytest.approx([2 - t, 2 + t])


def test_one_shared_run_has_no_error():
    told = Comparison((final([1]), final([2], policy="cucb"))).summary()["cucb"]
    assert (told["difference"], "difference_se" in told, "se" in told) == (1, False, False)


def test_the_rows_of_all_results():
    both = Comparison((final([1, 3]), final([2, 6], policy="cucb")))
    assert both.rows("mine").where(policy="cucb")["regret"].tolist() == [2, 6]
    assert both.to_frame("polars")["regret"].to_list() == [1, 3, 2, 6]


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(MatchbanditError, match="nothing to compare"):
        Comparison(())
    with pytest.raises(MatchbanditError, match="simulations and identifications cannot be compared"):
        Comparison((final([1]), found([1])))
    with pytest.raises(MatchbanditError, match=r"results of simulate or identify can be compared; got 7\."):
        concat([final([1]), 7])


@pytest.mark.parametrize("policy", ["pair-elim", "uts"])
def test_pieces_of_a_simulation_are_the_whole(policy):
    family = mb.family("spiked", n=3, u1=0.9, gap=0.6)
    whole = mb.simulate(family, policy, horizon=5000, runs=7, seed=3)
    pieces = [
        mb.simulate(family, policy, horizon=5000, runs=n, first_run=k, seed=3) for k, n in ((5, 2), (0, 3), (3, 2))
    ]
    assert_same(concat(pieces), whole)
    assert concat(pieces).about.first_run is None
    assert concat(pieces[:1]) is pieces[0]
    assert concat(pieces[0]) is pieces[0]
    later = concat([pieces[0], pieces[2]])
    assert (later.about.first_run, later.about.runs, later.run_numbers) == (3, 4, [3, 4, 5, 6])
    with_gap = concat(pieces[:2])
    assert with_gap.run_numbers == [0, 1, 2, 5, 6]
    assert with_gap.regret.tolist() == whole.regret[[0, 1, 2, 5, 6]].tolist()


def test_pieces_of_an_identification_are_the_whole():
    players = mb.Monopartite([0.9, 0.8, 0.4, 0.3])
    whole, *pieces = (
        mb.identify(players, "matching-id", delta=0.2, runs=n, first_run=k, seed=2) for k, n in ((0, 4), (2, 2), (0, 2))
    )
    assert_same_found(concat(pieces), whole)


def test_pieces_on_a_large_graph_keep_what_was_played():
    def piece(number, edge):
        played = [(np.array([edge]), np.array([4]))]
        told = made_about(monopartite(2000), runs=1, first_run=number or None)
        sums = [np.array([float(number)])]
        return Runs(told, np.array([4]), np.array([[1.0]]), played, splits=[[(number, [[0]])]], reward_sums=sums)

    both = concat([piece(1, 7), piece(0, 5)])
    assert [run.sums.tolist() for run in both.played] == [[0.0], [1.0]]
    assert [run[0].tolist() for run in both.counted] == [[5], [7]]
    assert both.splits == [[(0, [[0]])], [(1, [[0]])]]


def test_pieces_that_share_a_run_are_refused():
    with pytest.raises(MatchbanditError, match="run 1 of uts is in more than one of the results"):
        concat([final([1, 2]), final([3], first_run=1)])


def test_pieces_of_several_days_and_versions_say_so():
    days = [
        final([1], first_run=k or None, date=f"2026-01-0{k + 1}", version=v) for k, v in enumerate(["1.0.0", "1.1.0"])
    ]
    told = concat(days).about
    assert (told.version, told.date, told.runs) == ("1.0.0, 1.1.0", "2026-01-02", 2)


def test_interrupted_pieces_make_a_whole():
    stopped = final([1, 2], run_numbers=[0, 3], interrupted_of=4)
    told = concat([stopped, final([5, 6], first_run=1)])
    assert told.final.tolist() == [1, 5, 6, 2]
    assert (told.about.run_numbers, told.about.interrupted_of, told.about.runs) == (None, None, 4)


def test_different_simulations_become_a_comparison():
    one, two = final([1]), final([2], first_run=1)
    other = final([3], policy="cucb")
    for results in ([one, other, two], [Comparison((one, other)), two]):
        made = concat(results)
        assert isinstance(made, Comparison)
        assert made.labels == ("uts", "cucb")
        assert made["uts"].final.tolist() == [1, 2]
    elsewhere = replace(two, rounds=np.array([9]))
    assert concat([one, elsewhere]).labels == ("uts", "uts (2)")


def test_what_is_put_together_keeps_its_study():
    gaps, pieces = many(), [final([k], first_run=k or None, study="mine") for k in (0, 1)]
    assert concat([gaps]).rows().distinct("study") == ["gaps"]
    assert concat(pieces).rows().distinct("study") == ["mine"]
    both = concat([gaps, *pieces])
    assert both.rows().distinct("study") == ["gaps", "mine"]
    assert both.select(study="mine").rows()["regret"].tolist() == [0, 1]
    assert concat([gaps, final([1])]).rows().distinct("study") == ["gaps", "simulate"]


def test_the_same_runs_of_two_studies_are_not_one():
    both = concat([final([1], study="a"), final([2], study="b")])
    assert both.labels == ("uts, study = a", "uts, study = b")
    assert len(both.rankings) == 1


TASTES = mb.Means([[0.8, 0.2], [0.1, 0.7]])


def test_policies_that_assume_products_are_not_ranked_on_other_means_without_a_warning():
    words = (
        "the means of this problem are not products of strengths, as uts, rank1-thompson assume: "
        "guarantees may not hold, and the policy may settle on a suboptimal choice."
    )
    with pytest.warns(UserWarning, match=f"^{words}$") as caught:
        ranked = mb.compare(TASTES, ["uts", "kl-ucb", "rank1-thompson", "uniform"], horizon=50, runs=2)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert ranked.warnings == (words,)
    assert repr(ranked).endswith(f"\n\nWarning: {words}")
    assert f"<p>Warning: {words}</p>" in ranked._repr_html_()
    assert ranked.select(policy="kl-ucb").warnings == ()
    players = mb.Means([[0, 0.8, 0.5, 0.5], [0.8, 0, 0.5, 0.5], [0.5, 0.5, 0, 0.8], [0.5, 0.5, 0.8, 0]], players=True)
    sought = [found([1], policy=policy, problem=players.describe()) for policy in ("matching-id", "clucb")]
    assert "as matching-id assumes" in Comparison(tuple(sought)).warnings[0]


def test_products_are_ranked_without_a_warning(recwarn):
    product = mb.Means(np.outer([0.9, 0.5], [0.8, 0.4, 0.0]))
    for problem in (SLOTS, product, mb.family("spiked", n=2, u1=0.9, gap=0.6)):
        ranked = mb.compare(problem, ["uts", "kl-ucb"], horizon=50, runs=2)
        assert ranked.warnings == ()
        assert "Warning" not in repr(ranked)
    assert mb.compare(TASTES, ["kl-ucb", "uniform"], horizon=50, runs=2).warnings == ()
    assert len(recwarn) == 0
