"""Runs that ask about some labels of a task: answers come back as the task's labels."""

import pytest

from ostraka.client.report.run_report import report
from ostraka.client.run.options import PlanOptions, make_plan
from ostraka.client.session.answers import of_task
from ostraka.client.session.run_state import load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, GnMax, Powerset, Tau
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.common.task import load_task
from tests.client.driving import asked, options, run, run_of
from tests.client.federation import TEACHERS, Federation
from tests.client.test_multi_label import label_rows

BINARY = Binary(sigma=5.0)
MECHANISMS = [BINARY, Tau(sigma=5.0, tau=1.0), Powerset(sigma=5.0)]


def test_only_the_chosen_labels_are_answered(several: Federation) -> None:
    result = run(several, options(mechanism=BINARY, labels=("cat", "ant")))
    assert (result.asked, result.answered) == (10, 10)
    assert several.guardian.histograms["s0", 1].shape == (4, 2)
    assert label_rows(several)[:4] == [
        ("0", "1", "", "0", "answered"),
        ("1", "1", "", "0", "answered"),
        ("2", "1", "", "1", "answered"),
        ("3", "1", "", "0", "answered"),
    ]
    assert load_state(run_of(several)).answers()[2] == (1, None, 1)


def test_one_label_alone_is_asked(several: Federation) -> None:
    run(several, options(mechanism=BINARY, labels=("bee",), queries=4))
    counts = [[3 * TEACHERS * (row % 3 > 0)] for row in asked(several)]
    assert several.guardian.histograms["s0", 1].tolist() == counts
    assert [row[1:4] for row in label_rows(several)[:3]] == [("", "0", ""), ("", "1", ""), ("", "1", "")]


def test_the_report_counts_what_was_asked_and_charges_no_more(several: Federation) -> None:
    run(several, options(mechanism=BINARY, labels=("bee", "cat")))
    figures = report(run_of(several))
    assert figures["asked_labels"] == ["bee", "cat"]
    assert [label["answered"] for label in figures["labels"]] == [0, 10, 10]
    costs = {order: 10 * 2 * BINARY.worst_case(order, classes=2).answer for order in ORDERS}
    least = min(epsilon(cost, order, 1e-5) for order, cost in costs.items())
    for party in figures["parties"]:
        assert party["epsilon_worst_case"] == pytest.approx(least, rel=1e-12)


def test_a_run_is_resumed_with_the_same_labels_alone(several: Federation) -> None:
    run(several, options(mechanism=BINARY, labels=("bee",)))
    run(several, options(mechanism=BINARY, labels=("bee",)))
    with pytest.raises(OstrakaError, match="other classes, labels") as refused:
        run(several, options(mechanism=BINARY, labels=("bee", "cat")))
    assert refused.value.code is ErrorCode.RUN_MISMATCH


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.kind)
def test_all_labels_by_name_are_the_plan_without_names(several: Federation, mechanism: Tau) -> None:
    task = load_task(several.site / "task.toml")
    named = PlanOptions(mechanism=mechanism, labels=("cat", "bee", "ant"))
    plans = [
        make_plan(one, task, 10, ("a", "b"), bytes(16)) for one in (named, PlanOptions(mechanism=mechanism))
    ]
    assert plans[0] == plans[1]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"labels": ("dog",)}, "no label 'dog'"),
        ({"labels": ()}, "no label is named"),
    ],
)
def test_labels_that_cannot_be_asked_are_refused(
    several: Federation, changes: dict[str, object], named: str
) -> None:
    with pytest.raises(OstrakaError, match=named) as refused:
        run(several, options(mechanism=BINARY, **changes))
    assert refused.value.code is ErrorCode.PLAN_INVALID


def test_classes_are_nothing_to_choose_from(federation: Federation) -> None:
    with pytest.raises(OstrakaError, match="leave out labels") as refused:
        run(federation, options(mechanism=GnMax(sigma=5.0), labels=("ant",)))
    assert refused.value.code is ErrorCode.PLAN_INVALID


def test_an_abstention_stays_one(several: Federation) -> None:
    run(several, options(mechanism=BINARY, labels=("bee",)))
    plan = load_state(run_of(several)).parse_plan()
    assert of_task(None, plan, 3) is None
    assert of_task((1,), plan, 3) == (None, 1, None)
