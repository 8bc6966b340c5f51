"""The page of a run in a real browser: it moves when told to, by mouse and by keys, and fits a phone."""

from itertools import pairwise

import numpy as np
import pytest

import matchbandit as mb

SLOTS = mb.Bipartite(u=[0.9, 0.6, 0.3], v=[0.8, 0.5, 0.2])
PLAYERS = mb.Monopartite(u=[0.9, 0.85, 0.8, 0.4, 0.3, 0.1])
RUNS = {
    "pair-elim": (SLOTS, 10**6),
    "adaptive-matching": (PLAYERS, 10**6),
    "rank1-thompson": (PLAYERS, 1000),
    "rank1-certify": (PLAYERS, 10**4),
    "cucb": (mb.Monopartite(u=np.linspace(0.9, 0.1, 16)), 1000),
}


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """What was watched, and the file of its page."""

    def page(name):
        problem, horizon = RUNS[name]
        seen = mb.watch(problem, name, horizon=horizon, seed=1, frames=30)
        file = tmp_path_factory.mktemp("watch") / f"{name}.html"
        file.write_text(seen.page(), "utf-8")
        return seen, file

    return page


def plain(text):
    """Without the spaces that keep numbers and pairs on one line."""
    return text.replace("\u202f", " ").replace("\u00a0", " ")


def words(visited):
    return plain(visited.page.locator("#sentence").inner_text())


@pytest.mark.parametrize(
    "name",
    [name if name in ("pair-elim", "rank1-certify") else pytest.param(name, marks=pytest.mark.slow) for name in RUNS],
)
def test_it_fits_a_phone_and_shows_something_in_every_frame(name, watched, visit):
    seen, file = watched(name)
    visited = visit(file, phone=True, color_scheme="dark")
    for key in ("End", "Home"):
        visited.page.locator("#time").press(key)
        assert visited.fits()
    for k in range(0, len(seen.frames), 7):
        visited.page.locator("#time").evaluate(f"e => {{ e.value = {k}; e.dispatchEvent(new Event('input')); }}")
        assert words(visited) == seen.frames[k].sentence
    for place in ("story", "estimates", "plays", "regret"):
        assert visited.page.locator(f"#{place} svg > *").count() > 5
    ends = "all => Math.max(...all.map(e => e.getBoundingClientRect().right))"
    assert visited.page.locator(".drawing svg").evaluate_all(ends) <= 360


def test_it_moves_by_keys_buttons_and_the_list_of_events(watched, visit):
    seen, file = watched("pair-elim")
    visited = visit(file)
    page, frames = visited.page, seen.frames
    assert words(visited) == frames[-1].sentence  # the whole run, and nothing moves by itself
    assert f"a regret of {plain(page.locator('#lost').inner_text())};" in frames[-1].sentence
    page.locator("#time").press("Home")
    assert words(visited) == frames[0].sentence
    assert page.locator("#round").inner_text() == "0"
    page.locator("#time").press("ArrowRight")
    assert words(visited) == frames[1].sentence
    assert page.locator("#time").get_attribute("aria-valuetext").startswith(f"frame 2 of {len(frames)}, round ")
    page.locator("#on").click()
    page.locator("#on").click()
    page.locator("#back").click()
    assert words(visited) == frames[2].sentence
    page.locator("#last").click()
    assert words(visited) == frames[-1].sentence
    events = [frame for frame in frames if frame.event]
    assert [plain(text) for text in page.locator("#events button").all_inner_texts()] == [e.sentence for e in events]
    gone = next(frame for frame in events if frame.beaten)
    page.locator("#events button").nth(events.index(gone)).click()
    assert words(visited) == gone.sentence
    crosses = [frame for frame in frames if frame.round <= gone.round for out in frame.beaten if out.leaves]
    assert page.locator("#story g.ink").count() == len(crosses)
    page.keyboard.press("ArrowLeft")  # on a button, too
    assert words(visited) == frames[frames.index(gone) - 1].sentence


