"""The garbled circuits of an encrypted batch: this party's half of the computation of its ballots."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.ballot_computation import BallotComputation
from ostraka.common.crypto.computation import Sizes
from ostraka.common.crypto.confidential import ballots_binding
from ostraka.common.crypto.two_party import Garbling
from ostraka.services.admission.grants import Permission


class BatchCircuits:
    """All circuits of a batch; every message is the same at every call."""

    def __init__(self, permission: Permission, seed: bytes) -> None:
        """Take what the batch is and the fresh 32 bytes that everything here is derived from."""
        self.votes = BallotComputation.of(permission.plan, permission.participant, permission.scheduled)
        computation = self.votes.computation
        bound = ballots_binding(*permission.key, permission.participant.site)
        self._garbling = Garbling(computation, seed, bound)
        self.sizes: Sizes = computation.sizes

    @property
    def context(self) -> bytes:
        """What this batch agreed on in Begin (`Garbling.context`); raises `batch.out_of_order` before."""
        return self._garbling.context

    def points(self, point: bytes) -> bytes:
        """Answers the base transfers; raises `message.invalid` or `crypto.refused`."""
        return self._garbling.points(point)

    def accept(self, extension: bytes) -> None:
        """Take the extension; raise `message.invalid` for another size, `crypto.refused` for a forgery."""
        self._garbling.accept(extension)

    def tables(self) -> Iterator[bytes]:
        """Yield the garbled tables, part by part, once the extension is accepted."""
        return self._garbling.tables()

    def shares(self) -> NDArray[np.uint32]:
        """Return this party's share of its ballots (queries, width) in Z_2^32, in steps of 2^-16 vote."""
        return self.votes.ballots(self._garbling.shares())

    def labels(self, correction: bytes, logits: NDArray[np.uint64]) -> Iterator[bytes]:
        """Yield the labels of this party's words.

        Args:
            correction: the querying party's; `message.invalid` for another size, before anything is given.
            logits: this party's share of them, (teachers, queries of the batch, classes).
        """
        yield self._garbling.labels(correction, self.votes.select(logits))
