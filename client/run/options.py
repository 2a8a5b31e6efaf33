"""What a querying party may choose, turned into a plan."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Literal

import typer

from ostraka.client.students.label_dp.clustering import KMEANS
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import AnyMechanism, NoiseCluster, invalid_plan
from ostraka.common.mechanism.scaling import scaled
from ostraka.common.plan import ENCODING, TALLY, VARIANT, Plan
from ostraka.common.task import Task

BATCH_SIZE = 100
ENCRYPTED_BATCH_SIZE = 1024
"""Encrypting and evaluating takes as long for one query as for all that a ciphertext holds."""
Adjacency = Literal["record", "label"]


class AdjacencyName(StrEnum):
    """What is charged, by the name that a plan gives it."""

    RECORD = "record"
    LABEL = "label"

    @property
    def charged(self) -> Adjacency:
        """The same as a plan holds it."""
        return "label" if self is AdjacencyName.LABEL else "record"


Charged = Annotated[
    AdjacencyName, typer.Option("--adjacency", help="What is charged: records, or their labels alone.")
]
Clusters = Annotated[
    int | None,
    typer.Option("--clusters", help="noise_cluster: divide --pool, which all sites know, into so many."),
]
Clusterer = Annotated[
    str, typer.Option("--clusterer", help="What divides it: kmeans, simclr, or module:factory.")
]


class EncodingName(StrEnum):
    """How queries are sent, by the name that a plan gives it."""

    PLAIN = "plain"
    CKKS = "ckks"

    @property
    def planned(self) -> ENCODING:
        """The same as a plan holds it."""
        return "ckks" if self is EncodingName.CKKS else "plain"


class TallyName(StrEnum):
    """How votes are tallied, by the name that a plan gives it."""

    AGGREGATE = "aggregate"
    BLIND = "blind"

    @property
    def planned(self) -> TALLY:
        """The same as a plan holds it."""
        return "blind" if self is TallyName.BLIND else "aggregate"


Encoding = Annotated[
    EncodingName,
    typer.Option(
        "--encoding",
        help="Send queries as they are, or encrypted: ckks, where the guardian's policy and every party's"
        " name that in encodings.",
    ),
]
Tally = Annotated[
    TallyName, typer.Option("--tally", help="The guardian sees counts, or computes without: blind.")
]
Encoder = Annotated[
    str | None, typer.Option("--encoder", help="Public network, module:factory; the one in site.toml.")
]
Labels = Annotated[
    str | None, typer.Option("--labels", help="Labels to ask about, as a,b,c; all that the task has.")
]
BatchSize = Annotated[
    int | None,
    typer.Option(help=f"Queries released together; {BATCH_SIZE}, encrypted {ENCRYPTED_BATCH_SIZE}."),
]


@dataclass(frozen=True)
class PlanOptions:
    """A plan's choices.

    Attributes:
        mechanism: how histograms become answers.
        quorum: least number of parties released together; None: more than half of the parties.
        batch_size: queries released together; None: 100, and 1,024 where they are encrypted; noise_cluster
            and rand_res release all at once.
        queries: how many of the pool to ask, from its first row; None: all.
        parties: who answers; None: every party of the site's configuration.
        adjacency: what is charged, a record, or the label alone of one whose features all sites know.
        variant: how budgets that differ are used.
        align: whether the mechanism's noise and thresholds suit as many teachers with one record each in one
            of them, and are to be scaled to how many vote.
        encoding: whether parties get queries as they are, "plain", or encrypted, "ckks".
        tally: whether the guardian sees counts, "aggregate", or not even these, "blind".
        encoder: the public network, module:factory, that the teachers were trained behind; "" for none; None:
            the one in the site's configuration, if any.
        labels: names of the labels that are asked about; None: all of the task's.
        clusters: how many the pool, whose features all sites know, is divided into for noise_cluster to ask
            about; None: the pool holds their centres.
        clusterer: what divides it, as `ostraka.client.students.label_dp.clustering.cluster` takes it.
    """

    mechanism: AnyMechanism
    quorum: int | None = None
    batch_size: int | None = None
    queries: int | None = None
    parties: tuple[str, ...] | None = None
    adjacency: Adjacency = "record"
    variant: VARIANT = "none"
    align: bool = False
    encoding: ENCODING = "plain"
    tally: TALLY = "aggregate"
    encoder: str | None = None
    labels: tuple[str, ...] | None = None
    clusters: int | None = None
    clusterer: str = KMEANS

    @property
    def confidential(self) -> bool:
        """Whether garbled circuits take part, which fixes the ring."""
        return self.encoding == "ckks" or self.tally == "blind"

    def aligned(self, scale: float) -> "PlanOptions":
        """The same with the mechanism scaled; raises `plan.invalid` for a scale that is no number above 0."""
        return replace(self, mechanism=scaled(self.mechanism, scale))


def make_plan(
    options: PlanOptions,
    task: Task,
    pool_size: int,
    known: Collection[str],
    nonce: bytes,
    encoder_sha256: bytes = b"",
) -> Plan:
    """The plan for a pool of `pool_size` queries among the `known` parties; `nonce` is 16 random bytes.

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
    labels = _labels(options, task)
    return Plan(
        nonce=nonce,
        task_digest=task.digest,
        classes=len(labels or task.classes),
        labels=labels,
        multi_label=task.multi_label,
        mechanism=options.mechanism,
        parties=parties,
        quorum=len(parties) // 2 + 1 if options.quorum is None else options.quorum,
        queries=queries,
        batch_size=queries if options.mechanism.by_record else min(_batch_size(options), queries),
        encoding=options.encoding,
        tally=options.tally,
        ring_bits=32 if options.confidential else 64,
        encoder=options.encoder or "",
        encoder_sha256=encoder_sha256,
        adjacency=options.adjacency,
        variant=options.variant,
    )


def _queries(options: PlanOptions, pool_size: int) -> int:
    """How many there are: records of the pool, or the clusters of all of them."""
    if options.clusters is None:
        queries = pool_size if options.queries is None else options.queries
    elif not isinstance(options.mechanism, NoiseCluster) or options.adjacency != "label":
        raise invalid_plan("clusters are for noise_cluster with adjacency label; leave out clusters")
    elif options.queries is not None:
        raise invalid_plan("clusters are asked about all together; leave out queries")
    else:
        queries = options.clusters
    if queries > pool_size:
        raise invalid_plan(f"{queries} queries are asked of a pool of {pool_size}; ask fewer")
    return queries


def _labels(options: PlanOptions, task: Task) -> tuple[int, ...]:
    """The labels that are asked about, by index; none where all are."""
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
