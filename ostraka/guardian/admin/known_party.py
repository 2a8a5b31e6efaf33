"""Whether the guardian knows a party that an administrator names."""

from pathlib import Path

from ostraka.common.validation import did_you_mean
from ostraka.guardian.admin.client import admin_call
from ostraka.protos.ostraka.v1 import admin_pb2


def unknown_party(site: Path, party: str) -> str:
    """Return what is wrong with the name `party`; "" where the guardian knows one of that name.

    Raises what the guardian refuses, and `server.unreachable`.
    """
    request = admin_pb2.ListPartiesRequest()
    known = admin_call(site, lambda stub: [info.site for info in stub.ListParties(request)])
    if party in known:
        return ""
    names = f"It knows {', '.join(known)}" if known else "None has registered or was added"
    return f"The guardian knows no party {party}{did_you_mean(party, known)}. {names}."
