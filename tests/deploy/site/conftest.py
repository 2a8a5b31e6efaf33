from pathlib import Path

import pytest

from ostraka.common.clock import SystemClock
from tests.addresses import free_ports
from tests.deploy.provisioning.kits import Sites, make_sites


@pytest.fixture
def sites(tmp_path: Path) -> Sites:
    """Return kits of a federation that a party and the guardian have joined."""
    guardian, a = free_ports(2)
    sites = make_sites(tmp_path, SystemClock(), guardian, a)
    sites.join("a-party", "hub-guardian")
    return sites
