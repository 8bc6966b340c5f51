"""The page as a reader has it: in a real browser, on a desk and on a phone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchbandit.figures.chart import Chart, Line, Mark
from matchbandit.figures.echarts_renderer import chart_data
from matchbandit.figures.page import Badge, Page, Section, Table, write_page
from matchbandit.figures.style import style_of

HOSTILE = "<script>alert(1)</script>"
KEYS = ("uts", "pair-elim", "rank1-elim", "kl-ucb", "rank1-thompson", "rank1-certify")


def over_time() -> Chart:
    """Two lines and published points; rounds 20 000, 40 000, …, 2 000 000; regrets 2·round/1000 and round/1000."""
    rounds = np.arange(1, 101) * 2e4
    fast, slow = rounds / 1000, rounds / 500
    points = rounds[9::10]
    lines = (
        Line("Pair-Elim", rounds, fast, 0.9 * fast, 1.2 * fast, key="pair-elim"),
        Line("Rank1Elim", rounds, slow, 0.5 * slow, 1.5 * slow, key="rank1-elim"),
        Line(
            "published", points, points / 900, points / 1100, points / 800, key="pair-elim", kind="points", hollow=True
        ),
    )
    caption = "Mean and 5–95 % of 100 runs."
    return Chart("over-time", "Regret over time", "round", "regret", lines, caption, marks=(Mark(5e5, "first window"),))


def over_gap() -> Chart:
    """Six policies and a bound on a logarithmic axis; the lower ends of the first band are 0."""
    gaps = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    means = [10.0 ** (1 + k / 2) / gaps for k in range(len(KEYS))]
    lows = [0 * means[0], *(mean / 2 for mean in means[1:])]
    lines = [Line(key, gaps, mean, low, mean * 2, key=key) for key, mean, low in zip(KEYS, means, lows, strict=True)]
    bound = Line("lower bound", gaps[[0, -1]], np.array([50.0, 5.0]), kind="reference")
    ticks = tuple(gaps.tolist())
    return Chart("over-gap", "Regret over the gap", "gap Δ", "regret", (*lines, bound), y_log=True, x_ticks=ticks)


def over_size() -> Chart:
    sizes = np.array([8.0, 16, 32, 64, 128, 256])
    lines = (Line(HOSTILE, sizes, sizes**2, sizes, sizes**3, key="my:Policy"), Line("</script>", sizes, sizes**1.5))
    ticks = tuple(sizes.tolist())
    return Chart("over-n", HOSTILE, "n", "regret", lines, "</script>", x_log=True, y_log=True, x_ticks=ticks)


def in_rows() -> Chart:
    rows, names = np.arange(3.0), ("spiked", "a family with a name as long as they come", "uniform")
    means = np.array([1e3, 2e4, 3e5])
    lines = (
        Line("matching-id", rows, means, means / 2, means * 2, key="matching-id", kind="points"),
        Line("", np.repeat(rows, 9), np.repeat(means, 9), key="matching-id", kind="cloud"),
    )
    return Chart(
        "rows", "Rounds", "instance", "rounds", lines, y_log=True, rows=names, marks=(Mark(1e4, "bound", "y"),)
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    claims = Table(
        ("claim", "verdict", "measured", "threshold"),
        (("Pair-Elim loses less", Badge("holds", "good"), "by more than two standard errors at 8 of 8 gaps", "all"),),
        "Claims",
    )
    charts = (over_time(), over_gap(), over_size(), in_rows())
    sections = [Section(chart.title, ("Words.",), (chart,), (claims,)) for chart in charts]
    sections += [Section(f"Again {k}", charts=(over_time(),)) for k in range(8)]
    wide = Table(tuple(f"column {k}" for k in range(30)), (("12 345",) * 30,), "A wide table")
    sections.append(Section("Times", tables=(wide,), code="horizon = 1e5\n" + "policies = " + "x" * 300))
    page = Page(f"A study {HOSTILE}", "Twelve figures.", tuple(sections))
    return write_page(page, tmp_path_factory.mktemp("page") / "report.html")


def tip(visited: Any) -> str:
    return str(visited.page.locator(".tip:visible").inner_text()).replace("\u202f", " ")


def strokes(visited: Any, number: int) -> set[str]:
    """The colours in which a chart is drawn."""
    script = "all => all.flatMap(e => [e.getAttribute('stroke'), e.getAttribute('fill')]).filter(Boolean)"
    return set(visited.page.locator("[data-chart]").nth(number).locator(".canvas svg path").evaluate_all(script))


def axis_texts(visited: Any, number: int) -> list[str]:
    texts = visited.page.locator("[data-chart]").nth(number).locator(".canvas svg text").all_text_contents()
    return [text.replace("\u202f", " ") for text in texts]


def test_hover_shows_the_values_of_all_lines_there(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report)
    assert visited.page.locator("details.numbers table:visible").count() == 0
    left, top, width, height = visited.area(0)
    visited.page.mouse.move(left + width / 2, top + height / 2)
    told = tip(visited)
    number = int(told.splitlines()[0].removeprefix("round: ").replace(" ", ""))
    assert 900_000 < number < 1_100_000
    assert f"Rank1Elim\t{number // 500:,}\t{number // 1000:,} to {3 * number // 1000:,}".replace(",", " ") in told
    assert f"Pair-Elim\t{number // 1000:,}".replace(",", " ") in told
    assert "5–95 %" in told
    visited.page.mouse.move(left + width / 2, top + height + 200)
    assert visited.page.locator(".tip:visible").count() == 0


def test_on_a_phone_a_tap_shows_values_and_nothing_is_wider_than_the_screen(
    report: Path, visit: Callable[..., Any]
) -> None:
    visited = visit(report, phone=True)
    for number in range(4):
        left, top, width, height = visited.area(number)
        visited.page.touchscreen.tap(left + width * 0.7, top + height / 2)
        box = visited.page.locator(".tip:visible").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        assert visited.fits()
    visited.page.locator("h2").nth(3).tap()
    assert visited.page.locator(".tip:visible").count() == 0
    visited.page.locator("details.numbers summary").first.click()
    visited.page.locator(".contents summary").click()
    assert visited.fits()
    visited.page.locator(".contents a").last.click()
    assert not visited.page.locator(".contents details").evaluate("details => details.open")
    assert visited.page.locator("h2").last.bounding_box()["y"] < 740


def test_in_the_dark_the_page_and_its_charts_are_dark_and_follow_a_change(
    report: Path, visit: Callable[..., Any]
) -> None:
    visited = visit(report, color_scheme="dark")
    visited.area(0)
    look = style_of("rank1-elim")
    assert look.dark in strokes(visited, 0)
    assert visited.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    visited.page.emulate_media(color_scheme="light")
    visited.until(lambda: look.colour in strokes(visited, 0))
    assert look.dark not in strokes(visited, 0)


def test_a_selection_is_enlarged_and_reset_shows_all_again(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report)
    left, top, width, height = visited.area(0)
    chart = visited.page.locator("[data-chart]").first
    before = axis_texts(visited, 0)
    assert "2 M" in before
    assert chart.get_by_role("button", name="Reset").is_disabled()
    chart.get_by_role("button", name="Select").click()
    visited.page.mouse.move(left + width * 0.3, top + height * 0.3)
    visited.page.mouse.down()
    visited.page.mouse.move(left + width * 0.5, top + height * 0.8, steps=3)
    visited.page.mouse.up()
    after = axis_texts(visited, 0)
    assert "2 M" not in after
    assert len(after) >= 4
    chart.get_by_role("button", name="Reset").click()
    assert axis_texts(visited, 0) == before


def test_the_wheel_scrolls_the_page_and_zooms_with_ctrl_only(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report)
    left, top, width, height = visited.area(1)
    chart = visited.page.locator("[data-chart]").nth(1)
    visited.page.mouse.move(left + width / 2, top + height / 2)
    before = axis_texts(visited, 1), visited.page.evaluate("scrollY")
    visited.page.mouse.wheel(0, 60)
    visited.until(lambda: visited.page.evaluate("scrollY") > before[1])
    assert axis_texts(visited, 1) == before[0]
    visited.page.keyboard.down("Control")
    visited.page.mouse.wheel(0, -240)
    visited.page.keyboard.up("Control")
    chart.locator(".tools button:enabled", has_text="Reset").wait_for()
    assert axis_texts(visited, 1) != before[0]


def test_two_fingers_enlarge_and_one_scrolls(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report, phone=True)
    left, top, width, height = visited.area(0)
    x, y = left + width / 2, top + height / 2
    devtools = visited.page.context.new_cdp_session(visited.page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        devtools.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": px, "y": py, "id": k} for k, (px, py) in enumerate(points)]},
        )

    touch("touchStart", (x - 20, y), (x + 20, y))
    for apart in (40, 70, 100):
        touch("touchMove", (x - apart, y), (x + apart, y))
    touch("touchEnd")
    chart = visited.page.locator("[data-chart]").first
    chart.locator(".tools button:enabled", has_text="Reset").wait_for()
    assert "2 M" not in axis_texts(visited, 0)
    zoomed, scrolled = axis_texts(visited, 0), visited.page.evaluate("scrollY")
    touch("touchStart", (x, y))
    for moved in (10, 40, 80, 120):
        touch("touchMove", (x, y - moved))
    touch("touchEnd")
    visited.until(lambda: visited.page.evaluate("scrollY") > scrolled)
    assert axis_texts(visited, 0) == zoomed


def test_keys_tell_values_and_zoom(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report)
    visited.area(2)
    canvas = visited.page.locator("[data-chart]").nth(2).locator(".canvas")
    assert canvas.get_attribute("aria-label").startswith("Chart.")
    canvas.focus()
    for key, first in (("Home", "n: 8"), ("ArrowRight", "n: 16"), ("End", "n: 256"), ("ArrowLeft", "n: 128")):
        visited.page.keyboard.press(key)
        assert tip(visited).splitlines()[0] == first
    visited.page.keyboard.press("Escape")
    assert visited.page.locator(".tip:visible").count() == 0
    before = axis_texts(visited, 2)
    visited.page.keyboard.press("+")
    assert axis_texts(visited, 2) != before
    visited.page.keyboard.press("0")
    assert axis_texts(visited, 2) == before


def test_many_lines_are_named_at_their_ends_where_there_is_room_else_in_a_legend(
    report: Path, visit: Callable[..., Any]
) -> None:
    wide, narrow = visit(report), visit(report, phone=True)
    for visited in (wide, narrow):
        visited.area(1)
    chart = "[data-chart='1']"
    assert wide.page.locator(f"{chart} .over text").all_text_contents() != []
    assert {*wide.page.locator(f"{chart} .over text").all_text_contents()} == {*KEYS, "lower bound"}
    assert wide.page.locator(f"{chart} .legend button").count() == 0
    assert narrow.page.locator(f"{chart} .over text").count() == 0
    assert narrow.page.locator(f"{chart} .legend button").all_text_contents() == [*KEYS, "lower bound"]
    assert wide.page.locator("[data-chart='0'] .legend button").count() == 3
    look = style_of("rank1-elim")
    narrow.page.locator(f"{chart} .legend button", has_text="rank1-elim").click()
    assert look.colour not in strokes(narrow, 1)
    assert narrow.page.locator(f"{chart} .legend button[aria-pressed=false]").all_text_contents() == ["rank1-elim"]


@pytest.mark.parametrize("phone", [False, True])
def test_numbers_on_the_axes_never_collide(report: Path, visit: Callable[..., Any], phone: bool) -> None:
    visited = visit(report, phone=phone)
    for number in range(4):
        visited.area(number)
        texts = visited.page.locator("[data-chart]").nth(number).locator("svg text")
        boxes = texts.evaluate_all(
            "all => all.map(e => [e.getBoundingClientRect(), e.textContent])"
            ".map(([b, text]) => [b.left, b.top, b.right, b.bottom, text])"
        )
        assert len(boxes) >= 5
        for k, (left, top, right, bottom, text) in enumerate(boxes):
            for other in boxes[:k]:
                apart = left >= other[2] or other[0] >= right or top >= other[3] - 2 or other[1] >= bottom - 2
                assert apart, (number, text, other[4])


def test_what_users_typed_is_shown_as_it_was_typed(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report)
    visited.page.on("dialog", lambda dialog: visited.complaints.append(dialog.message))
    visited.area(2)
    assert visited.page.title() == f"A study {HOSTILE}"
    assert visited.page.locator("[data-chart='2'] .legend button").all_text_contents() == [HOSTILE, "</script>"]
    assert visited.page.locator("[data-chart='2'] script").count() == 0


def test_no_other_script_runs(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report)
    visited.page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)"
    )
    assert visited.page.evaluate("window.ran") is None
    visited.until(lambda: visited.complaints != [])
    assert len(visited.complaints) == 1
    assert "Content Security Policy" in visited.complaints.pop()


def test_charts_are_drawn_when_they_come_near_and_all_of_them_for_paper(
    report: Path, visit: Callable[..., Any]
) -> None:
    visited = visit(report, color_scheme="dark")
    visited.area(0)
    drawn = visited.page.locator("[data-chart] .canvas svg")
    assert 1 <= drawn.count() < 6
    visited.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert drawn.count() == 12
    look = style_of("rank1-elim")
    assert look.colour in strokes(visited, 11)
    assert look.dark not in strokes(visited, 0)
    visited.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert look.dark in strokes(visited, 0)
    visited.page.emulate_media(media="print")
    assert visited.page.locator(".tools:visible, .contents:visible").count() == 0
    assert visited.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_without_scripts_the_tables_of_numbers_are_open(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report, java_script_enabled=False)
    assert visited.page.locator("details.numbers table:visible").count() == 12
    assert "Charts need scripts" in visited.page.locator("noscript").inner_text()


def test_numbers_are_spelled_in_groups_with_four_digits_that_count(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report)
    numbers = [0, 0.25, 1 / 3, 999.96, 1234.5, -20000, 1e6, 0.00012, 0.000012, 2.5e13, -1e-9, None]
    told = visited.page.evaluate("all => all.map(matchbanditCharts.spelled)", numbers)
    expected = [
        "0",
        "0.25",
        "0.3333",
        "1000",
        "1 235",
        "−20 000",
        "1 000 000",
        "0.00012",
        "1.2·10⁻⁵",
        "2.5·10¹³",
        "−1·10⁻⁹",
        "–",
    ]
    assert [text.replace("\u202f", " ") for text in told] == expected


def test_a_chart_can_be_drawn_anywhere_from_its_data(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report)
    visited.page.evaluate(
        "chart => { const host = document.createElement('div'); host.id = 'live';"
        "document.querySelector('footer').append(host); matchbanditCharts.mount(host, chart); }",
        chart_data(over_gap()),
    )
    assert visited.page.locator("#live .over text").count() == 7


def test_charts_with_little_or_nothing_to_show_are_drawn_without_a_complaint(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    none, one = np.array([]), np.array([5.0])
    nan, level = np.array([np.nan, np.nan]), np.array([3.0, 3.0])
    two = np.array([0.0, 1.0])
    families = {
        "nothing": (),
        "empty": (Line("a", none, none),),
        "a point": (Line("a", one, one, one, one), Line("b", one, one, kind="points")),
        "not a number": (Line("a", two, nan, nan, nan), Line("b", two, nan, nan, nan, kind="points")),
        "level": (Line("a", two, level, level, level),),
        "zero": (Line("a", two, 0 * two, 0 * two, 0 * two),),
        "below": (Line("a", -two, -level, -level, 0 * two),),
    }
    charts = tuple(
        Chart(f"{name}-{log}", f"{name} {log}", "x", "y", lines, x_log=log, y_log=log, marks=(Mark(0.0, "m"),))
        for name, lines in families.items()
        for log in (False, True)
    )
    visited = visit(write_page(Page("Little", "", (Section("Little", charts=charts),)), tmp_path / "little.html"))
    for number in range(len(charts)):
        left, top, width, height = visited.area(number)
        visited.page.mouse.move(left + width / 2, top + height / 2)
        assert visited.page.locator("[data-chart]").nth(number).locator(".canvas svg").count() == 1
    assert not [text for number in range(len(charts)) for text in axis_texts(visited, number) if "NaN" in text]
