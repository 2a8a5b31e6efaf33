import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.plan import BOUND, Confident, GnMax, Mechanism
from common.privacy import worst_case
from guardian.accounting import InputError, charge, confident_rdp, gnmax_rdp
from guardian.noise import LATTICE

CONFIDENT = Confident(sigma1=10, sigma2=5, threshold=25)
VOTES = np.array([[50, 0, 0], [30, 15, 5], [20, 15, 15], [0, 49, 1]], dtype=float)
ANSWERED = np.array([True, True, False, True])
EVERY = np.ones(4, dtype=bool)


def test_worst_case_is_the_plans_cost_and_never_looks_at_the_votes() -> None:
    cost = worst_case(CONFIDENT, 8)
    for votes in (VOTES, np.full((4, 3), np.nan)):
        total = charge(CONFIDENT, votes, ANSWERED, 8, "worst_case", teachers=50, lattice=LATTICE)
        assert total == pytest.approx(4 * cost.check + 3 * cost.answer, rel=1e-15)


def test_theorem6_is_the_sum_of_the_public_functions() -> None:
    gnmax = charge(GnMax(sigma=5), VOTES, EVERY, 8, "theorem6", teachers=50, lattice=LATTICE)
    assert gnmax == pytest.approx(gnmax_rdp(VOTES, 5, [8], bound="theorem6", lattice=LATTICE).sum())
    confident = charge(CONFIDENT, VOTES, ANSWERED, 8, "theorem6", teachers=50, lattice=LATTICE)
    rdp = confident_rdp(VOTES, 25, 10, 5, [8], ANSWERED, bound="theorem6", lattice=LATTICE)
    assert confident == pytest.approx(rdp.sum())
    assert confident < charge(CONFIDENT, VOTES, ANSWERED, 8, "worst_case", teachers=50, lattice=LATTICE)


@pytest.mark.parametrize(
    "row",
    [
        [50.5, -0.5, 0],
        [49.5, 0.5, 0],
        [51, 0, 0],
        [49, 0, 0],
        [-1, 51, 0],
        [2.0**46, 0, 0],
        [np.nan, 50, 0],
        [np.inf, 0, 0],
        [-(2.0**47), 50, 2.0**47],
    ],
)
@pytest.mark.parametrize("mechanism", [GnMax(sigma=5), CONFIDENT])
def test_what_is_no_histogram_of_n_votes_is_charged_the_worst_case(
    mechanism: Mechanism, row: list[float]
) -> None:
    cost = charge(mechanism, [row], [True], 8, "theorem6", teachers=50, lattice=LATTICE)
    assert cost == worst_case(mechanism, 8).total


def test_one_odd_row_does_not_change_what_the_others_cost() -> None:
    votes = np.vstack([VOTES, np.full(3, 2.0**40)])
    mask = np.append(ANSWERED, True)
    together = charge(CONFIDENT, votes, mask, 8, "theorem6", teachers=50, lattice=LATTICE)
    alone = charge(CONFIDENT, VOTES, ANSWERED, 8, "theorem6", teachers=50, lattice=LATTICE)
    assert together == pytest.approx(alone + worst_case(CONFIDENT, 8).total, rel=1e-12)


def test_teachers_may_differ_by_query() -> None:
    votes = [[50, 0], [10, 0]]
    cheap = charge(GnMax(sigma=2), votes, [True, True], 4, "theorem6", teachers=[50, 10], lattice=LATTICE)
    dear = charge(GnMax(sigma=2), votes, [True, True], 4, "theorem6", teachers=50, lattice=LATTICE)
    assert cheap < dear


@given(
    st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3), min_size=1, max_size=6),
    st.floats(0.5, 4),
    st.floats(1.5, 200),
    st.sampled_from(["worst_case", "theorem6"]),
)
def test_never_above_what_was_reserved(
    votes: list[list[int]], sensitivity: float, order: float, bound: BOUND
) -> None:
    answered = np.arange(len(votes)) % 2 == 0
    cost = charge(
        CONFIDENT,
        votes,
        answered,
        order,
        bound,
        sensitivity,
        teachers=[sum(row) for row in votes],
        lattice=LATTICE,
    )
    assert 0 <= cost <= len(votes) * worst_case(CONFIDENT, order, sensitivity).total * (1 + 1e-12)


def test_an_empty_batch_costs_nothing() -> None:
    none = np.zeros((0, 3))
    assert charge(CONFIDENT, none, np.zeros(0, bool), 8, "theorem6", teachers=50, lattice=LATTICE) == 0


def test_the_answered_mask_must_fit() -> None:
    with pytest.raises(InputError, match=r"^answered"):
        charge(CONFIDENT, VOTES, [True], 8, "theorem6", teachers=50, lattice=LATTICE)


def test_noise_too_narrow_for_the_lattice_is_charged_the_worst_case() -> None:
    mechanism = GnMax(sigma=2 * LATTICE)
    cost = charge(mechanism, [[50, 0]], [True], 1.5, "theorem6", teachers=50, lattice=LATTICE)
    assert cost == worst_case(mechanism, 1.5).total
