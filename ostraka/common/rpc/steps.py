"""Messages of a computation by two roles: a header, then chunks of at most 1 MiB."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.received import Allowance
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.protos.ostraka.v1.common_pb2 import Chunk

CHUNK_BYTES = 1 << 20

M = TypeVar("M")


def split(data: bytes, size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """Yield `data` in chunks of `size` bytes, the last one possibly shorter."""
    view = memoryview(data)
    for start in range(0, len(data), size):
        yield Chunk(data=bytes(view[start : start + size]))


def join(chunks: Iterable[bytes], *, expected: int, sha256: bytes) -> bytes:
    """Join chunks, and stop reading as soon as there are too many bytes.

    Args:
        chunks: their data, as they arrive.
        expected: the total number of bytes.
        sha256: the digest that they must have.

    Raises:
        OstrakaError: message.too_large for more bytes; message.invalid for fewer, or another digest.
    """
    data = bytearray()
    for chunk in chunks:
        if len(data) + len(chunk) > expected:
            raise OstrakaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"More than the announced {expected} bytes came; send exactly what the header announces.",
            )
        # Appended at once: a list of chunks of one byte each would take forty times their memory.
        data += chunk
    if len(data) != expected:
        raise _invalid_chunks(f"{len(data)} of {expected} bytes came")
    if hashlib.sha256(data).digest() != sha256:
        raise _invalid_chunks("The bytes differ from their announced SHA-256")
    return bytes(data)


def stream_parts(kind: Callable[..., M], header: Any, parts: Iterable[bytes]) -> Iterator[M]:
    """Yield messages of a `kind` with header and chunk: the header, then each part in chunks."""
    yield kind(header=header)
    for part in parts:
        for chunk in split(part):
            yield kind(chunk=chunk)


def _invalid_chunks(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.MESSAGE_INVALID, f"{problem}; send the message again, whole.")


@dataclass(frozen=True)
class StepId:
    """The step that a message belongs to: a stage of a batch of a session."""

    session_id: str
    batch_id: int
    stage: common_pb2.Stage

    @classmethod
    def of(cls, header: common_pb2.StepHeader) -> "StepId":
        """Return the step that a header names."""
        return cls(header.session_id, header.batch_id, header.stage)

    def header(self, size: int, sha256: bytes = b"") -> common_pb2.StepHeader:
        """Return the header of a message of `size` bytes; replies have no digest."""
        return common_pb2.StepHeader(
            session_id=self.session_id, batch_id=self.batch_id, stage=self.stage, bytes=size, sha256=sha256
        )


def request_messages(step: StepId, *parts: bytes) -> Iterator[common_pb2.Step]:
    """Yield the stream that carries `parts`, concatenated, to a server, with the digest of all."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return stream_parts(common_pb2.Step, step.header(sum(map(len, parts)), digest.digest()), parts)


def reply_messages(step: StepId, size: int, parts: Iterable[bytes]) -> Iterator[common_pb2.Step]:
    """Yield the stream that carries `size` bytes back, sent part by part as they are made."""
    return stream_parts(common_pb2.Step, step.header(size), parts)


def read_header(messages: Iterator[Any]) -> Any:
    """Return the header at the beginning of a stream; raise `message.invalid` if it is missing."""
    first = next(messages, None)
    if first is None or first.WhichOneof("part") != "header":
        raise _invalid("A stream begins with its header")
    return first.header


def read_request(header: common_pb2.StepHeader, messages: Iterator[common_pb2.Step], *, most: int) -> bytes:
    """Return the content of a client's stream after its header.

    Raises `message.too_large` for more than `most` bytes, announced or sent, and `message.invalid` if the
    bytes differ from what the header announces.
    """
    if header.bytes > most:
        raise OstrakaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The step announces {header.bytes} bytes where it has at most {most}; send this batch's own.",
        )
    return join((message.chunk.data for message in messages), expected=header.bytes, sha256=header.sha256)


def read_reply(messages: Iterator[common_pb2.Step], step: StepId, size: int) -> Iterator[bytes]:
    """Yield the content of a server's stream, as it arrives.

    Raises `message.invalid` for another step's reply, or for fewer than `size` bytes, and `message.too_large`
    for more.
    """
    header = read_header(messages)
    if StepId.of(header) != step or header.bytes != size:
        raise _invalid(f"The reply announces {header.bytes} bytes, not the {size} of this step")
    allowed = Allowance(size)
    for message in messages:
        allowed.take(len(message.chunk.data))
        yield message.chunk.data
    if allowed.left:
        raise _invalid(f"{size - allowed.left} of the {size} bytes of this step came")


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.MESSAGE_INVALID, f"{problem}; use the same version everywhere.")
