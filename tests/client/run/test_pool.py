"""Records that repeat are one query, and its answer is that of all of them."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ostraka.client.retraining import collect, read_given
from ostraka.client.run.pool import AskedPool, find_copies
from ostraka.client.run.site import check
from ostraka.client.session.run_state import load_state
from ostraka.common.datasets import load, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import GnMax, Mechanism, NoiseCluster, RandRes, RandResLabels
from ostraka.common.task import NumberColumn, TableInput, Task, load_task
from tests.client.driving import options, run, run_of
from tests.client.driving import rows as labelled
from tests.client.federation import Federation

TASK = Task(
    name="t", id="pid", classes=("a", "b"), input=TableInput(columns=(NumberColumn(name="x", min=0, max=9),))
)
REPEATED = [0, 1, 0, 2, 1, 4]
WORDS = ("ant", "bee", "cat")


def repeat(federation: Federation) -> None:
    """Make the pool one of six records, of which two repeat another."""
    save(load(federation.pool).take(np.array(REPEATED)), federation.pool)


def table(*ids: str | None) -> pa.Table:
    return pa.table({"pid": pa.array(ids, pa.string()), "x": [7] * len(ids)})


@given(
    arrays(np.float32, st.tuples(st.integers(1, 30), st.just(2)), elements=st.sampled_from([0.0, -0.0, 1.0]))
)
def test_a_record_has_the_query_of_the_first_that_is_alike(features: np.ndarray) -> None:
    copies = find_copies(features) or tuple(range(len(features)))
    assert sorted(set(copies)) == list(range(max(copies) + 1))
    for row, query in enumerate(copies):
        same = [other for other in range(len(features)) if (features[other] == features[row]).all()]
        assert {copies[other] for other in same} == {query}
        assert copies.count(query) == len(same)


def test_each_query_is_asked_once_and_answers_all_its_records(federation: Federation) -> None:
    repeat(federation)
    assert check(federation.site, federation.pool).repeated == 2
    result = run(federation)
    assert (result.queries, result.answered, result.repeated) == (4, 4, 2)
    assert sum(request.size for request in federation.guardian.opened) == 4
    assert [label for _, label, _ in labelled(federation)] == [WORDS[row % 3] for row in REPEATED]
    assert run(federation) == result
    task = load_task(federation.site / "task.toml")
    features = task.prepare(task.pool(federation.pool).X)
    released = collect(task, features, read_given(task, run_of(federation), features))
    assert released.rows.tolist() == list(range(len(REPEATED)))
    # One record, replaced, gives all that were like it another record's answer.
    assert not released.independent


def test_so_many_of_the_first_records_are_asked_about(federation: Federation) -> None:
    repeat(federation)
    assert run(federation, options(queries=3)).queries == 2
    assert [status for _, _, status in labelled(federation)] == ["answered"] * 3 + [
        "unasked",
        "answered",
        "unasked",
    ]


def test_a_run_of_an_earlier_version_goes_on_as_it_began(federation: Federation) -> None:
    """It asks about every record, as its plan says, and does not refuse that plan as another."""
    repeat(federation)
    run(federation, options(queries=2))
    path = run_of(federation) / "session.json"
    old = json.loads(path.read_text())
    del old["copies"]
    path.write_text(json.dumps(old | {"version": 7}))
    task = load_task(federation.site / "task.toml")
    pool = AskedPool.load(task, federation.pool, run=run_of(federation))
    assert (len(pool), pool.repeated) == (6, 0)
    assert load_state(run_of(federation)).answers().keys() == {0, 1}


@pytest.mark.parametrize(
    ("ids", "code", "said"),
    [
        (
            ("a", "b", "a", "a"),
            ErrorCode.DATA_SHAPE,
            "2 of 4 records repeat the 'pid' of another record, such as 'a'",
        ),
        (("a", None, ""), ErrorCode.DATA_MISSING, "2 of 3 records have no 'pid'"),
    ],
)
def test_ids_that_tell_no_records_apart_are_refused(
    ids: tuple[str | None, ...], code: ErrorCode, said: str
) -> None:
    with pytest.raises(OstrakaError, match=said) as refused:
        AskedPool.load(TASK, table(*ids))
    assert refused.value.code is code


def test_a_run_over_repeated_records_is_not_resumed_with_another_pool(federation: Federation) -> None:
    repeat(federation)
    run(federation)
    save(load(federation.pool).take(np.arange(3)), federation.pool)
    with pytest.raises(OstrakaError, match="holds a run for another pool") as refused:
        run(federation)
    assert refused.value.code is ErrorCode.RUN_MISMATCH


@pytest.mark.parametrize(
    "mechanism", [NoiseCluster(sigma=5.0), RandRes(epsilon=1.0), RandResLabels(epsilon=1.0)]
)
def test_records_that_labelled_records_answer_count_by_themselves(mechanism: Mechanism) -> None:
    """Those who are alike have different labels, and each of them answers."""
    assert len(AskedPool.load(TASK, table(*"abc"), mechanism)) == 3
    assert len(AskedPool.load(TASK, table(*"abc"), GnMax(sigma=5.0))) == 1
