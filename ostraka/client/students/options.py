"""Command-line options that say which student is trained, and how."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import Field

from ostraka.client.students.registry import DOUBTING_STUDENTS, STUDENTS_TEXT, DoubtingStudent
from ostraka.common.console.options import KEY
from ostraka.common.validation import FrozenModel

if TYPE_CHECKING:
    from ostraka.client.students.trainers import Choice

Seed = Annotated[int, typer.Option(min=0, help="Seed of the training.")]


class StudentOptions(FrozenModel):
    """A student, and how it is trained."""

    student: str = Field(
        default="supervised",
        description=f"{STUDENTS_TEXT}. To give away: dp-sgd.",
    )
    model: str | None = Field(
        default=None,
        description="supervised: logistic_regression (default), mlp, network, or module:factory of your own "
        "scikit-learn estimator; every student: module:factory of your own torch module.",
    )
    steps: int | None = Field(default=None, ge=1, description="Steps of a network's training.")
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="Device to train a network on; auto: a GPU if there is one."
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
        """Return the choice, `more` of it given; raise `config.invalid` for what excludes each other."""
        from ostraka.client.students.trainers import Choice

        return Choice(**dict(self), **more)


class OneRunOptions(FrozenModel):
    """What only students of one run's labels do: learn in two steps, by clusters of the pool, by DP-SGD."""

    second_student: DoubtingStudent | None = Field(
        default=None,
        description="Train this one, too, on the label that --student predicts for every record of the pool, "
        f"and save it instead: {DOUBTING_STUDENTS}.",
    )
    clusters: int | None = Field(
        default=None, ge=2, description="denoise-ssl: number of clusters of the pool."
    )
    clusterer: str | None = Field(default=None, description="denoise-ssl: kmeans, simclr or module:factory.")
    student_epsilon: float | None = Field(
        default=None,
        gt=0,
        description="dp-sgd: epsilon of the student for the records it learns from.",
    )
    student_delta: float | None = Field(
        default=None, gt=0, lt=1, description="dp-sgd: delta of the same; 1e-5."
    )
