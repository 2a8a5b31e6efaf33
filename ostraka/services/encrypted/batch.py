"""One encrypted batch: four steps, each answered once; a repeated request gets the same bytes."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.ballot_computation import BallotComputation
from ostraka.common.crypto.computation import Sizes
from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.inference import MaskedLogits, scheme_of
from ostraka.common.crypto.logits import Head
from ostraka.common.crypto.transcripts import ballots_binding, read_encrypted_queries
from ostraka.common.crypto.two_party import Garbling
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.noise import NoiseSource, open_exact_noise
from ostraka.common.plan.encodings import HIDDEN_HEADS
from ostraka.services.admission.grants import Permission
from ostraka.services.encrypted.head_processes import HeadProcesses
from ostraka.services.voting.answers import BallotGuardian
from ostraka.services.voting.delivery import Delivery
from ostraka.services.voting.submission import GuardianShare


class Name(StrEnum):
    """The steps after Begin, in order; Garble and Evaluate in any order."""

    GARBLE = "Garble"
    EVALUATE = "Evaluate"
    COMPARE = "Compare"


class Steps:
    """The content of every step by its digest, and which steps are done; thread-safe.

    A second content for a step could give a second equation about a secret. It is refused, and so is
    everything after it.
    """

    def __init__(self, batch_id: int) -> None:
        self._batch_id = batch_id
        self._asked: dict[str, bytes] = {}
        self._done: set[Name] = set()
        self._dead = False
        # Guards digests, completed steps and death together: no content may be accepted after the batch has
        # ended.
        self._lock = threading.Lock()

    def pin(self, step: str, content: bytes) -> None:
        """Record a step's content, or check that it is the same; raise `batch.altered` or `batch.dead`."""
        digest = hashlib.sha256(content).digest()
        with self._lock:
            self._require_alive()
            if self._asked.setdefault(step, digest) != digest:
                self._dead = True
                raise OstrakaError(
                    ErrorCode.BATCH_ALTERED,
                    f"{step} of batch {self._batch_id} was sent before with other content, which ends the "
                    "batch here: ask again under a new batch id.",
                )

    def kill(self) -> None:
        """End the batch."""
        with self._lock:
            self._dead = True

    def require_alive(self) -> None:
        """Raise `batch.dead` if the batch has ended."""
        with self._lock:
            self._require_alive()

    def finish(self, step: Name) -> None:
        """Record that a step is done."""
        with self._lock:
            self._done.add(step)

    def require(self, step: Name, *before: Name) -> None:
        """Raise `batch.out_of_order` unless the steps in `before` are done."""
        with self._lock:
            missing = [name for name in before if name not in self._done]
        if missing:
            raise out_of_order(self._batch_id, step, missing[0])

    def _require_alive(self) -> None:
        if self._dead:
            raise OstrakaError(
                ErrorCode.BATCH_DEAD,
                f"A refused step ended batch {self._batch_id} here: ask again under a new batch id.",
            )


def out_of_order(batch_id: int, step: str, missing: str) -> OstrakaError:
    """Return the refusal of a step that comes before one that it needs."""
    return OstrakaError(
        ErrorCode.BATCH_OUT_OF_ORDER, f"{step} of batch {batch_id} needs {missing} first: call that."
    )


class BatchCircuits:
    """All circuits of a batch; every message is the same at every call."""

    def __init__(
        self, permission: Permission, seed: bytes, noise: Callable[[], NoiseSource] = open_exact_noise
    ) -> None:
        """Take the batch and 32 fresh random bytes, from which everything else is derived.

        `noise` opens the source of this party's noise if the plan needs it: only once, so a share that is
        sent again contains the same noise.
        """
        plan = permission.plan
        self._noise = [draw.of(noise()) for draw in plan.mechanism.party_draws(permission.size, plan.classes)]
        self._ring = plan.modulus
        self.votes = BallotComputation.of(permission.plan, permission.participant, permission.scheduled)
        computation = self.votes.computation
        bound = ballots_binding(*permission.key, permission.participant.site)
        self._garbling = Garbling(computation, seed, bound)
        self.sizes: Sizes = computation.sizes

    @property
    def context(self) -> bytes:
        """The context that Begin determined (`Garbling.context`); raises `batch.out_of_order` before
        Begin."""
        return self._garbling.context

    def points(self, point: bytes) -> bytes:
        """Answer the base oblivious transfers; raises `message.invalid` or `crypto.refused`."""
        return self._garbling.points(point)

    def accept(self, extension: bytes) -> None:
        """Take the extension; raise `message.invalid` for a wrong size, `crypto.refused` for a forgery."""
        self._garbling.accept(extension)

    def tables(self) -> Iterator[bytes]:
        """Yield the garbled tables, part by part, after the extension was accepted."""
        return self._garbling.tables()

    def shares(self) -> NDArray[np.uint32]:
        """Return this party's share of its ballots (queries, width) in Z_2^32, in steps of 2^-16 vote.

        It contains this party's noise, if any.
        """
        shares = self.votes.ballots(self._garbling.shares())
        return self._ring.sum([shares, *map(self._ring.wrap, self._noise)])

    def labels(self, correction: bytes, logits: NDArray[np.uint64]) -> Iterator[bytes]:
        """Yield the labels of this party's words.

        Args:
            correction: the querying party's; `message.invalid` for a wrong size, before anything is yielded.
            logits: this party's shares of the logits, (teachers, queries of the batch, classes).
        """
        yield self._garbling.labels(correction, self.votes.select(logits))


LENGTH_BYTES = 8
"""Bytes of the length of the public keys."""


