"""What a record moves, whatever records and questions are: never more than is charged."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.mechanism import Boost, Gradients, Moments, RecordSums, Statistics
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import gaussian_epsilon
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sums.codes import ClassCodes, NumberCodes
from ostraka.common.sums.feature_map import FeatureMap, clip_rows
from ostraka.common.sums.questions import (
    CHUNK,
    ColumnStatistic,
    GradientQuestion,
    LinearQuestion,
    MomentsQuestion,
    Rows,
    StatisticsQuestion,
    Target,
    pack_symmetric,
    sum_steps,
    weigh_steps,
)
from ostraka.common.sums.sensitivity import move_on_lattice
from tests.common.sums.questions import KINDS, records

VOTE = 2**FRACTION_BITS


def blocks_of(mechanism: RecordSums, steps: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return steps as the blocks of a mechanism, which counts columns of statistics together."""
    ends = np.cumsum([0, *(block.width for block in mechanism.blocks)])
    joined = np.concatenate(steps)
    assert len(joined) == ends[-1]
    return [joined[start:end] for start, end in pairwise(ends.tolist())]


def moved(
    question: LinearQuestion, mechanism: RecordSums, rows: Rows, other: Rows, weight: int
) -> list[float]:
    """Return how far each block of the weighed sums of neighbours is apart, in units."""
    sums = [
        [weigh_steps(block, weight, FRACTION_BITS) for block in sum_steps(question, each, FRACTION_BITS)]
        for each in (rows, other)
    ]
    first, second = (blocks_of(mechanism, each) for each in sums)
    return [
        float(np.linalg.norm((one - two).astype(np.float64))) / VOTE
        for one, two in zip(first, second, strict=True)
    ]


