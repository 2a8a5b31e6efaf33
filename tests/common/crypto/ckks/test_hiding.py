"""What the querying party receives does not depend on the model: every slot, both parts, both halves."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare, ks_2samp, kstest

from common.crypto.ckks import evaluation
from common.crypto.ckks.evaluation import Evaluator
from common.crypto.ckks.heads import EncryptedHead
from common.crypto.ckks.keys import QueryKeys
from common.crypto.ckks.masking import Mask
from common.crypto.ckks.seal import Seal
from common.crypto.ckks.wire import Residues, ciphertexts, unpack
from tests.common.crypto.ckks.models import affine

FEATURES = 3
RNG = np.random.default_rng(0)
SEEDS = (bytes(32), bytes([1]) * 32)


def halves(keys: QueryKeys, data: bytes) -> list[Residues]:
    """Ciphertexts as they arrived, (2, primes, degree) each."""
    parameters, moduli = keys.parameters, Seal(keys.parameters).moduli
    packed = ciphertexts(parameters, data, (len(data) // keys.reply_bytes(1), 2), parameters.result_primes)
    primes = range(parameters.result_primes)
    return [np.stack([unpack(parameters, one, i, moduli[i]) for i in primes], axis=1) for one in packed]


def slots(keys: QueryKeys, data: bytes) -> NDArray[np.complex128]:
    """Everything that the secret key opens: all slots of all ciphertexts, complex."""
    seal = keys._seal
    found = []
    for residues in halves(keys, data):
        plain = keys._decrypted(seal.ciphertext(residues, keys.parameters.scale))
        found.append(seal.encoder.decode_complex(plain))
    return np.array(found)


def complex_queries(
    keys: QueryKeys, values: NDArray[np.complex128], monkeypatch: pytest.MonkeyPatch
) -> bytes:
    """What a querying party sends that puts complex numbers into its slots."""
    monkeypatch.setattr(QueryKeys, "_checked", lambda _self, X: X)
    return keys.encrypt(values)  # type: ignore[arg-type]


def unmasked(_seal: Seal, _encryptor: Any, ciphertext: Any, _mask: Mask) -> Any:
    return ciphertext


def model(index: int, layers: int) -> EncryptedHead:
    """Two models that no query tells alike: other weights, biases of other signs."""
    sign = 1 - 2 * index
    last = affine(np.full((2, FEATURES), sign * 0.3 / (1 + 2 * index)), np.array([sign * 0.3, 0.1]))
    first = affine(np.eye(FEATURES) * (0.5 + index / 4), np.full(FEATURES, 0.1))
    return EncryptedHead((first, last) if layers > 1 else (last,))


@pytest.fixture(params=["linear", "square"])
def keys(request: pytest.FixtureRequest) -> QueryKeys:
    found: QueryKeys = request.getfixturevalue(f"{request.param}_keys")
    return found


@pytest.fixture
def answers(keys: QueryKeys, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ciphertexts of both models for complex queries in half of the slots."""
    used = keys.parameters.slots // 2
    values = RNG.uniform(-1, 1, (used, FEATURES)) + 1j * RNG.uniform(-1, 1, (used, FEATURES))
    queries = complex_queries(keys, values, monkeypatch)
    evaluator = Evaluator(keys.parameters, keys.public())

    def evaluate() -> list[bytes]:
        return [
            next(evaluator.logits([model(index, keys.parameters.layers)], queries, seed, used)).ciphertexts
            for index, seed in enumerate(SEEDS)
        ]

    return evaluate


def parts(opened: NDArray[np.complex128]) -> list[NDArray[np.float64]]:
    """Real and imaginary values of used and of unused slots, each by itself."""
    used, unused = np.split(opened, 2, axis=1)
    return [values.ravel() for half in (used, unused) for values in (half.real, half.imag)]


def test_slots_of_two_models_are_alike(keys: QueryKeys, answers: Any) -> None:
    first, second = (parts(slots(keys, data)) for data in answers())
    width = np.sqrt(keys.parameters.degree / 2) / 2 * 2.0**32
    for one, other in zip(first, second, strict=True):
        assert ks_2samp(one, other, method="asymp").pvalue > 1e-9
        for values in (one, other):
            assert kstest(values / width, "norm").pvalue > 1e-9


def test_unmasked_slots_of_two_models_are_told_apart(
    keys: QueryKeys, answers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "add_mask", unmasked)
    first, second = (parts(slots(keys, data)) for data in answers())
    used_imaginary, unused_real = 1, 2
    for part in (used_imaginary, unused_real):
        assert ks_2samp(first[part], second[part], method="asymp").pvalue < 1e-9


def test_the_lowest_bits_of_what_arrives_are_uniform(keys: QueryKeys, answers: Any) -> None:
    for data in answers():
        for residues in halves(keys, data):
            for prime in range(keys.parameters.result_primes):
                for half in residues[:, prime]:
                    counts = np.bincount((half & np.uint64(31)).astype(np.intp), minlength=32)
                    assert chisquare(counts).pvalue > 1e-9


def test_the_other_half_is_as_random_for_weights_of_zero(linear_keys: QueryKeys) -> None:
    silent = EncryptedHead((affine(np.zeros((1, FEATURES)), np.zeros(1)),))
    evaluator = Evaluator(linear_keys.parameters, linear_keys.public())
    queries = linear_keys.encrypt(np.zeros((1, FEATURES)))
    first, again = (next(evaluator.logits([silent], queries, SEEDS[0], 1)).ciphertexts for _ in range(2))
    modulus = Seal(linear_keys.parameters).moduli[0]
    seconds = [halves(linear_keys, data)[0][1, 0] for data in (first, again)]
    assert (seconds[0] != seconds[1]).mean() > 0.99
    for half in seconds:
        assert kstest(half.astype(float) / modulus, "uniform").pvalue > 1e-9


def test_masks_are_drawn_for_every_head_output_and_seed(linear_keys: QueryKeys) -> None:
    evaluator = Evaluator(linear_keys.parameters, linear_keys.public())
    queries = linear_keys.encrypt(np.zeros((1, FEATURES)))
    head = model(0, 1)
    masked = [one for seed in SEEDS for one in evaluator.logits([head, head], queries, seed, 4096)]
    rows = np.concatenate([slots(linear_keys, one.ciphertexts).real for one in masked])
    correlations = np.corrcoef(rows) - np.eye(len(rows))
    assert np.abs(correlations).max() < 6.5 / np.sqrt(rows.shape[1])


def test_queries_hide_what_they_hold(linear_keys: QueryKeys) -> None:
    size = linear_keys.parameters.degree * 5 * 3
    for value in (0.0, 1.0):
        sent = np.frombuffer(linear_keys.encrypt(np.full((4096, 1), value)), np.uint8)[64:]
        assert len(sent) == size
        lowest = sent.reshape(-1, 5)[:, 0]
        assert chisquare(np.bincount(lowest, minlength=256)).pvalue > 1e-9


def test_nothing_secret_is_shown(linear_keys: QueryKeys) -> None:
    queries = linear_keys.encrypt(np.zeros((1, FEATURES)))
    evaluator = Evaluator(linear_keys.parameters, linear_keys.public())
    masked = next(evaluator.logits([model(0, 1)], queries, SEEDS[0], 1))
    assert repr(masked) == "MaskedLogits()"
    assert "[" not in repr(linear_keys) + repr(evaluator)
