"""Remembers the server of each call, so that a failure can be explained."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import grpc

from ostraka.common.identity import Credentials, Identity

_TARGETS: "WeakKeyDictionary[Any, Target]" = WeakKeyDictionary()


@dataclass(frozen=True)
class Target:
    """The server of a call, and the identity of the caller.

    Attributes:
        address: host:port.
        expected: the identity that must be there.
        credentials: the caller's; None without TLS.
    """

    address: str
    expected: Identity
    credentials: Credentials | None


def target_of(call: grpc.RpcError) -> Target | None:
    """Return the target of a failed call; None for a channel that `open_channel` did not open."""
    return _TARGETS.get(call)


class _Details(NamedTuple):
    method: str
    timeout: float | None
    metadata: Any
    credentials: grpc.CallCredentials | None
    wait_for_ready: bool | None
    compression: grpc.Compression | None


class _CallDetails(_Details, grpc.ClientCallDetails):
    """gRPC's call details with metadata of our own."""


def with_metadata(details: Any, more: tuple[tuple[str, str], ...]) -> Any:
    """Return details of a call, with more metadata."""
    if not more:
        return details
    return _CallDetails(
        details.method,
        details.timeout,
        (*(details.metadata or ()), *more),
        details.credentials,
        details.wait_for_ready,
        details.compression,
    )


class Watcher(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Notes the target of every call, and adds metadata to it."""

    def __init__(self, target: Target, metadata: tuple[tuple[str, str], ...]) -> None:
        self._target = target
        self._metadata = metadata

    def _call(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        call = continuation(with_metadata(details, self._metadata), request)
        _TARGETS[call] = self._target
        return call

    intercept_unary_unary: Any = _call
    intercept_unary_stream: Any = _call
    intercept_stream_unary: Any = _call
    intercept_stream_stream: Any = _call
