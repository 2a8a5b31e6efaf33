"""A share on its way to the guardian, plain or encrypted: sent until it is taken, or refused for good."""

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
"""What the guardian refuses a share with for good: nothing of such a batch is kept but that it is over. After
other refusals that are never retried, such as of an expired certificate, it may take the same share once the
party's operator has mended their reason."""


class Submitter(Protocol):
    """Where the guardian's shares go."""

    def submit(self, share: GuardianShare) -> None:
        """Return when the guardian has acknowledged the share; raise otherwise."""


class Delivery:
    """One share, forgotten once the guardian has answered for good; not for several threads at once."""

    def __init__(self, share: GuardianShare) -> None:
        """Take the share."""
        self._share: GuardianShare | None = share
        self._refused: tuple[ErrorCode, str] | None = None

    @property
    def delivered(self) -> bool:
        """Whether the guardian has taken the share."""
        return self._share is None and self._refused is None

    def finish(self, guardian: Submitter) -> None:
        """Return once the guardian has the share, which it may have refused before.

        Raises what it is refused with. A code of `FINAL` is raised from then on, and nothing is sent again.
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
