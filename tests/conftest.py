"""Fixtures for all tests."""

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from ostraka.deploy.simulation.processes import Start, forking
from tests.fair_clock import FairTimeouts
from tests.postgres import Server, running_server
from tests.processor_time import LIMIT_LOOPS, ProcessorTime, TotalProcessorTime

if TYPE_CHECKING:
    from tests.fake_card import FakeCards

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
"""The matrices of tests are so small that threads would wait for each other, and every core already has a
test process; torch and NumPy read this when they are imported."""
os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
"""Child processes that run functions of tests find them here: they do not look in the working folder."""

settings.register_profile("ostraka", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("random", deadline=None, derandomize=False)
settings.load_profile("ostraka")
"""The duration of an example means nothing on a busy machine. In CI, examples are the same in every run, so
that a change fails only for what it changed; `make chaos` looks for other examples, with profile `random`."""


E2E = Path(__file__).parent / "e2e"


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessorTime(LIMIT_LOOPS))
    config.pluginmanager.register(FairTimeouts())
    if not hasattr(config, "workerinput"):  # a worker's processor time is counted as its controller's child
        config.pluginmanager.register(TotalProcessorTime())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that starts processes as heavy, unless it is marked as a federation of `make test`."""
    for item in items:
        starts = "start" in getattr(item, "fixturenames", ()) or E2E in item.path.parents
        if starts and not item.get_closest_marker("processes"):
            item.add_marker(pytest.mark.heavy)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """Search nothing that collection made for garbage: nearly all of it lasts until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _shared_statements() -> None:
    """Import the ledger only when tests run, so that collection does not need it."""
    from tests.engines import share_compiled_statements

    share_compiled_statements()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """Run a PostgreSQL server, started by the first test that needs it."""
    with running_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Server) -> str:
    """Return the URL of an empty PostgreSQL database."""
    return postgres.new_database()


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> "Iterator[FakeCards]":
    """Yield two simulated cards in place of CUDA's."""
    # Imported here because it imports torch and registers a device with it.
    from tests.fake_card import fake_cards

    with fake_cards(monkeypatch) as made:
        yield made


@pytest.fixture(scope="session")
def start() -> Iterator[Start]:
    """Yield a function that starts processes quickly, by fork."""
    with forking() as start:
        yield start