def test_play_goes_to_the_end_and_pause_stops_it(watched, visit):
    seen, file = watched("rank1-thompson")
    visited = visit(file, reduced_motion="reduce")
    page = visited.page
    page.clock.install()
    page.goto(file.as_uri())
    visited.requests.pop()
    page.clock.run_for(60_000)
    assert words(visited) == seen.frames[-1].sentence  # it never starts by itself
    page.locator("#play").click()
    assert page.locator("#play").inner_text() == "Pause"
    assert words(visited) == seen.frames[0].sentence
    page.clock.run_for(200)
    assert words(visited) == seen.frames[1].sentence
    page.locator("#play").click()
    page.clock.run_for(60_000)
    assert words(visited) == seen.frames[1].sentence
    page.locator("#speed").select_option("4")
    page.locator("#play").click()
    page.clock.run_for(60_000)
    assert words(visited) == seen.frames[-1].sentence
    assert page.locator("#play").inner_text() == "Play"


def test_what_is_drawn_is_what_the_frames_say(watched, visit):
    """Where the dots of the estimates stand on the axis, measured on the screen."""
    seen, file = watched("rank1-thompson")
    page = visit(file).page
    dots = page.locator("#estimates svg g circle").evaluate_all("all => all.map(e => Number(e.getAttribute('cx')))")
    estimates = [item.estimate for item in seen.frames[-1].items]
    assert len(dots) == len(estimates)
    scale = [(b - a) / (y - x) for a, b, x, y in zip(dots, dots[1:], estimates, estimates[1:], strict=False)]
    assert scale == pytest.approx([scale[0]] * len(scale), rel=0.02)
    assert page.locator("#estimates circle.ring").count() == 0
    titles = page.locator("#plays svg rect.heat title").all_text_contents()
    assert any("in 100\u202f% of the rounds" in title or "of the rounds since" in title for title in titles)


def test_averages_beside_older_intervals_are_rings_that_say_both(watched, visit):
    seen, file = watched("pair-elim")
    page = visit(file).page
    last = seen.frames[-1].items
    assert page.locator("#estimates circle").count() == sum(now.estimate is not None for now in last)
    assert page.locator("#estimates circle.ring").count() == page.locator("#estimates circle").count()
    titles = page.locator("#estimates svg g title").all_text_contents()
    assert [" when last checked from " in title for title in titles] == [now.low is not None for now in last]


@pytest.mark.parametrize("phone", [False, True])
def test_every_link_has_its_name_and_its_bar_the_colour_of_its_line(phone, watched, visit):
    seen, file = watched("rank1-certify")
    page = visit(file, phone=phone).page
    links = [link.name for link in seen.frames[-1].links]
    short = [name.replace("player ", "").replace(" above ", " > ") for name in links]
    assert sorted(page.locator("#story text.name").all_text_contents()) == sorted(short if phone else links)
    lines = page.locator("#story path:has(title)").evaluate_all("all => all.map(e => e.getAttribute('stroke'))")
    bars = page.locator("#links rect:not(.empty)").evaluate_all("all => all.map(e => e.getAttribute('fill'))")
    assert lines == bars
    assert len(set(bars)) == len(links)


def test_of_many_pairs_the_best_have_names_and_the_others_are_counted(watched, visit):
    seen, file = watched("cucb")
    page = visit(file, phone=True).page
    *names, more = page.locator("#story text.name").all_text_contents()
    film = seen.film
    assert {f"{film.pair_name(pair)} ★" for pair in film.best} == {name for name in names if "★" in name}
    assert more == f"+{len(film.pairs) - len(names)} more"
    ends = "all => Math.max(...all.map(e => e.getBoundingClientRect().right))"
    assert page.locator("#story text").evaluate_all(ends) <= page.locator("#story svg").bounding_box()["x"] + 328
    tops = sorted(page.locator("#story text.name").evaluate_all("all => all.map(e => Number(e.getAttribute('y')))"))
    assert min(b - a for a, b in pairwise(tops)) > 12


@pytest.mark.parametrize("name", ["pair-elim", "rank1-certify"])
def test_on_paper_the_drawings_are_whole_and_there_is_nothing_to_press(name, watched, visit):
    """Drawn for a wide screen, laid out for a sheet of A4: a printer does not draw anew."""
    visited = visit(watched(name)[1])
    page = visited.page
    page.add_init_script("window.ResizeObserver = class { observe() {} };")
    page.goto(visited.file.as_uri())
    visited.requests.pop()
    drawn = page.locator("#story svg").bounding_box()["width"]
    page.emulate_media(media="print")
    page.evaluate("document.body.style.width = '680px'")
    assert not page.locator(".controls").is_visible()
    for drawing in page.locator(".drawing svg").all():
        assert drawing.bounding_box()["width"] <= 680 < drawn
    assert page.locator("#sentence").is_visible()
