from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import chromium
from tests.console.scene import Scene, scene

__all__ = ["chromium"]


@pytest.fixture
def hospitals(tmp_path: Path) -> Iterator[Scene]:
    with scene(tmp_path) as made:
        yield made
