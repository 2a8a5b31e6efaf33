"""Messages of linear heads on encrypted queries: their sizes, and polynomials as bytes, little endian.

In a query's ciphertext (first, second) the second half comes from a seed. So queries are a digest of
parameters and sizes, the seed, and the first halves, polynomial by polynomial, 8 bytes a coefficient. Of the
public key only the first half is sent. Logits are both halves, output by output, where the first half
contains only what queries need (`packing`). Only the upper 32 bits are sent: a share is not precise enough
for the rest.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.linear.linear_ring import DEGREE, Polynomials
from ostraka.common.crypto.linear.packing import Packing
from ostraka.common.crypto.stream import SEED_BYTES
from ostraka.common.errors import ErrorCode, OstrakaError

_DIGEST_BYTES = 32
POLYNOMIAL_BYTES = 8 * DEGREE
_DROPPED = np.uint64(32)
_HALF = np.uint64(2**31)


def _parameters_digest(features: int, packing: Packing) -> bytes:
    """Return the digest of parameters and sizes with which a message begins."""
    scheme = "ostraka linear heads: X^4096 + 1, 2^64, features 2^27, logits 2^61"
    return hashlib.sha256(f"{scheme}, {features} features of {packing.block} queries".encode()).digest()


def queries_bytes(features: int, packing: Packing) -> int:
    """Return the number of bytes of a message of queries."""
    return _DIGEST_BYTES + SEED_BYTES + packing.polynomials(features) * POLYNOMIAL_BYTES


def logit_bytes(packing: Packing) -> int:
    """Return the number of bytes of one encrypted logit of a batch."""
    return 4 * (packing.block + DEGREE)


def write_queries(seed: bytes, first: Polynomials, features: int, packing: Packing) -> bytes:
    """Write queries with first halves (polynomials, DEGREE) and the seed of their second halves."""
    return _parameters_digest(features, packing) + seed + polynomial_octets(first)


def read_queries(data: bytes, features: int, packing: Packing) -> tuple[bytes, Polynomials]:
    """Return the seed and first halves (polynomials, DEGREE).

    Raises:
        OstrakaError: `crypto.refused` for queries under other parameters, or for another number of features
            or queries, `message.invalid` for a message of another size.
    """
    if data[:_DIGEST_BYTES] != _parameters_digest(features, packing):
        raise OstrakaError(
            ErrorCode.CRYPTO_REFUSED,
            "These queries were encrypted under other parameters, or are of another number of features or "
            "queries: encrypt them for the task, the kind of head that the grant names and the size of the "
            "batch, with the same version of Ostraka.",
        )
    size = queries_bytes(features, packing)
    if len(data) != size:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Queries of {features} features take {size} bytes here, not {len(data)}: send all that "
            "such heads take, whole.",
        )
    start = _DIGEST_BYTES + SEED_BYTES
    return data[_DIGEST_BYTES:start], polynomials(data[start:])


def polynomials(octets: bytes) -> Polynomials:
    """Return all polynomials (count, DEGREE) in the bytes, 8 bytes a coefficient."""
    return np.frombuffer(octets, "<u8").astype(np.uint64, copy=False).reshape(-1, DEGREE)


def polynomial_octets(coefficients: Polynomials) -> bytes:
    """Return polynomials in the form that `polynomials` reads."""
    return coefficients.astype("<u8", copy=False).tobytes()


def write_logits(first: NDArray[np.uint64], second: Polynomials) -> bytes:
    """Return ciphertexts of halves (outputs, block) and (outputs, DEGREE), rounded to their upper 32 bits."""
    return ((np.hstack([first, second]) + _HALF) >> _DROPPED).astype("<u4").tobytes()


def read_logits(data: bytes, packing: Packing) -> tuple[NDArray[np.uint64], Polynomials]:
    """Return halves (outputs, block) and (outputs, DEGREE) as `write_logits` rounded them.

    Raises:
        OstrakaError: `message.invalid` for bytes that are not complete ciphertexts.
    """
    size = logit_bytes(packing)
    if not data or len(data) % size:
        expected = max(len(data) // size, 1) * size
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Ciphertexts take {expected} bytes here, not {len(data)}: send all of them, under the "
            "parameters of this kind of head.",
        )
    rounded: NDArray[np.uint64] = np.frombuffer(data, "<u4").astype(np.uint64)
    halves = (rounded << _DROPPED).reshape(-1, packing.block + DEGREE)
    return halves[:, : packing.block], halves[:, packing.block :]
