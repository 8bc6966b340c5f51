"""The page of a recorded run in a real browser: it moves by mouse and keys, shows what decided, and fits a phone."""

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
def recorded(tmp_path_factory):
    """The run of a policy, and the file of its page; each is recorded once."""
    runs = {}

    def page(name):
        if name not in runs:
            problem, horizon = RUNS[name]
            run = mb.watch(problem, name, horizon=horizon, seed=1, frames=30)
            file = tmp_path_factory.mktemp("watch") / f"{name}.html"
            file.write_text(run.page(), "utf-8")
            runs[name] = run, file
        return runs[name]

    return page


def plain(text):
    """Without the spaces that keep numbers and pairs on one line."""
    return text.replace("\u00a0", " ")


def sentence(visited):
    return plain(visited.page.locator("#sentence").inner_text())


def go_to(page, frame):
    page.locator("#time").evaluate(f"e => {{ e.value = {frame}; e.dispatchEvent(new Event('input')); }}")


def drawn(page, panel, series):
    """The values of a series, as ECharts has them."""
    return page.evaluate(
        f"echarts.getInstanceByDom(document.getElementById('{panel}')).getOption().series[{series}].data"
        ".map(item => item.value)"
    )


def rounded(*values):
    return [float(f"{value:.4g}") for value in values]


@pytest.mark.parametrize(
    "name",
    [name if name in ("pair-elim", "rank1-certify") else pytest.param(name, marks=pytest.mark.slow) for name in RUNS],
)
@pytest.mark.sampled(1)
def test_it_fits_a_phone_and_shows_something_in_every_frame(name, recorded, visit):
    run, file = recorded(name)
    visited = visit(file, phone=True, color_scheme="dark")
    for k in range(0, len(run.frames), 7):
        go_to(visited.page, k)
        assert sentence(visited) == run.frames[k].sentence
        assert visited.fits()
    for panel in ("story", "estimates", "plays", "regret"):
        assert visited.page.locator(f"#{panel} svg path").count() > 5
    right_ends = "all => Math.max(...all.map(e => e.getBoundingClientRect().right))"
    assert visited.page.locator(".drawing svg").evaluate_all(right_ends) <= 360
    for panel in visited.page.locator(".drawing").all():  # no text is cut off
        box = panel.bounding_box()
        lefts = "all => Math.min(...all.map(e => e.getBoundingClientRect().left))"
        texts = panel.locator("svg text")
        assert texts.evaluate_all(lefts) >= box["x"] - 1
        assert texts.evaluate_all(right_ends) <= box["x"] + box["width"] + 1


@pytest.mark.slow
def test_it_moves_by_keys_buttons_and_the_list_of_events(recorded, visit):
    run, file = recorded("pair-elim")
    visited = visit(file)
    page, frames = visited.page, run.frames
    assert sentence(visited) == frames[-1].sentence  # the whole run, and nothing moves by itself
    assert f"a regret of {page.locator('#regret-now').inner_text()};" in frames[-1].sentence
    page.locator("#time").press("Home")
    assert sentence(visited) == frames[0].sentence
    assert page.locator("#decision-texts").inner_text() == "no decision yet"
    page.locator("#time").press("ArrowRight")
    assert sentence(visited) == frames[1].sentence
    assert page.locator("#time").get_attribute("aria-valuetext").startswith(f"frame 2 of {len(frames)}, round ")
    page.locator("#forward").click()
    page.locator("#forward").click()
    page.locator("#back").click()
    assert sentence(visited) == frames[2].sentence
    page.locator("#first").click()
    events = [frame for frame in frames if frame.event]
    for event in events[:2]:
        page.locator("#next-event").click()
        assert sentence(visited) == event.sentence
    page.locator("#previous-event").click()
    assert sentence(visited) == events[0].sentence
    page.keyboard.press("Shift+ArrowRight")
    assert sentence(visited) == events[1].sentence
    page.keyboard.press("ArrowLeft")
    assert sentence(visited) == frames[frames.index(events[1]) - 1].sentence
    page.locator("#time").press("Home")
    page.locator("#time").press("Shift+ArrowRight")  # an event also while the slider has the focus
    assert sentence(visited) == events[0].sentence
    page.locator("#last").click()
    assert sentence(visited) == frames[-1].sentence
    listed = [plain(text).split("\n")[0] for text in page.locator("#events button").all_inner_texts()]
    assert listed == [event.sentence for event in events]
    elimination = next(frame for frame in events if frame.eliminations)
    page.locator("#events button").nth(events.index(elimination)).click()
    assert sentence(visited) == elimination.sentence
    marked = page.locator("#events [aria-current]")
    assert [plain(text).split("\n")[0] for text in marked.all_inner_texts()] == [elimination.sentence]


