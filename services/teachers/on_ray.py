"""Teachers trained on the machines of a Ray cluster, group by group."""

import importlib.metadata
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ray
from ray.exceptions import RayError

from common.errors import ErrorCode, OstrakaError
from services.teachers.config import Progress, TrainingConfig
from services.teachers.ensemble import Models, load_models
from services.teachers.manifest import TeachersManifest
from services.teachers.recipes import estimators, networks
from services.teachers.slices import Slice

Files = dict[str, bytes]
"""What `Models.save` wrote, by file name."""
ADDRESS = "RAY_ADDRESS"
TRIES = 5
"""How often a group is begun again whose worker or machine was lost."""


@dataclass(frozen=True)
class Refused:
    """An OstrakaError on its way from another machine."""

    code: ErrorCode
    message: str


def fit_on_ray(
    groups: Sequence[Sequence[Slice]], manifest: TeachersManifest, config: TrainingConfig, progress: Progress
) -> Iterator[Models]:
    """Models of each group of slices, in order, trained as tasks of the cluster at RAY_ADDRESS.

    A slice travels to the machine that trains on it; what comes back are the files that a party keeps.
    A group whose worker is lost is trained again, by the same seeds.

    Raises:
        OstrakaError: `ray.unreachable` where no cluster answers, another version of Ostraka or none is
            installed on it, or a group's workers were lost again and again; otherwise what training raises.
    """
    _connect()
    train = ray.remote(_train).options(max_retries=TRIES)
    version = importlib.metadata.version("ostraka")
    tasks = [train.remote(list(group), manifest.model_dump_json(), config, version) for group in groups]
    try:
        for done, task in enumerate(tasks, start=1):
            files = _result(task)
            progress(done, len(tasks))
            yield _read(files, manifest, len(groups[done - 1]))
    finally:
        for task in tasks:
            ray.cancel(task, force=True)
        ray.shutdown()


def _connect() -> None:
    try:
        ray.init(address=os.environ.get(ADDRESS, "auto"), log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError, RayError) as exc:
        raise OstrakaError(
            ErrorCode.RAY_UNREACHABLE,
            f"No Ray cluster answers: start one (`ray start --head`) or name it in {ADDRESS}, or train"
            " without --on ray.",
        ) from exc


def _result(task: "ray.ObjectRef[Files | Refused]") -> Files:
    try:
        result = ray.get(task)
    except RayError as exc:
        raise OstrakaError(
            ErrorCode.RAY_UNREACHABLE,
            f"The Ray cluster lost a group of teachers: {type(exc).__name__}; look at its workers, install"
            " the same version of Ostraka on all of them, and run again: finished groups are kept.",
        ) from exc
    if isinstance(result, Refused):
        raise OstrakaError(result.code, result.message)
    return result


def _train(slices: Sequence[Slice], manifest: str, config: TrainingConfig, version: str) -> Files | Refused:
    """The files of one group's models, or why there are none; runs on the cluster."""
    try:
        _require(version)
        wanted = TeachersManifest.model_validate_json(manifest)
        fit = (networks if wanted.library == "torch" else estimators)(wanted, config)
        models = fit(slices, lambda done, total: None)
    except OstrakaError as error:
        return Refused(error.code, error.message)
    with tempfile.TemporaryDirectory() as folder:
        models.save(Path(folder))
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def _require(version: str) -> None:
    found = importlib.metadata.version("ostraka")
    if found != version:
        raise OstrakaError(
            ErrorCode.RAY_UNREACHABLE,
            f"The Ray cluster has ostraka {found} and this machine {version}; install the same on both.",
        )


def _read(files: Files, manifest: TeachersManifest, teachers: int) -> Models:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        return load_models(Path(folder), manifest.model_copy(update={"teachers": teachers}))
