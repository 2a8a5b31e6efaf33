"""Heads with squares as linear ones: affine, square, affine is linear in the products of two features.

The querying party knows its features, so it multiplies them in the clear and encrypts the products. The
answering party writes its head as one affine map of them, once, and `linear_scheme` evaluates that. So a head
with squares is hidden as well as a linear one, whatever is sent, even products that belong to no query.
"""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ostraka.common.crypto.heads import Affine, EncryptedHead
from ostraka.common.errors import ErrorCode, OstrakaError

MAX_PRODUCT_FEATURES = 64
"""Maximum number of features with products: 2,144 values for 64, and four times as many for twice as many."""
MAX_FACTOR = 2.0**10
"""Features that are multiplied lie within +-2^10, so that products stay within `FEATURE_LIMIT`."""


def terms(features: int) -> int:
    """Return the number of encrypted values per query: its features, and the products of any two of them."""
    return features + features * (features + 1) // 2


def products(X: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return features and then products x_i x_j, i <= j, row by row; (queries, terms(features)).

    Raises:
        OstrakaError: `data.shape` unless it is a matrix with at most MAX_PRODUCT_FEATURES features,
            `data.nan` for a value that is not finite or beyond MAX_FACTOR.
    """
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] > MAX_PRODUCT_FEATURES:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"Heads with squares take queries of at most {MAX_PRODUCT_FEATURES} features, not of shape "
            f"{np.shape(X)}: name a projection in the task, at all sites.",
        )
    if not (np.abs(values) <= MAX_FACTOR).all():
        raise OstrakaError(
            ErrorCode.DATA_NAN,
            f"Features whose products are encrypted are finite and within +-{MAX_FACTOR:.0f}: scale them "
            "first, by the task's preprocessing or ranges.",
        )
    first, second = np.triu_indices(values.shape[1])
    return np.hstack([values, values[:, first] * values[:, second]])


def expand(head: EncryptedHead) -> EncryptedHead:
    """Return a head of affine, square, affine as one affine map of what `products` returns.

    With W1, b1, W2, b2 a logit is the sum over k of W2_k (W1_k x + b1_k)^2 plus b2. The weight of x_i x_j is
    the sum of W2_k W1_ki W1_kj, doubled if i and j differ; that of x_i is the sum of 2 W2_k b1_k W1_ki.

    Raises:
        ValueError: for a head of another depth.
    """
    inner, outer = head.layers
    square = inner.weights.toarray()
    scale = outer.weights.toarray()
    first, second = np.triu_indices(head.inputs)
    times = np.where(first == second, 1.0, 2.0)
    linear = 2.0 * (scale * inner.bias) @ square
    quadratic = scale @ (square[:, first] * square[:, second] * times)
    weights = np.hstack([linear, quadratic])
    return EncryptedHead((Affine(scipy.sparse.csr_array(weights), scale @ inner.bias**2 + outer.bias),))
