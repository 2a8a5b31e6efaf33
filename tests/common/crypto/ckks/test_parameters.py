"""Parameters: secure by SEAL's own check, and the one version of SEAL that they are for."""

import pytest

from ostraka.common.crypto.ckks.parameters import SQUARES, CkksParameters
from ostraka.common.crypto.ckks.seal import TENSEAL_VERSION, SealContext, require_version
from ostraka.common.crypto.logits import LOGIT_BITS, LOGIT_FRACTION, LOGIT_RANGE
from ostraka.common.errors import ErrorCode, OstrakaError


def test_parameters_are_128_bit_secure() -> None:
    assert len(SealContext(SQUARES).moduli) == SQUARES.primes


@pytest.mark.parametrize(
    ("degree", "prime_bits"), [(8192, (60, 60, 60, 60)), (4096, (40, 40, 40)), (1024, (27, 27))]
)
def test_weaker_parameters_are_refused(degree: int, prime_bits: tuple[int, ...]) -> None:
    with pytest.raises(OstrakaError, match="not 128-bit secure") as refused:
        SealContext(CkksParameters(degree, prime_bits, scale_bits=20))
    assert refused.value.code == ErrorCode.CRYPTO_REFUSED


def test_masks_and_logits_fit_under_the_primes_that_are_left() -> None:
    modulus_bits = sum(SQUARES.prime_bits[: SQUARES.result_primes])
    assert 3 * 2 ** (2 * SQUARES.limb_bits) < 2 ** (modulus_bits - 2)


def test_logits_beyond_the_range_have_room() -> None:
    assert 2 ** (LOGIT_BITS - 1) >= 4 * LOGIT_RANGE * 2**LOGIT_FRACTION


@pytest.mark.parametrize("installed", ["0.3.16", "0.3.17", "0.3.19", "0.4.0"])
def test_another_version_is_refused_by_name(installed: str) -> None:
    require_version(TENSEAL_VERSION)
    with pytest.raises(OstrakaError, match=f"and {installed} is installed: pip install") as refused:
        require_version(installed)
    assert refused.value.code == ErrorCode.CONFIG_INVALID
