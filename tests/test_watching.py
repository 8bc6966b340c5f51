import json
from dataclasses import replace
from io import BytesIO
from math import ceil, log, sqrt
from typing import NamedTuple

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.figures.film import (
    MOST_LINES,
    Cluster,
    Film,
    Frame,
    Item,
    ItemNow,
    Link,
    colours_of,
    highest,
    spaced,
    standing,
)
from matchbandit.figures.matplotlib_renderer import encoded
from matchbandit.figures.timeline import draw_film
from matchbandit.figures.watch_page import plain
from matchbandit.policies.explanation import Elimination
from matchbandit.watching import MOST_ITEMS
from matchbandit.watching.recording import OF_A_PAIR, Look, _ends, thinned
from matchbandit.watching.sentences import sentence

SLOTS = mb.Bipartite(u=[0.9, 0.5, 0.2], v=[0.8, 0.3])
PLAYERS = mb.Monopartite(u=[0.9, 0.7, 0.4, 0.1])
ROUNDS = 3000


@pytest.mark.parametrize("name", mb.CATALOGUE)
@pytest.mark.filterwarnings("ignore:simple-adaptive-matching assumes")
def test_every_policy_can_be_watched_and_its_numbers_are_those_of_a_run_that_nobody_looks_at(name):
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
    assert len(seen.page()) < 100_000


@pytest.fixture(scope="module")
def eliminating():
    problem = mb.Bipartite(u=[0.2, 0.9, 0.5], v=[0.3, 0.8])
    return mb.watch(problem, "pair-elim", horizon=10**6, seed=1), mb.simulate(
        problem, "pair-elim", horizon=10**6, seed=1
    )


def test_whoever_leaves_does_so_in_the_frame_of_that_round_and_nobody_is_left_out(eliminating):
    seen, alone = eliminating
    items = seen.film.items
    shown = [
        (frame.round, items[gone.item].name, items[gone.by].name, gone.on)
        for frame in seen.frames
        for gone in frame.beaten
    ]
    opponent = {"row": "column", "column": "row"}
    assert shown == [
        (gone.round, f"{gone.side} {gone.item}", f"{gone.side} {gone.by}",
         gone.on if isinstance(gone.on, str) else f"{opponent[gone.side]} {gone.on}")
        for gone in alone.eliminations[0]
    ]  # fmt: skip
    assert shown
    for frame in seen.frames:
        for gone in frame.beaten:
            assert frame.event
            assert f"{items[gone.item].name} leaves" in frame.sentence


def test_the_strongest_come_first_and_rows_that_left_stay_away_while_columns_come_back(eliminating):
    seen, alone = eliminating
    film = seen.film
    assert [item.name for item in film.items] == ["row 1", "row 2", "row 0", "column 1", "column 0"]
    assert [item.truth for item in film.items] == [0.9, 0.5, 0.2, 0.8, 0.3]
    for_good = {gone.item: gone.round for gone in alone.eliminations[0] if gone.side == "row"}
    for k, item in enumerate(film.items[:3]):
        assert film.lives(k) == ((0, for_good.get(item.number, 10**6)),)
    assert not film.frames[-1].items[1].active
    assert film.frames[-1].items[0].active
    ends = [at for at, _ in film.windows]
    assert [number for _, number in film.windows] == list(range(len(ends)))
    assert ends[-1] == 10**6
    for start, _ in film.lives(4)[1:]:
        assert start in ends


