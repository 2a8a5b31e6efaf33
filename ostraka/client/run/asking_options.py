"""Options of a querying party: which parties are asked, how many queries at a time, and how."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BeforeValidator, Field

from ostraka.client.students.registry import KMEANS
from ostraka.common.console.options import KEY
from ostraka.common.plan.choices import BALLOTS, BASE_TRANSFERS, ENCODING, NOISE, TALLY, VARIANT
from ostraka.common.validation import FrozenModel

BATCH_SIZE = 100
"""Default batch size: a dead batch loses little, and fixed costs per batch are spread over many queries."""
MAX_VERIFIED_WIDTH = 256
"""Maximum counts per query for which ballots are verified by default: the work grows with them."""
MAX_VERIFIED_SUM = 1024
"""Maximum length of a sum that is verified by default: a party then needs some hundredths of a second."""
ENCRYPTED_BATCH_SIZE = 1024
"""Encrypting and evaluating takes as long for one query as for a full ciphertext."""
Adjacency = Literal["record", "label"]


def _names(value: Any) -> Any:
    """Split `a,b,c` into names; return other types unchanged."""
    return tuple(name.strip() for name in value.split(",")) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
"""Names, or text such as a,b,c."""


class AskingOptions(FrozenModel):
    """All options of a plan except its mechanism and amount: parties, batch size, and protocols."""

    quorum: int | None = Field(
        default=None,
        description="Smallest number of parties whose answers are released together. Default: a majority.",
    )
    batch_size: int | None = Field(
        default=None,
        description=f"Queries released together. Default: {BATCH_SIZE}, or "
        f"{ENCRYPTED_BATCH_SIZE} if encrypted. Mechanisms of records, such as "
        "rand_res, release all queries at once.",
    )
    parties: Names | None = Field(
        default=None, description="Answering parties, as a,b,c. Default: all in site.toml."
    )
    adjacency: Adjacency = Field(
        default="record", description="Unit of privacy: record (DP), or label (label-DP)."
    )
    variant: VARIANT = Field(
        default="none",
        description="How records with smaller budgets take part: vanishing (they vote on fewer queries) or "
        "weighting (their votes count less).",
    )
    align: Annotated[bool, KEY] = Field(
        default=False,
        description="Scale noise and thresholds to the number of votes that the guardian "
        "expects; give them as for teachers that share no records.",
    )
    encoding: ENCODING = Field(
        default="plain",
        description="Encoding of queries: plain or ckks (encrypted). The guardian's and every party's policy "
        "must allow it under encodings.",
    )
    tally: TALLY = Field(
        default="aggregate",
        description="Tally: aggregate (the guardian sees sums of votes) or blind (it does not).",
    )
    base_transfers: Annotated[BASE_TRANSFERS, KEY] = Field(
        default="ed25519",
        description="Base transfers of garbled circuits: ed25519, or ml-kem, which protects "
        "recorded messages from later quantum computers.",
    )
    ballots: Annotated[BALLOTS | None, KEY] = Field(
        default=None,
        description="Ballots: verified (guardian and querying party check, without seeing a "
        "ballot, that it holds valid votes; with a party's own noise, that each count can be "
        "votes and bounded noise) or unverified. "
        "Default: verified if "
        f"possible and a query has at most {MAX_VERIFIED_WIDTH} counts.",
    )
    noise: NOISE = Field(
        default="guardian",
        description="Who draws noise: guardian, or parties (each adds its own noise to its ballots; only for "
        "mechanism gnmax).",
    )
    colluders: Annotated[int, KEY] = Field(
        default=0,
        ge=0,
        description="If parties draw the noise: number of parties that may collude. Default: 0.",
    )
    encoder: Annotated[str | None, KEY] = Field(
        default=None,
        description="Public feature encoder of the teachers, module:factory. Default: the one in site.toml.",
    )
    labels: Annotated[Names | None, KEY] = Field(
        default=None, description="Labels to ask about, as a,b,c. Default: all labels of the task."
    )


class ClusterOptions(FrozenModel):
    """Options of clusters, which `noise_cluster` asks about instead of records."""

    clusters: Annotated[int | None, KEY] = Field(
        default=None,
        description="For noise_cluster: number of clusters to divide the pool into; all "
        "sites must know the pool. Default: none, and the pool holds cluster centres.",
    )
    clusterer: Annotated[str, KEY] = Field(
        default=KMEANS, description="Method of clustering: kmeans, simclr, or module:factory."
    )


SiteFolder = Annotated[Path, typer.Option("--site", help="Folder of this querying site.")]
TaskFile = Annotated[
    Path | None, typer.Option("--task", help="Task file. Default: task.toml in the site folder.")
]
PoolFile = Annotated[Path, typer.Option("--pool", help="Records to label: .csv, .parquet, .xlsx or .npz.")]
LabelledFile = Annotated[Path, typer.Option("--labelled", help="This site's own labelled records.")]
Queries = Annotated[
    int | None, typer.Option(help="Number of pool rows to ask about, counted from the first. Default: all.")
]
