"""The check of every label: against many-digit arithmetic, and where it is charged too little."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.privacy import ORDERS, InputError
from ostraka.common.privacy.two_outcomes import two_outcomes_rdp
from ostraka.guardian.accounting.bounds.multilabel_rdp import multilabel_check_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound
from tests.guardian.accounting import labels, oracle
from tests.guardian.accounting.labels import SOME

AT = np.array(ORDERS)[::16]


@pytest.mark.parametrize(
    ("positives", "n", "threshold", "sigma"),
    [
        ([250, 0, 125, 130], 250, 300.0, 50.0),
        ([250], 250, 150.0, 5.0),
        ([1, 2, 3], 5, 4.5, 0.8),
        ([25, 26], 51, 20.0, 6.0),
    ],
)
def test_exact_equals_many_digit_arithmetic(
    positives: list[int], n: int, threshold: float, sigma: float
) -> None:
    rdp = multilabel_check_rdp([positives], n, threshold, sigma, SOME)[0]
    worst = multilabel_check_rdp([positives], n, threshold, sigma, SOME, bound="worst_case")[0]
    label = [(p, n, True) for p in positives]
    exact = [labels.flipped(labels.check(threshold, sigma), label, order) for order in SOME.tolist()]
    oracle.assert_equal(rdp, np.minimum(exact, worst))


def test_one_check_for_all_labels_is_too_little() -> None:
    """Algorithm 2 of Dziedzic et al. 2023 with Confident's cost of one check: k=20, s1=50, a=8."""
    centred = multilabel_check_rdp([[200] * 20], 250, 200, 50, 8)[0, 0]
    charged = 8 / (2 * 50**2)
    assert centred == pytest.approx(0.0204, abs=1e-4)
    assert charged == pytest.approx(0.0016)
    worst = multilabel_check_rdp([[200] * 20], 250, 200, 50, 8, bound="worst_case")[0, 0]
    assert centred <= worst <= 20 * charged
    assert worst == 20 * two_outcomes_rdp(8, 1 / 50)


@pytest.mark.heavy
@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=6),
    st.sampled_from([1.0, 6.0, 40.0]),
    st.floats(-10, 100),
    st.sampled_from([None, 0.5, 1.0]),
    st.sampled_from(["exact", "theorem6"]),
)
@settings(deadline=None, max_examples=60)
def test_never_above_the_worst_case(
    positives: list[int], sigma: float, threshold: float, tau: float | None, bound: Bound
) -> None:
    rdp = multilabel_check_rdp([positives], 50, threshold, sigma, AT, bound=bound, tau=tau)
    worst = multilabel_check_rdp([positives], 50, threshold, sigma, AT, bound="worst_case", tau=tau)
    assert (rdp >= 0).all()
    assert (rdp <= worst * (1 + 1e-12)).all()
    most = len(positives) if tau is None else min(len(positives), 2 * tau**2)
    assert (worst <= most * AT / (2 * sigma**2) * (1 + 1e-12)).all()


@pytest.mark.heavy
@given(
    st.sampled_from([0, 3, 24, 25, 26, 50]),
    st.sampled_from([1.0, 5.0, 30.0]),
    st.floats(0, 60),
    st.integers(1, 40),
)
@settings(deadline=None, max_examples=60)
def test_clipped_votes_near_an_even_split_may_turn_the_check_either_way(
    p: int, sigma: float, threshold: float, part: int
) -> None:
    bound = multilabel_check_rdp([[p]], 50, threshold, sigma, 4.0, tau=1.0)[0, 0]
    for by in (part / 40, -part / 40):
        with mp.workdps(labels.DIGITS):
            both = labels.divergences(labels.check(threshold, sigma), (p, 50, True), by, 4.0)
            assert max(both) <= bound * (1 + 1e-9) + 1e-290


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"threshold": math.inf}, "threshold"),
        ({"sigma": -1.0}, "sigma"),
        ({"tau": 2.0}, "tau"),
    ],
)
def test_malformed_arguments_are_named(arguments: dict[str, object], named: str) -> None:
    given = {"positives": [[1, 2]], "n": 10, "threshold": 8.0, "sigma": 5.0, "orders": 2.0} | arguments
    with pytest.raises(InputError) as caught:
        multilabel_check_rdp(**given)  # type: ignore[arg-type]
    assert caught.value.argument == named
