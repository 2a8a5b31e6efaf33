"""Transcripts of confidential steps: messages of one computation, in order, each step answered once."""

import hashlib
import struct
import threading
from hashlib import sha256
from typing import TypeVar

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import common_pb2


def binding(*parts: str | int | bytes) -> bytes:
    """Return SHA-256 over `parts`, 32 bytes; different number, order, type or values give another binding.

    Every part is hashed after its type and its length, so that no two lists have the same hash input.
    Integers are hashed in decimal.
    """
    digest = hashlib.sha256()
    for part in parts:
        encoded = part if isinstance(part, bytes) else str(part).encode()
        digest.update(f"{type(part).__name__}:{len(encoded)}:".encode() + encoded)
    return digest.digest()


def derive(context: bytes, purpose: str, *parts: bytes) -> bytes:
    """Return a 32-byte hash of `parts` for one purpose under a binding; equal only if everything is equal."""
    return binding(context, purpose, *parts)


_LENGTH = struct.Struct("<Q")

B = TypeVar("B", bytes, memoryview)


def ballots_binding(session_id: str, batch_id: int, site: str) -> bytes:
    """Return the binding of the computation of one party's ballots; 32 bytes."""
    return binding("querier", "party", session_id, batch_id, site, common_pb2.STAGE_BALLOTS)


def tally_binding(session_id: str, batch_id: int, stage: common_pb2.Stage) -> bytes:
    """Return the binding of the circuits of one stage of a blind tally; 32 bytes."""
    return binding("querier", "guardian", session_id, batch_id, "", stage)


def frame_keys(public: bytes) -> bytes:
    """Return the start of Evaluate's message: public keys after their length (8 bytes)."""
    return _LENGTH.pack(len(public)) + public


def read_encrypted_queries(data: B) -> tuple[B, B]:
    """Return keys and ciphertexts of Evaluate's message; raise `message.invalid` if the keys are cut off."""
    length = _LENGTH.unpack_from(data)[0] if len(data) >= _LENGTH.size else len(data)
    start = _LENGTH.size
    if start + length > len(data):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID, "The encryption keys are cut off; send the message again, whole."
        )
    return data[start : start + length], data[start + length :]


def check_size(what: str, data: bytes, size: int) -> None:
    """Raise `message.invalid` if a message has another size than its computation's."""
    if len(data) != size:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID, f"The {what} has {size} bytes, not {len(data)}: send it whole."
        )


class Once:
    """Admits the first content, as often as it comes, and refuses every other; safe to use from many threads.

    A second message in the place of an answered one could reveal both labels of a wire to a peer.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._digest: bytes | None = None
        # Guards the digest: no two threads may both find that nothing was admitted yet.
        self._lock = threading.Lock()

    def admit(self, *content: bytes) -> None:
        """Remember this content by its digest; raise `crypto.refused` if another one was admitted before."""
        digest = b"".join(sha256(part).digest() for part in content)
        with self._lock:
            if self._digest is None:
                self._digest = digest
            if self._digest != digest:
                raise OstrakaError(
                    ErrorCode.CRYPTO_REFUSED,
                    f"Another {self._what} came after one was taken: send the same, or begin a new batch.",
                )
