"""The page as a reader has it: in a real browser, on a desk and on a phone."""

import re
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchbandit.figures.axes import tick_labels
from matchbandit.figures.chart import Chart, Line, Mark
from matchbandit.figures.echarts_renderer import MIN_CONTRAST, PAPER, chart_data, contrast
from matchbandit.figures.page import Badge, ChartChoice, Page, Section, Table, write_page
from matchbandit.figures.style import DASHES, MARKERS, style_of
from matchbandit.formatting import grouped, short

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
    marks = (Mark(5e5, "first window"), Mark(5.6e5, "second window"), Mark(2e6, "the end of the last window"))
    return Chart("over-time", "Regret over time", "round", "regret", lines, caption, marks=marks)


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


def from_zero() -> Chart:
    """Regret that is 0 in the first three checkpoints on a logarithmic axis, or always; a policy without a proof."""
    rounds = np.array([1.0, 10, 100, 1000, 10_000])
    late, early = np.array([0.0, 0, 0, 40, 90]), rounds**0.5
    lines = (
        Line("uts", rounds, late, late / 2, late * 2, key="uts"),
        Line("mine", rounds, early, key="rank1-thompson", hollow=True),
        Line("oracle", np.array([1e4]), np.zeros(1), key="escb"),
    )
    return Chart("zero", "Regret from zero", "round", "regret", lines, x_log=True, y_log=True)


