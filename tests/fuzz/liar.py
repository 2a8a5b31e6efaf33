"""A server with a genuine certificate that sends whatever answers it is told to."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import grpc

from ostraka.common.identity import Credentials
from tests.fuzz.lying import Lie

THREADS = 8
MOST_BYTES = 64 << 20
"""Number of bytes after which an endless stream ends anyway: no client should read that many."""
MOST_MESSAGES = 5_000


class Liar(grpc.GenericRpcHandler):
    """Serves every path, with raw bytes over TLS.

    Attributes:
        answers: answers to the next calls, by path; other paths get no reply.
        sent: number of bytes in the last stream of replies.
    """

    def __init__(self) -> None:
        """Start without answers."""
        self.answers: Mapping[str, Lie] = {}
        self.sent = 0
        self.exhausted = False

    @contextmanager
    def serving(self, credentials: Credentials) -> Iterator[str]:
        """Serve with a certificate within the block, at the address that is yielded."""
        pool = ThreadPoolExecutor(THREADS)
        options = [("grpc.so_reuseport", 0), ("grpc.max_send_message_length", -1)]
        server = grpc.server(pool, handlers=[self], options=options)
        own = [(credentials.tls_key_pem, credentials.tls_cert_pem)]
        tls = grpc.ssl_server_credentials(own, credentials.ca_pem, require_client_auth=True)
        port = server.add_secure_port("127.0.0.1:0", tls)
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(None).wait()
            pool.shutdown()

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Return the handler that answers a call."""
        lie = self.answers.get(handler_call_details.method, Lie())

        def answer(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
            yield from self._told(lie, requests, context)

        return grpc.stream_stream_rpc_method_handler(answer)

    def _told(self, lie: Lie, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        self.sent, self.exhausted = 0, False
        if lie.reads:
            with suppress(grpc.RpcError):
                for _ in requests:
                    pass
        if lie.late_s:
            _wait(context, lie.late_s)
        for number, message in enumerate(self._messages(lie)):
            if self.sent > MOST_BYTES or number > MOST_MESSAGES:
                self.exhausted = True
                return
            if not context.is_active():
                return
            self.sent += len(message)
            yield message
        context.set_trailing_metadata(lie.trailers)
        context.set_code(lie.status)
        context.set_details(lie.said)

    def _messages(self, lie: Lie) -> Iterator[bytes]:
        return itertools.chain(lie.messages, itertools.repeat(lie.endlessly) if lie.endlessly else ())


def _wait(context: Any, seconds: float) -> None:
    """Wait for this long, or until the caller gives up."""
    over = threading.Event()
    if context.add_callback(over.set):
        over.wait(seconds)
