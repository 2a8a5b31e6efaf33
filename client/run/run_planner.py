"""The plan of a run: its options for a pool, scaled as the guardian says."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.retry import Retry
from ostraka.client.run.encoding import SiteEncoder
from ostraka.client.run.options import PlanOptions, make_plan
from ostraka.client.run.site import connect_guardian
from ostraka.client.students.label_dp.clustering import cluster
from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig
from ostraka.common.plan import Plan
from ostraka.common.task import Task


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
