"""Slots against the definition, and against SEAL's encoder."""

import numpy as np
import pytest

from ostraka.common.crypto.ckks.masking import slots_of
from ostraka.common.crypto.ckks.parameters import SQUARES
from ostraka.common.crypto.ckks.seal import SealContext


@pytest.mark.parametrize("degree", [4, 8, 64])
def test_slots_are_values_at_roots(degree: int) -> None:
    coefficients = np.random.default_rng(0).normal(size=degree)
    roots = np.exp(1j * np.pi * np.array([pow(3, slot, 2 * degree) for slot in range(degree // 2)]) / degree)
    assert np.allclose(slots_of(coefficients), np.polyval(coefficients[::-1], roots))


def test_seal_encodes_the_same_polynomial() -> None:
    parameters = SQUARES
    seal = SealContext(parameters)
    slots = slots_of(np.random.default_rng(0).integers(-(2**20), 2**20, parameters.degree).astype(float))
    plain = seal.encode(slots, parameters.primes, 1.0)
    assert np.allclose(np.array(seal.encoder.decode_complex(plain)), slots, rtol=0, atol=1e-5)
