from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.confidence import NEVER, Checks
from matchbandit.policies.ranking import Averages, closed, unranked

examples = settings(max_examples=150, deadline=None, derandomize=True)


@st.composite
def relations(draw):
    """Any relation at all, cycles included."""
    n = draw(st.integers(1, 6))
    return np.array(draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=n, max_size=n)))


@st.composite
def orders(draw, sizes=(2, 4, 6)):
    """A closed relation without contradiction: some of the comparisons that a hidden ranking allows."""
    n = draw(st.sampled_from(sizes))
    rank = draw(st.permutations(range(n)))
    known = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    return by_paths([[known[i * n + j] and rank[i] < rank[j] for j in range(n)] for i in range(n)])


def by_paths(above):
    """above[i, j] if some path of comparisons leads from i down to another j: searched from every i."""
    n = len(above)
    reached = np.zeros((n, n), dtype=bool)
    for start in range(n):
        open_items = [j for j in range(n) if above[start][j]]
        while open_items:
            item = open_items.pop()
            if not reached[start, item]:
                reached[start, item] = True
                open_items += [j for j in range(n) if above[item][j]]
    np.fill_diagonal(reached, False)
    return reached


def matchings(above):
    """The matchings of neighbours in every ranking that does not contradict the order."""
    n = len(above)
    allowed = set()
    for ranking in permutations(range(n)):
        if not any(above[ranking[b], ranking[a]] for a in range(n) for b in range(a + 1, n)):
            allowed.add(frozenset(frozenset(ranking[k : k + 2]) for k in range(0, n, 2)))
    return allowed


@examples
@given(relations())
def test_closed_holds_exactly_what_a_path_of_comparisons_reaches(above):
    given_above = above.copy()
    assert closed(above).tolist() == by_paths(above).tolist()
    assert above.tolist() == given_above.tolist()


def test_256_ways_from_one_item_to_another_are_a_way():
    above = np.zeros((258, 258), dtype=bool)  # a count of ways in a byte would wrap around to 0
    above[0, 1:257] = above[1:257, 257] = True
    assert closed(above)[0, 257]


@examples
@given(orders(sizes=(1, 2, 3, 4, 5, 6)))
def test_unranked_is_who_is_open_with_someone_unless_that_is_its_partner_for_sure(above):
    n = len(above)
    expected = []
    for i in range(n):
        open_with = [j for j in range(n) if j != i and not above[i, j] and not above[j, i]]
        better = [j for j in range(n) if above[j, i]]
        expected.append(bool(open_with) and not (len(open_with) == 1 and len(better) % 2 == 0))
    assert unranked(above).tolist() == expected


@settings(max_examples=40, deadline=None, derandomize=True)
@given(orders())
def test_nobody_is_unranked_exactly_when_all_rankings_left_give_the_same_matching(above):
    assert unranked(above).any() == (len(matchings(above)) > 1)


def test_by_hand_the_parity_of_those_above_decides_whether_an_open_pair_is_ranked():
    # 0 | 1 ? 2 | 3: one above the open pair, so that it straddles two pairs of the matching.
    straddling = np.array([[0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
    assert unranked(straddling).tolist() == [False, True, True, False]
    # 0 ? 1 | 2 ? 3: none and two above.
    partners = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
    assert unranked(partners).tolist() == [False] * 4
    # Nothing known of three: each is open with two.
    assert unranked(np.zeros((3, 3), dtype=bool)).tolist() == [True] * 3


def test_by_hand_an_interval_is_renewed_at_its_own_checks_only():
    # g = 4, β = e²: checks at 32 and 128 with radii 1/4 and 1/8.
    checks = Checks(growth=4, log_beta=2.0)
    averages = Averages.empty(2)
    averages.add(np.array([31, 40]), np.array([31.0, 10.0]), checks)
    assert averages.lower.tolist() == [-np.inf, 0.0]  # 10/40 − the radius scheduled for 32
    assert averages.upper.tolist() == [np.inf, 0.5]
    averages.add(np.array([1, 80]), np.array([1.0, 80.0]), checks)
    assert averages.lower.tolist() == [0.75, 0.0]  # the second has 120: its interval is kept
    assert averages.upper.tolist() == [1.25, 0.5]
    averages.add(np.array([0, 8]), np.array([0.0, 6.0]), checks)
    assert averages.lower.tolist() == [0.75, 0.625]
    assert averages.upper.tolist() == [1.25, 0.875]


@examples
@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 4)), min_size=1, max_size=5),
    st.sampled_from([1.0, 1.05, 1.5, 4.0]),
)
def test_sweeps_to_check_is_when_some_count_first_reaches_its_next_check(cells, growth):
    checks = Checks(growth, 2.0)
    had, gains = (np.array(column) for column in zip(*cells, strict=True))
    averages = Averages.empty(len(had))
    averages.counts += had
    sweeps = averages.sweeps_to_check(gains, checks)
    if not gains.any():
        assert sweeps == NEVER
        return

    def due(after):
        return any(h + after * g >= checks.following(h) for h, g in cells if g)

    assert due(sweeps)
    assert not due(sweeps - 1)
