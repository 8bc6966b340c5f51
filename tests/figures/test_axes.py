from itertools import combinations, pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import matchbandit as mb
from matchbandit.figures import AxisRule, Chart, Series, styles_of

POLICIES = ["pair-elim", "rank1-elim", "uts", "kl-ucb", "rank1-elim-kl"]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def line(label, x, y, **more):
    return Series(label, np.array(x, dtype=float), np.array(y, dtype=float), **more)


def curve(label, last, scale=1.0, *, points=60, **more):
    x = np.linspace(last / points, last, points)
    y = scale * np.log1p(x)
    return Series(label, x, y, 0.8 * y, 1.2 * y, **more)


def chart(*series, title="Regret over the rounds", **more):
    return Chart("name", title, "round", "regret", series, **more)


def texts_of(ax):
    """All text of a figure that is shown, with the box that each takes, in pixels."""
    figure = ax.figure
    figure.draw_without_rendering()
    found = [*figure.texts, *ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label]
    found += ax.get_legend().get_texts() if ax.get_legend() else []
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        found += [text for at, text in ticks if low <= at <= high]
    return [(text, mpl.text.Text.get_window_extent(text)) for text in found if text.get_text().strip()]


def refuse_collisions(ax):
    shown = texts_of(ax)
    width, height = ax.figure.bbox.size
    for text, box in shown:
        assert box.x0 >= 0 <= box.y0, text
        assert box.x1 <= (0.98 * width if text in ax.figure.texts else width), text
        assert box.y1 <= height, text
    for (one, a), (other, b) in combinations(shown, 2):
        assert not a.overlaps(b), (one, other)


def words(ax):
    return [text.get_text() for text, _ in texts_of(ax)]


def tick_words(ax, axis="x"):
    low, high = sorted(getattr(ax, f"get_{axis}lim")())
    labels = getattr(ax, f"{axis}axis").get_ticklabels()
    return [label.get_text() for label in labels if low <= label.get_position()[axis == "y"] <= high]


GROWTHS = (1.05, 1.1, 1.15, 1.2, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0)
LONG = "a name that is far too long for the margin, and goes on"
CHARTS = {
    "rounds": chart(curve("a", 2e5), curve("b", 2e5, 3), caption="5 runs, seed 1."),
    "below 0": chart(line("a", [-3, -1, 2], [-4000, 200, 20_000])),
    "powers": chart(line("a", [1, 1e12], [1e-5, 1e9]), x_log=True, y_log=True),
    "within a power": chart(line("a", [21_000_001, 78_000_000], [1.1, 1.4]), x_log=True, y_log=True),
    "few ticks": chart(line("a", GROWTHS, GROWTHS), x_ticks=GROWTHS),
    "one point": chart(line("a", [5], [7]), x_log=True, y_log=True),
    "nothing": chart(caption="There is nothing here.", y_log=True),
    "all end together": chart(*(curve(f"{k}: {LONG if k % 2 else 'short'}", 1e4, 1 + k / 1e4) for k in range(9))),
    "names inside": chart(*(line(f"{k} above {k + 1}", [0, 100 + 3 * k], [0, 5 + k / 9]) for k in range(6)),
                          line("the longest", [0, 1000], [0, 3])),
    "a long legend": chart(*(curve(f"{name}, {LONG}", 1e4, k + 1, key=name) for k, name in enumerate(POLICIES[:3])),
                           title=f"{LONG}: {LONG}", caption=f"{LONG}. {LONG}. {LONG}; 20 runs, seed 7."),
    "long words": chart(*(curve(f"{k}{'x' * 90}", 1e4, k + 1) for k in range(4))),
    "signs": chart(*(curve(f"${k}_{{x$", 1e4, k + 1, key="uts") for k in range(3)), title="$_{", caption="$5 & $6"),
    "many": chart(*(curve(f"policy {k}", 1e4, k + 1) for k in range(12))),
    "long categories": chart(line(LONG, [0], [3], kind="points"), categories=(LONG, "x" * 90)),
    "rules": chart(curve("a", 1e5), rules=(*(AxisRule(1e4 + 500 * k, f"window {k} ends") for k in range(4)),
                                           AxisRule(1e5, "the end of the last"),
                                           AxisRule(5, "a level", axis="y"), AxisRule(5.1, "another", axis="y"))),
    "categories": chart(*(line(name, [k], [30 * 10**k], low=np.array([20 * 10**k]), high=np.array([50 * 10**k]),
                               key=name, kind="points") for k, name in enumerate(POLICIES)),
                        categories=tuple(POLICIES), y_log=True),
}  # fmt: skip


