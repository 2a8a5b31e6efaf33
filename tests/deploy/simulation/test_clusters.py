import numpy as np

from ostraka.common.datasets import from_arrays
from ostraka.common.task import infer_task
from ostraka.deploy.simulation.querying_party import members, representatives

CENTRES = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
GROUPS = np.arange(60) % 3
POOL = from_arrays(CENTRES[GROUPS] + np.random.default_rng(0).integers(0, 4, (60, 2)), GROUPS)
TASK = infer_task(POOL, "heaps")


def test_every_heap_is_asked_by_one_of_its_own_records() -> None:
    rows = representatives(POOL, TASK, 3, seed=0)
    assert sorted(GROUPS[rows]) == [0, 1, 2]
    TASK.check(POOL.take(rows))


def test_records_belong_to_the_representative_of_their_heap() -> None:
    rows = representatives(POOL, TASK, 3, seed=0)
    np.testing.assert_array_equal(GROUPS[rows][members(POOL, TASK, rows)], GROUPS)


def test_as_many_clusters_as_records_ask_each_once() -> None:
    apart = from_arrays(np.arange(8.0)[:, None], np.arange(8) % 2)
    rows = representatives(apart, infer_task(apart, "line"), 8, seed=0)
    assert rows.tolist() == list(range(8))
