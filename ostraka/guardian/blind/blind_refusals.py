"""Errors of blind tallies."""

from ostraka.common.errors import ErrorCode, OstrakaError


def out_of_order(step: str) -> OstrakaError:
    """Return the error for a step that comes before the one it needs."""
    return OstrakaError(
        ErrorCode.BATCH_OUT_OF_ORDER,
        f"{step} comes first in a blind tally; send it, then this again.",
    )
