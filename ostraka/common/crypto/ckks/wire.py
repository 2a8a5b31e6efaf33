"""Messages of encrypted inference: their sizes, and polynomials packed into bytes.

Every residue takes as few whole bytes as its prime needs, little endian. A message of queries is the digest
of the parameters, a seed for the second halves of all ciphertexts, and the first halves, feature by feature.
Logits are complete ciphertexts, output by output.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.ckks.parameters import CkksParameters
from ostraka.common.crypto.stream import SEED_BYTES
from ostraka.common.errors import ErrorCode, OstrakaError

Residues = NDArray[np.uint64]
"""Polynomials in NTT form, modulo each prime: (..., primes, degree)."""

DIGEST_BYTES = 32


def polynomial_bytes(parameters: CkksParameters, primes: int) -> int:
    """Return the number of bytes of a polynomial modulo the first `primes` primes."""
    return parameters.degree * sum(map(_width, parameters.prime_bits[:primes]))


def queries_bytes(parameters: CkksParameters, features: int) -> int:
    """Return the number of bytes of a batch of encrypted queries; it does not depend on their number."""
    return DIGEST_BYTES + SEED_BYTES + features * polynomial_bytes(parameters, parameters.primes)


def logits_bytes(parameters: CkksParameters, outputs: int) -> int:
    """Return the number of bytes of the encrypted logits of one head for a batch."""
    return 2 * outputs * polynomial_bytes(parameters, parameters.result_primes)


def most_public_bytes(parameters: CkksParameters) -> int:
    """Return the maximum number of bytes of public keys; compression makes them smaller."""
    key = 2 * 8 * parameters.degree * len(parameters.prime_bits)
    raw = key * (1 + parameters.primes)
    return raw + raw // 64 + 4096


def pack(parameters: CkksParameters, residues: Residues) -> bytes:
    """Return polynomials (..., primes, degree), concatenated."""
    primes = residues.shape[-2]
    octets = residues.astype("<u8", copy=False).reshape(-1, primes, parameters.degree, 1).view(np.uint8)
    return b"".join(
        polynomial[index, :, : _width(parameters.prime_bits[index])].tobytes()
        for polynomial in octets
        for index in range(primes)
    )


def unpack(parameters: CkksParameters, data: NDArray[np.uint8], prime: int, modulus: int) -> Residues:
    """Return the residues modulo one prime, (count, degree), of packed polynomials (count, bytes).

    Raises:
        OstrakaError: `message.invalid` if a residue is not below `modulus`.
    """
    start = polynomial_bytes(parameters, prime)
    width = _width(parameters.prime_bits[prime])
    octets = np.zeros((len(data), parameters.degree, 8), np.uint8)
    shape = (len(data), parameters.degree, width)
    octets[..., :width] = data[:, start : start + parameters.degree * width].reshape(shape)
    residues: Residues = octets.view("<u8")[..., 0].astype(np.uint64, copy=False)
    if (residues >= modulus).any():
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            "A ciphertext holds a value beyond its modulus: it was altered on its way; send it again.",
        )
    return residues


def ciphertexts(
    parameters: CkksParameters, data: bytes | memoryview, shape: tuple[int, ...], primes: int
) -> NDArray[np.uint8]:
    """Return packed polynomials as an array of `shape` + (bytes of one,).

    Raises:
        OstrakaError: `message.invalid` for another number of bytes.
    """
    size = polynomial_bytes(parameters, primes)
    expected = math.prod(shape) * size
    if len(data) != expected:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Ciphertexts take {expected} bytes here, not {len(data)}: send all of them, under the "
            "parameters of this kind of head.",
        )
    return np.frombuffer(data, np.uint8).reshape(*shape, size)


def without_digest(parameters: CkksParameters, data: bytes | memoryview) -> memoryview:
    """Return what follows the digest of the parameters.

    Raises:
        OstrakaError: `crypto.refused` for a message under other parameters.
    """
    if data[:DIGEST_BYTES] != parameters.digest:
        raise OstrakaError(
            ErrorCode.CRYPTO_REFUSED,
            "These keys or queries were made under other encryption parameters: make them for the kind of "
            "head that the grant names, with the same version of Ostraka.",
        )
    return memoryview(data)[DIGEST_BYTES:]


def _width(bits: int) -> int:
    return (bits + 7) // 8
