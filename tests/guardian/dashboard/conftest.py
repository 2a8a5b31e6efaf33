from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.guardian.dashboard.browsing import Browser, admin_folder, browsing
from tests.guardian.federation import Calls, Federation

POLICY = "min_sigma = 0.5\nmin_quorum = 2\n[policy.consent]\nlow = 5.0\nhigh = 2000.0\n"


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path, policy=POLICY)


@pytest.fixture
def folder(federation: Federation, guardian: Calls) -> Path:
    """Return the administrator's folder."""
    return admin_folder(federation, guardian)


@pytest.fixture
def reader(folder: Path) -> Iterator[Browser]:
    """Yield a browser at a read-only console."""
    with browsing(folder) as browser:
        yield browser


@pytest.fixture
def editor(folder: Path) -> Iterator[Browser]:
    """Yield a browser at a console that allows changes."""
    with browsing(folder, allow_changes=True) as browser:
        yield browser
