"""One encrypted batch: four steps, each answered once and, asked again, with the same bytes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ostraka.services.admission.grants import Permission
from ostraka.services.encrypted.circuits import BatchCircuits
from ostraka.services.encrypted.logits import BatchLogits
from ostraka.services.encrypted.steps import Name, Steps
from ostraka.services.voting.answers import BallotGuardian
from ostraka.services.voting.submission import GuardianShare

BEGIN = "Begin"


class EncryptedBatch:
    """Circuits, masks and replies of one batch, in memory only; safe to call from many threads.

    Garble and Evaluate may run at the same time; either runs in one thread at a time, so that nothing is made
    twice. What is streamed is made while it is sent, and stops where the batch is ended meanwhile.
    """

    def __init__(
        self,
        permission: Permission,
        request_digest: bytes,
        circuits: BatchCircuits,
        logits: BatchLogits,
        guardian: BallotGuardian,
    ) -> None:
        """Take what computes votes, and where this party's share goes; `request_digest` is Begin's."""
        self.querier = permission.grant.querier
        self.circuits = circuits
        self.logits = logits
        self._permission = permission
        self._guardian = guardian
        self._recorded = self._submitted = False
        self._steps = Steps(permission.batch_id)
        self._steps.pin(BEGIN, request_digest)
        self._locks = {step: threading.Lock() for step in (BEGIN, *Name)}

    @property
    def submitted(self) -> bool:
        """Whether the guardian has this party's share, so that only retries are to come."""
        return self._submitted

    def begin(self, request_digest: bytes, point: bytes) -> bytes:
        """Return the points of the base transfers."""
        with self._step(BEGIN, request_digest), self._or_end():
            return self.circuits.points(point)

    def garble(self, extension: bytes) -> Iterator[bytes]:
        """Yield the garbled tables, `circuits.sizes.tables` in all."""
        with self._step(Name.GARBLE, extension):
            with self._or_end():
                self.circuits.accept(extension)
            self._steps.finish(Name.GARBLE)
            yield from self._while_alive(self.circuits.tables())

    def evaluate(self, queries: bytes) -> Iterator[bytes]:
        """Encrypted masked logits of all teachers that vote, `logits.reply_bytes` in all.

        The guardian charges the batch before the first of them leaves, whether or not anything is released of
        it: what was encrypted cannot be seen, nor what the reply says about the teachers.
        """
        with self._step(Name.EVALUATE, queries):
            if not self._recorded:
                self._guardian.record_evaluation(*self._permission.key)
                self._recorded = True
            yield from self._while_alive(self.logits.answer(queries, self.circuits.context))
            self._steps.finish(Name.EVALUATE)

    def compare(self, correction: bytes) -> Iterator[bytes]:
        """Yield the labels of this party's words, `circuits.sizes.labels` in all.

        The guardian has acknowledged this party's share of the ballots before the first of them.
        """
        self._steps.require(Name.COMPARE, Name.GARBLE, Name.EVALUATE)
        with self._step(Name.COMPARE, correction):
            if not self._submitted:
                self._guardian.submit(self._share())
                self._submitted = True
            yield from self._while_alive(self.circuits.labels(correction, self.logits.shares))

    @contextmanager
    def _step(self, step: str, content: bytes) -> Iterator[None]:
        """One thread at a time inside, with the one content that the step has."""
        self._steps.pin(step, content)
        with self._locks[step]:
            yield

    @contextmanager
    def _or_end(self) -> Iterator[None]:
        """Whatever fails inside ends the batch: content that was refused never gets a second try."""
        try:
            yield
        except Exception:
            self._steps.kill()
            raise

    def _share(self) -> GuardianShare:
        values, ring = self.circuits.shares(), self._permission.plan.modulus
        rows, width = values.shape
        return GuardianShare(*self._permission.key, rows, width, ring.to_bytes(values))

    def _while_alive(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        with self._or_end():
            for part in parts:
                self._steps.require_alive()
                yield part
