"""What a querying party may choose, turned into a plan."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from common.errors import ErrorCode, OstrakaError
from common.mechanism import MECHANISMS, AnyMechanism, Check, NoiseCluster, invalid_plan
from common.plan import Plan
from common.task import Task

BATCH_SIZE = 100
CHECK = {"sigma1": "sigma", "threshold": "threshold"}
"""The parameters of a check that a mechanism may have, by the options that give them."""

Adjacency = Literal["record", "label"]


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
    """

    mechanism: AnyMechanism
    quorum: int | None = None
    batch_size: int = BATCH_SIZE
    queries: int | None = None
    parties: tuple[str, ...] | None = None
    adjacency: Adjacency = "record"


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
    )


def make_mechanism(kind: str, **parameters: float | None) -> AnyMechanism:
    """The mechanism of this name with these parameters, in votes; None stands for one that was not given.

    A check that a mechanism may have takes `sigma1` and `threshold`. Raises `plan.invalid` for an unknown
    name, and for a missing or a needless parameter.
    """
    if kind not in MECHANISMS:
        raise invalid_plan(f"there is no mechanism {kind}; choose one of {', '.join(MECHANISMS)}")
    given = {name: value for name, value in parameters.items() if value is not None}
    needed, optional = _parameters(kind)
    takes = f"mechanism {kind} takes {', '.join([*needed, *(f'[{name}]' for name in optional)])}"
    for name in needed:
        if name not in given:
            raise invalid_plan(f"{takes}; give {_option(name)}")
    for name in given:
        if name not in (*needed, *optional):
            raise invalid_plan(f"{takes}; leave out {_option(name)}")
    values: dict[str, object] = {name: value for name, value in given.items() if name in _fields(kind)}
    if "check" in _fields(kind) and CHECK.keys() & given.keys():
        values["check"] = _check(given)
    return MECHANISMS[kind].model_validate(values)


def _check(given: Mapping[str, float]) -> Check:
    for name in CHECK:
        if name not in given:
            raise invalid_plan(f"a check takes {' and '.join(CHECK)}; give {_option(name)} as well")
    return Check.model_validate({field: given[name] for name, field in CHECK.items()})


def _parameters(kind: str) -> tuple[list[str], list[str]]:
    """Names of the parameters that a mechanism needs, and of those that it may have."""
    fields = {name: field for name, field in MECHANISMS[kind].model_fields.items() if name != "kind"}
    needed = [name for name, field in fields.items() if field.is_required()]
    optional = [name for name in fields if name not in needed and name != "check"]
    return needed, [*optional, *(CHECK if "check" in fields else ())]


def _fields(kind: str) -> Collection[str]:
    return MECHANISMS[kind].model_fields


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
