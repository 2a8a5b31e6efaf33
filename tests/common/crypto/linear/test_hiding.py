"""What a querying party that cheats sees of a head: uniform halves, whatever it encrypted and sent."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.inference import MaskedLogits
from ostraka.common.crypto.limbs import product
from ostraka.common.crypto.linear import linear_scheme
from ostraka.common.crypto.linear.linear_messages import (
    POLYNOMIAL_BYTES,
    polynomial_octets,
    read_logits,
    read_queries,
)
from ostraka.common.crypto.linear.linear_ring import DEGREE, WEIGHT_SCALE_BITS, Factor, uniform
from ostraka.common.crypto.linear.linear_scheme import PUBLIC_KEY, SECOND_HALVES, LinearEvaluator, LinearKeys
from ostraka.common.crypto.linear.packing import Packing
from ostraka.common.crypto.stream import Stream
from tests.common.crypto.models import CONTEXT, affine

P_VALUE = 1e-9
FEATURES, CLASSES = 64, 10
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(0, 1 / 8, (CLASSES, FEATURES))
DENSE = EncryptedHead((affine(WEIGHTS, RNG.normal(0, 0.1, CLASSES)),))
ZEROS = EncryptedHead((affine(np.zeros((CLASSES, FEATURES)), np.zeros(CLASSES)),))
FULL = Packing.of(DEGREE)
LARGE = 4.0
"""A feature by which weights of +-1 move a logit over the whole modulus; what is larger wraps around."""


def spike() -> NDArray[np.uint64]:
    polynomial = np.zeros(DEGREE, np.uint64)
    polynomial[0] = 2**63
    return polynomial


CHOSEN_KEYS = {
    "zeros": bytes(POLYNOMIAL_BYTES),
    "ones": b"\xff" * POLYNOMIAL_BYTES,
    "half the modulus": polynomial_octets(np.full(DEGREE, 2**63, np.uint64)),
    "one coefficient": polynomial_octets(spike()),
    "minus the other half": polynomial_octets(np.negative(uniform(Stream(CONTEXT, PUBLIC_KEY)))),
}


def halves(masked: MaskedLogits) -> NDArray[np.uint64]:
    """Ciphertexts (CLASSES, 2, DEGREE) of a full batch."""
    return np.stack(read_logits(masked.ciphertexts, FULL), axis=1)


def replies(key: bytes, head: EncryptedHead, queries: bytes, count: int = 1) -> NDArray[np.uint64]:
    """Ciphertexts (count * CLASSES, 2, DEGREE) of so many batches."""
    evaluator = LinearEvaluator(key, CONTEXT)
    found = [next(evaluator.logits([head], queries, RNG.bytes(32), DEGREE)) for _ in range(count)]
    return np.concatenate([halves(masked) for masked in found])


def honest(keys: LinearKeys) -> bytes:
    return keys.encrypt(RNG.uniform(0, 1, (DEGREE, FEATURES)))


def out_of_range(keys: LinearKeys, monkeypatch: pytest.MonkeyPatch, size: float = LARGE) -> bytes:
    """Encrypt queries whose feature i is large in coefficients i, i + FEATURES, ..., so these give w_i."""
    monkeypatch.setattr("ostraka.common.crypto.linear.linear_scheme.check_queries", lambda X: X)
    return keys.encrypt(np.tile(np.eye(FEATURES) * size, (DEGREE // FEATURES, 1)))


def estimates(keys: LinearKeys, found: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return what the secret key opens, averaged over coefficients that should give the same weight."""
    opened = np.stack([first + Factor(second).times(keys._secret) for first, second in found])
    averages: NDArray[np.float64] = opened.view(np.int64).reshape(len(found), -1, FEATURES).mean(axis=1)
    return averages / 2.0**61


def correlation(monkeypatch: pytest.MonkeyPatch, keys_drawn: int) -> float:
    every = []
    for _ in range(keys_drawn):
        keys = LinearKeys()
        found = replies(keys.public(CONTEXT), DENSE, out_of_range(keys, monkeypatch))
        every.append(estimates(keys, found))
    weights = np.tile(WEIGHTS.ravel(), keys_drawn)
    return float(np.corrcoef(np.array(every).ravel(), weights)[0, 1])


def alike(values: NDArray[np.uint64]) -> bool:
    """Whether the upper bytes of what arrived, coefficient by coefficient, are uniform."""
    octets = (values >> np.uint64(32)).astype(np.uint32).reshape(-1, 1).view(np.uint8)
    counts = [np.bincount(octets[:, place], minlength=256) for place in range(4)]
    return all(chisquare(count).pvalue > P_VALUE for count in counts)


