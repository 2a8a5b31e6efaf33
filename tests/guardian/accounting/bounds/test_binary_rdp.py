"""Bits of unclipped labels against many-digit arithmetic, as inequalities, and the paper's error."""

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.privacy import ORDERS, Influence, InputError
from ostraka.common.privacy.two_outcomes import two_outcomes_rdp
from ostraka.guardian.accounting.bounds.multilabel_rdp import binary_and_check_rdp, binary_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound
from tests.guardian.accounting import labels, oracle
from tests.guardian.accounting.labels import SOME

AT = np.array(ORDERS)[::8]
LATTICE = 2.0**-16
tallies = st.lists(st.integers(0, 50), min_size=1, max_size=6)
sigmas = st.floats(1, 60)
influences = st.builds(Influence, st.integers(1, 4), st.sampled_from([0.37, 0.5, 1.0, 1.6, 2.5]))


@pytest.mark.parametrize(
    ("positives", "n", "sigma"),
    [
        ([250], 250, 10.0),
        ([0, 125, 250], 250, 40.0),
        ([10, 130, 200, 249, 1], 250, 15.0),
        ([3, 2, 0, 5], 5, 0.7),
        ([1000], 1000, 5.0),
        ([20] * 4, 41, 20.0),
    ],
)
def test_exact_equals_many_digit_arithmetic_to_order_1024(positives: list[int], n: int, sigma: float) -> None:
    rdp = binary_rdp([positives], n, sigma, SOME)[0]
    label = [(p, n, True) for p in positives]
    worst = binary_rdp([positives], n, sigma, SOME, bound="worst_case")[0]
    exact = [labels.flipped(labels.vote(sigma), label, order) for order in SOME.tolist()]
    oracle.assert_equal(rdp, np.minimum(exact, worst))


@pytest.mark.heavy
@pytest.mark.parametrize("threshold", [40.0, 300.0, -5.0])
def test_check_and_bits_equal_many_digit_arithmetic(threshold: float) -> None:
    positives, answered = [0, 12, 25, 26, 49], [True, False, True, False, True]
    args = threshold, 7.0, 11.0, SOME, [answered]
    rdp = binary_and_check_rdp([positives], 50, *args)[0]
    worst = binary_and_check_rdp([positives], 50, *args, bound="worst_case")[0]
    released = labels.both(labels.check(threshold, 7.0), labels.vote(11.0))
    label = [(p, 50, given) for p, given in zip(positives, answered, strict=True)]
    exact = [labels.flipped(released, label, order) for order in SOME.tolist()]
    oracle.assert_equal(rdp, np.minimum(exact, worst))


def test_labels_may_have_different_numbers_of_votes() -> None:
    together = binary_rdp([[3, 20]], [[10, 50]], 6, AT)
    apart = [binary_rdp([[p]], n, 6, AT) for p, n in ((3, 10), (20, 50))]
    assert (together <= apart[0] + apart[1] + 1e-15).all()
    assert (together >= np.maximum(*apart)).all()


@pytest.mark.heavy
@given(tallies, sigmas, st.sampled_from([0.0, LATTICE]), influences)
@settings(deadline=None, max_examples=60)
def test_no_bound_exceeds_the_worst_case(
    positives: list[int], sigma: float, lattice: float, influence: Influence
) -> None:
    def rdp(bound: Bound) -> np.ndarray:
        return binary_rdp([positives], 50, sigma, AT, bound=bound, influence=influence, lattice=lattice)

    worst = rdp("worst_case")
    assert (rdp("exact") <= worst * (1 + 1e-12)).all()
    assert (rdp("theorem6") <= worst * (1 + 1e-12)).all()
    assert (worst <= len(positives) * AT * (influence.sensitivity / sigma) ** 2 * (1 + 1e-12)).all()


@pytest.mark.heavy
@given(tallies, sigmas)
@settings(deadline=None, max_examples=40)
def test_the_theorem_bounds_its_own_direction(positives: list[int], sigma: float) -> None:
    orders = [2.0, 8.0]
    bound = binary_rdp([positives], 50, sigma, orders, bound="theorem6")[0]
    for order, value in zip(orders, bound.tolist(), strict=True):
        with mp.workdps(50):
            forwards = mp.fsum(
                max(labels.divergences(labels.vote(sigma), (p, 50, True), by, order)[0] for by in (-1, 1))
                for p in positives
            )
        assert forwards <= value * (1 + 1e-9) + 1e-300


@pytest.mark.heavy
@given(tallies, sigmas, st.floats(1.01, 2))
@settings(deadline=None, max_examples=40)
def test_more_noise_costs_less_in_the_worst_case_and_at_even_votes(
    positives: list[int], sigma: float, more: float
) -> None:
    even = [25] * len(positives)
    cases: list[tuple[list[int], Bound]] = [(positives, "worst_case"), (even, "exact")]
    for votes, bound in cases:
        low = binary_rdp([votes], 50, sigma, AT, bound=bound)
        high = binary_rdp([votes], 50, sigma * more, AT, bound=bound)
        assert (high <= low * (1 + 2e-6)).all()


