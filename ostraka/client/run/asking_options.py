"""Options of a querying party: who is asked, how many queries at a time, and how."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BeforeValidator, Field

from ostraka.client.students.registry import KMEANS
from ostraka.common.console.options import KEY
from ostraka.common.plan.choices import BALLOTS, BASE_TRANSFERS, ENCODING, NOISE, TALLY, VARIANT
from ostraka.common.validation import FrozenModel

BATCH_SIZE = 100
"""Queries of a batch: one that dies loses little, and what a batch costs once is spread over many."""
MAX_VERIFIED_WIDTH = 256
"""Counts of a query up to which ballots are verified by default: the work grows with them."""
MAX_VERIFIED_SUM = 1024
"""Values of a sum up to which it is verified by default: that takes a party some hundredths of a second."""
ENCRYPTED_BATCH_SIZE = 1024
"""Encrypting and evaluating takes as long for one query as for all that a ciphertext holds."""
Adjacency = Literal["record", "label"]


def _names(value: Any) -> Any:
    """`a,b,c` as names; anything but text as it is."""
    return tuple(name.strip() for name in value.split(",")) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
"""Names, or text like a,b,c."""


class AskingOptions(FrozenModel):
    """All that a plan says besides its mechanism and how much is asked: who, how many at a time, and how."""

    quorum: int | None = Field(
        default=None, description="Least number of parties released together; default a majority."
    )
    batch_size: int | None = Field(
        default=None,
        description=f"Queries released together; default {BATCH_SIZE}, encrypted {ENCRYPTED_BATCH_SIZE}; "
        "mechanisms of records, such as rand_res, release all at once.",
    )
    parties: Names | None = Field(
        default=None, description="Parties that answer, as a,b,c; default all in site.toml."
    )
    adjacency: Adjacency = Field(
        default="record", description="Unit of privacy: record (DP), or label (label-DP)."
    )
    variant: VARIANT = Field(
        default="none",
        description="Effect of smaller budgets: vanishing (vote on fewer queries) or weighting (count less).",
    )
    align: Annotated[bool, KEY] = Field(
        default=False,
        description="Scale noise and thresholds, chosen for teachers without shared records, to the number "
        "of votes that the guardian expects.",
    )
    encoding: ENCODING = Field(
        default="plain",
        description="Encoding of queries: plain, or ckks (encrypted), if encodings in the guardian's and "
        "every party's policy allow it.",
    )
    tally: TALLY = Field(
        default="aggregate",
        description="Tally: aggregate (the guardian sees sums of votes) or blind (it does not).",
    )
    base_transfers: Annotated[BASE_TRANSFERS, KEY] = Field(
        default="ed25519",
        description="Base transfers of garbled circuits: ed25519, or ml-kem, for messages that somebody "
        "records and keeps until there are quantum computers.",
    )
    ballots: Annotated[BALLOTS | None, KEY] = Field(
        default=None,
        description="Ballots: verified (guardian and querying party check, without seeing them, that every "
        "party's are votes of its teachers, right or wrong, and that noise of its own is bounded) or "
        "unverified; default verified where that is "
        f"possible and a query has at most {MAX_VERIFIED_WIDTH} counts.",
    )
    noise: NOISE = Field(
        default="guardian",
        description="Who draws noise: guardian, or parties (each adds its own before it shares its ballots; "
        "mechanism gnmax).",
    )
    colluders: Annotated[int, KEY] = Field(
        default=0,
        ge=0,
        description="With noise parties: how many parties may collude; default none.",
    )
    encoder: Annotated[str | None, KEY] = Field(
        default=None,
        description="Public feature encoder of the teachers, module:factory; default: as in site.toml.",
    )
    labels: Annotated[Names | None, KEY] = Field(
        default=None, description="Labels to ask about, as a,b,c; default all of the task."
    )


class ClusterOptions(FrozenModel):
    """What clusters are asked about instead of records."""

    clusters: Annotated[int | None, KEY] = Field(
        default=None,
        description="noise_cluster: number of clusters to divide the pool into, which all sites must know; "
        "default none: the pool holds cluster centres.",
    )
    clusterer: Annotated[str, KEY] = Field(
        default=KMEANS, description="Method of clustering: kmeans, simclr, or module:factory."
    )


SiteFolder = Annotated[Path, typer.Option("--site", help="Folder of this querying site.")]
TaskFile = Annotated[Path | None, typer.Option("--task", help="Task file; default task.toml of the site.")]
PoolFile = Annotated[Path, typer.Option("--pool", help="Records to label: .csv, .parquet, .xlsx or .npz.")]
LabelledFile = Annotated[Path, typer.Option("--labelled", help="This site's own labelled records.")]
Queries = Annotated[
    int | None, typer.Option(help="Number of pool rows to ask about, from the first; default all.")
]
