from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.federation import Federation, build


@pytest.fixture
def federation(tmp_path: Path) -> Iterator[Federation]:
    yield from serving(build(tmp_path))


@pytest.fixture
def several(tmp_path: Path) -> Iterator[Federation]:
    """A federation whose records have any of the three classes as labels."""
    yield from serving(build(tmp_path, multi_label=True))


def serving(built: Federation) -> Iterator[Federation]:
    yield built
    for server in built.servers.values():
        server.stop(None).wait()
