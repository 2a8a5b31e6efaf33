"""Calls to a server with several replicas, only one of which serves a session at a time."""

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
"""Maximum number of times that one call is redirected."""
REMEMBERED = 1000
"""Maximum number of sessions whose replica is remembered; the oldest is forgotten first."""

T = TypeVar("T")


class Replicas:
    """Channels to the replicas of one server; follows `session.elsewhere`, and remembers where sessions are.

    Safe to use from many threads.
    """

    def __init__(self, connect: Callable[[str], grpc.Channel], homes: str) -> None:
        """Take a function that opens a channel to an address (host:port), and the homes, separated by commas.

        `connect` must expect the same identity at every address; the first channel is opened now.

        Raises:
            OstrakaError: config.invalid for a home that is not an address.
        """
        self._connect = connect
        self._homes = deque(split_addresses(homes))
        # Guards the two maps and the order of `_homes`; no call is made while it is locked.
        self._lock = threading.Lock()
        self._channels = {self._homes[0]: connect(self._homes[0])}
        self._places: dict[str, str] = {}

    @property
    def homes(self) -> int:
        """Number of addresses at which a call may begin."""
        return len(self._homes)

    def call(self, make: Callable[[grpc.Channel], T], session: str = "") -> T:
        """Make a call of `session` at its replica; `make` starts it anew on the channel that it is given.

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
        """Close every channel, which ends ongoing calls."""
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
    """Return the address of the session according to the server; empty if its error is another one."""
    told = from_call(error) if isinstance(error, grpc.Call) else None
    if told is None or told.code is not ErrorCode.SESSION_ELSEWHERE:
        return ""
    return told.details.get("address", "")
