"""Recordings against the results of `simulate` and `identify`, which nobody looks at while they are made."""

from itertools import pairwise
from math import ceil, log, sqrt

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.certificates import bottleneck_closure
from matchbandit.lab.playback import Recorder, panels
from matchbandit.lab.playback.record import MAX_ITEMS
from matchbandit.policies.matching import adaptive_matching
from matchbandit.seeding import stream
from matchbandit.simulation.engines import DrawnRewards

SLOTS = mb.Bipartite(u=[0.9, 0.5, 0.2], v=[0.8, 0.3])
PLAYERS = mb.Monopartite(u=[0.9, 0.7, 0.4, 0.1])
ROUNDS = 3000


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", mb.CATALOGUE)
@pytest.mark.filterwarnings("ignore:simple-adaptive-matching assumes")
def test_watch_any_policy_has_the_numbers_of_the_run_without_an_observer(name):
    kind = mb.CATALOGUE[name]
    problem = SLOTS if "bipartite" in kind.capabilities.graphs else PLAYERS
    if kind.goal_with({}) == "regret":
        seen = mb.watch(problem, name, horizon=ROUNDS, seed=3, frames=20)
        alone = mb.simulate(problem, name, horizon=ROUNDS, seed=3)
        regret = dict(zip(alone.rounds.tolist(), alone.regret[0].tolist(), strict=True))
        shared = [frame for frame in seen.frames if frame.round in regret]
        assert shared[-1] is seen.frames[-1]
        assert [frame.regret for frame in shared] == [regret[frame.round] for frame in shared]
        assert problem.graph.matrix(seen.frames[-1].plays).tolist() == alone.plays[0].tolist()
        for frame in seen.frames:
            assert frame.regret == problem.regret_of_plays(frame.plays, frame.round, selection=alone.about.selection)
    else:
        end = {"budget" if kind.capabilities.fixed_budget else "max_rounds": ROUNDS}
        seen = mb.watch(problem, name, seed=3, frames=20, **end)
        alone = mb.identify(problem, name, seed=3, **end)
        last = seen.frames[-1]
        assert (last.round, last.done) == (alone.rounds[0], alone.identified[0])
        assert last.recommendation == alone.answers[0].tolist()
        assert ("which is correct" in last.sentence) == bool(
            alone.correct[0] or (not last.done and _is_best(problem, last))
        )
    rounds = [frame.round for frame in seen.frames]
    assert rounds == sorted(set(rounds))
    assert rounds[0] == 0
    played = [row["played"] for row in seen.tables["pairs"]]
    assert sum(played) == seen.frames[-1].plays.sum()
    assert 20_000 < len(seen.page()) < 1_000_000


def _is_best(problem, frame):
    return frame.recommendation == problem.best("pair" if len(frame.recommendation) == 1 else "matching").tolist()


@pytest.mark.parametrize("name", ["pair-elim", "pair-elim-mono", "rank1-elim"])
@pytest.mark.sampled(1)
def test_watch_eliminations_are_those_of_simulate_with_the_numbers_compared(name):
    problem = PLAYERS if name == "pair-elim-mono" else mb.Bipartite(u=[0.2, 0.9, 0.5], v=[0.3, 0.8])
    run = mb.watch(problem, name, horizon=10**6, seed=1, frames=4)
    records = mb.simulate(problem, name, horizon=10**6, seed=1).eliminations[0]
    keys = ("round", "item", "by", "estimate", "low", "high", "by_estimate", "by_low", "by_high")
    assert sorted(tuple(one[key] for key in keys) for one in run.tables["decisions"]) == sorted(
        (e.round, f"{e.side} {e.item}", f"{e.side} {e.by}", e.estimate, *e.interval, e.by_estimate, *e.by_interval)
        for e in records
    )
    assert len(records) > 2


def test_watch_pair_elim_frames_tell_every_elimination_and_the_end_of_every_window():
    run = mb.watch(mb.Bipartite(u=[0.2, 0.9, 0.5], v=[0.3, 0.8]), "pair-elim", horizon=10**6, seed=1)
    assert run.order == ["row 1", "row 2", "row 0", "column 1", "column 0"]
    records = [one for frame in run.frames for one in frame.decisions]
    for before, now in pairwise(run.frames):
        for one in now.decisions:
            assert f"{one['item']} is eliminated by" in now.sentence
            assert (before.active[one["item"]], now.active[one["item"]]) == (True, False)
        if now.window != before.window:
            out = [one for one in records if one["window"] == before.window]
            ends = "and its eliminations are undone" if out else "without an elimination"
            assert f"window {before.window} ends {ends}" in now.sentence
            assert all(active for item, active in now.active.items() if item.startswith("column"))
    sentences = " ".join(frame.sentence for frame in run.frames)
    assert "and its eliminations are undone" in sentences
    assert "without an elimination" in sentences
    rows = [frame.active["row 0"] for frame in run.frames]
    assert rows == sorted(rows, reverse=True)  # rows stay away


