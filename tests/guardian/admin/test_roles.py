"""Administrators alone may call the admin service."""

from typing import Any

import grpc
import pytest
from google.protobuf import message_factory

from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.rpc import call_error, open_channel
from ostraka.guardian.admin.admin_service import ROLES, AdminService
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.federation import FEDERATION, Calls, Federation

METHODS = admin_pb2.DESCRIPTOR.services_by_name["Admin"].methods


def code(credentials: Credentials, address: str, name: str) -> str:
    """Return the code with which a call with an empty request ends; empty where it is answered."""
    method = next(method for method in METHODS if method.name == name)
    reply = message_factory.GetMessageClass(method.output_type)
    request = message_factory.GetMessageClass(method.input_type)()
    path = f"/{method.containing_service.full_name}/{name}"
    with open_channel(credentials, address, Identity(FEDERATION, "guardian", Role.GUARDIAN)) as channel:
        shape = channel.unary_stream if method.server_streaming else channel.unary_unary
        call = shape(
            path, request_serializer=type(request).SerializeToString, response_deserializer=reply.FromString
        )
        try:
            result: Any = call(request)
            if method.server_streaming:
                list(result)
        except grpc.RpcError as exc:
            return str(call_error(exc).code)
    return ""


@pytest.mark.heavy
def test_nobody_else_may_call_anything(guardian: Calls, federation: Federation) -> None:
    others = [("a", Role.PARTY), ("q", Role.QUERY), ("guardian", Role.GUARDIAN)]
    for method in METHODS:
        for member in others:
            found = code(federation.credentials[member], guardian.address, method.name)
            assert found == "identity.wrong_role", (method.name, member)


def test_every_method_answers_administrators_or_names_what_is_missing(
    guardian: Calls, federation: Federation
) -> None:
    admin = federation.credentials["ops", Role.ADMIN]
    for method in METHODS:
        found = code(admin, guardian.address, method.name)
        assert found in {"", "message.invalid", "agreement.invalid", "consent.unknown"}, method.name


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_is_served(method: object) -> None:
    name = getattr(method, "name", "")
    assert f"/ostraka.v1.Admin/{name}" in ROLES
    assert getattr(AdminService, name).__module__.startswith("ostraka.guardian.admin.")
