"""Attacks on linear heads over the wire: queries and keys that were chosen to read the teachers."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from ostraka.common.crypto.linear.linear_messages import POLYNOMIAL_BYTES, read_logits
from ostraka.common.crypto.linear.linear_ring import Factor
from ostraka.common.crypto.linear.linear_scheme import LinearKeys
from ostraka.common.crypto.linear.packing import Packing
from ostraka.common.crypto.transcripts import frame_keys
from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.teachers import Ensemble
from ostraka.services.teachers.encrypted_heads import heads_of
from tests.services.encrypted.querier import Encrypted
from tests.services.wire import Caller, Federation

BATCHES = 6
P_VALUE = 1e-9
LARGE = 4.0
"""A feature by which weights of +-1 move a logit over all that shares of it can be."""
SIZE = 2000
"""Queries of the largest batch that the grant allows: the most that one ticket can be made to tell."""
PACKING = Packing.of(SIZE)


def full_batch(attica: Federation) -> NDArray[np.float32]:
    return np.resize(attica.task.prepare(digits().X), (SIZE, len(attica.task.features)))


def opened(keys: LinearKeys, reply: bytes) -> NDArray[np.int64]:
    """Everything that the secret key opens of a reply, (logits, coefficients)."""
    halves = zip(*read_logits(reply, PACKING), strict=True)
    phases = [first + Factor(second).times(keys._secret)[: PACKING.block] for first, second in halves]
    return np.stack(phases).view(np.int64)


def chosen_reply(caller: Caller, X: NDArray[np.float32], batch: int) -> tuple[LinearKeys, bytes]:
    """Return the reply to a message that reads a feature's weight in many coefficients."""
    asked = Encrypted(caller, X, batch_id=batch)
    asked.begin()
    features = X.shape[1]
    chosen = np.tile(np.eye(features) * LARGE, (SIZE // features, 1))
    assert isinstance(asked.keys, LinearKeys)
    return asked.keys, asked.evaluate(asked.public + asked.keys.encrypt(chosen))


@pytest.mark.heavy
def test_a_batch_reads_no_weight_of_any_teacher(attica: Federation) -> None:
    """Of 11,520 estimates a correlation of 0.057 is chance with a probability of 1e-9."""
    heads = heads_of(Ensemble.load(attica.party / "teachers"))
    weights = np.concatenate([head.layers[0].weights.toarray() for head in heads])
    X, estimates = full_batch(attica), []
    with attica.serving() as caller:
        for batch in range(1, BATCHES + 1):
            found = opened(*chosen_reply(caller, X, batch))
            used = found[:, : SIZE // X.shape[1] * X.shape[1]]
            estimates.append(used.reshape(len(weights), -1, X.shape[1]).mean(axis=1))
    correlation = np.corrcoef(np.ravel(estimates), np.tile(weights.ravel(), BATCHES))[0, 1]
    assert abs(correlation) < 6.1 / np.sqrt(BATCHES * weights.size) < 0.1


@pytest.mark.parametrize("octet", [b"\0", b"\xff", b"\x80"])
def test_keys_that_were_never_generated_are_answered_with_noise(attica: Federation, octet: bytes) -> None:
    X, replies = full_batch(attica), []
    with attica.serving() as caller:
        for batch in (1, 2):
            asked = Encrypted(caller, X, batch_id=batch)
            asked.begin()
            key = frame_keys(octet * POLYNOMIAL_BYTES)
            reply = asked.evaluate(key + asked.keys.encrypt(X))
            replies.append(read_logits(reply, PACKING))
    assert (replies[0][1] != replies[1][1]).mean() > 0.999
    for half in replies[0]:
        counts = np.bincount((half >> np.uint64(56)).astype(np.intp).ravel(), minlength=256)
        assert chisquare(counts).pvalue > P_VALUE


def test_a_ticket_for_few_queries_takes_no_message_of_many(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = Encrypted(caller, full_batch(attica)[:3])
        asked.begin()
        with pytest.raises(OstrakaError) as refused:
            asked.evaluate(asked.public + asked.keys.encrypt(full_batch(attica)))
        assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
