"""Many classes of which most have equal counts cost what they cost class by class."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.guardian.accounting import confident_rdp, gnmax_rdp
from ostraka.guardian.accounting.bounds.confident_rdp import reservation
from ostraka.guardian.accounting.exact.divergence import argmax_and_check_exact, gnmax_exact, neighbours
from ostraka.guardian.accounting.exact.noisy_outcomes import NoisyCheck
from ostraka.guardian.accounting.exact.powerset_divergence import mostly_tied
from tests.guardian.accounting import oracle
from tests.guardian.accounting.bounds.test_confident_rdp import argmax, charges, outcomes
from tests.guardian.accounting.bounds.test_confident_rdp import moment as promised

AT = np.array([1.5, 4.0, 18.0, 64.0])
TIED = np.array([[30, 6, 4, 1, 1, 1, 1, *[0] * 13], [9, 9, 9, *[0] * 17], [*[1] * 19, 0]], dtype=np.float64)
APART = np.array([[*range(20)], [*range(1, 20), 0], [*[3] * 20]], dtype=np.float64)


def test_queries_of_half_as_many_kinds_as_classes_are_tied_unless_classes_are_few_or_all_have_votes() -> None:
    assert mostly_tied(TIED).all()
    assert not mostly_tied(APART).any()
    assert not mostly_tied(TIED[:, :16]).any()


HEAVY = [pytest.param(one, marks=pytest.mark.heavy) for one in (Influence(weight=1.6), Influence(3, 0.5))]


@pytest.mark.parametrize("influence", [ONE_VOTE, *HEAVY])
def test_charges_are_those_of_all_classes_told_apart(influence: Influence) -> None:
    votes = np.concatenate([TIED, APART])[[0, 3, 1, 4, 2, 5]]
    np.testing.assert_allclose(
        gnmax_rdp(votes, 4, AT, influence=influence),
        np.minimum(AT * (influence.sensitivity / 4) ** 2, gnmax_exact(votes, 4.0, AT, influence, 0.0)),
        rtol=1e-9,
    )
    check = NoisyCheck(votes, 12.0, 9.0, 0.0)
    most = reservation(len(votes), votes.shape[1], (9.0, 4.0), AT, influence.sensitivity, 0.0)
    pair = argmax_and_check_exact(votes, check, 4.0, AT, influence, most, neighbours)
    for answered, expected in ((False, pair.failed), (True, pair.passed)):
        found = confident_rdp(votes, 12, 9, 4, AT, [answered] * len(votes), influence=influence)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-14)


def moves(votes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Move one vote in every way that no exchange of classes with equal counts makes another."""
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    for a in range(len(votes)):
        for b in range(len(votes)):
            if a != b:
                moved = tuple(v - (i == a) + (i == b) for i, v in enumerate(votes))
                found.setdefault((votes[a], votes[b]), moved)
    return list(found.values())


@pytest.mark.heavy
@pytest.mark.parametrize("order", [1.5, 18.0])
def test_the_promise_holds_in_many_digit_arithmetic(order: float) -> None:
    votes, sigmas, threshold = tuple(TIED[0].astype(int).tolist()), (9.0, 4.0), 12
    pair = charges(votes, threshold, sigmas, order)
    here = outcomes(votes, threshold, sigmas)
    both = [
        promised(p, r, order, pair)
        for there in (outcomes(moved, threshold, sigmas) for moved in moves(votes))
        for p, r in ((here, there), (there, here))
    ]
    assert -1e-6 < float(max(both) - 1) <= 1e-12


@pytest.mark.heavy
def test_the_divergence_equals_many_digit_arithmetic() -> None:
    votes = tuple(TIED[0].astype(int).tolist())

    def found(p: list[Any], r: list[Any], order: float) -> Any:
        with mp.workdps(40):
            return max(oracle.small_divergence(p, r, order), oracle.small_divergence(r, p, order))

    here, every = argmax(votes, 4.0), [argmax(moved, 4.0) for moved in moves(votes)]
    for order, value in zip(AT, gnmax_rdp([votes], 4, AT)[0], strict=True):
        largest = max(found(here, there, float(order)) for there in every)
        oracle.assert_equal(value, min(float(largest), order / 16), f"order {order}")
