"""Parameters: secure by SEAL's own check, and told apart."""

import pytest

from common.crypto.ckks.parameters import (
    HEADS,
    LOGIT_BITS,
    LOGIT_FRACTION,
    LOGIT_RANGE,
    Parameters,
    parameters_of,
)
from common.crypto.ckks.seal import Seal
from common.errors import ErrorCode, OstrakaError


@pytest.mark.parametrize("head", HEADS)
def test_every_kind_of_head_is_128_bit_secure(head: str) -> None:
    parameters = parameters_of(head)  # type: ignore[arg-type]
    assert len(Seal(parameters).moduli) == parameters.primes


@pytest.mark.parametrize(
    ("degree", "prime_bits"), [(8192, (60, 60, 60, 60)), (4096, (40, 40, 40)), (1024, (27, 27))]
)
def test_weaker_parameters_are_refused(degree: int, prime_bits: tuple[int, ...]) -> None:
    with pytest.raises(OstrakaError, match="not 128-bit secure") as refused:
        Seal(Parameters(degree, prime_bits, scale_bits=20, layers=1))
    assert refused.value.code == ErrorCode.CRYPTO_REFUSED


def test_masks_and_logits_fit_under_the_primes_that_are_left() -> None:
    for head in HEADS:
        parameters = parameters_of(head)
        modulus_bits = sum(parameters.prime_bits[: parameters.result_primes])
        assert 3 * 2 ** (2 * parameters.limb_bits) < 2 ** (modulus_bits - 2)


def test_logits_beyond_the_range_have_room() -> None:
    assert 2 ** (LOGIT_BITS - 1) >= 4 * LOGIT_RANGE * 2**LOGIT_FRACTION


def test_digests_tell_kinds_apart() -> None:
    assert parameters_of("linear").digest != parameters_of("square-mlp").digest
    assert parameters_of("square-cnn").digest == parameters_of("square-mlp").digest
