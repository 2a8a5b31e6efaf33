"""Powerset against GNMax over every label set, and against many-digit arithmetic for very many sets."""

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtri

from ostraka.common.privacy import ORDERS, Influence
from ostraka.guardian.accounting import InputError, confident_rdp, gnmax_rdp
from ostraka.guardian.accounting.bounds.powerset_rdp import log_q_sets, powerset_and_check_rdp, powerset_rdp
from tests.guardian.accounting import oracle

AT = np.array(ORDERS)
SOME = np.array([1.5, 8.0, 64.0, 1024.0])
DIGITS = 45
ballots = st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any)
sigmas = st.floats(1.5, 40)


def over_all_sets(counts: Sequence[float], k: int) -> np.ndarray:
    full = np.zeros((1, 2**k))
    full[0, : len(counts)] = counts
    return full


@pytest.mark.parametrize(
    ("counts", "k", "sigma"),
    [
        ([5, 3, 2], 2, 2.0),
        ([4, 3, 2, 1], 2, 2.0),
        ([30, 0, 0], 2, 5.0),
        ([20, 20, 7, 3], 3, 4.0),
        ([8, 8, 8, 2, 2, 1], 3, 1.5),
        ([10] * 8, 3, 3.0),
        ([10] * 7, 3, 3.0),
        ([50], 3, 1.0),
        ([20, 3, 3, 3, 3, 1, 1], 4, 3.0),
        ([100, 1], 4, 2.0),
        ([7], 1, 3.0),
    ],
)
def test_few_sets_cost_what_gnmax_over_all_of_them_does(counts: list[int], k: int, sigma: float) -> None:
    full = over_all_sets(counts, k)
    rdp = powerset_rdp([counts], k, sigma, AT)
    np.testing.assert_allclose(rdp, gnmax_rdp(full, sigma, AT), rtol=1e-9, atol=1e-290)
    theorem6 = powerset_rdp([counts], k, sigma, AT, bound="theorem6")
    np.testing.assert_allclose(theorem6, gnmax_rdp(full, sigma, AT, bound="theorem6"), rtol=1e-12)


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("bound", ["worst_case", "theorem6", pytest.param("exact", marks=pytest.mark.heavy)])
def test_a_checked_query_costs_what_confident_over_all_sets_does(answered: bool, bound: str) -> None:
    counts = [20, 7, 3, 3, 3, 1]
    rdp = powerset_and_check_rdp([counts], 3, 25, 9, 4, AT, [answered], bound=bound)  # type: ignore[arg-type]
    full = over_all_sets(counts, 3)
    confident = confident_rdp(full, 25, 9, 4, AT, [answered], bound=bound)  # type: ignore[arg-type]
    np.testing.assert_allclose(rdp, confident, rtol=1e-9, atol=1e-290)


class Integrals:
    """Outcomes over `sets` label sets in many digits, from a trapezoid rule finer than it needs to be.

    The more sets, the narrower the largest count's law. Of 2^40 and more one is far above 0: below it nothing
    is summed.
    """

    def __init__(self, sets: int, sigma: float, top: float) -> None:
        self.sets, self.sigma, self.step = sets, mp.mpf(sigma), mp.mpf(1) / (24 if sets < 2**64 else 48)
        last = int((top / sigma + 22) / self.step)
        self.points = [index * self.step for index in range(last)]
        self.factors = cache(self._factors)

    def _factors(self, count: int) -> tuple[list[Any], list[Any]]:
        with mp.workdps(DIGITS):
            z = [x - count / self.sigma for x in self.points]
            return [mp.npdf(x) for x in z], [mp.ncdf(x) for x in z]

    def outcomes(self, counts: Sequence[int]) -> tuple[list[Any], Any]:
        """Return the probability of each set in `counts`, and of one of the others, whose count is 0."""
        with mp.workdps(DIGITS):
            unseen = self.sets - len(counts)
            every = [c**unseen for c in self.factors(0)[1]]
            for count in counts:
                every = [p * c for p, c in zip(every, self.factors(count)[1], strict=True)]
            wins = []
            for count in [*counts, 0]:
                density, cdf = self.factors(count)
                wins.append(
                    self.step * mp.fsum(p * d / c for p, d, c in zip(every, density, cdf, strict=True))
                )
            return wins[:-1], wins[-1]


