from collections.abc import Iterator
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock
from tests.guardian.ledger.places import Place


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Yield an empty place in each backend."""
    on_sqlite = request.param == "sqlite"
    made = Place(tmp_path / "ledger.db" if on_sqlite else request.getfixturevalue("postgres_url"))
    yield made
    made.close()


@pytest.fixture
def time(place: Place) -> ManualClock:
    return place.time
