import json
from dataclasses import replace
from io import BytesIO
from math import ceil, log, sqrt
from typing import NamedTuple

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.certificates import bottleneck_closure
from matchbandit.figures.matplotlib_renderer import encoded
from matchbandit.figures.playback_files import draw_playback
from matchbandit.figures.playback_page import playback_data
from matchbandit.policies.explanation import Elimination
from matchbandit.policies.matching import adaptive_matching
from matchbandit.watching import MAX_ITEMS_SHOWN, recorder
from matchbandit.watching.description import MAX_CURVES, cluster_order, describe, highest, item_colours
from matchbandit.watching.recorder import PAIR_INTERVAL, Snapshot, interval_of, thin_out
from matchbandit.watching.recording import ClusterState, Frame, ItemState, LinkState, RecordedItem, Recording
from matchbandit.watching.sentences import sentence, separation_text

SLOTS = mb.Bipartite(u=[0.9, 0.5, 0.2], v=[0.8, 0.3])
PLAYERS = mb.Monopartite(u=[0.9, 0.7, 0.4, 0.1])
ROUNDS = 3000


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", mb.CATALOGUE)
@pytest.mark.filterwarnings("ignore:simple-adaptive-matching assumes")
def test_every_policy_can_be_watched_and_its_numbers_are_those_of_a_run_that_nobody_snapshots_at(name):
    kind = mb.CATALOGUE[name]
    problem = SLOTS if "bipartite" in kind.capabilities.graphs else PLAYERS
    if kind.goal_with({}) == "regret":
        seen = mb.watch(problem, name, horizon=ROUNDS, seed=3, frames=20)
        alone = mb.simulate(problem, name, horizon=ROUNDS, seed=3)
        regret = dict(zip(alone.rounds.tolist(), alone.regret[0].tolist(), strict=True))
        shared = [frame for frame in seen.frames if frame.round in regret]
        assert shared[-1] is seen.frames[-1]
        assert [frame.regret for frame in shared] == [regret[frame.round] for frame in shared]
        played = np.cumsum([frame.played for frame in seen.frames], axis=0)
        assert problem.graph.matrix(played[-1]).tolist() == alone.plays[0].tolist()
        selection = alone.about.selection
        for frame, plays in zip(seen.frames, played, strict=True):
            assert frame.regret == problem.regret_of_plays(plays, frame.round, selection=selection)
    else:
        end = {"budget" if kind.capabilities.fixed_budget else "max_rounds": ROUNDS}
        seen = mb.watch(problem, name, seed=3, frames=20, **end)
        found = mb.identify(problem, name, seed=3, **end)
        last = seen.frames[-1]
        assert (last.round, last.done) == (found.rounds[0], found.identified[0])
        assert problem.graph.pairs[list(last.guess)].tolist() == found.answers[0].tolist()
    rounds = [frame.round for frame in seen.frames]
    assert rounds == sorted(set(rounds))
    assert rounds[0] == 0
    assert all(frame.sentence.endswith(".") for frame in seen.frames)
    assert len(json.dumps(playback_data(seen.playback))) < 100_000


@pytest.fixture(scope="module")
def eliminating():
    problem = mb.Bipartite(u=[0.2, 0.9, 0.5], v=[0.3, 0.8])
    return mb.watch(problem, "pair-elim", horizon=10**6, seed=1), mb.simulate(
        problem, "pair-elim", horizon=10**6, seed=1
    )


def test_whoever_leaves_does_so_in_the_frame_of_that_round_and_nobody_is_left_out(eliminating):
    seen, alone = eliminating
    items = seen.recording.items
    shown = [
        (frame.round, items[gone.item].name, items[gone.by].name, gone.on)
        for frame in seen.frames
        for gone in frame.eliminations
    ]
    opponent = {"row": "column", "column": "row"}
    assert shown == [
        (gone.round, f"{gone.side} {gone.item}", f"{gone.side} {gone.by}",
         gone.on if isinstance(gone.on, str) else f"{opponent[gone.side]} {gone.on}")
        for gone in alone.eliminations[0]
    ]  # fmt: skip
    assert shown
    for frame in seen.frames:
        for gone in frame.eliminations:
            assert frame.event
            assert f"{items[gone.item].name} is eliminated" in frame.sentence


