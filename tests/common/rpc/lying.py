"""Servers that answer every call as a test says, whatever the call is."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc

from ostraka.common.identity import Credentials


class Liar(grpc.GenericRpcHandler):
    """Answers with `replies`, or with a method's in `answers`; holds the call open afterwards if `waits`."""

    def __init__(self) -> None:
        """Answer with nothing, and end calls."""
        self.replies: Sequence[bytes] = ()
        self.answers: dict[str, Sequence[bytes]] = {}
        self.waits = False
        self.asked: list[str] = []
        self.sent = 0

    def service(self, details: Any) -> Any:
        """Answer any call."""
        self.asked.append(details.method)
        replies = self.answers.get(details.method, self.replies)

        def answer(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
            ended = threading.Event()
            context.add_callback(ended.set)
            for reply in replies:
                yield reply
                self.sent += 1
            if self.waits:
                ended.wait()

        return grpc.stream_stream_rpc_method_handler(answer)


@contextmanager
def lying(liar: Liar, credentials: Credentials | None = None) -> Iterator[str]:
    """Serve `liar` on loopback, with mTLS if there are credentials, and yield its address."""
    with ThreadPoolExecutor(8) as pool:
        server = grpc.server(pool)
        server.add_generic_rpc_handlers((liar,))
        if credentials is None:
            port = server.add_insecure_port("127.0.0.1:0")
        else:
            pair = (credentials.tls_key_pem, credentials.tls_cert_pem)
            tls = grpc.ssl_server_credentials([pair], credentials.ca_pem, require_client_auth=True)
            port = server.add_secure_port("127.0.0.1:0", tls)
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(None).wait()
