"""One federation of containers for all tests that need a real engine."""

from collections.abc import Iterator

import pytest

from tests.compose import engine
from tests.compose.project import Project, exit_status

LABELLED_S = 420


@pytest.fixture(scope="session")
def project() -> Iterator[Project]:
    """Yield what `docker compose up` made from nothing: labels exist, servers keep running."""
    made = Project(engine.prepare())
    made.clean()
    try:
        made.compose("up", "--detach", "--no-build")
        assert exit_status(made.container("delta"), LABELLED_S) == 0
        yield made
    finally:
        print(f"Logs are in {made.save_logs()}.")
        made.clean()
