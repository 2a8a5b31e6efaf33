"""Options of a querying party, turned into a plan."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BeforeValidator, Field

from ostraka.client.students.label_dp.clustering import KMEANS
from ostraka.common.console.options import KEY, MakerOf
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism, invalid_plan
from ostraka.common.plan.fields import BALLOTS, ENCODING, RING_BITS, TALLY, VARIANT, VERIFIED_BITS
from ostraka.common.plan.limits import fits_ring, unverifiable
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.task import Task
from ostraka.common.validation import FrozenModel

BATCH_SIZE = 100
"""Queries of a batch: one that dies loses little, and what a batch costs once is spread over many."""
MAX_VERIFIED_WIDTH = 256
"""Counts of a query up to which ballots are verified by default: the work grows with them."""
USUAL_TEACHERS = 100
"""Teachers of a party, on average, that the chosen field of verified ballots has room for."""
ENCRYPTED_BATCH_SIZE = 1024
"""Encrypting and evaluating takes as long for one query as for all that a ciphertext holds."""
Adjacency = Literal["record", "label"]


def _names(value: Any) -> Any:
    """`a,b,c` as names; anything but text as it is."""
    return tuple(name.strip() for name in value.split(",")) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
"""Names, or text like a,b,c."""


class PlanOptions(FrozenModel):
    """A plan's choices; an `encoder` of "" is none.

    Attributes:
        mechanism: how histograms become answers.
        queries: rows of the pool, from the first; None: all.
        clusters: how many to divide the pool into and ask about instead; None: the records are asked about.
        clusterer: how.
    """

    mechanism: Mechanism
    queries: int | None = None
    clusters: int | None = None
    clusterer: str = KMEANS
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
    ballots: Annotated[BALLOTS | None, KEY] = Field(
        default=None,
        description="Ballots: verified (guardian and querying party check, without seeing them, that every "
        "party's are votes of its teachers, right or wrong) or unverified; default verified where that is "
        f"possible and a query has at most {MAX_VERIFIED_WIDTH} counts.",
    )
    encoder: Annotated[str | None, KEY] = Field(
        default=None,
        description="Public feature encoder of the teachers, module:factory; default: as in site.toml.",
    )
    labels: Names | None = Field(
        default=None, description="Labels to ask about, as a,b,c; default all of the task."
    )

    @property
    def confidential(self) -> bool:
        """Whether garbled circuits take part, which fixes the ring."""
        return self.encoding == "ckks" or self.tally == "blind"

    def aligned(self, scale: float) -> "PlanOptions":
        """Return a copy, its mechanism scaled; raise `plan.invalid` unless the scale is a number above 0."""
        return self.model_copy(update={"mechanism": self.mechanism.scaled(scale)})


PlanMaker = Annotated[Callable[..., PlanOptions], MakerOf(PlanOptions)]
"""What a command receives, whose options are who is asked, how many at a time, and how."""


SiteFolder = Annotated[Path, typer.Option("--site", help="Folder of this querying site.")]
TaskFile = Annotated[Path | None, typer.Option("--task", help="Task file; default task.toml of the site.")]
PoolFile = Annotated[Path, typer.Option("--pool", help="Records to label: .npz, .csv or .parquet.")]
LabelledFile = Annotated[Path, typer.Option("--labelled", help="This site's own labelled records.")]


class ClusterOptions(FrozenModel):
    """What clusters are asked about instead of records."""

    clusters: int | None = Field(
        default=None,
        description="noise_cluster: number of clusters to divide the pool into, which all sites must know; "
        "default none: the pool holds cluster centres.",
    )
    clusterer: Annotated[str, KEY] = Field(
        default=KMEANS, description="Method of clustering: kmeans, simclr, or module:factory."
    )


Queries = Annotated[
    int | None, typer.Option(help="Number of pool rows to ask about, from the first; default all.")
]


def make_plan(
    options: PlanOptions,
    task: Task,
    pool_size: int,
    known: Collection[str],
    nonce: bytes,
    encoder_sha256: bytes = b"",
) -> Plan:
    """Return the plan for a pool of `pool_size` queries among `known` parties; `nonce` is 16 random bytes.

    `encoder_sha256` is the digest of the weights of `options.encoder`. Raises `party.unknown` for a party
    without an address here and `plan.invalid` for impossible numbers, or a mechanism that does not fit the
    task, its encoding or its tally.
    """
    parties = tuple(sorted(set(known if options.parties is None else options.parties)))
    for site in parties:
        if site not in known:
            raise OstrakaError(
                ErrorCode.PARTY_UNKNOWN,
                f"Party {site} has no address in site.toml: add it under [parties], or leave it out.",
            )
    queries = _queries(options, pool_size)
    labels = asked_labels(options, task)
    classes = len(labels or task.classes)
    return Plan(
        nonce=nonce,
        task_digest=task.digest,
        classes=classes,
        labels=labels,
        multi_label=task.multi_label,
        mechanism=options.mechanism,
        parties=parties,
        quorum=len(parties) // 2 + 1 if options.quorum is None else options.quorum,
        queries=queries,
        batch_size=queries if options.mechanism.by_record else min(_batch_size(options), queries),
        encoding=options.encoding,
        tally=options.tally,
        ring_bits=_ring_bits(options, len(parties), classes),
        encoder=options.encoder or "",
        encoder_sha256=encoder_sha256,
        adjacency=options.adjacency,
        variant=options.variant,
    )


def _are_verified(options: PlanOptions, classes: int) -> bool:
    """Whether ballots are verified: as asked for, else where they can be at a small cost."""
    if options.ballots is not None:
        return options.ballots == "verified"
    mechanism = options.mechanism
    if mechanism.ballot.verifiable.unit < VOTE or mechanism.width(classes) > MAX_VERIFIED_WIDTH:
        return False
    return unverifiable(mechanism, options.encoding, options.tally, classes) is None


def _ring_bits(options: PlanOptions, parties: int, classes: int) -> RING_BITS:
    """Return the smallest modulus that is known to hold the sums: the guardian alone knows all voters."""
    if not _are_verified(options, classes):
        return 32 if options.confidential else 64
    small, large = VERIFIED_BITS
    roomy = options.mechanism.by_record or not _fits(options.mechanism, small, parties, classes)
    return large if roomy else small


def _fits(mechanism: Mechanism, bits: Literal[31], parties: int, classes: int) -> bool:
    """Whether a field has room for sums of the usual number of teachers, and for a party's norms."""
    claim = mechanism.ballot.claim(1, classes, USUAL_TEACHERS)
    norms_fit = claim is None or claim.largest < PrimeField(bits).prime
    return norms_fit and fits_ring(mechanism, bits, USUAL_TEACHERS * parties)


