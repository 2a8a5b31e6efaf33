"""What a querying party may choose, turned into a plan."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from common.errors import ErrorCode, OstrakaError
from common.mechanism import invalid_plan
from common.plan import Confident, GnMax, Plan
from common.task import Task

BATCH_SIZE = 100


@dataclass(frozen=True)
class PlanOptions:
    """A plan's choices.

    Attributes:
        mechanism: how histograms become answers.
        quorum: least number of parties released together; None: more than half of the parties.
        batch_size: queries released together.
        queries: how many of the pool to ask, from its first row; None: all.
        parties: who answers; None: every party of the site's configuration.
    """

    mechanism: GnMax | Confident
    quorum: int | None = None
    batch_size: int = BATCH_SIZE
    queries: int | None = None
    parties: tuple[str, ...] | None = None


def make_plan(options: PlanOptions, task: Task, pool_size: int, known: Collection[str], nonce: bytes) -> Plan:
    """The plan for a pool of `pool_size` queries among the `known` parties; `nonce` is 16 random bytes.

    Raises `party.unknown` for a party without an address here and `plan.invalid` for impossible numbers.
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
    return Plan(
        nonce=nonce,
        task_digest=task.digest,
        classes=len(task.classes),
        mechanism=options.mechanism,
        parties=parties,
        quorum=len(parties) // 2 + 1 if options.quorum is None else options.quorum,
        queries=queries,
        batch_size=min(options.batch_size, queries),
    )


def make_mechanism(
    kind: Literal["confident", "gnmax"],
    *,
    sigma: float | None = None,
    sigma1: float | None = None,
    sigma2: float | None = None,
    threshold: float | None = None,
) -> GnMax | Confident:
    """The mechanism of these parameters, in votes; raises `plan.invalid` for a missing or a needless one."""
    given = {"sigma": sigma, "sigma1": sigma1, "sigma2": sigma2, "threshold": threshold}
    needed = ("sigma",) if kind == "gnmax" else ("sigma1", "sigma2", "threshold")
    for name, value in given.items():
        if (value is not None) != (name in needed):
            advice = "give" if name in needed else "leave out"
            raise invalid_plan(f"mechanism {kind} takes {', '.join(needed)}; {advice} --{name}")
    values = {"kind": kind} | {name: value for name, value in given.items() if value is not None}
    return GnMax.model_validate(values) if kind == "gnmax" else Confident.model_validate(values)
