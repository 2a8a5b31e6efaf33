"""What both sides of confidential steps must agree on: bindings of computations, order of messages."""

import struct
from collections.abc import Sequence

from common.crypto.binding import binding
from common.errors import ErrorCode, OstrakaError
from protos.ostraka.v1 import common_pb2

_LENGTH = struct.Struct("<Q")


def ballots_binding(session_id: str, batch_id: int, site: str, clique: int) -> bytes:
    """What the circuits of one party's clique (its place in the ticket) are bound to; 32 bytes.

    Each clique that votes in a batch has a computation of its own, because its votes may weigh differently.
    Every message of Begin, Garble and Compare is theirs joined in the order of the cliques.
    """
    return binding("querier", "party", session_id, batch_id, site, clique, common_pb2.STAGE_BALLOTS)


def tally_binding(session_id: str, batch_id: int, stage: common_pb2.Stage) -> bytes:
    """What the circuits of one stage of a blind tally are bound to; 32 bytes."""
    return binding("querier", "guardian", session_id, batch_id, "", 0, stage)


def cut(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    """`data` in parts of these sizes; raises `message.invalid` where it is longer or shorter in all."""
    if len(data) != sum(sizes):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"A message of {sum(sizes)} bytes came with {len(data)}; use the same version everywhere.",
        )
    parts, start = [], 0
    for size in sizes:
        parts.append(data[start : start + size])
        start += size
    return parts


def encrypted_queries(public: bytes, ciphertexts: bytes) -> bytes:
    """The message of Evaluate: the public keys behind their length (8 bytes), then the ciphertexts."""
    return _LENGTH.pack(len(public)) + public + ciphertexts


def read_encrypted_queries(data: bytes) -> tuple[bytes, bytes]:
    """Public keys and ciphertexts of what `encrypted_queries` made; raises `message.invalid` otherwise."""
    length = _LENGTH.unpack_from(data)[0] if len(data) >= _LENGTH.size else len(data)
    start = _LENGTH.size
    if start + length > len(data):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID, "The encryption keys are cut off; send the message again, whole."
        )
    return data[start : start + length], data[start + length :]
