from pathlib import Path

from reference.made import found

from matchbandit.results import load_identification

OLD = Path(__file__).parents[1] / "data" / "0.3"


def test_an_identification_says_what_it_is():
    kept = load_identification(OLD / "identification.parquet")
    assert "matching-id(growth=4.0, delta=0.05) on monopartite with 4 players" in repr(kept)
    assert "runs 2, right 2, wrong 0, not identified 0, rounds " in repr(kept)
    assert "<th>wrong</th><td>0</td>" in kept._repr_html_()


def test_what_is_right_wrong_and_not_identified_by_hand():
    kept = found([10, 20, 30, 40], identified=[1, 1, 1, 0], correct=[1, 1, 0, 0], first_run=5)
    told = kept.summary()
    assert (told["runs"], told["identified"], told["correct"], told["wrong"]) == (4, 3, 2, 1)
    assert told["rounds"]["mean"] == 25
    assert kept.run_numbers == [5, 6, 7, 8]
    assert len(kept) == 4
