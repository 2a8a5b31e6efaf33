"""A process that evaluates heads with squares, because their library holds the interpreter lock."""

import mmap
import multiprocessing
import os
import signal
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import TYPE_CHECKING, NoReturn, Self

from ostraka.common.crypto.ckks.memory import memory_file
from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.inference import MaskedLogits
from ostraka.common.crypto.transcripts import read_encrypted_queries
from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    from ostraka.common.crypto.ckks.ckks_scheme import CkksEvaluator


@dataclass(frozen=True)
class Part:
    """Heads that one process evaluates; `first` is the index of the first among all heads of their batch."""

    first: int
    heads: Sequence[EncryptedHead] = field(repr=False)


@dataclass(frozen=True)
class Terms:
    """What a process needs besides a batch's message: its size, the masks' seed, and the number of
    queries."""

    size: int
    seed: bytes = field(repr=False)
    instances: int


class SharedBatch:
    """A batch whose message of keys and queries is in memory once, shared by all processes."""

    def __init__(self, message: bytes, seed: bytes, instances: int) -> None:
        """Take the arguments of `CkksEvaluator`; the memory is freed once no process uses it."""
        self.terms = Terms(len(message), seed, instances)
        with memory_file(message) as (_, descriptor):
            self.descriptor = os.dup(descriptor)
        weakref.finalize(self, os.close, self.descriptor)


class HeadProcess:
    """Starts a process and communicates with it; for one thread at a time.

    It is spawned, not forked, because threads of the server's libraries do not survive a fork.
    """

    def __init__(self) -> None:
        """Start the process; raises OSError if that fails."""
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), name="heads", daemon=True)
        self._process.start()
        theirs.close()
        self._batch: SharedBatch | None = None

    @property
    def pid(self) -> int | None:
        """The process id."""
        return self._process.pid

    def knows(self, batch: SharedBatch) -> bool:
        """Whether it has the batch's message."""
        return self._batch is batch

    def evaluate(self, batch: SharedBatch, part: Part) -> list[MaskedLogits]:
        """Return the logits of a part of the batch's heads; send the batch first if the process lacks it.

        Raises:
            OstrakaError: as `CkksEvaluator` does.
            OSError, EOFError: the process has ended; close it then.
        """
        if not self.knows(batch):
            self._connection.send(batch.terms)
            send_handle(self._connection, batch.descriptor, self.pid)
            self._batch = batch
        self._connection.send(part)
        reply = self._connection.recv()
        if isinstance(reply, _Refusal):
            raise OstrakaError(reply.code, reply.message)
        made: list[MaskedLogits] = reply
        return made

    def forget(self, batch: SharedBatch) -> None:
        """Let the process drop a batch, so its memory is freed; it may have ended."""
        if self.knows(batch):
            self._batch = None
            with suppress(OSError):
                self._connection.send(None)

    def end(self) -> None:
        """Terminate the process, whatever it is doing; a thread that waits for it gets EOFError."""
        self._process.terminate()

    def close(self) -> None:
        """Terminate it, and free its resources here."""
        self.end()
        self._process.join()
        self._connection.close()


@dataclass(frozen=True)
class _Refusal:
    code: ErrorCode
    message: str


@dataclass(frozen=True)
class _Batch:
    """A batch inside the process."""

    message: memoryview = field(repr=False)
    terms: Terms

    @classmethod
    def receive(cls, connection: Connection, terms: Terms) -> Self:
        """Map the shared memory file that is received next."""
        descriptor = recv_handle(connection)
        try:
            return cls(memoryview(mmap.mmap(descriptor, terms.size, access=mmap.ACCESS_READ)), terms)
        finally:
            os.close(descriptor)

    def evaluate(self, part: Part) -> list[MaskedLogits] | _Refusal:
        """Return the logits of a part's heads."""
        terms = self.terms
        try:
            public, queries = read_encrypted_queries(self.message)
            evaluator = _evaluator(bytes(public))
            return list(evaluator.logits(part.heads, queries, terms.seed, terms.instances, first=part.first))
        except OstrakaError as error:
            return _Refusal(error.code, error.message)


@lru_cache(1)
def _evaluator(public: bytes) -> "CkksEvaluator":
    """Return the evaluator for a session's keys, which are parsed once."""
    from ostraka.common.crypto.ckks.ckks_scheme import CkksEvaluator
    from ostraka.common.crypto.ckks.parameters import SQUARES

    return CkksEvaluator(SQUARES, public)


def serve(connection: Connection) -> None:
    """Evaluate requests until the party is gone."""
    # Ctrl-C reaches all processes of a terminal; the party ends these itself after draining.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, BrokenPipeError):
        _converse(connection)


def _converse(connection: Connection) -> NoReturn:
    batch: _Batch | None = None
    while True:
        asked: Terms | Part | None = connection.recv()
        if isinstance(asked, Terms):
            batch = _Batch.receive(connection, asked)
        elif asked is None:
            batch = None
        else:
            assert batch is not None  # noqa: S101 - its terms came first
            connection.send(batch.evaluate(asked))
