"""What a querying party may choose, turned into a plan."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from common.errors import ErrorCode, OstrakaError
from common.mechanism import AnyMechanism, NoiseCluster, invalid_plan
from common.mechanism.scaling import scaled
from common.plan import VARIANT, Plan
from common.task import Task

BATCH_SIZE = 100
Adjacency = Literal["record", "label"]


class AdjacencyName(StrEnum):
    """What is charged, by the name that a plan gives it."""

    RECORD = "record"
    LABEL = "label"

    @property
    def charged(self) -> Adjacency:
        """The same as a plan holds it."""
        return "label" if self is AdjacencyName.LABEL else "record"


@dataclass(frozen=True)
class PlanOptions:
    """A plan's choices.

    Attributes:
        mechanism: how histograms become answers.
        quorum: least number of parties released together; None: more than half of the parties.
        batch_size: queries released together; noise_cluster releases all at once.
        queries: how many of the pool to ask, from its first row; None: all.
        parties: who answers; None: every party of the site's configuration.
        adjacency: what is charged, a record or, for noise_cluster, a record's label alone.
        variant: how budgets that differ are used.
        align: whether the mechanism's noise and thresholds suit as many teachers with one record each in one
            of them, and are to be scaled to how many vote.
    """

    mechanism: AnyMechanism
    quorum: int | None = None
    batch_size: int = BATCH_SIZE
    queries: int | None = None
    parties: tuple[str, ...] | None = None
    adjacency: Adjacency = "record"
    variant: VARIANT = "none"
    align: bool = False

    def aligned(self, scale: float) -> "PlanOptions":
        """The same with the mechanism scaled; raises `plan.invalid` for a scale that is no number above 0."""
        return replace(self, mechanism=scaled(self.mechanism, scale))


def make_plan(options: PlanOptions, task: Task, pool_size: int, known: Collection[str], nonce: bytes) -> Plan:
    """The plan for a pool of `pool_size` queries among the `known` parties; `nonce` is 16 random bytes.

    Raises `party.unknown` for a party without an address here and `plan.invalid` for impossible numbers or a
    mechanism that does not fit the task.
    """
    parties = tuple(sorted(set(known if options.parties is None else options.parties)))
    for site in parties:
        if site not in known:
            raise OstrakaError(
                ErrorCode.PARTY_UNKNOWN,
                f"Party {site} has no address in site.toml: add it under [parties], or leave it out.",
            )
    queries = pool_size if options.queries is None else options.queries
    if queries > pool_size:
        raise invalid_plan(f"{queries} queries are asked of a pool of {pool_size}; ask fewer")
    at_once = isinstance(options.mechanism, NoiseCluster)
    return Plan(
        nonce=nonce,
        task_digest=task.digest,
        classes=len(task.classes),
        multi_label=task.multi_label,
        mechanism=options.mechanism,
        parties=parties,
        quorum=len(parties) // 2 + 1 if options.quorum is None else options.quorum,
        queries=queries,
        batch_size=queries if at_once else min(options.batch_size, queries),
        adjacency=options.adjacency,
        variant=options.variant,
    )
