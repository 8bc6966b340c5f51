"""Charts of every kind, for tests of what draws them."""

import numpy as np

from matchbandit.figures import AxisRule, Chart, Series

HOSTILE = "<script>alert(1)</script>"
KEYS = ("uts", "pair-elim", "rank1-elim", "kl-ucb", "rank1-thompson", "rank1-certify")


def over_time() -> Chart:
    """Two long lines and published points; rounds 20 000, …, 2 000 000; regrets round/1000 and 2·round/1000."""
    rounds = np.arange(1, 101) * 2e4
    fast, slow, points = rounds / 1000, rounds / 500, rounds[9::10]
    published = points / 900, points / 1100, points / 800
    series = (
        Series("Pair-Elim", rounds, fast, 0.9 * fast, 1.2 * fast, key="pair-elim"),
        Series("Rank1Elim", rounds, slow, 0.5 * slow, 1.5 * slow, key="rank1-elim"),
        Series("published", points, *published, key="pair-elim", kind="points", is_hollow=True),
    )
    rules = (
        AxisRule(5e5, "first window"),
        AxisRule(5.6e5, "second window"),
        AxisRule(2e6, "the end of the last window"),
    )
    caption = "Mean and 5–95 % of 100 runs."
    return Chart("over-time", "Regret over time", "round", "regret", series, caption, rules=rules)


def over_gap() -> Chart:
    """Six policies and a bound on a logarithmic axis; the lower ends of the first band are 0."""
    gaps = np.arange(1, 9) / 10
    means = [10.0 ** (1 + k / 2) / gaps for k in range(len(KEYS))]
    lows = [0 * means[0], *(mean / 2 for mean in means[1:])]
    series = [Series(key, gaps, mean, low, 2 * mean, key=key) for key, mean, low in zip(KEYS, means, lows, strict=True)]
    bound = Series("lower bound", gaps[[0, -1]], np.array([50.0, 5.0]), kind="reference")
    rules, ticks = (AxisRule(100.0, "one hundred", "y"),), tuple(gaps.tolist())
    return Chart(
        "gap", "Regret over the gap", "gap Δ", "regret", (*series, bound), y_log=True, x_ticks=ticks, rules=rules
    )


def over_size() -> Chart:
    """Names that a page must not read as HTML."""
    sizes = 2.0 ** np.arange(3, 9)
    series = (
        Series(HOSTILE, sizes, sizes**2, sizes, sizes**3, key="my:Policy"),
        Series("</script>", sizes, sizes**1.5),
    )
    ticks = tuple(sizes.tolist())
    return Chart("over-n", HOSTILE, "n", "regret", series, "</script>", x_log=True, y_log=True, x_ticks=ticks)


def in_rows() -> Chart:
    """Three instances from top to bottom, with a cloud of single runs."""
    rows, names = np.arange(3.0), ("spiked", "a family with a name as long as they come", "uniform")
    means = np.array([1e3, 2e4, 3e5])
    series = (
        Series("matching-id", rows, means, means / 2, means * 2, key="matching-id", kind="points"),
        Series("", np.repeat(rows, 9), np.repeat(means, 9), key="matching-id", kind="cloud"),
    )
    rules = (AxisRule(1e4, "bound", "y"),)
    return Chart("rows", "Rounds", "instance", "rounds", series, y_log=True, categories=names, rules=rules)


def from_zero() -> Chart:
    """Regret that is 0 at the first positions of logarithmic axes, or always; a policy without a proof."""
    rounds = 10.0 ** np.arange(5)
    late = np.array([0.0, 0, 0, 40, 90])
    series = (
        Series("uts", rounds, late, late / 2, late * 2, key="uts"),
        Series("mine", rounds, rounds**0.5, key="rank1-thompson", is_hollow=True),
        Series("oracle", rounds[-1:], np.zeros(1), key="escb"),
    )
    return Chart("zero", "Regret from zero", "round", "regret", series, x_log=True, y_log=True)


ALL = (over_time, over_gap, over_size, in_rows, from_zero)


def with_little() -> list[Chart]:
    """Charts with nothing to show, or nearly so, on axes of both kinds."""
    none, one, two = np.array([]), np.array([5.0]), np.array([0.0, 1.0])
    nan, level = np.array([np.nan, np.nan]), np.array([3.0, 3.0])
    families = {
        "nothing": (),
        "empty": (Series("a", none, none),),
        "a point": (Series("a", one, one, one, one), Series("b", one, one, kind="points")),
        "not a number": (Series("a", two, nan, nan, nan), Series("b", two, nan, nan, nan, kind="points")),
        "level": (Series("a", two, level, level, level),),
        "zero": (Series("a", two, 0 * two, 0 * two, 0 * two),),
        "below": (Series("a", -two, -level, -level, 0 * two),),
    }
    return [
        Chart(f"{name}-{log}", f"{name} {log}", "x", "y", series, x_log=log, y_log=log, rules=(AxisRule(0.0, "m"),))
        for name, series in families.items()
        for log in (False, True)
    ]
