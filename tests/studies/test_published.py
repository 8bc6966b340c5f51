import json

import numpy as np

from matchbandit.studies import growth, identification, over_gap, over_mu, over_n, over_time
from matchbandit.studies.published import authors_seconds, published

SAM = "simple-adaptive-matching"


def test_the_published_numbers_name_their_source():
    assert "ICML 2021" in published()["source"]
    assert json.dumps(published())


def test_the_published_numbers_of_figures_2_and_3():
    numbers = published()
    over_n, over_mu, in_time = (numbers[name] for name in ("over-n", "over-mu", "over-mu-in-time"))
    assert (over_n["figure"], over_mu["figure"], in_time["figure"]) == ("Figure 2", "Figure 3, bottom", "Figure 3, top")
    assert over_n["horizon"] == over_mu["horizon"] == in_time["horizon"] == 200_000
    assert over_n["x"] == list(range(2, 12))
    assert over_n[SAM] == {
        "mean": [1333, 4800, 11386, 13281, 14488, 15996, 17759, 19456, 21775, 23252],
        "p5": [1333, 4800, 11301, 12656, 13955, 15232, 17033, 18548, 20308, 21993],
        "p95": [1333, 4800, 11428, 13659, 14948, 16630, 18487, 20854, 24966, 25586],
    }
    assert over_mu["x"] == [0.5, 0.6, 0.7, 0.8]
    assert over_mu[SAM] == {
        "mean": [1634, 1245, 900, 689],
        "p5": [1502, 1098, 772, 615],
        "p95": [1809, 1414, 999, 772],
        "second_record_at_0.5": {"mean": 1748, "p5": 1468, "p95": 2120},
    }
    assert over_mu["escb"] == {
        "mean": [2451, 2376, 2437, 2400],
        "p5": [2044, 2088, 2160, 2071],
        "p95": [2823, 2658, 2831, 2860],
    }
    assert in_time["mu"] == 0.5
    assert in_time["x"] == list(range(20_000, 200_001, 20_000))
    assert in_time[SAM] == {"mean_last": 1634, "p5_last": 1503, "p95_last": 1810}
    assert in_time["escb"] == {
        "mean": [527, 857, 1142, 1412, 1631, 1809, 1976, 2158, 2311, 2451],
        "p5_last": 2044,
        "p95_last": 2823,
    }


def test_the_authors_time_is_rounds_by_their_rate():
    (study,) = over_time.studies(10)
    assert np.isclose(authors_seconds(study), 10 * 200_000 * (1 / 30_300 + 1 / 65_200))
    (study,) = over_mu.studies(5)
    assert np.isclose(authors_seconds(study), 5 * 4 * 200_000 * (1 / 5300 + 1 / 650))
    run, printed, _ = over_gap.studies(1)
    assert np.isclose(authors_seconds(printed) / authors_seconds(run), 20 / 3)


def test_between_the_sizes_at_which_it_was_measured_the_rate_is_interpolated():
    (study,) = over_n.studies(1)
    rates = [5300, 5300, *(5300 - (n - 4) / 7 * (5300 - 1170) for n in range(4, 12))]
    assert np.isclose(authors_seconds(study), sum(200_000 / rate for rate in rates))


def test_all_figures_of_the_paper_with_its_20_runs_take_the_authors_about_20_hours():
    studies = [*over_time.studies(20), *over_gap.studies(20)[:2], *over_n.studies(20), *over_mu.studies(20)]
    assert 15 < sum(authors_seconds(study) for study in studies) / 3600 < 25


def test_what_the_authors_code_has_not_takes_it_no_time():
    assert authors_seconds(identification.studies(1)[1]) is None
    assert authors_seconds(growth.studies(1)[0]) is not None
