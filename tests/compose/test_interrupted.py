import pytest

from ostraka.client.session.run_state import RunState
from ostraka.deploy.compose.setup import HOSPITALS
from tests.compose.charges import NOISE, balances, require_charged_once, require_intact
from tests.compose.project import NAME, POLL_S, Project, docker, exit_status, inspect, state_of
from tests.waiting import until

pytestmark = [pytest.mark.compose, pytest.mark.timeout(900)]

QUERIES, BATCH_SIZE = 100, 5
ENDED_S = 240
BEGINNINGS = 5
"""How often a run may be begun: it goes on with the same command."""


class Run:
    """A labelling of 100 queries in 20 batches, in a container of its own."""

    def __init__(self, project: Project, name: str, *options: str, queries: int = QUERIES) -> None:
        self._project = project
        self.name = name
        self.before = balances(project)
        wanted = ["--mechanism", f"{NOISE.kind}:sigma={NOISE.sigma}"]
        # The records of the pool were asked about when the federation began.
        wanted += ["--again", "--queries", str(queries), "--batch-size", str(BATCH_SIZE)]
        where = ["--site", "/site", "--pool", "pool.npz", "--out", f"/report/{name}"]
        self.container = project.started(name, "delta", "query", "label", *where, *wanted, *options)

    @property
    def released(self) -> int:
        state = state_of(self.container, self.name)
        return 0 if state is None else sum(batch.status == "released" for batch in state.batches)

    def wait_released(self, more: int) -> None:
        """Wait until so many more batches are released than are now."""
        wanted = self.released + more
        until(lambda: self.released >= wanted, ENDED_S, POLL_S)

    def end(self) -> RunState:
        """Let the run come to its end, where it stopped by the same command again."""
        for _ in range(BEGINNINGS):
            if exit_status(self.container, ENDED_S) == 0:
                state = state_of(self.container, self.name)
                assert state is not None
                return state
            for server in ("postgres", "guardian", *HOSPITALS):
                self._project.wait_healthy(server)
            docker("start", self.container)
        pytest.fail(f"the run did not end: {docker('logs', self.container)}")


def require_all_told(project: Project, run: Run) -> RunState:
    """Check that the run ends, with nothing lost, nothing charged twice, and an intact ledger."""
    state = run.end()
    require_charged_once(project, state, run.before)
    require_intact(project)
    return state


@pytest.mark.parametrize("server", ["alpha", "guardian", "postgres"])
def test_a_server_killed_and_started_again_loses_nothing_and_charges_once(
    project: Project, server: str
) -> None:
    run = Run(project, f"kill-{server}")
    run.wait_released(3)
    project.kill(server)
    project.start(server)
    require_all_told(project, run)


def test_a_hospital_cut_off_is_done_without_and_comes_back(project: Project) -> None:
    alpha, network = project.container("alpha"), f"{NAME}_alpha"
    run = Run(project, "cut-off")
    run.wait_released(3)
    docker("network", "disconnect", network, alpha)
    run.wait_released(3)
    docker("network", "connect", "--alias", "alpha", network, alpha)
    state = require_all_told(project, run)
    assert any(batch.parties and "alpha" not in batch.parties for batch in state.batches)
    with_all = Run(project, "all-back", "--quorum", "3", queries=BATCH_SIZE)
    require_all_told(project, with_all)


@pytest.mark.parametrize("server", ["beta", "guardian"])
def test_a_server_told_to_stop_ends_well_and_loses_nothing(project: Project, server: str) -> None:
    run = Run(project, f"stop-{server}")
    run.wait_released(3)
    container = project.container(server)
    docker("stop", "--time", "40", container)
    assert inspect(container, ".State.ExitCode") == "0"
    project.start(server)
    require_all_told(project, run)
