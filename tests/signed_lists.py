"""Signed grants and tickets for tests: whole, or as shown to one party."""

from ostraka.common.errors import ErrorCode
from ostraka.common.plan.signed_lists import SignedEntries, with_all, with_own
from ostraka.protos.ostraka.v1 import common_pb2


def grant_of(sent: common_pb2.SignedList) -> common_pb2.Grant:
    """Return a whole grant."""
    return with_all(sent, common_pb2.Grant.FromString(sent.signed.payload), ErrorCode.GRANT_INVALID)


def ticket_of(sent: common_pb2.SignedList) -> common_pb2.Ticket:
    """Return a whole ticket."""
    return with_all(sent, common_pb2.Ticket.FromString(sent.signed.payload), ErrorCode.TICKET_INVALID)


def own_ticket(sent: common_pb2.SignedEntry) -> common_pb2.Ticket:
    """Return a ticket with the one schedule that came with it."""
    return with_own(sent, common_pb2.Ticket.FromString(sent.signed.payload), ErrorCode.TICKET_INVALID)


def shown(sent: common_pb2.SignedList, place: int = 0) -> common_pb2.SignedEntry:
    """Return the entry at a place of a signed list, with its path."""
    places = map(str, range(len(sent.entries)))
    return SignedEntries(sent, places).of(str(place))
