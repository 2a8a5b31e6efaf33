"""Client of the guardian's admin service; it uses a site folder's certificate and refuses odd answers."""

import random
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ostraka.protos.ostraka.v1.admin_pb2_grpc import AdminStub
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.validation import did_you_mean
from ostraka.protos.ostraka.v1 import admin_pb2

BASE_S = 0.1

Reply = TypeVar("Reply")


def admin_call(folder: Path, call: Callable[["AdminStub"], Reply]) -> Reply:
    """Return the reply of one admin call over mTLS, from the first guardian replica that is reachable.

    `call` reads all replies of a stream before it returns.

    Raises:
        OstrakaError: the guardian's refusal, or why it could not be reached.
    """
    import grpc

    from ostraka.common.config import load_site, require_role
    from ostraka.common.identity import Credentials, Identity, Role
    from ostraka.common.rpc import call_error, open_channel, with_retries
    from ostraka.common.rpc.redirect import Replicas
    from ostraka.protos.ostraka.v1.admin_pb2_grpc import AdminStub

    require_role(folder, "admin")
    site = load_site(folder)
    credentials = Credentials.of(site)
    expected = Identity(site.federation, site.guardian_site, Role.GUARDIAN)
    replicas = Replicas(lambda address: open_channel(credentials, address, expected), site.guardian)
    with closing(replicas):
        try:
            return with_retries(
                lambda: replicas.call(lambda channel: call(AdminStub(channel))),
                attempts=replicas.homes,
                base_s=BASE_S,
                sleep=time.sleep,
                rng=random.Random(),  # noqa: S311
            )
        except grpc.RpcError as exc:
            raise call_error(exc) from exc


def odd(what: str) -> OstrakaError:
    """Return the error for an answer that cannot be shown; `what` continues after "The guardian"."""
    return OstrakaError(
        ErrorCode.MESSAGE_INVALID, f"The guardian {what}: use the same version of Ostraka everywhere."
    )


def unknown_party(site: Path, party: str) -> str:
    """Return what is wrong with the name `party`; "" if the guardian knows it.

    Raises the guardian's refusal, and `server.unreachable`.
    """
    request = admin_pb2.ListPartiesRequest()
    known = admin_call(site, lambda stub: [info.site for info in stub.ListParties(request)])
    if party in known:
        return ""
    names = f"It knows {', '.join(known)}" if known else "No party has registered or was added"
    return f"The guardian knows no party {party}{did_you_mean(party, known)}. {names}."
