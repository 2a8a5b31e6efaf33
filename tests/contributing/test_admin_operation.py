"""An admin operation by its row: a command that changes a real guardian, and a form."""

import pytest

from tests.contributing.conftest import Copy
from tests.contributing.tree import Tree

COMMANDS = "ostraka/guardian/commands/party_commands.py"
PROTO = "ostraka/protos/ostraka/v1/admin.proto"
MESSAGES = """\
message SetAllPartiesRequest {
  // "suspended" or "active".
  string state = 1;
  string reason = 2;
}

message SetAllPartiesReply {
  repeated PartyInfo parties = 1 [(most) = 10000];
}

"""
METHOD = '''\
    def SetAllParties(
        self, request: admin_pb2.SetAllPartiesRequest, context: grpc.ServicerContext
    ) -> admin_pb2.SetAllPartiesReply:
        """Suspend or resume every party, from the next batch on."""
        reason = requests.reason(request.reason)
        changed = [
            self._ledger.write(parties.set_party, party.site, request.state, reason=reason)
            for party in self._ledger.read(parties.all_parties, None)
        ]
        return admin_pb2.SetAllPartiesReply(parties=[self._message(party, None) for party in changed])

'''
OPERATION = '''\
class SuspendAllParties(ConsoleOperation):
    """Keep all parties out of sessions, from the next batch on."""

    command = "party suspend-all"
    request = admin_pb2.SetAllPartiesRequest(state="suspended")
    form = Form("suspend-all", "Suspend all parties", "All parties were suspended.")

    reason: Reason

    def preview(self, stub: Stub) -> Preview:
        """Return every party's state before and after."""
        found = stub.ListParties(admin_pb2.ListPartiesRequest())
        steps = tuple((party.site, party.state, "suspended") for party in found)
        return Preview("all parties", steps, "Nothing is asked of anybody from the next batch on.", "/")


'''
USED = """
import sys
from pathlib import Path
from typer.testing import CliRunner
from ostraka.guardian.cli import app
from tests.deploy.whole import PARTIES, build

def run(*words):
    done = CliRunner().invoke(app, [*words, "--site", str(ops)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output

whole = build(Path(sys.argv[1]))
ops = whole.folder("ops")
with whole.guardian(), whole.parties():
    print(run("party", "suspend-all", "--reason", "a fire"))
    print(run("party", "list"))
    rows = run("audit", "export", str(ops / "log.jsonl"))
assert (ops / "log.jsonl").read_text().count('a fire') == len(PARTIES)
"""


@pytest.fixture(scope="module")
def added(copy: Copy) -> Tree:
    tree = copy("an admin operation")
    tree.insert(
        PROTO,
        "\n  rpc ListBudgets(",
        "  // Suspends or resumes every party, from the next batch on.\n"
        "  rpc SetAllParties(SetAllPartiesRequest) returns (SetAllPartiesReply);\n",
    )
    tree.insert(PROTO, "message ListBudgetsRequest {", MESSAGES)
    tree.python("-m", "ostraka.deploy.protos")
    tree.insert("ostraka/guardian/admin/party_admin.py", "    def _message(", METHOD)
    tree.insert("ostraka/guardian/operations/federation.py", "class ResumeParty(", OPERATION)
    tree.insert(
        "ostraka/guardian/operations/table.py",
        "    federation.ResumeParty,\n",
        "    federation.SuspendAllParties,\n",
    )
    tree.insert(
        COMMANDS,
        'add_operations(app, "party", ',
        "_BY_VERB: dict[str, Show] = {\n"
        '    "suspend-all": lambda reply, json: _show(reply.parties, json),\n'
        "}\n",
    )
    tree.replace(
        COMMANDS,
        "_show([reply.party], json))",
        "_show([reply.party], json), **_BY_VERB)",
    )
    tree.replace(COMMANDS, "import add_operations, command_of\n", "import Show, add_operations, command_of\n")
    tree.insert(
        "tests/fuzz/administrator_clients.py",
        '    "ListBudgets": (',
        '    "SetAllParties": ("party", "suspend-all", *WHY),\n',
    )
    tree.insert("docs/operator.md", "| `party add`", "| `party suspend-all --reason` | suspends all |\n")
    return tree


@pytest.mark.heavy
def test_its_command_changes_a_guardian(added: Tree) -> None:
    federation = added.root / "federation"
    federation.mkdir()
    said = added.python("-c", USED, str(federation))
    assert said.count("suspended") == 4, said


@pytest.mark.heavy
def test_what_holds_for_all_operations_holds_for_it(added: Tree) -> None:
    added.check("tests/guardian/operations/test_operations.py", "tests/test_protos.py")
