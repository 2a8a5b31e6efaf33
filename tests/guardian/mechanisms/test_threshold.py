"""A threshold on the share of votes: what it releases, and what that costs, against many-digit arithmetic."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import BOUND, Binary, GnMax, Threshold
from ostraka.common.privacy import ORDERS, Influence
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.accounting import Tally
from ostraka.guardian.mechanisms import Answers, charges, release
from ostraka.guardian.noise import LATTICE
from tests.guardian.accounting import labels, oracle
from tests.guardian.mechanisms.scripted import Scripted

RINGS = pytest.mark.parametrize("ring", [Ring(32), Ring(64)], ids=["32", "64"])
QUARTER = Threshold(sigma=1.0, share=0.25)
influences = st.builds(Influence, st.integers(1, 3), st.sampled_from([0.37, 1.0, 1.6, 2.5]))


def released(sums: RingArray, noise: Scripted, ring: Ring, total: float = 20.0) -> Answers:
    totals = np.full(len(sums), round(total * 2**16))
    return release(sums, QUARTER, noise, ring, classes=2, totals=totals)


def tally(mechanism: Threshold, yes: list[float], n: float) -> Tally:
    votes = np.column_stack([n - np.array(yes), yes])
    given = np.ones((len(votes), 1), dtype=np.bool_)
    return Tally(mechanism, 2, np.full(len(votes), n), math.ceil(n), votes, given)


def cost(
    mechanism: Threshold, yes: list[float], n: float, order: float, bound: BOUND, influence: Influence
) -> np.ndarray:
    return charges(tally(mechanism, yes, n), order, bound, influence, lattice=LATTICE)


@RINGS
def test_a_quarter_of_the_votes_says_yes(ring: Ring) -> None:
    sums = encode(np.array([[20, 0], [16, 4], [15, 5], [14, 6], [0, 20]]), ring)
    answers = released(sums, Scripted(0), ring)
    assert answers.labels[:, 0].tolist() == [0, 0, 1, 1, 1]
    assert answers.answered.all()


@RINGS
def test_noise_on_both_counts_decides_near_the_threshold(ring: Ring) -> None:
    """Five of twenty votes reach it as they are: by any less, they do not."""
    sums = encode(np.array([[15, 5]] * 4), ring)
    step = 2.0**-16
    noise = Scripted([[0, -step], [step, 0], [step, step], [-step, 0]])
    assert released(sums, noise, ring).labels[:, 0].tolist() == [0, 0, 1, 1]


@RINGS
def test_weights_count_as_the_votes_do(ring: Ring) -> None:
    """A share is of what all scheduled votes weigh, which need not be whole."""
    sums = encode(np.array([[3.75, 1.25], [3.76, 1.24]]), ring)
    assert released(sums, Scripted(0), ring, total=5.0).labels[:, 0].tolist() == [1, 0]


@RINGS
def test_at_half_the_ring_one_step_of_noise_decides(ring: Ring) -> None:
    """Where a shifted sum wraps around a vote tells no more than at the threshold."""
    at_half = np.array([[0, 2 ** (ring.bits - 1) - (10 << 16)]] * 2, dtype=ring.dtype)
    step = 2.0**-16
    assert released(at_half, Scripted([[0.0, 0.0], [0.0, -step]]), ring).labels[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize("share", [0.04, 0.24, 0.5, 0.9])
@pytest.mark.parametrize("order", [1.5, 8.0, 64.0])
def test_the_exact_cost_equals_many_digit_arithmetic(share: float, order: float) -> None:
    mechanism, n = Threshold(sigma=9.0, share=share), 100.0
    yes = [0.0, 3.0, 24.0, 51.0, 100.0]
    found = cost(mechanism, yes, n, order, "exact", Influence())
    worst = mechanism.worst_case(order, classes=2).answer

    def bit(p: float, n: float, answered: bool) -> list[mp.mpf]:
        return [(2 * mp.mpf(p) - 2 * mp.mpf(share) * mp.mpf(n)) / (mp.sqrt(2) * 9)]

    exact = [labels.flipped(bit, [(p, n, True)], order) for p in yes]
    # The lattice's share is added on top, relative to the cost at most where that is least.
    assert (found >= np.minimum(exact, worst) * (1 - 1e-9)).all()
    np.testing.assert_allclose(found, np.minimum(exact, worst), rtol=1e-4, atol=2e-7)


@given(
    st.floats(0.01, 0.99),
    st.floats(1, 60),
    st.lists(st.integers(0, 50), min_size=1, max_size=4),
    st.sampled_from(ORDERS[::8]),
    influences,
)
@settings(deadline=None, max_examples=40)
def test_no_neighbour_costs_more_than_is_charged(
    share: float, sigma: float, yes: list[int], order: float, influence: Influence
) -> None:
    """In both directions, of whatever the unit's votes do; and the worst case is never exceeded."""
    mechanism = Threshold(sigma=sigma, share=share)
    worst = mechanism.worst_case(order, influence.sensitivity, classes=2).answer
    exact = cost(mechanism, [float(p) for p in yes], 50.0, order, "exact", influence)
    theorem = cost(mechanism, [float(p) for p in yes], 50.0, order, "theorem6", influence)
    assert (exact <= worst).all()
    assert (theorem <= worst).all()
    deviation = mp.sqrt(2) * mp.mpf(sigma)
    (lead,) = mechanism.lead(np.array([50 << 16])).tolist()
    zero = 50 + mp.mpf(lead) / 2**16
    for p, charged in zip(yes, exact.tolist(), strict=True):
        here = labels.bit((2 * p - zero) / deviation)
        for moved in (-influence.sensitivity, -influence.weight, influence.weight, influence.sensitivity):
            there = labels.bit((2 * (p + moved) - zero) / deviation)
            for pair in ((here, there), (there, here)):
                assert oracle.small_divergence(*pair, order) <= charged * (1 + 1e-9)


def test_it_costs_less_than_an_argmax_and_as_much_as_a_label() -> None:
    for order in (1.5, 3.5, 8.0, 32.0):
        ours = Threshold(sigma=20.0, share=0.24).worst_case(order, classes=2).answer
        assert ours < GnMax(sigma=20.0).worst_case(order, classes=2).answer
        assert ours == Binary(sigma=20.0).worst_case(order, classes=1).answer


def test_a_threshold_is_for_two_classes() -> None:
    QUARTER.check_classes(2)
    with pytest.raises(OstrakaError, match="tells two classes apart and the task has 3") as refused:
        QUARTER.check_classes(3)
    assert refused.value.code is ErrorCode.PLAN_INVALID


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_lies_between_none_and_all(share: float) -> None:
    with pytest.raises(OstrakaError, match="share"):
        Threshold(sigma=1.0, share=share)
