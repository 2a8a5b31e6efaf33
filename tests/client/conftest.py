from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.federation import Federation, build


@pytest.fixture
def federation(tmp_path: Path) -> Iterator[Federation]:
    built = build(tmp_path)
    yield built
    for server in built.servers.values():
        server.stop(None).wait()