TIME, GAP, SIZE, ROWS, ZERO = range(5)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    claims = Table(
        ("claim", "verdict", "measured", "threshold"),
        (("Pair-Elim loses less", Badge("holds", "good"), "by more than two standard errors at 8 of 8 gaps", "all"),),
        "Claims",
    )
    charts = (over_time(), over_gap(), over_size(), in_rows(), from_zero())
    sections = [Section(chart.title, ("Words.",), (chart,), (claims,)) for chart in charts]
    choice = ChartChoice("Gap", (("small", over_time()), *((f"gap {k}", over_gap()) for k in range(1, 30))))
    sections.append(Section("A choice", choices=(choice,)))
    sections += [Section(f"Again {k}", charts=(over_time(),)) for k in range(8)]
    wide = Table(tuple(f"column {k}" for k in range(30)), (("12,345",) * 30,), "A wide table")
    sections.append(Section("Times", tables=(wide,), code="horizon = 1e5\n" + "policies = " + "x" * 300))
    page = Page(f"A study {HOSTILE}", "Some figures.", tuple(sections))
    return write_page(page, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def desktop_page(report: Path, visit_once: Callable[..., Any]) -> Any:
    return visit_once(report)


@pytest.fixture(scope="module")
def phone_page(report: Path, visit_once: Callable[..., Any]) -> Any:
    return visit_once(report, phone=True)


@pytest.fixture
def desktop(desktop_page: Any) -> Any:
    """The report on a wide screen, as it is when it was just opened."""
    return restored(desktop_page)


@pytest.fixture
def phone(phone_page: Any) -> Any:
    """The report on a phone, as it is when it was just opened."""
    return restored(phone_page)


def restored(visited: Any) -> Any:
    visited.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    visited.page.mouse.move(0, 0)
    visited.page.emulate_media(color_scheme="light")
    return visited


def tip(visited: Any) -> str:
    return str(visited.page.locator(".tip:visible").inner_text())


def attributes(visited: Any, number: int) -> list[tuple[str | None, str | None]]:
    """The fill and the stroke of all that is drawn of a chart."""
    script = "all => all.map(e => [e.getAttribute('fill'), e.getAttribute('stroke')])"
    return [(fill, stroke) for fill, stroke in visited.chart(number).locator("> div > svg path").evaluate_all(script)]


def colours(visited: Any, number: int) -> set[str]:
    return {colour.lower() for pair in attributes(visited, number) for colour in pair if colour}


def texts(visited: Any, number: int) -> list[str]:
    return list(visited.chart(number).locator("svg text").all_text_contents())


def press(visited: Any, number: int, *keys: str) -> None:
    visited.chart(number).focus()
    for key in keys:
        visited.page.keyboard.press(key)


@pytest.mark.slow
def test_hover_shows_the_values_of_all_lines_there(desktop: Any) -> None:
    assert desktop.page.locator("details.numbers table:visible").count() == 0
    left, top, width, height = desktop.area(TIME)
    desktop.page.mouse.move(left + width / 2, top + height / 2)
    words = tip(desktop)
    number = int(words.splitlines()[0].removeprefix("round: ").replace(",", ""))
    assert 900_000 < number < 1_100_000
    assert f"Rank1Elim\t{number // 500:,}\t{number // 1000:,} to {3 * number // 1000:,}" in words
    assert f"Pair-Elim\t{number // 1000:,}" in words
    assert "5–95 %" in words
    desktop.page.mouse.move(left + width / 2, top + height + 200)
    desktop.until(lambda: desktop.page.locator(".tip:visible").count() == 0)


@pytest.mark.slow
def test_between_its_points_a_line_has_an_approximate_value(desktop: Any) -> None:
    desktop.area(GAP)
    press(desktop, GAP, "Home", "ArrowRight")
    assert tip(desktop).startswith("gap Δ: 0.2\n")
    assert "lower bound\t≈ 35.98" in tip(desktop)  # 50 · (1/10)^(1/7), as the straight line on a logarithmic axis


@pytest.mark.slow
def test_on_a_phone_a_tap_shows_values_and_nothing_is_wider_than_the_screen(phone: Any) -> None:
    for number in range(5):
        left, top, width, height = phone.area(number)
        phone.page.touchscreen.tap(left + width * 0.7, top + height / 2)
        phone.until(lambda: phone.page.locator(".tip:visible").count() == 1)
        box = phone.page.locator(".tip:visible").bounding_box()
        assert box["x"] >= left
        assert box["x"] + box["width"] <= left + width
        phone.until(phone.fits)
    phone.page.locator("h2").nth(ZERO).tap()
    phone.until(lambda: phone.page.locator(".tip:visible").count() == 0)
    phone.page.locator("details.numbers summary").first.click()
    phone.page.locator(".contents summary").click()
    assert phone.fits()
    phone.page.locator(".contents a").last.click()
    assert not phone.page.locator(".contents details").evaluate("details => details.open")
    assert phone.page.locator("h2").last.bounding_box()["y"] < 740


@pytest.mark.slow
def test_in_the_dark_the_page_and_its_charts_are_dark_and_follow_a_change(desktop: Any) -> None:
    desktop.area(TIME)
    desktop.page.emulate_media(color_scheme="dark")
    look = style_of("rank1-elim")
    desktop.until(lambda: look.dark in colours(desktop, TIME))
    assert look.colour not in colours(desktop, TIME)
    assert desktop.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    desktop.page.emulate_media(color_scheme="light")
    desktop.until(lambda: look.colour in colours(desktop, TIME))
    assert look.dark not in colours(desktop, TIME)


def test_the_colours_of_the_page_can_be_read(desktop: Any) -> None:
    names = ("ink", "muted", "accent", "good", "part", "bad", "plain", "paper", "raised")
    script = "names => names.map(n => getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim())"
    for scheme, paper in PAPER.items():
        desktop.page.emulate_media(color_scheme=scheme)
        told = dict(zip(names, desktop.page.evaluate(script, names), strict=True))
        assert told["paper"] == paper  # against which the words of charts are measured
        for ground in ("paper", "raised"):
            assert min(contrast(told[name], told[ground]) for name in names[:-2]) >= MIN_CONTRAST


def test_a_selected_part_is_enlarged_and_shown_whole_again(desktop: Any) -> None:
    left, top, width, height = desktop.area(TIME)
    before = texts(desktop, TIME)
    assert "2·10⁶" in before
    desktop.page.mouse.click(left + width - 89, top + 16)  # the first icon
    desktop.page.mouse.move(left + width * 0.3, top + height * 0.3)
    desktop.page.mouse.down()
    desktop.page.mouse.move(left + width * 0.5, top + height * 0.7, steps=3)
    desktop.page.mouse.up()
    desktop.until(lambda: texts(desktop, TIME) != before)
    assert "2·10⁶" not in texts(desktop, TIME)
    desktop.page.mouse.click(left + width - 89, top + 16)
    desktop.page.mouse.click(left + width - 26, top + 16)  # the last icon
    desktop.until(lambda: "2·10⁶" in texts(desktop, TIME))


def test_the_wheel_scrolls_the_page_and_zooms_with_ctrl_only(desktop: Any) -> None:
    left, top, width, height = desktop.area(GAP)
    desktop.page.mouse.move(left + width / 2, top + height / 2)
    before = texts(desktop, GAP), desktop.page.evaluate("scrollY")
    desktop.page.mouse.wheel(0, 60)
    desktop.until(lambda: desktop.page.evaluate("scrollY") > before[1])
    assert texts(desktop, GAP) == before[0]
    desktop.page.keyboard.down("Control")
    desktop.page.mouse.wheel(0, -240)
    desktop.page.keyboard.up("Control")
    desktop.until(lambda: texts(desktop, GAP) != before[0])
    press(desktop, GAP, "0")
    desktop.until(lambda: texts(desktop, GAP) == before[0])


@pytest.mark.slow
def test_two_fingers_enlarge_and_one_scrolls(phone: Any) -> None:
    left, top, width, height = phone.area(TIME)
    x, y = left + width / 2, top + height / 2
    devtools = phone.page.context.new_cdp_session(phone.page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        devtools.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": px, "y": py, "id": k} for k, (px, py) in enumerate(points)]},
        )

    touch("touchStart", (x - 20, y), (x + 20, y))
    for apart in (40, 70, 100):
        touch("touchMove", (x - apart, y), (x + apart, y))
    touch("touchEnd")
    phone.until(lambda: "2·10⁶" not in texts(phone, TIME))
    zoomed, scrolled = texts(phone, TIME), phone.page.evaluate("scrollY")
    touch("touchStart", (x, y))
    for moved in (10, 40, 80, 120):
        touch("touchMove", (x, y - moved))
    touch("touchEnd")
    phone.until(lambda: phone.page.evaluate("scrollY") > scrolled)
    assert texts(phone, TIME) == zoomed
    press(phone, TIME, "0")
    phone.until(lambda: "2·10⁶" in texts(phone, TIME))


@pytest.mark.slow
def test_keys_show_values_and_zoom(desktop: Any) -> None:
    desktop.area(SIZE)
    assert desktop.chart(SIZE).get_attribute("aria-label").startswith("Chart.")
    for key, first in (("Home", "n: 8"), ("ArrowRight", "n: 16"), ("End", "n: 256"), ("ArrowLeft", "n: 128")):
        press(desktop, SIZE, key)
        assert tip(desktop).splitlines()[0] == first
    press(desktop, SIZE, "Escape")
    desktop.until(lambda: desktop.page.locator(".tip:visible").count() == 0)
    before = texts(desktop, SIZE)
    press(desktop, SIZE, "+")
    desktop.until(lambda: texts(desktop, SIZE) != before)
    press(desktop, SIZE, "0")
    desktop.until(lambda: texts(desktop, SIZE) == before)


def test_many_lines_are_named_at_their_ends_where_there_is_room_else_in_a_legend(desktop: Any, phone: Any) -> None:
    for visited in (desktop, phone):
        _, _, width, height = visited.area(GAP)
        boxes = (
            visited.chart(GAP)
            .locator("svg text")
            .evaluate_all(
                "all => all.map(e => [e.textContent, e.getBoundingClientRect().left, e.getBoundingClientRect().top])"
            )
        )
        left, top, _, _ = visited.area(GAP)
        named = {text: (x - left, y - top) for text, x, y in boxes if text in KEYS}
        assert set(named) == set(KEYS)
        is_at_ends = [x > 0.8 * width for x, _ in named.values()]
        is_below = [y > 0.75 * height for _, y in named.values()]
        assert all(is_at_ends) if visited is desktop else all(is_below)


def test_a_click_in_the_legend_hides_a_line_and_shows_it_again(desktop: Any) -> None:
    desktop.area(TIME)
    look = style_of("rank1-elim")
    name = desktop.chart(TIME).locator("svg text", has_text="Rank1Elim")
    name.click(force=True)
    desktop.until(lambda: look.colour not in colours(desktop, TIME))
    press(desktop, TIME, "End")
    assert "Rank1Elim" not in tip(desktop)
    name.click(force=True)
    desktop.until(lambda: look.colour in colours(desktop, TIME))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", ["desktop_page", "phone_page"])
@pytest.mark.sampled(1)
def test_words_of_a_chart_neither_collide_nor_leave_it(
    request: pytest.FixtureRequest, screen: str, scheme: str
) -> None:
    visited = restored(request.getfixturevalue(screen))
    visited.page.emulate_media(color_scheme=scheme)
    for number in range(5):
        left, top, width, height = visited.area(number)
        boxes = (
            visited.chart(number)
            .locator("svg text")
            .evaluate_all(
                "all => all.map(e => [e.getBoundingClientRect(), e.textContent])"
                ".map(([b, text]) => [b.left, b.top, b.right, b.bottom, text])"
            )
        )
        assert len(boxes) >= 5
        for k, (x0, y0, x1, y1, text) in enumerate(boxes):
            assert x0 >= left - 1, text
            assert x1 <= left + width + 1, text
            assert y0 >= top - 1, text
            assert y1 <= top + height + 1, text
            for other in boxes[:k]:
                is_apart = x0 >= other[2] or other[0] >= x1 or y0 >= other[3] - 2 or other[1] >= y1 - 2
                assert is_apart, (number, text, other[4])


def test_zero_on_a_logarithmic_axis_is_marked_at_its_foot(desktop: Any) -> None:
    _, top, _, height = desktop.area(ZERO)
    zeros = desktop.chart(ZERO).locator("svg text", has_text=re.compile("^0$"))
    assert zeros.count() == 4
    assert desktop.chart(ZERO).locator("svg text", has_text=re.compile("^oracle$")).count() == 1  # zeros alone
    assert all(box["y"] > top + 0.6 * height for box in (zero.bounding_box() for zero in zeros.all()))
    press(desktop, ZERO, "Home")
    assert "uts\t0\t0 to 0" in tip(desktop)


def test_hovering_leaves_hollow_markers_hollow(desktop: Any) -> None:
    left, top, width, height = desktop.area(ZERO)
    marker = ("#ffffff", style_of("rank1-thompson").colour)
    before = [pair for pair in attributes(desktop, ZERO) if pair == marker]
    assert len(before) >= 5
    for share in (0.2, 0.4, 0.6, 0.8):
        desktop.page.mouse.move(left + share * width, top + height / 2)
        assert tip(desktop)
        desktop.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert [pair for pair in attributes(desktop, ZERO) if pair == marker] == before


def test_what_users_typed_is_shown_as_it_was_typed(desktop: Any) -> None:
    desktop.page.on("dialog", lambda dialog: desktop.complaints.append(dialog.message))
    desktop.area(SIZE)
    assert desktop.page.title() == f"A study {HOSTILE}"
    assert {HOSTILE, "</script>"} <= {*texts(desktop, SIZE)}
    press(desktop, SIZE, "Home")
    assert HOSTILE in tip(desktop)
    assert desktop.chart(SIZE).locator("script").count() == 0


def test_a_choice_shows_one_chart_and_draws_what_is_selected(desktop: Any) -> None:
    select = desktop.page.get_by_label("Gap", exact=True)
    select.scroll_into_view_if_needed()
    shown = desktop.page.locator(".option:visible")
    desktop.until(lambda: shown.locator("svg").count() >= 1)
    assert shown.count() == 1
    assert shown.locator("h3").inner_text() == "Regret over time"
    select.select_option("gap 7")
    assert shown.locator("h3").inner_text() == "Regret over the gap"
    desktop.until(lambda: shown.locator(".canvas > div > svg").count() == 1)
    assert desktop.page.locator(".option .canvas").count() == 2  # the others are not drawn yet
    shown.locator("summary").click()
    assert shown.locator("table:visible").count() == 1


@pytest.mark.slow
def test_no_other_script_runs(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report)
    visited.page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)"
    )
    assert visited.page.evaluate("window.ran") is None
    visited.until(lambda: visited.complaints != [])
    assert len(visited.complaints) == 1
    assert "Content Security Policy" in visited.complaints.pop()