def test_the_strongest_come_first_and_rows_that_left_stay_away_while_columns_come_back(eliminating):
    seen, alone = eliminating
    recording = seen.recording
    assert [item.name for item in recording.items] == ["row 1", "row 2", "row 0", "column 1", "column 0"]
    assert [item.truth for item in recording.items] == [0.9, 0.5, 0.2, 0.8, 0.3]
    for_good = {gone.item: gone.round for gone in alone.eliminations[0] if gone.side == "row"}
    for k, item in enumerate(recording.items[:3]):
        assert recording.active_spans(k) == ((0, for_good.get(item.number, 10**6)),)
    assert not recording.frames[-1].items[1].active
    assert recording.frames[-1].items[0].active
    ends = [at for at, _ in recording.windows]
    assert [number for _, number in recording.windows] == list(range(len(ends)))
    assert ends[-1] == 10**6
    for start, _ in recording.active_spans(4)[1:]:
        assert start in ends


@pytest.mark.slow
def test_averages_that_have_left_the_interval_of_their_last_check_are_rings_and_the_words_say_so():
    recording = mb.watch(mb.Bipartite(u=[0.9, 0.3, 0.2], v=[0.9, 0.5, 0.1]), "pair-elim", horizon=10**6).recording
    last = recording.frames[-1].items
    assert any(now.high is not None and now.estimate > now.high for now in last)
    assert any(now.estimate is not None and now.low is None for now in last)
    assert recording.stale
    for words in ("ring: that average now", "may leave the bar", "(no bar: not checked yet)"):
        assert words in recording.interval
    assert colours_of_dots(recording) == {"white"}
    fresh = mb.watch(SLOTS, "rank1-thompson", horizon=100, frames=5).recording
    assert not fresh.stale
    assert interval_of({"pair": [0, 1], "estimate": 0.5, "interval": [0.4, 0.6]}) == ((0.4, 0.6), PAIR_INTERVAL)
    assert fresh.has_estimates
    assert all(now.low <= now.estimate <= now.high for now in fresh.frames[-1].items)
    assert "white" not in colours_of_dots(fresh)


def colours_of_dots(recording):
    """The insides of the dots at the four moments."""
    moments = [axes for axes in draw_playback(describe(recording)).axes if axes.get_title().startswith("after")]
    dots = [line for axes in moments for line in axes.lines if line.get_marker() == "o"]
    return {line.get_markerfacecolor() for line in dots}


def test_intervals_shrink(eliminating):
    widths = [
        frame.items[0].high - frame.items[0].low for frame in eliminating[0].frames if frame.items[0].low is not None
    ]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 1.9 * widths[-1]


def test_clusters_split_in_the_frames_in_which_they_do():
    players = mb.Monopartite(u=[0.1, 0.9, 0.45, 0.85, 0.4, 0.8])
    seen = mb.watch(players, "adaptive-matching", horizon=10**6, seed=1)
    alone = mb.simulate(players, "adaptive-matching", horizon=10**6, seed=1)
    recording = seen.recording
    splits = [
        (frame.round, [sorted(recording.items[k].number for k in cluster.players) for cluster in frame.clusters])
        for frame in seen.frames
        if frame.event
    ]
    assert splits == [(at, clusters) for at, clusters in alone.splits[0]]
    assert len(splits) > 1
    odd = [cluster for cluster in next(f for f in seen.frames if f.event).clusters if len(cluster.players) % 2]
    assert len({cluster.chain for cluster in odd}) == 1  # odd clusters meet in a chain
    assert [recording.items[k].number for k in cluster_order(recording)] == [1, 3, 5, 2, 4, 0]
    for item in seen.frames[-1].items:
        checks = [ceil(4 * 1.05**level * log(10**6)) for level in range(1, 300)]
        radius = sqrt(log(10**6) / max(count for count in checks if count <= item.samples))
        assert (item.low, item.high) == pytest.approx((item.estimate - radius, item.estimate + radius))


