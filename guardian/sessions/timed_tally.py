"""Tallies whose noise is drawn ahead and whose outcome nobody knows before the end of a public slot."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from common.mechanism import BOUND
from common.plan import Plan
from common.sharing.ring import RingArray
from guardian.ledger import Budget
from guardian.noise import Ahead, DrawnNoise, draws_of
from guardian.sessions.admission import voters
from guardian.sessions.effort import accounting_s
from guardian.sessions.outcome import Outcome, evaluations, tally
from guardian.sessions.schedule import Schedule, slot_s
from protos.ostraka.v1 import common_pb2


class TimedTally:
    """Prepares and releases batches, charging them by one bound."""

    def __init__(self, noise: Ahead, schedule: Schedule, bound: BOUND) -> None:
        """Take the source of noise, what holds a release, and how data-dependent charges are computed."""
        self._noise = noise
        self._schedule = schedule
        self._bound = bound

    def prepare(self, plan: Plan, ticket: common_pb2.Ticket) -> DrawnNoise:
        """The noise source of a batch, which begins to draw."""
        scheduled = voters(plan.mechanism, (entry.participant for entry in ticket.schedule))
        return self._noise.prepare(draws_of(plan.mechanism, ticket.size, plan.classes, scheduled))

    def outcome(
        self,
        plan: Plan,
        total: RingArray,
        scores: NDArray[np.int64] | None,
        budgets: Sequence[Budget],
        frozen: Mapping[str, common_pb2.Participant],
        noise: DrawnNoise,
    ) -> Outcome:
        """What `tally` makes of a batch, at the end of a slot that no vote decides."""
        batch = plan.mechanism, len(total), plan.classes, voters(plan.mechanism, frozen.values())
        charged_s = accounting_s(*batch, self._bound) * evaluations(budgets, frozen)
        with self._schedule.hold(slot_s(*batch, charged_s)):
            return tally(plan, total, scores, budgets, frozen, noise, self._bound)
