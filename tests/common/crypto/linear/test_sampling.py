"""What is drawn from a stream: as distributed as it should be, and the same for the same stream."""

import math

import numpy as np
from scipy.stats import chisquare

from ostraka.common.crypto.linear.linear_ring import DEGREE, errors, ternary, uniform
from ostraka.common.crypto.stream import Stream

SEED = bytes(range(32))
P_VALUE = 1e-9


def test_a_third_each() -> None:
    drawn = ternary(Stream(SEED, "test"), 8)
    assert drawn.shape == (8, DEGREE)
    counts = np.bincount(drawn.ravel() + 1, minlength=4)
    assert counts[3] == 0
    assert chisquare(counts[:3]).pvalue > P_VALUE


def test_errors_are_centred_and_binomial() -> None:
    drawn = errors(Stream(SEED, "test"), 16).ravel()
    values = np.arange(-12, 13)
    probabilities = np.array([math.comb(42, 21 + int(value)) / 2**42 for value in values])
    counts = np.array([(drawn == value).sum() for value in values])
    outside = len(drawn) - counts.sum()
    observed = [*counts, outside]
    expected = len(drawn) * np.array([*probabilities, 1 - probabilities.sum()])
    assert chisquare(observed, expected).pvalue > P_VALUE
    assert np.abs(drawn).max() <= 21


def test_uniform_in_every_byte() -> None:
    drawn = uniform(Stream(SEED, "test"), 8)
    octets = drawn.reshape(-1, 1).view(np.uint8)
    for place in range(8):
        assert chisquare(np.bincount(octets[:, place], minlength=256)).pvalue > P_VALUE


def test_streams_give_the_same_again_and_go_on() -> None:
    for draw in (ternary, errors, uniform):
        stream, again = Stream(SEED, "test"), Stream(SEED, "test")
        first, second = draw(stream), draw(stream)
        assert np.array_equal(first, draw(again))
        assert not np.array_equal(first, second)
