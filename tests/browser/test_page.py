"""Pages of charts and tables as a reader has them: in a real browser, on a desk and on a phone."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chart_examples import ALL, HOSTILE, KEYS, over_time, with_little

from matchbandit.figures.style import style_of
from matchbandit.lab.pages import Badge, Table, write_page

TIME, GAP, SIZE, ROWS, ZERO = range(5)
AXES = ("logarithmic x axis", "logarithmic y axis")


def template(folder: Path) -> dict[str, Any]:
    """What the page of a reproduction needs besides its figures."""
    versions = Table(("version", "of"), (("2.1.0", "numpy"),), "Versions")
    rows = tuple(
        (f"gap 0.{gap}", key, f"{1000 * k + gap:,} ± 12", Badge("best", "good") if k == 0 else Badge("undecided"))
        for gap in range(1, 6)
        for k, key in enumerate(KEYS)
    )
    summary = Table(("point", "policy", "mean", "verdict"), rows, "Results", group_by="point")
    return {"lead": "Some figures.", "summary": summary, "times": versions, "versions": versions}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    wide = Table(tuple(f"column {k}" for k in range(30)), (("12,345",) * 30,), "A wide table")
    figures = [{"chart": example(), "claims": wide} for example in ALL + (over_time,) * 8]
    context = template(folder) | {"title": f"A study {HOSTILE}", "figures": figures}
    return write_page(folder / "report.html", "reproduction.html", **context)


@pytest.fixture(scope="module")
def desktop_page(report: Path, visit_once: Callable[..., Any]) -> Any:
    return visit_once(report)


@pytest.fixture(scope="module")
def phone_page(report: Path, visit_once: Callable[..., Any]) -> Any:
    return visit_once(report, phone=True)


@pytest.fixture
def desktop(desktop_page: Any) -> Any:
    """The page on a wide screen, as it is when it was just opened."""
    return restored(desktop_page)


@pytest.fixture
def phone(phone_page: Any) -> Any:
    """The page on a phone, as it is when it was just opened."""
    return restored(phone_page)


def restored(visited: Any) -> Any:
    visited.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    if visited.page.viewport_size["width"] > 360:  # a phone has no mouse
        visited.page.mouse.move(0, 0)
    visited.page.emulate_media(color_scheme="light")
    return visited


def colours(visited: Any, number: int) -> set[str]:
    """The fills and strokes of what is drawn of a chart."""
    script = "all => all.flatMap(e => [e.getAttribute('fill'), e.getAttribute('stroke')])"
    return {*visited.chart(number).locator("svg path").evaluate_all(script)}


def texts(visited: Any, number: int) -> list[str]:
    return sorted(text for text in visited.chart(number).locator("svg text").all_text_contents() if text)


def tip(visited: Any) -> str:
    shown = visited.page.locator(".tip:visible")
    return str(shown.inner_text()) if shown.count() else ""


def test_hover_shows_the_values_of_all_series_at_the_nearest_position(desktop: Any) -> None:
    left, top, width, height = desktop.area(TIME)
    desktop.page.mouse.move(left + width / 2, top + height / 3)
    desktop.page.mouse.move(left + width / 2 + 2, top + height / 3)
    desktop.until(lambda: tip(desktop) != "")
    words = tip(desktop)
    number = int(words.splitlines()[0].removeprefix("round\t").replace(",", ""))
    assert 900_000 < number < 1_100_000
    assert f"Rank1Elim\t{number // 500:,} ({number // 1000:,} to {3 * number // 1000:,})" in words
    assert f"Pair-Elim\t{number // 1000:,}" in words
    desktop.page.mouse.move(left + width / 2, 0)
    desktop.until(lambda: tip(desktop) == "")


@pytest.mark.slow
def test_tap_on_a_phone_shows_values_and_nothing_is_wider_than_the_screen(phone: Any) -> None:
    for number in (TIME, GAP, SIZE, ZERO):
        left, top, width, height = phone.area(number)
        phone.page.touchscreen.tap(left + width * 0.7, top + height / 3)
        phone.until(lambda: tip(phone) != "")
        box = phone.page.locator(".tip:visible").bounding_box()
        assert 0 <= box["x"] <= 360 - box["width"]
        assert phone.fits()
        phone.page.locator("h1").tap()
        phone.until(lambda: tip(phone) == "")
    phone.page.locator("nav summary").click()
    assert phone.fits()


def test_dark_scheme_changes_the_colours_of_page_and_charts(desktop: Any) -> None:
    style = style_of("rank1-elim")
    desktop.area(TIME)
    desktop.until(lambda: style.colour in colours(desktop, TIME))
    desktop.page.emulate_media(color_scheme="dark")
    desktop.until(lambda: style.dark in colours(desktop, TIME))
    assert style.colour not in colours(desktop, TIME)
    assert desktop.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"


def test_axis_switch_changes_the_scale_and_back(desktop: Any) -> None:
    desktop.area(GAP)
    desktop.until(lambda: "10,000" in texts(desktop, GAP))
    before = texts(desktop, GAP)
    box = desktop.page.locator(".switches").nth(GAP).get_by_label(AXES[1])
    assert box.is_checked()
    assert not desktop.page.locator(".switches").nth(GAP).get_by_label(AXES[0]).is_checked()
    box.uncheck()
    desktop.until(lambda: {"0", "20,000", "60,000"} <= {*texts(desktop, GAP)})
    box.check()
    desktop.until(lambda: texts(desktop, GAP) == before)
    assert desktop.page.locator(".switches").nth(ROWS).locator("input").count() == 1


@pytest.mark.slow
def test_wheel_scrolls_the_page_and_zooms_with_ctrl_only(desktop: Any) -> None:
    left, top, width, height = desktop.area(GAP)
    desktop.page.mouse.move(left + width / 2, top + height / 2)
    before = texts(desktop, GAP), desktop.page.evaluate("scrollY")
    desktop.page.mouse.wheel(0, 60)
    desktop.until(lambda: desktop.page.evaluate("scrollY") > before[1])
    assert texts(desktop, GAP) == before[0]
    desktop.page.keyboard.down("Control")
    desktop.page.mouse.wheel(0, -400)
    desktop.page.keyboard.up("Control")
    desktop.until(lambda: texts(desktop, GAP) != before[0])
    desktop.page.mouse.dblclick(left + width / 2, top + height / 2)
    desktop.until(lambda: texts(desktop, GAP) == before[0])


@pytest.mark.slow
def test_one_finger_on_a_chart_scrolls_the_page(phone: Any) -> None:
    left, top, width, height = phone.area(TIME)
    x, y = left + width / 2, top + height / 2
    devtools = phone.page.context.new_cdp_session(phone.page)
    before = phone.page.evaluate("scrollY")
    for kind, points in (("touchStart", [y]), *(("touchMove", [y - by]) for by in (10, 40, 80, 120)), ("touchEnd", [])):
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": at} for at in points]})
    phone.until(lambda: phone.page.evaluate("scrollY") > before)


@pytest.mark.slow
def test_choice_in_the_legend_dims_other_series(desktop: Any) -> None:
    desktop.area(TIME)
    script = "all => all.map(e => Number(e.getAttribute('opacity') ?? 1))"
    lines = desktop.chart(TIME).locator("svg .mark-line path")
    desktop.until(lambda: lines.count() == 2)
    desktop.chart(TIME).locator("svg .role-legend-label text", has_text="Rank1Elim").click(force=True)
    desktop.until(lambda: sorted(lines.evaluate_all(script)) == [0.125, 1])
    desktop.chart(TIME).locator("svg .role-legend-label text", has_text="Rank1Elim").click(force=True)
    desktop.until(lambda: lines.evaluate_all(script) == [1, 1])


@pytest.mark.parametrize("screen", ["desktop_page", pytest.param("phone_page", marks=pytest.mark.slow)])
def test_words_of_a_chart_stay_inside_it_and_apart(request: pytest.FixtureRequest, screen: str) -> None:
    visited = restored(request.getfixturevalue(screen))
    script = """all => all.filter(e => e.textContent).map(
        e => [e.getBoundingClientRect(), e.textContent]).map(([b, text]) => [b.left, b.top, b.right, b.bottom, text])"""
    for number in range(5):
        left, top, width, height = visited.area(number)
        boxes = visited.chart(number).locator("svg text").evaluate_all(script)
        assert len(boxes) >= 5
        for k, (x0, y0, x1, y1, text) in enumerate(boxes):
            assert left - 1 <= x0 <= x1 <= left + width + 1, text
            assert top - 1 <= y0 <= y1 <= top + height + 1, text
            for a0, b0, a1, b1, other in boxes[:k]:
                assert x0 >= a1 or a0 >= x1 or y0 >= b1 - 3 or b0 >= y1 - 3, (number, text, other)


def test_table_is_sorted_within_groups_by_mouse_and_keyboard(desktop: Any) -> None:
    table = desktop.page.locator("table", has=desktop.page.get_by_text("Results", exact=True))
    first, mean = (table.get_by_role("button", name=name) for name in ("policy", "mean"))
    policies = table.locator("tbody tr:not(.group):visible > th")
    mean.click()
    mean.click()
    assert policies.all_text_contents() == [*KEYS[::-1]] * 5
    assert table.locator("th[aria-sort=descending]").count() == 1
    first.focus()
    desktop.page.keyboard.press("Enter")
    assert policies.all_text_contents() == sorted(KEYS) * 5
    assert table.locator(".group").all_text_contents() == [f"gap 0.{gap}" for gap in range(1, 6)]
    numbers = "['10⁶', '≈ 3', '2.5·10⁻¹²', '−20', '1,234 (5 to 6)', '12 %', '90 s', '2.5 min'].map(number)"
    assert desktop.page.evaluate(numbers) == [1e6, 3, 2.5e-12, -20, 1234, 12, 90, 150]


@pytest.mark.slow
def test_charts_are_drawn_when_they_come_near_and_light_for_paper(report: Path, visit: Callable[..., Any]) -> None:
    visited = visit(report, color_scheme="dark")
    visited.area(TIME)
    drawn = visited.page.locator(".chart svg")
    visited.until(lambda: drawn.count() > 0)
    assert drawn.count() < 6
    visited.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    visited.until(lambda: drawn.count() == 13)
    style = style_of("rank1-elim")
    visited.until(lambda: style.colour in colours(visited, 12) and style.dark not in colours(visited, TIME))
    visited.page.evaluate("dispatchEvent(new Event('afterprint'))")
    visited.until(lambda: style.dark in colours(visited, TIME))


@pytest.mark.slow
def test_charts_with_little_to_show_are_drawn_without_a_complaint(tmp_path: Path, visit: Callable[..., Any]) -> None:
    charts = with_little()
    figures = [{"chart": chart, "claims": Table(("a",), ())} for chart in charts]
    visited = visit(
        write_page(tmp_path / "a.html", "reproduction.html", title="a", figures=figures, **template(tmp_path))
    )
    for number in range(len(charts)):
        left, top, width, height = visited.area(number)
        visited.until(lambda number=number: visited.chart(number).locator("svg").count() == 1)
        visited.page.mouse.move(left + width / 2, top + height / 2)
        assert not re.search("NaN|undefined|null", " ".join(texts(visited, number)))
