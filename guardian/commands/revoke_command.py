"""`ostraka guardian revoke`: a newer revocation list of the federation's CA comes into force."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.cli import write_json
from ostraka.guardian.admin.plain import plain
from ostraka.guardian.commands.files import read_text
from ostraka.guardian.commands.options import Json, Reason, Site
from ostraka.guardian.commands.output import say
from ostraka.protos.ostraka.v1 import admin_pb2

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="The crl.pem that `ostraka provision revoke` wrote.")
]


def revoke(site: Site, file: File, reason: Reason, json: Json = None) -> None:
    """Put the CA's revocation list into force: whoever it names is cut off, and left out of batches."""
    from ostraka.guardian.admin.client import admin_call

    request = admin_pb2.RevokeRequest(revocations=read_text(file).encode(), reason=reason)
    reply = admin_call(site, lambda stub: stub.Revoke(request))
    write_json(plain(reply), json)
    say(
        f"Revocation list {reply.number} is in force at the guardian, with {reply.revoked} certificates;"
        " parties fetch it within 30 seconds.",
        json,
    )
