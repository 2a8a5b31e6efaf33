"""Recorded steps of an encrypted batch: a repeated step is answered again, any other ends the batch."""

import hashlib
import threading
from enum import StrEnum

from ostraka.common.errors import ErrorCode, OstrakaError


class Name(StrEnum):
    """The steps after Begin, in their order; Garble and Evaluate in any."""

    GARBLE = "Garble"
    EVALUATE = "Evaluate"
    COMPARE = "Compare"


class Steps:
    """The content of every step by its digest, and which steps are done; safe to call from many threads.

    A second content under one step could be the second of two equations about a secret. It is refused, and so
    is everything that comes after it.
    """

    def __init__(self, batch_id: int) -> None:
        """Nothing asked yet."""
        self._batch_id = batch_id
        self._asked: dict[str, bytes] = {}
        self._done: set[Name] = set()
        self._dead = False
        self._lock = threading.Lock()

    def pin(self, step: str, content: bytes) -> None:
        """Take a step's content, or find that it came before; raise `batch.altered` or `batch.dead`."""
        digest = hashlib.sha256(content).digest()
        with self._lock:
            self._require_alive()
            if self._asked.setdefault(step, digest) != digest:
                self._dead = True
                raise OstrakaError(
                    ErrorCode.BATCH_ALTERED,
                    f"{step} of batch {self._batch_id} came with other content before, which ends the batch "
                    "here: ask again under a new batch id.",
                )

    def kill(self) -> None:
        """End the batch."""
        with self._lock:
            self._dead = True

    def require_alive(self) -> None:
        """Raise `batch.dead` where the batch was ended."""
        with self._lock:
            self._require_alive()

    def finish(self, step: Name) -> None:
        """Note that a step is done."""
        with self._lock:
            self._done.add(step)

    def require(self, step: Name, *before: Name) -> None:
        """Raise `batch.out_of_order` unless the steps before this one are done."""
        with self._lock:
            missing = [name for name in before if name not in self._done]
        if missing:
            raise out_of_order(self._batch_id, step, missing[0])

    def _require_alive(self) -> None:
        if self._dead:
            raise OstrakaError(
                ErrorCode.BATCH_DEAD,
                f"Batch {self._batch_id} was ended here by a step that was refused: ask again under a new "
                "batch id.",
            )


def out_of_order(batch_id: int, step: str, missing: str) -> OstrakaError:
    """Return the refusal of a step that comes before the one that it needs."""
    return OstrakaError(
        ErrorCode.BATCH_OUT_OF_ORDER, f"{step} of batch {batch_id} needs {missing} first: call that."
    )
