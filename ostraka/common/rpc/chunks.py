"""Messages larger than gRPC's limit travel as chunks of at most 1 MiB."""

import hashlib
from collections.abc import Iterable, Iterator

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1.common_pb2 import Chunk

CHUNK_BYTES = 1 << 20


def split(data: bytes, size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """Yield `data` in chunks of `size` bytes, the last one possibly shorter."""
    view = memoryview(data)
    for start in range(0, len(data), size):
        yield Chunk(data=bytes(view[start : start + size]))


def join(chunks: Iterable[Chunk], *, expected: int, sha256: bytes) -> bytes:
    """Put chunks together, and stop reading as soon as there are too many bytes.

    Args:
        chunks: as they arrive.
        expected: how many bytes there must be in all.
        sha256: the digest they must have.

    Raises:
        OstrakaError: message.too_large for more bytes; message.invalid for fewer, or another digest.
    """
    data = bytearray()
    for chunk in chunks:
        if len(data) + len(chunk.data) > expected:
            raise OstrakaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"More than the announced {expected} bytes came; send exactly what the header announces.",
            )
        data += chunk.data
    if len(data) != expected:
        raise _invalid(f"{len(data)} of {expected} bytes came")
    if hashlib.sha256(data).digest() != sha256:
        raise _invalid("The bytes differ from their announced SHA-256")
    return bytes(data)


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.MESSAGE_INVALID, f"{problem}; send the message again, whole.")
