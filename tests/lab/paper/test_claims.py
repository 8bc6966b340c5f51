import numpy as np
import pytest

from matchbandit.lab.paper import claims
from matchbandit.lab.paper.claims import agree, is_clearly_below, lie_in_range, published, ratio, ratio_grows
from matchbandit.lab.tables import RunTable

SAM = "simple-adaptive-matching"
POSITIONS = (0.5, 0.6, 0.7, 0.8)


def table(rows):
    """A table of these rows, of seed 0 unless they say otherwise."""
    rows = [{"seed": 0, "run": 0, **row} for row in rows]
    return RunTable({name: [row[name] for row in rows] for name in rows[0]})


def around(means, noise=1.0):
    """Three runs at each position around these means of policies."""
    return table(
        {"policy": policy, "gap": x, "run": run, "regret": float(mean + noise * (run - 1))}
        for policy, of in means.items()
        for x, mean in zip(POSITIONS, of, strict=True)
        for run in range(3)
    )


@pytest.fixture
def known(monkeypatch):
    """Published numbers that a test makes up: rows of label, x, mean, p5, p95, record."""

    def use(*rows):
        columns = dict(zip(("label", "x", "mean", "p5", "p95", "record"), zip(*rows, strict=True), strict=True))
        monkeypatch.setattr(claims, "published", lambda _: RunTable(columns))

    return use


def test_ratio_is_of_means_and_its_range_that_of_the_runs_of_both():
    runs = {"a": [10.0, 20.0, 90.0], "b": [5.0, 5.0]}
    rows = table(
        {"policy": policy, "gap": 1.0, "run": run, "regret": regret}
        for policy, regrets in runs.items()
        for run, regret in reversed([*enumerate(regrets)])
    )
    gain = ratio(rows, "gap", "a", "b")
    assert (gain.x.tolist(), gain.mean.tolist(), gain.runs.tolist()) == ([1.0], [8.0], [2])
    assert np.allclose([gain.p5[0], gain.p95[0]], np.percentile([2, 4], [5, 95]))


@pytest.mark.parametrize(
    ("means", "outcome"),
    [
        ([1, 2, 3, 4], "holds"),
        ([1, 3, 2, 4], "holds"),  # one exchange among four: a rank correlation of exactly 0.8
        ([1, 2, 4, 3], "partly holds"),
        ([1, 4, 4, 4], "holds"),
        ([4, 3, 2, 1], "does not hold"),
        ([2, 1, 4, 3], "does not hold"),
        ([3, 1, 2, 4], "does not hold"),
    ],
)
def test_ratio_grows_if_it_is_a_trend_whose_largest_value_is_at_the_end(means, outcome):
    rows = around({"ours": [1, 1, 1, 1], "theirs": means}, noise=0.0)
    assert ratio_grows("gap", "Δ", "theirs", "ours")(rows).outcome == outcome


@pytest.mark.parametrize(
    ("ours", "theirs", "paired", "is_below"),
    [
        ([1, 2, 3], [2, 3, 4], True, True),  # always 1 less, whatever the noise of the runs
        ([1, 2, 3], [2, 3, 4], False, False),  # two standard errors of the difference are 1.63
        ([1, 2, 3], [3, 4, 5], False, True),
        ([1, 2, 3], [1, 2, 9], True, False),  # 2 ± 4 on average
        ([2, 3, 4], [1, 2, 3], True, False),
        ([1], [2], True, True),
        ([2], [1], False, False),
    ],
)
def test_is_clearly_below_needs_two_standard_errors(ours, theirs, paired, is_below):
    assert is_clearly_below(np.array(ours, float), np.array(theirs, float), paired=paired) is is_below


@pytest.mark.parametrize(
    ("shifts", "outcome"), [([0] * 8, "holds"), ([5] + [0] * 7, "holds"), ([5, 5] + [0] * 6, "partly holds"),
                            ([5] * 4 + [0] * 4, "does not hold"), ([-5] * 8, "does not hold")],
)  # fmt: skip
def test_lie_in_range_counts_published_means_in_the_band(known, shifts, outcome):
    means = {"pair-elim": [10, 11, 12, 12], "rank1-elim": [15, 20, 30, 40]}
    published = [(policy, x, mean) for policy, of in means.items() for x, mean in zip(POSITIONS, of, strict=True)]
    known(*((policy, x, mean + shift, 0, 0, 1) for (policy, x, mean), shift in zip(published, shifts, strict=True)))
    verdict = lie_in_range(around(means), "any", "gap")
    inside = shifts.count(0)
    assert (verdict.measured[:6], verdict.threshold, verdict.outcome) == (f"{inside} of 8", "at least 7 of 8", outcome)