class BatchLogits:
    """Heads evaluated on one batch; not thread-safe.

    Results are stored, because encryptions of zero may be fresh every time. An interrupted stream continues
    where it stopped: masks belong to a position in the order of heads, and one mask on two heads would reveal
    their difference.
    """

    def __init__(
        self,
        head: Head,
        heads: Sequence[EncryptedHead],
        size: int,
        seed: bytes,
        processes: HeadProcesses | None = None,
    ) -> None:
        """Take the heads of all voting teachers, the number of queries, and 32 fresh random bytes.

        Heads outside HIDDEN_HEADS are evaluated in the `processes`, if there are any.
        """
        self._scheme = scheme_of(head)
        self._heads = heads
        self._size = size
        self._seed = seed
        self._processes = None if head in HIDDEN_HEADS else processes
        self._made: list[MaskedLogits] = []
        self._making: Iterator[MaskedLogits] | None = None

    @property
    def most_request_bytes(self) -> int:
        """Maximum size of public keys and queries."""
        queries = self._scheme.queries_bytes(self._heads[0].inputs, self._size)
        return LENGTH_BYTES + self._scheme.most_public_bytes() + queries

    @property
    def reply_bytes(self) -> int:
        """Size of all encrypted logits."""
        return sum(self._scheme.logits_bytes(head.outputs, self._size) for head in self._heads)

    @property
    def shares(self) -> NDArray[np.uint64]:
        """This party's shares of the logits, (teachers, queries, classes), once all are computed."""
        return np.stack([made.shares.T for made in self._made])

    def answer(self, message: bytes, context: bytes) -> Iterator[bytes]:
        """Yield encrypted masked logits, head by head, for the single message of queries of this batch.

        Its keys were made for `context`, which both sides determined in Begin. Raises `message.invalid` or
        `crypto.refused` for invalid keys or queries.
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


BEGIN = "Begin"


class EncryptedBatch:
    """Circuits, masks and replies of one batch, in memory only; thread-safe.

    Garble and Evaluate may run concurrently; each runs in one thread at a time, so nothing is computed twice.
    Streams are computed while they are sent, and stop if the batch ends meanwhile.
    """

    def __init__(
        self,
        permission: Permission,
        request_digest: bytes,
        circuits: BatchCircuits,
        logits: BatchLogits,
        guardian: BallotGuardian,
    ) -> None:
        self.querier = permission.grant.querier
        self.circuits = circuits
        self.logits = logits
        self._permission = permission
        self._guardian = guardian
        self._recorded = False
        self._delivery: Delivery | None = None
        self._steps = Steps(permission.batch_id)
        self._steps.pin(BEGIN, request_digest)
        # One lock per step, held while it streams, so nothing is computed twice; steps do not wait for each
        # other.
        self._locks = {step: threading.Lock() for step in (BEGIN, *Name)}

    @property
    def submitted(self) -> bool:
        """Whether the guardian has this party's share, so only retries can follow."""
        return self._delivery is not None and self._delivery.delivered

    def begin(self, request_digest: bytes, point: bytes) -> bytes:
        """Return the points of the base oblivious transfers."""
        with self._step(BEGIN, request_digest), self._or_end():
            return self.circuits.points(point)

    def garble(self, extension: bytes) -> Iterator[bytes]:
        """Yield the garbled tables, `circuits.sizes.tables` bytes in all."""
        with self._step(Name.GARBLE, extension):
            with self._or_end():
                self.circuits.accept(extension)
            self._steps.finish(Name.GARBLE)
            yield from self._while_alive(self.circuits.tables())

    def evaluate(self, queries: bytes) -> Iterator[bytes]:
        """Yield encrypted masked logits of all voting teachers, `logits.reply_bytes` bytes in all.

        The guardian charges the batch before the first byte is sent, whether or not anything is released:
        nobody can see what was encrypted, nor what the reply reveals about the teachers.
        """
        with self._step(Name.EVALUATE, queries):
            if not self._recorded:
                self._guardian.record_evaluation(*self._permission.key)
                self._recorded = True
            yield from self._while_alive(self.logits.answer(queries, self.circuits.context))
            self._steps.finish(Name.EVALUATE)

    def compare(self, correction: bytes) -> Iterator[bytes]:
        """Yield the labels of this party's words, `circuits.sizes.labels` bytes in all.

        The guardian must acknowledge this party's share of the ballots before the first byte
        (`Delivery.finish`).
        """
        self._steps.require(Name.COMPARE, Name.GARBLE, Name.EVALUATE)
        with self._step(Name.COMPARE, correction):
            if self._delivery is None:
                self._delivery = Delivery(self._share())
            self._delivery.finish(self._guardian)
            yield from self._while_alive(self.circuits.labels(correction, self.logits.shares))

    @contextmanager
    def _step(self, step: str, content: bytes) -> Iterator[None]:
        """Hold a step in one thread at a time, with the step's single content."""
        self._steps.pin(step, content)
        with self._locks[step]:
            yield

    @contextmanager
    def _or_end(self) -> Iterator[None]:
        """End the batch if anything fails inside: refused content never gets a second try."""
        try:
            yield
        except Exception:
            self._steps.kill()
            raise

    def _share(self) -> GuardianShare:
        values = self.circuits.shares()
        ring = self._permission.plan.modulus
        rows, width = values.shape
        return GuardianShare(*self._permission.key, rows, width, ring.to_bytes(values))

    def _while_alive(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        with self._or_end():
            for part in parts:
                self._steps.require_alive()
                yield part
