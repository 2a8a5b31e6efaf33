"""The questions of a learner, and the model that it fits to the answers."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np

from ostraka.client.learners.problem import Problem
from ostraka.client.sums.source import NoisySum, SumSource
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.estimators.sum_models import Scores, SumClassifier, SumRegressor
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sums.feature_map import Floats
from ostraka.common.sums.questions import AnyQuestion
from ostraka.common.sums.sensitivity import MOVED_CODES, MOVED_GRAM, move_on_lattice

if TYPE_CHECKING:
    from ostraka.client.students.neural import Neural

Model: TypeAlias = "SumClassifier | SumRegressor | Neural"
"""A learner's result: an estimator of scikit-learn, or a network."""
LearnerName = Literal["moments", "bins", "boost", "gradients", "network"]


@dataclass(frozen=True)
class SumPlan:
    """The plan of a learner's questions, which is public.

    Attributes:
        learner: the learner's name.
        rounds: number of consecutive questions.
        columns: of a mapped record; for boosting, the most bins of a question.
        outputs: entries of a code, or scores.
        sigma: of the noise on each value of the first block, in units.
        gram_sigma: of the noise on each value of the packed Gram sum; None if that is not asked for.
        tells: what the questions reveal to the parties about the querying party's own records, in words.
        warnings: what the querying party should know before it pays, as sentences.
    """

    learner: LearnerName
    rounds: int
    columns: int
    outputs: int
    sigma: float
    gram_sigma: float | None = None
    tells: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def sigmas(self) -> tuple[float, ...]:
        """The sigma of each block of a question."""
        return (self.sigma,) if self.gram_sigma is None else (self.sigma, self.gram_sigma)

    @property
    def mu(self) -> float:
        """The mu of mu-Gaussian differential privacy of all rounds together, for one replaced record."""
        spent = (move_on_lattice(MOVED_CODES, self.columns * self.outputs, FRACTION_BITS) / self.sigma) ** 2
        if self.gram_sigma is not None:
            width = self.columns * (self.columns + 1) // 2
            spent += (move_on_lattice(MOVED_GRAM, width, FRACTION_BITS) / self.gram_sigma) ** 2
        return math.sqrt(self.rounds * spent)


def block_sigma(moved: float, width: int, mu: float) -> float:
    """Return the noise that makes a block of `width` values mu-Gaussian differentially private."""
    return move_on_lattice(moved, width, FRACTION_BITS) / mu


@dataclass(frozen=True)
class FitReport:
    """The sums and records that a model was fitted to.

    Attributes:
        learner: the learner's name.
        records: number of records in the sums, each counted with its weight.
        parties: the parties of these records.
        rounds: number of answered rounds, of `rounds_planned`.
        rounds_planned: number of rounds in the plan.
        pool_gram: whether the pool's covariance was used; None if the learner uses none.
        pool_check: the probability that a pool differs this much from the parties' records by chance; None if
            it was not checked.
        penalty: of the regression, in the units of its matrix; None if it has none.
        calibrated_on: number of own records that calibrated the probabilities.
        half_width: of a predicted number's interval, in its units; None if there is none.
        notes: other things that the querying party must know, as sentences.
    """

    learner: LearnerName
    records: float
    parties: tuple[str, ...]
    rounds: int
    rounds_planned: int
    pool_gram: bool | None = None
    pool_check: float | None = None
    penalty: float | None = None
    calibrated_on: int = 0
    half_width: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fit:
    """A fitted model, and the sums and records that it was fitted to."""

    model: Model = field(repr=False)
    report: FitReport


class Learner(Protocol):
    """Asks for noisy sums and learns from them."""

    def plan(self, problem: Problem, mu: float) -> SumPlan:
        """Return the questions' plan, which is mu-Gaussian differentially private for one replaced record."""

    def fit(self, problem: Problem, plan: SumPlan, source: SumSource) -> Fit:
        """Ask the questions, and return the model.

        Raises `message.invalid` for a sum with invalid numbers, `data.too_few` if it contains no records, and
        the source's errors if they come before there is any model.
        """


def ask_numbers(source: SumSource, question: AnyQuestion) -> NoisySum:
    """Return the answer to a question; raise as `Learner.fit` does if no model can be made from it."""
    noisy = source.ask(question)
    widths = tuple(len(block) for block in noisy.blocks)
    if widths != question.widths or not all(np.isfinite(block).all() for block in noisy.blocks):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            "The sum that came back holds values that are not numbers, or not as many as were asked for: "
            "run the same version at the guardian and at every party, and ask again.",
        )
    if not noisy.records > 0:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW, "The sum is over no records: wait for parties that have labelled ones."
        )
    return noisy


def make_model(
    problem: Problem, scores: Scores, slope: float, intercepts: Floats, half_width: float = math.inf
) -> SumClassifier | SumRegressor:
    """Return the model whose logits, or number, are `slope` times scores plus `intercepts` (k,).

    `half_width` is that of a number's interval; infinity if it is unknown.
    """
    if problem.kind == "number":
        return SumRegressor().take(
            scores,
            float(intercepts[0]),
            slope,
            features=problem.features,
            low=problem.low,
            high=problem.high,
            half_width=half_width,
        )
    return SumClassifier().take(
        scores,
        slope,
        intercepts,
        features=problem.features,
        outputs=problem.outputs,
        multi_label=problem.kind == "labels",
    )
