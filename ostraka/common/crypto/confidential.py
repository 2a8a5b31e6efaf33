"""Constants of confidential steps shared by both sides: bindings of computations, order of messages."""

import struct
from typing import TypeVar

from ostraka.common.crypto.transcript_binding import binding
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import common_pb2

_LENGTH = struct.Struct("<Q")

B = TypeVar("B", bytes, memoryview)


def ballots_binding(session_id: str, batch_id: int, site: str) -> bytes:
    """Return what the computation of one party's ballots is bound to; 32 bytes."""
    return binding("querier", "party", session_id, batch_id, site, common_pb2.STAGE_BALLOTS)


def tally_binding(session_id: str, batch_id: int, stage: common_pb2.Stage) -> bytes:
    """Return what the circuits of one stage of a blind tally are bound to; 32 bytes."""
    return binding("querier", "guardian", session_id, batch_id, "", stage)


def framed_keys(public: bytes) -> bytes:
    """Return how Evaluate's message begins: public keys after their length (8 bytes); ciphertexts follow."""
    return _LENGTH.pack(len(public)) + public


def read_encrypted_queries(data: B) -> tuple[B, B]:
    """Public keys and ciphertexts of Evaluate's message; raises `message.invalid` where keys are cut off."""
    length = _LENGTH.unpack_from(data)[0] if len(data) >= _LENGTH.size else len(data)
    start = _LENGTH.size
    if start + length > len(data):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID, "The encryption keys are cut off; send the message again, whole."
        )
    return data[start : start + length], data[start + length :]
