"""Every frozen version, unpacked."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock
from tests.upgrades import packing
from tests.upgrades.federation import Federation
from tests.upgrades.manifest import MANIFEST, Manifest

VERSIONS = sorted(path.parent for path in Path(__file__).parent.glob(f"*/{MANIFEST}"))


@dataclass(frozen=True)
class Frozen:
    """A version's folder of fixtures, its manifest of them, and a copy that may be changed."""

    version: Path
    manifest: Manifest
    federation: Federation

    @property
    def clock(self) -> ManualClock:
        """A minute after everything was written: its certificates are valid, whatever the current date."""
        return ManualClock(self.manifest.made_unix_s + 60)


@pytest.fixture(params=VERSIONS, ids=lambda folder: folder.name)
def frozen(request: pytest.FixtureRequest, tmp_path: Path) -> Frozen:
    """Return the files of a version."""
    packing.unpack(request.param, tmp_path)
    return Frozen(request.param, Manifest.load(request.param), Federation(tmp_path))