@pytest.mark.slow
def test_what_decided_is_drawn_at_the_frame_of_the_decision(recorded, visit):
    run, file = recorded("pair-elim")
    page = visit(file).page
    frames = [(k, frame) for k, frame in enumerate(run.frames) if frame.eliminations]
    assert len(frames) > 2
    for k, frame in frames:
        go_to(page, k)
        shown = [*frame.eliminations]
        intervals = [interval for one in shown for interval in (one.by_interval, one.interval)]
        assert [value[:2] for value in drawn(page, "decisions", 0)] == [rounded(*interval) for interval in intervals]
        estimates = [estimate for one in shown for estimate in (one.by_estimate, one.estimate)]
        assert [value[0] for value in drawn(page, "decisions", 1)] == rounded(*estimates)
        assert [plain(text) for text in page.locator("#decision-texts li").all_inner_texts()] == [
            one.text for one in shown
        ]
        crosses = [1 for before in run.frames[: k + 1] for one in before.eliminations]
        assert len(drawn(page, "story", 2)) == len(crosses)


@pytest.mark.slow
def test_evidence_and_threshold_are_drawn_at_the_frame_of_a_certificate(recorded, visit):
    run, file = recorded("rank1-certify")
    page = visit(file).page
    k, frame = next((k, frame) for k, frame in enumerate(run.frames) if frame.certificates)
    go_to(page, k)
    assert [value[1] for value in drawn(page, "decisions", 0)] == rounded(*(one.evidence for one in frame.certificates))
    assert [value[0] for value in drawn(page, "decisions", 2)] == rounded(
        *(one.threshold for one in frame.certificates)
    )


@pytest.mark.slow
def test_play_goes_to_the_end_and_pause_stops_it(recorded, visit):
    run, file = recorded("rank1-thompson")
    visited = visit(file, reduced_motion="reduce")
    page = visited.page
    page.clock.install(time=0)
    page.goto(file.as_uri())
    visited.requests.pop()
    page.clock.pause_at(3600)
    assert sentence(visited) == run.frames[-1].sentence  # it never starts by itself
    page.locator("#play").click()
    assert page.locator("#play").inner_text() == "Pause"
    assert sentence(visited) == run.frames[0].sentence
    page.clock.run_for(200)
    assert sentence(visited) == run.frames[1].sentence
    page.locator("#play").click()
    page.clock.run_for(60_000)
    assert sentence(visited) == run.frames[1].sentence
    page.locator("#speed").select_option("4")
    page.locator("#play").click()
    page.clock.run_for(60_000)
    assert sentence(visited) == run.frames[-1].sentence
    assert page.locator("#play").inner_text() == "Play"
    page.locator("#sentence").click()
    page.keyboard.press("Space")
    assert page.locator("#play").inner_text() == "Pause"
    page.locator("#time").press("Space")  # after the slider was used
    assert page.locator("#play").inner_text() == "Play"


def test_without_events_the_buttons_that_go_to_one_are_disabled(recorded, visit):
    page = visit(recorded("rank1-thompson")[1]).page
    assert page.locator("#events-section").is_hidden()
    assert page.locator("#next-event").is_disabled()
    assert page.locator("#previous-event").is_disabled()


@pytest.mark.slow
def test_estimates_are_rings_only_beside_older_intervals(recorded, visit):
    for name, is_hollow in (("pair-elim", True), ("rank1-thompson", False)):
        run, file = recorded(name)
        page = visit(file).page
        items = [item for item in run.frames[-1].items if item.estimate is not None]
        high = run.playback.estimates.x_range[1]
        expected = rounded(*(min(high, max(0.0, item.estimate)) for item in items))
        assert [value[0] for value in drawn(page, "estimates", 1)] == pytest.approx(expected, abs=1e-3)
        page.locator("#estimates").scroll_into_view_if_needed()
        fills = page.evaluate(
            "echarts.getInstanceByDom(document.getElementById('estimates')).getOption().series[1].data"
            ".map(item => item.itemStyle.color === item.itemStyle.borderColor)"
        )
        assert set(fills) == {not is_hollow}


@pytest.mark.slow
def test_on_paper_the_drawings_shrink_and_there_is_nothing_to_press(recorded, visit):
    visited = visit(recorded("pair-elim")[1])
    page = visited.page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.evaluate("document.body.style.width = '680px'")
    assert not page.locator(".controls").is_visible()
    for drawing in page.locator(".drawing svg").all():
        assert drawing.bounding_box()["width"] <= 680
        assert drawing.get_attribute("viewBox").startswith("0 0 ")
    assert page.locator("#sentence").is_visible()
