"""What the querying party receives does not depend on the model: every slot, both parts, both halves."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare, ks_2samp, kstest

from ostraka.common.crypto.ckks import ckks_scheme
from ostraka.common.crypto.ckks import ckks_scheme as keys_module
from ostraka.common.crypto.ckks.ckks_scheme import CkksEvaluator, CkksKeys
from ostraka.common.crypto.ckks.masking import Mask
from ostraka.common.crypto.ckks.parameters import SQUARES
from ostraka.common.crypto.ckks.seal import SealContext
from ostraka.common.crypto.ckks.wire import Residues, ciphertexts, unpack
from ostraka.common.crypto.heads import EncryptedHead
from tests.common.crypto.models import CONTEXT, affine

FEATURES = 3
RNG = np.random.default_rng(0)
SEEDS = (bytes(32), bytes([1]) * 32)


def halves(keys: CkksKeys, data: bytes) -> list[Residues]:
    """Ciphertexts as they arrived, (2, primes, degree) each."""
    parameters, moduli = keys.parameters, SealContext(keys.parameters).moduli
    packed = ciphertexts(parameters, data, (len(data) // keys.reply_bytes(1, 1), 2), parameters.result_primes)
    primes = range(parameters.result_primes)
    return [np.stack([unpack(parameters, one, i, moduli[i]) for i in primes], axis=1) for one in packed]


def slots(keys: CkksKeys, data: bytes) -> NDArray[np.complex128]:
    """Everything that the secret key opens: all slots of all ciphertexts, complex."""
    seal = keys._seal
    found = []
    for residues in halves(keys, data):
        plain = keys._decrypt(seal.ciphertext(residues, keys.parameters.scale))
        found.append(seal.encoder.decode_complex(plain))
    return np.array(found)


def complex_queries(keys: CkksKeys, values: NDArray[np.complex128], monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Return what a querying party sends that puts complex numbers into its slots."""
    monkeypatch.setattr(keys_module, "check_queries", lambda X: X)
    return keys.encrypt(values)  # type: ignore[arg-type]


def unmasked(_seal: SealContext, _encryptor: Any, ciphertext: Any, _mask: Mask) -> Any:
    return ciphertext


def model(index: int) -> EncryptedHead:
    """Two models that no query tells alike: other weights, biases of other signs."""
    sign = 1 - 2 * index
    last = affine(np.full((2, FEATURES), sign * 0.3 / (1 + 2 * index)), np.array([sign * 0.3, 0.1]))
    first = affine(np.eye(FEATURES) * (0.5 + index / 4), np.full(FEATURES, 0.1))
    return EncryptedHead((first, last))


@pytest.fixture
def answers(keys: CkksKeys, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ciphertexts of both models for complex queries in half of the slots."""
    used = keys.parameters.degree // 4
    values = RNG.uniform(-1, 1, (used, FEATURES)) + 1j * RNG.uniform(-1, 1, (used, FEATURES))
    queries = complex_queries(keys, values, monkeypatch)
    evaluator = CkksEvaluator(SQUARES, keys.public(CONTEXT))

    def evaluate() -> list[bytes]:
        return [
            next(evaluator.logits([model(index)], queries, seed, used)).ciphertexts
            for index, seed in enumerate(SEEDS)
        ]

    return evaluate


def parts(opened: NDArray[np.complex128]) -> list[NDArray[np.float64]]:
    """Real and imaginary values of used and of unused slots, each by itself."""
    used, unused = np.split(opened, 2, axis=1)
    return [values.ravel() for half in (used, unused) for values in (half.real, half.imag)]


def test_slots_of_two_models_are_alike(keys: CkksKeys, answers: Any) -> None:
    first, second = (parts(slots(keys, data)) for data in answers())
    width = np.sqrt(keys.parameters.degree / 2) / 2 * 2.0**32
    for one, other in zip(first, second, strict=True):
        assert ks_2samp(one, other, method="asymp").pvalue > 1e-9
        for values in (one, other):
            assert kstest(values / width, "norm").pvalue > 1e-9


@pytest.mark.heavy
def test_unmasked_slots_of_two_models_are_told_apart(
    keys: CkksKeys, answers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ckks_scheme, "add_mask", unmasked)
    first, second = (parts(slots(keys, data)) for data in answers())
    used_imaginary, unused_real = 1, 2
    for part in (used_imaginary, unused_real):
        assert ks_2samp(first[part], second[part], method="asymp").pvalue < 1e-9


@pytest.mark.heavy
def test_the_lowest_bits_of_what_arrives_are_uniform(keys: CkksKeys, answers: Any) -> None:
    for data in answers():
        for residues in halves(keys, data):
            for prime in range(keys.parameters.result_primes):
                for half in residues[:, prime]:
                    counts = np.bincount((half & np.uint64(31)).astype(np.intp), minlength=32)
                    assert chisquare(counts).pvalue > 1e-9


@pytest.mark.heavy
def test_masks_are_drawn_for_every_head_output_and_seed(keys: CkksKeys) -> None:
    evaluator = CkksEvaluator(SQUARES, keys.public(CONTEXT))
    queries = keys.encrypt(np.zeros((1, FEATURES)))
    head = model(0)
    masked = [one for seed in SEEDS for one in evaluator.logits([head, head], queries, seed, 4096)]
    rows = np.concatenate([slots(keys, one.ciphertexts).real for one in masked])
    correlations = np.corrcoef(rows) - np.eye(len(rows))
    assert np.abs(correlations).max() < 6.5 / np.sqrt(rows.shape[1])


def test_queries_hide_what_they_hold(keys: CkksKeys) -> None:
    for value in (0.0, 1.0):
        sent = np.frombuffer(keys.encrypt(np.full((4096, 1), value)), np.uint8)[64:]
        lowest = sent[: 5 * SQUARES.degree].reshape(-1, 5)[:, 0]
        assert chisquare(np.bincount(lowest, minlength=256)).pvalue > 1e-9
