"""Teachers trained on the machines of a Ray cluster, group by group."""

import importlib.metadata
import logging
import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import ray
from ray.exceptions import RayError

from ostraka.common.config import split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import AUTO, HOST, Device
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import Progress, TrainingConfig
from ostraka.services.teachers.ensemble import Models, load_models
from ostraka.services.teachers.manifest import TeachersManifest
from ostraka.services.teachers.recipes import FitGroups, fit_of

Files = dict[str, bytes]
"""The files that `Models.save` wrote, by name."""
ADDRESS = "RAY_ADDRESS"
VERSION = importlib.metadata.version("ostraka")
PROBE_S = 10.0
"""Connection timeout in seconds before Ray is called, which would wait for minutes."""
TRIES = 5
"""How often a group is restarted after its worker or machine was lost."""


@dataclass(frozen=True)
class Refused:
    """An OstrakaError sent from another machine."""

    code: ErrorCode
    message: str


def fit_on_ray(received: Path, device: Device = HOST) -> FitGroups:
    """Return a function that trains groups of slices as tasks of the cluster at RAY_ADDRESS.

    A slice is sent to the machine that trains on it. The result is the files that a party stores, below
    `received` until the ensemble is saved, loaded on `device`. A group whose worker is lost is trained again,
    with the same seeds. A task uses the first of the GPUs that Ray assigns to it.

    It raises:
        OstrakaError: `ray.unreachable` if no cluster answers, Ostraka is missing or of another version on it,
            or a group's workers were lost repeatedly; otherwise what training raises.
    """
    return partial(_fit, received, device)


def _fit(
    received: Path,
    device: Device,
    groups: Sequence[Sequence[Slice]],
    manifest: TeachersManifest,
    config: TrainingConfig,
    progress: Progress,
) -> Iterator[Models]:
    """Yield the models of each group of slices, in order.

    If one fails, the others are left to end with this process: Ray crashes it if a task is cancelled while it
    is sent to a worker.
    """
    if not groups:
        return
    _connect()
    train = ray.remote(_train).options(max_retries=TRIES)
    tasks = [train.remote(list(group), manifest.model_dump_json(), config, VERSION) for group in groups]
    for done, task in enumerate(tasks, start=1):
        files = _result(task)
        progress(done, len(tasks))
        yield _read(files, received / str(done), manifest, len(groups[done - 1]), device)


def _connect() -> None:
    """Connect until this process ends: Ray may crash processes that reconnect repeatedly."""
    address = os.environ.get(ADDRESS, "auto")
    try:
        if address != "auto":
            host, port = split_address(address.removeprefix("ray://"))
            # Ray would retry for minutes.
            socket.create_connection((host, port), PROBE_S).close()
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError, RayError) as exc:
        raise OstrakaError(
            ErrorCode.RAY_UNREACHABLE,
            f"No Ray cluster answers at {address}: start one (`ray start --head`) or name it in {ADDRESS}, or"
            " train without --on ray.",
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
    """Return the files of one group's models, or the error; runs on the cluster."""
    try:
        _require(version)
        wanted = TeachersManifest.model_validate_json(manifest)
        models = fit_of(wanted, config, Device(AUTO))(slices, lambda done, total: None)
    except OstrakaError as error:
        return Refused(error.code, error.message)
    with tempfile.TemporaryDirectory() as folder:
        models.save(Path(folder))
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def _require(version: str) -> None:
    if version != VERSION:
        raise OstrakaError(
            ErrorCode.RAY_UNREACHABLE,
            f"The Ray cluster has ostraka {VERSION} and this machine {version}; install the same on both.",
        )


def _read(files: Files, folder: Path, manifest: TeachersManifest, teachers: int, device: Device) -> Models:
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return load_models(folder, manifest.model_copy(update={"teachers": teachers}), device)