@pytest.mark.heavy
@given(st.permutations([0, 7, 20, 25, 49]), sigmas)
@settings(deadline=None, max_examples=20)
def test_labels_may_be_reordered_and_negated(positives: list[int], sigma: float) -> None:
    rdp = binary_rdp([sorted(positives)], 50, sigma, AT)
    np.testing.assert_allclose(binary_rdp([positives], 50, sigma, AT), rdp, rtol=1e-12)
    np.testing.assert_allclose(binary_rdp([[50 - p for p in positives]], 50, sigma, AT), rdp, rtol=1e-12)


@pytest.mark.heavy
@given(tallies, sigmas, st.sampled_from([0.25, 0.5]), st.sampled_from(["worst_case", "theorem6", "exact"]))
@settings(deadline=None, max_examples=30)
def test_votes_sigma_and_sensitivity_scale_together(
    positives: list[int], sigma: float, by: float, bound: Bound
) -> None:
    scaled = binary_rdp(
        [[p * by for p in positives]],
        50 * by,
        sigma * by,
        AT,
        bound=bound,
        influence=Influence(weight=by),
    )
    rdp = binary_rdp([positives], 50, sigma, AT, bound=bound)
    np.testing.assert_allclose(scaled, rdp, rtol=1e-9, atol=1e-290)


def test_queries_cost_alike_alone_and_together() -> None:
    votes = np.random.default_rng(0).integers(0, 51, size=(700, 6))
    together = binary_rdp(votes, 50, 9, AT)
    for row in (0, 1, 350, 699):
        np.testing.assert_allclose(binary_rdp(votes[row : row + 1], 50, 9, AT)[0], together[row], rtol=1e-13)
    assert binary_rdp(np.zeros((0, 3)), 50, 9, AT).shape == (0, len(AT))


def test_a_check_and_a_bit_for_one_neighbour_cost_less_than_apart() -> None:
    answered = [[True] * 3]
    joint = binary_and_check_rdp([[5, 30, 45]], 50, 40, 20, 9, AT, answered)
    check = binary_and_check_rdp([[5, 30, 45]], 50, 40, 20, 9, AT, [[False] * 3])
    assert (joint <= check + binary_rdp([[5, 30, 45]], 50, 9, AT) * (1 + 1e-12)).all()
    assert (check <= joint).all()


def test_only_answered_labels_pay_for_their_bits() -> None:
    none = binary_and_check_rdp([[5, 30]], 50, 40, 20, 9, AT, [[False, False]], bound="worst_case")
    one = binary_and_check_rdp([[5, 30]], 50, 40, 20, 9, AT, [[False, True]], bound="worst_case")
    each = [two_outcomes_rdp(order, 2 / (9 * math.sqrt(2))) for order in AT.tolist()]
    np.testing.assert_allclose(one[0] - none[0], each, rtol=1e-12)


def test_one_draw_on_the_positives_exceeds_what_000_states() -> None:
    """Definitions 4 and 7: k=2, s=20, a=2, tau=1; both sides move, so the shift is 2/s."""
    with mp.workdps(50):
        here, there = labels.bit(mp.mpf(-1) / 20), labels.bit(mp.mpf(1) / 20)
        true = 2 * oracle.small_divergence(here, there, 2)
    binary, tau = 2 * 2 / 20**2, 2 * 1**2 / 20**2
    assert float(true) == pytest.approx(0.0127, abs=5e-5)
    assert true > binary == pytest.approx(0.0100)
    assert true > tau == pytest.approx(0.0050)
    assert binary_rdp([[25, 25]], 50, 20, 2, bound="worst_case")[0, 0] < binary


@pytest.mark.parametrize(
    ("arguments", "named", "index"),
    [
        ({"positives": [[1, -1]]}, "positives", (0, 1)),
        ({"positives": [[1, math.nan]]}, "positives", (0, 1)),
        ({"positives": [[1, 11]]}, "positives", (0, 1)),
        ({"positives": [1, 2]}, "positives", ()),
        ({"positives": np.zeros((3, 0))}, "positives", ()),
        ({"n": math.inf}, "n", ()),
        ({"n": [[10, math.nan]]}, "n", (0, 1)),
        ({"n": [10, 10, 10]}, "n", ()),
        ({"orders": [2.0, 1.0]}, "orders", (1,)),
        ({"sigma": 0.0}, "sigma", ()),
        ({"lattice": -1.0}, "lattice", ()),
        ({"bound": "best"}, "bound", ()),
        ({"tau": 0.0}, "tau", ()),
        ({"tau": 1.5}, "tau", ()),
        ({"tau": math.nan}, "tau", ()),
    ],
)
def test_malformed_arguments_are_named(
    arguments: dict[str, object], named: str, index: tuple[int, ...]
) -> None:
    given = {"positives": [[1, 2]], "n": 10, "sigma": 5.0, "orders": 2.0} | arguments
    with pytest.raises(InputError) as caught:
        binary_rdp(**given)  # type: ignore[arg-type]
    assert (caught.value.argument, caught.value.index) == (named, index)


@pytest.mark.parametrize("answered", [[True, False], [[True]], [[1, 0]], [[True, False], [True, False]]])
def test_masks_of_another_shape_are_refused(answered: list[Any]) -> None:
    with pytest.raises(InputError) as caught:
        binary_and_check_rdp([[1, 2]], 10, 8, 5, 5, 2.0, answered)
    assert caught.value.argument == "answered"
