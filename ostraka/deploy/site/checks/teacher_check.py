"""A party's task, records and teachers."""

from pathlib import Path

from ostraka.common.config import load_section
from ostraka.common.errors import OstrakaError
from ostraka.common.task import Task, load_task
from ostraka.deploy.site.checks.finding import Finding, failed, ok

TASK, TEACHING, RECORDS = "task", "teachers", "records"
TASK_FILE = "task.toml"


def task_file(path: Path) -> Finding:
    """Whether the federation's task is there and readable."""
    try:
        task = load_task(path)
    except OstrakaError as error:
        return failed(TASK, error.message)
    return ok(TASK, f"'{task.name}' has {len(task.columns)} columns and {len(task.classes)} classes.")


def party_task(folder: Path) -> Path:
    """Where a party's task lies; raises config.invalid."""
    from ostraka.services.admission.policy import PartySection

    return folder / load_section(folder, "party", PartySection).task


def teachers(folder: Path) -> Finding:
    """Whether a party's teachers load and were trained for its task."""
    from ostraka.services.teachers import Ensemble
    from ostraka.services.teachers.config import TEACHERS

    if not (folder / TEACHERS).is_dir():
        return failed(TEACHING, "There are no teachers yet; train them with `ostraka party train`.")
    try:
        task = load_task(party_task(folder))
        ensemble = Ensemble.load(folder / TEACHERS)
        ensemble.require_task(task)
    except OstrakaError as error:
        return failed(TEACHING, error.message)
    return ok(TEACHING, f"{ensemble.manifest.teachers} teachers load and fit the task '{task.name}'.")


def records(folder: Path) -> Finding:
    """Whether the records that site.toml names for training, if any, fit the task."""
    from ostraka.services.teachers.config import TrainingSection

    try:
        section = load_section(folder, "training", TrainingSection)
        if section.data is None:
            return ok(RECORDS, "site.toml names no records; `ostraka party train --data` does.")
        return _fit(folder / section.data, load_task(party_task(folder)), section.abstains)
    except OstrakaError as error:
        return failed(RECORDS, error.message)


def _fit(data: Path, task: Task, abstains: tuple[str, ...]) -> Finding:
    found = task.load(data, ignored=abstains)
    return ok(RECORDS, f"{len(found)} records in {data} fit the task '{task.name}'.")
