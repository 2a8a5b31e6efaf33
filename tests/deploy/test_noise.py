"""A federation whose parties draw the noise: answers, charges, and what the guardian's ledger keeps."""

from pathlib import Path

import pytest

from ostraka.client.run.labelling import LabellingRun, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.run_state import load_state
from ostraka.common.mechanism import DistributedGnMax, GnMax
from ostraka.common.plan.choices import BALLOTS, TALLY
from ostraka.common.privacy import epsilon
from ostraka.guardian.admin.client import admin_call
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.deploy.whole import PARTIES, QUERIES, build


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("tally", "ballots"), [("aggregate", None), ("blind", None), ("blind", "unverified")]
)
def test_every_party_is_charged_all_its_noisy_counts(
    tmp_path: Path, tally: TALLY, ballots: BALLOTS | None
) -> None:
    """Ballots are verified where nobody says that they are not."""
    noised = DistributedGnMax(sigma=4.0, honest=1)
    asked = GnMax(sigma=4.0)
    options = PlanOptions(
        mechanism=asked, noise="parties", quorum=2, queries=QUERIES, tally=tally, ballots=ballots
    )
    whole = build(tmp_path)
    with whole.guardian(), whole.parties():
        pool = tmp_path / "pool.npz"
        result = label(whole.folder("q"), pool, options, tmp_path / "run", run=LabellingRun())
        every = admin_pb2.ListBudgetsRequest()
        budgets = admin_call(whole.folder("ops"), lambda stub: list(stub.ListBudgets(every)))
    assert (result.asked, result.answered, result.ballots) == (QUERIES, QUERIES, ballots or "verified")
    assert load_state(tmp_path / "run").parse_plan().mechanism == noised
    assert len(budgets) == len(PARTIES)
    for budget in budgets:
        cost = noised.worst_case(budget.order, classes=10).answer
        spent = epsilon(QUERIES * cost, budget.order, budget.delta)
        assert budget.epsilon_worst_case == pytest.approx(spent, rel=1e-6)
