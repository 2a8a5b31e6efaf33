"""Gradient descent on noisy sums of a small network's clipped gradients (Abadi et al. 2016, full batches)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch.nn.utils import parameters_to_vector

from ostraka.client.learners.fit import Fit, FitReport, SumPlan, block_sigma
from ostraka.client.learners.problem import Problem
from ostraka.client.learners.rounds import Rounds
from ostraka.client.students.supervised import Supervised
from ostraka.client.sums.source import SumSource
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.data import Standardization
from ostraka.common.learning.learning import TrainingHistory
from ostraka.common.learning.network_sums import restore_network
from ostraka.common.learning.networks import Kind, network
from ostraka.common.sums.questions import NetworkQuestion, Target
from ostraka.common.sums.sensitivity import MOVED_GRADIENT
from ostraka.common.sums.wire import NETWORKS

ROUNDS = 60
"""Steps: fewer end before a hidden layer has learned, more share the budget among too many."""
RADIUS = 0.5
"""To which gradients are clipped, as those of linear models: half the noise for little bias."""
STEP = 1.0
"""Of each step along the speed, which is the sum of about ten clipped slopes of length `RADIUS` at most."""
MOMENTUM = 0.9
"""Of the steps: noise of about ten rounds is averaged in each."""


@dataclass(frozen=True)
class NetworkLearner:
    """Asks for the gradient at one network after another.

    Attributes:
        kind: of the network, as `networks.network` takes it.
        shape: of a record; None: a table of as many features.
        seed: of its first weights.
    """

    kind: Kind = "small-mlp"
    shape: tuple[int, ...] | None = None
    seed: int = 0

    def plan(self, problem: Problem, mu: float) -> SumPlan:
        """As `Learner.plan`; raise `plan.invalid` for a target or a kind that no network is of."""
        parameters = len(self._first(problem))
        sigma = block_sigma(MOVED_GRADIENT, parameters, mu / math.sqrt(ROUNDS))
        return SumPlan("network", ROUNDS, parameters, 1, sigma)

    def fit(self, problem: Problem, plan: SumPlan, source: SumSource) -> Fit:
        """As `Learner.fit`. A source that stops early leaves the model so far."""
        parameters = self._first(problem)
        speed = np.zeros(len(parameters))
        path: list[NDArray[np.float64]] = []
        rounds = Rounds(source)
        for _ in range(plan.rounds):
            noisy = rounds.ask(self._question(problem, parameters))
            if noisy is None:
                break
            speed = MOMENTUM * speed + RADIUS * noisy.blocks[0] / noisy.records
            parameters = (parameters - STEP * speed).astype(np.float32)
            path.append(parameters.astype(np.float64))
        average = np.mean(path[len(path) // 2 :], axis=0).astype(np.float32)
        report = FitReport(
            "network",
            rounds.records,
            rounds.parties,
            rounds=rounds.answered,
            rounds_planned=plan.rounds,
            notes=rounds.notes(plan.rounds),
        )
        return Fit(self._student(problem, average), report)

    def _question(self, problem: Problem, parameters: NDArray[np.float32]) -> NetworkQuestion:
        target = Target("logistic" if problem.kind == "labels" else "softmax", problem.outputs)
        return NetworkQuestion(self.kind, self._shape_of(problem), target, parameters, RADIUS)

    def _shape_of(self, problem: Problem) -> tuple[int, ...]:
        return self.shape or (problem.features,)

    def _first(self, problem: Problem) -> NDArray[np.float32]:
        """Return the first parameters (p,)."""
        if problem.kind == "number" or self.kind not in NETWORKS:
            raise OstrakaError(
                ErrorCode.PLAN_INVALID,
                f"The plan is invalid: networks ({', '.join(NETWORKS)}) learn classes and labels; choose"
                " moments or boost for a number.",
            )
        net = network(self._shape_of(problem), problem.outputs, self.kind, seed=self.seed)
        flat: NDArray[np.float32] = parameters_to_vector(net.parameters()).detach().numpy()
        return flat

    def _student(self, problem: Problem, parameters: NDArray[np.float32]) -> Supervised:
        shape = self._shape_of(problem)
        net = restore_network(self._question(problem, parameters)).eval()
        features = problem.features
        as_they_are = Standardization(np.zeros(features, np.float32), np.ones(features, np.float32))
        student = Supervised(shape, problem.outputs, network=self.kind, seed=self.seed)
        return student.take(
            net,
            as_they_are,
            multi_label=problem.kind == "labels",
            outputs=problem.outputs,
            history=TrainingHistory((), ROUNDS),
        )