def test_watch_clusters_split_when_the_policy_separates_them(monkeypatch):
    comparisons, original = [], adaptive_matching.find_separations

    def find_separations(members, means, radius):
        ranked, places = original(members, means, radius)
        mean_of = dict(zip(members.tolist(), means.tolist(), strict=True))
        comparisons.extend((int(ranked[at - 1]), int(ranked[at]), mean_of, radius) for at in places)
        return ranked, places

    monkeypatch.setattr(adaptive_matching, "find_separations", find_separations)
    players = mb.Monopartite(u=[0.1, 0.9, 0.45, 0.85, 0.4, 0.8])
    run = mb.watch(players, "adaptive-matching", horizon=10**6, seed=1)
    made = [(one["by"], one["item"], one["by_low"], one["high"]) for one in run.tables["decisions"]]
    assert made == [
        (f"player {i}", f"player {j}", means[i] - radius, means[j] + radius) for i, j, means, radius in comparisons
    ]
    alone = mb.simulate(players, "adaptive-matching", horizon=10**6, seed=1)
    assert [(event.round, [sorted(players) for players in event.clusters]) for event in run.events] == [
        (at, clusters) for at, clusters in alone.splits[0]
    ]
    for frame in run.events:
        assert all(one["text"] in frame.sentence for one in frame.decisions)
    for row in run.frames[-1].items:
        checks = [ceil(4 * 1.05**level * log(10**6)) for level in range(1, 300)]
        radius = sqrt(log(10**6) / max(count for count in checks if count <= row["samples"]))
        assert (row["low"], row["high"]) == pytest.approx((row["estimate"] - radius, row["estimate"] + radius))


def test_watch_certificates_come_with_the_evidence_that_the_policy_holds(monkeypatch):
    held, original = {}, mb.CATALOGUE["rank1-certify"].explain

    def explain(policy):
        held[policy.rounds] = bottleneck_closure(policy.scores()), policy.threshold(policy.rounds)
        return original(policy)

    monkeypatch.setattr(mb.CATALOGUE["rank1-certify"], "explain", explain)
    run = mb.watch(PLAYERS, "rank1-certify", horizon=10**5, seed=1, frames=30)
    certified = [one for frame in run.frames for one in frame.decisions]
    assert len(certified) == len({one["item"] for one in certified}) >= 4  # once, though answers come and go
    for frame in run.frames:
        chains, threshold = held[frame.round]
        for link in frame.links:
            _, above, _, below = link["link"].split()
            assert (link["evidence"], link["threshold"]) == (chains[int(above), int(below)], threshold)
            assert link["certified"] == (link["evidence"] >= threshold)
        for one in frame.decisions:
            assert frame.is_event
            assert one["evidence"] >= one["threshold"] == threshold
    assert all(link["certified"] for link in run.frames[-1].links)


def test_watch_posteriors_lie_around_the_truth_on_the_scale_of_the_policy():
    players = mb.watch(PLAYERS, "rank1-thompson", horizon=10**4, seed=2, frames=20)
    assert players.ticks == {f"player {k}": value for k, value in enumerate(PLAYERS.u)}
    for row in players.frames[-1].items:
        assert abs(row["estimate"] - players.ticks[row["item"]]) < row["high"] - row["low"]
    slots = mb.watch(SLOTS, "rank1-thompson", horizon=10**4, seed=2, frames=5)
    ratios = [slots.ticks[item] / slots.truths[item] for item in slots.truths]
    assert ratios[:3] == pytest.approx([ratios[0]] * 3)
    assert ratios[0] * ratios[3] == pytest.approx(1)  # products are those of the problem


def test_watch_identification_ends_with_its_verdict():
    last = mb.watch(SLOTS, "pair-elim", delta=0.1, seed=1).frames[-1]
    assert last.round == mb.identify(SLOTS, "pair-elim", delta=0.1, seed=1).rounds[0]
    assert last.sentence.endswith("it stops: (0, 0) is certified to be the best pair, which is correct.")
    near = mb.Bipartite(u=[0.9, 0.89], v=[0.5])
    run = mb.watch(near, "rank1-certify", delta=0.1, epsilon=0.1, seed=1)
    assert "is certified to be worth at least 90% of the best pair, which is correct." in run.frames[-1].sentence
    assert "δ = 0.1, ε = 0.1" in run.caption
    wrong = mb.watch(mb.Bipartite(u=[0.5, 0.6], v=[0.5]), "uniform", horizon=1, seed=0).frames[-1]
    assert wrong.sentence.endswith("the policy recommends (0, 0), which is wrong: the best is (1, 0).")


