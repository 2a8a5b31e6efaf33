"""Noise and batches: of the right distribution, and never twice the same; fails at p < 1e-9."""

import numpy as np
import pytest
from scipy import stats

from ostraka.client.students.dp_sgd.private_training import gaussian, poisson_sample

UNLIKELY = 1e-9


@pytest.mark.parametrize("values", [1, 2, 7])
def test_there_are_as_many_as_asked(values: int) -> None:
    assert gaussian(values).shape == (values,)


def test_noise_is_gaussian_and_independent() -> None:
    drawn = gaussian(100_000)
    assert stats.kstest(drawn, "norm").pvalue > UNLIKELY
    first, second = np.split(drawn, 2)  # the two halves of the same pairs
    assert stats.pearsonr(first, second).pvalue > UNLIKELY
    assert stats.pearsonr(first**2, second**2).pvalue > UNLIKELY
    assert stats.pearsonr(drawn[1:], drawn[:-1]).pvalue > UNLIKELY


def test_a_seed_changes_nothing() -> None:
    np.random.seed(0)
    first = gaussian(8)
    np.random.seed(0)
    assert not np.array_equal(gaussian(8), first)


def test_each_record_is_in_a_batch_by_itself() -> None:
    batches = np.zeros((2_000, 40), bool)
    for batch in batches:
        batch[poisson_sample(40, 0.25)] = True
    assert stats.binomtest(int(batches.sum()), batches.size, 0.25).pvalue > UNLIKELY
    sizes = np.bincount(batches.sum(axis=1), minlength=41)
    expected = stats.binom.pmf(np.arange(41), 40, 0.25) * len(batches)
    many = expected > 5
    rest = sizes[~many].sum(), expected[~many].sum()
    assert (
        stats.chisquare(
            [*sizes[many], rest[0]], np.array([*expected[many], rest[1]]) * len(batches) / expected.sum()
        ).pvalue
        > UNLIKELY
    )


def test_at_rate_1_a_batch_is_everybody() -> None:
    assert poisson_sample(5, 1.0).tolist() == [0, 1, 2, 3, 4]
    assert poisson_sample(0, 0.5).tolist() == []
