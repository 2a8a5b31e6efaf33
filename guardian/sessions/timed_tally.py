"""Tallies whose noise is drawn ahead and whose outcome nobody knows before the end of a public slot."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from common.mechanism import BOUND
from common.plan import Plan
from common.sharing.fixed_point import FRACTION_BITS
from common.sharing.ring import RingArray
from guardian.noise import Ahead, DrawnNoise, draws_of
from guardian.sessions.attendance import Attendance
from guardian.sessions.charging import alike
from guardian.sessions.cliques import ONE_VOTE_STEPS
from guardian.sessions.effort import accounting_s
from guardian.sessions.outcome import Outcome, tally
from guardian.sessions.payers import Payer
from guardian.sessions.schedule import Schedule, slot_s


class TimedTally:
    """Prepares and releases batches."""

    def __init__(self, noise: Ahead, schedule: Schedule) -> None:
        """Take the source of noise, and what holds a release."""
        self._noise = noise
        self._schedule = schedule

    def prepare(self, plan: Plan, attendance: Attendance) -> DrawnNoise:
        """The noise source of a batch, which begins to draw."""
        rows = attendance.present.shape[1]
        return self._noise.prepare(draws_of(plan.mechanism, rows, plan.classes, attendance.voters()))

    def outcome(
        self,
        plan: Plan,
        total: RingArray,
        scores: NDArray[np.int64] | None,
        payers: Sequence[Payer],
        attendance: Attendance,
        noise: DrawnNoise,
        bound: BOUND,
    ) -> Outcome:
        """What `tally` makes of a batch, at the end of a slot that no vote decides."""
        charged_s = charging_s(plan, payers, attendance, bound)
        slot = slot_s(plan.mechanism, len(total), plan.classes, attendance.voters(), charged_s)
        with self._schedule.hold(slot):
            return tally(plan, total, scores, payers, attendance, noise, bound)


def charging_s(plan: Plan, payers: Sequence[Payer], attendance: Attendance, bound: BOUND) -> float:
    """The seconds that charging all units of a batch takes at most, a function of public values alone."""
    votes = float(np.ldexp(float(attendance.totals().max(initial=0)), -FRACTION_BITS))
    weighted = any(clique.weight != ONE_VOTE_STEPS for clique in attendance.cliques)
    return sum(
        group.evaluations
        * accounting_s(
            plan.mechanism,
            int(group.queries.sum()),
            plan.classes,
            votes,
            bound,
            group.influence,
            weighted=weighted,
        )
        for group in alike(payers)
    )
