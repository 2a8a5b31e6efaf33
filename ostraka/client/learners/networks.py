"""Gradient descent on noisy sums of a small network's clipped gradients (Abadi et al. 2016, full batches)."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils import parameters_to_vector

from ostraka.client.learners.calibration import Calibration, calibrate, plain_calibration
from ostraka.client.learners.finishing import tell_uncalibrated
from ostraka.client.learners.fit import Fit, FitReport, SumPlan, block_sigma
from ostraka.client.learners.problem import OwnRecords, Problem
from ostraka.client.learners.rounds import Rounds
from ostraka.client.students.supervised import Supervised
from ostraka.client.sums.source import SumSource
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.data import Standardization
from ostraka.common.learning.learning import TrainingHistory
from ostraka.common.learning.network_sums import restore_network
from ostraka.common.learning.networks import Kind, network
from ostraka.common.learning.shape import picture_axes
from ostraka.common.sums.questions import NetworkQuestion, Target
from ostraka.common.sums.sensitivity import MOVED_GRADIENT

ROUNDS = 60
"""Number of steps: fewer do not train a hidden layer, more split the budget too much."""
RADIUS = 0.5
"""Clipping radius of gradients, as for linear models: half the noise for little bias."""
STEP = 1.0
"""Step size along the speed, which is at most the sum of about ten clipped slopes of length `RADIUS`."""
MOMENTUM = 0.9
"""Momentum: each step averages the noise of about ten rounds."""


@dataclass(frozen=True)
class NetworkLearner:
    """Asks for the gradient at one network after another.

    Attributes:
        seed: of the initial weights.
    """

    seed: int = 0

    def plan(self, problem: Problem, mu: float) -> SumPlan:
        """Return the plan, see `Learner.plan`; raise `plan.invalid` for a number."""
        parameters = len(self._first(problem))
        sigma = block_sigma(MOVED_GRADIENT, parameters, mu / math.sqrt(ROUNDS))
        return SumPlan("network", ROUNDS, parameters, 1, sigma)

    def fit(self, problem: Problem, plan: SumPlan, source: SumSource) -> Fit:
        """Return the model, see `Learner.fit`. If the source stops early, the model so far."""
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
        net = restore_network(self._question(problem, average)).eval()
        notes = tell_uncalibrated(problem.labelled)
        calibration = plain_calibration(problem.outputs, 1.0)
        if problem.labelled is not None and not notes:
            calibration = _calibrate(net, problem.labelled, self._target(problem))
        report = FitReport(
            "network",
            rounds.records,
            rounds.parties,
            rounds=rounds.answered,
            rounds_planned=plan.rounds,
            calibrated_on=calibration.records,
            notes=(*rounds.notes(plan.rounds), *notes),
        )
        return Fit(self._student(problem, net), report)

    def _question(self, problem: Problem, parameters: NDArray[np.float32]) -> NetworkQuestion:
        return NetworkQuestion(kind_of(problem), shape_of(problem), self._target(problem), parameters, RADIUS)

    @staticmethod
    def _target(problem: Problem) -> Target:
        return Target("logistic" if problem.kind == "labels" else "softmax", problem.outputs)

    def _first(self, problem: Problem) -> NDArray[np.float32]:
        """Return the initial parameters (p,)."""
        if problem.kind == "number":
            raise OstrakaError(
                ErrorCode.PLAN_INVALID,
                "The plan is invalid: networks learn classes and labels; choose moments or boost for"
                " a number.",
            )
        net = network(shape_of(problem), problem.outputs, kind_of(problem), seed=self.seed)
        flat: NDArray[np.float32] = parameters_to_vector(net.parameters()).detach().numpy()
        return flat

    def _student(self, problem: Problem, net: nn.Module) -> Supervised:
        features = problem.features
        as_they_are = Standardization(np.zeros(features, np.float32), np.ones(features, np.float32))
        student = Supervised(shape_of(problem), problem.outputs, network=kind_of(problem), seed=self.seed)
        return student.take(
            net,
            as_they_are,
            multi_label=problem.kind == "labels",
            outputs=problem.outputs,
            history=TrainingHistory((), ROUNDS),
        )


def _calibrate(net: nn.Module, own: OwnRecords, target: Target) -> Calibration:
    """Calibrate a network on own records, which it did not use, by changing its last layer."""
    with torch.no_grad():
        logits = net(torch.from_numpy(np.asarray(own.X, np.float32))).numpy().astype(np.float64)
        calibration = calibrate(logits, own.y, target, 1.0)
        *_, last = net.children()
        assert isinstance(last, nn.Linear)  # noqa: S101 - as small networks are built
        last.weight.mul_(calibration.slope)
        last.bias.mul_(calibration.slope)
        last.bias.add_(torch.from_numpy(calibration.intercepts.astype(np.float32)))
    return calibration


def shape_of(problem: Problem) -> tuple[int, ...]:
    """Return the shape of a record as a network takes it."""
    return problem.shape or (problem.features,)


def kind_of(problem: Problem) -> Kind:
    """Return the kind of network that suits records: "small-cnn" for images, else "small-mlp"."""
    return "small-mlp" if picture_axes(shape_of(problem)) is None else "small-cnn"
