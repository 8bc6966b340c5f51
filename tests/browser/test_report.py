"""The report of a real study as its reader has it, on a desk and on a phone."""

import pytest

from matchbandit.lab.studies.report import report
from matchbandit.lab.studies.study import Study


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    study = Study(
        name="gaps",
        problem={"family": "spiked", "n": 3, "u1": 0.9},
        policies=["uniform", "pair-elim", "rank1-elim"],
        sweep={"gap": [0.5, 0.6, 0.7], "pair-elim.growth": [1.05, 4]},
        horizon=300,  # so short that a mean is 136 ± 16, which a careless sort takes for 13,616
        runs=4,
        seed=7,
    )
    return report(study.run(tmp_path_factory.mktemp("report") / "gaps", workers=1).path)


@pytest.mark.slow
@pytest.mark.parametrize("screen", [{"viewport": {"width": 1000, "height": 800}}, {"phone": True}])
def test_report_shows_curves_of_the_selected_position_and_sorts_results_within_positions(page, visit, screen):
    visited = visit(page, **screen)
    choice = visited.page.locator(".choice").first
    for position in ("gap = 0.5", "gap = 0.7"):
        choice.locator("select").select_option(position)
        assert choice.locator("h3:visible").inner_text().endswith(f"over the rounds, {position}")
        choice.locator(".chart:visible").scroll_into_view_if_needed()
        visited.until(lambda: choice.locator(".chart:visible svg").count() == 1)
    _, top, _, height = visited.area(0)
    names = visited.chart(0).locator(".role-legend-label text").all()
    assert len(names) == 4
    assert all(name.bounding_box()["y"] + 8 < top + height for name in names)
    assert visited.fits()

    results = visited.page.locator("table", has_text="Results: one pair per round").first
    first = results.locator("tbody tr:not(.group)").first
    if "phone" in screen:  # policy, mean and verdict are on the screen without scrolling sideways
        box = first.locator(".badge").bounding_box()
        assert box["x"] + box["width"] <= 360
    groups = results.locator(".group").all_inner_texts()
    assert groups == ["gap = 0.5", "gap = 0.6", "gap = 0.7"]
    assert first.locator(".badge").inner_text() == "best"
    head = results.locator("thead button", has_text="mean regret")
    head.click()
    head.click()  # the worst first
    means = results.locator("tbody").first.locator("tr:not(.group) td:nth-child(2)").all_inner_texts()
    numbers = [float(mean.split("±")[0].replace(",", "")) for mean in means]
    assert numbers == sorted(numbers, reverse=True)
    assert results.locator(".group").all_inner_texts() == groups
    assert visited.fits()
