"""Settings: records, teachers, and plans that were fixed before any vote was cast."""

import math
from dataclasses import dataclass, replace
from typing import Literal

from benchmarks.published import DATA
from ostraka.client.students.registry import student_class
from ostraka.common.learning.learning import Learning
from ostraka.common.mechanism import Confident
from ostraka.services.teachers import TrainingConfig

MNIST = DATA / "mnist.npz"


@dataclass(frozen=True)
class Plan:
    """A budget and how it is spent.

    Attributes:
        epsilon: the budget, at the setting's delta.
        order: Renyi order of its filter.
        mechanism: the mechanism.
    """

    epsilon: float
    order: float
    mechanism: Confident


@dataclass(frozen=True)
class Setting:
    """One benchmark.

    Attributes:
        dataset: the data set; digits come with scikit-learn.
        training: of the teachers, on the private records.
        pool: number of public records, the first that are not private; the others test students.
        delta: of every budget.
        plans: one for each budget.
        steps: of every student.
    """

    dataset: Literal["mnist", "digits"]
    training: TrainingConfig
    pool: int
    delta: float
    plans: tuple[Plan, ...]
    steps: int

    def learning(self, student: str) -> Learning:
        """Return the training settings of a student."""
        return replace(student_class(student).default_learning, steps=self.steps)


_CONSENSUS = Confident(sigma1=200.0, sigma2=40.0, threshold=220.0)
FULL = Setting(
    dataset="mnist",
    training=TrainingConfig(teachers=250, model="cnn"),
    pool=9000,
    delta=1e-5,
    plans=(Plan(math.log(2), 22.0, _CONSENSUS), Plan(1.97, 10.0, _CONSENSUS)),
    steps=1500,
)
"""As the papers divide MNIST. `benchmarks.students.planning` chose the plans by other digits."""
QUICK = Setting(
    dataset="digits",
    training=TrainingConfig(teachers=20, model="logistic"),
    pool=500,
    delta=1e-3,
    plans=(Plan(8.0, 3.0, Confident(sigma1=8.0, sigma2=3.0, threshold=14.0)),),
    steps=40,
)
"""Checks that everything runs; its figures are meaningless."""