def test_posteriors_tighten_around_the_truth():
    seen = mb.watch(PLAYERS, "rank1-thompson", horizon=10**4, seed=2, frames=20)
    assert seen.recording.story == "strengths"
    assert seen.recording.ticks == tuple(PLAYERS.u)
    last = seen.frames[-1].items
    for item, tick in zip(last, seen.recording.ticks, strict=True):
        assert abs(item.estimate - tick) < item.high - item.low
    middle = min(seen.frames, key=lambda frame: abs(frame.round - 100)).items
    assert all(late.high - late.low < soon.high - soon.low for late, soon in zip(last, middle, strict=True))


def test_strengths_of_rows_and_columns_are_laid_on_the_scale_of_the_policy():
    seen = mb.watch(SLOTS, "rank1-thompson", horizon=10**4, seed=2, frames=5)
    ratios = [tick / item.truth for tick, item in zip(seen.recording.ticks, seen.recording.items, strict=True)]
    assert ratios[:3] == pytest.approx([ratios[0]] * 3)
    assert ratios[3:] == pytest.approx([ratios[3]] * 2)
    assert ratios[0] * ratios[3] == pytest.approx(1, abs=0.05)  # the means are those of the problem


def test_certificates_come_when_the_evidence_is_there():
    seen = mb.watch(PLAYERS, "rank1-certify", horizon=10**5, seed=1)
    assert seen.recording.story == "links"
    before = set()
    for frame in seen.frames:
        now = {link.name for link in frame.links if link.certified}
        if now - before:
            assert frame.event
            assert " is certified: evidence" in frame.sentence
        before |= now
    assert {"player 0 above 2", "player 1 above 3"} <= before
    assert all(link.certified for link in seen.frames[-1].links)


def test_identification_ends_with_its_answer():
    seen = mb.watch(SLOTS, "pair-elim", delta=0.1, seed=1)
    found = mb.identify(SLOTS, "pair-elim", delta=0.1, seed=1)
    last = seen.frames[-1]
    assert last.done
    assert last.round == found.rounds[0]
    assert last.sentence.endswith("it stops: (0, 0) is certified to be the best pair, which is correct.")
    assert "δ = 0.1" in seen.recording.caption
    stopped = mb.watch(SLOTS, "pair-elim", delta=0.1, seed=1, max_rounds=100).frames[-1]
    assert (stopped.round, stopped.done) == (100, False)


def test_a_wrong_guess_at_the_end_is_called_wrong():
    seen = mb.watch(mb.Bipartite(u=[0.9, 0.1], v=[0.5]), "kl-ucb", horizon=2, seed=0)
    guess = seen.frames[-1].guess[0]
    assert ("which is correct" in seen.frames[-1].sentence) == (guess == 0)
    wrong = mb.watch(mb.Bipartite(u=[0.5, 0.6], v=[0.5]), "uniform", horizon=1, seed=0).frames[-1]
    assert wrong.sentence.endswith("the policy recommends (0, 0), which is wrong: the best is (1, 0).")


def test_means_that_are_no_product_have_means_for_truths():
    recording = mb.watch(mb.Means([[0.9, 0.2, 0.1], [0.8, 0.7, 0.3]]), "kl-ucb", horizon=500, seed=1).recording
    assert recording.truth == "true mean over all opponents"
    names = {item.name: item.truth for item in recording.items}
    assert names == pytest.approx({"row 1": 0.6, "row 0": 0.4, "column 0": 0.85, "column 1": 0.45, "column 2": 0.2})
    assert recording.means == pytest.approx((0.9, 0.2, 0.1, 0.8, 0.7, 0.3))


class Nothing(NamedTuple):
    plays: np.ndarray


class Alternating(mb.RoundPolicy):
    """Plays one pair after the other and says nothing of it."""

    name = "alternating"
    capabilities = mb.Capabilities(selections=("pair",))

    def start(self):
        return Nothing(np.zeros(self.graph.n_pairs))

    @staticmethod
    def choose(arrays, rng, edges):
        edges[0] = int(arrays.plays.sum()) % len(arrays.plays)

    @staticmethod
    def update(arrays, rng, edges, rewards):
        arrays.plays[edges[0]] += 1

    def recommend(self):
        return self.graph.pairs[:1]

    def explain_extra(self):
        return {}


