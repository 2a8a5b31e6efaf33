"""The largest of many draws against its law, against largest draws made one by one, and at the edges."""

import secrets
from itertools import chain

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from guardian.noise import LATTICE, OpenDpNoise
from guardian.noise.largest import largest_gaussian
from tests.guardian.noise.laws import P, fits, largest_cdf

DRAWS = 3_000


def largest(steps: float, count: int, draws: int = DRAWS) -> NDArray[np.int64]:
    counts = np.full(draws, count, dtype=object)
    return OpenDpNoise().largest_gaussian(steps * LATTICE, counts)


def cells(steps: float, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of cells that hold one in fifty draws at least, and P(M <= end)."""
    support = np.arange(-round(6 * steps), round(38 * steps), dtype=np.float64)
    cdf = largest_cdf(support, steps, count)
    ends: list[int] = []
    for i in range(len(cdf)):
        if cdf[i] - (cdf[ends[-1]] if ends else 0) > 0.02 and cdf[i] < 0.98:
            ends.append(i)
    return support[ends], cdf[ends]


CASES = pytest.mark.parametrize(
    ("steps", "count"),
    [(1.0, 1), (1.0, 2), (6.0, 2), (6.0, 1000), (6.0, 2**40), (40.0, 2**40), (40.0, 10**200)],
)


@CASES
def test_chi_square(steps: float, count: int) -> None:
    ends, cdf = cells(steps, count)
    assert len(ends) >= 3
    assert fits(largest(steps, count), ends, cdf)


@pytest.mark.parametrize("count", [2, 1000, 2**40])
def test_chi_square_against_another_count_fails(count: int) -> None:
    ends, cdf = cells(6.0, count)
    assert not fits(largest(6.0, 2 * count), ends, cdf)


@pytest.mark.parametrize("steps", [200.0, 40.0 * 2**16])
@pytest.mark.parametrize("count", [1, 2, 1000, 2**40, 2**200])
def test_on_wide_scales_powers_of_the_continuous_law_are_uniform(steps: float, count: int) -> None:
    """P(N <= x + 1/2)^count is uniform but for the lattice: below 1e-5 of any probability."""
    with mpmath.workdps(80):
        drawn = largest(steps, count, 1_000).tolist()
        log_cdf = [mpmath.log1p(-mpmath.erfc((x + 0.5) / steps / mpmath.sqrt(2)) / 2) for x in drawn]
        powers = [float(mpmath.exp(count * log)) for log in log_cdf]
    assert stats.kstest(powers, "uniform").pvalue > P


@pytest.mark.parametrize(("steps", "count"), [(1.0, 3), (40.0, 10), (40.0 * 2**16, 10)])
def test_it_agrees_with_draws_made_one_by_one(steps: float, count: int) -> None:
    each = OpenDpNoise().gaussian(steps * LATTICE, (DRAWS, count)).max(axis=1)
    assert stats.ks_2samp(largest(steps, count), each, method="asymp").pvalue > P


class Scripted:
    """Random bits that begin as a binary fraction says, and go on at random."""

    def __init__(self, value: mpmath.mpf, bits: int) -> None:
        self._rest = int(mpmath.floor(value * mpmath.mpf(2) ** bits))
        self._left = bits
        self.drawn = 0

    def __call__(self, bits: int) -> int:
        self.drawn += bits
        if self._left < bits:
            return secrets.randbits(bits)
        self._left -= bits
        word = self._rest >> self._left
        self._rest -= word << self._left
        return word


@pytest.mark.parametrize("count", [1, 2**40])
@pytest.mark.parametrize(("beside", "expected"), [(-1, 0), (1, 1)])
def test_a_close_decision_takes_as_many_bits_as_it_needs(count: int, beside: int, expected: int) -> None:
    """U agrees with P(X <= x)^count in 300 bits; the next bits say on which side it is."""
    x, scale = (3, 2.0) if count == 1 else (15, 2.0)
    with mpmath.workprec(800):
        weights = [mpmath.exp(-(mpmath.mpf(y) ** 2) / 8) for y in range(120)]
        tail = mpmath.fsum(weights[x + 1 :]) / (2 * mpmath.fsum(weights) - 1)
        bits = Scripted((1 - tail) ** count + beside * mpmath.mpf(2) ** -300, 512)
    assert largest_gaussian(scale, count, bits) == x + expected
    assert bits.drawn >= 320


@pytest.mark.parametrize("count", [1, 7, 2**40])
@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_the_first_and_last_uniform_numbers_give_an_end_of_the_law(count: int, word: int) -> None:
    words = chain([word], iter(lambda: secrets.randbits(64), None))
    drawn = largest_gaussian(50.0, count, lambda bits: next(words))
    middle = largest_gaussian(50.0, count, Scripted(mpmath.mpf(0.5), 64))
    assert (drawn < middle) == (word == 0)
    assert abs(drawn) < 50 * 14


@pytest.mark.parametrize("count", [2**60, 2**5000])
def test_more_draws_only_make_it_larger(count: int) -> None:
    half = mpmath.mpf(0.5)
    one, more = (largest_gaussian(2.6e6, m, Scripted(half, 64)) for m in (count, count + count // 2))
    assert one < more


def test_shapes_and_counts_of_any_size() -> None:
    counts = np.array([[1, 2**70], [3, 10**400]], dtype=object)
    drawn = OpenDpNoise().largest_gaussian(40, counts)
    assert drawn.shape == (2, 2)
    assert drawn.dtype == np.int64
    assert (drawn[:, 1] > drawn[:, 0]).all()
    assert OpenDpNoise().largest_gaussian(40, np.zeros((0, 3), dtype=np.int64)).shape == (0, 3)
    assert OpenDpNoise().largest_gaussian(40, 5).shape == ()


def test_what_lies_beyond_64_bits_is_its_end() -> None:
    assert OpenDpNoise().largest_gaussian(1e40, [2**60]) == 2**63 - 1


@pytest.mark.parametrize("scale", [1e-9, 1e-100])
def test_a_scale_far_below_the_lattice_gives_zero(scale: float) -> None:
    assert OpenDpNoise().largest_gaussian(scale, [2**60]) == 0


@pytest.mark.parametrize(("counts", "index"), [([3, 0], 1), ([[1, 2], [3, -1]], (1, 1)), ([2.5], 0), (0, ())])
def test_a_count_that_is_none_is_refused(counts: object, index: object) -> None:
    shown = index if isinstance(index, tuple) else (index,)
    with pytest.raises(ValueError, match="counts: must be whole numbers above 0") as refused:
        OpenDpNoise().largest_gaussian(40, np.array(counts))
    assert str(shown) in str(refused.value)
