"""Runs on tasks of several labels: every label is answered, or not, by itself."""

import csv
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from ostraka.client.report import tables
from ostraka.client.report.run_report import report
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.answers import answer_mask, label_matrix, read_answers
from ostraka.client.session.run_state import RunStore, load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, Confident, Powerset
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.protos.ostraka.v1.guardian_pb2 import Answer
from tests.client.driving import asked, options, run, run_of
from tests.client.federation import TEACHERS, Federation
from tests.client.test_resuming import interrupted_once

BINARY = Binary(sigma=5.0)
TRUE = [(1, 0, 0), (1, 1, 0), (1, 1, 1)]


def chosen(**changes: object) -> PlanOptions:
    return options(mechanism=BINARY, **changes)


def label_rows(federation: Federation) -> list[tuple[str, ...]]:
    with (run_of(federation) / "labels.csv").open(newline="") as file:
        return [tuple(row.values()) for row in csv.DictReader(file)]


def all_right(queries: int) -> list[tuple[str, ...]]:
    return [(str(query), *map(str, TRUE[query % 3]), "answered") for query in range(queries)]


def test_every_label_of_every_query_is_answered(several: Federation) -> None:
    result = run(several, chosen())
    assert (result.asked, result.answered) == (10, 10)
    assert label_rows(several) == all_right(10)
    counts = several.guardian.histograms["s0", 1]
    np.testing.assert_array_equal(counts, 3 * TEACHERS * np.array([TRUE[row % 3] for row in asked(several)]))


def test_a_label_without_an_answer_is_empty_and_its_neighbours_are_not(several: Federation) -> None:
    several.parties["b"].dissents = True
    run(several, chosen(queries=2))
    assert label_rows(several)[:3] == [
        ("0", "1", "0", "0", "answered"),
        ("1", "1", "1", "", "answered"),
        ("2", "", "", "", "unasked"),
    ]


def test_a_query_without_any_answer_is_an_abstention(several: Federation) -> None:
    several.guardian.alter_answers = lambda answers: [Answer(answered=False), *answers[1:]]
    result = run(several, chosen(queries=4))
    assert (result.asked, result.answered, result.abstained) == (4, 3, 1)
    without = asked(several)[0]
    assert label_rows(several)[without] == (str(without), "", "", "", "abstained")


@pytest.mark.parametrize("after", [False, True])
def test_a_stored_batch_is_settled_with_all_its_labels(
    several: Federation, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    interrupted_once(monkeypatch, RunStore, "record_answers", after=after)
    with pytest.raises(KeyboardInterrupt):
        run(several, chosen())
    run(several, chosen())
    assert label_rows(several) == all_right(10)
    assert len(several.guardian.answers) == 3


@pytest.mark.heavy
def test_every_answer_of_a_label_is_charged(several: Federation) -> None:
    several.parties["b"].dissents = True
    run(several, chosen())
    figures = report(run_of(several))
    given = np.array([[True, True, query % 3 != 1] for query in range(10)])
    costs = {order: BINARY.worst_case(order, classes=3).rdp(given) for order in ORDERS}
    least = min(epsilon(cost, order, 1e-5) for order, cost in costs.items())
    for party in figures["parties"]:
        assert (party["asked"], party["answered"]) == (10, 10)
        assert party["epsilon_worst_case"] == pytest.approx(least, rel=1e-12)
    assert figures["labels"] == [
        {"name": "ant", "answered": 10, "positive": 10},
        {"name": "bee", "answered": 10, "positive": 6},
        {"name": "cat", "answered": 7, "positive": 3},
    ]


def test_an_unsettled_batch_counts_as_answered_whole(several: Federation) -> None:
    several.parties["b"].dissents = True
    run(several, chosen(queries=8))
    settled = report(run_of(several))["parties"][0]["epsilon_worst_case"]
    store = RunStore(run_of(several), load_state(run_of(several)))
    partly = next(batch for batch in store.state.batches if any(row % 3 == 1 for row in batch.queries))
    store.record_death(partly)
    store.begin(partly.queries)
    assert report(run_of(several))["parties"][0]["epsilon_worst_case"] > settled


def test_people_read_what_each_label_got(several: Federation) -> None:
    run(several, chosen())
    console = Console(width=100, file=StringIO())
    with console.capture() as shown:
        tables.show(report(run_of(several)), console)
    assert "Answers by label" in shown.get()
    assert "bee" in shown.get()


def test_label_sets_need_a_ballot_of_all_sets(several: Federation) -> None:
    several.guardian.alter_answers = lambda answers: [Answer()] * len(answers)
    run(several, options(mechanism=Powerset(sigma=5.0), queries=4))
    assert several.guardian.histograms["s0", 1].shape == (4, 2**3)


PLAN = Plan(
    nonce=bytes(16),
    task_digest=bytes(32),
    classes=9,
    multi_label=True,
    mechanism=BINARY,
    parties=("a",),
    quorum=1,
    queries=1,
    batch_size=1,
)
HALF, ALL = b"\xaa\x80", b"\xff\x80"


def answer(answered: bytes = ALL, positive: bytes = HALF) -> Answer:
    return Answer(answered=True, answered_labels=answered, positive_labels=positive)


def test_bits_come_most_significant_first() -> None:
    assert read_answers([answer()], 1, PLAN) == [(1, 0, 1, 0, 1, 0, 1, 0, 1)]
    assert read_answers([answer(b"\x80\x00", b"\x00\x00")], 1, PLAN) == [(0, *[None] * 8)]
    assert read_answers([Answer()], 1, PLAN) == [None]


@pytest.mark.parametrize(
    "wrong",
    [
        answer(answered=b"\xff"),
        answer(positive=b"\xff\x80\x00"),
        answer(answered=b"\xff\xc0"),
        answer(answered=HALF, positive=ALL),
        answer(answered=b"\x00\x00", positive=b"\x00\x00"),
    ],
)
def test_bits_that_fit_no_answer_are_refused(wrong: Answer) -> None:
    with pytest.raises(OstrakaError, match="9 labels") as refused:
        read_answers([wrong], 1, PLAN)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID


def test_masks_and_matrices_of_nothing_have_their_width() -> None:
    assert answer_mask([], PLAN).shape == (0, 9)
    assert answer_mask([None], PLAN).tolist() == [[False] * 9]
    assert label_matrix([], 9).shape == (0, 9)
    single = PLAN.model_copy(
        update={"multi_label": False, "mechanism": Confident(sigma1=1.0, sigma2=1.0, threshold=1.0)}
    )
    assert answer_mask([3, None], single).tolist() == [[True], [False]]
