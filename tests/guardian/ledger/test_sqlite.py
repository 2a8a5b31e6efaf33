from pathlib import Path

from guardian.ledger import Ledger
from tests.guardian.ledger.suite import LedgerSuite, Opener, race
from tests.guardian.ledger.support import budget_of, cipher, clock, sign


class TestSqlite(LedgerSuite):
    def open(self, folder: Path) -> Ledger:
        return Ledger.open(folder / "ledger.db", clock=clock(), cipher=cipher(), sign_head=sign)

    def test_two_processes_would_not_overspend_even_without_the_fence(
        self, ledger: Ledger, opener: Opener
    ) -> None:
        later = opener()
        ledger._fence = later._fence
        budget = budget_of(ledger).budget
        assert race(ledger, [ledger, later] * 4, budget // 3) == 3
        assert budget_of(later).available == budget - 3 * (budget // 3)
