"""A ledger in PostgreSQL: the suite, and what only a server can do."""

import pytest

from tests.guardian.ledger.suite import LedgerSuite


class TestPostgres(LedgerSuite):
    @pytest.fixture
    def where(self, postgres_url: str) -> str:
        return postgres_url
