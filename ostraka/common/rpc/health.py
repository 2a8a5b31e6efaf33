"""What every server answers at once under any load: its health, its build and its protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2

from ostraka.common.clock import Clock
from ostraka.common.identity import Credentials
from ostraka.common.rpc.handlers import Handler, behaviour_of
from ostraka.common.wire.contexts import PROTOCOL_VERSION
from ostraka.protos.ostraka.v1 import site_pb2, site_pb2_grpc

PROMPT = frozenset({"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/List", "/ostraka.v1.Site/About"})
"""Calls that are answered on threads of their own, so that no other call delays them."""


class Prompt(grpc.ServerInterceptor):
    """First interceptor of a server, which answers health calls on threads of their own."""

    def __init__(self, threads: int) -> None:
        """Take the maximum number of threads; they are created as needed."""
        self._threads = ThreadPoolExecutor(threads)

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Handler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Set the threads for the call's handler."""
        handler = continuation(handler_call_details)
        if handler is not None and handler_call_details.method in PROMPT:
            # Other interceptors wrapped the handler only for this method of this server, so it may be
            # changed.
            setattr(behaviour_of(handler), "experimental_thread_pool", self._threads)  # noqa: B010
        return handler


class Health(health.HealthServicer):
    """Health service that reports "serving" until `turn` changes it."""

    def __init__(self, services: Iterable[str]) -> None:
        """Take the names of the services; "" stands for the whole server."""
        super().__init__()
        self._names = ("", *sorted(services))
        for name in self._names:
            self.set(name, health_pb2.HealthCheckResponse.SERVING)

    def turn(self, *, serving: bool) -> None:
        """Set whether every service is being served; a server that is about to stop serves none."""
        response = health_pb2.HealthCheckResponse
        for name in self._names:
            self.set(name, response.SERVING if serving else response.NOT_SERVING)

    def List(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Return the state of every service."""
        asked = {name: health_pb2.HealthCheckRequest(service=name) for name in self._names}
        states = {name: self.Check(one, context) for name, one in asked.items()}
        return health_pb2.HealthListResponse(statuses=states)  # type: ignore[attr-defined, unused-ignore]


ABOUT_SERVICE = site_pb2.DESCRIPTOR.services_by_name["Site"].full_name


class About(site_pb2_grpc.SiteServicer):
    """Answers with version, clock, and the state of certificates and revocation list."""

    def __init__(self, credentials: Credentials | None, clock: Clock) -> None:
        """Take the server's own credentials, None without TLS, and its clock."""
        self._credentials = credentials
        self._clock = clock

    def About(  # noqa: N802
        self, request: site_pb2.AboutRequest, context: grpc.ServicerContext
    ) -> site_pb2.AboutReply:
        """Return what is public about this server."""
        reply = site_pb2.AboutReply(
            version=version("ostraka"), protocol=str(PROTOCOL_VERSION), time_unix_ms=self._now_ms()
        )
        if self._credentials is not None:
            reply.revocations = self._credentials.revocations.number
            reply.expires_unix_s = int(self._credentials.expires_unix_s)
        return reply

    def _now_ms(self) -> int:
        return int(self._clock.now() * 1000)
