"""`ostraka guardian revoke`: a newer revocation list of the federation's CA comes into force."""

from ostraka.common.console.cli import write_json
from ostraka.guardian.admin.exports import plain
from ostraka.guardian.commands.options_and_output import say
from ostraka.protos.ostraka.v1 import admin_pb2


def show(reply: admin_pb2.RevokeReply, json: str | None) -> None:
    """Write which list is in force."""
    write_json(plain(reply), json)
    say(
        f"Revocation list {reply.number} is in force at the guardian, with {reply.revoked} certificates;"
        " parties fetch it within 30 seconds.",
        json,
    )
