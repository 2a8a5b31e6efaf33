from pathlib import Path

import pytest

from tests.deploy.monitoring.observed import Observed, teachers
from tests.guardian.federation import PARTIES


@pytest.fixture(scope="session")
def agreeing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return teachers of each party that all vote alike."""
    return dict.fromkeys(PARTIES, teachers(tmp_path_factory.mktemp("agreeing") / "teachers", 0))


@pytest.fixture
def observed(tmp_path: Path) -> Observed:
    return Observed(tmp_path / "federation")