@pytest.mark.slow
def test_charts_are_drawn_when_they_come_near_and_all_of_them_for_paper(
    report: Path, visit: Callable[..., Any]
) -> None:
    visited = visit(report, color_scheme="dark")
    visited.area(TIME)
    drawn = visited.page.locator("[data-chart] .canvas > div > svg")
    assert 1 <= drawn.count() < 6
    visited.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert drawn.count() == 14  # of a choice the one that is shown
    look = style_of("rank1-elim")
    last = visited.page.locator("[data-chart]").count() - 1
    assert look.colour in colours(visited, last)
    assert look.dark not in colours(visited, TIME)
    visited.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert look.dark in colours(visited, TIME)
    visited.page.emulate_media(media="print")
    assert visited.page.locator(".contents:visible").count() == 0
    assert visited.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_without_scripts_the_numbers_of_all_charts_are_there(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report, java_script_enabled=False)
    assert visited.page.locator("figure > details.numbers table:visible").count() == 13
    assert visited.page.locator(".option > details:visible").count() == 30
    assert visited.page.locator("select:visible").count() == 0
    assert "Charts need scripts" in visited.page.locator("noscript").inner_text()


def test_numbers_are_written_as_in_python(desktop: Any) -> None:
    numbers = [0, 0.25, 1 / 3, 999.96, 1234.6, -20000, 1e6, 0.00012, 0.000012, 2.5e13, -1e-9, 1234567.891]
    for name, function in (("grouped", grouped), ("short", short)):
        written = desktop.page.evaluate(f"all => all.map(matchbanditCharts.{name})", numbers)
        assert written == [function(number) for number in numbers]
    assert desktop.page.evaluate("matchbanditCharts.short(null)") == short(float("nan"))
    for ticks, is_log in (([0, 5e5, 1e6, 2e6], False), ([1, 1e3, 1e6], True), ([0, 2e4], False), ([1e-4, 1], True)):
        script = "([all, log]) => all.map(v => matchbanditCharts.tickText(v, all[0], all.at(-1), log))"
        assert desktop.page.evaluate(script, [ticks, is_log]) == tick_labels(ticks, log=is_log)


