"""TenSEAL: CKKS by SEAL, at the smallest degree with 128 bits of security and enough precision."""

from collections.abc import Sequence

import numpy as np
import tenseal

from benchmarks.crypto.programs.linear_head import Floats, main

DEGREE = 4096  # the degree of Ostraka's linear heads
MODULI = [40, 32, 37]
"""Bits: 109 in all, the maximum at this degree (Homomorphic Encryption Standard, 2018); 32 are rescaled
away."""


class TensealScheme:
    """A secret key, also used for encryption: half of each ciphertext is then a seed, as in Ostraka."""

    slots = DEGREE // 2

    def __init__(self) -> None:
        self._keys = tenseal.context(
            tenseal.SCHEME_TYPE.CKKS,
            DEGREE,
            coeff_mod_bit_sizes=MODULI,
            encryption_type=tenseal.ENCRYPTION_TYPE.SYMMETRIC,
        )
        self._keys.global_scale = 2.0 ** MODULI[1]

    def encrypt(self, feature: Floats) -> bytes:
        """Encrypt one feature of a full ciphertext of queries."""
        encrypted: bytes = tenseal.ckks_vector(self._keys, feature.tolist()).serialize()
        return encrypted

    def evaluate(self, features: Sequence[bytes], weights: Floats, biases: Floats) -> list[bytes]:
        """Return the logit of each class, encrypted."""
        read = [tenseal.ckks_vector_from(self._keys, feature) for feature in features]
        logits = []
        for row, bias in zip(weights.tolist(), biases.tolist(), strict=True):
            total = read[0] * row[0]
            for feature, weight in zip(read[1:], row[1:], strict=True):
                total += feature * weight
            total += bias
            logits.append(total.serialize())
        return logits

    def decrypt(self, logit: bytes) -> Floats:
        """Return one class's logit of each query."""
        return np.asarray(tenseal.ckks_vector_from(self._keys, logit).decrypt())


if __name__ == "__main__":
    main("tenseal", TensealScheme)
