import io
from itertools import combinations, pairwise

import numpy as np
import pytest

from matchbandit.figures import Chart, Line, Mark, draw, styles_of
from matchbandit.figures.matplotlib_renderer import WIDTH, Picture

POLICIES = ["pair-elim", "rank1-elim", "uts", "kl-ucb", "rank1-elim-kl"]


def line(label, x, y, **more):
    return Line(label, np.array(x, dtype=float), np.array(y, dtype=float), **more)


def curve(label, last, scale=1.0, *, points=60, **more):
    x = np.linspace(last / points, last, points)
    y = scale * np.log1p(x)
    return Line(label, x, y, 0.8 * y, 1.2 * y, **more)


def chart(*lines, title="Regret over the rounds", **more):
    return Chart("name", title, "round", "regret", lines, **more)


def texts_of(picture):
    """All words of a picture that are shown, with the box that each takes, in pixels."""
    (axes,) = picture.axes
    found = list(picture.texts)
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        found += [text for at, text in ticks if min(low, high) <= at <= max(low, high)]
    renderer = picture.canvas.get_renderer()
    return [(text, text.get_window_extent(renderer)) for text in found if text.get_text().strip()]


def refuse_collisions(picture):
    shown = texts_of(picture)
    width, height = picture.get_size_inches() * picture.dpi
    for text, box in shown:
        assert box.x0 >= 0 <= box.y0, text
        assert box.x1 <= width, text
        assert box.y1 <= height, text
    for (one, a), (other, b) in combinations(shown, 2):
        assert not a.overlaps(b), (one, other)


def words(picture):
    return [text.get_text() for text, _ in texts_of(picture)]


def tick_words(picture, axis="x"):
    labels = getattr(picture.axes[0], f"{axis}axis").get_ticklabels()
    return [label.get_text().replace("\u2009", " ") for label in labels]


GROWTHS = (1.05, 1.1, 1.15, 1.2, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0)
LONG = "a name that is far too long for the margin, and goes on"
CHARTS = {
    "rounds": chart(curve("a", 2e5), curve("b", 2e5, 3)),
    "many rounds": chart(curve("a", 3e6, 1e6)),
    "few rounds": chart(curve("a", 7.0, 1e-5)),
    "below 0": chart(line("a", [-3, -1, 2], [-4000, 200, 20_000])),
    "powers": chart(line("a", [1, 1e12], [1e-5, 1e9]), x_log=True, y_log=True),
    "within a power": chart(line("a", [21, 78], [1.1, 1.4]), x_log=True, y_log=True),
    "large numbers within a power": chart(line("a", [21_000_001, 78_000_000], [1, 2]), x_log=True),
    "ticks that are given": chart(line("a", GROWTHS, GROWTHS), x_ticks=GROWTHS),
    "places that are few": chart(line("a", [0.5, 0.6, 0.7, 0.8], [1, 2, 3, 4]), x_ticks=(0.5, 0.6, 0.7, 0.8)),
    "one point": chart(line("a", [5], [7])),
    "one point among powers": chart(line("a", [5], [7]), x_log=True, y_log=True),
    "nothing": chart(caption="There is nothing here."),
    "all end together": chart(*(curve(f"{k}: {LONG if k % 2 else 'short'}", 1e4, 1 + k / 1e4) for k in range(9))),
    "names inside": chart(*(line(f"{k} above {k + 1}", [0, 100 + 3 * k], [0, 5 + k / 9]) for k in range(6)),
                          line("the longest", [0, 1000], [0, 3])),
    "long names inside": chart(*(line(f"{k}: {LONG}", [0, 300], [0, 5 + k]) for k in range(3)),
                               line("the longest", [0, 1000], [0, 3])),
    "a long legend": chart(*(curve(f"{name}, {LONG}", 1e4, k + 1, key=name) for k, name in enumerate(POLICIES[:3])),
                           title=f"{LONG}: {LONG}", caption=f"{LONG}. {LONG}. {LONG}; 20 runs, seed 7."),
    "long words": chart(*(curve(f"{k}{'x' * 90}", 1e4, k + 1) for k in range(4)), title="y" * 120, caption="z" * 200),
    "long words in a legend": chart(*(curve(f"{k}{'x' * 90}", 1e4, k + 1) for k in range(3))),
    "long words in rows": chart(line(f"{LONG} (of these)", [0], [3], kind="points"),
                                rows=(f"{LONG} (of these)", "x" * 90)),
    "strong lines": chart(*(curve(f"{name}, {name} (no proof)", 1e4, k + 1, key=name, strong=True)
                            for k, name in enumerate(POLICIES))),
    "marks": chart(curve("a", 1e5), marks=(*(Mark(1e4 + 500 * k, f"window {k} ends") for k in range(4)),
                                           Mark(5, "a level", axis="y"), Mark(5.1, "another", axis="y"))),
    "rows": chart(*(line(name, [k], [30 * 10**k], low=np.array([20 * 10**k]), high=np.array([50 * 10**k]), key=name,
                         kind="points") for k, name in enumerate(POLICIES)), rows=tuple(POLICIES), y_log=True),
}  # fmt: skip


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.sampled(7)
def test_no_two_words_meet_and_none_leaves_the_picture(name):
    refuse_collisions(draw(CHARTS[name]))


