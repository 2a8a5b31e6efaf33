"""What a simulation is told of its data: which records, who holds them, and who gets how many."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ostraka.common.console.options import KEY
from ostraka.deploy.simulation.defaults import TaskKind
from ostraka.deploy.simulation.schemes import Scheme


class DataSettings(BaseModel):
    """Settings of records.

    ``split`` says which records a party holds: ``similarity`` percent of them at random and the others
    sorted by label, a Dirichlet of ``alpha``, or ``by`` a column. ``queries`` is the size of the pool;
    noise_cluster asks for ``clusters`` of it instead of its records.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    data: str = Field(default="digits", description="digits, or a .csv, .parquet, .xlsx or .npz file.")
    label: str = Field(default="label", description="Label column of a table; several with commas.")
    task_file: str | None = Field(
        default=None, description="The task of the records; default: proposed from all of them."
    )
    task: TaskKind | None = Field(
        default=None, description="single or multilabel; default: whichever the data are."
    )
    split: Scheme = Field(
        default="iid",
        description="Split of records among parties: iid (default), label-sorted, dirichlet or column.",
    )
    similarity: float | None = Field(
        default=None, ge=0, le=100, description="label-sorted: percentage of records shared out at random."
    )
    alpha: float | None = Field(
        default=None,
        ge=1e-3,
        le=1e6,
        description="dirichlet: concentration; small values make parties differ.",
    )
    by: Annotated[str | None, KEY] = Field(
        default=None, description="column: name of the column; every party gets a range of its values."
    )
    parties: int = Field(default=5, ge=2, le=100, description="Number of answering parties.")
    labelled: int = Field(default=40, ge=1, description="Labelled records of the querying party.")
    queries: int = Field(
        default=300,
        ge=1,
        description="Size of the querying party's unlabelled pool.",
    )
    clusters: int = Field(default=30, ge=1, description="noise_cluster, denoise-ssl: clusters of the pool.")
