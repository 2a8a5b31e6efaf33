"""Charges that a restored ledger had forgotten, as administrators see them."""

from pathlib import Path

from ostraka.common.mechanism import Mechanism
from ostraka.guardian.admin.exports import rows_of
from ostraka.guardian.admin.report import read_report, render
from ostraka.guardian.admin.upkeep import back_up, restore
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.admin.support import UNIT, budget, label
from tests.guardian.federation import PARTIES, Calls, Federation, plan, receipt
from tests.guardian.training import ALLOWING, TTAC, Lead, training, updates


def reconcile(guardian: Calls, session: str, batch: int, mechanism: Mechanism, queries: int) -> int:
    """Send a's receipt of a batch; how many charges it made good."""
    kept = receipt(mechanism, session_id=session, batch_id=batch, queries=queries)
    return guardian.reconcile("a", [kept]).charged


def test_what_was_forgotten_is_listed_with_what_was_not(federation: Federation, tmp_path: Path) -> None:
    backup, folder = tmp_path / "backup.db", federation.guardian_folder
    with federation.guardian() as guardian:
        guardian.prepare_all()
        session = label(guardian)
        back_up(folder, backup)
        label(guardian, batch=2)
        spent = guardian.spent()
    (folder / "ledger.db").unlink()
    restore(folder, backup)
    with federation.guardian() as guardian:
        assert guardian.spent() < spent
        assert reconcile(guardian, session, 2, plan().mechanism, 20) == 1
        request = admin_pb2.ListChargesRequest(party="a")
        known, forgotten = rows_of(guardian.admin.ListCharges(request))
        history = list(rows_of(guardian.admin.BudgetHistory(admin_pb2.BudgetHistoryRequest(**UNIT))))
        report = read_report(guardian.admin, "test", 1, 0, 0)
        after = budget(guardian).epsilon_worst_case
    assert (known.batch_id, forgotten.batch_id, forgotten.session_id) == (1, 2, session)
    assert (forgotten.querier, forgotten.bound) == ("", "worst_case")
    assert "receipts" in forgotten.mechanism
    assert forgotten.epsilon_worst_case == after >= spent
    assert history[-1].kind == "reconciled"
    of_a = [charge for charge in report.charges if charge.unit[0] == "a"]
    assert [charge.batches for charge in of_a] == [1, 1]
    assert "not known any more" in render(report)
    assert not report.unguaranteed


def test_what_was_forgotten_of_a_training_without_guarantee_is_marked(tmp_path: Path) -> None:
    federation, backup = Federation(tmp_path, policy=ALLOWING), tmp_path / "backup.db"
    folder = federation.guardian_folder
    with federation.guardian() as guardian:
        lead = Lead(federation, guardian.address)
        lead.join_all("ttac")
        back_up(folder, backup)
        session = lead.begin(training(TTAC))
        lead.round(session, 1, updates())
        lead.close()
    (folder / "ledger.db").unlink()
    restore(folder, backup)
    with federation.guardian() as guardian:
        assert not read_report(guardian.admin, "test", 1, 0, 0).unguaranteed
        assert reconcile(guardian, session, 1, TTAC, 1) == 1
        report = read_report(guardian.admin, "test", 1, 0, 0)
        budgets = list(guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest()))
    assert report.unguaranteed == [(("a", "all", "record"), session)]
    assert "No formal guarantee" in render(report)
    assert [budget.party for budget in budgets if budget.unguaranteed] == ["a"]
    assert len(budgets) == len(PARTIES)
