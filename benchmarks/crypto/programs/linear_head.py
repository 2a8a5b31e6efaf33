"""A linear head on queries encrypted by a library: one feature per ciphertext, one query per slot."""

import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.crypto.measured import Measured, median_of
from benchmarks.crypto.tasks import CLASSES, FEATURES

MAX_ERROR = 2**-8
"""Maximum error of a logit: with a larger one, about one vote in a hundred would change."""

Floats = NDArray[np.float64]


class Scheme(Protocol):
    """Keys of one querying party."""

    slots: int

    def encrypt(self, feature: Floats) -> bytes:
        """Encrypt one feature of a full ciphertext of queries."""
        ...

    def evaluate(self, features: Sequence[bytes], weights: Floats, biases: Floats) -> list[bytes]:
        """Return the logit of each class, encrypted; without the secret key."""
        ...

    def decrypt(self, logit: bytes) -> Floats:
        """Return one class's logit of each query."""
        ...


def main(library: str, new: Callable[[], Scheme]) -> None:
    """Measure a library's scheme: `..._head 4096 3`."""
    queries, repeats = map(int, sys.argv[1:])
    measured = [_run(new, queries) for _ in range(repeats)]
    seconds, sent, messages = zip(*measured, strict=True)
    Measured(version(library), queries, median_of(seconds), sent[0], messages[0]).tell()


def _run(new: Callable[[], Scheme], queries: int) -> tuple[dict[str, float], int, int]:
    """Return processor seconds of both roles, bytes and messages; a batch has two messages."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (queries, FEATURES))
    weights = random.normal(0, FEATURES**-0.5, (CLASSES, FEATURES))
    biases = random.normal(0, 1, CLASSES)
    times = [time.process_time()]
    scheme = new()
    parts = [X[begin : begin + scheme.slots] for begin in range(0, queries, scheme.slots)]
    asked = [[scheme.encrypt(np.ascontiguousarray(feature)) for feature in part.T] for part in parts]
    times.append(time.process_time())
    replies = [scheme.evaluate(features, weights, biases) for features in asked]
    times.append(time.process_time())
    found = np.concatenate([np.stack([scheme.decrypt(logit) for logit in reply]).T for reply in replies])
    times.append(time.process_time())
    assert np.abs(found - (X @ weights.T + biases)).max() < MAX_ERROR, "wrong logits"
    encrypting, evaluating, decrypting = np.diff(times).tolist()
    sent = sum(len(one) for batch in (asked, replies) for part in batch for one in part)
    return {"party": evaluating, "querying party": encrypting + decrypting}, sent, 2