@pytest.mark.filterwarnings("ignore:the functions of alternating are plain")
def test_a_policy_of_ones_own_that_says_nothing_is_watched_by_its_plays():
    seen = mb.watch(SLOTS, mb.policy(Alternating), horizon=600, seed=1, frames=10)
    assert seen.recording.story == "pairs"
    assert [pair.plays for pair in seen.frames[-1].pairs] == [100] * 6
    assert "a user-defined policy" in seen.recording.lead
    assert "alternating" in seen.page()
    assert not seen.recording.has_estimates
    note = "This policy reports no estimates. Vertical tick: true mean, which the policy does not know."
    assert note in seen.page()
    assert note in " ".join(seen.plot()._supxlabel.get_text().split())


def test_a_family_shows_the_instance_of_its_first_run():
    family = mb.family("staircase", n=2, gap=0.1)
    seen = mb.watch(family, "rank1-thompson", horizon=100, seed=5)
    assert sorted(item.truth for item in seen.recording.items) == sorted(family.draw(5, 0).u)


def snapshot(at, **more):
    nothing = Snapshot(
        round=at, regret=0.0, plays=np.array([at, 0]), items=(), pairs=None, clusters=(), links=(), eliminations=(),
        separations=(), certificates=(), window=None, phase="", guess=np.array([0]), done=False, interval="",
    )  # fmt: skip
    return replace(nothing, **more)


GONE = Elimination(12288, "row", 5, 1, 3, None, 0.12, (0.07, 0.17), 0.41, (0.36, 0.46))


def test_a_sentence_says_who_leaves_and_why():
    graph = mb.bipartite(6, 4)
    here, away = ItemState(True, 10, 0.5), ItemState(False, 10, 0.5)
    before, after = (
        snapshot(9000, items=(here,) * 10),
        snapshot(12288, items=(*(here,) * 5, away, *(here,) * 4), eliminations=(GONE,)),
    )
    words = sentence(before, after, graph, matching=False)
    assert words == (
        "After 12,288 rounds, row 5 is eliminated by row 1 on column 3: 0.12 ± 0.05 lies below 0.41 ± 0.05."
    )
    stays = replace(
        after, items=(here,) * 10, eliminations=(GONE._replace(window=2, on="all opponents", interval=(0.1, 0.5)),)
    )
    assert sentence(before, stays, graph, matching=False).endswith(
        "row 5 loses a comparison for window 2 to row 1 on all opponents: 0.12 (0.10 to 0.50) lies below 0.41 ± 0.05."
    )
    many = replace(after, eliminations=(GONE,) * 5)
    assert sentence(before, many, graph, matching=False).endswith("; 3 more eliminations.")


def test_intervals_have_enough_digits_to_be_seen_not_to_overlap():
    near = GONE._replace(estimate=0.7014, interval=(0.6905, 0.7123), by_estimate=0.7233, by_interval=(0.7124, 0.7342))
    assert separation_text(near).endswith("0.7014 ± 0.0109 lies below 0.7233 ± 0.0109")
    skewed = near._replace(interval=(0.4, 0.7123))
    assert separation_text(skewed).endswith("0.7014 (0.4000 to 0.7123) lies below 0.7233 ± 0.0109")


def test_a_sentence_says_what_else_happens():
    graph = mb.monopartite(12)
    whole = snapshot(10, clusters=((tuple(range(12)), 0),), phase="all meet all", window=1)
    parts = snapshot(20, clusters=(((0, 1, 2), 0), ((3, 4, 5, 6, 7, 8, 9, 10, 11), 0)), phase="clusters", window=2)
    words = sentence(whole, parts, graph, matching=True)
    assert "window 1 ends without an elimination" in words
    here, away = ItemState(True, 10, 0.5), ItemState(False, 10, 0.5)
    returns = sentence(replace(whole, items=(away,)), replace(parts, items=(here,)), graph, matching=True)
    assert "window 1 ends and its eliminations are undone" in returns
    assert "a new phase begins: clusters" in words
    assert "cluster {0–11} splits into {0, 1, 2} > {3–11}" in words
    split = Elimination(20, "player", 3, 2, "opponents", None, 0.25, (0.2, 0.3), 0.5, (0.45, 0.55))
    assert "because player 2 with 0.50 ± 0.05 lies above player 3 with 0.25 ± 0.05" in sentence(
        whole, replace(parts, separations=(split,)), graph, matching=True
    )
    link = LinkState("player 0 above 2", 9.5, 9.0, True)
    assert "player 0 above 2 is certified: evidence 9.50, threshold 9.00" in sentence(
        snapshot(10), snapshot(20, links=(link,), certificates=(link,)), graph, matching=True
    )
    open_link = snapshot(20, links=(replace(link, evidence=4.0, certified=False),))
    assert "1 of 1 link is not certified yet; the closest is player 0 above 2, with evidence 4.0 of 9.0" in sentence(
        snapshot(10), open_link, graph, matching=True
    )
    assert "the recommendation changes to (1," in sentence(
        snapshot(10), snapshot(20, guess=np.array([11])), graph, matching=True
    )
    assert "(0, 1) in 100% of the last 10 rounds" in sentence(
        snapshot(10), snapshot(20), mb.monopartite(3), matching=True
    )


