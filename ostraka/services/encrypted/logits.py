"""The encrypted logits of one batch: made once, and kept with this party's shares of them."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.confidential import read_encrypted_queries
from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.inference import MaskedLogits
from ostraka.common.crypto.logits import Head
from ostraka.common.crypto.schemes import scheme_of
from ostraka.services.encrypted.head_processes import HeadProcesses

LENGTH_BYTES = 8
"""What says how long the public keys are."""


class BatchLogits:
    """Heads evaluated on one batch; not for several threads at once.

    What was made is kept, because encryptions of zero may be fresh every time. A stream that is cut off goes
    on where it was: masks belong to a place in the order of heads, and one mask on two heads gave their
    difference.
    """

    def __init__(
        self,
        head: Head,
        heads: Sequence[EncryptedHead],
        size: int,
        seed: bytes,
        processes: HeadProcesses | None = None,
    ) -> None:
        """Take the heads of all teachers that vote, the number of queries, and 32 fresh bytes.

        Heads with squares are evaluated in the `processes`, if there are any.
        """
        self._scheme = scheme_of(head)
        self._heads = heads
        self._size = size
        self._seed = seed
        self._processes = None if head == "linear" else processes
        self._made: list[MaskedLogits] = []
        self._making: Iterator[MaskedLogits] | None = None

    @property
    def most_request_bytes(self) -> int:
        """Size of public keys and queries, at most."""
        queries = self._scheme.queries_bytes(self._heads[0].inputs)
        return LENGTH_BYTES + self._scheme.most_public_bytes() + queries

    @property
    def reply_bytes(self) -> int:
        """Size of all encrypted logits."""
        return sum(self._scheme.logits_bytes(head.outputs) for head in self._heads)

    @property
    def shares(self) -> NDArray[np.uint64]:
        """This party's shares of the logits, (teachers, queries, classes), once all are made."""
        return np.stack([made.shares.T for made in self._made])

    def answer(self, message: bytes, context: bytes) -> Iterator[bytes]:
        """Encrypted masked logits, head by head, for the one message of queries that this batch has.

        The keys in it were made for `context`, on which both sides agreed in Begin. Raises `message.invalid`
        or `crypto.refused` for keys or queries that are none.
        """
        for place in range(len(self._heads)):
            if place == len(self._made):
                self._making = self._making or self._evaluate(message, context)
                self._made.append(next(self._making))
            yield self._made[place].ciphertexts
        self._making = None

    def _evaluate(self, message: bytes, context: bytes) -> Iterator[MaskedLogits]:
        if self._processes is not None:
            return self._processes.logits(message, self._heads, self._seed, self._size)
        public, queries = read_encrypted_queries(message)
        evaluator = self._scheme.evaluator(public, context)
        return evaluator.logits(self._heads, queries, self._seed, self._size)
