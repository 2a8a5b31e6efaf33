"""An accountant for votes that somebody holds: what releasing them costs, step by step."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import BOUND, Mechanism
from ostraka.common.planning.candidate import fits
from ostraka.common.privacy import (
    ONE_VOTE,
    ORDERS,
    Influence,
    WorstCase,
    budget_amount,
    budget_rdp,
    epsilon,
)
from ostraka.common.sharing.ballots import ClassCounts, RecordCounts
from ostraka.guardian.mechanisms import charge
from ostraka.guardian.mechanisms.votes import tally_votes
from ostraka.guardian.noise import LATTICE

if TYPE_CHECKING:
    from dp_accounting import DpEvent

DEFAULT_ORDERS = ORDERS[::4]


class Accountant:
    """Adds up what releases cost one unit, at many Renyi orders at once; epsilon is that of the best order.

    Neighbouring datasets differ in what one unit can change: `influence` votes of a query. The best order may
    be chosen at the end, because the whole curve is composed. What each step costs must be fixed before its
    answers are seen: to decide by answers when to stop takes a filter at one order (Feldman and Zrnic 2021),
    which is what a federation's ledger is.
    """

    def __init__(
        self,
        classes: int,
        *,
        delta: float = 1e-5,
        budget: float = math.inf,
        influence: Influence = ONE_VOTE,
        orders: Sequence[float] = DEFAULT_ORDERS,
    ) -> None:
        """Begin with nothing spent.

        Args:
            classes: number of classes, or of labels of a multi-label task.
            delta: at which epsilons are told.
            budget: epsilon that may be spent at `delta`; by default any.
            influence: votes that one unit can change in a query.
            orders: Renyi orders, each a finite number above 1.
        """
        self.classes = classes
        self.delta = delta
        self.budget = budget
        self.influence = influence
        self.orders = tuple(orders)
        self._rdp = np.zeros(len(self.orders))

    @property
    def rdp(self) -> NDArray[np.float64]:
        """What was spent at each order, as Renyi divergence."""
        return self._rdp.copy()

    def step(
        self,
        mechanism: Mechanism,
        queries: int = 1,
        *,
        answered: NDArray[np.bool_] | None = None,
    ) -> float:
        """Charge a batch its worst case, whatever the votes were, and return epsilon so far.

        Args:
            mechanism: what was released.
            queries: how many were asked, all of them answered.
            answered: which answers were given, bool (Q, answers), instead of `queries`.
        """
        answers = mechanism.answers(self.classes)
        given = np.ones((queries, answers), np.bool_) if answered is None else answered
        worst = (self._worst(mechanism, order).rdp(given) for order in self.orders)
        self._rdp += np.fromiter(worst, np.float64, len(self.orders))
        return self.epsilon()

    def step_votes(
        self,
        mechanism: Mechanism,
        counts: NDArray[np.float64],
        answered: NDArray[np.bool_],
        *,
        teachers: int,
        scores: NDArray[np.float64] | None = None,
        labels: NDArray[np.int64] | None = None,
        bound: BOUND = "exact",
    ) -> float:
        """Charge a batch by its votes, and return epsilon so far: a figure that depends on private votes.

        It must not be published as it is; smooth sensitivity is for that (docs/accounting.md).

        Args:
            mechanism: what was released.
            counts: sums of ballots as it counts them, float64 (Q, width).
            answered: which answers were given, bool (Q, answers).
            teachers: how many voted on each query.
            scores: a student's probabilities (Q, classes) under Interactive.
            labels: what was released, int64 (Q, answers); "exact" then charges each label by itself.
            bound: "exact" (both directions), "theorem6" (Papernot et al. 2018), or "worst_case".
        """
        released = tally_votes(
            mechanism, counts, answered, classes=self.classes, teachers=teachers, scores=scores, labels=labels
        )
        costs = (charge(released, order, bound, self.influence, lattice=LATTICE) for order in self.orders)
        self._rdp += np.fromiter(costs, np.float64, len(self.orders))
        return self.epsilon()

    def compose(self, event: "DpEvent", count: int = 1) -> float:
        """Charge an event of dp_accounting, `count` times, and return epsilon so far.

        What it protects must be what this accountant protects: the same unit, the same neighbours. Raises
        `config.invalid` for an event that dp_accounting's RDP accountant does not know.
        """
        from dp_accounting import UnsupportedEventError
        from dp_accounting.rdp import RdpAccountant

        accountant = RdpAccountant(list(self.orders))
        try:
            accountant.compose(event, count)
        except UnsupportedEventError as exc:
            raise _invalid(f"This event has no Renyi divergence: {exc}.") from exc
        self._rdp += accountant.rdp
        return self.epsilon()

    def epsilon(self, delta: float | None = None) -> float:
        """Return what was spent, as epsilon at `delta`, by default the accountant's own."""
        return epsilon(self._rdp.tolist(), self.orders, self.delta if delta is None else delta)

    @property
    def left(self) -> float:
        """What is left of the budget, as epsilon at the accountant's delta; never below 0."""
        return max(0.0, self.budget - self.epsilon())

    def fits(self, mechanism: Mechanism) -> int | None:
        """Return how many more queries of a mechanism the budget pays for in the worst case, all answered.

        None: any number in one batch. Raises `config.invalid` without a budget.
        """
        if math.isinf(self.budget):
            raise _invalid("The accountant has no budget: make it with budget=10.")
        most = 0
        for order, spent in zip(self.orders, self._rdp.tolist(), strict=True):
            count = self._fits(mechanism, order, spent)
            if count is None:
                return None
            most = max(most, count)
        return most

    def event(self, mechanism: Mechanism) -> "DpEvent":
        """Return one answered query (of clusters, one batch) as an event of dp_accounting, in the worst case.

        It is the release of all noisy counts, which the answer is made from: composing it gives no less than
        `step` at any order, and up to half again as much. Raises `config.invalid` for a mechanism that
        Gaussian noise on counts of classes does not describe (pure guarantees, several labels).
        """
        from dp_accounting import ComposedDpEvent, GaussianDpEvent

        draws = mechanism.draws(1, self.classes)
        counted = draws[-1] if isinstance(mechanism.ballot, ClassCounts | RecordCounts) and draws else None
        if counted is None or counted.kind != "gaussian":
            raise _invalid(f"No Gaussian noise describes {mechanism.kind}: compare it by Accountant.rdp.")
        answer = GaussianDpEvent(counted.sigma / (math.sqrt(2) * self.influence.sensitivity))
        check = mechanism.noisy_check
        if check is None:
            return answer
        return ComposedDpEvent([GaussianDpEvent(check.sigma / self.influence.sensitivity), answer])

    def _worst(self, mechanism: Mechanism, order: float) -> WorstCase:
        return mechanism.worst_case(order, self.influence.sensitivity, classes=self.classes)

    def _fits(self, mechanism: Mechanism, order: float, spent: float) -> int | None:
        left = max(0.0, budget_rdp(self.budget, self.delta, order) - spent)
        return fits(self._worst(mechanism, order), mechanism.answers(self.classes), budget_amount(left))


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, problem)
