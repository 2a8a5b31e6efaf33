from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.client.federation import Federation, build

if TYPE_CHECKING:
    from tests.client.real import Host


@pytest.fixture
def federation(tmp_path: Path) -> Iterator[Federation]:
    yield from serving(build(tmp_path))


@pytest.fixture(scope="module")
def real_guardian(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Host"]:
    from tests.client.real import Host

    host = Host(tmp_path_factory.mktemp("real"))
    yield host
    host.stop()


@pytest.fixture(params=["stand-in", "real"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Federation]:
    """Yield a federation with the stand-in for a guardian, or with the real one."""
    if request.param == "stand-in":
        yield from serving(build(tmp_path))
    else:
        from tests.client import real

        yield from serving(real.build(tmp_path, request.getfixturevalue("real_guardian")))


@pytest.fixture
def several(tmp_path: Path) -> Iterator[Federation]:
    """Yield a federation whose records have any of the three classes as labels."""
    yield from serving(build(tmp_path, multi_label=True))


def serving(built: Federation) -> Iterator[Federation]:
    yield built
    for server in built.servers.values():
        server.stop(None).wait()