@pytest.mark.parametrize("name", CHARTS)
def test_plot_overlaps_no_text_and_cuts_none_off(name):
    ax = CHARTS[name].plot()
    refuse_collisions(ax)
    assert not CHARTS[name].caption or CHARTS[name].caption in " ".join(words(ax)).replace("\xa0", " ").replace(
        "\n", " "
    )


def test_plot_has_short_ticks_and_keeps_those_that_are_given():
    assert tick_words(CHARTS["rounds"].plot()) == ["0", "50,000", "100,000", "150,000", "200,000"]
    assert {"1", "10⁶"} <= set(tick_words(CHARTS["powers"].plot()))
    narrow = plt.figure(figsize=(4.5, 3)).add_subplot()
    ticks = tick_words(chart(line("a", [1e4, 1e12], [1, 2]), x_log=True).plot(narrow))
    assert (ticks[0], ticks[-1]) == ("10⁴", "10¹²")
    assert len(tick_words(CHARTS["within a power"].plot())) >= 3
    ax = CHARTS["few ticks"].plot()
    assert ax.get_xticks().tolist() == list(GROWTHS)
    labels = tick_words(ax)
    assert (labels[0], labels[-1]) == ("1.05", "16")
    assert "" in labels


def test_plot_of_more_than_three_lines_names_them_at_their_ends():
    three = chart(*(curve(name, 1e4, k + 1, key=name) for k, name in enumerate(POLICIES[:3]))).plot()
    assert [text.get_text() for text in three.get_legend().get_texts()] == POLICIES[:3]
    inside = CHARTS["names inside"].plot()
    assert len(inside.get_legend().get_texts()) == 6
    assert "the longest" in words(inside)
    published = [line("published", [9], [k], key=name, kind="points") for k, name in enumerate(POLICIES)]
    five = chart(*(curve(name, 1e4, k + 1, key=name) for k, name in enumerate(POLICIES)), *published)
    ax = five.plot()
    named = {text.get_text(): (text.get_color(), box) for text, box in texts_of(ax)}
    for look, name in zip(styles_of(five), POLICIES, strict=False):
        assert named[name][0] == look.colour
        assert named[name][1].x0 > ax.get_window_extent().x1
    assert all(a < b for a, b in pairwise(named[name][1].y0 for name in POLICIES))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["published"]


def test_plot_draws_lines_bands_and_points_where_the_numbers_are():
    ours = curve("ours", 100.0, points=10, key="uts")
    theirs = line(
        "published", [50, 100], [3, 4], low=np.array([2.5, 3]), high=np.array([4, 4.5]), kind="points", is_hollow=True
    )
    ax = chart(ours, theirs, line("", [20], [2], kind="cloud")).plot()
    assert np.array_equal(ax.lines[0].get_xydata(), np.array([ours.x, ours.y]).T)
    corners = {tuple(corner) for corner in ax.collections[0].get_paths()[0].vertices}
    assert {(x, y) for part in (ours.low, ours.high) for x, y in zip(ours.x, part, strict=True)} <= corners
    (bars,) = ax.containers
    assert bars.lines[0].get_xydata().tolist() == [[50, 3], [100, 4]]
    assert bars.lines[0].get_markerfacecolor() == "none"  # what lies below is seen
    assert [part.tolist() for part in bars.lines[2][0].get_segments()] == [
        [[50, 2.5], [50, 4]],
        [[100, 3], [100, 4.5]],
    ]
    assert ax.get_ylim()[0] == 0  # regret is drawn from 0
    assert chart(ours, y_range=(1.0, 2.0)).plot().get_ylim() == (1.0, 2.0)


def test_plot_of_categories_has_rows_from_top_to_bottom():
    ax = CHARTS["categories"].plot()
    assert tick_words(ax, "y") == POLICIES
    assert ax.yaxis_inverted()
    few = chart(line("a", [0, 1], [1, 2], kind="points"), categories=("a", "b")).plot()
    for drawn in (ax, few):
        drawn.figure.draw_without_rendering()
    assert 2 < ax.get_window_extent().height / few.get_window_extent().height < 2.5  # each category has its space
    assert ax.get_xscale() == "log"
    assert [bars.lines[0].get_xydata()[0].tolist() for bars in ax.containers][:2] == [[30, 0], [300, 1]]
    colours = [label.get_color() for label in ax.yaxis.get_ticklabels()]
    assert colours == [look.colour for look in styles_of(CHARTS["categories"])]


