"""The plan of a simulation's querying party."""

from ostraka.client.run.options import PlanOptions, make_plan
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.task import Task
from ostraka.deploy.simulation.settings import Settings


def plan_options(settings: Settings) -> PlanOptions:
    """Return the choices of the plan."""
    return PlanOptions(
        mechanism=settings.plan_mechanism,
        quorum=settings.least_parties,
        batch_size=settings.plan.batch_size,
        adjacency=settings.plan.adjacency,
        variant="none" if settings.plan.variant == "upsampling" else settings.plan.variant,
        align=settings.budgets.consent is not None or settings.plan.variant != "none",
        encoding=settings.plan.encoding,
        tally=settings.plan.tally,
        base_transfers=settings.plan.base_transfers,
        ballots=settings.plan.ballots,
        noise=settings.plan.noise,
        colluders=settings.plan.colluders,
        queries=settings.records.queries if settings.learning.label_dp == "pate-fm" else None,
        clusters=settings.records.clusters if settings.learning.label_dp == "noisecluster" else None,
    )


def plan_of(settings: Settings, pool_size: int, task: Task) -> Plan:
    """Return the plan for a pool, except its nonce; raise `plan.invalid` if choices contradict each other."""
    by_centres = settings.plan.kind == "noise_cluster" and settings.learning.label_dp is None
    queries = settings.records.clusters if by_centres else pool_size
    return make_plan(plan_options(settings), task, queries, settings.sites, bytes(NONCE_BYTES))