def test_thinning_keeps_all_that_happens_and_spreads_the_rest():
    snapshots = [snapshot(round(1.1**k)) for k in range(1, 120)]
    rounds = sorted({one.round for one in snapshots})
    snapshots = [snapshot(at, window=sum(at > end for end in (50, 700, 710))) for at in rounds]
    kept = thin_out(snapshots, 12)
    happened = [one.round for one, event in kept if event]
    assert happened == [min(at for at in rounds if at > end) for end in (50, 700, 710)][: len(happened)]
    assert {one.window for one, _ in kept} == {0, *(one.window for one in snapshots)}
    assert (kept[0][0], kept[-1][0]) == (snapshots[0], snapshots[-1])
    assert len(kept) <= 12
    steps = np.diff(np.log([one.round for one, _ in kept]))
    assert steps.max() < 3 * np.log(rounds[-1]) / 12
    assert [one.round for one, _ in thin_out(snapshots, 2)] == [rounds[0], *happened, rounds[-1]]
    assert [one for one, _ in thin_out(snapshots[:1], 5)] == snapshots[:1]
    eliminated = [snapshot(1), snapshot(2, eliminations=(GONE,)), snapshot(3), snapshot(4)]
    assert [(one.round, event) for one, event in thin_out(eliminated, 2)] == [(1, False), (2, True), (4, False)]


def test_more_frames_show_more_and_what_happens_does_not_depend_on_them():
    few = mb.watch(SLOTS, "pair-elim", horizon=10**5, seed=1, frames=2)
    many = mb.watch(SLOTS, "pair-elim", horizon=10**5, seed=1, frames=200)
    assert len(few.frames) < len(many.frames) <= 200
    assert [f.round for f in few.frames if f.event] == [f.round for f in many.frames if f.event]


@pytest.mark.parametrize(
    ("words", "policy", "more"),
    [
        ("unknown policy 'pair-elm'; did you mean 'pair-elim'?", "pair-elm", {"horizon": 10}),
        ("watching pair-elim needs a horizon", "pair-elim", {}),
        ("max_rounds is for identification", "pair-elim", {"horizon": 10, "max_rounds": 10}),
        ("identifies here and ends with its answer: leave horizon out", "track-and-stop", {"horizon": 10}),
        ("horizon must be a whole number", "pair-elim", {"horizon": 2.5}),
        ("frames must be a whole number, between 2 and 1000; got 1", "pair-elim", {"horizon": 10, "frames": 1}),
        ("plays on monopartite graphs", "adaptive-matching", {"horizon": 10}),
        ("seed must be", "pair-elim", {"horizon": 10, "seed": -1}),
        ("uts has no delta: it is for regret", "uts", {"delta": 0.1}),
        ("there is no folder", "uts", {"horizon": 10, "out": "nowhere/near"}),
    ],
)
def test_mistakes_are_named(words, policy, more):
    with pytest.raises(mb.MatchbanditError, match=words):
        mb.watch(SLOTS, policy, **more)


def test_too_many_items_and_problems_without_an_answer_are_refused():
    with pytest.raises(
        mb.MatchbanditError, match=f"at most {MAX_ITEMS_SHOWN} items; monopartite with 62 players has 62"
    ):
        mb.watch(mb.Monopartite(u=np.linspace(0.1, 0.9, 62)), "rank1-thompson", horizon=10)
    with pytest.raises(mb.MatchbanditError, match="no number of samples tells them apart"):
        mb.watch(mb.Bipartite(u=[0.5, 0.5], v=[0.5]), "pair-elim", delta=0.1)
    with pytest.raises(mb.MatchbanditError, match="watch needs a problem"):
        mb.watch([0.5], "uts", horizon=10)


