"""What several runs say together: joined by query, reported with their costs added up."""

from io import StringIO

import pytest
from rich.console import Console

from ostraka.client.report import tables
from ostraka.client.report.run_report import report
from ostraka.client.run.combined import CombinedAnswer, folder_of, is_combined, join, load_combined
from ostraka.client.run.dependency_rules import Condition
from ostraka.client.run.labels import LABELS_FILE
from ostraka.client.session.run_state import RunStore, load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy import ORDERS, epsilon
from tests.client.dependencies.clinic import BINARY, ask
from tests.client.driving import run_of
from tests.client.federation import Federation

FAMILIES = {(0, 0): (2, 3), (1, 0): (4,)}


def test_children_of_an_absent_parent_are_absent() -> None:
    found = join((0, 0, None, None, None), {}, FAMILIES, 5)
    assert (found.answer, found.implied, found.partly) == ((0, 0, 0, 0, 0), (2, 3, 4), False)


def test_children_of_a_present_or_unknown_parent_are_what_was_answered() -> None:
    later = {(0, 0): (None, None, 1, None, None), (1, 0): None}
    found = join((1, None, None, None, None), later, FAMILIES, 5)
    assert (found.answer, found.implied, found.partly) == ((1, None, 1, None, None), (), False)


def test_a_query_is_asked_partly_until_every_due_child_was() -> None:
    assert join((1, 0, None, None, None), {}, FAMILIES, 5).partly
    assert join((1, 1, None, None, None), {(0, 0): None}, FAMILIES, 5).partly
    assert join(None, {}, FAMILIES, 5) == CombinedAnswer(None, (), True, ((0, 0), (1, 0)))
    assert not join(None, {(0, 0): None, (1, 0): None}, FAMILIES, 5).partly


def test_folders_are_named_after_parents_whose_names_are_plain() -> None:
    assert folder_of(Condition("bee", 0), ("ant", "bee")) == "after-bee"
    assert folder_of(Condition("bee", 1), ("ant", "bee")) == "unless-bee"
    assert folder_of(Condition("../bee", 0), ("ant", "../bee")) == "after-label-1"


TREE = {(0, 0): (1,), (0, 1): (4,), (1, 1): (2,), (2, 0): (3,)}
"""Without 0 there is no 1, with 0 there is 4, with 1 there is 2, without 2 there is no 3."""


def test_what_is_implied_implies_in_turn_and_nobody_is_asked() -> None:
    asked = {(0, 1): (None, None, None, None, 1), (1, 1): (None, None, 0, None, None)}
    found = join((0, None, None, None, None), asked, TREE, 5)
    assert (found.answer, found.implied, found.due) == ((0, 0, 0, 0, 1), (1, 3), ())


def test_presence_implies_presence() -> None:
    asked = {(0, 0): (None, 1, None, None, None)}
    found = join((1, None, None, None, None), asked, TREE, 5)
    assert (found.answer, found.implied) == ((1, 1, 1, None, 1), (2, 4))
    assert found.due == ((2, 0),)


def test_nothing_is_due_of_children_whose_parent_is() -> None:
    found = join((1, None, None, None, None), {}, TREE, 5)
    assert (found.due, found.implied, found.partly) == (((0, 0),), (4,), True)


def test_a_parent_without_an_answer_implies_neither() -> None:
    assert join((None,) * 5, {}, TREE, 5).due == ((0, 0), (0, 1))


@pytest.mark.heavy
def test_the_report_adds_up_what_all_runs_cost(several: Federation) -> None:
    ask(several)
    figures = report(run_of(several))
    costs = {order: 26 * BINARY.worst_case(order, classes=1).answer for order in ORDERS}
    least = min(epsilon(cost, order, 1e-5) for order, cost in costs.items())
    for party in figures["parties"]:
        assert party["epsilon_worst_case"] == pytest.approx(least, rel=1e-9)
    assert figures["labels"] == [
        {"name": "ant", "answered": 10, "positive": 10, "implied": 0},
        {"name": "bee", "answered": 10, "positive": 6, "implied": 0},
        {"name": "cat", "answered": 6, "positive": 3, "implied": 4},
    ]
    assert figures["parts"] == [
        {
            "folder": "parents",
            "labels": ["ant", "bee"],
            "mechanism": BINARY.model_dump(),
            "asked": 10,
            "closed": True,
        },
        {
            "folder": "after-bee",
            "labels": ["cat"],
            "mechanism": BINARY.model_dump(),
            "asked": 6,
            "closed": True,
        },
    ]
    console = Console(width=120, file=StringIO())
    with console.capture() as shown:
        tables.show(figures, console)
    assert "4 labels were implied by an absent parent, at no cost" in shown.get()
    assert "for all runs in this folder together" in " ".join(shown.get().split())


@pytest.mark.heavy
def test_an_unsettled_batch_of_any_run_is_counted_whole(several: Federation) -> None:
    ask(several)
    settled = report(run_of(several))["parties"][0]["epsilon_worst_case"]
    folder = run_of(several) / "after-bee"
    RunStore(folder, load_state(folder)).begin([1, 2])
    figures = report(run_of(several))
    assert figures["unsettled_batches"] == 1
    assert figures["parties"][0]["epsilon_worst_case"] > settled


@pytest.mark.heavy
def test_a_folder_without_runs_says_so(several: Federation) -> None:
    ask(several)
    folder = run_of(several)
    assert is_combined(folder)
    (folder / "parents" / "session.json").unlink()
    with pytest.raises(OstrakaError) as refused:
        load_combined(folder)
    assert refused.value.code is ErrorCode.DATA_MISSING
    assert (folder / LABELS_FILE).exists()
