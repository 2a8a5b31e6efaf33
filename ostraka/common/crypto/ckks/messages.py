"""Messages on the wire: public keys with the digest of their parameters, and encrypted queries."""

from typing import Any

import numpy as np
import tenseal.sealapi as sealapi

from ostraka.common.crypto.ckks.residues import UniformResidues
from ostraka.common.crypto.ckks.seal import SEAL_ERRORS, SealContext, load, save
from ostraka.common.crypto.ckks.wire import (
    Residues,
    ciphertexts,
    most_public_bytes,
    queries_bytes,
    unpack,
    without_digest,
)
from ostraka.common.crypto.stream import SEED_BYTES
from ostraka.common.errors import ErrorCode, OstrakaError

_LENGTH_BYTES = 8
_SQUARE = 2
"""The power of the secret key that squares introduce, and that relinearization removes."""


def write_public(seal: SealContext, generator: Any) -> bytes:
    """Write a fresh public key and relinearization key; `most_public_bytes` at most."""
    key = sealapi.PublicKey()
    relinearization = sealapi.RelinKeys()
    generator.create_public_key(key)
    generator.create_relin_keys(relinearization)
    saved = save(key)
    length = len(saved).to_bytes(_LENGTH_BYTES, "little")
    return b"".join([seal.parameters.digest, length, saved, save(relinearization)])


def read_public(seal: SealContext, data: bytes) -> tuple[Any, Any]:
    """Return SEAL's public key, and its relinearization keys.

    Raises:
        OstrakaError: `crypto.refused` for invalid keys or keys under other parameters; `message.invalid` for
            more bytes than keys take.
    """
    if len(data) > most_public_bytes(seal.parameters):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Public keys take at most {most_public_bytes(seal.parameters)} bytes, not {len(data)}.",
        )
    content = without_digest(seal.parameters, data)
    length = int.from_bytes(content[:_LENGTH_BYTES], "little")
    key = sealapi.PublicKey()
    relinearization = sealapi.RelinKeys()
    rest = content[_LENGTH_BYTES:]
    try:
        load(key, seal.context, rest[:length])
        load(relinearization, seal.context, rest[length:])
        if not relinearization.has_key(_SQUARE):
            raise ValueError("no key for squares")
    except SEAL_ERRORS as exc:
        raise OstrakaError(
            ErrorCode.CRYPTO_REFUSED,
            "The encryption keys cannot be read: they are damaged or none of these parameters; send the keys "
            "that came with the queries again.",
        ) from exc
    return key, relinearization


class EncryptedQueries:
    """First halves as they were sent, and second halves from their seed, one prime at a time."""

    def __init__(self, seal: SealContext, data: bytes | memoryview, features: int) -> None:
        content = without_digest(seal.parameters, data)
        if len(data) != queries_bytes(seal.parameters, features):
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"Queries of {features} features take {queries_bytes(seal.parameters, features)} bytes, not "
                f"{len(data)}: send one ciphertext for each feature that the task names.",
            )
        self._seal = seal
        self._seed = bytes(content[:SEED_BYTES])
        self._first = ciphertexts(seal.parameters, content[SEED_BYTES:], (features,), seal.parameters.primes)

    def halves(self, prime: int) -> tuple[Residues, Residues]:
        """Return both halves of all ciphertexts modulo one prime, (features, degree) each.

        Raises:
            OstrakaError: `message.invalid` if a value is not below the prime.
        """
        uniform = second_halves(self._seal, self._seed)[prime]
        second = np.stack([uniform.polynomial() for _ in range(len(self._first))])
        return unpack(self._seal.parameters, self._first, prime, self._seal.moduli[prime]), second


def second_halves(seal: SealContext, seed: bytes) -> tuple[UniformResidues, ...]:
    """Return the uniform second halves of all ciphertexts of a message of queries, for each prime."""
    return tuple(
        UniformResidues(seed, f"ckks second halves {prime}", modulus, seal.parameters.degree)
        for prime, modulus in enumerate(seal.moduli)
    )