def test_a_chart_can_be_drawn_anywhere_from_its_data(desktop: Any) -> None:
    desktop.page.evaluate(
        "chart => { const host = document.createElement('div'); host.id = 'live';"
        "document.querySelector('footer').append(host); matchbanditCharts.mount(host, chart); }",
        chart_data(over_gap()),
    )
    assert {*KEYS} <= {*desktop.page.locator("#live svg text").all_text_contents()}


def test_every_marker_and_dash_is_drawn(desktop: Any) -> None:
    x = np.array([1.0, 2.0])
    data = chart_data(Chart("all", "All", "x", "y", tuple(Line(marker, x, k * x) for k, marker in enumerate(MARKERS))))
    script = """chart => { const host = document.createElement('div'), drawn = ['d', 'stroke-dasharray'];
        document.querySelector('footer').append(host); matchbanditCharts.mount(host, chart);
        const all = [...host.querySelectorAll('path')].map(path => drawn.map(name => path.getAttribute(name)));
        host.remove(); return all; }"""

    def drawn(markers: Sequence[str], dashes: Sequence[str]) -> list[set[str | None]]:
        for line, marker, dash in zip(data["lines"], markers, cycle(dashes), strict=False):
            line.update(marker=marker, dash=dash)
        paths = desktop.page.evaluate(script, data)
        return [{shape for shape, _ in paths if shape.endswith("Z")}, {dash for _, dash in paths}]

    (shapes, dashes), (circles, solid) = drawn(MARKERS, DASHES), drawn(["circle"] * len(MARKERS), DASHES[:1])
    assert len(shapes - circles) == len(MARKERS) - 1
    assert len(dashes - solid) == len(DASHES) - 1


@pytest.mark.slow
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
        assert visited.page.locator("[data-chart]").nth(number).locator(".canvas > div > svg").count() == 1
    assert not [text for number in range(len(charts)) for text in texts(visited, number) if "NaN" in text]
