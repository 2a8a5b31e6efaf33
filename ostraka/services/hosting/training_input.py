"""Input of teacher training: the table [training] of site.toml, the task and the records."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from ostraka.common.config import load_section, require_role
from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
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
    """All that a training needs to know.

    Attributes:
        site: the site folder.
        task: what is classified.
        section: how teachers are trained.
        records: the party's own.
        public: nobody's, on which thresholds are tuned; none: each teacher's own slice.
        shared: records whose features all sites know, from which teachers learn by FixMatch; none: they do
            not.
        persons: whose the records are, or their ids; none: the task names no id.
        votes_per_person: what the party declares that one person changes of a query's votes.
    """

    site: Path
    task: Task
    section: TrainingSection
    records: Dataset
    public: Dataset | None
    shared: Dataset | None = None
    persons: Persons | None = None
    votes_per_person: int = 1

    @classmethod
    def load(cls, site: Path, data: Source | None, task_file: Path | None, **given: object) -> Self:
        """Load what the site folder says, or what the caller says instead: `given`, unless it is None.

        Records in memory are taken instead of a file. Paths in [training] are relative to the site.

        Raises:
            OstrakaError: `config.invalid` naming the wrong key or option, or for a person with more records
                than may count, `data.*`, `task.mismatch`.
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
        )


def _states_teachers(site: Path, given: dict[str, object]) -> bool:
    """Whether somebody says how many teachers there are."""
    in_file = load_section(site, "training", TrainingSection).model_fields_set
    return "teachers" in in_file or given.get("teachers") is not None


def _for_target(task: Task, section: TrainingSection, *, stated: bool) -> TrainingSection:
    """Return the section without teachers where the task has a number as its target, and nobody asks for any.

    Raises `task.numeric` where somebody does.
    """
    if task.target is None or (stated and section.teachers == 0):
        return section
    if stated:
        task.require_classes("a teacher")
    return section.model_copy(update={"teachers": 0})


def _section(site: Path, data: Path | None, given: dict[str, object]) -> TrainingSection:
    section = load_section(site, "training", TrainingSection)
    kept = {key: value for key, value in given.items() if value is not None}
    # An option for one of the two takes the other out of the file: they exclude each other.
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
