"""A study's report as its reader has it."""

from io import BytesIO

import pytest
from PIL import Image

from matchbandit.studies import Study, report


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "gaps"
    study = Study(
        name="gaps",
        problem={"family": "spiked", "n": 3, "u1": 0.9, "gap": [0.5, 0.6, 0.7]},
        policies=["uniform", {"name": "pair-elim", "growth": [1.05, 4]}, "rank1-elim"],
        horizon=3000,
        runs=4,
        seed=7,
    )
    study.run(folder, workers=1)
    return report(folder)


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.slow
def test_a_report_tells_values_and_fits_the_screen(page, visit, phone):
    visited = visit(page, phone=phone)
    assert visited.page.locator("h2").all_text_contents() == [
        "Charts", "Results", "Differences between policies", "Settings", "Times", "Versions",
    ]  # fmt: skip
    points = visited.page.locator("select option").all_text_contents()
    assert points == ["gap = 0.5", "gap = 0.6", "gap = 0.7"]
    for number in range(visited.page.locator("[data-chart]").count()):
        if number:
            visited.page.select_option("select", points[number - 1])
        left, top, width, height = visited.area(number)
        touched = visited.page.touchscreen.tap if phone else visited.page.mouse.move
        touched(left + width * 0.4, top + height * 0.5)
        tip = visited.page.locator("[data-chart]").nth(number).locator(".tip:visible")
        visited.until(lambda tip=tip: tip.count() == 1)
        told = tip.inner_text()
        for policy in ("uniform", "pair-elim, growth = 1.05", "pair-elim, growth = 4", "rank1-elim"):
            assert policy in told
        assert visited.fits()
    for numbers in visited.page.locator("details.numbers > summary:visible").all():
        numbers.click()
    assert visited.fits()
    assert visited.page.locator("details.numbers table:visible").count() == visited.page.locator("figure").count() == 2
    assert visited.page.locator("section:nth-of-type(2) .badge", has_text="best").count() >= len(points)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_wide_table_shows_at_which_side_it_goes_on(page, visit, scheme):
    visited = visit(page, phone=True, color_scheme=scheme)
    table = visited.page.locator("section:nth-of-type(2) .scroll").first
    assert table.evaluate("element => element.scrollWidth > element.clientWidth")

    def shaded():
        """Are the left and the right edge of the last row, below its text, another colour than the paper?"""
        picture = Image.open(BytesIO(table.screenshot())).convert("L")
        width, y = picture.width, picture.height - 8
        paper = picture.getpixel((width // 2, y))
        return tuple(abs(picture.getpixel((x, y)) - paper) > 20 for x in (4, width - 5))

    assert shaded() == (False, True)
    table.evaluate("element => element.scrollLeft = 60")
    assert shaded() == (True, True)
    table.evaluate("element => element.scrollLeft = element.scrollWidth")
    assert shaded() == (True, False)
    assert visited.fits()
