"""Heads with squares read by dishonest queries: by SEAL's masks one batch gives them away, by products none.

The querying party has honest keys and chooses what it encrypts, far beyond the range of features: in all
slots of a batch that is charged as one query, or in all coefficients of a full batch.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.crypto.ckks.ckks_scheme import CkksKeys
from ostraka.common.crypto.ckks.parameters import SQUARES
from ostraka.common.crypto.ckks.wire import ciphertexts
from ostraka.common.crypto.inference import QUERIES
from ostraka.common.crypto.linear import linear_scheme
from ostraka.common.crypto.linear.linear_messages import read_logits
from ostraka.common.crypto.linear.linear_ring import DEGREE, LOGIT_SCALE_BITS, Factor, uniform
from ostraka.common.crypto.linear.linear_scheme import LinearKeys
from ostraka.common.crypto.linear.packing import Packing
from ostraka.common.crypto.linear.products import expand, products, terms
from ostraka.common.crypto.stream import Stream
from tests.common.crypto.models import CONTEXT, Sides, random_head

FEATURES, HIDDEN, CLASSES = 8, 6, 10
RNG = np.random.default_rng(0)
HEAD = random_head(RNG, (FEATURES, HIDDEN, CLASSES), RNG.uniform(0, 1, (200, FEATURES)))
COEFFICIENTS = expand(HEAD).layers[0].weights.toarray()
"""What is to be read, (CLASSES, terms): the head itself, but for its biases."""
LARGE = 2.0
"""A product that moves a logit over about half of the modulus, so that nothing wraps around without masks."""
ONE_QUERY = 1
CHANCE = 6.1 / np.sqrt(COEFFICIENTS.size)
"""A correlation that so many independent estimates reach by chance with a probability of 1e-9."""


def correlation(found: NDArray[np.float64], wanted: NDArray[np.float64] = COEFFICIENTS) -> float:
    return float(np.corrcoef(found.ravel(), wanted.ravel())[0, 1])


@pytest.mark.heavy
def test_one_batch_reads_a_head_behind_masks_of_seal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Squares of values of 2^20 are larger than masks: least squares over slots finds the coefficients."""
    monkeypatch.setattr("ostraka.common.crypto.ckks.ckks_scheme.check_queries", lambda X: X)
    sides = Sides.of("square-mlp")
    keys = sides.keys
    assert isinstance(keys, CkksKeys)
    size, X = 2.0**20.5, RNG.uniform(-1, 1, (QUERIES, FEATURES))
    message = keys.encrypt(X * size)
    (masked,) = sides.evaluator().logits([HEAD], message, bytes(range(32)), ONE_QUERY)
    packed = ciphertexts(SQUARES, masked.ciphertexts, (CLASSES, 2), SQUARES.result_primes)
    opened = np.stack([keys._values(one) for one in packed], axis=1) / size**2
    found = np.linalg.lstsq(products(X)[:, FEATURES:], opened, rcond=None)[0].T
    assert correlation(found, COEFFICIENTS[:, FEATURES:]) > 0.95


def read_by_products(monkeypatch: pytest.MonkeyPatch, draw: Any = uniform) -> NDArray[np.float64]:
    """Estimate every coefficient from one batch in which each product is large alone, many times over.

    The party draws masks by `draw`.
    """
    monkeypatch.setattr(linear_scheme, "check_queries", lambda X: X)
    keys, head = LinearKeys(), expand(HEAD)
    times = QUERIES // terms(FEATURES)
    message = keys.encrypt(np.tile(np.eye(terms(FEATURES)) * LARGE, (times, 1)))
    evaluator = linear_scheme.LinearEvaluator(keys.public(CONTEXT), CONTEXT)
    monkeypatch.setattr(linear_scheme, "uniform", draw)
    (masked,) = evaluator.logits([head], message, RNG.bytes(32), QUERIES)
    reply = zip(*read_logits(masked.ciphertexts, Packing.of(QUERIES)), strict=True)
    opened = np.stack([first + Factor(second).times(keys._secret) for first, second in reply])
    used = opened.view(np.int64)[:, : times * terms(FEATURES)]
    averages: NDArray[np.float64] = used.reshape(CLASSES, times, -1).mean(axis=1)
    return averages / 2.0**LOGIT_SCALE_BITS


def test_the_same_batch_of_products_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products that belong to no query, each by itself, so that no head could be easier to read."""
    assert abs(correlation(read_by_products(monkeypatch))) < CHANCE < 0.3


def test_the_same_batch_of_products_reads_every_coefficient_where_masks_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unmasked(stream: Stream, *shape: int) -> NDArray[np.uint64]:
        return uniform(stream, *shape) if shape else np.zeros(DEGREE, np.uint64)

    wanted = COEFFICIENTS * LARGE + expand(HEAD).layers[0].bias[:, None]
    assert correlation(read_by_products(monkeypatch, unmasked), wanted) > 0.99