def test_averages_that_have_left_the_interval_of_their_last_check_are_rings_and_the_words_say_so():
    film = mb.watch(mb.Bipartite(u=[0.9, 0.3, 0.2], v=[0.9, 0.5, 0.1]), "pair-elim", horizon=10**6).film
    last = film.frames[-1].items
    assert any(now.high is not None and now.estimate > now.high for now in last)
    assert any(now.estimate is not None and now.low is None for now in last)
    assert film.stale
    for words in ("ring: that average now", "may leave the bar", "(no bar: not yet)"):
        assert words in film.interval
    picture = draw_film(film)
    dots = [line for axes in picture.axes for line in axes.lines if line.get_marker() == "o"]
    assert {line.get_markerfacecolor() for line in dots} == {"white"}
    fresh = mb.watch(SLOTS, "rank1-thompson", horizon=100, frames=5).film
    assert not fresh.stale
    assert _ends({"pair": [0, 1], "estimate": 0.5, "interval": [0.4, 0.6]}) == ((0.4, 0.6), OF_A_PAIR)
    assert fresh.has_estimates
    assert all(now.low <= now.estimate <= now.high for now in fresh.frames[-1].items)
    dots = [line for axes in draw_film(fresh).axes for line in axes.lines if line.get_marker() == "o"]
    assert "white" not in {line.get_markerfacecolor() for line in dots}


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
    film = seen.film
    splits = [
        (frame.round, [sorted(film.items[k].number for k in cluster.players) for cluster in frame.clusters])
        for frame in seen.frames
        if frame.event
    ]
    assert splits == [(at, clusters) for at, clusters in alone.splits[0]]
    assert len(splits) > 1
    odd = [cluster for cluster in next(f for f in seen.frames if f.event).clusters if len(cluster.players) % 2]
    assert len({cluster.chain for cluster in odd}) == 1  # odd clusters meet in a chain
    assert [film.items[k].number for k in standing(film)] == [1, 3, 5, 2, 4, 0]
    for item in seen.frames[-1].items:
        checks = [ceil(4 * 1.05**level * log(10**6)) for level in range(1, 300)]
        radius = sqrt(log(10**6) / max(count for count in checks if count <= item.samples))
        assert (item.low, item.high) == pytest.approx((item.estimate - radius, item.estimate + radius))


def test_posteriors_tighten_around_the_truth():
    seen = mb.watch(PLAYERS, "rank1-thompson", horizon=10**4, seed=2, frames=20)
    assert seen.film.story == "strengths"
    assert seen.film.ticks == tuple(PLAYERS.u)
    last = seen.frames[-1].items
    for item, tick in zip(last, seen.film.ticks, strict=True):
        assert abs(item.estimate - tick) < item.high - item.low
    middle = min(seen.frames, key=lambda frame: abs(frame.round - 100)).items
    assert all(late.high - late.low < soon.high - soon.low for late, soon in zip(last, middle, strict=True))


def test_strengths_of_rows_and_columns_are_laid_on_the_scale_of_the_policy():
    seen = mb.watch(SLOTS, "rank1-thompson", horizon=10**4, seed=2, frames=5)
    ratios = [tick / item.truth for tick, item in zip(seen.film.ticks, seen.film.items, strict=True)]
    assert ratios[:3] == pytest.approx([ratios[0]] * 3)
    assert ratios[3:] == pytest.approx([ratios[3]] * 2)
    assert ratios[0] * ratios[3] == pytest.approx(1, abs=0.05)  # the means are those of the problem


def test_certificates_come_when_the_evidence_is_there():
    seen = mb.watch(PLAYERS, "rank1-certify", horizon=10**5, seed=1)
    assert seen.film.story == "links"
    before = set()
    for frame in seen.frames:
        now = {link.name for link in frame.links if link.certified}
        if now - before:
            assert frame.event
            assert " is certain: evidence" in frame.sentence
        before |= now
    assert {"player 0 above 2", "player 1 above 3"} <= before
    assert all(link.certified for link in seen.frames[-1].links)


def test_identification_ends_with_its_answer():
    seen = mb.watch(SLOTS, "pair-elim", delta=0.1, seed=1)
    found = mb.identify(SLOTS, "pair-elim", delta=0.1, seed=1)
    last = seen.frames[-1]
    assert last.done
    assert last.round == found.rounds[0]
    assert last.sentence.endswith("it is certain: (0, 0) is the best pair, which is right.")
    assert "δ = 0.1" in seen.film.caption
    stopped = mb.watch(SLOTS, "pair-elim", delta=0.1, seed=1, max_rounds=100).frames[-1]
    assert (stopped.round, stopped.done) == (100, False)


def test_a_wrong_guess_at_the_end_is_called_wrong():
    seen = mb.watch(mb.Bipartite(u=[0.9, 0.1], v=[0.5]), "kl-ucb", horizon=2, seed=0)
    guess = seen.frames[-1].guess[0]
    assert ("which is right" in seen.frames[-1].sentence) == (guess == 0)
    wrong = mb.watch(mb.Bipartite(u=[0.5, 0.6], v=[0.5]), "uniform", horizon=1, seed=0).frames[-1]
    assert wrong.sentence.endswith("its best guess is (0, 0), which is wrong: the truly best is (1, 0).")


