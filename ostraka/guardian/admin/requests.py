"""Checks of administrators' requests, each before anything acts on it."""

import math

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import check_name
from ostraka.common.privacy import ORDERS
from ostraka.common.privacy.filters import FILTERS, GAUSSIAN, filter_name
from ostraka.common.wire.limits import MAX_LENGTH
from ostraka.guardian.ledger import UnitKey
from ostraka.guardian.policy import MIN_DELTA, MIN_EPSILON

MAX_GROUP_CHARS = 64
"""Twice the limit for a group in a manifest: every unit of a ledger can be named, and nothing unbounded is
stored."""
MAX_SESSION_CHARS = 64
"""Twice the length of the guardian's own ids, which have 32 hexadecimal digits."""


def unit_key(party: str, group: str, adjacency: str) -> UnitKey:
    """Return the unit with this name; raises `message.invalid`."""
    if adjacency not in {"record", "label"}:
        raise invalid('The adjacency must be "record" or "label"')
    if not 0 < len(group) <= MAX_GROUP_CHARS or not group.isprintable():
        raise invalid(f"A group's name must have 1 to {MAX_GROUP_CHARS} printable characters")
    return UnitKey(party_name(party), group, adjacency)


def party_name(name: str) -> str:
    """Check and return a party's site name; raises `message.invalid`."""
    try:
        return check_name(name)
    except OstrakaError as exc:
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, f"The party's name is invalid: {exc.message}") from exc


def reason(text: str) -> str:
    """Return an administrator's reason for an action, which is kept for good; raises `message.invalid`."""
    stripped = text.strip()
    if not 0 < len(stripped) <= MAX_LENGTH or not stripped.isprintable():
        raise invalid(f"A reason must be one line of 1 to {MAX_LENGTH} characters")
    return stripped


def optional_reason(text: str) -> str:
    """Check and return a reason as `reason` does, or none; raises `message.invalid`."""
    return reason(text) if text.strip() else ""


def session_id(text: str) -> str:
    """Check and return a session's id; raises `message.invalid`."""
    if not 0 < len(text) <= MAX_SESSION_CHARS or not text.isprintable():
        raise invalid("The session id is missing or invalid")
    return text


def order(value: float, named: str) -> float | None:
    """Return the order that encodes a filter of this name; None if the guardian is to propose one.

    Raises `message.invalid` for an unknown filter, and for an order that the filter does not have.
    """
    if named and named not in FILTERS:
        raise invalid(f"The filter must be {' or '.join(FILTERS)}")
    if named == filter_name(GAUSSIAN):
        if value:
            raise invalid("A Gaussian filter has no order: name one of them")
        return GAUSSIAN
    if value and not ORDERS[0] <= value <= ORDERS[-1]:
        raise invalid(f"The order must lie between {ORDERS[0]} and {ORDERS[-1]:g}")
    return value or None


def delta(value: float) -> float | None:
    """Return a delta; None if the policy's delta applies; raises `message.invalid`."""
    if value and not MIN_DELTA <= value < 1:
        raise invalid(f"The delta must lie between {MIN_DELTA:g} and 1")
    return value or None


def epsilon(value: float) -> float:
    """Check and return an epsilon; raises `message.invalid`."""
    if not MIN_EPSILON <= value < math.inf:
        raise invalid(f"The epsilon must be a finite number of {MIN_EPSILON:g} or more")
    return value


def invalid(problem: str) -> OstrakaError:
    """Return the error for a request that cannot be acted on."""
    return OstrakaError(ErrorCode.MESSAGE_INVALID, f"{problem}; correct the request.")
