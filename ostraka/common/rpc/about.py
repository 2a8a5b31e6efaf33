"""Build and protocol information that every server gives members of its federation."""

from importlib.metadata import version

import grpc

from ostraka.common.clock import Clock
from ostraka.common.identity import Credentials
from ostraka.common.wire.contexts import PROTOCOL_VERSION
from ostraka.protos.ostraka.v1 import site_pb2, site_pb2_grpc

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
