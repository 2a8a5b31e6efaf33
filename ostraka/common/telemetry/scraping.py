"""The HTTP server that Prometheus scrapes, within limits: it has no certificates, so anybody may connect."""

import socket
import threading
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

MAX_SCRAPES = 16
"""Maximum number of scrapes at a time, each with a thread; a connection beyond it is closed. Prometheus makes
one, and silent connections must not take the files and threads of the process that also serves calls."""
SCRAPE_S = 5.0
"""Seconds that a connection may be silent."""


def start_scraping(host: str, port: int, registry: CollectorRegistry) -> tuple[WSGIServer, threading.Thread]:
    """Serve the metrics of `registry` in a thread of their own; return both. Raises OSError."""
    server = _ScrapeServer(host, port)
    server.set_app(make_wsgi_app(registry))
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    return server, thread


class _SilentHandler(WSGIRequestHandler):
    """Answers one request, and logs nothing."""

    timeout = SCRAPE_S

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _ScrapeServer(ThreadingMixIn, WSGIServer):
    """Answers each request in a thread, at most `MAX_SCRAPES` at a time."""

    daemon_threads = True

    def __init__(self, host: str, port: int) -> None:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = family
        self._places = threading.BoundedSemaphore(MAX_SCRAPES)
        super().__init__((str(address[0]), port), _SilentHandler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread was started, which would give the place back
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that broke off or stayed silent."""
