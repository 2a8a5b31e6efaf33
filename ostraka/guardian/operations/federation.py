"""Operations on parties, sessions, the policy and revocation lists."""

from typing import Annotated, ClassVar
from urllib.parse import quote

import typer
from pydantic import Field

from ostraka.common.console.options import FileContent
from ostraka.guardian.operations.operation import (
    ConsoleOperation,
    Form,
    Operation,
    Preview,
    Reason,
    Stub,
    utf8,
)
from ostraka.protos.ostraka.v1 import admin_pb2

PartyName = Annotated[str, typer.Argument(metavar="PARTY", help="Site name of the party.")]
SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")]
PolicyFile = Annotated[
    str, typer.Argument(metavar="FILE", help="A policy as TOML; see docs/operator.md."), FileContent(utf8)
]
RevocationList = Annotated[
    bytes,
    typer.Argument(metavar="FILE", help="crl.pem from `ostraka provision revoke`."),
    FileContent(utf8),
]


class AddParty(Operation):
    """Allow a party to register; needed where the policy admits only added parties."""

    command = "party add"
    request = admin_pb2.SetPartyRequest(state="added")

    party: PartyName
    reason: Reason


class PartyChange(ConsoleOperation):
    """A change of a party's state, with a warning."""

    request: ClassVar[admin_pb2.SetPartyRequest]
    warning: ClassVar[str]

    party: PartyName = Field(title="Party")
    reason: Reason

    def preview(self, stub: Stub) -> Preview:
        """Return the party's state before and after."""
        (info,) = stub.ListParties(admin_pb2.ListPartiesRequest(party=self.party))
        step = ("state", info.state, self.request.state)
        return Preview(info.site, (step,), self.warning, party_page(info.site))


class SuspendParty(PartyChange):
    """Exclude a party from all batches, starting with the next one, until you resume it."""

    command = "party suspend"
    request = admin_pb2.SetPartyRequest(state="suspended")
    form = Form("suspend", "Suspend a party", "The party was suspended.")
    warning = "Nothing is asked of it from the next batch on, until it is resumed."


class ResumeParty(PartyChange):
    """Let a suspended party take part again."""

    command = "party resume"
    request = admin_pb2.SetPartyRequest(state="active")
    form = Form("resume", "Resume a party", "The party was resumed.")
    warning = "It takes part again from the next batch on."


class RemoveParty(PartyChange):
    """Remove a party permanently; the ledger keeps what it spent."""

    command = "party remove"
    request = admin_pb2.SetPartyRequest(state="removed")
    final = "Party {party} could never take part again under this name"
    form = Form("remove", "Remove a party", "The party was removed.")
    warning = "This is final: it can never take part again under this name. What it spent stays spent."


class CancelSession(ConsoleOperation):
    """Cancel a session; its unanswered batches are never released."""

    command = "session cancel"
    request = admin_pb2.CancelSessionRequest()
    form = Form("cancel", "Cancel a session", "The session was cancelled.")

    session: SessionId = Field(title="Session", serialization_alias="session_id")
    reason: Reason

    def preview(self, stub: Stub) -> Preview:
        """Return the session's state before and after."""
        found = stub.ShowSession(admin_pb2.ShowSessionRequest(session_id=self.session)).session
        return Preview(
            f"session {found.session_id} of {found.querier}",
            (("state", found.state, "ended"),),
            "Its batches without answers die, uncharged. Answers that were sent stay charged.",
            f"/session/{quote(found.session_id, safe='')}",
        )


class CheckPolicy(Operation):
    """Show what a policy would change, without putting it into force."""

    command = "policy check"
    request = admin_pb2.ApplyPolicyRequest(check_only=True)

    toml: PolicyFile


class ApplyPolicy(Operation):
    """Put a policy into force, starting with the next session and the next batch."""

    command = "policy apply"
    request = admin_pb2.ApplyPolicyRequest()

    toml: PolicyFile
    reason: Reason


class Revoke(Operation):
    """Put the CA's revocation list into force: disconnect every site on it, and exclude it from batches."""

    command = "revoke"
    request = admin_pb2.RevokeRequest()

    revocations: RevocationList
    reason: Reason


def party_page(party: str) -> str:
    """Return the path of a party's page in the console."""
    return f"/party/{quote(party, safe='')}"
