from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.guardian.federation import Calls, Federation


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path)


@pytest.fixture
def guardian(federation: Federation) -> Iterator[Calls]:
    """Run a guardian with which every party registered and has a budget of epsilon 1000."""
    with federation.guardian() as calls:
        calls.prepare_all()
        yield calls


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """Return a federation of all cases of a module."""
    return Federation(tmp_path_factory.mktemp("lasting"))


@pytest.fixture(scope="module")
def refusing(lasting: Federation) -> Iterator[Calls]:
    """Run a guardian as `guardian` does, once for all cases of a module in which it refuses everything."""
    with lasting.guardian() as calls:
        calls.prepare_all()
        yield calls
