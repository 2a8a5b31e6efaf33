"""Messages of linear heads on encrypted queries: their sizes, and polynomials as bytes, little endian.

Of a ciphertext (first, second) of a query the second half is a seed's. So queries are a digest of the
parameters, the seed, and the first halves, feature by feature, 8 bytes a coefficient. Of the public key only
the first half travels. Logits are both halves, output by output, of which the upper 32 bits travel: what is
below is lost in the precision of a share anyhow.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.linear.linear_ring import DEGREE, Polynomials
from ostraka.common.crypto.stream import SEED_BYTES
from ostraka.common.errors import ErrorCode, OstrakaError

DIGEST = hashlib.sha256(b"ostraka linear heads: X^4096 + 1, 2^64, features 2^27, logits 2^61").digest()
"""What messages under other parameters do not begin with."""

POLYNOMIAL_BYTES = 8 * DEGREE
LOGIT_BYTES = 2 * 4 * DEGREE
_DROPPED = np.uint64(32)
_HALF = np.uint64(2**31)


def queries_bytes(features: int) -> int:
    """Bytes of a message of queries, however many they are."""
    return len(DIGEST) + SEED_BYTES + features * POLYNOMIAL_BYTES


def write_queries(seed: bytes, first: Polynomials) -> bytes:
    """Write queries whose first halves are (features, DEGREE), and whose second halves are the seed's."""
    return DIGEST + seed + polynomial_octets(first)


def read_queries(data: bytes, features: int) -> tuple[bytes, Polynomials]:
    """Seed and first halves (features, DEGREE).

    Raises:
        OstrakaError: `crypto.refused` for queries under other parameters, `message.invalid` for another size.
    """
    if data[: len(DIGEST)] != DIGEST:
        raise OstrakaError(
            ErrorCode.CRYPTO_REFUSED,
            "These queries were encrypted under other parameters: encrypt them for the kind of head that the "
            "grant names, with the same version of Ostraka.",
        )
    if len(data) != queries_bytes(features):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Queries of {features} features take {queries_bytes(features)} bytes, not {len(data)}: send one "
            "ciphertext for each feature, or product of two, that such heads take.",
        )
    start = len(DIGEST) + SEED_BYTES
    return data[len(DIGEST) : start], polynomials(data[start:])


def polynomials(octets: bytes) -> Polynomials:
    """Polynomials (count, DEGREE) of 8 bytes a coefficient, all of which there are."""
    return np.frombuffer(octets, "<u8").astype(np.uint64, copy=False).reshape(-1, DEGREE)


def polynomial_octets(coefficients: Polynomials) -> bytes:
    """Polynomials as `polynomials` reads them."""
    return coefficients.astype("<u8", copy=False).tobytes()


def write_logits(ciphertexts: Polynomials) -> bytes:
    """Ciphertexts (outputs, 2, DEGREE), rounded to their upper 32 bits."""
    return ((ciphertexts + _HALF) >> _DROPPED).astype("<u4").tobytes()


def read_logits(data: bytes) -> Polynomials:
    """Ciphertexts (outputs, 2, DEGREE) as `write_logits` rounded them.

    Raises:
        OstrakaError: `message.invalid` for bytes that are no whole ciphertexts.
    """
    if not data or len(data) % LOGIT_BYTES:
        expected = max(len(data) // LOGIT_BYTES, 1) * LOGIT_BYTES
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Ciphertexts take {expected} bytes here, not {len(data)}: send all of them, under the "
            "parameters of this kind of head.",
        )
    rounded: NDArray[np.uint64] = np.frombuffer(data, "<u4").astype(np.uint64)
    return (rounded << _DROPPED).reshape(-1, 2, DEGREE)