def test_plot_on_a_logarithmic_axis_marks_zeros_and_does_not_collapse():
    x = np.array([1.0, 10, 100, 1000])
    late = line("late", x, [0, 0, 5, 50], low=np.zeros(4), high=np.array([1e-9, 1, 9, 90]), key="uts")
    soon = line("soon", x, np.sqrt(x), key="rank1-thompson", is_hollow=True)
    ax = chart(late, soon, x_log=True, y_log=True).plot()
    zero = dict(zip(tick_words(ax, "y"), ax.get_yticks(), strict=False))["0"]
    assert ax.lines[0].get_ydata().tolist() == [zero, zero, 5, 50]
    assert 0.05 < zero < 0.5
    assert ax.get_ylim()[0] > 0.05
    refuse_collisions(ax)
    many = [Series(f"policy {k}", np.geomspace(1, 1e4, 40), k * np.ones(40), key="uts") for k in range(6)]
    ax = chart(*many, y_log=True).plot()
    assert "policy 0" in words(ax)
    refuse_collisions(ax)
    across = line("a", [0, 1], [0, 7], key="uts", kind="points")
    ax = chart(across, y_log=True, categories=("one", "two")).plot()
    assert tick_words(ax)[0] == "0"
    refuse_collisions(ax)


def test_plot_on_a_users_axes_leaves_their_figure_and_makes_room_for_names():
    figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained", sharey="row")
    crowded = chart(*(curve(name, 1e4, k + 1, key=name) for k, name in enumerate(POLICIES)), x_log=True, y_log=True)
    assert crowded.plot(axes[0, 0]) is axes[0, 0]
    chart(curve("a", 1e4, 0.1)).plot(axes[0, 1])
    for ax, name in zip(axes[1], ("signs", "categories"), strict=True):
        CHARTS[name].plot(ax)
    figure.draw_without_rendering()
    assert figure.get_size_inches().tolist() == [9, 7]
    assert (axes[0, 0].get_title(), axes[0, 0].get_ylabel()) == ("Regret over the rounds", "regret")
    room = axes[0, 1].get_tightbbox().x0
    assert all(text.get_window_extent().x1 < room for text in axes[0, 0].texts)
    assert axes[0, 1].get_ylim()[1] > 5 * np.log(1e4)  # the shared axis still shows the others' lines
    chart(curve("a", 1e4, 9)).plot(twice := plt.figure().add_subplot())
    chart(curve("b", 1e3)).plot(twice)
    assert (twice.get_xlim()[1], twice.get_ylim()[1]) > (1e4, 9 * np.log(1e4))


def test_plot_on_dark_axes_takes_the_colours_for_them():
    with plt.style.context("dark_background"):
        ax = CHARTS["rounds"].plot(plt.figure().add_subplot())
    assert [part.get_color() for part in ax.lines] == [look.dark for look in styles_of(CHARTS["rounds"])]


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_save_gives_the_same_bytes_whatever_the_users_settings(tmp_path, kind):
    file = tmp_path / f"a.{kind}"
    assert CHARTS["rounds"].save(file) == file
    first = file.read_bytes()
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "svg.hashsalt": "other", "axes.grid": True}):
        CHARTS["rounds"].save(str(file))
        assert mpl.rcParams["font.size"] == 30
    assert file.read_bytes() == first
    assert b"CreationDate" not in first
    assert not plt.get_fignums()  # pyplot knows nothing of it
    assert CHARTS["rounds"]._repr_png_().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_plot_of_what_is_not_proved_has_hollow_markers():
    proved, other = line("uts", [1, 2], [1, 2], key="uts"), line("cucb", [1, 2], [2, 3], key="cucb", is_hollow=True)
    filled, hollow = (drawn for drawn in chart(proved, other).plot().lines if len(drawn.get_xdata()) == 2)
    assert filled.get_markerfacecolor() == filled.get_color()
    assert hollow.get_markerfacecolor() != hollow.get_color()


def test_plot_on_an_array_of_axes_is_refused():
    with pytest.raises(mb.MatchbanditError, match=r"one Axes; got ndarray. Give one of them, such as axes\[0\]"):
        chart(curve("a", 100)).plot(plt.subplots(2)[1])
