from dataclasses import replace
from pathlib import Path

import pytest

from ostraka.common.datasets import Dataset, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import TableInput, Task, load_task, write_task
from ostraka.deploy.simulation.processes import ChildCommand
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.training import train
from tests.e2e.sites import SETTINGS, Sites

ODD = SETTINGS.sites[0]


def swapped(data: Dataset) -> Dataset:
    """Return the same records with the columns 20 and 21 in the other order."""
    order = list(range(len(data.columns)))
    order[20], order[21] = 21, 20
    columns = tuple(data.columns[i] for i in order)
    return replace(data, X=data.X[:, order], columns=columns, shape=None)


def as_table(task: Task, data: Dataset) -> Task:
    """Return a task over named columns, in the order in which these records hold them."""
    columns = tuple({"name": name, "dtype": "float32", "min": 0, "max": 16} for name in data.columns)
    table = TableInput.model_validate({"kind": "table", "preprocessing": "range", "columns": columns})
    return task.model_copy(update={"input": table})


@pytest.fixture
def odd(sites: Sites) -> Sites:
    """Tables everywhere, and one party whose export has two columns in the other order."""
    flat = replace(sites.split.pool, shape=None)
    task = as_table(sites.task, flat)
    for site, shard in zip(SETTINGS.sites, sites.split.shards, strict=True):
        folder = sites.folder / site
        write_task(task, folder / "task.toml")
        save(replace(shard, shape=None), folder / "data.npz")
    write_task(task, sites.folder / "query/task.toml")
    save(flat, sites.folder / "query/pool.npz")
    save(swapped(sites.split.shards[0]), sites.folder / ODD / "data.npz")
    return sites


@pytest.mark.parametrize("command", ["check", "train"])
def test_a_site_with_its_columns_in_another_order_is_told_which(odd: Sites, command: str) -> None:
    child = odd.processes.start(ChildCommand(command, ["party", command, "--site", str(odd.folder / ODD)]))
    assert child.process.wait() == 2
    said = child.log.read_text()
    assert f"error [{ErrorCode.TASK_MISMATCH}]" in said
    assert "x21" in said
    assert "Traceback" not in said


def test_a_site_that_wrote_a_task_of_its_own_never_answers(odd: Sites) -> None:
    for site in SETTINGS.sites:
        retrain(odd, site, load_task(odd.folder / site / "task.toml"), odd.split.shards[0])
    own = as_table(odd.task, swapped(odd.split.shards[0]))
    retrain(odd, ODD, own, swapped(odd.split.shards[0]))
    odd.start()
    with pytest.raises(OstrakaError, match=ODD) as caught:
        odd.label()
    assert caught.value.code == ErrorCode.TASK_MISMATCH
    assert set(odd.charged().values()) == {0}


def retrain(sites: Sites, site: str, task: Task, data: Dataset) -> None:
    folder: Path = sites.folder / site
    write_task(task, folder / "task.toml")
    config = TrainingConfig(teachers=SETTINGS.teaching.teachers, model=SETTINGS.teaching.model)
    train(replace(data, shape=None), task, config, seed=0).save(folder / "teachers")
