"""One stage of a blind tally: a garbling, and the one message of each kind that it answers."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.two_party import Computation, Garbling
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.blind.blind_refusals import out_of_order
from ostraka.guardian.blind.circuit_inputs import Words

SEED_BYTES = 32
T = TypeVar("T")


class Stage:
    """Answers every message with the same bytes as long as it lives, and no second one of its kind.

    Two garblings under one seed, or labels for two inputs, would tell the guardian's words. Everything is
    derived from a fresh seed, so the tables are made again for a retry and never kept.
    """

    def __init__(
        self,
        circuit: Circuit,
        words: Words,
        binding: bytes,
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """Take the guardian's `words` (instances, words), noised, and what its messages are bound to."""
        computation = Computation.of(circuit, len(words))
        self._words = words
        self._garbling = Garbling(computation, random(SEED_BYTES), binding)
        self._seen: dict[str, bytes] = {}
        self.sizes = computation.sizes
        self.charged = False
        """Whether the ledger has committed what this stage costs. Before that nothing of it leaves."""

    def points(self, point: bytes) -> bytes:
        """Return the reply to the base transfers' first message."""
        return self._once("point", point, lambda: self._garbling.points(point))

    def accept(self, extension: bytes) -> bytes:
        """Take the extension of the transfers, and return its SHA-256, which the charge is for.

        Raises:
            OstrakaError: `batch.altered`; `message.invalid` or `crypto.refused` for one that is off. After
                the latter the stage must not be used again: every try would tell a little.
        """
        self._after("point" in self._seen, "BeginTally")
        self._once("extension", extension, lambda: self._garbling.accept(extension))
        return self._seen["extension"]

    def tables(self) -> Iterator[bytes]:
        """Return the garbled circuits in parts, only once they are charged."""
        self._after(self.charged, "GarbleTally")
        return self._garbling.tables()

    def labels(self, correction: bytes) -> bytes:
        """Labels of the guardian's words, moved by the querying party's `correction`."""
        self._after(self.charged, "GarbleTally")
        return self._once("correction", correction, lambda: self._garbling.labels(correction, self._words))

    def opened(self, returned: bytes) -> NDArray[np.bool_]:
        """Return the output bits (instances, outputs) that the `returned` labels stand for.

        Raises:
            OstrakaError: `crypto.refused` for a label that none of the circuits has.
        """
        self._after("correction" in self._seen, "CompareTally")
        return self._once("returned", returned, lambda: self._garbling.opened(returned))

    def _once(self, kind: str, content: bytes, answer: Callable[[], T]) -> T:
        digest = hashlib.sha256(content).digest()
        if not hmac.compare_digest(self._seen.get(kind, digest), digest):
            raise OstrakaError(
                ErrorCode.BATCH_ALTERED,
                "This step was sent before with other content; a retry must send the same bytes.",
            )
        answered = answer()
        self._seen[kind] = digest
        return answered

    @staticmethod
    def _after(done: bool, step: str) -> None:
        if not done:
            raise out_of_order(step)
