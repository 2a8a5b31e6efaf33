from pathlib import Path

import pytest

from tests.deploy.monitoring.observed import DISSENTING, Observed, teachers
from tests.guardian.federation import PARTIES


@pytest.fixture(scope="session")
def agreeing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Teachers of each party who all vote alike."""
    return dict.fromkeys(PARTIES, teachers(tmp_path_factory.mktemp("agreeing") / "teachers", 0))


@pytest.fixture(scope="session")
def dissenting(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Teachers of each party who vote what no other party's do."""
    folder = tmp_path_factory.mktemp("dissenting")
    return {party: teachers(folder / party, off) for party, off in DISSENTING.items()}


@pytest.fixture
def observed(tmp_path: Path) -> Observed:
    return Observed(tmp_path)
