"""A WebSocket (RFC 6455) of either end: for control messages, or as one side of a splice."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

from ostraka.common.errors import ErrorCode, OstrakaError, printable
from ostraka.common.relay.splice import Side

MAX_FRAME_BYTES = 262_144
"""Maximum size of a frame: asyncio reads at most this at once, and a frame contains one read."""
CLOSE_S = 2.0
"""Time limit for the closing handshakes of a WebSocket and of its TLS."""
MAX_TEXTS = 256
"""Maximum number of unread control messages; an end that sends more is cut off."""
MAX_UNREAD_BYTES = MAX_FRAME_BYTES
"""Maximum size of all unread control messages: as much as an end may send of anything else before a join.
Nobody reads messages on a connection that waits for its other side."""
MAX_BACKLOG_BYTES = 1_048_576
"""Maximum size of what an end has not taken yet; it is cut off beyond. A splice stops reading long before,
but nothing else stops an end that reads nothing and asks for answers: by pings, or by refused calls."""
EOF = "eof"
"""The text on a spliced connection by which an end says that it sends no more."""


class WebSocket(Side):
    """A WebSocket over a connection, with or without TLS.

    Attributes:
        opened: the result of opening. For a client it is None after the upgrade, for a server the request.
            Fails with relay.upgrade_refused or relay.unreachable.
    """

    def __init__(self, protocol: ClientProtocol | ServerProtocol) -> None:
        super().__init__()
        self.opened: asyncio.Future[Request | None] = asyncio.get_running_loop().create_future()
        self._protocol = protocol
        self._texts = asyncio.Queue[str | None](MAX_TEXTS)
        self._unread_bytes = 0
        self._seen = self._now()

    @classmethod
    def client(cls, host: str, port: int, path: str) -> "WebSocket":
        """Return a client WebSocket that requests `path` once its connection is made."""
        shown = f"[{host}]" if ":" in host else host
        uri = parse_uri(f"wss://{shown}:{port}{path}")
        return cls(ClientProtocol(uri, max_size=MAX_FRAME_BYTES))

    @classmethod
    def server(cls) -> "WebSocket":
        """Return a server WebSocket that waits for a request, which its owner accepts or rejects."""
        return cls(ServerProtocol(max_size=MAX_FRAME_BYTES))

    @property
    def silent_s(self) -> float:
        """Seconds since the last data arrived."""
        return self._now() - self._seen

    def accept(self, request: Request) -> None:
        """Answer a request with the upgrade, or with what is wrong about it."""
        assert isinstance(self._protocol, ServerProtocol)  # noqa: S101
        self._respond(self._protocol.accept(request))

    def reject(self, status: HTTPStatus, text: str) -> None:
        """Answer a request with a refusal, and close."""
        assert isinstance(self._protocol, ServerProtocol)  # noqa: S101
        self._respond(self._protocol.reject(status, f"{text}\n"))

    def send_text(self, text: str) -> None:
        """Send a control message; do nothing if the connection is closing."""
        self._write(lambda: self._protocol.send_text(text.encode()))

    async def receive_text(self) -> str:
        """Return the next control message; raise `relay.unreachable` once the connection is closed."""
        text = await self._texts.get()
        if text is None:
            self._texts.put_nowait(None)
            raise _closure()
        self._unread_bytes -= len(text)
        return text

    def ping(self) -> None:
        """Ask the other end for a sign of life."""
        self._write(lambda: self._protocol.send_ping(b""))

    def send(self, data: bytes) -> None:
        """Send data as one frame."""
        self._write(lambda: self._protocol.send_binary(data))

    def send_eof(self) -> None:
        """Say by a text that no more data follow."""
        self.send_text(EOF)

    def close(self) -> None:
        """Send a close frame and close; the backlog is sent first."""
        self._write(self._protocol.send_close)
        super().close()

    async def aclose(self) -> None:
        """Send a close frame, and close when the other end did so, too, or takes too long."""
        self.close()
        try:
            await asyncio.wait([self.ended], timeout=CLOSE_S)
        finally:
            self.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport; as a client, request the upgrade."""
        super().connection_made(transport)
        if isinstance(self._protocol, ClientProtocol):
            self._protocol.send_request(self._protocol.connect())
            self._flush()

    def data_received(self, data: bytes) -> None:
        """Parse what was received; pass on data frames, keep texts."""
        self._seen = self._now()
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            self._take(event)
        self._flush()

    def eof_received(self) -> bool:
        """Return False, so that the connection closes: this end sent no close frame."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """End both sides, and everybody who waits for a text."""
        if not self.opened.done():
            self.opened.set_exception(_closure())
            self.opened.exception()  # no warning if nobody waits any more
        self._end_texts()
        super().connection_lost(exc)

    def _pass_early(self) -> None:
        self._read_all = not self._texts.empty()
        super()._pass_early()

    def _take(self, event: Request | Response | Frame) -> None:
        if isinstance(event, Request):
            self._open(event)
        elif isinstance(event, Response):
            self._open(
                None if event.status_code == HTTPStatus.SWITCHING_PROTOCOLS else _explain_refusal(event)
            )
        elif event.opcode in (Opcode.BINARY, Opcode.CONT):
            self._take_data(bytes(event.data))
        elif event.opcode is Opcode.TEXT:
            self._take_text(bytes(event.data).decode("utf-8", "replace"))

    def _open(self, result: Request | OstrakaError | None) -> None:
        if self.opened.done():
            self.abort()
        elif isinstance(result, OstrakaError):
            self.opened.set_exception(result)
        else:
            self.opened.set_result(result)

    def _take_data(self, data: bytes) -> None:
        if self._read_all:
            self.abort()  # it said that no more follows, and the other side was told so
        else:
            self._pass(data)

    def _take_text(self, text: str) -> None:
        if self._other is not None:
            self._pass_eof()
        elif self._texts.full() or self._unread_bytes + len(text) > MAX_UNREAD_BYTES:
            self.abort()
        else:
            self._unread_bytes += len(text)
            self._texts.put_nowait(text)

    def _end_texts(self) -> None:
        while self._texts.full():
            self._texts.get_nowait()
        self._texts.put_nowait(None)

    def _respond(self, response: Response) -> None:
        assert isinstance(self._protocol, ServerProtocol)  # noqa: S101
        if self._transport is None or self._transport.is_closing():
            return  # what followed the request was invalid, and ended the connection
        self._protocol.send_response(response)
        self._flush()

    def _write(self, make: Callable[[], None]) -> None:
        if self._protocol.state is State.OPEN:
            make()
            self._flush()

    def _flush(self) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        for data in self._protocol.data_to_send():
            if data:
                transport.write(data)
            else:
                # The protocol has ended its sending; over TLS a connection ends as a whole.
                transport.close()
        if transport.get_write_buffer_size() > MAX_BACKLOG_BYTES:
            self.abort()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def _explain_refusal(response: Response) -> OstrakaError:
    status = printable(f"{response.status_code} {response.reason_phrase}"[:100])
    advice = "have the proxy or firewall allow WebSockets (HTTP Upgrade) to the relay's host"
    if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        # The status of an inspecting proxy that gets no TLS with the relay.
        advice = (
            "a proxy that inspects cannot reach the relay, or does not trust it: have the relay show a"
            " certificate of a public CA (`certificate` in its table [relay]), or its host exempted"
        )
    return OstrakaError(
        ErrorCode.RELAY_UPGRADE_REFUSED,
        f"A device between this site and the relay answers {status} and does not let a WebSocket through; "
        f"{advice}.",
        status=str(response.status_code),
    )


def _closure() -> OstrakaError:
    return OstrakaError(
        ErrorCode.RELAY_UNREACHABLE, "The connection to the relay broke off; it is tried again."
    )
