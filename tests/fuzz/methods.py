"""The calls that a server reports, and who may make them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from ostraka.common.identity import Role
from ostraka.guardian.admin.admin_service import ROLES as ADMIN_ROLES
from ostraka.guardian.serving.service import ROLES as GUARDIAN_ROLES
from ostraka.services.serving.server import ROLES as PARTY_ROLES
from ostraka.services.training.training_server import ROLES as TRAINING_ROLES

PACKAGE = "ostraka.v1."
OPEN = ("ostraka.v1.Site", "grpc.")
"""Services that every member may call."""
TABLES = {**GUARDIAN_ROLES, **ADMIN_ROLES, **PARTY_ROLES, **TRAINING_ROLES}
AT_MOST = {
    "ostraka.v1.Admin": {Role.ADMIN},
    "ostraka.v1.Guardian": {Role.QUERY, Role.PARTY},
    "ostraka.v1.Party": {Role.QUERY},
    "ostraka.v1.Training": {Role.PARTY},
}
"""Roles that the protocol allows for each service, whatever the servers' own tables say."""


@dataclass(frozen=True)
class Method:
    """One call of one server.

    Attributes:
        server: the server's name.
        path: /package.Service/Method.
        request: its message.
        streams: whether it takes a stream; `replies` whether it answers with one.
        roles: who may call it.
    """

    server: str
    path: str
    request: type[Message]
    streams: bool
    replies: bool
    roles: frozenset[Role]

    @property
    def own(self) -> bool:
        """Whether it is a call of Ostraka's, which is refused only with a stable code."""
        return self.path.startswith(f"/{PACKAGE}")


def methods_of(server: str, channel: grpc.Channel) -> list[Method]:
    """Return every call that a server reports by reflection, sorted by name."""
    known = descriptor_pool.Default()
    found = []
    for name in sorted(ProtoReflectionDescriptorDatabase(channel).get_services()):
        for method in known.FindServiceByName(name).methods:
            path = f"/{name}/{method.name}"
            request = GetMessageClass(method.input_type)
            streams = method.client_streaming, method.server_streaming
            found.append(Method(server, path, request, *streams, _roles(name, path)))
    return found


def _roles(service: str, path: str) -> frozenset[Role]:
    if service.startswith(OPEN):
        return frozenset(Role)
    return frozenset(TABLES.get(path, frozenset()) & AT_MOST.get(service, set()))


@dataclass(frozen=True)
class Answered:
    """A call and its answer.

    Attributes:
        path: /package.Service/Method.
        request: its message type; `reply` is that of its answer.
        streams: whether there may be several replies.
    """

    path: str
    request: type[Message]
    reply: type[Message]
    streams: bool


@cache
def answered_by(path: str) -> Answered:
    """Return the protocol's definition of a path."""
    _, service, name = path.split("/")
    method = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    request, reply = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
    return Answered(path, request, reply, method.server_streaming)