def excess(p: Any, r: Any, power: Any) -> Any:
    return p * ((r / p) ** power - 1 - power * (r / p - 1))


Outcomes = tuple[list[Any], Any]


def neighbours(integrals: Integrals, counts: list[int]) -> list[Outcomes]:
    """Return the outcomes of every neighbour; a vote may leave and reach sets without votes."""
    padded = [*counts, 0, 0]
    pairs = {(padded[a], padded[b]): (a, b) for a, b in itertools.permutations(range(len(padded)), 2)}
    moved = [[c - (i == a) + (i == b) for i, c in enumerate(padded)] for a, b in pairs.values()]
    return [integrals.outcomes(there) for there in moved]


def divergence(here: Outcomes, there: Outcomes, others: int, order: float) -> float:
    """Return the larger of both directions, the `others` sets without votes taken together."""
    found = []
    with mp.workdps(DIGITS):
        for power in (mp.mpf(order), 1 - mp.mpf(order)):
            seen = mp.fsum(excess(p, r, power) for p, r in zip(here[0], there[0], strict=True))
            found.append(mp.log1p(seen + others * excess(here[1], there[1], power)) / (order - 1))
    return float(max(found))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("counts", "k", "sigma"), [([40, 7, 7], 40, 4.0), ([12], 40, 9.0), ([50], 40, 2.0), ([30, 20], 101, 3.0)]
)
def test_very_many_sets_equal_many_digit_arithmetic(counts: list[int], k: int, sigma: float) -> None:
    integrals = Integrals(2**k, sigma, counts[0])
    rdp = powerset_rdp([counts], k, sigma, SOME)[0]
    here, others = integrals.outcomes([*counts, 0, 0]), 2**k - len(counts) - 2
    there = neighbours(integrals, counts)
    for order, value in zip(SOME, rdp, strict=True):
        largest = max(divergence(here, moved, others, order) for moved in there)
        oracle.assert_equal(value, min(largest, order / sigma**2), f"order {order}")


@pytest.mark.parametrize("sets", [1, 2, 5, 100, 10**6, 2**40, 2**101, 2**256])
def test_many_equal_factors_stay_small_beside_the_real_line(sets: int) -> None:
    """The lemma of docs/accounting-mechanisms.md, which the step of the sums rests on."""
    edge = max(1.0, -ndtri(min(0.5, 1 / sets))) + 2
    x = np.linspace(-30, 40, 20_001)
    aside = log_ndtr(x + 2j / (3 * edge)).real
    assert (sets * (aside - log_ndtr(x + 0.4 / edge)) <= 0.5).all()


def test_at_most_so_many_positives_leaves_fewer_sets() -> None:
    sets = 1 + 5 + 10
    full = np.zeros((1, sets))
    full[0, :3] = [20, 6, 4]
    rdp = powerset_rdp([[20, 6, 4]], 5, 4, AT, max_positives=2)
    np.testing.assert_allclose(rdp, gnmax_rdp(full, 4, AT), rtol=1e-9, atol=1e-290)
    np.testing.assert_array_equal(
        powerset_rdp([[20, 6, 4]], 5, 4, AT, max_positives=9), powerset_rdp([[20, 6, 4]], 5, 4, AT)
    )


@pytest.mark.parametrize("k", [20, 40, 101])
def test_theorem6_takes_the_union_over_all_sets(k: int) -> None:
    with mp.workdps(60):
        scale = mp.sqrt(2) * 3
        union = oracle.upper_tail(70 / scale) + (2**k - 2) * oracle.upper_tail(80 / scale)
        expected = float(mp.log(union))
    assert log_q_sets(np.array([[80.0, 10.0, 0.0]]), 2**k, 3, 0.0)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.heavy
