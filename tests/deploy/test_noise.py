"""A federation whose parties draw the noise: answers, charges, and what the guardian's ledger keeps."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.client.run.labelling import LabellingRun, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.run_state import load_state
from ostraka.common.datasets import load
from ostraka.common.mechanism import DistributedGnMax, GnMax
from ostraka.common.plan.choices import BALLOTS, TALLY
from ostraka.common.privacy import epsilon
from ostraka.common.sharing.ballots import VOTE, single_label
from ostraka.common.task import load_task
from ostraka.common.verified.layout import Layout
from ostraka.common.verified.prover import Prover
from ostraka.guardian.admin.client import admin_call
from ostraka.protos.ostraka.v1 import admin_pb2
from ostraka.services.teachers import Ensemble
from tests.common.noise.laws import GAUSSIAN, fits
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


@pytest.mark.heavy
def test_what_a_party_proves_is_its_votes_and_noise_of_its_law(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved = dict[str, NDArray[np.int64]]()

    class Noting(Prover):
        def __init__(
            self,
            layouts: Sequence[Layout],
            counts: Sequence[NDArray[np.int64]],
            context: bytes,
            *seeds: bytes,
        ) -> None:
            (party,) = (name for name in PARTIES if context.endswith(name.encode()))
            (proved[party],) = counts
            super().__init__(layouts, counts, context, *seeds)

    monkeypatch.setattr("ostraka.services.voting.answers.Prover", Noting)
    options = PlanOptions(
        mechanism=GnMax(sigma=4.0), noise="parties", quorum=2, queries=QUERIES, batch_size=QUERIES
    )
    whole = build(tmp_path)
    pool, run = tmp_path / "pool.npz", tmp_path / "run"
    with whole.guardian(), whole.parties():
        result = label(whole.folder("q"), pool, options, run, run=LabellingRun())
    assert (result.answered, result.ballots) == (QUERIES, "verified")
    (batch,) = load_state(run).batches
    task = load_task(whole.folder("q") / "task.toml")
    asked = task.prepare(load(pool).X[list(batch.queries)])
    added = [
        proved[name] - VOTE * single_label(Ensemble.load(whole.folder(name) / "teachers").predict(asked), 10)
        for name in PARTIES
    ]
    assert fits(np.concatenate(added).ravel(), GAUSSIAN, 4.0 * VOTE)