def test_watch_a_policy_that_explains_nothing_shows_its_plays(monkeypatch):
    monkeypatch.setattr(mb.CATALOGUE["cucb"], "explain_extra", lambda _: {})
    run = mb.watch(SLOTS, "cucb", horizon=600, seed=1, frames=10)
    ends = [rows[-1]["samples"] for rows in run.estimated.values()]
    assert (run.story, sum(ends)) == ("plays", 1200)
    assert "What the policy knows" not in run.page()
    assert [axes.get_title() for axes in run.plot().axes[2:]] == [
        f"after {run.frames[k].round} rounds" for k in panels.moments(run)
    ]


def test_watch_more_frames_keep_the_same_events():
    few, many = (mb.watch(SLOTS, "pair-elim", horizon=10**5, seed=1, frames=count) for count in (2, 200))
    assert len(few.frames) < len(many.frames) <= 200
    assert [frame.round for frame in few.events] == [frame.round for frame in many.events]


@pytest.mark.parametrize("name", ["rank1-thompson", "escb"])
def test_recorder_told_the_rewards_of_a_simulation_records_what_watch_does(name):
    seen = mb.watch(PLAYERS, name, horizon=400, seed=5)
    learner = mb.policy(name).build(PLAYERS.graph, horizon=400, seed=5)
    recorder = Recorder(learner)
    source = DrawnRewards(PLAYERS, stream(5, "rewards", 0))
    for _ in range(400):
        pairs = recorder.ask()
        recorder.tell(pairs, source.sums(PLAYERS.graph.edges(pairs), np.ones(len(pairs), dtype=np.int64)))
    own = recorder.recording()
    assert own.frames[-1].recommendation == seen.frames[-1].recommendation
    mine = {frame.round: frame for frame in own.frames}
    shared = [(frame, mine[frame.round]) for frame in seen.frames if frame.round in mine]
    assert len(shared) > 20
    for frame, other in shared:
        assert (frame.items, frame.links) == (other.items, other.links)
        assert frame.plays.tolist() == other.plays.tolist()
        np.testing.assert_equal(frame.pairs, other.pairs)
        assert other.regret is None
    assert (own.best, own.truths, own.ticks) == ([], {}, {})
    page = own.page()
    assert all(text not in page for text in ("which is correct", "Regret so far", "the best answer", "does not know"))
    assert own.frames[-1].sentence.startswith("After 400 rounds, the recording ends; the policy recommends")


def test_recorder_in_the_middle_of_a_game_counts_from_there_and_uses_names():
    learner = mb.policy("pair-elim").build(mb.bipartite(2, 2), horizon=100, seed=1)
    for _ in range(5):
        learner.tell(learner.ask(), [1])
    recorder = Recorder(learner, names=[["tea", "milk"], ["hot", "cold"]])
    recorder.tell(recorder.ask(), [1])
    recorder.tell(recorder.ask(), [float("nan")])  # did not take place
    run = recorder.recording()
    assert run.frames[0].sentence == "The recording begins after 5 rounds."
    assert (run.frames[-1].round, run.frames[-1].plays.sum()) == (7, 1)
    assert run.order == ["tea", "milk", "hot", "cold"]
    assert repr(recorder) == "<Recorder of pair-elim on bipartite 2×2, 7 rounds>"


@pytest.mark.parametrize("names", [["tea", "milk", "hot", "cold"], ["tea", "tea"], ["tea", "milk", "milk"]])
def test_recorder_with_other_names_than_one_for_each_item_is_refused(names):
    learner = mb.policy("pair-elim").build(mb.bipartite(2, 2), horizon=100)
    with pytest.raises(mb.MatchbanditError, match="needs one distinct name per item, a list per side; got"):
        Recorder(learner, names=[names, ["hot", "cold"]])


def test_recorder_of_what_is_not_a_built_policy_is_refused():
    with pytest.raises(mb.MatchbanditError, match="got PolicySpec"):
        Recorder(mb.policy("pair-elim"))


def test_recording_before_the_first_round_draws_what_there_is():
    run = Recorder(mb.policy("pair-elim").build(mb.bipartite(2, 2), horizon=100)).recording()
    assert "1 frame:" in repr(run)
    assert len(repr(run.frames[0])) < 80
    assert "What the policy knows" not in run.page()
    assert len(run.plot().axes) == 2


