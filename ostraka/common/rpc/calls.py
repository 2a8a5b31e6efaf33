"""Calls under way, cut where their certificate is revoked, or a later one takes their place."""

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
"""Seconds after which calls under way are held against the list again."""


class Calls:
    """Every call under way on a server, by the certificate it came with.

    A thread holds them against the revocation list for as long as there are any.
    """

    def __init__(self, revocations: Revocations, clock: Clock, *, cut_every_s: float = CUT_EVERY_S) -> None:
        """Take which certificates are revoked, and the clock by which they expire.

        Calls under way are held against the list every `cut_every_s` seconds.
        """
        self._revocations = revocations
        self._clock = clock
        self._cut_every_s = cut_every_s
        # Guards `_under_way` and `_watched` together: a call that comes as the thread ends starts another.
        self._lock = threading.Lock()
        self._under_way: dict[x509.Certificate, set[grpc.ServicerContext]] = defaultdict(set)
        self._watched = False

    def admit(self, context: grpc.ServicerContext) -> None:
        """Raise identity.revoked or identity.expired; any other's call counts as under way until it ends.

        TLS looked at the certificate when the connection began, which may be long ago. A call is counted
        first and checked then: whichever list comes into force in between, one of the two finds it. One that
        is refused is not counted, so that its caller is told why and not cut off. Callers without TLS have no
        certificate.
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
        """Cancel every call of a certificate that is revoked by now."""
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
        """Whether calls are under way; where not, the next one starts another thread."""
        with self._lock:
            self._watched = bool(self._under_way)
            return self._watched


def peer_certificate(context: grpc.ServicerContext) -> x509.Certificate | None:
    """Return the certificate of a caller, which TLS verified; None without TLS."""
    pem = read_peer(context).certificate
    return None if pem is None else _parsed(pem)


_parsed: Callable[[bytes], x509.Certificate] = lru_cache(KNOWN_CERTIFICATES)(x509.load_pem_x509_certificate)


class LatestCalls:
    """The call under way of each kind; safe to use from many threads.

    Of calls that buffer what their caller sends, the last one alone goes on reading.
    """

    def __init__(self) -> None:
        # Guards `_calls`, for a moment: an earlier call is cancelled after it.
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