def test_means_that_are_no_product_have_means_for_truths():
    film = mb.watch(mb.Means([[0.9, 0.2, 0.1], [0.8, 0.7, 0.3]]), "kl-ucb", horizon=500, seed=1).film
    assert film.truth == "true mean over all opponents"
    names = {item.name: item.truth for item in film.items}
    assert names == pytest.approx({"row 1": 0.6, "row 0": 0.4, "column 0": 0.85, "column 1": 0.45, "column 2": 0.2})
    assert film.means == pytest.approx((0.9, 0.2, 0.1, 0.8, 0.7, 0.3))


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
    assert seen.film.story == "pairs"
    assert [pair.plays for pair in seen.frames[-1].pairs] == [100] * 6
    assert "your own policy" in seen.film.lead
    assert "alternating" in seen.page()
    assert not seen.film.has_estimates
    assert "This policy reports no estimates. The upright tick is the true mean" in seen.page()
    assert "Third row: this policy reports no estimates; black ticks" in " ".join(
        seen.plot()._supxlabel.get_text().split()
    )


def test_a_family_shows_the_instance_of_its_first_run():
    family = mb.family("staircase", n=2, gap=0.1)
    seen = mb.watch(family, "rank1-thompson", horizon=100, seed=5)
    assert sorted(item.truth for item in seen.film.items) == sorted(family.draw(5, 0).u)


def look(at, **more):
    nothing = Look(
        round=at, regret=0.0, plays=np.array([at, 0]), items=(), pairs=None, clusters=(), links=(), beaten=(),
        window=None, phase="", guess=np.array([0]), done=False, interval="",
    )  # fmt: skip
    return replace(nothing, **more)


GONE = Elimination(12288, "row", 5, 1, 3, None, 0.12, (0.07, 0.17), 0.41, (0.36, 0.46))


def test_a_sentence_says_who_leaves_and_why():
    graph = mb.bipartite(6, 4)
    here, away = ItemNow(True, 10, 0.5), ItemNow(False, 10, 0.5)
    before, after = (
        look(9000, items=(here,) * 10),
        look(12288, items=(*(here,) * 5, away, *(here,) * 4), beaten=(GONE,)),
    )
    words = sentence(before, after, graph, matching=False)
    assert words == ("After 12 288 rounds row 5 leaves: row 1 beat it on column 3, 0.41 ± 0.05 against 0.12 ± 0.05.")
    stays = replace(
        after, items=(here,) * 10, beaten=(GONE._replace(window=2, on="all opponents", interval=(0.1, 0.5)),)
    )
    assert sentence(before, stays, graph, matching=False).endswith(
        "row 5 is beaten for window 2: row 1 beat it on all opponents, 0.41 ± 0.05 against 0.12 (0.10 to 0.50)."
    )
    many = replace(after, beaten=(GONE,) * 5)
    assert sentence(before, many, graph, matching=False).endswith("; 3 more comparisons like these.")


def test_a_sentence_says_what_else_happens():
    graph = mb.monopartite(12)
    whole = look(10, clusters=((tuple(range(12)), 0),), phase="all meet all", window=1)
    parts = look(20, clusters=(((0, 1, 2), 0), ((3, 4, 5, 6, 7, 8, 9, 10, 11), 0)), phase="clusters", window=2)
    words = sentence(whole, parts, graph, matching=True)
    assert "window 1 ends, and its eliminations with it" in words
    assert "a new phase begins: clusters" in words
    assert "the cluster {0–11} splits into {0, 1, 2} > {3–11}" in words
    link = Link("player 0 above 2", 9.5, 9.0, True)
    assert "player 0 above 2 is certain: evidence 9.5, needed 9.0" in sentence(
        look(10), look(20, links=(link,)), graph, matching=True
    )
    open_link = look(20, links=(replace(link, evidence=4.0, certified=False),))
    assert "1 of 1 links are open; nearest: player 0 above 2" in sentence(look(10), open_link, graph, matching=True)
    assert "the best guess is now (1," in sentence(look(10), look(20, guess=np.array([11])), graph, matching=True)
    assert "(0, 1) in 100 % of the last 10 rounds" in sentence(look(10), look(20), mb.monopartite(3), matching=True)


