"""Delivery of a share to the guardian, plain or encrypted: sent until it is accepted, or finally refused."""

from typing import Protocol

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.voting.submission import GuardianShare

FINAL = frozenset(
    {
        ErrorCode.BATCH_ALTERED,
        ErrorCode.BATCH_DEAD,
        ErrorCode.BATCH_FROZEN,
        ErrorCode.SESSION_ENDED,
        ErrorCode.SESSION_UNKNOWN,
    }
)
"""Final refusals of a share by the guardian: of such a batch, only its end is kept. After other permanent
refusals, such as of an expired certificate, the guardian may accept the same share once the party's operator
has fixed the cause."""


class Submitter(Protocol):
    """Receives the guardian's shares."""

    def submit(self, share: GuardianShare) -> None:
        """Return when the guardian has acknowledged the share; raise otherwise."""


class Delivery:
    """One share, dropped once the guardian has given a final answer; not thread-safe."""

    def __init__(self, share: GuardianShare) -> None:
        """Take the share."""
        self._share: GuardianShare | None = share
        self._refused: tuple[ErrorCode, str] | None = None

    @property
    def delivered(self) -> bool:
        """Whether the guardian has accepted the share."""
        return self._share is None and self._refused is None

    def finish(self, guardian: Submitter) -> None:
        """Return once the guardian has the share, even if it refused it before.

        Raises the refusal. After a code of `FINAL`, nothing is sent again, and the same error is raised.
        """
        if self._refused is None and self._share is not None:
            try:
                guardian.submit(self._share)
            except OstrakaError as exc:
                if exc.code not in FINAL:
                    raise
                self._refused = exc.code, exc.message
            self._share = None
        if self._refused is not None:
            raise OstrakaError(*self._refused)
