"""The average that teachers of several parties start each round from, and how their updates change it."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import JointTraining
from ostraka.common.sharing.fixed_point import FRACTION_BITS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AveragedModel:
    """The averaging model after some rounds (Dodwadmath and Stich 2022, Algorithm 1).

    Attributes:
        theta: its parameters, (d,).
        c: its control variate, (d,).
        number: how many rounds it has had.
    """

    theta: Floats = field(repr=False)
    c: Floats = field(repr=False)
    number: int = 0

    @classmethod
    def starting_at(cls, theta: NDArray[np.float32]) -> Self:
        """Return the average before the first round: untrained parameters (d,), no correction."""
        return cls(theta.astype(np.float64), np.zeros(len(theta)))

    def after(
        self,
        mechanism: JointTraining,
        total: NDArray[np.int64],
        *,
        teachers_in: int,
        teachers: int,
        records: int,
    ) -> "AveragedModel":
        """Return the average after a round that released `total`.

        Lines 15 and 16 of Algorithm 1. What teachers' control variates change by in sum follows from their
        updates, and is not sent; where gradients are clipped the released sum is the gradient itself, and the
        variate (own derivation: docs/heterogeneity.md, Training together).

        Args:
            mechanism: the round's, with its recipe.
            total: the released sum, (d,) in lattice steps of 2^-16.
            teachers_in: teachers whose updates are in the sum.
            teachers: all teachers of the training.
            records: records in the sum, each as often as teachers have it.
        """
        recipe, released = mechanism.recipe, np.ldexp(total.astype(np.float64), -FRACTION_BITS)
        rate = recipe.learning_rate * recipe.decay**self.number
        if mechanism.gradient_radius is not None:
            gradient = released * mechanism.gradient_radius / records
            moved = recipe.average_rate * rate * gradient
            return AveragedModel(self.theta - moved, gradient, self.number + 1)
        step = released * mechanism.unit / teachers_in
        corrected = -self.c - step / (recipe.steps * rate)
        return AveragedModel(
            self.theta + recipe.average_rate * step,
            self.c + corrected * teachers_in / teachers,
            self.number + 1,
        )