def test_thinning_keeps_all_that_happens_and_spreads_the_rest():
    looks = [look(round(1.1**k)) for k in range(1, 120)]
    rounds = sorted({one.round for one in looks})
    looks = [look(at, window=sum(at > end for end in (50, 700, 710))) for at in rounds]
    kept = thinned(looks, 12)
    happened = [one.round for one, event in kept if event]
    assert happened == [min(at for at in rounds if at > end) for end in (50, 700, 710)][: len(happened)]
    assert {one.window for one, _ in kept} == {0, *(look.window for look in looks)}
    assert (kept[0][0], kept[-1][0]) == (looks[0], looks[-1])
    assert len(kept) <= 12
    steps = np.diff(np.log([one.round for one, _ in kept]))
    assert steps.max() < 3 * np.log(rounds[-1]) / 12
    assert [one.round for one, _ in thinned(looks, 2)] == [rounds[0], *happened, rounds[-1]]
    assert [one for one, _ in thinned(looks[:1], 5)] == looks[:1]
    beaten = [look(1), look(2, beaten=(GONE,)), look(3), look(4)]
    assert [(one.round, event) for one, event in thinned(beaten, 2)] == [(1, False), (2, True), (4, False)]


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
        ("ends with its answer: leave horizon out", "track-and-stop", {"horizon": 10}),
        ("horizon must be a whole number", "pair-elim", {"horizon": 2.5}),
        ("frames must be a whole number, between 2 and 1000; got 1", "pair-elim", {"horizon": 10, "frames": 1}),
        ("plays on monopartite graphs", "adaptive-matching", {"horizon": 10}),
        ("seed must be", "pair-elim", {"horizon": 10, "seed": -1}),
        ("unknown option of uts", "uts", {"delta": 0.1}),
        ("there is no folder", "uts", {"horizon": 10, "out": "nowhere/near"}),
    ],
)
def test_mistakes_are_named(words, policy, more):
    with pytest.raises(mb.MatchbanditError, match=words):
        mb.watch(SLOTS, policy, **more)


def test_too_many_items_and_problems_without_an_answer_are_refused():
    with pytest.raises(mb.MatchbanditError, match=f"at most {MOST_ITEMS} items; monopartite with 62 players has 62"):
        mb.watch(mb.Monopartite(u=np.linspace(0.1, 0.9, 62)), "rank1-thompson", horizon=10)
    with pytest.raises(mb.MatchbanditError, match="no number of samples tells them apart"):
        mb.watch(mb.Bipartite(u=[0.5, 0.5], v=[0.5]), "pair-elim", delta=0.1)
    with pytest.raises(mb.MatchbanditError, match="watch needs a problem"):
        mb.watch([0.5], "uts", horizon=10)


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
    words = f"{round(last.regret):,}".replace(",", " ")
    assert last.regret > 10_000
    assert round(last.regret) % 10  # a digit that four do not show
    assert f"a regret of {words};" in last.sentence
    assert plain(seen.film)["frames"][-1]["lost"] == words
    drawn = {text.get_text().replace("\u202f", " ").replace("\u2009", " ") for text in seen.plot().axes[1].texts}
    assert drawn == {words}
    titles = [axes.get_title().replace("\u2009", " ") for axes in seen.plot().axes[2::2]]
    rounds = [f"{seen.frames[k].round:,}".replace(",", " ") for k in seen.film.moments]
    assert titles == [f"after {at} rounds" for at in rounds]


def test_notebooks_show_the_picture_and_what_happened(monkeypatch):
    monkeypatch.setattr("matchbandit.figures.matplotlib_renderer.DPI", 30)
    shown = mb.watch(SLOTS, "pair-elim", horizon=10**4, seed=1, frames=5)
    html = shown._repr_html_()
    assert html.startswith("<figure><img")
    assert "data:image/png;base64," in html
    assert "window 0 ends" in html
    assert repr(shown).startswith("<pair-elim on bipartite 3×2, ")


