"""Votes on digits from encrypted queries against the same models' votes in the clear."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.logits import LOGIT_RANGE
from tests.common.crypto.models import Sides, affine

DIGITS = Path(__file__).parents[4] / "shared" / "data" / "optdigits.npz"
TEACHERS = 5
RECORDS = 200
QUERIES = 1000
HIDDEN = 32


@pytest.fixture(scope="module")
def digits() -> Any:
    if not DIGITS.exists():
        pytest.skip("digits lie in ../shared/data beside the checkout; without them this is skipped")
    with np.load(DIGITS) as data:
        return data["X_train"] / 16.0, data["y_train"], data["X_test"][:QUERIES] / 16.0


def logistic(
    features: NDArray[np.float64], labels: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights and biases whose logits fill the range on these records."""
    fitted = LogisticRegression(max_iter=1000).fit(features, labels)
    weights, bias = fitted.coef_ - fitted.coef_.mean(axis=0), fitted.intercept_ - fitted.intercept_.mean()
    factor = LOGIT_RANGE / np.abs(features @ weights.T + bias).max()
    return weights * factor, bias * factor


def linear_head(X: NDArray[np.float64], y: NDArray[np.int64], _: int) -> EncryptedHead:
    return EncryptedHead((affine(*logistic(X, y)),))


def square_head(X: NDArray[np.float64], y: NDArray[np.int64], teacher: int) -> EncryptedHead:
    """Fit a logistic regression on squares of random combinations."""
    rng = np.random.default_rng(teacher)
    weights, bias = rng.normal(0, 1 / 8, (HIDDEN, X.shape[1])), rng.normal(0, 0.5, HIDDEN)
    return EncryptedHead((affine(weights, bias), affine(*logistic((X @ weights.T + bias) ** 2, y))))


@pytest.mark.heavy
@pytest.mark.parametrize(("kind", "fit"), [("linear", linear_head), ("square", square_head)])
def test_votes_on_digits(kind: str, fit: Any, digits: Any, request: pytest.FixtureRequest) -> None:
    sides: Sides = request.getfixturevalue(kind)
    X, y, queries = digits
    heads = [
        fit(X[start : start + RECORDS], y[start : start + RECORDS], start)
        for start in range(0, TEACHERS * RECORDS, RECORDS)
    ]
    flipped = 0
    for head, found in zip(heads, sides.logits(heads, queries), strict=True):
        plain = head.plain(queries)
        assert np.abs(found - plain).max() < 2**-10
        flipped += int((found.argmax(axis=1) != plain.argmax(axis=1)).sum())
    assert flipped < TEACHERS * QUERIES / 1000