@pytest.mark.slow
def test_the_files_are_a_picture_and_a_page_and_the_same_every_time(tmp_path, monkeypatch):
    monkeypatch.setattr("matchbandit.figures.matplotlib_renderer.DPI", 30)
    small = {"horizon": 100, "seed": 1, "frames": 2}
    mb.watch(SLOTS, "pair-elim", **small, out=tmp_path / "think.html")
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(files) == ["think.html", "think.png", "think.svg"]
    assert files["think.png"].startswith(b"\x89PNG")
    again = mb.watch(SLOTS, "pair-elim", **small)
    assert files["think.svg"] == encoded(again.plot(), "svg")
    assert files["think.html"].decode() == again.page()
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\'' in again.page()


@pytest.mark.parametrize("policy", ["adaptive-matching", "rank1-thompson", "rank1-certify", "cucb"])
@pytest.mark.sampled(1)
def test_every_story_is_drawn(policy):
    picture = mb.watch(PLAYERS, policy, horizon=500, seed=1, frames=8).plot()
    file = BytesIO()
    picture.savefig(file, dpi=30)
    assert file.getvalue().startswith(b"\x89PNG")
    assert picture.axes[0].get_xscale() == "log"
    assert picture.axes[1].lines[0].get_ydata()[-1] > 0  # the regret


def test_a_regret_reads_the_same_wherever_it_stands():
    seen = mb.watch(mb.Monopartite(u=[0.9, 0.8, 0.4, 0.3, 0.2, 0.1]), "pair-elim-mono", horizon=10**5)
    last = seen.frames[-1]
    words = f"{round(last.regret):,}"
    assert last.regret > 10_000
    assert round(last.regret) % 10  # a digit that four do not show
    assert f"a regret of {words};" in last.sentence
    assert playback_data(seen.playback)["frames"][-1]["regret"] == words
    assert {text.get_text() for text in seen.plot().axes[1].texts} == {words}
    titles = [axes.get_title() for axes in seen.plot().axes if axes.get_title()]
    rounds = [f"{seen.frames[k].round:,}" for k in seen.playback.moments]
    assert titles == [f"after {at} rounds" for at in rounds]


@pytest.mark.slow
def test_notebooks_show_the_picture_and_what_happened(monkeypatch):
    monkeypatch.setattr("matchbandit.figures.matplotlib_renderer.DPI", 30)
    shown = mb.watch(SLOTS, "pair-elim", horizon=10**4, seed=1, frames=5)
    html = shown._repr_html_()
    assert html.startswith("<figure><img")
    assert "data:image/png;base64," in html
    assert "window 0 ends" in html
    assert repr(shown).startswith("<pair-elim on bipartite 3×2, ")


def test_the_data_of_the_page_are_the_frames(eliminating):
    recording, playback = eliminating[0].recording, eliminating[0].playback
    data = json.loads(json.dumps(playback_data(playback)))
    assert [frame["round"] for frame in data["frames"]] == [frame.round for frame in recording.frames]
    assert [frame["sentence"] for frame in data["frames"]] == [frame.sentence for frame in recording.frames]
    assert data["story"]["dividers"] == [[at, f"window {number}"] for at, number in recording.windows]
    last, before = recording.frames[-1], recording.frames[-2]
    shares = dict(data["plays"]["shares"][-1])
    for pair, count in enumerate(last.played):
        assert shares.get(pair, 0) == pytest.approx(count / (last.round - before.round), rel=1e-3)
    assert [colour for _, colour in data["estimates"]["names"]] == item_colours(recording)
    assert data["estimates"]["frames"][-1][0][1:4] == [
        float(f"{value:.4g}") for value in (last.items[0].estimate, last.items[0].low, last.items[0].high)
    ]


