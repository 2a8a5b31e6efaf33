"""Student settings of a simulation: algorithm, rounds, and the labels learned from."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ostraka.client.students.registry import VOTES_STUDENTS, VotesStudent
from ostraka.common.console.options import KEY

LabelDp = Literal["ldp-normal", "ldp-ssl", "denoise-ssl", "aug-descent", "noisecluster", "pate-fm"]

MECHANISM_OF: Mapping[str, str] = {
    "ldp-normal": "rand_res",
    "ldp-ssl": "rand_res",
    "denoise-ssl": "rand_res",
    "aug-descent": "rand_res",
    "noisecluster": "noise_cluster",
}
"""By which mechanism labels come whose features all sites share, one a record; else any of teachers."""
SEVERAL_OF: Mapping[str, str] = {"ldp-normal": "rand_res_labels", "ldp-ssl": "rand_res_labels"}
"""The same where a record has several labels."""
ONE_LABEL = frozenset(MECHANISM_OF) - frozenset(SEVERAL_OF)
"""What learns, or counts, one label a record."""

STUDENT_OF: Mapping[str, VotesStudent] = {"noisecluster": "supervised", "pate-fm": "fixmatch"}
"""Who learns from labels that are not each randomised: any student, where nobody says one of these."""


class StudentSettings(BaseModel):
    """Settings of students.

    ``student`` learns for ``steps`` steps; none named: the model that `query retrain` takes by itself.
    ``label_rounds`` above 1 ask about half of the pool in equal parts: the first drawn at random, each later
    one what the student of those before is least sure of. ``dependencies`` asks
    labels that others imply last, as the querying party's own records show it. ``queriers`` parties, the
    weakest first, ask all others in turn. These three combine. ``label_dp`` shares the features of all
    records and keeps labels alone secret; ``label_epsilon`` is what one record's randomised label may tell.
    ``student_epsilon`` at ``student_delta`` is what a student by DP-SGD may tell of a record that it learns
    from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    student: VotesStudent | None = Field(default=None, description=f"Student: {VOTES_STUDENTS}.")
    student_epsilon: float | None = Field(
        default=None, gt=0, description="dp-sgd: epsilon of the student for the records it learns from."
    )
    student_delta: Annotated[float | None, KEY] = Field(
        default=None, gt=0, lt=1, description="dp-sgd: delta of the same; default 1e-5."
    )
    steps: int | None = Field(default=None, ge=1, description="Training steps of the student, a network.")
    label_rounds: int = Field(
        default=1,
        ge=1,
        description="Number of active-learning rounds; each asks what the last student is least sure of.",
    )
    dependencies: bool = Field(default=False, description="Skip labels implied by answers to others.")
    queriers: int | None = Field(
        default=None,
        ge=1,
        description="Number of querying parties; each in turn asks all others, weakest first.",
    )
    label_dp: LabelDp | None = Field(
        default=None,
        description="Share features, keep labels secret: ldp-normal, ldp-ssl, denoise-ssl, aug-descent, "
        "noisecluster or pate-fm.",
    )
    label_epsilon: float = Field(
        default=2.0, gt=0, description="label-dp: epsilon of a randomized label (label-DP); default 2."
    )

    @model_validator(mode="after")
    def _label_dp_asks_about_all_at_once(self) -> "StudentSettings":
        chosen = {
            "label_rounds": self.label_rounds > 1,
            "dependencies": self.dependencies,
            "queriers": self.queriers is not None,
        }
        asked = [name for name, given in chosen.items() if given]
        if self.label_dp is not None and asked:
            raise ValueError(
                f"label_dp {self.label_dp} releases one label of every record at once, for all to use; "
                f"leave {' and '.join(asked)} out"
            )
        if self.label_dp is not None and self.student is not None and self.label_dp not in STUDENT_OF:
            raise ValueError(f"label_dp {self.label_dp} is a student by itself; leave out student")
        if self.steps is not None and self.learner == "supervised":
            raise ValueError("steps are of students that are networks; name one, such as student vat")
        return self

    @model_validator(mode="after")
    def _private_students_have_budgets(self) -> "StudentSettings":
        private = self.student == "dp-sgd"
        if private and self.student_epsilon is None:
            raise ValueError("student dp-sgd needs student_epsilon, such as 8")
        if not private and (self.student_epsilon, self.student_delta) != (None, None):
            raise ValueError("student_epsilon and student_delta are for student dp-sgd; leave them out")
        if private and (self.label_rounds > 1 or self.dependencies):
            asked = "dependencies" if self.dependencies else "label_rounds"
            raise ValueError(
                f"student dp-sgd covers labels that depend on their own record alone; leave {asked} out"
            )
        return self

    @property
    def learner(self) -> str:
        """The student by the name that `query retrain` knows it by."""
        if self.label_dp is None:
            return self.student or "supervised"
        return self.student or STUDENT_OF.get(self.label_dp) or self.label_dp


def suiting(label_dp: str | None, *, several: bool) -> Mapping[str, Any]:
    """Return settings that go with labels as the only secret; none where `label_dp` is no such way.

    Records have `several` labels, or one.
    """
    if label_dp is None or label_dp not in get_args(LabelDp):
        return {}
    known = SEVERAL_OF if several else MECHANISM_OF
    by = {"mechanism": known[label_dp]} if label_dp in known else {}
    return {"adjacency": "label", **by}
