"""Command-line options that say which student is trained, and how."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import Field

from ostraka.client.students.trainers import Choice
from ostraka.common.frozen_model import FrozenModel

Seed = Annotated[int, typer.Option(min=0, help="Seed of the training.")]


class StudentOptions(FrozenModel):
    """A student, and how it is trained."""

    student: str = Field(
        default="supervised",
        description="supervised, vat, mixmatch, fixmatch; of labels drawn at random ldp-normal, ldp-ssl, "
        "denoise-ssl, aug-descent.",
    )
    model: str | None = Field(
        default=None,
        description="supervised: logistic_regression (default), mlp, network, or module:factory of your own "
        "scikit-learn estimator; every student: module:factory of your own torch module.",
    )
    steps: int | None = Field(default=None, ge=1, description="Steps of a network's training.")
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="Device that a network is trained on; auto is a GPU where there is one."
    )
    smoothing: bool = Field(
        default=False, description="Smooth released labels by the mechanism's known error rate."
    )
    log: Path | None = Field(default=None, description="Folder for TensorBoard's event files.")
    checkpoint: Path | None = Field(
        default=None, description="Folder for checkpoints, from which the same training is resumed."
    )

    def choice(self) -> Choice:
        """Return the choice; raise `config.invalid` for options that exclude each other."""
        return Choice(**dict(self))


class RetrainedStudentOptions(StudentOptions):
    """A student of one run's labels, which may be sorted by clusters of the pool."""

    clusters: int | None = Field(
        default=None, ge=2, description="denoise-ssl: number of clusters of the pool."
    )
    clusterer: str | None = Field(default=None, description="denoise-ssl: kmeans, simclr or module:factory.")
