"""The plan of sums whose cost to every party, as the guardian computes it, is at most an epsilon."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Self

from ostraka.client.run.asking_options import MAX_VERIFIED_SUM
from ostraka.client.run.options import choose_parties
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism
from ostraka.common.plan.choices import BALLOTS, VARIANT
from ostraka.common.plan.fields import VERIFIED_BITS
from ostraka.common.plan.limits import MAX_VERIFIED_VALUES
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import budget_rdp
from ostraka.common.privacy.filters import GAUSSIAN, received_order, sent_order
from ostraka.common.privacy.gaussian import gaussian_budget, gaussian_epsilon
from ostraka.common.privacy.guarantees import DELTA
from ostraka.common.task import Task
from ostraka.common.validation import FrozenModel
from ostraka.protos.ostraka.v1 import guardian_pb2

CALLS = 8
"""Maximum number of plans to ask the guardian about: two if noise and cost are proportional, more with
rounding."""
GUESSED_RECORDS = 10_000
"""Total number of records, before the guardian has reported it."""
NEAR_ENOUGH = 0.995
"""Fraction of the epsilon from which a plan is good enough: noise is not displayed more precisely."""
UNDER = 1 - 1e-5
"""Safety factor on mu, so rounding does not lift the cost above the epsilon."""


class SumCost(FrozenModel):
    """Worst-case cost of a plan's sums for a party, at its own budget.

    Attributes:
        site: the party's.
        group: its unit that can pay for the fewest sums.
        records: number of labelled records that may be used.
        order: of the budget's filter; 0 means Gaussian.
        delta: of the budget.
        epsilon: of all sums together, alone: exact, because the noise is Gaussian.
        charged_epsilon: the same by the budget's filter: larger at a Renyi order.
        budget_epsilon: of the whole budget.
        share: fraction of the whole budget, as its filter adds up.
        fits: how many of the sums the remaining budget pays for; None if the guardian does not reveal it.
    """

    site: str
    group: str
    records: int
    order: float
    delta: float
    epsilon: float
    charged_epsilon: float
    budget_epsilon: float
    share: float
    fits: int | None

    @classmethod
    def of(cls, cost: guardian_pb2.PartyCost) -> Self:
        """Convert the guardian's reply; compute the exact epsilon of Gaussian noise with that charge."""
        order = received_order(cost.order)
        paid, whole = (budget_rdp(value, cost.delta, order) for value in (cost.epsilon, cost.budget_epsilon))
        exact = cost.epsilon if order == GAUSSIAN else gaussian_epsilon(paid / order, cost.delta)
        return cls(
            site=cost.site,
            group=cost.group,
            records=cost.records,
            order=sent_order(cost.order),
            delta=cost.delta,
            epsilon=exact,
            charged_epsilon=cost.epsilon,
            budget_epsilon=cost.budget_epsilon,
            share=paid / whole if whole else 1.0,
            fits=cost.fits if cost.HasField("fits") else None,
        )


@dataclass(frozen=True)
class SumAsking:
    """Which parties are asked for sums, for which task."""

    task: Task
    known: Collection[str]
    parties: Collection[str] | None = None
    quorum: int | None = None
    variant: VARIANT = "none"
    encoder: str = ""
    encoder_sha256: bytes = b""
    ballots: BALLOTS | None = None

    def plan(self, mechanism: Mechanism, rounds: int, nonce: bytes) -> Plan:
        """Return the plan; raise `party.unknown` and `plan.invalid` as `make_plan` does.

        Sums are verified as chosen, else if that costs a party little.
        """
        parties = choose_parties(self.parties, self.known)
        short = mechanism.width(self.task.outputs) <= MAX_VERIFIED_SUM
        verified = short if self.ballots is None else self.ballots == "verified"
        return Plan(
            nonce=nonce,
            task_digest=self.task.digest,
            classes=self.task.outputs,
            multi_label=self.task.multi_label,
            mechanism=mechanism,
            parties=parties,
            quorum=len(parties) // 2 + 1 if self.quorum is None else self.quorum,
            queries=rounds,
            batch_size=1,
            ring_bits=VERIFIED_BITS[1] if verified else 64,
            encoder=self.encoder,
            encoder_sha256=self.encoder_sha256,
            variant=self.variant,
        )


