"""Sends calls as any member, or without a certificate, and checks the results."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import grpc

from ostraka.common.errors import ErrorCode
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.rpc.status import from_call
from tests.fuzz.altering import Call

DEADLINE_S = 30.0
LARGEST = 4 << 20
"""Maximum message size in bytes: gRPC itself refuses larger ones."""
NEVER_HONEST = frozenset({ErrorCode.INTERNAL, ErrorCode.SERVER_TIMEOUT, ErrorCode.SERVER_UNREACHABLE})
"""Refusals that no honest member may get, whatever is sent at the same time."""
FEW_REPLIES = 1
"""Number of replies read of a stream that is not Ostraka's: one of them never ends."""


@dataclass(frozen=True)
class Server:
    """A server under test: its address, and its expected identity."""

    address: str
    identity: Identity


@dataclass(frozen=True)
class Outcome:
    """How a call ended: its status, the stable code of a refusal ("" for none), and the message."""

    status: grpc.StatusCode
    reason: str = ""
    said: str = ""


class Callers:
    """Channels of every member to every server."""

    def __init__(
        self, servers: Mapping[str, Server], members: Mapping[str, Credentials | None], ca_pem: bytes
    ) -> None:
        """Take servers and members by name; None has no certificate. Leaving the context closes the
        channels."""
        self.members = members
        self._channels = {
            (name, server): _channel(credentials, ca_pem, servers[server])
            for name, credentials in members.items()
            for server in servers
        }
        self._ca_pem = ca_pem

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close every channel."""
        for channel in self._channels.values():
            channel.close()

    def channel(self, member: str, server: str) -> grpc.Channel:
        """Return a member's channel to a server."""
        return self._channels[member, server]

    def genuine(self, member: str) -> bool:
        """Whether a member has a certificate of the federation."""
        credentials = self.members[member]
        return credentials is not None and credentials.ca_pem == self._ca_pem

    def may(self, call: Call) -> bool:
        """Whether the sender's role may make this call at all."""
        credentials = self.members[call.sender]
        return (
            credentials is not None
            and self.genuine(call.sender)
            and Role(credentials.identity.role) in call.method.roles
        )

    def send(self, call: Call) -> Outcome:
        """Make a call, and wait for its result.

        A stream of one message looks the same on the wire as a unary call, and is simpler to send.
        """
        method = call.method
        channel: Any = self._channels[call.sender, method.server]
        try:
            if call.ending == "cancelled":
                _cancel(channel, call)
            elif len(call.messages) != 1:
                replies = channel.stream_stream(method.path)(iter(call.messages), timeout=DEADLINE_S)
                _read(replies, call)
            elif method.replies:
                _read(channel.unary_stream(method.path)(call.messages[0], timeout=DEADLINE_S), call)
            else:
                channel.unary_unary(method.path)(call.messages[0], timeout=DEADLINE_S)
        except grpc.RpcError as error:
            return outcome_of(error)
        return Outcome(grpc.StatusCode.OK)

    def problem(self, call: Call, outcome: Outcome) -> str | None:
        """Return what is wrong with how a call ended, or None."""
        status, said = outcome.status, f"{outcome.status.name} {outcome.reason} {outcome.said[:200]}".strip()
        if status is grpc.StatusCode.OK:
            return None if self.may(call) else f"{call.sender} may not call this, and it succeeded"
        if status is grpc.StatusCode.CANCELLED and call.ending == "cancelled":
            return None
        if not self.genuine(call.sender):
            return None if status is grpc.StatusCode.UNAVAILABLE else f"{call.sender} was answered: {said}"
        if status is grpc.StatusCode.RESOURCE_EXHAUSTED and max(map(len, call.messages), default=0) > LARGEST:
            return None
        needs_code = call.method.own or status is grpc.StatusCode.UNAVAILABLE
        return said if status in _NEVER or (needs_code and not _stable(outcome)) else None


def outcome_of(error: Any) -> Outcome:
    """Return how a failed call ended."""
    refusal = from_call(error)
    return Outcome(error.code(), "" if refusal is None else str(refusal.code), error.details() or "")


_NEVER = frozenset(
    {
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
    }
)
"""Statuses that no call of a member ends with unless the member cancelled it."""


def _stable(outcome: Outcome) -> bool:
    return outcome.reason in set(ErrorCode) - {ErrorCode.INTERNAL}


def _channel(credentials: Credentials | None, ca_pem: bytes, server: Server) -> grpc.Channel:
    """Open a channel that adds nothing but TLS; the server must be the federation's."""
    own = () if credentials is None else (credentials.tls_key_pem, credentials.tls_cert_pem)
    options = [
        ("grpc.ssl_target_name_override", server.identity.server_name),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.max_send_message_length", -1),
    ]
    return grpc.secure_channel(server.address, grpc.ssl_channel_credentials(ca_pem, *own), options=options)


def _read(replies: Any, call: Call) -> None:
    for number, _ in enumerate(replies, 1):
        if number == FEW_REPLIES and not call.method.own:
            replies.cancel()
            return


def _cancel(channel: Any, call: Call) -> None:
    """Send the messages, and cancel instead of ending the stream."""
    sent, over = threading.Event(), threading.Event()

    def requests() -> Iterator[bytes]:
        yield from call.messages
        sent.set()
        over.wait(DEADLINE_S)

    replies = channel.stream_stream(call.method.path)(requests(), timeout=DEADLINE_S)
    if not replies.add_callback(sent.set):
        sent.set()
    try:
        sent.wait(DEADLINE_S)
        replies.cancel()
        for _ in replies:
            pass
    finally:
        over.set()
