import numpy as np
import pytest

from matchbandit.lab.paper import claims
from matchbandit.lab.paper.claims import agree, published, ratio
from matchbandit.lab.tables import RunTable

SAM = "simple-adaptive-matching"
POSITIONS = (0.5, 0.6, 0.7, 0.8)


def table(rows):
    """A table of these rows, of seed 0 unless they say otherwise."""
    rows = [{"seed": 0, "run": 0, **row} for row in rows]
    return RunTable({name: [row[name] for row in rows] for name in rows[0]})


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


@pytest.fixture
def agreement(monkeypatch):
    """Judge means against 1000 … 4000, with ranges of ± 20 % but for the last, which has hardly any."""

    def judge(means, *second):
        ranges = [(800.0, 1200.0), (1600.0, 2400.0), (2400.0, 3600.0), (3990.0, 4010.0)]
        rows = [*((SAM, x, 1000.0 * (k + 1), *ranges[k], 1) for k, x in enumerate(POSITIONS)), *second]
        columns = dict(zip(("label", "x", "mean", "p5", "p95", "record"), zip(*rows, strict=True), strict=True))
        monkeypatch.setattr(claims, "published", lambda _: RunTable(columns))
        both = [(x, mean + shift) for x, mean in zip(POSITIONS, means, strict=True) for shift in (-7.0, 7.0)]
        return agree(table({"policy": SAM, "gap": x, "regret": regret} for x, regret in both), "any", "gap")

    return judge


@pytest.mark.parametrize(
    ("means", "good"),
    [
        ([921, 1841, 2761, 4000], 4),
        ([1081, 2000, 3000, 4000], 3),
        ([1000, 2000, 3000, 4129], 4),  # 4010 and 3 %
        ([1000, 2000, 3000, 4131], 3),
        ([1000, 2000, 3000, 3869], 3),  # 3990 less 3 %
        ([1081, 2161, 3000, 4000], 2),
    ],
)
def test_agree_within_8_percent_and_the_published_range_widened_by_3(agreement, means, good):
    verdict = agreement(means)
    assert verdict.measured.startswith(f"{good} of 4 agree")
    assert verdict.outcome == ("holds" if good == 4 else "partly holds" if good == 3 else "does not hold")
    assert ("not simple-adaptive-matching at" in verdict.measured) == (good < 4)


@pytest.mark.parametrize(("mean", "good"), [(1000, 4), (1200, 4), (1290, 4), (1300, 3), (1115, 3), (1116, 4)])
def test_agree_uses_the_nearer_of_two_records(agreement, mean, good):
    verdict = agreement([mean, 2000, 3000, 4000], (SAM, 0.5, 1200.0, 1150.0, 1260.0, 2))
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