@given(ballots, sigmas, st.sampled_from([3, 12, 40, 200]), st.sampled_from([0.0, 2.0**-16]))
@settings(deadline=None, max_examples=25)
def test_never_above_the_worst_case(counts: list[int], sigma: float, k: int, lattice: float) -> None:
    worst = powerset_rdp([counts], k, sigma, AT, bound="worst_case")
    for bound in ("theorem6", "exact"):
        rdp = powerset_rdp([counts], k, sigma, AT, bound=bound, lattice=lattice)
        assert ((rdp >= 0) & (rdp <= worst)).all()


@pytest.mark.heavy
@given(ballots, st.floats(4, 40))
@settings(deadline=None, max_examples=15)
def test_the_lattice_only_ever_adds_a_little(counts: list[int], sigma: float) -> None:
    continuous = powerset_rdp([counts], 40, sigma, AT)
    on_lattice = powerset_rdp([counts], 40, sigma, AT, lattice=2.0**-16)
    assert (on_lattice >= continuous).all()
    assert (on_lattice <= continuous + 1e-5).all()


@pytest.mark.heavy
@given(st.permutations([30, 9, 9, 9, 2, 0, 0]), sigmas)
@settings(deadline=None, max_examples=15)
def test_sets_may_be_reordered_and_padded(counts: list[int], sigma: float) -> None:
    np.testing.assert_allclose(
        powerset_rdp([counts], 40, sigma, AT),
        powerset_rdp([[30, 9, 9, 9, 2]], 40, sigma, AT),
        rtol=1e-9,
        atol=1e-290,
    )


@pytest.mark.heavy
@given(ballots, sigmas, st.sampled_from([0.125, 0.37, 1.6, 2.5]))
@settings(deadline=None, max_examples=15)
def test_counts_sigma_and_sensitivity_scale_together(counts: list[int], sigma: float, by: float) -> None:
    np.testing.assert_allclose(
        powerset_rdp([[c * by for c in counts]], 40, sigma * by, AT, influence=Influence(weight=by)),
        powerset_rdp([counts], 40, sigma, AT),
        rtol=1e-9,
        atol=1e-290,
    )


def test_queries_are_charged_alike_alone_and_together() -> None:
    draws = np.random.default_rng(0)
    counts = draws.multinomial(50, draws.dirichlet([0.1] * 30, 12)).astype(float)
    together = powerset_rdp(counts, 40, 7, AT[::20])
    for row, rdp in zip(counts, together, strict=True):
        np.testing.assert_allclose(powerset_rdp([row], 40, 7, AT[::20])[0], rdp, rtol=1e-9, atol=1e-290)


def test_more_label_sets_than_are_proved_stay_at_the_worst_case() -> None:
    exact = powerset_rdp([[40, 9, 1]], 257, 4, AT, influence=Influence(weight=1.5))
    np.testing.assert_allclose(exact[0], AT * (1.5 / 4) ** 2, rtol=1e-15)


def test_sums_that_show_no_vote_may_have_been_shifted() -> None:
    np.testing.assert_allclose(powerset_rdp([[0, 0]], 3, 5, AT), gnmax_rdp([[9] * 8], 5, AT), rtol=1e-9)


def test_unanimous_votes_cost_far_less_than_the_worst_case() -> None:
    exact = powerset_rdp([[50]], 40, 4, 8.0)[0, 0]
    assert exact < 1e-3 < 8 / 16
    assert math.isclose(powerset_rdp([[50]], 40, 4, 8.0, bound="worst_case")[0, 0], 0.5)


@pytest.mark.parametrize(
    ("counts", "k", "max_positives", "argument"),
    [
        ([[1, np.nan]], 3, None, "counts"),
        ([[1, -1]], 3, None, "counts"),
        ([1, 2], 3, None, "counts"),
        ([[1, 1, 1, 1, 1]], 2, None, "counts"),
        ([[1, 1, 1]], 4, 0, "max_positives"),
        ([[1]], 0, None, "k"),
        ([[1]], 2.5, None, "k"),
    ],
)
def test_bad_input(counts: object, k: int, max_positives: int | None, argument: str) -> None:
    with pytest.raises(InputError) as refusal:
        powerset_rdp(counts, k, 1, [2], max_positives=max_positives)  # type: ignore[arg-type]
    assert refusal.value.argument == argument