def replaced(rows: Rows, by: Rows, places: Sequence[int]) -> Rows:
    """Return records with some replaced."""
    codes, X, y = rows.codes.copy(), rows.X.copy(), rows.y.copy()
    for source, place in enumerate(places):
        codes[place], X[place], y[place] = by.codes[source], by.X[source], by.y[source]
    return Rows(codes, X, y)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_record_moves_a_sum_further_than_is_charged(kind: str, data: st.DataObject) -> None:
    labels = data.draw(st.sampled_from(["classes", "labels", "numbers"]))
    question, mechanism = KINDS[kind](data.draw, labels)
    rows = records(data.draw, 4, labels)
    count = data.draw(st.integers(1, 2))
    other = replaced(rows, records(data.draw, count, labels), data.draw(st.permutations(range(4)))[:count])
    weight = data.draw(st.sampled_from([VOTE, 1, VOTE // 3, 5 * VOTE + 7]))
    for block, apart in zip(mechanism.blocks, moved(question, mechanism, rows, other, weight), strict=True):
        most = move_on_lattice(block.moved, block.width, FRACTION_BITS, count * weight / VOTE)
        assert apart <= most


def opposites() -> list[tuple[LinearQuestion, RecordSums, Rows, Rows]]:
    """Return questions with two records that move the sum as far as is charged, but for rounding."""
    X = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    plain = FeatureMap(np.zeros(2), 1.0, 0.0)
    codes = ClassCodes(np.array([[1.0], [-1.0]]))
    same, y = X[:1].repeat(2, axis=0), np.array([0, 1])
    one, two = Rows(same, same, y).take(slice(0, 1)), Rows(same, same, y).take(slice(1, 2))
    numbers = Rows(same, same, np.array([9.0, -9.0]))
    squared = Target("squared", 1)
    return [
        (MomentsQuestion(plain, codes), Moments(columns=3, codes=1, sigma=2.0), one, two),
        (
            GradientQuestion(plain, squared, np.zeros((3, 1)), 1.0),
            Gradients(parameters=3, sigma=2.0),
            numbers.take(slice(0, 1)),
            numbers.take(slice(1, 2)),
        ),
    ]


@pytest.mark.parametrize(("question", "mechanism", "one", "two"), opposites())
def test_opposite_records_move_a_sum_as_far_as_is_charged(
    question: LinearQuestion, mechanism: RecordSums, one: Rows, two: Rows
) -> None:
    (apart,) = moved(question, mechanism, one, two, VOTE)
    assert apart == mechanism.blocks[0].moved


def test_the_packed_gram_moves_by_the_square_root_of_2() -> None:
    question = MomentsQuestion(FeatureMap(np.zeros(2), 1.0, 0.0), NumberCodes(0.0, 1.0), gram=True)
    mechanism = Moments(columns=3, codes=1, sigma=2.0, gram_sigma=2.0)
    X = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    rows = Rows(X, X, np.zeros(2))
    apart = moved(question, mechanism, rows.take(slice(0, 1)), rows.take(slice(1, 2)), VOTE)
    assert apart[1] == pytest.approx(math.sqrt(2), abs=1e-12)
    assert np.linalg.norm(pack_symmetric(np.ones((3, 3)))) == pytest.approx(3)


@pytest.mark.parametrize(
    ("largest", "map"),
    [
        (1.6, FeatureMap(np.zeros(1000), 1 / 1.5e-162, 0.0)),
        (0.0, FeatureMap(np.zeros(1), 1.0, 2.7e-162)),
    ],
    ids=["21-fold", "1.2-fold"],
)
def test_squares_that_underflow_do_not_undo_the_clipping_of_a_gradient(
    largest: float, map: FeatureMap
) -> None:
    """The lengths of such records come out far too small: divided by them, a gradient was too long."""
    values = np.full((1, len(map.center)), min(largest, 1.0), np.float32)
    values[0, 0] = largest
    weights = np.zeros((map.columns, 1))
    question = GradientQuestion(map, Target("squared", 1, -1e150, 1.0), weights, 1e-14)
    (steps,) = sum_steps(question, Rows(values, values, np.zeros(1)), FRACTION_BITS)
    assert np.linalg.norm(steps.astype(np.float64)) <= VOTE + math.sqrt(map.columns)


def test_no_value_is_so_small_that_products_are_slow() -> None:
    clipped = clip_rows(np.array([[1e-320, 2.0, 1e-160], [1e308, 1e308, 1.0]]))
    assert (clipped[0] == [0.0, 1.0, 0.0]).all()
    assert clipped[1, :2] == pytest.approx(np.full(2, 0.5**0.5))
    assert np.linalg.norm(clipped, axis=1) == pytest.approx(1.0, abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=9))
def test_clipped_rows_are_no_longer_than_1_and_some_units_of_rounding(values: list[float]) -> None:
    (row,) = clip_rows(np.array([values]))
    norm = mpmath.sqrt(mpmath.fsum(mpmath.mpf(value) ** 2 for value in row.tolist()))
    assert norm <= 1 + (len(values) + 8) * mpmath.mpf(2) ** -53


@pytest.mark.filterwarnings("error")
def test_a_record_of_no_numbers_adds_nothing_and_is_not_told() -> None:
    values = np.array([[1.0], [np.nan], [np.inf], [3e38]], np.float32)
    rows = Rows(values, values, np.array([0, 1, 0, 1]))
    map = FeatureMap(np.zeros(1), 1e-300)
    question = GradientQuestion(map, Target("softmax", 2), np.full((2, 2), 1.7e308) * [1, -1], 1e-300)
    whole = sum_steps(question, rows, FRACTION_BITS)
    finite = sum_steps(question, rows.take(np.array([True, False, False, True])), FRACTION_BITS)
    none = np.full((2, 1), np.nan, np.float32)
    nothing = Rows(none, none, np.array([1, 0]))
    assert (whole[0] - finite[0] == sum_steps(question, nothing, FRACTION_BITS)[0]).all()


def test_chunks_are_rounded_one_by_one() -> None:
    """A sum over all records at once would be off by more, the more there are."""
    part = 0.6 / CHUNK / VOTE
    X = np.ones((2 * CHUNK, 1), np.float32)
    question = MomentsQuestion(FeatureMap(np.zeros(1), 1.0, 0.0), NumberCodes(0.0, 1.0))
    (steps,) = sum_steps(question, Rows(X, X, np.full(2 * CHUNK, part)), FRACTION_BITS)
    assert steps[0] == 2, "0.6 steps twice are 2 steps, where 1.2 steps are 1"


@given(st.integers(-(2**46), 2**46), st.integers(1, 2**32 - 1))
def test_weighed_steps_are_the_nearest(steps: int, weight: int) -> None:
    (weighed,) = weigh_steps(np.array([steps]), weight, FRACTION_BITS).tolist()
    assert abs(weighed * VOTE - steps * weight) <= VOTE // 2


@pytest.mark.parametrize(
    ("mechanism", "squares"),
    [
        (Moments(columns=5, codes=2, sigma=3.0), [(2, 3, 10)]),
        (Moments(columns=5, codes=2, sigma=3.0, gram_sigma=7.0), [(2, 3, 10), (2**0.5, 7, 15)]),
        (Boost(bins=4, outputs=3, sigma=3.0), [(2, 3, 12)]),
        (Gradients(parameters=6, sigma=0.7), [(2, 0.7, 6)]),
        (Statistics(cells=9, columns=3, sigma=3.0), [(6**0.5, 3, 9)]),
    ],
)
@pytest.mark.parametrize("weight", [1.0, 0.25, 6.0])
def test_costs_are_those_of_an_independent_calculation(
    mechanism: RecordSums, squares: list[tuple[float, float, int]], weight: float
) -> None:
    """By 50 digits: mu^2 sums (moved / sigma)^2 over blocks, and delta at epsilon is Balle and Wang's."""
    with mpmath.workdps(50):
        step = mpmath.mpf(2) ** -FRACTION_BITS
        mu2 = mpmath.fsum(
            ((weight * (block + mpmath.sqrt(width) * step) + mpmath.sqrt(width) * step) / sigma) ** 2
            for block, sigma, width in squares
        )
        for order in (1.5, 8.0, 64.0):
            charged = mechanism.worst_case(order, weight, classes=2).answer
            assert order * mu2 / 2 <= charged * (1 + 1e-12)
            assert charged <= order * mu2 / 2 * (1 + 1e-6)
        rho = mechanism.worst_case(GAUSSIAN, weight, classes=2).answer
        assert mu2 / 2 <= rho <= mu2 / 2 * (1 + 1e-6)
        epsilon, mu = mpmath.mpf(gaussian_epsilon(rho, 1e-5)), mpmath.sqrt(2 * mpmath.mpf(rho))
        delta = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
        assert delta <= 1e-5 * (1 + 1e-6)
        assert delta >= 1e-5 * 0.99


def test_records_go_together_by_what_each_becomes_not_by_how_wide_the_sum_is() -> None:
    chunks = []

    @dataclass(frozen=True)
    class Watched(StatisticsQuestion):
        def blocks(self, rows: Rows) -> Sequence[NDArray[np.float64]]:
            chunks.append(len(rows))
            return super().blocks(rows)

    X = np.zeros((CHUNK, 1), np.float32)
    sum_steps(Watched((ColumnStatistic(0, 0.0, 1.0, 2**20),)), Rows(X, X, X[:, 0]), FRACTION_BITS)
    assert chunks == [CHUNK], "each chunk goes through the whole sum"
