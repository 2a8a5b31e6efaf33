from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import ray
from typer.testing import CliRunner

from ostraka.common.datasets import Dataset, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task, write_task
from ostraka.services.cli import app
from ostraka.services.teachers import Ensemble, TrainingConfig, on_ray, train
from ostraka.services.teachers import training as resuming
from ostraka.services.teachers.on_ray import ADDRESS, fit_on_ray
from tests.services.folders import party_folder
from tests.services.teachers.factories import HERE
from tests.services.teachers.test_resume import files

pytestmark = pytest.mark.heavy
TEACHERS, GROUP = 8, 2


@pytest.fixture(scope="module")
def kill_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a file kills the first worker that trains a `mortal` network."""
    return tmp_path_factory.mktemp("kill") / "once"


def started(tries: int = 2) -> Any:
    """Return a cluster of one node; skip where a busy machine exceeds the 15 s that Ray allows its agents."""
    from ray._private import node
    from ray.cluster_utils import Cluster

    nodes: list[Any] = []
    honest = node.Node.__init__

    def noted(self: Any, *arguments: Any, **options: Any) -> None:
        nodes.append(self)
        honest(self, *arguments, **options)

    for _ in range(tries):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(node.Node, "__init__", noted)
            try:
                return Cluster(
                    initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
                )
            except Exception as error:
                if "timed out during startup" not in str(error):
                    raise
                nodes[-1].kill_all_processes(check_alive=False, allow_graceful=False)
    pytest.skip("The machine is too busy for Ray to start its agents in the 15 s that it allows.")


@pytest.fixture(scope="module")
def cluster(kill_once: Path) -> Iterator[str]:
    """Start a Ray cluster on this machine that outlives what connects to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KILL_ONCE", str(kill_once))
        running = started()
    yield running.address
    ray.shutdown()  # which a process does not survive once the cluster is gone
    running.shutdown()


@pytest.fixture(autouse=True)
def _on_cluster(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS, cluster)
    monkeypatch.setattr(resuming, "GROUP", GROUP)


def config(model: str) -> TrainingConfig:
    return TrainingConfig.model_validate({"teachers": TEACHERS, "model": model, "epochs": 2})


@pytest.mark.parametrize("model", ["mlp", "random_forest"])
def test_teachers_are_the_same_wherever_they_are_trained(
    model: str, records: Dataset, task: Task, tmp_path: Path
) -> None:
    train(records, task, config(model), seed=3).save(tmp_path / "here")
    train(records, task, config(model), seed=3, fit_groups=fit_on_ray(tmp_path / "received")).save(
        tmp_path / "ray"
    )
    here, there = files(tmp_path / "here"), files(tmp_path / "ray")
    assert there.keys() == here.keys()
    if model == "mlp":
        assert there == here


def test_a_killed_worker_changes_nothing(
    records: Dataset, task: Task, tmp_path: Path, kill_once: Path
) -> None:
    mortal = config(f"{HERE}:mortal")
    train(records, task, mortal, seed=3).save(tmp_path / "here")
    kill_once.touch()
    train(records, task, mortal, seed=3, fit_groups=fit_on_ray(tmp_path / "received")).save(tmp_path / "ray")
    assert not kill_once.exists()
    assert files(tmp_path / "ray") == files(tmp_path / "here")


def test_finished_groups_stay_where_they_are(records: Dataset, task: Task, tmp_path: Path) -> None:
    unfinished, on_cluster = tmp_path / "unfinished", fit_on_ray(tmp_path / "received")
    train(records, task, config("mlp"), seed=3, unfinished=unfinished)
    before = files(unfinished)
    train(records, task, config("mlp"), seed=3, unfinished=unfinished, fit_groups=on_cluster)
    assert files(unfinished) == before
    assert not (tmp_path / "received").exists()


def test_what_a_worker_refuses_is_told_as_if_it_were_refused_here(
    records: Dataset, task: Task, tmp_path: Path
) -> None:
    wrong = replace(records, X=records.X * 1e38)
    with pytest.raises(OstrakaError) as here:
        train(wrong, task, config("mlp"), seed=3)
    with pytest.raises(OstrakaError) as there:
        train(wrong, task, config("mlp"), seed=3, fit_groups=fit_on_ray(tmp_path / "received"))
    assert (there.value.code, there.value.message) == (here.value.code, here.value.message)


def test_another_version_on_the_cluster_is_refused(
    records: Dataset, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "VERSION", "0.0.1")
    with pytest.raises(OstrakaError, match=r"this machine 0\.0\.1") as refused:
        train(records, task, config("mlp"), seed=3, fit_groups=fit_on_ray(tmp_path / "received"))
    assert refused.value.code is ErrorCode.RAY_UNREACHABLE


def test_no_cluster_is_one_clear_sentence(
    records: Dataset, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ADDRESS, "127.0.0.1:1")
    with pytest.raises(OstrakaError, match="No Ray cluster answers") as refused:
        train(records, task, config("mlp"), seed=3, fit_groups=fit_on_ray(tmp_path / "received"))
    assert refused.value.code is ErrorCode.RAY_UNREACHABLE


def test_a_party_trains_on_the_cluster_that_it_names(records: Dataset, task: Task, tmp_path: Path) -> None:
    party_folder(tmp_path)
    save(records, tmp_path / "records.npz")
    write_task(task, tmp_path / "task.toml")
    command = ["train", "--site", str(tmp_path), "--data", str(tmp_path / "records.npz"), "--seed", "3"]
    result = CliRunner().invoke(app, [*command, "--model", "mlp", "--teachers", "3", "--on", "ray"])
    assert result.exit_code == 0, result.exception
    assert Ensemble.load(tmp_path / "teachers").manifest.teachers == 3
    assert not (tmp_path / "teachers.unfinished").exists()
