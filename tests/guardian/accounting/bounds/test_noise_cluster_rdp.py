"""NoiseCluster against every neighbour in many digits; and that a check costs whatever it says."""

import itertools
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.privacy import ORDERS, Influence
from ostraka.guardian.accounting import InputError, gnmax_rdp, threshold_rdp
from ostraka.guardian.accounting.bounds.noise_cluster_rdp import noise_cluster_rdp
from tests.guardian.accounting import oracle

AT = np.array(ORDERS)
SOME = np.array([1.5, 8.0, 64.0, 512.0])
tables = st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=1, max_size=4).filter(
    lambda rows: any(map(any, rows))
)
sigmas = st.floats(2, 40)


def largest(counts: list[list[int]], sigma: float, order: float, *, across: bool) -> float:
    """Return the largest divergence of all clusters' labels together, over every record that could move."""
    cells = list(itertools.product(range(len(counts)), range(len(counts[0]))))
    found = []
    for (c, a), (d, b) in itertools.permutations(cells, 2):
        if c != d and not across:
            continue
        moved = [list(row) for row in counts]
        moved[c][a] -= 1
        moved[d][b] += 1
        changed = {c, d}
        pairs = [(outcomes(tuple(counts[i]), sigma), outcomes(tuple(moved[i]), sigma)) for i in changed]
        found.append(mp.fsum(oracle.small_divergence(p, r, order) for p, r in pairs))
        found.append(mp.fsum(oracle.small_divergence(r, p, order) for p, r in pairs))
    return float(max(found))


known: dict[tuple[tuple[int, ...], float], list[Any]] = {}


def outcomes(counts: tuple[int, ...], sigma: float) -> list[Any]:
    key = (counts, sigma)
    if key not in known:
        known[key] = oracle.argmax_probabilities(counts, sigma)
    return known[key]


@pytest.mark.parametrize(
    ("counts", "sigma"),
    [
        ([[12, 10, 3], [20, 1, 0]], 4.0),
        ([[30, 0], [15, 14], [0, 40]], 5.0),
        ([[9, 9], [9, 9]], 3.0),
        ([[0, 0, 0], [8, 2, 1]], 2.0),
    ],
)
@pytest.mark.parametrize("adjacency", ["record", "label"])
def test_equal_to_many_digit_arithmetic_over_all_clusters(
    counts: list[list[int]], sigma: float, adjacency: Any
) -> None:
    rdp = noise_cluster_rdp(counts, sigma, SOME, adjacency=adjacency)
    for order, value in zip(SOME, rdp, strict=True):
        found = largest(counts, sigma, order, across=adjacency == "record")
        oracle.assert_equal(value, min(found, order / sigma**2), f"order {order}")


def test_a_record_in_another_cluster_can_cost_more_than_another_label() -> None:
    counts = [[20, 20, 0, 20, 0, 0], [0, 20, 1, 5, 0, 5]]
    record = noise_cluster_rdp(counts, 1.2, AT)
    label = noise_cluster_rdp(counts, 1.2, AT, adjacency="label")
    assert (record >= label).all()
    assert (record > 1.1 * label).any()


def test_the_whole_batch_costs_less_than_its_clusters_one_by_one() -> None:
    counts = np.tile([[20, 18, 1]], (50, 1))
    total = noise_cluster_rdp(counts, 5, AT)
    assert (total <= AT / 25).all()
    assert (total < gnmax_rdp(counts, 5, AT).sum(axis=0) / 20).all()


@pytest.mark.heavy
@given(tables, sigmas, st.sampled_from([0.0, 2.0**-16]), st.sampled_from(["record", "label"]))
@settings(deadline=None, max_examples=30)
def test_never_above_the_worst_case(
    counts: list[list[int]], sigma: float, lattice: float, adjacency: Any
) -> None:
    how: dict[str, Any] = {"lattice": lattice, "adjacency": adjacency}
    worst = noise_cluster_rdp(counts, sigma, AT, bound="worst_case", **how)
    np.testing.assert_allclose(worst, AT / sigma**2)
    for bound in ("theorem6", "exact"):
        rdp = noise_cluster_rdp(counts, sigma, AT, bound=bound, **how)
        assert ((rdp >= 0) & (rdp <= worst)).all()


@pytest.mark.heavy
@given(st.permutations([[12, 10, 3], [20, 1, 0], [7, 7, 7]]), st.permutations([0, 1, 2]))
@settings(deadline=None, max_examples=12)
def test_clusters_and_classes_may_be_reordered(rows: list[list[int]], classes: list[int]) -> None:
    expected = noise_cluster_rdp([[12, 10, 3], [20, 1, 0], [7, 7, 7]], 4, AT)
    np.testing.assert_allclose(noise_cluster_rdp(np.array(rows)[:, classes], 4, AT), expected, rtol=1e-9)


@pytest.mark.heavy
@given(tables, sigmas)
@settings(deadline=None, max_examples=15)
def test_counts_sigma_and_sensitivity_scale_together(counts: list[list[int]], sigma: float) -> None:
    half = noise_cluster_rdp(np.array(counts) / 2, sigma / 2, AT, influence=Influence(weight=0.5))
    np.testing.assert_allclose(half, noise_cluster_rdp(counts, sigma, AT), rtol=1e-9, atol=1e-290)


def test_theorem6_bounds_its_direction_across_clusters() -> None:
    counts, sigma, order = [[60, 0], [50, 0]], 9.0, 8.0
    rdp = noise_cluster_rdp(counts, sigma, order, bound="theorem6")[0]
    assert rdp < order / sigma**2
    here = [outcomes(tuple(row), sigma) for row in counts]
    there = [outcomes((59, 0), sigma), outcomes((50, 1), sigma)]
    true = mp.fsum(oracle.small_divergence(p, r, order) for p, r in zip(here, there, strict=True))
    assert true <= rdp


def test_a_check_that_fails_costs_too() -> None:
    """Section 4.2.2 of Tang et al. 2022 charges only what passes PATE-FM's check: nothing for this query."""
    largest_count, threshold, sigma, order = 100, 103, 3.0, 8.0

    def outcome(top: int) -> list[Any]:
        z = (mp.mpf(top) - threshold) / sigma
        return [oracle.upper_tail(-z), oracle.upper_tail(z)]

    true = oracle.small_divergence(outcome(largest_count), outcome(largest_count - 1), order)
    published = 0.0
    rdp = threshold_rdp([[largest_count, 20]], threshold, sigma, order)[0, 0]
    assert published < 0.1 < float(true) <= rdp * (1 + 1e-9)
    assert rdp <= order / (2 * sigma**2)


@pytest.mark.parametrize("bound", ["worst_case", "theorem6", "exact"])
def test_several_records_of_one_unit_may_lie_in_as_many_clusters_and_cost_the_worst_case(bound: Any) -> None:
    rdp = noise_cluster_rdp([[12, 0, 0], [20, 0, 0]], 4, AT, bound=bound, influence=Influence(2))
    np.testing.assert_allclose(rdp, AT * 2**2 / 16)


@pytest.mark.parametrize(
    ("counts", "adjacency", "argument"),
    [([[1, -1]], "record", "counts"), ([[1]], "record", "counts"), ([[1, 2]], "person", "adjacency")],
)
def test_bad_input(counts: object, adjacency: Any, argument: str) -> None:
    with pytest.raises(InputError) as refusal:
        noise_cluster_rdp(counts, 1, [2], adjacency=adjacency)  # type: ignore[arg-type]
    assert refusal.value.argument == argument
