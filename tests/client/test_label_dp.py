"""Labels of records that all sites know: by cluster, and drawn anew."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ostraka.client.report.run_report import report
from ostraka.client.retraining import read_released
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.planning import plan
from ostraka.client.session.run_state import load_state
from ostraka.common.datasets import load, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import NoiseCluster, RandRes, RandResLabels
from ostraka.common.task import load_task
from ostraka.protos.ostraka.v1.guardian_pb2 import Answer
from tests.client.driving import options, rows, run, run_of
from tests.client.federation import Federation, holding
from tests.client.test_multi_label import label_rows

HALVES = [0.0] * 4 + [1.0] * 4


def clusters(**changes: Any) -> PlanOptions:
    return options(**{"mechanism": NoiseCluster(sigma=2.0), "adjacency": "label", "clusters": 2} | changes)


@pytest.fixture
def halves(federation: Federation) -> Federation:
    """Give the pool two clusters, and every party its records; those of the first have one class."""
    federation.write_pool(HALVES)
    X = pool(federation)
    for party in federation.parties.values():
        party.records = holding(X, [2, 2, 2, 2, 0, 1, 0, 1])
    return federation


def pool(federation: Federation) -> np.ndarray:
    task = load_task(federation.site / "task.toml")
    return task.prepare(task.load(federation.pool).X)


def test_every_record_gets_the_label_of_its_cluster(halves: Federation) -> None:
    result = run(halves, clusters())
    assert (result.queries, result.asked, result.answered) == (2, 2, 1)
    assert rows(halves) == [(str(row), "cat", "answered") for row in range(4)] + [
        (str(row), "", "abstained") for row in range(4, 8)
    ]
    assert [request.size for request in halves.guardian.opened] == [2]


def test_the_clusters_are_kept_and_a_student_learns_from_all_their_records(halves: Federation) -> None:
    run(halves, clusters())
    state = load_state(run_of(halves))
    assert len(set(state.clusters[:4])) == len(set(state.clusters[4:])) == 1
    assert set(state.clusters) == {0, 1}
    task = load_task(halves.site / "task.toml")
    released = read_released(task, run_of(halves), halves.pool)
    assert released.rows.tolist() == [0, 1, 2, 3]
    assert released.y.tolist() == [2] * 4


def test_a_report_counts_clusters_and_says_what_they_protect(halves: Federation) -> None:
    run(halves, clusters())
    figures = report(run_of(halves))
    assert (figures["queries"], figures["asked"], figures["answered"]) == (2, 2, 1)
    assert figures["notion"] == "label-DP"


def test_a_run_that_is_resumed_keeps_its_clusters(halves: Federation) -> None:
    halves.guardian.before_release = _fail_once()
    with pytest.raises(OstrakaError):
        run(halves, clusters())
    kept = load_state(run_of(halves))
    assert kept.clusters
    assert not kept.answers()
    result = run(halves, clusters())
    assert result.answered == 1
    assert load_state(run_of(halves)).clusters == kept.clusters
    finished = (run_of(halves) / "session.json").read_bytes()
    assert run(halves, clusters()).answered == 1
    assert (run_of(halves) / "session.json").read_bytes() == finished


def test_a_folder_with_other_clusters_is_not_gone_on_with(halves: Federation) -> None:
    run(halves, clusters())
    before = (run_of(halves) / "session.json").read_bytes()
    with pytest.raises(OstrakaError) as refused:
        run(halves, clusters(clusters=3))
    assert refused.value.code is ErrorCode.RUN_MISMATCH
    assert (run_of(halves) / "session.json").read_bytes() == before


def test_labels_drawn_anew_are_asked_for_all_at_once(halves: Federation) -> None:
    """With an epsilon so large that every label is true."""
    result = run(halves, options(mechanism=RandRes(epsilon=60.0), adjacency="label"))
    assert (result.queries, result.asked) == (8, 8)
    (counts,) = halves.guardian.histograms.values()
    expected = np.zeros((8, 3))
    expected[np.arange(8), [2, 2, 2, 2, 0, 1, 0, 1]] = 3
    (batch,) = load_state(run_of(halves)).batches
    assert np.array_equal(counts, expected[list(batch.queries)])


def test_each_of_records_alike_answers_with_its_own_label(halves: Federation) -> None:
    """Labels of records of the same features differ, and every one of these records is asked about."""
    save(load(halves.pool).take(np.zeros(8, np.int64)), halves.pool)
    asking = options(mechanism=RandRes(epsilon=60.0), adjacency="label")
    planned = plan(halves.site, halves.pool, asking)
    result = run(halves, asking)
    assert (planned.plan.queries, result.queries, result.asked, result.repeated) == (8, 8, 8, 0)


def test_labels_drawn_anew_come_with_the_probability_that_each_is_right(halves: Federation) -> None:
    halves.guardian.alter_answers = lambda answers: [Answer(answered=True, label=2), *answers[1:]]
    run(halves, options(mechanism=RandRes(epsilon=1.0), adjacency="label"))
    given = sorted(label_rows(halves), key=lambda row: row[1])
    right = f"{RandRes(epsilon=1.0).truth(3):.4f}"
    assert [row[1:] for row in given] == [("", "abstained", "")] * 7 + [("cat", "answered", right)]


def test_several_labels_drawn_anew_are_asked_for_together(several: Federation) -> None:
    X = pool(several)
    for party in several.parties.values():
        party.records = holding(X, np.tile([[1, 0, 1], [0, 0, 1]], (5, 1)))
    first = Answer(answered=True, answered_labels=bytes([0b10100000]), positive_labels=bytes([0b00100000]))
    several.guardian.alter_answers = lambda answers: [first, *(Answer(answered=False) for _ in answers[1:])]
    mechanism = RandResLabels(epsilon=400.0)
    result = run(several, options(mechanism=mechanism, adjacency="label", ballots="verified"))
    assert (result.queries, result.asked, result.answered) == (10, 10, 1)
    (counts,) = several.guardian.histograms.values()
    (batch,) = load_state(run_of(several)).batches
    expected = np.tile([[0, 3, 0, 3, 0, 3], [3, 3, 0, 0, 0, 3]], (5, 1))
    assert np.array_equal(counts, expected[list(batch.queries)])
    (given,) = [row for row in label_rows(several) if "answered" in row]
    assert given[1:] == ("0", "", "1", "answered", "1.0000")
    released = read_released(load_task(several.site / "task.toml"), run_of(several), several.pool)
    assert released.y.tolist() == [[0, -1, 1]]
    assert released.error == pytest.approx(mechanism.known_error(1, 3))
    assert released.independent


def test_no_label_is_among_what_a_run_keeps_of_records_that_are_not_released(halves: Federation) -> None:
    run(halves, clusters())
    state = json.loads((run_of(halves) / "session.json").read_text())
    assert [batch["answers"] for batch in state["batches"]] in ([[2, None]], [[None, 2]])


def _fail_once() -> Callable[[], None]:
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OstrakaError(ErrorCode.POLICY_REFUSED, "Refused in a test.")

    return fail
