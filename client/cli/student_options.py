"""Command-line options that say which student is trained, and how."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer


class ModelName(StrEnum):
    """Models of the supervised student."""

    LOGISTIC_REGRESSION = "logistic_regression"
    MLP = "mlp"
    NETWORK = "network"


class DeviceName(StrEnum):
    """Where networks are trained."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"

    @property
    def chosen(self) -> Literal["auto", "cpu", "cuda"]:
        """The same as a choice holds it."""
        match self:
            case DeviceName.CPU:
                return "cpu"
            case DeviceName.CUDA:
                return "cuda"
        return "auto"


Student = Annotated[
    str,
    typer.Option(
        "--student",
        help="supervised, vat, mixmatch, fixmatch; of labels drawn at random ldp-normal, ldp-ssl, "
        "denoise-ssl, aug-descent.",
    ),
]
Model = Annotated[ModelName | None, typer.Option(help="supervised: what is trained; logistic_regression.")]
Steps = Annotated[int | None, typer.Option(min=1, help="Steps of a network's training.")]
Device = Annotated[DeviceName, typer.Option(help="Where a network is trained.")]
Smoothing = Annotated[
    bool, typer.Option(help="Take released labels for wrong as often as their mechanism may be.")
]
Log = Annotated[Path | None, typer.Option("--log", help="Folder for TensorBoard's event files.")]
Checkpoint = Annotated[
    Path | None, typer.Option("--checkpoint", help="Folder for checkpoints; the same training goes on there.")
]
Clusters = Annotated[int | None, typer.Option(min=2, help="denoise-ssl: clusters of the pool.")]
Clusterer = Annotated[str | None, typer.Option(help="denoise-ssl: kmeans, simclr or module:factory.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the training.")]
