"""The encrypted logits of one batch: made once, and kept with this party's shares of them."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from common.confidential import read_encrypted_queries
from common.crypto.ckks.evaluation import Evaluator, MaskedLogits
from common.crypto.ckks.heads import EncryptedHead
from common.crypto.ckks.parameters import Head, parameters_of
from common.crypto.ckks.wire import logits_bytes, most_public_bytes, queries_bytes

LENGTH_BYTES = 8
"""What says how long the public keys are."""


class BatchLogits:
    """Heads evaluated on one batch; not for several threads at once.

    Encryptions of zero are fresh every time, so what was made is kept. A stream that is cut off goes on where
    it was: masks belong to a place in the order of heads, and one mask on two heads gave their difference.
    """

    def __init__(
        self, head: Head, cliques: Sequence[Sequence[EncryptedHead]], size: int, seed: bytes
    ) -> None:
        """Takes the heads of each clique that votes, the number of queries, and 32 fresh bytes."""
        self._parameters = parameters_of(head)
        self._cliques = [len(heads) for heads in cliques]
        self._heads = [own for heads in cliques for own in heads]
        self._size = size
        self._seed = seed
        self._made: list[MaskedLogits] = []
        self._making: Iterator[MaskedLogits] | None = None

    @property
    def most_request_bytes(self) -> int:
        """Size of public keys and queries, at most."""
        queries = queries_bytes(self._parameters, self._heads[0].inputs)
        return LENGTH_BYTES + most_public_bytes(self._parameters) + queries

    @property
    def reply_bytes(self) -> int:
        """Size of all encrypted logits."""
        return sum(logits_bytes(self._parameters, head.outputs) for head in self._heads)

    @property
    def shares(self) -> list[NDArray[np.uint64]]:
        """This party's shares of the logits by clique, (teachers, queries, classes), once all are made."""
        by_head = np.stack([made.shares.T for made in self._made])
        return np.split(by_head, np.cumsum(self._cliques)[:-1])

    def answer(self, message: bytes) -> Iterator[bytes]:
        """Encrypted masked logits, head by head, for the one message of queries that this batch has.

        Raises `message.invalid` or `crypto.refused` for keys or queries that are none.
        """
        for place in range(len(self._heads)):
            if place == len(self._made):
                self._making = self._making or self._evaluate(message)
                self._made.append(next(self._making))
            yield self._made[place].ciphertexts
        self._making = None

    def _evaluate(self, message: bytes) -> Iterator[MaskedLogits]:
        public, queries = read_encrypted_queries(message)
        evaluator = Evaluator(self._parameters, public)
        return evaluator.logits(self._heads, queries, self._seed, self._size)
