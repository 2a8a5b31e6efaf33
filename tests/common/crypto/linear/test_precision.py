"""Logits from shares against logits in the clear: within a step of the shares, whatever head and queries."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.crypto.heads import EncryptedHead
from tests.common.crypto.models import Sides, affine

ERROR = 2.0**-12
STEP = 2.0**-13
NOISE = 3.3 * 2.0**-27
"""Standard deviation of an encrypted feature, with its own rounding."""
ROUNDED = 2.0**-35
"""The most that a weight is off."""
COMMON = 500.0
"""A norm that weights of a teacher do not reach."""
LINEAR = Sides.of("linear")


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    features=st.integers(1, 40),
    size=st.sampled_from([1e-3, 1.0, 50.0, 1e4]),
    largest=st.sampled_from([0.01, 1.0, 3.9]),
)
def test_the_error_is_below_2_to_the_minus_12(seed: int, features: int, size: float, largest: float) -> None:
    """Features of size 1 to 10,000 with weights as small, or small ones with weights up to hundreds."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-size, size, (200, features))
    weights, bias = rng.normal(size=(5, features)), rng.normal(size=5) * size
    factor = largest / np.abs(X @ weights.T + bias).max()
    weights, bias = np.clip(weights * factor, -1000, 1000), np.clip(bias * factor, -1000, 1000)
    head = EncryptedHead((affine(weights, bias),))
    (found,) = LINEAR.logits([head], X, seed=rng.bytes(32))
    error, norm = np.abs(found - head.plain(X)).max(), np.linalg.norm(weights, axis=1).max()
    assert error <= STEP + 8 * NOISE * norm + ROUNDED * np.abs(X).sum(axis=1).max()
    assert error <= ERROR or norm > COMMON