def test_the_data_of_the_page_are_the_frames(eliminating):
    film = eliminating[0].film
    data = json.loads(json.dumps(plain(film)))
    assert [frame["round"] for frame in data["frames"]] == [frame.round for frame in film.frames]
    assert [frame["sentence"] for frame in data["frames"]] == [frame.sentence for frame in film.frames]
    assert data["windows"] == [list(window) for window in film.windows]
    last, before = film.frames[-1], film.frames[-2]
    shares = dict(zip(data["frames"][-1]["played"][::2], data["frames"][-1]["played"][1::2], strict=True))
    for pair, count in enumerate(last.played):
        assert shares.get(pair, 0) == pytest.approx(1000 * count / (last.round - before.round), abs=0.06)
    assert [item["colour"] for item in data["items"]] == list(colours_of(film))


def test_the_best_pairs_have_lines_however_little_they_are_worth():
    film = mb.watch(mb.Monopartite(u=np.linspace(0.9, 0.1, 20)), "cucb", horizon=200, seed=1, frames=5).film
    lines = [film.shown[k] for k in film.lines]
    assert len(lines) == MOST_LINES
    assert set(film.best) < set(lines)
    assert (0, 2) in [film.pairs[pair] for pair in lines]  # the others by their means
    assert [film.means[pair] for pair in lines] == sorted((film.means[pair] for pair in lines), reverse=True)
    story = draw_film(film).axes[0]
    assert sum("the best" in text.get_text() for text in story.texts) == 10
    assert story.get_ylabel() == "plays (178 more pairs not drawn)"


def film_with(**more):
    frame = Frame(1, 0.0, "", False, (), (), (), (), (), None, (1, 2), (0,), False)
    nothing = Film(
        title="", lead="", caption="", story="lives", matching=False,
        items=(Item("row", 0, 0.5), Item("column", 0, 0.5)), pairs=((0, 1),), means=(0.25,), best=(0,), shown=(0,),
        interval="", stale=False, truth="", ticks=(None, None), versions="", frames=(frame,),
    )  # fmt: skip
    return replace(nothing, **more), frame


def test_a_film_knows_lives_plays_and_moments():
    film, frame = film_with()
    here, away = (ItemNow(True, 0, None),), (ItemNow(False, 0, None),)
    frames = [replace(frame, round=at, items=items) for at, items in ((0, here), (3, away), (8, here), (20, here))]
    film = replace(film, frames=tuple(frames))
    assert film.lives(0) == ((0, 3), (8, 20))
    assert film.played_between(0, 2) == (2, 4)
    assert film.played_between(1, 1) == (0,)
    many = replace(film, frames=tuple(replace(frame, round=10**k) for k in range(11)))
    assert film.headline == "Whose place in the order is still open"
    assert many.moments == (4, 6, 8, 10)
    assert replace(film, frames=(frame,)).moments == (0,)


def test_the_axis_of_estimates_ends_where_they_do_and_names_stand_apart():
    film, frame = film_with()
    item = ItemNow(True, 5, 0.3, 0.2, 0.4)
    assert highest(replace(film, frames=(replace(frame, items=(item, item)),))) == 0.4
    wide = replace(item, high=7.0)
    assert highest(replace(film, frames=(replace(frame, items=(wide, item)),))) == 1.0
    placed = spaced([0.98, 0.99, 0.2, 1.0], 0.1, 0, 1)
    assert placed == pytest.approx([0.8, 0.9, 0.2, 1.0])


def test_clusters_stand_by_their_order_and_averages():
    film, frame = film_with()
    items = tuple(ItemNow(True, 1, mean) for mean in (0.1, 0.2, 0.9))
    frame = replace(frame, items=items, clusters=(Cluster((2,), 0), Cluster((0, 1), 1)))
    assert standing(replace(film, frames=(frame,))) == [2, 1, 0]


def test_strengths_are_those_of_the_moment_also_in_compiled_rounds():
    seen = mb.watch(PLAYERS, "rank1-thompson", horizon=ROUNDS, seed=3)
    estimates = [[item.estimate for item in frame.items] for frame in (seen.frames[0], seen.frames[-1])]
    assert estimates[0] != estimates[1]
    assert estimates[1][0] * estimates[1][1] == pytest.approx(0.9 * 0.7, abs=0.05)
