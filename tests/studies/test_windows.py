import json

import numpy as np
import pytest
from reference.rows import rows_by_hand

import matchbandit as mb
from matchbandit.studies import windows
from matchbandit.studies.claims import FAILS, HOLDS


def test_pairs_are_counted_by_how_many_of_their_items_are_sub_optimal(tmp_path):
    (study,) = windows.studies(3)
    folder = study.with_(horizon=[500], seed=1).run(tmp_path / "out", workers=1)
    rows = windows.rows_in(folder).with_option("cap_windows")
    problem = mb.family("spiked", n=8, u1=0.9, gap=0.75).draw(seed=3)
    plays = mb.simulate(problem, "pair-elim", horizon=500, runs=3, seed=1, checkpoints=[500]).plays
    plain = rows.where(cap_windows=False)
    assert rows.distinct("cap_windows") == [False, True]
    assert (plain["doubly"] + plain["singly"] + plays[:, 0, 0] == 500).all()
    assert plain["doubly"].tolist() == [int(of_run[1:, 1:].sum()) for of_run in plays]
    assert (plain["run"].tolist(), plain.distinct("seed"), plain.distinct("horizon")) == ([0, 1, 2], [1], [500])


def counted(doubly, singly, capped=False):
    """Plays of two runs, one below and one above these means, at these horizons."""
    return [
        {
            "policy": "pair-elim", "options": json.dumps({"cap_windows": capped}), "horizon": horizon, "run": run,
            "doubly": doubly[horizon] + shift, "singly": singly[horizon] + shift,
        }
        for horizon in doubly
        for run, shift in ((0, -1), (1, 1))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("between", "at_the_end", "verdicts"),
    [
        ((100, 100), (110, 230), [HOLDS, HOLDS]),
        ((100, 100), (130, 250), [FAILS, FAILS]),
        ((130, 250), (110, 230), [FAILS, FAILS]),  # it is not enough to come down again
        ((124, 239), (124, 239), [HOLDS, HOLDS]),
    ],
)
def test_plays_may_nowhere_grow_faster_than_claimed_from_10_to_the_5_on(between, at_the_end, verdicts):
    horizons = (10**4, 10**5, 10**8, 10**12)
    doubly, singly = (
        dict(zip(horizons, (500, 100, middle, last), strict=True))
        for middle, last in zip(between, at_the_end, strict=True)
    )
    capped = counted(dict.fromkeys(horizons, 1000), dict.fromkeys(horizons, 10), capped=True)
    claims = windows.claims(rows_by_hand(counted(doubly, singly) + capped))
    assert [claim.verdict for claim in claims] == verdicts
    assert [claim.claim for claim in claims] == [
        "O(log log T) plays of doubly sub-optimal pairs",
        "O(log T) plays of singly sub-optimal pairs",
    ]
    assert claims[0].threshold == "nowhere between more than × 1.25 (log log T itself grows × 1.36)"
    assert claims[1].threshold == "nowhere between more than × 2.40 (as log T grows)"


def test_the_figure_shows_both_kinds_with_and_without_caps():
    places = {10**5: 100, 10**12: 200}
    rows = rows_by_hand(counted(places, {h: 2 * n for h, n in places.items()}) + counted(places, places, capped=True))
    (chart,) = windows.charts(rows)
    assert {line.label: line.y.tolist() for line in chart.lines} == {
        "doubly": [100, 200],
        "doubly, capped": [100, 200],
        "singly": [200, 400],
        "singly, capped": [100, 200],
    }
    assert np.allclose(chart.lines[0].low, [99.1, 199.1])
    assert [line.low is None for line in chart.lines] == [False, True, False, True]
    assert chart.x_log
    assert [(mark.at, mark.label) for mark in chart.marks] == [(2**16, "window 4 ends"), (2**32, "window 5 ends")]


def test_the_study_goes_to_10_to_the_12():
    (study,) = windows.studies(None)
    assert study.horizon == [10**k for k in range(4, 13)]
    assert len(study.points) == 18
