"""Calls the guardian's admin service with the certificate of a site folder."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import grpc

from common.config import load_site
from common.identity import Credentials, Identity, Role
from common.rpc import call_error, open_channel
from protos.ostraka.v1 import admin_pb2_grpc

Reply = TypeVar("Reply")


def admin_call(folder: Path, call: Callable[[admin_pb2_grpc.AdminStub], Reply]) -> Reply:
    """The reply of one admin call over mTLS.

    Raises:
        OstrakaError: what the guardian refused with, or why it could not be reached.
    """
    site = load_site(folder)
    expected = Identity(site.federation, site.guardian_site, Role.GUARDIAN)
    with open_channel(Credentials.load(folder), site.guardian, expected) as channel:
        try:
            return call(admin_pb2_grpc.AdminStub(channel))
        except grpc.RpcError as exc:
            raise call_error(exc) from exc
