"""No two records, however they are chosen, move a sum by more than is paid for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ostraka.common.sums.codes import ClassCodes, LabelCodes, NumberCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import (
    AdditiveModel,
    BoostQuestion,
    ColumnStatistic,
    GradientQuestion,
    LinearQuestion,
    MomentsQuestion,
    Rows,
    StatisticsQuestion,
    Target,
    sum_steps,
)
from ostraka.common.sums.sensitivity import (
    MOVED_CODES,
    MOVED_GRADIENT,
    MOVED_GRAM,
    MOVED_HISTOGRAM,
    move_on_lattice,
    move_of_statistics,
)

BITS = 16
VALUES = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 1e300, -1e300, float("nan"), float("inf")]), st.floats(-3, 3)
)
PAIRS = arrays(np.float64, (2, 3), elements=VALUES)
MAP = FeatureMap(np.array([0.5, 0.5, 0.5]), 0.2)


def moved(question: LinearQuestion, X: np.ndarray, y: np.ndarray) -> list[tuple[float, int]]:
    """Return how far, in units, each block differs between the first record and the second; and its width."""
    sums = [sum_steps(question, Rows(X[i : i + 1], X[i : i + 1], y[i : i + 1]), BITS) for i in (0, 1)]
    return [
        (float(np.linalg.norm(np.ldexp((a - b).astype(np.float64), -BITS))), len(a))
        for a, b in zip(*sums, strict=True)
    ]


def assert_bounded(found: list[tuple[float, int]], *bounds: float) -> None:
    for (distance, width), bound in zip(found, bounds, strict=True):
        assert distance <= move_on_lattice(bound, width, BITS)


@settings(max_examples=25)
@given(PAIRS, st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_moments_move_by_no_more_than_two_and_their_gram_by_root_two(
    X: np.ndarray, y: tuple[int, int]
) -> None:
    codes = ClassCodes(np.array([[9.0, 0.0], [-1.0, 0.0], [0.3, 0.4]]))
    question = MomentsQuestion(MAP, codes, gram=True)
    assert_bounded(moved(question, X, np.array(y)), MOVED_CODES, MOVED_GRAM)


@settings(max_examples=25)
@given(PAIRS, arrays(np.float64, 2, elements=VALUES))
def test_numbers_and_labels_move_moments_no_further(X: np.ndarray, y: np.ndarray) -> None:
    assert_bounded(moved(MomentsQuestion(MAP, NumberCodes(0.3, 0.1)), X, y), MOVED_CODES)
    labels = np.stack([y, -y], axis=1)
    assert_bounded(moved(MomentsQuestion(MAP, LabelCodes(np.array([0.1, 0.2]), 0.5)), X, labels), MOVED_CODES)


@settings(max_examples=25)
@given(PAIRS, st.tuples(st.integers(0, 2), st.integers(0, 2)), st.floats(0.01, 100))
def test_a_gradient_moves_by_no_more_than_two_radii(X: np.ndarray, y: tuple[int, int], size: float) -> None:
    weights = size * np.arange(12, dtype=np.float64).reshape(4, 3)
    question = GradientQuestion(MAP, Target("softmax", 3), weights, radius=0.5)
    assert_bounded(moved(question, X, np.array(y)), MOVED_GRADIENT)


@settings(max_examples=25)
@given(PAIRS, arrays(np.float64, 2, elements=VALUES), st.integers(0, 3))
def test_a_residual_moves_a_histogram_by_no_more_than_two_radii(
    X: np.ndarray, y: np.ndarray, indicators: int
) -> None:
    question = BoostQuestion(
        AdditiveModel(np.array([0.2])),
        Target("squared", 1, 0.5, 0.1),
        0,
        np.array([0.2, 0.8]),
        4,
        0.5,
        indicators,
    )
    assert_bounded(moved(question, X, y), MOVED_HISTOGRAM)


def test_the_bounds_are_reached() -> None:
    X = np.array([[0.7, 0.5, 0.5], [0.3, 0.5, 0.5]])
    flat = FeatureMap(np.full(3, 0.5), 0.2, constant=0.0)
    signs = ClassCodes(np.array([[1.0], [-1.0]]))
    (codes, gram) = moved(MomentsQuestion(flat, signs, gram=True), X, np.array([0, 0]))
    assert codes[0] == pytest.approx(MOVED_CODES, abs=1e-3)
    assert gram[0] == pytest.approx(0, abs=1e-3)
    X[1] = [0.5, 0.7, 0.5]
    assert moved(MomentsQuestion(flat, signs, gram=True), X, np.array([0, 0]))[1][0] == pytest.approx(
        MOVED_GRAM, abs=1e-3
    )


@settings(max_examples=25)
@given(arrays(np.float64, (2, 3), elements=st.one_of(st.just(float("nan")), st.floats(-3, 3))))
def test_counts_of_columns_move_by_two_places_each(X: np.ndarray) -> None:
    question = StatisticsQuestion(tuple(ColumnStatistic(column, 0.0, 1.0, 4) for column in range(3)))
    found = moved(question, X, np.zeros(2))
    assert np.linalg.norm([distance for distance, _ in found]) <= move_of_statistics(3) + 1e-9
