"""Masks: added exactly, whole coefficients wide, and undone by the other share."""

from typing import Any

import numpy as np
import pytest
import tenseal.sealapi as sealapi
from numpy.typing import NDArray
from scipy.stats import chisquare, kstest

from ostraka.common.crypto.ckks.masking import add_mask, draw_mask, logit_share, slots_of
from ostraka.common.crypto.ckks.parameters import MASK_HEADROOM_BITS, SQUARES, CkksParameters
from ostraka.common.crypto.ckks.seal import SealContext
from ostraka.common.crypto.logits import LOGIT_BITS, LOGIT_FRACTION
from ostraka.common.crypto.stream import Stream
from tests.common.crypto.models import SEED, signed


class Keys:
    """SEAL's own objects, and what they decrypt to, coefficient by coefficient."""

    def __init__(self, parameters: CkksParameters) -> None:
        self.seal = SealContext(parameters)
        generator = sealapi.KeyGenerator(self.seal.context)
        public = sealapi.PublicKey()
        generator.create_public_key(public)
        self.encryptor = sealapi.Encryptor(self.seal.context, public)
        self.decryptor = sealapi.Decryptor(self.seal.context, generator.secret_key())

    def zero(self) -> Any:
        ciphertext = sealapi.Ciphertext(self.seal.context)
        self.encryptor.encrypt_zero(self.seal.level(self.seal.parameters.result_primes), ciphertext)
        ciphertext.scale = self.seal.parameters.scale
        return ciphertext

    def coefficients(self, ciphertext: Any) -> list[int]:
        """Return the polynomial that a ciphertext decrypts to, exactly, as integers around 0."""
        plain = sealapi.Plaintext()
        self.decryptor.decrypt(ciphertext, plain)
        ntt = self.seal.polynomial(plain)
        carrier = self.seal.ciphertext(np.stack([ntt, np.ones_like(ntt)]), 1.0)
        self.seal.evaluator.transform_from_ntt_inplace(carrier)
        low, high = self.seal.residues(carrier)[0].tolist()
        small, large = self.seal.moduli[: len(ntt)]
        inverse = pow(small, -1, large)
        lifted = [a + small * ((b - a) * inverse % large) for a, b in zip(low, high, strict=True)]
        half = small * large // 2
        return [value - small * large if value > half else value for value in lifted]


@pytest.fixture(scope="module")
def keys() -> Keys:
    return Keys(SQUARES)


def drawn_coefficients(parameters: CkksParameters) -> list[int]:
    """Return the coefficients of the first mask of a stream, from the definition."""
    stream = Stream(SEED, "test")
    bits = parameters.limb_bits
    high, low = (stream.ring(bits, 3, parameters.degree).astype(object).sum(axis=0) for _ in range(2))
    return (high * 2**bits + low - 3 * 2 ** (bits - 1) * (2**bits + 1)).tolist()  # type: ignore[no-any-return]


def test_a_mask_is_added_exactly(keys: Keys) -> None:
    parameters = keys.seal.parameters
    mask = draw_mask(parameters, Stream(SEED, "test"))
    found = keys.coefficients(add_mask(keys.seal, keys.encryptor, keys.zero(), mask))
    expected = drawn_coefficients(parameters)
    assert max(map(abs, expected)) > 2 ** (parameters.scale_bits + MASK_HEADROOM_BITS)
    noise = np.array([a - b for a, b in zip(found, expected, strict=True)], dtype=float)
    assert np.abs(noise).max() < 2**16
    assert noise.std() > 1


def test_coefficients_are_sums_of_three_uniform_integers(keys: Keys) -> None:
    parameters = keys.seal.parameters
    expected = drawn_coefficients(parameters)
    width = 2.0 ** (parameters.scale_bits + MASK_HEADROOM_BITS)
    scaled = np.array(expected, dtype=float) / width + 1.5

    def distribution(x: NDArray[np.float64]) -> NDArray[np.float64]:
        below: NDArray[np.float64] = np.maximum(x[..., None] - np.arange(3), 0) ** 3
        total: NDArray[np.float64] = below @ np.array([1.0, -3.0, 3.0])
        return total / 6

    assert kstest(scaled, distribution).pvalue > 1e-9
    low_bits = np.bincount([value % 64 for value in expected], minlength=64)
    assert chisquare(low_bits).pvalue > 1e-9


def test_shifted_masks_are_as_close_as_the_derivation_says() -> None:
    bits = 7
    uniform = np.full(2**bits, 2.0**-bits)
    distribution = np.pad(np.convolve(np.convolve(uniform, uniform), uniform), 2**bits)
    steps = np.diff(np.sqrt(distribution))
    root = np.sqrt((steps**2).sum())
    assert root == pytest.approx(1.07 / 2**bits, rel=0.01)
    for shift in (1, 2, 5, 30):
        distance = np.abs(distribution - np.roll(distribution, shift)).sum() / 2
        assert 0.5 * root * shift < distance < root * shift


def test_both_shares_of_nothing_are_nothing(keys: Keys) -> None:
    mask = draw_mask(keys.seal.parameters, Stream(SEED, "test"))
    masked = add_mask(keys.seal, keys.encryptor, keys.zero(), mask)
    plain = sealapi.Plaintext()
    keys.decryptor.decrypt(masked, plain)
    other = logit_share(np.array(keys.seal.encoder.decode_double(plain)))
    errors = signed(other + mask.share())
    assert np.abs(errors).max() < 2**-10
    assert errors.std() < 2**-13


def test_a_limb_is_encoded_without_rounding_even_at_its_largest() -> None:
    parameters = SQUARES
    most = 3 * 2 ** (parameters.limb_bits - 1)
    for coefficients in (np.full(parameters.degree, -most), np.full(parameters.degree, most - 3)):
        keys = Keys(parameters)
        ciphertext = keys.zero()
        before = keys.coefficients(ciphertext)
        plain = keys.seal.encode(slots_of(coefficients.astype(float)), parameters.result_primes, 1.0)
        plain.scale = ciphertext.scale
        keys.seal.evaluator.add_plain_inplace(ciphertext, plain)
        after = keys.coefficients(ciphertext)
        assert [b - a for a, b in zip(before, after, strict=True)] == coefficients.tolist()


def test_shares_alone_are_uniform(keys: Keys) -> None:
    share = draw_mask(keys.seal.parameters, Stream(SEED, "test")).share()
    assert share.max() < 2**LOGIT_BITS
    assert chisquare(np.bincount(share >> np.uint64(LOGIT_BITS - 6), minlength=64)).pvalue > 1e-9
    assert chisquare(np.bincount(share & np.uint64(63), minlength=64)).pvalue > 1e-9


def test_neither_odd_nor_even_shares_are_rare() -> None:
    values = np.arange(2.0**20) * 2.0 ** -(LOGIT_FRACTION + 1)
    assert np.bincount(logit_share(values) & np.uint64(1)).tolist() == [2**19, 2**19]


def test_logit_shares_count_steps_and_wrap() -> None:
    step = 2.0**-LOGIT_FRACTION
    values = np.array([0.0, step, -step, 0.4 * step, 0.6 * step, 2.0 ** (LOGIT_BITS - LOGIT_FRACTION) + step])
    assert logit_share(values).tolist() == [0, 1, 2**LOGIT_BITS - 1, 0, 1, 1]


def test_a_mask_does_not_show_itself() -> None:
    assert "array" not in repr(draw_mask(SQUARES, Stream(SEED, "test")))
