"""Answers of a guardian that no guardian of this version gives, as administrators are told of them."""

from ostraka.common.errors import ErrorCode, OstrakaError


def odd(what: str) -> OstrakaError:
    """Return the error for an answer that cannot be shown; `what` goes on after "The guardian"."""
    return OstrakaError(
        ErrorCode.MESSAGE_INVALID, f"The guardian {what}: use the same version of Ostraka everywhere."
    )
