"""The plan of a run: its options for a pool, scaled by the guardian, refused if nothing can be released."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.retry import Retry
from ostraka.client.run.options import PlanOptions, make_plan
from ostraka.client.run.site import SiteEncoder, connect_guardian, site_encoder
from ostraka.client.students.label_dp.clustering import cluster
from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig
from ostraka.common.console.texts import number_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism
from ostraka.common.mechanism.arguments import mechanism_text
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy.filters import received_order
from ostraka.common.task import Task
from ostraka.protos.ostraka.v1 import guardian_pb2

_SIGMAS = ("sigma", "sigma1", "sigma2")
"""Parameters that increase with noise."""
_INVERSE = ("gamma", "epsilon")
"""Parameters that decrease with noise."""
_MAX_NOISE_FACTOR = 2.0**12
"""Maximum factor in the search for more noise: beyond it, votes can hardly be distinguished."""
_PRECISION = 1.02
"""Relative precision of the search: noise is stated in three digits."""


def check_affordable(plan: Plan, reply: guardian_pb2.PlanReply) -> None:
    """Raise `budget.too_small`, with advice, if the guardian says that budgets pay for no query.

    Nothing is checked if the guardian does not reveal it: then it refuses a batch, before any party votes.
    """
    if not reply.HasField("fits") or reply.fits:
        return
    short = next(party for party in reply.parties if not party.fits)
    others = f"leave out {short.site} with --parties, or let it agree to a larger budget"
    if not short.rdp_left:
        raise _refusal(f"Nothing is left of the budget of {short.site} (epsilon {_epsilon(short)})", others)
    what = "batch" if plan.mechanism.by_record else "query"
    problem = f"What is left of the budget of {short.site} (epsilon {_epsilon(short)}) pays for no {what}"
    enough = _noisier(plan, short)
    if enough is not None:
        others = f"ask with more noise, such as --mechanism {mechanism_text(enough)}, {others}"
    raise _refusal(problem, others)


def _refusal(problem: str, advice: str) -> OstrakaError:
    return OstrakaError(ErrorCode.BUDGET_TOO_SMALL, f"{problem}: {advice}.", fits="0")


def _epsilon(party: guardian_pb2.PartyCost) -> str:
    return number_text(party.budget_epsilon)


def _noisier(plan: Plan, party: guardian_pb2.PartyCost) -> Mechanism | None:
    """Return the mechanism with the least noise, to 2%, that the remaining budget pays for, or None."""
    low = 1.0
    high = 2.0
    while not _pays(plan, _noise_times(plan.mechanism, high), party):
        if high >= _MAX_NOISE_FACTOR:
            return None
        low = high
        high = 2 * high
    while high > _PRECISION * low:
        middle = math.sqrt(low * high)
        if _pays(plan, _noise_times(plan.mechanism, middle), party):
            high = middle
        else:
            low = middle
    return _noise_times(plan.mechanism, high)


def _pays(plan: Plan, mechanism: Mechanism, party: guardian_pb2.PartyCost) -> bool:
    """Whether a party's remaining budget pays for one answered query."""
    cost = mechanism.worst_case(received_order(party.order), party.sensitivity, classes=plan.classes)
    answers = mechanism.answers(plan.classes)
    return cost.batch + cost.check + min(answers * cost.answer, cost.most) <= party.rdp_left


def _noise_times(mechanism: Mechanism, factor: float) -> Mechanism:
    """Multiply the mechanism's noise by `factor`, in three digits; nothing else changes."""
    fields = type(mechanism).model_fields
    times = dict.fromkeys(_SIGMAS, factor) | dict.fromkeys(_INVERSE, 1 / factor)
    changed: dict[str, object] = {
        name: _three_digits(getattr(mechanism, name), times[name]) for name in times if name in fields
    }
    check = mechanism.noisy_check
    if check is not None and "check" in fields:
        changed["check"] = check.model_copy(update={"sigma": _three_digits(check.sigma, factor)})
    return mechanism.model_copy(update=changed)


def _three_digits(value: float, factor: float) -> float:
    """Return the product, rounded towards more noise: up if `factor` exceeds 1, else down."""
    unit = 10.0 ** (math.floor(math.log10(value * factor)) - 2)
    rounded = (math.ceil if factor > 1 else math.floor)(value * factor / unit) * unit
    return float(f"{rounded:.3g}")


UNUSED_NONCE = bytes(NONCE_BYTES)
"""Nonce of plans that are priced but never opened."""


@dataclass(frozen=True)
class RunPlanner:
    """Makes the plan of a site's options for a pool, and asks the guardian for its scale."""

    options: PlanOptions
    task: Task
    pool_size: int
    site: SiteConfig
    encoder: SiteEncoder
    clock: Clock
    retry: Retry

    @property
    def align(self) -> bool:
        """Whether the plan is to be aligned with the number of teachers that vote."""
        return self.options.align

    def scale(self, nonce: bytes) -> float:
        """Ask the guardian for the factor by which to scale the plan's noise."""
        asked = self.plan(nonce, None).serialize()
        with connect_guardian(self.site, self.clock, self.retry) as guardian:
            return guardian.plan(asked).scale

    def check(self) -> None:
        """Raise `budget.too_small` if the guardian says that budgets pay for no query.

        Other errors are ignored, because opening the session reports them; the guardian is called only once.
        """
        try:
            plan, reply = self._reply()
        except OstrakaError:
            return
        check_affordable(plan, reply)

    def fits(self) -> int | None:
        """Return how many of the plan's queries budgets pay for, all answered; None if it is unknown."""
        try:
            _, reply = self._reply()
        except OstrakaError:
            return None
        return reply.fits if reply.HasField("fits") else None

    def _reply(self) -> tuple[Plan, guardian_pb2.PlanReply]:
        """Return the plan that would be opened, with another nonce, and the guardian's reply to it."""
        retry = replace(self.retry, attempts=1)
        with connect_guardian(self.site, self.clock, retry) as guardian:
            plan = self.plan(UNUSED_NONCE, None)
            reply = guardian.plan(plan.serialize())
            if self.align:
                plan = self.plan(UNUSED_NONCE, reply.scale)
                reply = guardian.plan(plan.serialize())
        return plan, reply

    def encode(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a pool's features as they are sent: encoded if encrypted, else unchanged."""
        return self.encoder.encode(features) if self.options.encoding == "ckks" else features

    def clusters(self, features: NDArray[np.float32]) -> tuple[int, ...]:
        """Return the cluster of each record of the pool if clusters are the queries; else empty."""
        options = self.options
        if options.clusters is None:
            return ()
        shape = self.task.input.shape
        return tuple(cluster(features, shape, options.clusters, options.clusterer).tolist())

    def plan(self, nonce: bytes, scale: float | None) -> Plan:
        """Return the plan with this nonce and scale."""
        options = self.options if scale is None else self.options.aligned(scale)
        known = self.site.parties
        return make_plan(options, self.task, self.pool_size, known, nonce, self.encoder.sha256)


def run_planner(
    site: SiteConfig, task: Task, options: PlanOptions, pool_size: int, clock: Clock, retry: Retry
) -> RunPlanner:
    """Return the planner of a site's options, with the encoder that they, the site or the task name."""
    encoder = site_encoder(site, options.encoder, task)
    options = options.model_copy(update={"encoder": encoder.name})
    return RunPlanner(options, task, pool_size, site, encoder, clock, retry)
