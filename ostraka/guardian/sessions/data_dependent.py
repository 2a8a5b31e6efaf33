"""Data-dependent cost of a released batch.

Its running time reveals votes: never compute it before an answer leaves, unless the federation's budgets are
data-dependent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import BOUND
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import amount
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.fixed_point import decode
from ostraka.common.sharing.modulus import RingArray
from ostraka.guardian.accounting import Tally
from ostraka.guardian.accounting.smooth_noise import VoteTotal, kind_of
from ostraka.guardian.ledger import Charge
from ostraka.guardian.mechanisms import charges, largest_charges
from ostraka.guardian.mechanisms.charge import vote_total
from ostraka.guardian.noise import LATTICE
from ostraka.guardian.sessions.payers import Alike, Payer, alike, worst_cost


@dataclass(frozen=True)
class DataDependentCosts:
    """A released batch whose cost is still to be computed. It contains the histogram: keep it in memory only.

    Attributes:
        plan: of the session.
        bound: how costs are computed.
        payers: the units to charge.
        sums: ring sums of all shares, (Q, width).
        scores: the student's probabilities of an interactive plan, (Q, classes) in units of 2^-16.
        totals: weight of all votes scheduled for each query, int64 (Q,) or by label (Q, labels), in steps of
            2^-16 vote.
        voters: the largest number of teachers scheduled for one query.
        answered: which answers were given, bool (Q, answers).
        labels: the answers (Q, answers).
    """

    plan: Plan
    bound: BOUND
    payers: tuple[Payer, ...]
    sums: RingArray = field(repr=False)
    scores: NDArray[np.int64] | None = field(repr=False)
    totals: NDArray[np.int64] = field(repr=False)
    voters: int
    answered: NDArray[np.bool_] = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)

    @property
    def keeps_totals(self) -> bool:
        """Whether totals are stored for a later publication; it is proved only for theorem6."""
        return self.bound == "theorem6"

    def charges(self) -> tuple[Charge, ...]:
        """Return what each unit pays, and the largest cost of any answers, in order of unit keys."""
        released = self._tally()
        charged = [charge for group in alike(self.payers) for charge in self._alike(released, group)]
        return tuple(sorted(charged, key=lambda charge: charge.unit))

    def vote_totals(self) -> tuple[VoteTotal, ...]:
        """Return the total to store of each unit for a later publication, in order of unit keys."""
        released = self._tally()
        moved = max(payer.influence.sensitivity for payer in self.payers)
        known: dict[bytes, VoteTotal] = {}
        kept = []
        for payer in sorted(self.payers, key=lambda payer: payer.budget.key):
            terms = payer.budget.order, payer.influence.sensitivity, moved
            kind = kind_of(*terms, payer.queries, payer.abstains)
            if kind not in known:
                known[kind] = vote_total(released.rows(payer.queries).without(payer.abstains), *terms, kind)
            kept.append(known[kind])
        return tuple(kept)

    def _tally(self) -> Tally:
        return Tally(
            mechanism=self.plan.mechanism,
            classes=self.plan.classes,
            total=_in_votes(self.totals),
            voters=self.voters,
            votes=decode(self.sums, self.plan.modulus),
            answered=self.answered,
            scores=None if self.scores is None else _in_votes(self.scores),
            adjacency=self.plan.adjacency,
            labels=self.labels,
        )

    def _alike(self, released: Tally, group: Alike) -> list[Charge]:
        """Return what each unit of `group` pays; other answers' cost only for data-dependent budgets."""
        own = released.rows(group.queries).without(group.abstains)
        spent = charges(own, group.order, self.bound, group.influence, lattice=LATTICE)
        most = np.zeros_like(spent)
        if group.enforce == "data_dependent":
            most = largest_charges(own, group.order, self.bound, group.influence, lattice=LATTICE)
        cost = worst_cost(self.plan, group.order, group.influence, group.abstains)
        result = []
        for payer in group.payers:
            rows = payer.queries[group.queries]
            answered = own.answered[rows]
            reserved = cost.reservation(*answered.shape)
            result.append(
                Charge(
                    payer.budget.key,
                    worst_case=cost.amount(answered),
                    data_dependent=min(reserved, self._amount(spent, rows)),
                    at_most=min(reserved, self._amount(most, rows)),
                )
            )
        return result

    def _amount(self, each: NDArray[np.float64], rows: NDArray[np.bool_]) -> int:
        """Return the amount of those queries (Q,); records that vote have one cost (1,) for all queries."""
        own = each if self.plan.mechanism.by_record else each[rows]
        return amount(math.fsum(own.tolist()))


def _in_votes(steps: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.ldexp(steps.astype(np.float64), -FRACTION_BITS)
