"""A mechanism by its row: the example's two files as ones of Ostraka, registered, asked for, and audited."""

import pytest

from tests.contributing.conftest import Copy
from tests.contributing.tree import ROOT, Tree

EXAMPLE = ROOT / "examples" / "noisy_max"
PROTO = "ostraka/protos/ostraka/v1/common.proto"
MECHANISMS, RULES = "ostraka/common/mechanism/__init__.py", "ostraka/guardian/mechanisms/__init__.py"
PUBLIC = """\
from ostraka.common.mechanism.mechanism import Draw, Mechanism, Votes
from ostraka.common.privacy import WorstCase, pure_rdp
from ostraka.common.sharing.ballots import ClassCounts
"""
RELEASING = """\
from ostraka.common.mechanism import NoisyMax
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.rule import Answers, Rule, Sums
from ostraka.guardian.noise import NoiseSource
"""
OUTCOMES = """\
        case NoisyMax(scale=scale):
            return _answered(1.0, argmax(_histogram(votes, case), stats.laplace(scale=scale)))
"""
MESSAGE = """\
// Release the class with the most votes after Laplace noise of scale votes.
message NoisyMax {
  double scale = 1;
}

"""
ROW = "| `noisy_max` | | a class | pure 2/scale-DP |\n"
CASE = '    Case("noisy_max", NoisyMax(scale=2.0), 3, voted([6, 5, 0])),\n'
LABELLED = """
import sys
from pathlib import Path
from ostraka.client.session.run_state import load_state
from ostraka.common.mechanism.arguments import make_mechanism
from ostraka.common.mechanism.message import mechanism_message, mechanism_of
from ostraka.common.privacy import epsilon
from ostraka.guardian.admin.client import admin_call
from ostraka.mechanisms import NoisyMax
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.deploy.whole import PARTIES, QUERIES, build

root = Path(sys.argv[1])
asked = make_mechanism("noisy_max", scale=2.0)
message = mechanism_message(asked)
assert message.WhichOneof("kind") == "noisy_max" and mechanism_of(message) == asked == NoisyMax(scale=2.0)
whole = build(root)
with whole.guardian(), whole.parties():
    result = whole.label(root / "run", mechanism=asked)
    every = admin_pb2.ListBudgetsRequest()
    budgets = admin_call(whole.folder("ops"), lambda stub: list(stub.ListBudgets(every)))
assert (result.asked, result.answered) == (QUERIES, QUERIES), result
assert load_state(root / "run").parse_plan().mechanism == asked
assert len(budgets) == len(PARTIES)
for budget in budgets:
    cost = asked.worst_case(budget.order, classes=10).answer
    spent = epsilon(QUERIES * cost, budget.order, budget.delta)
    assert abs(budget.epsilon_worst_case - spent) <= 1e-6 * spent, (budget, spent)
"""


def file_of(name: str, imports: str) -> str:
    """Return a file of the example that imports what a file of Ostraka may."""
    lines = (EXAMPLE / name).read_text(encoding="utf-8").splitlines(keepends=True)
    used = [line for line in lines if line.startswith(("from ostraka", "from noisy_max"))]
    text = "".join(lines).replace("".join(used[-1:]), imports)
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("from noisy_max"))


@pytest.fixture(scope="module")
def added(copy: Copy) -> Tree:
    tree = copy("a mechanism")
    tree.write("ostraka/common/mechanism/noisy_max.py", file_of("noisy_max.py", PUBLIC))
    tree.write("ostraka/guardian/mechanisms/noisy_max.py", file_of("noisy_max_rule.py", RELEASING))
    tree.insert(
        MECHANISMS,
        "from ostraka.common.mechanism.powerset ",
        "from ostraka.common.mechanism.noisy_max import NoisyMax\n",
    )
    tree.insert(MECHANISMS, '    "PerLabel",\n', '    "NoisyMax",\n')
    tree.insert(MECHANISMS, "    *(Ttac, DpTtac),\n", "    *(NoisyMax,),\n")
    tree.insert(RULES, "    Powerset,\n", "    NoisyMax,\n")
    tree.insert(
        RULES,
        "from ostraka.guardian.mechanisms.powerset ",
        "from ostraka.guardian.mechanisms.noisy_max import NoisyMaxRule\n",
    )
    tree.insert(RULES, "register(RandRes, ", "register(NoisyMax, NoisyMaxRule())\n")
    tree.insert(PROTO, "// How a histogram becomes an answer;", MESSAGE)
    tree.insert(PROTO, "    Statistics statistics = 19;\n", "    NoisyMax noisy_max = 100;\n")
    tree.python("-m", "ostraka.deploy.protos")
    tree.insert("ostraka/mechanisms.py", "    PerVote,\n", "    NoisyMax,\n")
    tree.insert("ostraka/mechanisms.py", '    "NoiseSource",\n', '    "NoisyMax",\n')
    tree.python("-m", "tests.ostraka.surface")
    tree.insert("docs/mechanisms.md", "| `rand_res_labels` |", ROW)
    tree.insert("tests/privacy/cases.py", "    NoiseCluster,\n", "    NoisyMax,\n")
    tree.insert("tests/privacy/cases.py", '    Case("lnmax", ', CASE)
    tree.insert("tests/privacy/probabilities.py", "    NoiseCluster,\n", "    NoisyMax,\n")
    tree.insert("tests/privacy/probabilities.py", "        case Powerset():\n", OUTCOMES)
    return tree


@pytest.mark.heavy
def test_a_federation_labels_by_it_and_is_charged_its_worst_case(added: Tree) -> None:
    (added.root / "federation").mkdir()
    added.python("-c", LABELLED, str(added.root / "federation"))


@pytest.mark.heavy
def test_what_holds_for_all_mechanisms_holds_for_it(added: Tree) -> None:
    added.check(
        *("-m", "", "-k", "every_mechanism or noisy_max or test_protos or test_it_is_what"),
        *("tests/privacy/test_audit.py", "tests/test_protos.py", "tests/ostraka/test_surface.py"),
    )
