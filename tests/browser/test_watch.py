"""The page of a recording in a real browser: it moves by mouse and keys, shows what decided, and fits a phone."""

import pytest

import matchbandit as mb
from matchbandit.lab.playback import Recorder

SLOTS = mb.Bipartite(u=[0.9, 0.6, 0.3], v=[0.8, 0.5, 0.2])
PLAYERS = mb.Monopartite(u=[0.9, 0.85, 0.8, 0.4, 0.3, 0.1])
RUNS = {
    "pair-elim": (SLOTS, 10**6),
    "adaptive-matching": (PLAYERS, 10**6),
    "rank1-thompson": (PLAYERS, 1000),
    "rank1-certify": (PLAYERS, 10**4),
    "cucb": (PLAYERS, 1000),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The recording of a policy, and the file of its page; each is made once."""
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


def intervals(page):
    """The ends of the bars that show what decided."""
    page.wait_for_function("views.size > 0 && [...views.keys()].some((host) => host.closest('#decisions'))")
    return page.evaluate(
        "views.get(document.querySelector('#decisions .chart')).data('interval').map((row) => [row.x, row.x2])"
    )


@pytest.mark.parametrize(
    "name", [name if name == "pair-elim" else pytest.param(name, marks=pytest.mark.slow) for name in RUNS]
)
@pytest.mark.sampled(1)
def test_page_on_a_phone_fits_and_draws_every_panel(name, recorded, visit):
    run, file = recorded(name)
    visited = visit(file, phone=True, color_scheme="dark")
    for k in range(0, len(run.frames), 7):
        go_to(visited.page, k)
        assert sentence(visited) == run.frames[k].sentence
        assert visited.fits()
    for panel in ("story", "estimates", "plays", "regret"):
        svg = visited.page.locator(f"#{panel} svg")
        svg.first.wait_for()
        assert svg.locator("path").count() > 5
        assert svg.bounding_box()["x"] + svg.bounding_box()["width"] <= 360


@pytest.mark.slow
def test_page_moves_by_keys_buttons_and_the_list_of_events(recorded, visit):
    run, file = recorded("pair-elim")
    visited = visit(file)
    page, frames, events = visited.page, run.frames, run.events

    def click(name):
        page.get_by_role("button", name=name, exact=True).click()

    assert sentence(visited) == frames[-1].sentence  # the whole run, and nothing moves by itself
    listed = page.locator("#events button")
    assert [plain(text).split("\n")[0] for text in listed.all_inner_texts()] == [event.sentence for event in events]
    before_second = frames[frames.index(events[1]) - 1]
    for act, expected in [
        (lambda: page.locator("#time").press("Home"), frames[0]),
        (lambda: page.locator("#time").press("ArrowRight"), frames[1]),
        (lambda: click("Next frame"), frames[2]),
        (lambda: click("Previous frame"), frames[1]),
        (lambda: click("First frame"), frames[0]),
        (lambda: click("Next event"), events[0]),
        (lambda: click("Next event"), events[1]),
        (lambda: click("Previous event"), events[0]),
        (lambda: page.keyboard.press("Shift+ArrowRight"), events[1]),
        (lambda: page.keyboard.press("ArrowLeft"), before_second),
        (lambda: click("Last frame"), frames[-1]),
        (lambda: listed.nth(2).click(), events[2]),
    ]:
        act()
        assert sentence(visited) == expected.sentence
    marked = page.locator("#events [aria-current]").all_inner_texts()
    assert [plain(text).split("\n")[0] for text in marked] == [events[2].sentence]
    page.locator("#time").press("Home")
    assert page.locator("#decided").inner_text() == "no decision yet"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pair-elim", "rank1-certify"])
def test_page_draws_what_decided_at_the_frame_of_the_decision(name, recorded, visit):
    run, file = recorded(name)
    page = visit(file).page
    for k, frame in enumerate(run.frames):
        if frame.decisions:
            go_to(page, k)
            expected = [
                (one[f"{by}low"], one[f"{by}high"]) for one in frame.decisions[:4] for by in ("by_", "") if "by" in one
            ]
            expected = [(0, max(0, link["evidence"])) for link in frame.links] or expected
            assert intervals(page) == [pytest.approx(each, rel=1e-4) for each in expected]
            texts = [plain(text) for text in page.locator("#decided li").all_inner_texts()]
            assert texts == [one["text"] for one in frame.decisions]


@pytest.mark.slow
def test_page_plays_to_the_end_and_pauses(recorded, visit):
    run, file = recorded("rank1-thompson")
    visited = visit(file)
    page = visited.page
    page.clock.install(time=0)
    page.goto(file.as_uri())
    visited.requests.pop()
    page.clock.pause_at(3600)
    assert sentence(visited) == run.frames[-1].sentence
    page.locator("#play").click()
    assert page.locator("#play").inner_text() == "Pause"
    assert sentence(visited) == run.frames[0].sentence
    page.clock.run_for(200)
    assert sentence(visited) == run.frames[1].sentence
    page.locator("#play").click()
    page.clock.run_for(60_000)
    assert sentence(visited) == run.frames[1].sentence
    page.get_by_role("button", name="Previous frame").click()
    page.keyboard.press("Space")  # plays, wherever the focus is
    page.clock.run_for(200)
    assert sentence(visited) == run.frames[1].sentence
    page.keyboard.press("Space")
    assert page.locator("#play").inner_text() == "Play"
    page.locator("#speed").select_option("4")
    page.locator("#sentence").click()
    page.keyboard.press("Space")
    page.clock.run_for(60_000)
    assert sentence(visited) == run.frames[-1].sentence
    assert page.locator("#play").inner_text() == "Play"


def test_page_of_a_learner_has_names_and_no_truth(tmp_path, visit):
    recorder = Recorder(mb.policy("rank1-thompson").build(mb.bipartite(2, 2)), names=[["a'd", "<b>"], ["top", "side"]])
    for reward in (1, 0, 1, 1, 0):
        recorder.tell(recorder.ask(), [reward])
    file = tmp_path / "own.html"
    file.write_text(recorder.recording().page(), "utf-8")
    page = visit(file).page
    page.locator("#estimates svg").wait_for()
    assert {"a'd", "<b>", "top", "side"} <= set(page.locator("#estimates svg text").all_text_contents())
    assert page.locator("#regret").count() == 0
    assert page.locator("#regret-now").inner_text() == ""
    assert page.locator("#events").is_hidden()
    assert page.get_by_role("button", name="Next event").is_disabled()
