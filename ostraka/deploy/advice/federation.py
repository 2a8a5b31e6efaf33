"""What a federation offers before anything is asked of it: what is left of budgets, teachers, and records."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.fitting.fitting import plan_fit
from ostraka.client.fitting.problems import KnownRecords
from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.retry import Retry
from ostraka.client.run.asking_options import Names
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.plan_search import allowance_of, probe_mechanisms, replies_by_kind
from ostraka.client.run.run_planner import UNUSED_NONCE, run_planner
from ostraka.client.run.site import SiteEncoder
from ostraka.client.run.sum_planning import SumAsking
from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig
from ostraka.common.console.texts import list_words
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism
from ostraka.common.plan.plan import Plan
from ostraka.common.planning.search.allowance import Allowance
from ostraka.common.privacy import budget_rdp
from ostraka.common.privacy.filters import GAUSSIAN, received_order
from ostraka.common.privacy.gaussian import gaussian_budget, gaussian_epsilon
from ostraka.protos.ostraka.v1 import guardian_pb2

Costs = tuple[guardian_pb2.PartyCost, ...]
V = TypeVar("V")
REFUSED = (ErrorCode.POLICY_REFUSED, ErrorCode.TASK_NUMERIC)
"""What leaves the other of votes and sums."""
PROBED = 1.0
"""Epsilon of the sums that the guardian is asked about: what others would cost is in proportion."""


@dataclass(frozen=True)
class Party:
    """What a party declares, and what is left of its budget.

    Attributes:
        site: its name.
        teachers: that vote, and labelled `records` that sums go over.
        records: of all its groups.
        left: epsilon of what is left, of Gaussian noise alone, at the budget's `delta`.
        delta: of the budget.
    """

    site: str
    teachers: int
    records: int
    left: float
    delta: float


@dataclass(frozen=True)
class Offer:
    """What a federation offers.

    Attributes:
        parties: that would answer.
        epsilon: of what is left of the smallest budget, or what was asked for where that is less.
        allowances: that pay for votes; none where no votes are had, which `no_votes` says why.
        mu: of sums that budgets pay for; None where none are had, which `no_sums` says why.
        told: whether the guardian says what is left: else whole budgets are taken.
        no_votes: a sentence.
        no_sums: a sentence.
    """

    parties: tuple[Party, ...]
    epsilon: float
    allowances: tuple[Allowance, ...] = field(repr=False)
    mu: float | None
    told: bool
    no_votes: str = ""
    no_sums: str = ""

    @property
    def records(self) -> int:
        """Labelled records of all parties together."""
        return sum(party.records for party in self.parties)

    @property
    def teachers(self) -> int:
        """Of all parties."""
        return sum(party.teachers for party in self.parties)


@dataclass(frozen=True)
class Asker:
    """Asks a guardian what plans would cost; nothing is opened or charged.

    Attributes:
        site: of the querying party.
        known: its records.
        queries: that votes would be asked about.
        parties: that would answer; None: all.
        encoder: in front of records.
        clock: of the guardian's connection.
        retry: of its calls.
    """

    site: SiteConfig
    known: KnownRecords
    queries: int
    parties: Names | None
    encoder: SiteEncoder
    clock: Clock
    retry: Retry

    def ask(self, guardian: GuardianPeer, epsilon: float | None) -> Offer:
        """Return what may be had for what is left, or for an epsilon where that is less.

        Raises:
            OstrakaError: `budget.too_small` where nothing is left of a party's budget, and what the guardian
                refuses both votes and sums with.
        """
        votes, no_votes = _attempt(lambda: self._ask_votes(guardian))
        sums, no_sums = _attempt(lambda: self._ask_sums(guardian))
        costs = votes or (None if sums is None else sums[1])
        if costs is None:
            refused = no_sums or no_votes
            assert refused is not None  # noqa: S101 - one of both was refused
            raise refused
        require_left(costs)
        parties = tuple(map(_party_of, costs))
        left = min(party.left for party in parties)
        spent = left if epsilon is None else min(epsilon, left)
        return Offer(
            parties,
            spent,
            () if votes is None else tuple(_allow(cost, epsilon) for cost in votes),
            None if sums is None else sums[0] * math.sqrt(min(_times(cost, epsilon) for cost in sums[1])),
            all(cost.HasField("rdp_left") for cost in costs),
            "" if no_votes is None else no_votes.message,
            "" if no_sums is None else no_sums.message,
        )

    def _ask_votes(self, guardian: GuardianPeer) -> Costs:
        """Return what votes cost each party, by any mechanism that the policy allows."""
        task = self.known.task
        task.require_classes("a vote")

        def make(mechanism: Mechanism) -> Plan:
            # One at a time: a policy may limit batches, which cost votes nothing of their own.
            options = PlanOptions(
                mechanism=mechanism, queries=self.queries, parties=self.parties, batch_size=1
            )
            planner = run_planner(self.site, task, options, self.queries, self.clock, self.retry)
            return planner.plan(UNUSED_NONCE, None)

        _, reply = next(iter(replies_by_kind(guardian, probe_mechanisms(task), make).values()))
        return tuple(reply.parties)

    def _ask_sums(self, guardian: GuardianPeer) -> tuple[float, Costs]:
        """Return mu of sums, and what they cost each party."""
        asking = SumAsking(
            self.known.task,
            self.site.parties,
            self.parties,
            encoder=self.encoder.name,
            encoder_sha256=self.encoder.sha256,
        )
        planned = plan_fit(self.known, FitOptions(epsilon=PROBED), asking, guardian)
        sums = planned.sums
        return sums.mu, tuple(guardian.plan(sums.plan.serialize()).parties)


def _attempt(ask: Callable[[], V]) -> tuple[V | None, OstrakaError | None]:
    """Return what is answered, or why it may not be asked."""
    try:
        return ask(), None
    except OstrakaError as error:
        if error.code not in REFUSED:
            raise
        return None, error


def require_left(costs: Costs) -> None:
    """Raise `budget.too_small` where nothing is left of a party's budget."""
    empty = [cost for cost in costs if cost.HasField("rdp_left") and not cost.rdp_left]
    if empty:
        raise OstrakaError(
            ErrorCode.BUDGET_TOO_SMALL,
            f"Nothing is left of the budget of {list_words([cost.site for cost in empty])}: there is nothing "
            "to advise on but to leave them out with --parties, or to let them agree to a larger budget.",
        )


def _party_of(cost: guardian_pb2.PartyCost) -> Party:
    return Party(
        cost.site, cost.teachers, cost.records, gaussian_epsilon(_rho_left(cost), cost.delta), cost.delta
    )


def _rho_left(cost: guardian_pb2.PartyCost) -> float:
    """Return rho of Gaussian noise that what is left pays for."""
    left = allowance_of(cost)
    return left.rdp if left.order == GAUSSIAN else left.rdp / left.order


def _allow(cost: guardian_pb2.PartyCost, epsilon: float | None) -> Allowance:
    """Return what votes may spend of what is left: no more than an epsilon."""
    left = allowance_of(cost)
    if epsilon is None:
        return left
    return replace(left, rdp=min(left.rdp, budget_rdp(epsilon, left.delta, left.order)))


def _times(cost: guardian_pb2.PartyCost, epsilon: float | None) -> float:
    """Return how many times what sums cost a party it may spend on them."""
    order = received_order(cost.order)
    paid = budget_rdp(cost.epsilon, cost.delta, order)
    rho = paid if order == GAUSSIAN else paid / order
    left = _rho_left(cost)
    return (left if epsilon is None else min(left, gaussian_budget(epsilon, cost.delta))) / rho
