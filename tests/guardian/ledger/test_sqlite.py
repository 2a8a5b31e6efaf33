from pathlib import Path

import pytest

from tests.guardian.ledger.suite import LedgerSuite


class TestSqlite(LedgerSuite):
    @pytest.fixture
    def where(self, tmp_path: Path) -> Path:
        return tmp_path / "ledger.db"
