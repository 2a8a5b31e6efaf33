import numpy as np
import pytest
from scipy.stats import fisher_exact

from ostraka.client.probing.findings import LEVEL, GroupFinding, holm, low, p_values, party_findings, to_blame
from ostraka.client.probing.probe import circle

ASKED = 80
GOOD, ONE_BAD = 0.56, 0.27
"""Shares of answers that agree, of ten parties asked in pairs: python -m benchmarks.probing."""


def agreeing(members: np.ndarray, bad: list[int], trials: int) -> np.ndarray:
    """Draw how many answers of each group agree, (trials, G), where some parties vote badly."""
    some = members[:, bad].any(axis=1)
    rng = np.random.default_rng(1)
    return rng.binomial(ASKED, np.where(some, ONE_BAD, GOOD), size=(trials, len(members)))


def test_every_party_is_in_as_many_groups_and_all_but_one_leave_each_out_once() -> None:
    for size in (2, 3, 6):
        members = circle(7, size)
        assert (members.sum(axis=0) == size).all()
        assert (members.sum(axis=1) == size).all()
    assert sorted(map(tuple, np.argwhere(~circle(4, 3)))) == [(0, 3), (1, 0), (2, 1), (3, 2)]


def test_a_party_is_compared_by_its_best_group_with_all_groups_without_it() -> None:
    members = circle(4, 2)
    agreed, asked = np.array([3, 9, 8, 5]), np.array([10, 10, 10, 10])
    found = p_values(agreed, asked, members)
    first = [
        fisher_exact([[right, 10 - right], [17, 3]], alternative="less").pvalue for right in (3, 5)
    ]  # party 0 is in groups 0 and 3; those without it agree on 9 + 8 of 20
    assert found[0] == pytest.approx(max(first))
    assert found[2] == pytest.approx(fisher_exact([[9, 1], [8, 12]], alternative="less").pvalue)


def test_groups_that_were_not_asked_say_nothing() -> None:
    nothing = np.zeros(4, np.int64)
    assert (p_values(nothing, nothing, circle(4, 2)) == 1.0).all()


def test_holm_multiplies_the_smallest_by_all_and_never_falls() -> None:
    assert holm(np.array([0.04, 0.01, 0.03])) == pytest.approx([0.06, 0.03, 0.06])
    assert holm(np.array([[0.9, 0.8]])) == pytest.approx(np.array([[1.0, 1.0]]))


def test_where_all_vote_alike_hardly_anybody_is_blamed() -> None:
    members = circle(10, 2)
    p = p_values(agreeing(members, [], 400), np.full((400, 10), ASKED), members)
    assert low(p).any(axis=1).mean() <= LEVEL


def test_one_bad_party_is_found_and_no_neighbour() -> None:
    members = circle(10, 2)
    p = p_values(agreeing(members, [4], 200), np.full((200, 10), ASKED), members)
    found = to_blame(p, members)
    assert found[:, 4].mean() > 0.8
    assert not np.delete(found, 4, axis=1).any()


def test_a_good_party_between_bad_ones_is_low_and_not_blamed() -> None:
    members = circle(10, 2)
    agreed = np.where(members[:, [3, 5]].any(axis=1), 10, 60)
    p = p_values(agreed, np.full(10, ASKED), members)
    assert np.flatnonzero(low(p)).tolist() == [3, 4, 5]
    assert np.flatnonzero(to_blame(p, members)).tolist() == [3, 5]


def test_findings_name_parties_in_order_with_a_verdict() -> None:
    names = ("d", "a", "c", "b")
    members = circle(4, 2)
    groups = [GroupFinding(("a", "d"), 40, 40, 38), GroupFinding(("a", "c"), 40, 40, 4)]
    groups += [GroupFinding(("b", "c"), 40, 20, 5), GroupFinding(("b", "d"), 40, 40, 37)]
    found = party_findings(groups, names, members)
    assert [(party.site, party.verdict) for party in found] == [
        ("a", "none"),
        ("b", "none"),
        ("c", "low"),
        ("d", "none"),
    ]
    assert [(party.asked, party.agreed) for party in found] == [(80, 42), (80, 42), (80, 9), (80, 75)]


def test_wilsons_interval() -> None:
    # Wilson 1927; 0.5 of 10 by statsmodels' proportion_confint(5, 10, method="wilson").
    assert GroupFinding(("a", "b"), 10, 10, 5).interval == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert GroupFinding(("a", "b"), 10, 10, 0).interval[0] == 0.0
    assert GroupFinding(("a", "b"), 0, 0, 0).interval == (0.0, 1.0)
