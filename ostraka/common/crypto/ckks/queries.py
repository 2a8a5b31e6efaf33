"""A message of encrypted queries as the answering party reads it."""

import numpy as np

from ostraka.common.crypto.ckks.residues import UniformResidues
from ostraka.common.crypto.ckks.seal import SealContext
from ostraka.common.crypto.ckks.wire import Residues, ciphertexts, queries_bytes, unpack, without_digest
from ostraka.common.crypto.stream import SEED_BYTES
from ostraka.common.errors import ErrorCode, OstrakaError


class EncryptedQueries:
    """First halves as they were sent, second halves from their seed, a prime at a time."""

    def __init__(self, seal: SealContext, data: bytes | memoryview, features: int) -> None:
        """Check size and parameters; raises `message.invalid` or `crypto.refused`."""
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
        """Both halves of all ciphertexts modulo one prime, (features, degree) each.

        Raises:
            OstrakaError: `message.invalid` where a value is not below the prime.
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