def test_recorder_records_a_certificate_again_after_it_was_lost(monkeypatch):
    learner = mb.policy("rank1-certify").build(mb.bipartite(1, 2), seed=1)
    original, factors = learner.explain, {1: 2, 2: 2, 3: 0.5, 4: 2}

    def explain():
        explanation = original()
        for rival in explanation["details"].get("rivals", []):
            rival["score"] = factors.get(learner.rounds, 0) * rival["certified_from"]
        return explanation

    monkeypatch.setattr(learner, "explain", explain)
    recorder = Recorder(learner)
    for reward in (1, 0, 1, 0):
        recorder.tell(recorder.ask(), [reward])
    certified = [(frame.round, one["item"]) for frame in recorder.recording().frames for one in frame.decisions]
    assert [at for at, _ in certified] == [1, 4]
    assert len({item for _, item in certified}) == 1


def test_watch_a_log_asks_what_a_policy_knows_after_each_part_of_it():
    rng = np.random.default_rng(1)
    players = ["ann", "bob", "cem", "dan"]
    rows = [(*rng.choice(players, 2, replace=False).tolist(), int(rng.random() < 0.6)) for _ in range(60)]
    log = mb.PastResults.from_rows(rows, source="games")
    run = mb.watch(log, "rank1-certify", frames=20)
    assert (run.frames[-1].round, run.caption) == (60, "games: 60 results of 6 pairs of 4 players")
    tally = log.tally
    learner = mb.policy("rank1-certify").warm_start(tally.pairs, tally.counts, tally.sums).build(tally.graph)
    assert run.frames[-1].links[0]["evidence"] == learner.explain()["details"]["rivals"][0]["score"]
    for frame in run.frames:
        part = mb.PastResults.from_rows(rows[: frame.round]).tally if frame.round else None
        assert sorted(frame.plays[frame.plays > 0]) == ([] if part is None else sorted(part.counts))
    assert set(run.order) == set(players)
    assert "ann" in run.page()
    with pytest.raises(mb.MatchbanditError, match="cannot use past results"):
        mb.watch(log, "pair-elim")
    with pytest.raises(mb.MatchbanditError, match="a log has its own number of rounds"):
        mb.watch(log, "rank1-thompson", horizon=10)


@pytest.mark.parametrize(
    ("words", "policy", "more"),
    [
        ("pair-elim plays to a horizon: give horizon=", "pair-elim", {}),
        ("plays to a horizon: give .* and no max_rounds", "pair-elim", {"horizon": 10, "max_rounds": 10}),
        ("identifies here, and ends with its answer: leave horizon out", "track-and-stop", {"horizon": 10}),
        ("frames must be a whole number, between 2 and 1000; got 1", "pair-elim", {"horizon": 10, "frames": 1}),
        ("a problem has its own", "uts", {"horizon": 10, "rewards": mb.Bernoulli()}),
    ],
)
def test_watch_with_a_mistake_names_it(words, policy, more):
    with pytest.raises(mb.MatchbanditError, match=words):
        mb.watch(SLOTS, policy, **more)


def test_watch_too_many_items_or_a_tie_is_refused():
    with pytest.raises(mb.MatchbanditError, match=f"at most {MAX_ITEMS} items; monopartite with 62 players has 62"):
        mb.watch(mb.Monopartite(u=np.linspace(0.1, 0.9, 62)), "rank1-thompson", horizon=10)
    with pytest.raises(mb.MatchbanditError, match="no number of samples tells them apart"):
        mb.watch(mb.Bipartite(u=[0.5, 0.5], v=[0.5]), "pair-elim", delta=0.1)


@pytest.mark.slow
def test_save_writes_a_picture_and_a_page_the_same_every_time(tmp_path):
    small = {"horizon": 100, "seed": 1, "frames": 2}
    paths = mb.watch(SLOTS, "pair-elim", **small).save(tmp_path / "think.html")
    assert [path.name for path in paths] == ["think.svg", "think.png", "think.html"]
    first = [path.read_bytes() for path in paths]
    again = mb.watch(SLOTS, "pair-elim", **small)
    again.save(tmp_path / "think")
    assert [path.read_bytes() for path in paths] == first
    assert "default-src 'none'" in again.page()
    assert again._repr_png_() == first[1]


@pytest.mark.parametrize("policy", ["adaptive-matching", "rank1-thompson", "rank1-certify", "cucb"])
@pytest.mark.sampled(1)
def test_plot_every_story_draws_the_regret(policy):
    run = mb.watch(PLAYERS, policy, horizon=500, seed=1, frames=8)
    story, regret = run.plot().axes[:2]
    assert story.get_xscale() == "log"
    assert regret.lines[-1].get_ydata().tolist() == [frame.regret for frame in run.frames]