@dataclass(frozen=True)
class PlannedSums:
    """A plan and its cost.

    Attributes:
        mu: of mu-Gaussian differential privacy, for one replaced record.
        records: the total that all parties declare.
        plan: of the sums.
        costs: by party.
        fits: number of sums that budgets pay for; None if the guardian does not reveal it.
        hides_queries: whether the guardian's policy allows only encrypted queries.
    """

    mu: float
    records: int
    plan: Plan
    costs: tuple[SumCost, ...]
    fits: int | None = field(default=None)
    hides_queries: bool = False


def plan_sums(
    ask: Callable[[Plan], guardian_pb2.PlanReply], make: Callable[[float, int], Plan], epsilon: float
) -> PlannedSums:
    """Return the plan with the least noise whose cost to every party is at most `epsilon`.

    Args:
        ask: asks the guardian what a plan costs.
        make: makes a plan that is mu-Gaussian differentially private for this many records.
        epsilon: of these sums alone, at each party's own delta, with persons and weights considered.

    Raises:
        OstrakaError: `budget.too_small` if every plan costs more, and the guardian's refusals.
    """
    mu = math.sqrt(2 * gaussian_budget(epsilon, DELTA))
    records = GUESSED_RECORDS
    found: PlannedSums | None = None
    for _ in range(CALLS):
        plan = make(mu, records)
        reply = ask(plan)
        costs = tuple(SumCost.of(party) for party in reply.parties)
        known = sum(cost.records for cost in costs)
        largest = max(cost.epsilon for cost in costs)
        if known == records and largest <= epsilon:
            hides = bool(reply.encodings) and "plain" not in reply.encodings
            fits = reply.fits if reply.HasField("fits") else None
            found = PlannedSums(mu, records, plan, costs, fits, hides)
            if largest >= NEAR_ENOUGH * epsilon:
                return found
        records = known
        mu *= min(_times(cost, epsilon) for cost in costs) * UNDER
    if found is None:
        raise OstrakaError(
            ErrorCode.BUDGET_TOO_SMALL,
            f"The guardian finds no plan of sums that costs every party at most epsilon "
            f"{epsilon_text(epsilon)}: give a larger --epsilon.",
        )
    return found


def _times(cost: SumCost, epsilon: float) -> float:
    """Return the factor on mu that turns a cost into the epsilon."""
    paid = gaussian_budget(cost.epsilon, cost.delta)
    return math.sqrt(gaussian_budget(epsilon, cost.delta) / paid) if paid > 0 else 1.0


def require_affordable(planned: PlannedSums) -> None:
    """Raise `budget.too_small` if a remaining budget does not pay for a single sum."""
    if planned.fits is None or planned.fits:
        return
    short = min(planned.costs, key=lambda cost: math.inf if cost.fits is None else cost.fits)
    raise OstrakaError(
        ErrorCode.BUDGET_TOO_SMALL,
        f"What is left of the budget of {short.site} (epsilon {number_text(short.budget_epsilon)}) pays for "
        "no sum of this plan: ask for less with --epsilon, leave the party out with --parties, or let it "
        "agree to a larger budget.",
        fits="0",
    )


def warn_of_unverified(plan: Plan, asked: BALLOTS | None) -> tuple[str, ...]:
    """Return a warning about unverified sums, unless the user chose (`asked`)."""
    if plan.ballots == "verified" or asked is not None:
        return ()
    values = plan.mechanism.width(plan.classes)
    advice = (
        "give --ballots verified to have them checked"
        if values <= MAX_VERIFIED_VALUES
        else f"only those of at most {MAX_VERIFIED_VALUES:,} values can be checked"
    )
    return (
        f"Sums of {values:,} values are not verified by default: a dishonest party may add any numbers "
        f"undetected; {advice}.",
    )
