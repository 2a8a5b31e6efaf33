"""Calls of which a caller needs one at a time: a later one ends the one before it."""

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

import grpc


class LatestCalls:
    """The call under way of each kind; safe to use from many threads.

    Of calls that buffer what their caller sends, the last one alone goes on reading.
    """

    def __init__(self) -> None:
        """No call is under way."""
        self._lock = threading.Lock()
        self._calls: dict[Hashable, grpc.ServicerContext] = {}

    @contextmanager
    def only(self, context: grpc.ServicerContext, *kind: Hashable) -> Iterator[None]:
        """Within the block this call is the one of its kind; an earlier one is cancelled."""
        with self._lock:
            earlier = self._calls.get(kind)
            self._calls[kind] = context
        if earlier is not None:
            earlier.cancel()
        try:
            yield
        finally:
            with self._lock:
                if self._calls.get(kind) is context:
                    del self._calls[kind]
