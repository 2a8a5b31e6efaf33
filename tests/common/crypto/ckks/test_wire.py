"""Packing, sizes and what is refused before anything is computed."""

import numpy as np
import pytest

from ostraka.common.crypto.ckks.parameters import SQUARES, CkksParameters
from ostraka.common.crypto.ckks.seal import SealContext
from ostraka.common.crypto.ckks.wire import ciphertexts, pack, polynomial_bytes, unpack, without_digest
from ostraka.common.errors import ErrorCode, OstrakaError


def random_polynomials(parameters: CkksParameters, moduli: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, modulus, (3, parameters.degree)) for modulus in moduli]
    return np.stack(columns, axis=1).astype(np.uint64)


def test_packed_residues_come_back() -> None:
    parameters = SQUARES
    moduli = SealContext(parameters).moduli
    polynomials = random_polynomials(parameters, moduli)
    packed = pack(parameters, polynomials)
    assert len(packed) == 3 * polynomial_bytes(parameters, parameters.primes)
    rows = ciphertexts(parameters, packed, (3,), parameters.primes)
    for prime, modulus in enumerate(moduli):
        assert (unpack(parameters, rows, prime, modulus) == polynomials[:, prime]).all()


def test_a_value_that_is_not_below_its_prime_is_refused() -> None:
    parameters = SQUARES
    rows = np.zeros((1, polynomial_bytes(parameters, 1)), np.uint8)
    rows[0, -5:] = list((97).to_bytes(5, "little"))
    assert unpack(parameters, rows, 0, 98)[0, -1] == 97
    with pytest.raises(OstrakaError, match="beyond its modulus") as refused:
        unpack(parameters, rows, 0, 97)
    assert refused.value.code == ErrorCode.MESSAGE_INVALID


@pytest.mark.parametrize("surplus", [-1, 1])
def test_other_sizes_are_refused(surplus: int) -> None:
    parameters = SQUARES
    data = bytes(2 * polynomial_bytes(parameters, 2) + surplus)
    with pytest.raises(OstrakaError, match="Ciphertexts take") as refused:
        ciphertexts(parameters, data, (2,), 2)
    assert refused.value.code == ErrorCode.MESSAGE_INVALID


def test_foreign_parameters_are_refused() -> None:
    other = CkksParameters(8192, (40, 40, 40, 40), scale_bits=40)
    assert bytes(without_digest(SQUARES, SQUARES.digest + b"rest")) == b"rest"
    for data in (other.digest + b"rest", b""):
        with pytest.raises(OstrakaError, match="other encryption parameters") as refused:
            without_digest(SQUARES, data)
        assert refused.value.code == ErrorCode.CRYPTO_REFUSED
