import pytest

from ostraka.deploy.compose.setup import ENCRYPTED, HOSPITALS, SETTINGS
from ostraka.deploy.simulation.split import split_data
from tests.compose.charges import balances, require_intact
from tests.compose.project import Project, docker, exit_status, state_of

pytestmark = [pytest.mark.compose, pytest.mark.timeout(900)]

PLAIN = SETTINGS.records.queries - ENCRYPTED
ENDED_S = 300


def right(project: Project, service: str, run: str, first: int) -> tuple[int, float]:
    """How many queries got a label, and which part of the labels is the true one."""
    state = state_of(project.container(service), run)
    assert state is not None
    assert state.closed
    given = {query: label for query, label in state.by_query().items() if label is not None}
    truth = split_data(SETTINGS).truth[first:]
    return len(given), sum(truth[query] == label for query, label in given.items()) / len(given)


def require_report(project: Project, service: str, run: str) -> None:
    """Check that the page and the table lie on the volume, whole."""
    for name, part in (("report.html", b"</html>"), ("labels.csv", b"label")):
        assert part.decode() in docker("cp", f"{project.container(service)}:/report/{run}/{name}", "-")


def test_labels_come_out_and_are_mostly_right(project: Project) -> None:
    answered, accuracy = right(project, "delta", "plain", 0)
    assert answered >= 60
    assert accuracy >= 0.75
    require_report(project, "delta", "plain")
    require_intact(project)


def test_larger_budgets_pay_more(project: Project) -> None:
    found = balances(project)
    assert {name: found[name]["epsilon"] for name in HOSPITALS} == {"alpha": 10, "beta": 20, "gamma": 40}
    spent = [found[name]["epsilon_worst_case"] for name in HOSPITALS]
    assert 0 < spent[0] < spent[1] < spent[2]
    state = state_of(project.container("delta"), "plain")
    assert state is not None
    assert state.parse_plan().variant == "weighting"


def test_the_confidential_profile_labels_too_and_leaves_the_first_report(project: Project) -> None:
    before = state_of(project.container("delta"), "plain")
    project.compose("--profile", "confidential", "up", "--detach", "--no-build")
    assert exit_status(project.container("delta-confidential"), ENDED_S) == 0
    answered, accuracy = right(project, "delta-confidential", "confidential", PLAIN)
    assert answered >= 25
    assert accuracy >= 0.7
    state = state_of(project.container("delta-confidential"), "confidential")
    assert state is not None
    assert (state.parse_plan().encoding, state.parse_plan().tally) == ("ckks", "blind")
    require_report(project, "delta-confidential", "confidential")
    assert state_of(project.container("delta"), "plain") == before
    require_intact(project)


def test_the_model_profile_learns_from_what_is_left(project: Project) -> None:
    before = balances(project)
    project.compose("--profile", "model", "up", "--detach", "--no-build")
    assert exit_status(project.container("delta-model"), ENDED_S) == 0
    after = balances(project)
    for name in HOSPITALS:
        spent = after[name]["epsilon_worst_case"]
        assert before[name]["epsilon_worst_case"] < spent <= after[name]["epsilon"]
    for name, part in (("fit.json", '"learner": "moments"'), ("report.html", "</html>")):
        assert part in docker("cp", f"{project.container('delta-model')}:/report/model/{name}", "-")
    require_intact(project)
