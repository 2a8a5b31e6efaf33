"""Options and mechanism of a querying party, converted to a plan."""

from collections.abc import Collection
from typing import Literal

from ostraka.client.run.asking_options import (
    BATCH_SIZE,
    ENCRYPTED_BATCH_SIZE,
    MAX_VERIFIED_WIDTH,
    AskingOptions,
)
from ostraka.client.students.registry import KMEANS
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism, distribute, invalid_plan
from ostraka.common.plan.fields import RING_BITS, VERIFIED_BITS
from ostraka.common.plan.limits import fits_ring, unverifiable
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.task import Task

USUAL_TEACHERS = 100
"""Average teachers per party for which the selected field of verified ballots has room."""


class PlanOptions(AskingOptions):
    """A plan's choices; `encoder` "" means none.

    Attributes:
        mechanism: how histograms become answers.
        queries: number of rows of the pool, from the first; None: all.
        clusters: number of clusters of the pool to ask about instead; None: ask about records.
        clusterer: method of clustering.
    """

    queries: int | None = None
    clusters: int | None = None
    clusterer: str = KMEANS
    mechanism: Mechanism

    @property
    def confidential(self) -> bool:
        """Whether garbled circuits are used, which determines the ring."""
        return self.encoding == "ckks" or self.tally == "blind"

    def distribute_noise(self, quorum: int) -> "PlanOptions":
        """Return a copy whose mechanism uses noise from the parties, if chosen.

        Raises `quorum.too_small`, and `plan.invalid` if only the guardian can draw a mechanism's noise.
        """
        if self.noise == "guardian":
            if self.colluders:
                raise invalid_plan("colluders go with noise parties; give both or neither")
            return self
        return self.model_copy(update={"mechanism": distribute(self.mechanism, quorum, self.colluders)})

    def aligned(self, scale: float) -> "PlanOptions":
        """Return a copy, its mechanism scaled; raise `plan.invalid` unless the scale is a number above 0."""
        return self.model_copy(update={"mechanism": self.mechanism.scaled(scale)})


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
    without an address here; `plan.invalid` for impossible numbers, or a mechanism that does not fit the task,
    its encoding or its tally; `task.numeric` if it answers with classes and the task has a number.
    """
    parties = choose_parties(options.parties, known)
    quorum = len(parties) // 2 + 1 if options.quorum is None else options.quorum
    options = options.distribute_noise(quorum)
    queries = _queries(options, pool_size)
    if not options.mechanism.sums_records:
        task.require_classes(f"mechanism {options.mechanism.kind}")
    labels = asked_labels(options, task) if task.classes else ()
    classes = len(labels) or task.outputs
    return Plan(
        nonce=nonce,
        task_digest=task.digest,
        classes=classes,
        labels=labels,
        multi_label=task.multi_label,
        mechanism=options.mechanism,
        parties=parties,
        quorum=quorum,
        queries=queries,
        batch_size=queries if options.mechanism.by_record else min(_batch_size(options), queries),
        encoding=options.encoding,
        tally=options.tally,
        base_transfers=options.base_transfers,
        ring_bits=_ring_bits(options, len(parties), classes),
        encoder=options.encoder or "",
        encoder_sha256=encoder_sha256,
        adjacency=options.adjacency,
        variant=options.variant,
    )


def choose_parties(named: Collection[str] | None, known: Collection[str]) -> tuple[str, ...]:
    """Return the named parties, or all; raise `party.unknown` for one without an address here."""
    parties = tuple(sorted(set(known if named is None else named)))
    for site in parties:
        if site not in known:
            raise OstrakaError(
                ErrorCode.PARTY_UNKNOWN,
                f"Party {site} has no address in site.toml: add it under [parties], or leave it out.",
            )
    return parties


def _are_verified(options: PlanOptions, classes: int) -> bool:
    """Whether ballots are verified: as chosen, else if it is possible at a small cost."""
    if options.ballots is not None:
        return options.ballots == "verified"
    mechanism = options.mechanism
    if mechanism.ballot.verifiable.unit < VOTE or mechanism.width(classes) > MAX_VERIFIED_WIDTH:
        return False
    return unverifiable(mechanism, options.encoding, classes) is None


def _ring_bits(options: PlanOptions, parties: int, classes: int) -> RING_BITS:
    """Return the smallest modulus that surely has room for the sums: only the guardian knows all voters.

    A blind tally uses only the small field; without an explicit choice, ballots that do not fit are
    unverified.
    """
    small, large = VERIFIED_BITS
    fits = not options.mechanism.by_record and _fits(options.mechanism, small, parties, classes)
    too_large = options.tally == "blind" and options.ballots is None and not fits
    if too_large or not _are_verified(options, classes):
        return 32 if options.confidential else 64
    return small if fits else large


def _fits(mechanism: Mechanism, bits: Literal[31], parties: int, classes: int) -> bool:
    """Whether a field has room for sums of the usual number of teachers, and for a party's norms."""
    claim = mechanism.ballot.claim(1, classes, USUAL_TEACHERS)
    norms_fit = claim is None or claim.largest < PrimeField(bits).prime
    return norms_fit and fits_ring(mechanism, bits, USUAL_TEACHERS * parties, mechanism.noise_growth(parties))


def _queries(options: PlanOptions, pool_size: int) -> int:
    """Return the number of queries: records of the pool, or clusters of all of them."""
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
    """Return the indices of the labels to ask (empty: all); raise `plan.invalid` for unknown ones."""
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
