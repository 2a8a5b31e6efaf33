"""Calls to a server with several replicas, of which one at a time holds a session."""

import threading
from collections import deque
from collections.abc import Callable
from typing import TypeVar

import grpc

from ostraka.common.config import split_addresses
from ostraka.common.errors import ErrorCode
from ostraka.common.rpc.retry import is_transient
from ostraka.common.rpc.status import from_call

HOPS = 3
"""How often one call is sent on at most."""
REMEMBERED = 1000
"""Sessions whose replica is remembered at most; the oldest is forgotten first."""

T = TypeVar("T")


class Replicas:
    """Channels to the replicas of one server; follows `session.elsewhere` and remembers where a session is.

    Safe to call from many threads.
    """

    def __init__(self, connect: Callable[[str], grpc.Channel], homes: str) -> None:
        """Take how to open a channel to an address (host:port), and where to begin, separated by commas.

        `connect` must expect the same identity wherever it connects to; its first channel is opened now.

        Raises:
            OstrakaError: config.invalid for a home that is not an address.
        """
        self._connect = connect
        self._homes = deque(split_addresses(homes))
        # Guards the two maps and the order of `_homes`; no call is made under it.
        self._lock = threading.Lock()
        self._channels = {self._homes[0]: connect(self._homes[0])}
        self._places: dict[str, str] = {}

    @property
    def homes(self) -> int:
        """In how many places a call may begin."""
        return len(self._homes)

    def call(self, make: Callable[[grpc.Channel], T], session: str = "") -> T:
        """Make a call of `session` where its replica is; `make` starts it afresh on the channel it is given.

        A replica that cannot be reached is forgotten: the next call begins at home, or at the next home.

        Raises:
            grpc.RpcError: the call's own; that of `session.elsewhere` after too many replicas.
        """
        address = self._begin(session)
        hops = 0
        while True:
            try:
                result = make(self._channel(address))
            except grpc.RpcError as error:
                if is_transient(error):
                    self._forget(session, address)
                further = _elsewhere(error)
                if not further or hops == HOPS:
                    raise
                address = further
                hops += 1
            else:
                self._remember(session, address)
                return result

    def close(self) -> None:
        """Close every channel, which ends calls that are under way."""
        with self._lock:
            for channel in self._channels.values():
                channel.close()

    def _channel(self, address: str) -> grpc.Channel:
        with self._lock:
            if address not in self._channels:
                self._channels[address] = self._connect(address)
            return self._channels[address]

    def _begin(self, session: str) -> str:
        with self._lock:
            return self._places.get(session, self._homes[0])

    def _remember(self, session: str, address: str) -> None:
        with self._lock:
            self._places.pop(session, None)
            if address != self._homes[0]:
                self._places[session] = address
            if len(self._places) > REMEMBERED:
                del self._places[next(iter(self._places))]

    def _forget(self, session: str, away: str) -> None:
        with self._lock:
            self._places.pop(session, None)
            if away == self._homes[0]:
                self._homes.rotate(-1)


def _elsewhere(error: grpc.RpcError) -> str:
    """Where the server says that the session is; empty where it says something else."""
    told = from_call(error) if isinstance(error, grpc.Call) else None
    if told is None or told.code is not ErrorCode.SESSION_ELSEWHERE:
        return ""
    return told.details.get("address", "")
