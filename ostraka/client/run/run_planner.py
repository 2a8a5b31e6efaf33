"""The plan of a run: its options for a pool, scaled as the guardian says."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.retry import Retry
from ostraka.client.run.encoding import SiteEncoder, site_encoder
from ostraka.client.run.options import PlanOptions, make_plan
from ostraka.client.run.plan_check import check_affordable
from ostraka.client.run.site import connect_guardian
from ostraka.client.students.label_dp.clustering import cluster
from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig
from ostraka.common.errors import OstrakaError
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.task import Task
from ostraka.protos.ostraka.v1 import guardian_pb2

UNUSED_NONCE = bytes(NONCE_BYTES)
"""Of a plan that is asked about and never opened."""


@dataclass(frozen=True)
class RunPlanner:
    """Makes the plan of a site's options for a pool, and asks the guardian what to scale it by."""

    options: PlanOptions
    task: Task
    pool_size: int
    site: SiteConfig
    encoder: SiteEncoder
    clock: Clock
    retry: Retry

    @property
    def align(self) -> bool:
        """Whether the plan is to be aligned with how many teachers vote."""
        return self.options.align

    def scale(self, nonce: bytes) -> float:
        """Ask the guardian for the factor by which to scale the plan's noise."""
        asked = self.plan(nonce, None).serialize()
        with connect_guardian(self.site, self.clock, self.retry) as guardian:
            return guardian.plan(asked).scale

    def check(self) -> None:
        """Raise `budget.too_small` where the guardian says that budgets pay for no query.

        Whatever else keeps it from saying so is told when the session is opened: it is asked once.
        """
        try:
            plan, reply = self._reply()
        except OstrakaError:
            return
        check_affordable(plan, reply)

    def fits(self) -> int | None:
        """Return how many of the plan's queries budgets pay for, all answered; None where nobody says it."""
        try:
            _, reply = self._reply()
        except OstrakaError:
            return None
        return reply.fits if reply.HasField("fits") else None

    def _reply(self) -> tuple[Plan, guardian_pb2.PlanReply]:
        """Return the plan that would be opened, under another nonce, and what the guardian says of it."""
        retry = replace(self.retry, attempts=1)
        with connect_guardian(self.site, self.clock, retry) as guardian:
            plan = self.plan(UNUSED_NONCE, None)
            reply = guardian.plan(plan.serialize())
            if self.align:
                plan = self.plan(UNUSED_NONCE, reply.scale)
                reply = guardian.plan(plan.serialize())
        return plan, reply

    def sent(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what is sent of a pool's features: encoded here where it is encrypted, else as they are."""
        return self.encoder.encode(features) if self.options.encoding == "ckks" else features

    def clusters(self, features: NDArray[np.float32]) -> tuple[int, ...]:
        """Return the cluster of each of the pool's records, where clusters are the queries; else none."""
        options = self.options
        if options.clusters is None:
            return ()
        shape = self.task.input.shape
        return tuple(cluster(features, shape, options.clusters, options.clusterer).tolist())

    def plan(self, nonce: bytes, scale: float | None) -> Plan:
        """Return the plan under this nonce, scaled."""
        options = self.options if scale is None else self.options.aligned(scale)
        known = self.site.parties
        return make_plan(options, self.task, self.pool_size, known, nonce, self.encoder.sha256)


def run_planner(
    site: SiteConfig, task: Task, options: PlanOptions, pool_size: int, clock: Clock, retry: Retry
) -> RunPlanner:
    """Return the planner of a site's options, with the encoder that they or the site's configuration name."""
    encoder = site_encoder(site, options)
    options = options.model_copy(update={"encoder": encoder.name})
    return RunPlanner(options, task, pool_size, site, encoder, clock, retry)
