"""Replay guard: each step is answered for one content only."""

import threading
from hashlib import sha256

from ostraka.common.errors import ErrorCode, OstrakaError


class Once:
    """Lets the first content through, as often as it comes, and refuses every other; safe among threads.

    A second message in the place of one that was answered could tell a peer both labels of a wire.
    """

    def __init__(self, what: str) -> None:
        """Name the message, for the refusal."""
        self._what = what
        self._digest: bytes | None = None
        self._lock = threading.Lock()

    def admit(self, *content: bytes) -> None:
        """Remember this content by its digest; raises `crypto.refused` where another was admitted before."""
        digest = b"".join(sha256(part).digest() for part in content)
        with self._lock:
            if self._digest is None:
                self._digest = digest
            if self._digest != digest:
                raise OstrakaError(
                    ErrorCode.CRYPTO_REFUSED,
                    f"Another {self._what} came after one was taken: send the same, or begin a new batch.",
                )
