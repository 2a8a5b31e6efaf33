"""A run that meets no trouble, and what its files hold."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from ostraka.client.run.labelling import LabellingRun, LabelResult, label
from ostraka.client.session.run_state import load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Confident
from ostraka.common.task import load_task, write_task
from tests.client.driving import QUICK, options, right, rows, run, run_of, session_of
from tests.client.federation import TEACHERS, Federation


@pytest.mark.heavy
def test_every_query_gets_its_label_in_batches_of_the_plan(either: Federation) -> None:
    result = run(either)
    assert (result.queries, result.asked, result.answered, result.unasked) == (10, 10, 10, 0)
    assert (result.enforce, result.bound) == ("worst_case", "worst_case")
    assert rows(either) == right(10)
    assert [request.size for request in either.guardian.opened] == [4, 4, 2]
    assert either.guardian.closed == [session_of(either)]


def test_the_sum_that_is_sent_makes_the_true_histogram(federation: Federation) -> None:
    run(federation)
    classes = np.concatenate([counts.argmax(axis=1) for counts in federation.guardian.histograms.values()])
    asked = [row for batch in load_state(run_of(federation)).batches for row in batch.queries]
    assert classes.tolist() == [row % 3 for row in asked]
    assert all(
        set(np.unique(counts)) == {0, 3 * TEACHERS} for counts in federation.guardian.histograms.values()
    )


def test_an_abstention_is_told_apart_from_a_query_that_was_not_asked(either: Federation) -> None:
    either.parties["b"].dissents = True
    unanimous = Confident(sigma1=10.0, sigma2=5.0, threshold=9.0)
    result = run(either, options(queries=8, mechanism=unanimous))
    assert (result.asked, result.answered, result.abstained) == (8, 5, 3)
    statuses = [status for _, _, status in rows(either)]
    assert statuses == ["answered", "abstained", "answered"] * 2 + ["answered", "abstained"] + ["unasked"] * 2


@pytest.mark.heavy
def test_progress_is_told_after_every_batch(federation: Federation) -> None:
    told: list[LabelResult] = []
    run(federation, on_progress=told.append)
    assert [result.asked for result in told] == [0, 4, 8, 10]


def test_a_finished_run_is_told_again_without_asking_anybody(federation: Federation) -> None:
    first = run(federation)
    for name in tuple(federation.servers):
        federation.stop(name)
    assert run(federation) == first


@pytest.mark.heavy
def test_only_the_parties_of_the_plan_are_asked(either: Federation) -> None:
    run(either, options(parties=("c", "a")))
    assert not either.parties["b"].voted
    assert set(map(tuple, either.guardian.frozen.values())) == {("a", "c")}


def test_neither_seed_nor_share_nor_sum_is_written(federation: Federation) -> None:
    run(federation)
    written = b"".join(path.read_bytes() for path in run_of(federation).iterdir())
    secrets = [seed for party in federation.parties.values() for seed in party.replies.values()]
    secrets += [total for sums in federation.guardian.sums.values() for total in sums]
    assert len(secrets) == 12
    for secret in secrets:
        assert secret[:16] not in written
        assert secret[:16].hex().encode() not in written


def test_a_batch_is_durable_before_its_ticket_is_asked(federation: Federation) -> None:
    seen: list[tuple[int, tuple[int, ...]]] = []

    def look(_: object) -> None:
        last = load_state(run_of(federation)).batches[-1]
        seen.append((last.id, last.queries))

    federation.guardian.on_batch = look
    run(federation)
    assert seen == [(batch.id, batch.queries) for batch in load_state(run_of(federation)).batches]
    assert [(number, len(queries)) for number, queries in seen] == [(1, 4), (2, 4), (3, 2)]


@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({"parties": ("a", "zoe")}, ErrorCode.PARTY_UNKNOWN, "zoe"),
        ({"queries": 11}, ErrorCode.PLAN_INVALID, "a pool of 10"),
        ({"quorum": 4}, ErrorCode.PLAN_INVALID, "a quorum of 4"),
        ({"batch_size": 0}, ErrorCode.PLAN_INVALID, "batch_size"),
    ],
)
def test_impossible_plans_are_refused(
    federation: Federation, changes: dict[str, object], code: ErrorCode, told: str
) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        run(federation, options(**changes))
    assert refused.value.code is code
    assert not (run_of(federation) / "session.json").exists()


def test_the_quorum_is_a_majority_unless_said(federation: Federation) -> None:
    run(federation, options(quorum=None))
    assert load_state(run_of(federation)).parse_plan().quorum == 2


def test_the_state_is_plain_json(federation: Federation) -> None:
    run(federation)
    stored = json.loads((run_of(federation) / "session.json").read_text())
    assert [batch["status"] for batch in stored["batches"]] == ["released"] * 3
    assert stored["closed"] is True


def test_the_ids_of_a_table_come_back_beside_the_labels(federation: Federation) -> None:
    task = load_task(federation.site / "task.toml")
    write_task(task.model_copy(update={"id": "leaf"}), federation.site / "task.toml")
    pool = federation.root / "pool.csv"
    values = task.load(federation.pool).X
    table = pa.table({name: values[:, index] for index, name in enumerate(task.columns)})
    names = [f"0{row}" for row in range(len(values))]
    pyarrow.csv.write_csv(table.append_column("leaf", pa.array(names)), pool)
    label(federation.site, pool, options(), run_of(federation), run=LabellingRun(retry=QUICK))
    with (run_of(federation) / "labels.csv").open(newline="") as file:
        found = [(row["leaf"], row["label"], row["status"]) for row in csv.DictReader(file)]
    assert found == [(f"0{row}", *rest) for row, *rest in right(len(values))]