def _queries(options: PlanOptions, pool_size: int) -> int:
    """How many there are: records of the pool, or the clusters of all of them."""
    if options.clusters is None:
        queries = pool_size if options.queries is None else options.queries
    elif options.mechanism.party_setting != "label_counts" or options.adjacency != "label":
        raise invalid_plan("clusters are for noise_cluster with adjacency label; leave out clusters")
    elif options.queries is not None:
        raise invalid_plan("clusters are asked about all together; leave out queries")
    else:
        queries = options.clusters
    if queries > pool_size:
        raise invalid_plan(f"{queries} queries are asked of a pool of {pool_size}; ask fewer")
    return queries


def asked_labels(options: PlanOptions, task: Task) -> tuple[int, ...]:
    """Return the labels that are asked about, by index (none: all); raise `plan.invalid` for unknown ones."""
    names = task.classes if options.labels is None else options.labels
    unknown = [name for name in names if name not in task.classes]
    if unknown or not names:
        problem = f"the task '{task.name}' has no label '{unknown[0]}'" if unknown else "no label is named"
        raise invalid_plan(f"{problem}; choose from {', '.join(task.classes)}")
    chosen = sorted({task.classes.index(name) for name in names})
    return () if len(chosen) == len(task.classes) else tuple(chosen)


def _batch_size(options: PlanOptions) -> int:
    if options.batch_size is not None:
        return options.batch_size
    return ENCRYPTED_BATCH_SIZE if options.encoding == "ckks" else BATCH_SIZE
