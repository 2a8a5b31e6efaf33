"""Ongoing calls, which end when their certificate is revoked or a later call replaces them."""

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import lru_cache

import grpc
import structlog
from cryptography import x509

from ostraka.common.clock import Clock
from ostraka.common.errors import OstrakaError
from ostraka.common.identity.certificates import KNOWN_CERTIFICATES, check_not_expired
from ostraka.common.identity.identity import identity_of
from ostraka.common.identity.revocation import Revocations
from ostraka.common.rpc.peers import peer_identity, read_peer

CUT_EVERY_S = 2.0
"""Interval in seconds at which ongoing calls are checked against the revocation list."""


class Calls:
    """Every ongoing call of a server, by its certificate.

    A thread checks them against the revocation list as long as there are any.
    """

    def __init__(self, revocations: Revocations, clock: Clock, *, cut_every_s: float = CUT_EVERY_S) -> None:
        """Take the revocation list, and the clock for the expiry of certificates.

        Ongoing calls are checked against the list every `cut_every_s` seconds.
        """
        self._revocations = revocations
        self._clock = clock
        self._cut_every_s = cut_every_s
        # Guards `_under_way` and `_watched` together: a call that comes as the thread ends starts another
        # thread.
        self._lock = threading.Lock()
        self._under_way: dict[x509.Certificate, set[grpc.ServicerContext]] = defaultdict(set)
        self._watched = False

    def admit(self, context: grpc.ServicerContext) -> None:
        """Raise identity.revoked or identity.expired; any other call is counted as ongoing until it ends.

        TLS checked the certificate when the connection began, which may be long ago. A call is counted before
        it is checked, so that a list that comes into force in between is noticed by one of the two. A refused
        call is not counted, so that its caller gets the reason instead of being cut off. Callers without TLS
        have no certificate.
        """
        certificate = peer_certificate(context)
        if certificate is None:
            return
        self._begin(certificate, context)
        if not context.add_callback(lambda: self._end(certificate, context)):
            self._end(certificate, context)
        whose = f"The certificate of {peer_identity(context).uri}"
        try:
            self._revocations.check(certificate, whose)
            check_not_expired(certificate, self._clock, whose=whose)
        except OstrakaError:
            self._end(certificate, context)
            raise

    def cut(self) -> None:
        """Cancel every call whose certificate is now revoked."""
        with self._lock:
            cut = {
                certificate: tuple(contexts)
                for certificate, contexts in self._under_way.items()
                if contexts and self._revocations.revokes(certificate)
            }
        for certificate, contexts in cut.items():
            peer = identity_of(certificate).uri
            structlog.get_logger().warning("rpc.cut", peer=peer, calls=len(contexts))
            for context in contexts:
                context.cancel()

    def _begin(self, certificate: x509.Certificate, context: grpc.ServicerContext) -> None:
        with self._lock:
            self._under_way[certificate].add(context)
            if not self._watched:
                self._watched = True
                threading.Thread(target=self._watch, name="revocations", daemon=True).start()

    def _end(self, certificate: x509.Certificate, context: grpc.ServicerContext) -> None:
        with self._lock:
            self._under_way[certificate].discard(context)
            if not self._under_way[certificate]:
                del self._under_way[certificate]

    def _watch(self) -> None:
        tick = threading.Event()
        while self._is_busy():
            tick.wait(self._cut_every_s)
            self.cut()

    def _is_busy(self) -> bool:
        """Whether there are ongoing calls; if not, the next call starts another thread."""
        with self._lock:
            self._watched = bool(self._under_way)
            return self._watched


def peer_certificate(context: grpc.ServicerContext) -> x509.Certificate | None:
    """Return a caller's certificate, which TLS verified; None without TLS."""
    pem = read_peer(context).certificate
    return None if pem is None else _parsed(pem)


_parsed: Callable[[bytes], x509.Certificate] = lru_cache(KNOWN_CERTIFICATES)(x509.load_pem_x509_certificate)


class LatestCalls:
    """The current call of each kind; safe to use from many threads.

    Of calls that buffer what their caller sends, only the last one continues to read.
    """

    def __init__(self) -> None:
        # Guards `_calls`, briefly: an earlier call is cancelled outside the lock.
        self._lock = threading.Lock()
        self._calls: dict[Hashable, grpc.ServicerContext] = {}

    @contextmanager
    def only(self, context: grpc.ServicerContext, *kind: Hashable) -> Iterator[None]:
        """Make this call the only one of its kind within the block; cancel an earlier one."""
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
