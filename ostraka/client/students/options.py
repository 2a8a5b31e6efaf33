"""Command-line options that select a student and its training."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import Field

from ostraka.client.students.registry import DOUBTING_STUDENTS, STUDENTS_TEXT, DoubtingStudent
from ostraka.common.console.options import KEY
from ostraka.common.learning.device import AUTO, DeviceName
from ostraka.common.validation import FrozenModel

if TYPE_CHECKING:
    from ostraka.client.students.trainers import Choice

Seed = Annotated[int, typer.Option(min=0, help="Seed of the training.")]


class StudentOptions(FrozenModel):
    """A student and its training."""

    student: str = Field(
        default="supervised",
        description=f"Student: {STUDENTS_TEXT}. Use dp-sgd for a model that you give away.",
    )
    model: str | None = Field(
        default=None,
        description="Model. For supervised: logistic_regression (default), mlp, network, or "
        "module:factory of your own scikit-learn estimator. For every student: "
        "module:factory of your own torch module.",
    )
    steps: int | None = Field(default=None, ge=1, description="Training steps of a network.")
    device: DeviceName = Field(
        default=AUTO,
        description="Device to train a network on: auto (a GPU if there is one), cpu, cuda, cuda:1, mps, or "
        "the UUID of a card or MIG slice.",
    )
    smoothing: Annotated[bool, KEY] = Field(
        default=False, description="Smooth released labels by the mechanism's known error rate."
    )
    log: Annotated[Path | None, KEY] = Field(
        default=None, description="Folder for TensorBoard's event files."
    )
    checkpoint: Annotated[Path | None, KEY] = Field(
        default=None, description="Folder for checkpoints; the same training resumes from them."
    )

    def choice(self, **more: Any) -> "Choice":
        """Return the choice with `more` fields; raise `config.invalid` for options that exclude each
        other."""
        from ostraka.client.students.trainers import Choice

        return Choice(**dict(self), **more)


class OneRunOptions(FrozenModel):
    """Options for labels of a single run: a second student, clusters of the pool, DP-SGD."""

    second_student: DoubtingStudent | None = Field(
        default=None,
        description="Second student, trained on the label that --student predicts for every "
        f"record of the pool, and saved in its place: {DOUBTING_STUDENTS}.",
    )
    clusters: int | None = Field(
        default=None, ge=2, description="For denoise-ssl: number of clusters of the pool."
    )
    clusterer: str | None = Field(
        default=None,
        description="For denoise-ssl: method of clustering: kmeans, simclr or module:factory.",
    )
    student_epsilon: float | None = Field(
        default=None,
        gt=0,
        description="For dp-sgd: epsilon of the student for the records it learns from.",
    )
    student_delta: float | None = Field(
        default=None, gt=0, lt=1, description="For dp-sgd: delta of the student. Default: 1e-5."
    )
