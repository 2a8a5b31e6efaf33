"""Metrics and trace attributes of calls: which are counted, their sizes, and the ids that they concern."""

import re
from typing import Any

from google.protobuf.message import DecodeError, Message

from ostraka.protos.ostraka.v1 import common_pb2

PACKAGE = "/ostraka.v1."
UNTOLD = frozenset({"Guardian/BeginTally", "Guardian/GarbleTally", "Guardian/CompareTally"})
"""Steps of a blind tally, not measured: their number, size and duration reveal how many queries passed."""
SIZED = frozenset(
    f"Guardian/{method}"
    for method in (
        *("Register", "Reconcile", "Plan", "OpenSession", "OpenBatch", "Prepare"),
        *("SubmitBallots", "SubmitBallotsWhole", "OpenCheck", "ReleasedUpdate", "CloseSession"),
    )
) | {f"Party/{method}" for method in ("Vote", "Begin", "Garble", "Evaluate", "Compare")}
"""Calls whose replies have a size given by the plan. The size of other replies may reveal the answer."""
_ID = re.compile(r"[0-9A-Za-z_.-]{1,64}")


def metric_name(method: str) -> str | None:
    """Return `Service/Method` of a full method name, or None for a call that is not measured."""
    name = method.removeprefix(PACKAGE)
    return None if name == method or name in UNTOLD else name


def ids_of(message: Any) -> dict[str, Any]:
    """Return the session and batch that a request names; empty if it names none.

    Nothing has been checked at this point, so an invalid id is left out.
    """
    if not isinstance(message, Message):
        return {}
    fields = message.DESCRIPTOR.fields_by_name
    if "session_id" in fields:
        return _ids(message)
    if "header" in fields and message.HasField("header"):
        return ids_of(getattr(message, "header"))  # noqa: B009 - generated stubs know no such field here
    if "ticket" in fields and message.HasField("ticket"):
        return _of_ticket(getattr(message, "ticket"))  # noqa: B009
    return {}


def _of_ticket(sent: Any) -> dict[str, Any]:
    try:
        return _ids(common_pb2.Ticket.FromString(sent.signed.payload))
    except (AttributeError, DecodeError):
        return {}


def _ids(message: Any) -> dict[str, Any]:
    session = message.session_id
    batch = getattr(message, "batch_id", 0)
    if not _ID.fullmatch(session):
        return {}
    return {"session": session, "batch": batch} if batch else {"session": session}
