"""Votes on encrypted queries: this side has the keys and one share of every ballot."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.event_loop import run_async
from ostraka.client.session.asking import ask_all, unreachable
from ostraka.client.session.batch import Granted, Peers, Queries, Ticketed
from ostraka.client.session.encrypted_exchange import Exchange, PartyCircuits
from ostraka.client.session.meter import Meter
from ostraka.client.session.stragglers import Patience, Waiting
from ostraka.client.session.votes import CollectedShares, collect
from ostraka.common.crypto.inference import QueryKeys, scheme_of
from ostraka.common.crypto.logits import Head
from ostraka.common.errors import OstrakaError
from ostraka.common.sharing.ring import RingArray
from ostraka.common.telemetry.context import carrying


class Encryption:
    """Encryption keys, made on first use; they exist in memory only, as long as this object."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._keys: dict[Head, QueryKeys] = {}
        # Guards `_keys`: threads that encrypt for the same kind of head share its keys.
        self._lock = threading.Lock()

    def keys(self, head: Head) -> QueryKeys:
        """Return the keys for heads of one kind."""
        with self._lock:
            if head not in self._keys:
                self._keys[head] = scheme_of(head).keys()
            return self._keys[head]

    def encrypt(self, head: Head, features: NDArray[np.float32]) -> bytes:
        """Encrypt features (n, columns) to the message for every party with such a head."""
        keys = self.keys(head)
        with self._meter.measure("none", "encrypt"):
            message = keys.encrypt(features)
        self._meter.advance("encrypt")
        return message

    def begin(self, heads: Iterable[Head]) -> list[Head]:
        """Return the distinct kinds of heads, and start the progress bar of their encryption."""
        kinds = sorted(set(heads))
        self._meter.begin("encrypt", len(kinds))
        return kinds


LIMIT_BYTES = 2**30
"""Maximum size of garbled tables in memory at once; a party with larger tables is asked alone."""


class MemoryLimit:
    """A memory budget in bytes that threads share."""

    def __init__(self, size: int = LIMIT_BYTES) -> None:
        self._size = self._free = size
        self._changed = threading.Condition()

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        """Wait until `size` bytes, or at most all, are free; reserve them while the block runs."""
        part = min(size, self._size)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= part)
            self._free -= part
        try:
            yield
        finally:
            with self._changed:
                self._free += part
                self._changed.notify_all()


class EncryptedVoting:
    """Collects votes on encrypted batches; this object has all keys of a session."""

    def __init__(
        self,
        peers: Peers,
        session: Granted,
        meter: Meter,
        random: Callable[[int], bytes],
        memory: MemoryLimit | None = None,
    ) -> None:
        """Take an open session; `random(n)` returns n random bytes, `memory` limits garbled tables."""
        self._peers = peers
        self._session = session
        self._meter = meter
        self._random = random
        self._memory = memory or MemoryLimit()
        self._encryption = Encryption(meter)
        self._heads = {one.site: cast(Head, one.head) for one in session.grant.participants}

    def unreachable(self, sites: Iterable[str]) -> dict[str, OstrakaError]:
        """Return the errors of the `sites` that cannot be reached; Begin reconnects to the others."""
        asked = list(sites)
        voters = self._peers.voters
        failed = unreachable(voters, asked)
        run_async(ask_all(asked, lambda site: voters[site].close()))
        for site in asked:
            self._peers.parties[site].close()
        return failed

    def collect(self, ticket: Ticketed, queries: Queries) -> CollectedShares:
        """Collect this side's shares of the ballots of every party in the ticket, or the party's error.

        Queries are encrypted once for all parties with the same kind of head. Encryption is queued before any
        party is asked, so it never waits behind threads that need its result. Stragglers are cut off.
        """
        encryption = self._encryption
        pool = self._peers.pool
        kinds = encryption.begin(self._heads[site] for site in ticket.sites)
        messages = {kind: pool.submit(carrying(encryption.encrypt), kind, queries.features) for kind in kinds}
        schedules = {one.participant.site: one for one in ticket.read.schedule}
        for step in ("evaluate", "compare"):
            self._meter.begin(step, len(schedules))

        def ask(site: str) -> RingArray:
            head = self._heads[site]
            circuits = PartyCircuits(self._session.plan, ticket.read, schedules[site], self._random)
            peer = self._peers.parties[site]
            with self._memory.hold(circuits.sizes.tables):
                exchange = Exchange(site, peer, self._session, ticket, circuits, self._meter)
                return exchange.ballots(encryption.keys(head), messages[head])

        waiting = Waiting(Patience.of(ticket, self._session, self._peers.permissions.clock))
        return collect(ticket.sites, ask, pool, waiting, lambda site: self._peers.parties[site].close())
