"""Input of teacher training: the table [training] of site.toml, the task and the records."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from ostraka.common.config import load_section, require_role
from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import HOST, Device
from ostraka.common.task import Source, Task, load_task
from ostraka.common.task.checks import require_labels
from ostraka.common.task.persons import Persons
from ostraka.common.validation import problem_text
from ostraka.services.admission.policy import PartyPolicy, PartySection
from ostraka.services.hosting.contributions import check_policy
from ostraka.services.teachers.config import TrainingSection, is_file
from ostraka.services.teachers.preparation import abstentions


@dataclass(frozen=True)
class TrainingInput:
    """Everything that a training needs.

    Attributes:
        site: the site folder.
        task: the task.
        section: the training settings.
        records: the party's own.
        public: public records, on which thresholds are tuned; None: each teacher's own slice.
        shared: records whose features all sites know, from which teachers learn by FixMatch; None: they do
            not.
        persons: the persons of the records, or their ids; None: the task names no id.
        votes_per_person: declared number of a query's votes that one person changes.
        device: where teachers learn.
    """

    site: Path
    task: Task
    section: TrainingSection
    records: Dataset
    public: Dataset | None
    shared: Dataset | None = None
    persons: Persons | None = None
    votes_per_person: int = 1
    device: Device = HOST

    @classmethod
    def load(cls, site: Path, data: Source | None, task_file: Path | None, **given: object) -> Self:
        """Load the settings of the site folder; values in `given` that are not None replace them.

        Records in memory can replace a file. Paths in [training] are relative to the site.

        Raises:
            OstrakaError: `config.invalid` with the invalid key or option, or for a person with too many
                records; `data.*`, `task.mismatch`.
        """
        require_role(site, "party")
        file = Path(data) if isinstance(data, Path | str) else None
        section = _section(site, file, given)
        party = load_section(site, "party", PartySection)
        task = load_task(task_file or site / party.task)
        section = _for_target(task, section, stated=_states_teachers(site, given))
        abstentions(task, section.abstains)
        public = section.threshold_data
        shared = section.shared_features
        source = section.required_data if data is None or file else data
        records = task.records(source, ignored=section.abstains)
        if section.model is None or not is_file(section.model):
            require_labels(task.labels, records, source)
        policy = load_section(site, "policy", PartyPolicy)
        persons = check_policy(task, records, policy, party.max_votes_per_person)
        return cls(
            site=site,
            task=task,
            section=section,
            records=records,
            public=task.load(public, ignored=section.abstains) if public else None,
            shared=task.load(shared, ignored=section.abstains) if shared else None,
            persons=persons,
            votes_per_person=party.max_votes_per_person,
            device=party.open_device(),
        )


def _states_teachers(site: Path, given: dict[str, object]) -> bool:
    """Whether the number of teachers is stated anywhere."""
    in_file = load_section(site, "training", TrainingSection).model_fields_set
    return "teachers" in in_file or given.get("teachers") is not None


def _for_target(task: Task, section: TrainingSection, *, stated: bool) -> TrainingSection:
    """Return the section without teachers if the task has a numeric target and no number is stated.

    Raises `task.numeric` if teachers are stated.
    """
    if task.target is None or (stated and section.teachers == 0):
        return section
    if stated:
        task.require_classes("a teacher")
    return section.model_copy(update={"teachers": 0})


def _section(site: Path, data: Path | None, given: dict[str, object]) -> TrainingSection:
    section = load_section(site, "training", TrainingSection)
    kept = {key: value for key, value in given.items() if value is not None}
    # An option for one of the two removes the other from the file's settings: they exclude each other.
    other = dict.fromkeys(("model", "head")) if {"model", "head"} & kept.keys() else {}
    files = {
        "data": data or (section.data and site / section.data),
        "threshold_data": section.threshold_data and site / section.threshold_data,
        "shared_features": section.shared_features and site / section.shared_features,
    }
    try:
        return TrainingSection.model_validate(section.model_dump() | other | kept | files)
    except ValidationError as exc:
        first = exc.errors()[0]
        option = str(first["loc"][0]).replace("_", "-")
        problem = problem_text(first)
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"--{option}: {problem}.") from exc
