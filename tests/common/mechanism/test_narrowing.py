"""A mechanism for few labels counts their ballots as the one for many does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.mechanism import L1, Binary, GnMax, Mechanism, Powerset, Tau

LABELS = 9


@pytest.mark.parametrize(
    "mechanism", [Tau(sigma=2.0, tau=2.2), L1(sigma=2.0, tau1=3.5), Binary(sigma=2.0)], ids=lambda m: m.kind
)
@given(labels=st.integers(1, LABELS), seed=st.integers(0, 2**32 - 1))
def test_ballots_are_the_same(mechanism: Mechanism, labels: int, seed: int) -> None:
    scores = np.random.default_rng(seed).random((4, 5, labels))
    own = mechanism.narrowed(labels)
    own.check_classes(labels)
    np.testing.assert_array_equal(own.ballot.count(scores, labels), mechanism.ballot.count(scores, labels))


def test_sets_of_few_labels_have_no_more_positives_than_labels() -> None:
    assert Powerset(sigma=1.0, max_positives=3).narrowed(2) == Powerset(sigma=1.0, max_positives=2)
    assert Powerset(sigma=1.0).narrowed(2) == Powerset(sigma=1.0)
    assert GnMax(sigma=1.0).narrowed(2) == GnMax(sigma=1.0)
