from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.training.sites import POLICY, WITH_TTAC, Sites, training_sites


@pytest.fixture
def noisy(tmp_path: Path) -> Iterator[Sites]:
    """Yield serving parties that learn by dp-ttac."""
    with training_sites(tmp_path, "dp-ttac", POLICY) as sites:
        sites.start_all()
        yield sites


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Sites]:
    """Yield serving parties that learn by ttac, which every policy names."""
    with training_sites(tmp_path, "ttac", WITH_TTAC) as sites:
        sites.start_all()
        yield sites
