"""`ostraka guardian publish-epsilon`: what a unit has spent under theorem6, with noise."""

from ostraka.common.console.cli import write_json
from ostraka.guardian.admin.plain import plain
from ostraka.guardian.commands.output import say
from ostraka.protos.ostraka.v1 import admin_pb2


def show_published(reply: admin_pb2.PublishEpsilonReply, json: str | None) -> None:
    """Write what was published, for whom, and what it cost; the JSON has the signed statement, too."""
    write_json(plain(reply), json)
    found = reply.published
    own = ", ".join(f"{unit.party}/{unit.group} ({unit.adjacency})" for unit in found.units if unit.own)
    paid = ", ".join(f"{unit.party}/{unit.group} {unit.rdp:.4f}" for unit in found.units)
    charged = "Published before; nothing was charged now" if reply.again else f"Charged, in rdp: {paid}"
    say(
        f"{own}: epsilon {found.epsilon:.3g} at delta {found.delta:g} (theorem6, one direction, with noise;"
        f" {found.epsilon_worst_case:.3g} at worst), over {found.batches} batches. {charged}.",
        json,
    )