@pytest.mark.slow
def test_the_best_pairs_have_curves_however_little_they_are_worth():
    problem = mb.Monopartite(u=np.linspace(0.9, 0.1, 20))
    run = mb.watch(problem, "cucb", horizon=200, seed=1, frames=5)
    recording, story = run.recording, run.playback.story
    names = [curve.name for curve in story.curves]
    assert len(names) == MAX_CURVES
    assert {f"{recording.pair_name(pair)} ★" for pair in recording.best} < set(names)
    assert "(0, 2)" in names  # the others in order of their means
    assert story.y_label == "plays (178 more pairs not drawn)"
    assert sum("★" in text.get_text() for text in run.plot().axes[0].texts) == 10


# --- what decided


def compared(decision):
    """The better item, the worse one, and their numbers."""
    better, worse = decision.rows
    return better.name, worse.name, (worse.estimate, worse.low, worse.high), (better.estimate, better.low, better.high)


@pytest.mark.parametrize("name", ["pair-elim", "pair-elim-mono", "rank1-elim"])
@pytest.mark.sampled(1)
def test_what_is_drawn_at_an_elimination_is_what_the_policy_compared(name):
    problem = PLAYERS if name == "pair-elim-mono" else mb.Bipartite(u=[0.2, 0.9, 0.5], v=[0.3, 0.8])
    run = mb.watch(problem, name, horizon=10**6, seed=1, frames=4)
    records = mb.simulate(problem, name, horizon=10**6, seed=1).eliminations[0]
    decisions = run.playback.decisions.decisions
    assert [(run.frames[d.frame].round, *compared(d)) for d in decisions] == [
        (e.round, f"{e.side} {e.by}", f"{e.side} {e.item}", (e.estimate, *e.interval), (e.by_estimate, *e.by_interval))
        for e in records
    ]
    assert len(records) > 2
    data = playback_data(run.playback)["decisions"]["decisions"]
    assert [[row["low"] for row in d["rows"]] for d in data] == [
        [float(f"{e.by_interval[0]:.4g}"), float(f"{e.interval[0]:.4g}")] for e in records
    ]
    axes = next(axes for axes in run.plot().axes if axes.get_title(loc="left").startswith("What decided"))
    drawn = {tuple(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 2}
    shown = run.playback.decisions.most_important(8)
    assert drawn == {(row.low, row.high) for decision in shown for row in decision.rows}
    assert {(e.interval, e.by_interval) for e in records if e.window is None} <= {
        ((worse.low, worse.high), (better.low, better.high)) for better, worse in (d.rows for d in shown)
    }


def test_what_is_drawn_at_a_split_is_what_the_policy_compared(monkeypatch):
    comparisons, original = [], adaptive_matching.find_separations

    def find_separations(members, means, radius):
        ranked, places = original(members, means, radius)
        mean_of = dict(zip(members.tolist(), means.tolist(), strict=True))
        for place in places:
            above, below = int(ranked[place - 1]), int(ranked[place])
            comparisons.append((above, below, mean_of[above], mean_of[below], radius))
        return ranked, places

    monkeypatch.setattr(adaptive_matching, "find_separations", find_separations)
    players = mb.Monopartite(u=[0.1, 0.9, 0.45, 0.85, 0.4, 0.8])
    run = mb.watch(players, "adaptive-matching", horizon=10**6, seed=1, frames=4)
    assert len(comparisons) > 1
    assert [compared(decision) for decision in run.playback.decisions.decisions] == [
        (f"player {i}", f"player {j}", (low, low - radius, low + radius), (high, high - radius, high + radius))
        for i, j, high, low, radius in comparisons
    ]
    for decision in run.playback.decisions.decisions:
        better, worse = decision.rows
        assert better.low > worse.high
        assert run.frames[decision.frame].event
        assert decision.text in run.frames[decision.frame].sentence


def test_what_is_drawn_at_a_certificate_is_what_the_policy_compared(monkeypatch):
    scores, original = {}, recorder.take_snapshot

    def take_snapshot(policy, score, *more):
        chains = bottleneck_closure(policy.scores())
        scores[score.round] = chains, policy.threshold(policy.rounds)
        return original(policy, score, *more)

    monkeypatch.setattr(recorder, "take_snapshot", take_snapshot)
    run = mb.watch(PLAYERS, "rank1-certify", horizon=10**5, seed=1, frames=30)
    decisions = run.playback.decisions.decisions
    assert len(decisions) >= 4
    certified = set()
    for decision in decisions:
        (row,) = decision.rows
        _, above, _, below = row.name.split()
        chains, threshold = scores[run.frames[decision.frame].round]
        assert (row.high, row.tick) == (chains[int(above), int(below)], threshold)
        assert row.high >= row.tick
        assert row.name not in certified  # once, though answers come and go
        certified.add(row.name)
    for frame in run.frames:
        for link in frame.links:
            _, above, _, below = link.name.split()
            chains, threshold = scores[frame.round]
            assert (link.evidence, link.threshold) == (chains[int(above), int(below)], threshold)
            assert link.certified == (link.evidence >= link.threshold)
    dots = [mark for mark in run.playback.story.marks if mark.shape == "dot"]
    low, high = run.playback.story.y_range
    assert [mark.y for mark in dots] == [min(high, max(low, decision.rows[0].high)) for decision in decisions]


def test_an_event_with_many_decisions_lists_them_all():
    many = mb.Bipartite(u=[0.9, 0.1, 0.1, 0.1, 0.1], v=[0.9])
    run = mb.watch(many, "rank1-elim", horizon=10**5, seed=1, frames=4)
    frame = max(run.frames, key=lambda one: len(one.eliminations))
    text = run.playback.frames[run.frames.index(frame)]
    assert len(frame.eliminations) > 2
    assert text.details == tuple(one.text for one in frame.eliminations)
    assert f"{len(frame.eliminations) - 2} more elimination" in frame.sentence


def recording_with(**more):
    frame = Frame(1, 0.0, "", False, (), (), (), (), (), (), None, (1,), (0,), False)
    empty = Recording(
        title="", lead="", caption="", story="activity", matching=False,
        items=(RecordedItem("row", 0, 0.5), RecordedItem("column", 0, 0.5)), pairs=((0, 1),), means=(0.25,), best=(0,),
        shown=(0,), interval="", stale=False, truth="", ticks=(None, None), versions="", frames=(frame,),
    )  # fmt: skip
    return replace(empty, **more), frame


def test_a_recording_knows_when_items_were_active_and_what_was_played():
    recording, frame = recording_with()
    here, away = (ItemState(True, 0, None),) * 2, (ItemState(False, 0, None),) * 2
    frames = [replace(frame, round=at, items=items) for at, items in ((0, here), (3, away), (8, here), (20, here))]
    recording = replace(recording, frames=tuple(frames))
    assert recording.active_spans(0) == ((0, 3), (8, 20))
    playback = describe(recording)
    assert playback.played_between(0, 2) == [2 / 8]
    assert playback.played_between(1, 1) == [0.0]
    assert playback.story.title == "Items whose rank is not settled yet"
    many = replace(recording, frames=tuple(replace(frame, round=10**k, items=here) for k in range(11)))
    assert describe(many).moments == (4, 6, 8, 10)
    assert describe(replace(recording, frames=(replace(frame, items=here),))).moments == (0,)


def test_the_axis_of_estimates_ends_where_they_do():
    recording, frame = recording_with()
    item = ItemState(True, 5, 0.3, 0.2, 0.4)
    assert highest(replace(recording, frames=(replace(frame, items=(item, item)),))) == 0.4
    wide = replace(item, high=7.0)
    assert highest(replace(recording, frames=(replace(frame, items=(wide, item)),))) == 1.0


def test_players_are_ordered_by_clusters_and_averages():
    recording, frame = recording_with()
    items = tuple(ItemState(True, 1, mean) for mean in (0.1, 0.2, 0.9))
    frame = replace(frame, items=items, clusters=(ClusterState((2,), 0), ClusterState((0, 1), 1)))
    assert cluster_order(replace(recording, frames=(frame,))) == [2, 1, 0]


@pytest.mark.slow
def test_strengths_are_those_of_the_moment_also_in_compiled_rounds():
    seen = mb.watch(PLAYERS, "rank1-thompson", horizon=ROUNDS, seed=3)
    estimates = [[item.estimate for item in frame.items] for frame in (seen.frames[0], seen.frames[-1])]
    assert estimates[0] != estimates[1]
    assert estimates[1][0] * estimates[1][1] == pytest.approx(0.9 * 0.7, abs=0.05)
