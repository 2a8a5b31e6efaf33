"""A federation from Python: parties, guardian and querying party, by the public interface alone."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import ostraka
from ostraka.datasets import Dataset, digits
from ostraka.mechanisms import GnMax
from ostraka.students import load_student
from tests.deploy.whole import PARTIES, QUERIES, Whole, build

GNMAX = ostraka.PlanOptions(mechanism=GnMax(sigma=4.0), quorum=2, batch_size=6, queries=QUERIES)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return build(tmp_path_factory.mktemp("federation"))


@dataclass
class Sites:
    querier: ostraka.Querier
    admin: ostraka.Guardian
    guardian: ostraka.Guardian
    run: Path


@pytest.fixture
def sites(whole: Whole, tmp_path: Path) -> Iterator[Sites]:
    """Serve a copy of the federation, parties and guardian by the public interface."""
    with serving(whole.copied(tmp_path)) as found:
        yield found


@contextmanager
def serving(whole: Whole) -> Iterator[Sites]:
    guardian = ostraka.Guardian(whole.folder("guardian"))
    with ExitStack() as stack:
        whole.tell_guardian(stack.enter_context(guardian.serve()))
        addresses = {
            party: stack.enter_context(ostraka.Party(whole.folder(party)).serve()) for party in PARTIES
        }
        whole.tell_parties(addresses)
        querier = ostraka.Querier(whole.folder("q"))
        yield Sites(querier, ostraka.Guardian(whole.folder("ops")), guardian, whole.root / "run")


def queries() -> Dataset:
    return digits().take(slice(1000, 1000 + QUERIES))


def test_a_pool_is_planned_labelled_and_learned(sites: Sites) -> None:
    forecast = sites.querier.plan(GNMAX, queries())
    assert [party["site"] for party in forecast.parties] == list(PARTIES)
    assert forecast.frame()["fits"].tolist() == [party["fits"] for party in forecast.parties]
    assert "12 queries, worst case, every query answered; DP for records" in forecast._repr_html_()
    labels = sites.querier.label(queries(), GNMAX, sites.run)
    assert (len(labels), labels.answered, labels.result.answered) == (QUERIES, QUERIES, QUERIES)
    assert set(labels["label"]) <= set(sites.querier.task.classes)
    assert labels.frame()["id"].tolist() == [str(row) for row in range(QUERIES)]
    assert "12 of 12 records labelled" in labels._repr_html_()
    assert list(ostraka.Labels.read(sites.run)) == list(labels)
    student = sites.querier.retrain(
        digits().take(slice(1200, 1260)), sites.run, queries(), test=digits().take(slice(1300, 1400))
    )
    assert student.released == QUERIES
    assert load_student(student.path) is not None
    assert str(student).startswith("The student is right on ")
    assert "<td>after</td><td>72</td>" in student._repr_html_()
    report = sites.querier.report(sites.run)
    assert report["answered"] == QUERIES
    assert json.loads(json.dumps(report)) == report


def test_an_administrator_reads_what_it_cost(sites: Sites) -> None:
    before = sites.admin.budgets()
    assert [(unit.party, unit.spent, unit.left) for unit in before] == [(p, 0.0, 100.0) for p in PARTIES]
    sites.querier.label(queries(), GNMAX, sites.run)
    spent = sites.admin.budgets(PARTIES[0])
    (charge,) = [one for one in sites.admin.charges() if one.unit[0] == PARTIES[0]]
    assert len(spent) == 1
    assert 0 < spent[0].spent == charge.epsilon_after
    assert spent[0].left == pytest.approx(spent[0].epsilon - spent[0].spent)
    checked = sites.guardian.audit()
    assert checked.entries > 0
    assert len(checked.head) == 64


def test_an_administrator_lowers_a_budget(sites: Sites) -> None:
    lowered = sites.admin.set_budget(PARTIES[0], 3.0, reason="a smaller study")
    assert (lowered.party, lowered.epsilon, lowered.delta, lowered.left) == (PARTIES[0], 3.0, 1e-5, 3.0)
    assert sites.admin.budgets(PARTIES[0]) == (lowered,)
    with pytest.raises(ostraka.OstrakaError, match=r"knows no party spata .did you mean sparta") as refused:
        sites.admin.set_budget("spata", 3.0)
    assert refused.value.code is ostraka.ErrorCode.PARTY_UNKNOWN
    added = sites.admin.set_budget("corinth", 3.0, filter="gaussian", new=True)
    assert (added.party, added.order) == ("corinth", 0.0)


def test_asking_again_goes_on_and_costs_nothing(sites: Sites) -> None:
    first = sites.querier.label(queries(), GNMAX, sites.run)
    spent = sites.admin.budgets()
    again = sites.querier.label(queries(), GNMAX, sites.run)
    assert list(again) == list(first)
    assert sites.admin.budgets() == spent


def test_a_party_trains_on_records_in_memory(whole: Whole, tmp_path: Path) -> None:
    folder = whole.copied(tmp_path).folder(PARTIES[0])
    with (folder / "site.toml").open("a") as file:
        file.write("\n[training]\nteachers = 2\nmodel = 'logistic_regression'\n")
    made = ostraka.Party(folder).train(digits().take(slice(0, 80)), ostraka.TeacherOptions(teachers=4))
    assert (made.teachers, made.records) == (4, 80)
    hosted = ostraka.Party(folder).status().hosted
    assert hosted is not None
    assert hosted.teachers == 4


def test_a_site_of_another_role_is_refused(whole: Whole) -> None:
    with pytest.raises(ostraka.OstrakaError, match="acts as party") as refused:
        ostraka.Querier(whole.folder(PARTIES[0]))
    assert refused.value.code is ostraka.ErrorCode.CONFIG_INVALID


def test_a_run_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ostraka.OstrakaError, match="There are no labels in") as refused:
        ostraka.Labels.read(tmp_path)
    assert refused.value.code is ostraka.ErrorCode.DATA_MISSING
