"""`ostraka guardian policy`: the rules that the guardian applies to every session."""

from ostraka.common.console.cli import write_json
from ostraka.common.console.commands import CommandGroup
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.admin.exports import plain
from ostraka.guardian.commands.operation_commands import add_operations
from ostraka.guardian.commands.options_and_output import Json, Site, say
from ostraka.protos.ostraka.v1 import admin_pb2

app = CommandGroup("Show, check and apply the federation's policy.")


@app.command()
def show(site: Site, json: Json = None) -> None:
    """Show the policy in force."""
    reply = admin_call(site, lambda stub: stub.ShowPolicy(admin_pb2.ShowPolicyRequest()))
    write_json(plain(reply), json)
    said = "".join(f"# {line}\n" for line in (_source(reply), reply.allows) if line)
    say(f"{said}{reply.toml}", json)


def _tell(reply: admin_pb2.PolicyReply, json: str | None) -> None:
    write_json(plain(reply), json)
    for line in reply.changes or ["Nothing changes."]:
        say(line, json)
    say(f"In force: {_source(reply)}. {reply.allows}".rstrip(), json)


add_operations(app, "policy", _tell)


def _source(reply: admin_pb2.PolicyReply) -> str:
    return f"policy {reply.version}" if reply.version else "the policy of the guardian's site.toml"
