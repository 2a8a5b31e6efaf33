"""Which queries `exact` is affordable for."""

import numpy as np

from ostraka.common.mechanism import Binary, GnMax, LnMax, Mechanism, Powerset
from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.guardian.accounting import Tally
from ostraka.guardian.accounting.cost_limit import MAX_TERMS, terms
from ostraka.guardian.mechanisms.charge import affordable, charge
from ostraka.guardian.noise import LATTICE


def tally(mechanism: Mechanism, votes: np.ndarray, teachers: int) -> Tally:
    total = np.full(len(votes), float(teachers))
    return Tally(mechanism, votes.shape[1], total, teachers, votes, np.ones((len(votes), 1), dtype=np.bool_))


def test_histograms_of_a_usual_session_are_affordable() -> None:
    votes = np.array([[250.0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [25] * 10])
    assert affordable(tally(GnMax(sigma=2), votes, 250)).all()
    assert affordable(tally(LnMax(gamma=1), votes, 250)).all()
    assert affordable(tally(Binary(sigma=1), votes, 250)).all()


def test_many_classes_whose_counts_lie_far_apart_are_charged_the_worst_case() -> None:
    votes = np.zeros((2, 100))
    votes[0, 0], votes[1] = 300, 3
    mechanism = GnMax(sigma=5)
    released = tally(mechanism, votes, 300)
    assert affordable(released).tolist() == [False, True]
    alone = charge(released.rows(np.array([True, False])), 8.0, "exact", lattice=LATTICE)
    assert alone == mechanism.worst_case(8.0, classes=100).answer


def test_label_sets_count_by_their_kinds() -> None:
    votes = np.zeros((3, 64))
    votes[0, 0], votes[1, :50], votes[2, :9] = 50, 1, [1, 2, 3, 4, 5, 6, 7, 8, 14]
    released = tally(Powerset(sigma=0.5), votes, 50)
    each = [float(terms(kinds, top, 0.5)) for kinds, top in ((3, 50), (5, 1), (11, 14))]
    assert affordable(released).tolist() == [each_terms <= MAX_TERMS for each_terms in each]
    assert each[0] > each[1]


def test_units_that_change_much_take_more_time() -> None:
    for outcomes, spread in ((10, 20.0), (60, 300.0)):
        one, heavy, several = (
            float(terms(outcomes, spread, 5.0, influence))
            for influence in (ONE_VOTE, Influence(weight=50.0), Influence(50))
        )
        assert one < heavy < several
