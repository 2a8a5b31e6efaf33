"""Sums over records in one process: exact but for noise of the size that is told."""

import numpy as np
import pytest
from scipy.stats import chi2

from ostraka.client.sums.local import LocalSums
from ostraka.common.sums.codes import ClassCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import MomentsQuestion, Rows, unpack_symmetric

RNG = np.random.default_rng(3)
X = RNG.random((300, 4))
Y = RNG.integers(0, 2, 300)
ROWS = Rows(np.zeros((300, 0), np.float32), X, Y)
QUESTION = MomentsQuestion(FeatureMap(np.full(4, 0.5), 0.6), ClassCodes(np.array([[-1.0], [1.0]])), gram=True)


def test_a_sum_is_that_over_the_records_each_times_its_weight() -> None:
    weights = RNG.choice([0.5, 1.0, 1.75], 300)
    noisy = LocalSums(ROWS, (0.0, 0.0), RNG, weights).ask(QUESTION)
    U = QUESTION.map(X)
    signs = 2.0 * Y[:, None] - 1
    assert noisy.records == pytest.approx(weights.sum())
    assert noisy.blocks[0].reshape(5, 1) == pytest.approx(U.T @ (signs * weights[:, None]), abs=1e-4)
    assert unpack_symmetric(noisy.blocks[1], 5) == pytest.approx(U.T @ (U * weights[:, None]), abs=1e-4)


def test_noise_has_the_deviation_that_is_told_of_each_block() -> None:
    sigmas = (3.0, 0.5)
    exact = LocalSums(ROWS, (0.0, 0.0), RNG).ask(QUESTION)
    source = LocalSums(ROWS, sigmas, np.random.default_rng(1))
    answers = [source.ask(QUESTION) for _ in range(100)]
    for block, sigma in enumerate(sigmas):
        noise = np.array([answer.blocks[block] - exact.blocks[block] for answer in answers]) / sigma
        square = float((noise**2).sum())
        assert 1e-9 < chi2.sf(square, noise.size) < 1 - 1e-9
    assert answers[0].sigmas == sigmas
