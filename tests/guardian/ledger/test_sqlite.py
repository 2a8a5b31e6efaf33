from pathlib import Path

from guardian.ledger import Ledger
from tests.guardian.ledger.suite import LedgerSuite
from tests.guardian.ledger.support import cipher, clock, sign


class TestSqlite(LedgerSuite):
    def open(self, folder: Path) -> Ledger:
        return Ledger.open(folder / "ledger.db", clock=clock(), cipher=cipher(), sign_head=sign)
