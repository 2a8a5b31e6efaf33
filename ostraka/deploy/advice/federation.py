"""A federation's offer before anything is requested: the rest of budgets, teachers, and records."""

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
"""Errors that rule out only one of votes and sums."""
PROBED = 1.0
"""Epsilon of the sums whose cost the guardian reports; other costs are in proportion."""


@dataclass(frozen=True)
class Party:
    """A party's declaration, and the rest of its budget.

    Attributes:
        site: its name.
        teachers: number of voting teachers; sums are over its labelled `records`.
        records: of all its groups.
        left: epsilon of the rest, for Gaussian noise alone, at the budget's `delta`.
        delta: of the budget.
    """

    site: str
    teachers: int
    records: int
    left: float
    delta: float


@dataclass(frozen=True)
class Offer:
    """A federation's offer.

    Attributes:
        parties: the parties that would answer.
        epsilon: of the rest of the smallest budget, or the requested epsilon if that is less.
        allowances: what pays for votes; empty if there are none, for the reason `no_votes`.
        mu: of sums that budgets pay for; None if there are none, for the reason `no_sums`.
        told: whether the guardian reports the rest of budgets; else whole budgets are assumed.
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
        """Number of teachers of all parties."""
        return sum(party.teachers for party in self.parties)


@dataclass(frozen=True)
class Asker:
    """Asks a guardian what plans would cost; nothing is opened or charged.

    Attributes:
        site: of the querying party.
        known: its records.
        queries: number of queries for votes.
        parties: the parties that would answer; None: all.
        encoder: the encoder of the records.
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
        """Return what the rest of budgets buys, or an epsilon if that is less.

        Raises:
            OstrakaError: `budget.too_small` if nothing is left of a party's budget, and the guardian's error
                if it refuses both votes and sums.
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
        """Return the cost of votes to each party, by any mechanism that the policy allows."""
        task = self.known.task
        task.require_classes("a vote")

        def make(mechanism: Mechanism) -> Plan:
            # One at a time: a policy may limit batches, which have no cost of their own for votes.
            options = PlanOptions(
                mechanism=mechanism, queries=self.queries, parties=self.parties, batch_size=1
            )
            planner = run_planner(self.site, task, options, self.queries, self.clock, self.retry)
            return planner.plan(UNUSED_NONCE, None)

        _, reply = next(iter(replies_by_kind(guardian, probe_mechanisms(task), make).values()))
        return tuple(reply.parties)

    def _ask_sums(self, guardian: GuardianPeer) -> tuple[float, Costs]:
        """Return mu of sums, and their cost to each party."""
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
    """Return the answer, or the error that refuses it."""
    try:
        return ask(), None
    except OstrakaError as error:
        if error.code not in REFUSED:
            raise
        return None, error


def require_left(costs: Costs) -> None:
    """Raise `budget.too_small` if nothing is left of a party's budget."""
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
    """Return rho of the Gaussian noise that the rest of a budget pays for."""
    left = allowance_of(cost)
    return left.rdp if left.order == GAUSSIAN else left.rdp / left.order


def _allow(cost: guardian_pb2.PartyCost, epsilon: float | None) -> Allowance:
    """Return what votes may spend of the rest of a budget: at most an epsilon."""
    left = allowance_of(cost)
    if epsilon is None:
        return left
    return replace(left, rdp=min(left.rdp, budget_rdp(epsilon, left.delta, left.order)))


def _times(cost: guardian_pb2.PartyCost, epsilon: float | None) -> float:
    """Return how many times the cost of sums a party may spend on them."""
    order = received_order(cost.order)
    paid = budget_rdp(cost.epsilon, cost.delta, order)
    rho = paid if order == GAUSSIAN else paid / order
    left = _rho_left(cost)
    return (left if epsilon is None else min(left, gaussian_budget(epsilon, cost.delta))) / rho
