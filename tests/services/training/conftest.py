from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.training.lead import BY_RECORD, PLAIN, Training, records_folder, training
from tests.services.wire import Federation, federation


@pytest.fixture
def attica(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with federation(tmp_path, records_folder(tmp_path_factory.mktemp("records"))) as made:
        yield made


@pytest.fixture
def noisy(attica: Federation) -> Training:
    """Return a party that learns by dp-ttac."""
    return training(attica, "dp-ttac", BY_RECORD)


@pytest.fixture
def plain(attica: Federation) -> Training:
    """Return a party that learns by ttac, which its policy names."""
    made = training(attica, "ttac", PLAIN)
    attica.set_policy(mechanisms=["ttac"])
    return made
