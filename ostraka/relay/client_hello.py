"""The server name in a TLS ClientHello (RFC 8446, 4.1.2; RFC 6066, 3), read without taking part in TLS."""

RECORD_HEAD = 5
"""Bytes of a record before its content: type, version and length."""
HANDSHAKE_HEAD = 4
"""Bytes of a handshake message before its body: type and length."""
MAX_HELLO_BYTES = 16_384
"""Of a ClientHello with its records: gRPC's have 500 bytes, and 2,000 with post-quantum keys."""
HANDSHAKE = 22
"""The type of records that carry handshake messages."""
CLIENT_HELLO = 1
"""The type of the handshake message that a client sends first."""
SERVER_NAME = 0
"""The type of the extension that names the server."""
HOST_NAME = 0
"""The type of the one kind of name that there is."""


class NotTlsError(ValueError):
    """What came is no ClientHello, or too long for one."""


def count_needed_bytes(data: bytes) -> int:
    """Return how many bytes of a connection must be there before more can be said; 0 for a whole ClientHello.

    Raises:
        NotTlsError: for what no ClientHello begins like.
    """
    body, needed = _join_records(data)
    if len(body) >= HANDSHAKE_HEAD:
        if body[0] != CLIENT_HELLO:
            raise NotTlsError
        length = HANDSHAKE_HEAD + int.from_bytes(body[1:HANDSHAKE_HEAD])
        if length > MAX_HELLO_BYTES:
            raise NotTlsError
        if len(body) >= length:
            return 0
    if needed > MAX_HELLO_BYTES:
        raise NotTlsError
    return needed


def server_name(data: bytes) -> str:
    """Return the host name that a whole ClientHello asks for, in lower case; "" where it names none.

    Raises:
        NotTlsError: where lengths in it contradict each other.
    """
    body, _ = _join_records(data)
    reader = _Reader(body[HANDSHAKE_HEAD : HANDSHAKE_HEAD + int.from_bytes(body[1:HANDSHAKE_HEAD])])
    reader.take(2 + 32)  # legacy version and random
    reader.take(reader.number(1))  # legacy session id
    reader.take(reader.number(2))  # cipher suites
    reader.take(reader.number(1))  # compression methods
    if not reader.left:
        return ""
    extensions = _Reader(reader.take(reader.number(2)))
    while extensions.left:
        kind = extensions.number(2)
        value = extensions.take(extensions.number(2))
        if kind == SERVER_NAME:
            return _host_name(value)
    return ""


def _host_name(value: bytes) -> str:
    names = _Reader(value)
    names = _Reader(names.take(names.number(2)))
    if names.number(1) != HOST_NAME:
        raise NotTlsError
    try:
        return names.take(names.number(2)).decode("ascii").lower()
    except UnicodeDecodeError as error:
        raise NotTlsError from error


def _join_records(data: bytes) -> tuple[bytes, int]:
    """Return the handshake bytes of all whole records, and where the first that is not whole will end."""
    body = bytearray()
    at = 0
    while at + RECORD_HEAD <= len(data):
        length = int.from_bytes(data[at + 3 : at + RECORD_HEAD])
        # An empty record would have a hello of any number of records wait without end.
        if data[at] != HANDSHAKE or data[at + 1] != 3 or not 0 < length <= MAX_HELLO_BYTES:
            raise NotTlsError
        if at + RECORD_HEAD + length > len(data):
            return bytes(body), at + RECORD_HEAD + length
        body += data[at + RECORD_HEAD : at + RECORD_HEAD + length]
        at += RECORD_HEAD + length
    if data and data[0] != HANDSHAKE:
        raise NotTlsError
    return bytes(body), at + RECORD_HEAD


class _Reader:
    """Takes bytes from the front; raises NotTlsError where there are too few."""

    def __init__(self, data: bytes) -> None:
        self.left = data

    def take(self, count: int) -> bytes:
        if count > len(self.left):
            raise NotTlsError
        taken = self.left[:count]
        self.left = self.left[count:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))
