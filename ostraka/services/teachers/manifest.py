"""Contents of a folder of teachers, its manifest.json: their groups of records, and the teachers of each."""

from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ostraka.common.crypto.logits import Head
from ostraka.common.datasets.consent import Level
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.teachers.config import TrainingConfig, Tuning, Variant
from ostraka.services.teachers.options import Together

GROUP = "all"
"""Name of the single group of records without consent levels."""
ALL = slice(None)
"""Every teacher's row."""
_GroupCount = Annotated[int, Field(ge=1)]


class GroupRecord(BaseModel):
    """The records of one consent level, described.

    Attributes:
        name: the level, or `all`.
        records: number of records.
        teachers: number of teachers trained on them; if teachers are mixed, all of the party's.
        copies: number of teachers that each record of the group was given to; 1 if there are no copies.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Level
    records: _GroupCount
    teachers: Annotated[int, Field(ge=0)]
    copies: _GroupCount = 1


@dataclass(frozen=True)
class TeacherCohort:
    """Teachers that vote on the same queries, and the groups whose records they were trained on.

    Attributes:
        groups: names.
        rows: the teachers' rows in a matrix of votes (teachers, Q).
    """

    groups: tuple[str, ...]
    rows: slice


_FILE = "manifest.json"
_Count = Annotated[int, Field(ge=1)]
Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
"""SHA-256, hexadecimal; empty if there is nothing to digest."""


class TeachersManifest(BaseModel):
    """A description of a trained ensemble.

    Attributes:
        teachers: number of models, each with one vote; 0: the records answer only sums.
        records: number of records they were trained on.
        model: built-in name or factory of every model.
        library: the library of the models; "none" without models.
        training: model and version, for people.
        task_digest: the task's digest, hexadecimal.
        seed: of slices and training.
        config: the settings; None if the file does not contain them.
        data_sha256: digest of the records, their labels and consent levels, hexadecimal.
        slices_sha256: digest of which records each teacher was trained on, hexadecimal.
        slice_sizes: number of these records, by teacher.
        classes: number of classes, or of labels; 1 if a number is learned.
        multi_label: whether a vote is a score for every label, not a class.
        shape: shape of one record.
        constants: by teacher, the class that it always votes for: the only one of its slice.
        variant: how different consent levels are used.
        mixed: whether teachers were trained on records of all groups; otherwise each on one group's, and
            teachers are ordered as the groups are.
        head: how the teachers are evaluated on encrypted queries; empty if they cannot be.
        encoder: the public network that encodes their input; empty: none. `shape` is then that of its
            features.
        encoder_sha256: the digest of its weights, hexadecimal.
        files: digest of every exported model's file, hexadecimal, by teacher; empty for teachers trained
            here.
        thresholds: whether teachers have their own thresholds, in a file next to this one.
        together: how they learned with other parties' teachers; empty if they learned alone.
        abstains: indices of labels on which the teachers do not vote, in rising order.
        shared_features: whether the teachers learned from features of records that all sites know, and only
            from labels of their own.
        shared_sha256: digest of those prepared features, hexadecimal.
        persons: number of different ids of the records: records of one id went to the same teachers; 0: no
            ids.
        whole_persons: whether each of these ids is a person, according to the task.
        groups: the records that share a budget; one group `all` if the file names none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    teachers: Annotated[int, Field(ge=0)]
    records: _Count
    model: str
    library: Literal["torch", "sklearn", "exported", "none"]
    training: str
    task_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    seed: Annotated[int, Field(ge=0)]
    config: TrainingConfig | None = None
    data_sha256: Digest = ""
    slices_sha256: Digest = ""
    slice_sizes: tuple[_Count, ...] = ()
    classes: _Count
    multi_label: bool = False
    shape: Annotated[tuple[_Count, ...], Field(min_length=1)]
    constants: dict[int, int] = Field(default_factory=dict)
    variant: Variant = "none"
    mixed: bool = True
    head: Head | Literal[""] = ""
    encoder: str = ""
    encoder_sha256: Digest = ""
    files: tuple[Digest, ...] = ()
    thresholds: Tuning = "none"
    together: Together | Literal[""] = ""
    abstains: tuple[Annotated[int, Field(ge=0)], ...] = ()
    shared_features: bool = False
    shared_sha256: Digest = ""
    persons: Annotated[int, Field(ge=0)] = 0
    whole_persons: bool = False
    groups: tuple[GroupRecord, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_one_group(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "groups" in values:
            return values
        group = {"name": GROUP, "records": values.get("records"), "teachers": values.get("teachers")}
        return values | {"groups": (group,)}

    @model_validator(mode="after")
    def _complete(self) -> Self:
        teachers = [group.teachers for group in self.groups]
        whole = set(teachers) == {self.teachers} if self.mixed else sum(teachers) == self.teachers
        if (self.library == "none") != (self.teachers == 0):
            raise ValueError("there are models and no teachers, or teachers and no models")
        if self.classes < 2 and self.teachers:
            raise ValueError("teachers tell at least 2 classes apart")
        if not whole or sum(group.records for group in self.groups) != self.records:
            raise ValueError("the groups do not add up to the records and teachers")
        if len(self.files) != (self.teachers if self.library == "exported" else 0):
            raise ValueError("there are not as many files as exported models")
        return self

    @property
    def cohorts(self) -> tuple[TeacherCohort, ...]:
        """The teachers that vote together: all if they are mixed, else those of each group."""
        if self.mixed:
            return (TeacherCohort(tuple(group.name for group in self.groups), slice(0, self.teachers)),)
        bounds = accumulate((group.teachers for group in self.groups), initial=0)
        return tuple(
            TeacherCohort((group.name,), slice(start, stop))
            for group, (start, stop) in zip(self.groups, pairwise(bounds), strict=True)
        )

    def save(self, folder: Path) -> None:
        """Write the manifest next to the models, readable by the owner only."""
        path = folder / _FILE
        path.touch(mode=0o600)
        path.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "TeachersManifest":
        """Read the manifest; raise `model.invalid` if it is missing or broken."""
        path = folder / _FILE
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError as exc:
            raise OstrakaError(
                ErrorCode.MODEL_INVALID,
                f"There are no trained teachers in {folder}: run `ostraka party train` first.",
            ) from exc
        except (OSError, ValidationError) as exc:
            raise unreadable(path) from exc


def unreadable(path: Path) -> OstrakaError:
    """Return the error for an ensemble's file that is damaged or differs from the manifest."""
    return OstrakaError(
        ErrorCode.MODEL_INVALID,
        f"{path} is damaged or of another ensemble: run `ostraka party train` again.",
    )