@pytest.mark.heavy
def test_queries_out_of_range_tell_nothing_of_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 12,800 estimates a correlation of 0.054 is chance with a probability of 1e-9."""
    assert abs(correlation(monkeypatch, 20)) < 6.1 / np.sqrt(20 * WEIGHTS.size) < 0.1


def test_few_queries_in_one_polynomial_are_answered_with_noise_alone() -> None:
    """All halves are uniform, also where keys and queries are zeros, and heads are told apart by nothing."""
    packing, nothing = Packing.of(20), bytes(POLYNOMIAL_BYTES)
    queries = LinearKeys().encrypt(np.zeros((20, FEATURES)))
    for head in (DENSE, ZEROS):
        evaluator = LinearEvaluator(nothing, CONTEXT)
        replies = [next(evaluator.logits([head], queries, RNG.bytes(32), 20)) for _ in range(40)]
        for half in zip(*(read_logits(one.ciphertexts, packing) for one in replies), strict=True):
            assert alike(np.concatenate(half))


def test_no_two_heads_have_one_mask() -> None:
    """The same head twice: what differs are masks, and the shares that undo them."""
    keys = LinearKeys()
    evaluator = LinearEvaluator(keys.public(CONTEXT), CONTEXT)
    one, other = evaluator.logits(
        [DENSE, DENSE], keys.encrypt(RNG.uniform(0, 1, (100, FEATURES))), bytes(32), 100
    )
    assert not (one.shares == other.shares).any()


def test_without_masks_they_tell_every_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same attack where no mask is added: it is the mask that holds."""

    def unmasked(stream: Stream, *shape: int) -> Any:
        return uniform(stream, *shape) if shape else np.zeros(DEGREE, np.uint64)

    keys = LinearKeys()
    queries, evaluator = out_of_range(keys, monkeypatch), LinearEvaluator(keys.public(CONTEXT), CONTEXT)
    monkeypatch.setattr(linear_scheme, "uniform", unmasked)
    masked = next(evaluator.logits([DENSE], queries, bytes(32), DEGREE))
    found = estimates(keys, halves(masked))
    weights = WEIGHTS * LARGE + DENSE.layers[0].bias[:, None]
    assert np.corrcoef(found.ravel(), weights.ravel())[0, 1] > 0.99


@pytest.mark.parametrize("head", [DENSE, ZEROS], ids=["dense", "zeros"])
@pytest.mark.parametrize("key", CHOSEN_KEYS)
def test_a_key_that_was_chosen_gains_nothing(key: str, head: EncryptedHead) -> None:
    """Both halves are uniform; so is the second without what the weights add, as if they were guessed."""
    queries = honest(LinearKeys())
    found = replies(CHOSEN_KEYS[key], head, queries, count=2)
    seed, _ = read_queries(queries, FEATURES, FULL)
    second = uniform(Stream(seed, SECOND_HALVES), FEATURES)
    whole = np.rint(np.ldexp(head.layers[0].weights.toarray(), WEIGHT_SCALE_BITS)).astype(np.int64)
    added = np.tile(product(whole, WEIGHT_SCALE_BITS + 1, second), (2, 1))
    assert alike(found[:, 0])
    assert alike(found[:, 1])
    assert alike(found[:, 1] - added)
    first, again = np.split(found, 2)
    assert (first != again).mean() > 0.999
    assert alike(first[:, 1] - again[:, 1])


def test_without_fresh_zeros_the_second_half_is_what_the_weights_make_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same figures where nothing random is added: they tell a bare second half."""
    nothing = np.zeros(DEGREE, np.int64)
    monkeypatch.setattr(linear_scheme, "ternary", lambda _: nothing)
    monkeypatch.setattr(linear_scheme, "errors", lambda _, count: np.stack([nothing] * count))
    found = replies(CHOSEN_KEYS["zeros"], ZEROS, honest(LinearKeys()), count=2)
    assert not found[:, 1].any()
    assert not alike(found[:, 1])


def test_a_head_of_zeros_and_another_are_told_apart_by_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where every message, and the key, are zeros, so that nothing but what the party adds is left."""
    keys = LinearKeys()
    queries = out_of_range(keys, monkeypatch, 2.0**35)
    for head in (DENSE, ZEROS):
        for key in (keys.public(CONTEXT), CHOSEN_KEYS["zeros"]):
            found = replies(key, head, queries)
            opened = np.stack([first + Factor(second).times(keys._secret) for first, second in found])
            assert alike(found)
            assert alike(opened)


def test_the_other_half_of_a_key_is_the_contexts() -> None:
    """A querying party that sends another first half for a context cannot move the second."""
    keys, other = LinearKeys(), bytes(32)
    assert keys.public(CONTEXT) == keys.public(CONTEXT)
    assert keys.public(CONTEXT) != keys.public(other)
    assert keys.public(CONTEXT) != LinearKeys().public(CONTEXT)


def test_queries_and_keys_hide_what_they_hold() -> None:
    keys = LinearKeys()
    for value in (0.0, 1.0):
        _, first = read_queries(keys.encrypt(np.full((4096, 2), value)), 2, FULL)
        assert alike(first)
        octets = first.reshape(-1, 1).view(np.uint8)
        assert chisquare(np.bincount(octets[:, 0], minlength=256)).pvalue > P_VALUE
