import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner, Result

from ostraka.common.config import SiteConfig, write_site
from ostraka.common.errors import OstrakaError
from ostraka.guardian.cli import app
from tests.guardian.federation import FEDERATION, Calls, Federation


@dataclass
class Admin:
    """The commands of an administrator."""

    site: Path
    calls: Calls

    def run(self, *words: object) -> Result:
        return CliRunner().invoke(app, [*map(str, words), "--site", str(self.site)])

    def json(self, *words: object) -> Any:
        """Return the JSON that a command prints."""
        result = self.run(*words, "--json", "-")
        assert result.exit_code == 0, result.exception
        return json.loads(result.stdout)

    def text(self, *words: object) -> str:
        """Return the text that a command prints, its words on one line."""
        result = self.run(*words)
        assert result.exit_code == 0, result.exception
        return " ".join(result.stdout.split())

    def refused(self, *words: object) -> OstrakaError:
        result = self.run(*words)
        assert isinstance(result.exception, OstrakaError), result.output
        return result.exception


@pytest.fixture
def federation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Federation:
    monkeypatch.setenv("COLUMNS", "250")
    consent = "[policy.consent]\nlow = 5.0\nhigh = 2000.0\n"
    return Federation(tmp_path, policy=f"min_sigma = 0.5\nmin_quorum = 2\n{consent}")


@pytest.fixture
def admin(federation: Federation) -> Iterator[Admin]:
    """Yield an administrator of a guardian with which every party registered and has a budget.

    The guardian runs in the same process, but its logs do not reach the administrator's output.
    """
    site = federation.root / "ops-admin"
    with capture_logs(), federation.guardian() as calls:
        write_site(
            SiteConfig(federation=FEDERATION, site="ops", role="admin", guardian=calls.address, folder=site)
        )
        calls.prepare_all()
        yield Admin(site, calls)
