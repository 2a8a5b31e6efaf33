"""Trials and runs, mostly decided by their first bits, and right where these do not decide."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ostraka.common.noise import bernoulli
from ostraka.common.noise.bernoulli import bernoulli_exp, exp_word, geometric
from ostraka.common.noise.enclosure import exp_bounds
from ostraka.common.noise.random_words import system_bytes
from tests.common.noise.bytes_given import fixed, words
from tests.common.noise.laws import P

LAST = 2**64 - 1
TRIALS = 100_000


def trial(exponent: Fraction, *given_words: int) -> bool:
    return bool(bernoulli_exp(np.array([float(exponent)]), lambda _: exponent, words(*given_words))[0])


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(30)])
def test_successes_are_as_frequent_as_they_should(exponent: Fraction) -> None:
    succeeded = bernoulli_exp(np.full(TRIALS, float(exponent)), lambda _: exponent, system_bytes).sum()
    assert stats.binomtest(int(succeeded), TRIALS, math.exp(-exponent)).pvalue > P


@settings(max_examples=30)
@given(st.fractions(Fraction(1, 10**6), 40, max_denominator=10**6))
def test_the_word_at_the_bound_is_decided_by_the_next(exponent: Fraction) -> None:
    word = int(exp_bounds(exponent, 60)[0] * 2**64)
    assert trial(exponent, word, 0)
    assert not trial(exponent, word, LAST)
    # Those beside it are decided by themselves: there is no other word.
    assert trial(exponent, word - 1)
    assert not trial(exponent, word + 1)


def test_what_is_certain_succeeds_at_the_last_word() -> None:
    assert trial(Fraction(0), LAST, 0)


def test_bits_are_drawn_until_they_decide() -> None:
    """1/e to 192 bits and one more: three words leave it open."""
    bits = int(exp_bounds(Fraction(1), 100)[0] * 2**192)
    first, second, third = bits >> 128, bits >> 64 & LAST, bits & LAST
    assert trial(Fraction(1), first, second, third, 0)
    assert not trial(Fraction(1), first, second, third, LAST)
    assert not trial(Fraction(1), first, second, third + 1)


@pytest.mark.parametrize("exponent", [Fraction(46), Fraction(100), Fraction(10**30)])
@pytest.mark.parametrize("word", [3 << 11, 1])
def test_a_word_that_begins_above_a_small_probability_is_enough(exponent: Fraction, word: int) -> None:
    assert not trial(exponent, word)


def test_words_of_zeros_are_below_a_small_probability_after_as_many_as_it_has() -> None:
    assert trial(Fraction(46), 0, 0)
    assert trial(Fraction(100), 0, 0, 0)
    assert not trial(Fraction(10**30), 0, 0, 0, 1)


@pytest.mark.parametrize("runs", [1, 2, 3, 20, 43, 44])
def test_the_word_at_the_bound_of_a_run_is_decided_by_the_next(runs: int) -> None:
    word = exp_word(runs)
    assert geometric(1, words(word, 0, LAST))[0] >= runs
    assert geometric(1, words(word, LAST))[0] == runs - 1
    assert geometric(1, words(word + 1))[0] == runs - 1


def test_runs_have_no_end() -> None:
    assert geometric(1, words(0, 0, 0, LAST))[0] == int(192 * math.log(2))


def test_runs_are_geometric() -> None:
    drawn = np.minimum(geometric(TRIALS, system_bytes), 8)
    law = np.exp(-np.arange(9)) * (1 - math.exp(-1))
    law[8] = math.exp(-8)
    assert stats.chisquare(np.bincount(drawn, minlength=9), TRIALS * law).pvalue > P


def test_rationals_decide_as_the_enclosure_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """An enclosure so wide that bits and rationals decide a third of the trials changes none of them."""
    exponents = np.linspace(0, 5, 3000)
    decided = []

    def exactly(i: int) -> Fraction:
        decided.append(i)
        return Fraction(exponents[i])

    narrow = bernoulli_exp(exponents, exactly, fixed("wide"))
    assert decided == []
    monkeypatch.setattr(bernoulli, "RELATIVE_ERROR", 2.0**-1)
    wide = bernoulli_exp(exponents, exactly, fixed("wide"))
    assert len(decided) > 500
    np.testing.assert_array_equal(narrow, wide)
