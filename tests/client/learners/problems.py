"""Problems that tests learn: records labelled by a linear rule, some of them private, some public."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.learners.fit import Fit, Learner, SumPlan
from ostraka.client.learners.problem import Kind, OwnRecords, Problem
from ostraka.client.sums.local import LocalSums
from ostraka.client.sums.source import NoisySum
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sums.questions import AnyQuestion, Rows

PRIVATE = 2000
POOL = 200
OWN = 60
TEST = 1000


@dataclass(frozen=True)
class Drawn:
    """A problem, the private records, and records to test with."""

    problem: Problem
    rows: Rows
    X: NDArray[Any]
    y: NDArray[Any]

    def source(self, plan: SumPlan, seed: int = 0) -> LocalSums:
        """Return the private records' sums with a plan's noise."""
        return LocalSums(self.rows, plan.sigmas, np.random.default_rng(seed))

    def learn(self, learner: Learner, mu: float, problem: Problem | None = None) -> Fit:
        """Return what a learner fits with a budget."""
        asked = problem or self.problem
        plan = learner.plan(asked, mu)
        return learner.fit(asked, plan, self.source(plan))


def draw(
    kind: Kind, outputs: int, *, seed: int = 0, features: int = 6, private: int = PRIVATE, rare: float = 0.0
) -> Drawn:
    """Return records from 0 to 1 labelled by a noisy linear rule; `rare` moves classes towards 0."""
    random = np.random.default_rng(seed)
    total = private + POOL + OWN + TEST
    X = np.clip(random.normal(0.5, 0.2, (total, features)), 0, 1)
    rule = np.random.default_rng(7).normal(size=(features, outputs))
    scores = (X - 0.5) @ rule + 0.1 * random.normal(size=(total, outputs))
    y: NDArray[Any]
    if kind == "number":
        y = np.clip(0.5 + scores[:, 0] / 3, 0, 1)
    elif kind == "labels":
        y = (scores > 0).astype(np.int64)
    elif outputs == 2:
        y = (scores[:, 0] > rare).astype(np.int64)
    else:
        y = scores.argmax(axis=1)
    cuts = np.cumsum([private, POOL, OWN])
    (X_private, pool, X_own, X_test), (y_private, _, y_own, y_test) = np.split(X, cuts), np.split(y, cuts)
    problem = Problem(kind, outputs, features, private, pool, OwnRecords(X_own, y_own))
    rows = Rows(np.zeros((private, 0), np.float32), X_private, y_private)
    return Drawn(problem, rows, X_test, y_test)


@dataclass
class EndingSource:
    """Answers `left` questions, and then reports with this code that the budget is spent."""

    source: LocalSums
    left: int
    code: ErrorCode = ErrorCode.BUDGET_TOO_SMALL

    def ask(self, question: AnyQuestion) -> NoisySum:
        """Return an answer while any are left."""
        if not self.left:
            raise OstrakaError(self.code, "The budget pays for no further round: raise it.")
        self.left -= 1
        return self.source.ask(question)