def agreement(known, means, second=()):
    """Judge means against 1000 … 4000, with ranges of ± 20 % but for the last, which has hardly any."""
    ranges = [(800.0, 1200.0), (1600.0, 2400.0), (2400.0, 3600.0), (3990.0, 4010.0)]
    rows = [(SAM, x, 1000.0 * (k + 1), *ranges[k], 1) for k, x in enumerate(POSITIONS)]
    known(*rows, *second)
    ours = table(
        {"policy": SAM, "gap": x, "run": run, "regret": mean + shift}
        for x, mean in zip(POSITIONS, means, strict=True)
        for run, shift in ((0, -7.0), (1, 7.0))
    )
    return agree(ours, "any", "gap")


@pytest.mark.parametrize(
    ("means", "good"),
    [
        ([1000, 2000, 3000, 4000], 4),
        ([1079, 2159, 3239, 4000], 4),
        ([921, 1841, 2761, 4000], 4),
        ([1081, 2000, 3000, 4000], 3),
        ([919, 2000, 3000, 4000], 3),
        ([1000, 2000, 3000, 4129], 4),  # 4010 and 3 %
        ([1000, 2000, 3000, 4131], 3),
        ([1000, 2000, 3000, 3869], 3),  # 3990 less 3 %
        ([1081, 2161, 3000, 4000], 2),
    ],
)
def test_agree_within_8_percent_and_the_published_range_widened_by_3(known, means, good):
    verdict = agreement(known, means)
    assert verdict.measured.startswith(f"{good} of 4 agree")
    assert verdict.outcome == ("holds" if good == 4 else "partly holds" if good == 3 else "does not hold")
    assert ("not simple-adaptive-matching at" in verdict.measured) == (good < 4)


@pytest.mark.parametrize(("mean", "good"), [(1000, 4), (1200, 4), (1290, 4), (1300, 3), (1115, 3), (1116, 4)])
def test_agree_uses_the_nearer_of_two_records(known, mean, good):
    verdict = agreement(known, [mean, 2000, 3000, 4000], second=[(SAM, 0.5, 1200.0, 1150.0, 1260.0, 2)])
    assert verdict.measured.startswith(f"{good} of 4")
    nearer, other = ("1,000", "1,200") if mean < 1100 else ("1,200", "1,000")
    assert f"two published records: the nearer, {nearer}, counts, not {other}" in verdict.measured


def test_published_numbers_are_those_of_the_authors_notebooks():
    over_n, over_mu, in_time = (published(name) for name in ("over-n", "over-mu", "over-mu-in-time"))
    assert over_n["x"].tolist() == list(range(2, 12))
    assert over_n["mean"].tolist() == [1333, 4800, 11386, 13281, 14488, 15996, 17759, 19456, 21775, 23252]
    assert (sum(over_n["p5"]), sum(over_n["p95"])) == (137_159, 152_691)
    sam = over_mu.where(label=SAM, record=1)
    assert [sam[name].tolist() for name in ("x", "mean", "p5", "p95")] == [
        [0.5, 0.6, 0.7, 0.8], [1634, 1245, 900, 689], [1502, 1098, 772, 615], [1809, 1414, 999, 772],
    ]  # fmt: skip
    second = over_mu.where(record=2)
    assert [second[name].tolist() for name in ("x", "mean", "p5", "p95")] == [[0.5], [1748], [1468], [2120]]
    assert over_mu.where(label="escb")["p95"].tolist() == [2823, 2658, 2831, 2860]
    assert in_time.where(label="escb")["mean"].tolist() == [527, 857, 1142, 1412, 1631, 1809, 1976, 2158, 2311, 2451]
    last = in_time.where(label=SAM)
    assert [last[name].tolist() for name in ("x", "mean", "p5", "p95")] == [[200_000], [1634], [1503], [1810]]
    assert {len(published(name)) for name in ("over-time", "over-gap", "over-u1")} == {20, 16, 12}