def test_ticks_are_short_and_readable():
    rounds = draw(CHARTS["rounds"])
    assert tick_words(rounds) == ["0", "50,000", "100,000", "150,000", "200,000"]
    powers = draw(CHARTS["powers"])
    assert tick_words(powers)[0] == "1"
    assert {"10⁶", "10¹²"} & set(tick_words(powers))
    assert draw(CHARTS["places that are few"]).axes[0].get_xticks().tolist() == [0.5, 0.6, 0.7, 0.8]
    given = draw(CHARTS["ticks that are given"])
    assert given.axes[0].get_xticks().tolist() == list(GROWTHS)
    assert tick_words(given)[0] == "1.05"
    assert tick_words(given)[-1] == "16"
    assert "" in tick_words(given)


def test_up_to_three_lines_have_a_legend_and_more_have_names_at_their_ends():
    three = draw(chart(*(curve(name, 1e4, k + 1, key=name) for k, name in enumerate(POLICIES[:3]))))
    assert set(POLICIES[:3]) <= set(words(three))
    assert {text.get_color() for text, _ in texts_of(three) if text.get_text() in POLICIES} == {"#222222"}
    five = chart(*(curve(name, 1e4, k + 1, key=name) for k, name in enumerate(POLICIES)))
    picture = draw(five)
    named = {text.get_text(): (text.get_color(), box) for text, box in texts_of(picture)}
    right = picture.axes[0].get_window_extent().x1
    for look, name in zip(styles_of(five), POLICIES, strict=True):
        colour, box = named[name]
        assert colour == look.colour
        assert box.x0 > right
    heights = [named[name][1].y0 for name in POLICIES]
    assert all(a < b for a, b in pairwise(heights))  # in the order in which the lines end


def test_published_points_are_explained_once_and_stand_among_names_at_the_ends_too():
    published = [line("published", [1e4], [k], key=name, kind="points", hollow=True) for k, name in enumerate(POLICIES)]
    picture = draw(chart(*(curve(name, 1e4, k + 1, key=name) for k, name in enumerate(POLICIES)), *published))
    assert words(picture).count("published") == 1
    refuse_collisions(picture)


def test_lines_bands_and_points_are_where_the_numbers_are():
    ours = curve("ours", 100.0, points=10, key="uts")
    theirs = line(
        "published", [50, 100], [3, 4], low=np.array([2.5, 3]), high=np.array([4, 4.5]), kind="points", hollow=True
    )
    (axes,) = draw(chart(ours, theirs)).axes
    drawn = [part for part in axes.get_lines() if len(part.get_xdata()) == 10]
    assert np.array_equal(drawn[0].get_xydata(), np.array([ours.x, ours.y]).T)
    (band,) = [part for part in axes.collections if type(part).__name__ == "FillBetweenPolyCollection"]
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
    assert {(x, y) for x, y in zip(ours.x, ours.low, strict=True)} <= corners
    assert {(x, y) for x, y in zip(ours.x, ours.high, strict=True)} <= corners
    (bars,) = axes.containers
    assert bars.lines[0].get_xydata().tolist() == [[50, 3], [100, 4]]
    assert bars.lines[0].get_markerfacecolor() == "none"  # what lies below is seen
    assert [segment.tolist() for segment in bars.lines[2][0].get_segments()] == [
        [[50, 2.5], [50, 4]],
        [[100, 3], [100, 4.5]],
    ]


