"""How much of label sets is computed, and what is left to other bounds."""

import numpy as np
import pytest

from ostraka.common.privacy import ONE_VOTE
from ostraka.guardian.accounting.exact import powerset_divergence
from ostraka.guardian.accounting.exact.powerset_divergence import MAX_SETS, powerset_exact

ORDERS = np.array([2.0, 8.0])


def is_computed(sets: int) -> bool:
    return bool(np.isfinite(powerset_exact(np.array([[5.0, 2.0]]), sets, 4.0, ORDERS, ONE_VOTE, 0.0)).all())


def test_so_many_sets_are_computed_and_more_left_to_other_bounds() -> None:
    assert [is_computed(sets) for sets in (MAX_SETS, MAX_SETS + 1)] == [True, False]


@pytest.mark.parametrize(("kinds", "computed"), [(5, True), (4, False)])
def test_so_many_kinds_of_sets_are_computed(
    kinds: int, computed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those with five votes, with two, two without any of which one may get a vote, and all others."""
    monkeypatch.setattr(powerset_divergence, "MAX_CLASSES", kinds)
    assert is_computed(16) is computed
