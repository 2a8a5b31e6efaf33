"""Fixtures for all tests."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.postgres import Server, running_server

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
"""Threads that wait for each other leave the cores to other processes; read when torch is imported."""

settings.register_profile("ostraka", deadline=None)
settings.load_profile("ostraka")
"""How long an example takes says nothing on a machine that is busy."""


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, started by the first test that needs it."""
    with running_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Server) -> str:
    """The URL of an empty PostgreSQL database."""
    return postgres.new_database()
