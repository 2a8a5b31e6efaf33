"""An accountant for votes in the clear: it adds up the cost of their release, step by step."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import BOUND, Mechanism
from ostraka.common.planning.candidate import fits
from ostraka.common.privacy import (
    FEW_ORDERS,
    ONE_VOTE,
    Influence,
    InputError,
    WorstCase,
    budget_amount,
    budget_rdp,
    epsilon,
    epsilon_by_answers,
)
from ostraka.common.sharing.ballots import ClassCounts, RecordCounts
from ostraka.guardian.mechanisms import charge
from ostraka.guardian.mechanisms.votes import tally_votes
from ostraka.guardian.noise import LATTICE

if TYPE_CHECKING:
    from dp_accounting import DpEvent


class Accountant:
    """Adds up what releases cost one unit, at one or many Renyi orders; epsilon comes from the best order.

    Neighbouring datasets differ in what one unit can change: `influence` votes of a query.

    While all costs are fixed before any answer is seen, the whole curve is composed, and choosing the best
    order costs nothing. Once a charge has followed an answer (a refusal by the check, a charge by label),
    each of m orders gets delta / m, and epsilon depends on the answers; docs/accounting.md, "Costs that
    follow answers", says what it then guarantees. Give one order, chosen before the first query, if charges
    will follow answers or if answers will decide when to stop. That order keeps all of delta, and a budget
    that it never exceeds is a filter (Feldman and Zrnic 2021), as in a federation's ledger.

    Attributes:
        follows_answers: whether any charge so far followed an answer.
    """

    def __init__(
        self,
        classes: int,
        *,
        delta: float = 1e-5,
        budget: float = math.inf,
        influence: Influence = ONE_VOTE,
        orders: Sequence[float] = FEW_ORDERS,
    ) -> None:
        """Begin with nothing spent.

        Args:
            classes: number of classes, or of labels of a multi-label task.
            delta: the delta of every reported epsilon.
            budget: epsilon that may be spent at `delta`; unlimited by default.
            influence: votes that one unit can change in a query.
            orders: Renyi orders, each a finite number above 1, fixed before the first answer is seen.

        Raises InputError for any other order; the total of a Gaussian filter is reported by `epsilon` alone.
        """
        for order in orders:
            if not 1 < order < math.inf:
                raise InputError("orders", f"must be finite numbers above 1, has {order}")
        self.classes = classes
        self.delta = delta
        self.budget = budget
        self.influence = influence
        self.orders = tuple(orders)
        self.follows_answers = False
        self._rdp = np.zeros(len(self.orders))

    @property
    def rdp(self) -> NDArray[np.float64]:
        """The Renyi divergence spent so far at each order."""
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
            queries: number of queries asked, all of them answered.
            answered: which answers were given, bool (Q, answers), instead of `queries`. The charge then
                follows the answers, unless the mechanism has no check and answers everything.
        """
        if answered is not None:
            self._follow(mechanism, answered)
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
        """Charge a batch by its votes, and return epsilon so far: a number that depends on private votes.

        Do not publish it as it is; smooth sensitivity exists for that (docs/accounting.md).

        Args:
            mechanism: what was released.
            counts: sums of ballots as the mechanism counts them, float64 (Q, width).
            answered: which answers were given, bool (Q, answers).
            teachers: number of voters on each query.
            scores: a student's probabilities (Q, classes) under Interactive.
            labels: the released labels, int64 (Q, answers); "exact" then charges each label by itself, and
                the charge follows the label.
            bound: "exact" (both directions), "theorem6" (Papernot et al. 2018), or "worst_case".
        """
        self._follow(mechanism, answered, labels)
        released = tally_votes(
            mechanism, counts, answered, classes=self.classes, teachers=teachers, scores=scores, labels=labels
        )
        costs = (charge(released, order, bound, self.influence, lattice=LATTICE) for order in self.orders)
        self._rdp += np.fromiter(costs, np.float64, len(self.orders))
        return self.epsilon()

    def compose(self, event: "DpEvent", count: int = 1) -> float:
        """Charge an event of dp_accounting, `count` times, and return epsilon so far.

        The event must protect what this accountant protects: the same unit and the same neighbours. Raises
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
        """Return what was spent, as epsilon at `delta`; the default is the accountant's own delta."""
        convert = epsilon_by_answers if self.follows_answers else epsilon
        return convert(self._rdp.tolist(), self.orders, self.delta if delta is None else delta)

    @property
    def left(self) -> float:
        """The remaining budget, as epsilon at the accountant's delta; never below 0."""
        return max(0.0, self.budget - self.epsilon())

    def fits(self, mechanism: Mechanism) -> int | None:
        """Return how many more answered queries of a mechanism the budget covers in the worst case.

        None means any number in one batch. If a later charge follows an answer, each of several orders gets a
        smaller part of delta, and so a smaller budget. Raises `config.invalid` without a budget.
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
        """Return one answered query (for clusters, one batch) as a worst-case event of dp_accounting.

        The event is the release of all noisy counts, from which the answer is computed. Composing it gives at
        least the cost of `step` at every order, and up to half again as much. Raises `config.invalid` for
        mechanisms other than Gaussian noise on counts of classes (pure guarantees, several labels).
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

    def _follow(
        self,
        mechanism: Mechanism,
        answered: NDArray[np.bool_],
        labels: NDArray[np.int64] | None = None,
    ) -> None:
        """Note whether charges follow answers; a mechanism without a check answers everything."""
        checked = mechanism.noisy_check is not None or not answered.all()
        self.follows_answers = self.follows_answers or checked or labels is not None

    def _worst(self, mechanism: Mechanism, order: float) -> WorstCase:
        return mechanism.worst_case(order, self.influence.sensitivity, classes=self.classes)

    def _fits(self, mechanism: Mechanism, order: float, spent: float) -> int | None:
        share = self.delta / (len(self.orders) if self.follows_answers else 1)
        left = max(0.0, budget_rdp(self.budget, share, order) - spent)
        return fits(self._worst(mechanism, order), mechanism.answers(self.classes), budget_amount(left))


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, problem)