def test_a_caption_is_not_broken_inside_a_number_with_its_name():
    picture = draw(
        chart(line("a", [1], [1]), caption=" ".join(f"n = {k}, seed {k}, {k} runs, 5–95 %." for k in range(99)))
    )
    small = [text.get_text().split(" ") for text in picture.texts if text.get_fontsize() < 9]
    assert len(small) > 10
    assert not [parts for parts in small if parts[-1] in ("n", "=", "seed") or parts[0] in ("=", "%.", "runs,")]


def test_regret_is_drawn_from_0_and_a_range_that_is_given_is_kept():
    assert draw(CHARTS["rounds"]).axes[0].get_ylim()[0] == 0
    assert draw(chart(curve("a", 9.0), y_range=(1.0, 2.0))).axes[0].get_ylim() == (1.0, 2.0)


def test_rows_lie_from_top_to_bottom_with_what_is_measured_across():
    picture = draw(CHARTS["rows"])
    (axes,) = picture.axes
    assert tick_words(picture, "y") == POLICIES
    assert axes.yaxis_inverted()
    assert axes.get_xscale() == "log"
    assert [bars.lines[0].get_xydata()[0].tolist() for bars in axes.containers][:2] == [[30, 0], [300, 1]]
    colours = [label.get_color() for label in axes.yaxis.get_ticklabels()]
    assert colours == [look.colour for look in styles_of(CHARTS["rows"])]


def test_a_picture_is_as_wide_as_all_others_and_shows_itself_in_a_notebook():
    picture = draw(CHARTS["one point"])
    assert isinstance(picture, Picture)
    assert picture.chart is CHARTS["one point"]
    assert picture.get_size_inches()[0] == WIDTH
    assert picture._repr_png_().startswith(b"\x89PNG")


def test_zeros_on_a_logarithmic_axis_are_marked_at_its_foot():
    x = np.array([1.0, 10, 100, 1000])
    late = Line("late", x, np.array([0.0, 0, 5, 50]), key="uts")
    soon = Line("soon", x, np.sqrt(x), key="rank1-thompson", hollow=True)
    picture = draw(Chart("zero", "Regret", "round", "regret", (late, soon), x_log=True, y_log=True))
    marked = [dots.get_offsets()[:, 0].tolist() for dots in picture.axes[0].collections if len(dots.get_offsets())]
    assert marked == [[1.0, 10.0]]
    assert [text.get_text() for text in picture.axes[0].texts] == ["0"]
    refuse_collisions(picture)
    assert not draw(Chart("no zero", "Regret", "round", "regret", (soon,), y_log=True)).axes[0].texts


def test_a_line_of_zeros_alone_is_drawn_and_named_on_a_logarithmic_axis():
    x = np.geomspace(1, 1e4, 40)  # more points than markers
    lines = [Line(f"policy {k}", x, k * np.sqrt(x), key="uts") for k in range(6)]  # named beside their ends
    picture = draw(Chart("zero", "Regret", "round", "regret", tuple(lines), x_log=True, y_log=True))
    picture.savefig(io.BytesIO())
    assert "policy 0" in [text.get_text() for text in picture.texts]
    refuse_collisions(picture)


def test_zeros_in_rows_are_marked_at_the_left():
    line = Line("a", np.array([0.0, 1.0]), np.array([0.0, 7.0]), key="uts", kind="points")
    picture = draw(Chart("rows", "Rounds", "", "rounds", (line,), y_log=True, rows=("one", "two")))
    (dots,) = (dots for dots in picture.axes[0].collections if len(dots.get_offsets()))
    assert dots.get_offsets()[:, 1].tolist() == [0.0]
    refuse_collisions(picture)
