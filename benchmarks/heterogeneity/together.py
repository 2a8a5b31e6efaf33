"""Joint training of teachers (Dodwadmath and Stich 2022, Algorithm 1), in one process."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.heterogeneity.data import CLASSES, SHAPE, Records
from benchmarks.heterogeneity.networks import Votes
from benchmarks.heterogeneity.quick import MODEL
from ostraka.client.training.training_state import AveragedModel
from ostraka.common.mechanism import DpTtac, Recipe, Ttac
from ostraka.common.privacy import ORDERS
from ostraka.common.sharing import FRACTION_BITS
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.joint_training import JointTeachers, RoundInput, first_parameters
from ostraka.services.teachers.nets import Networks


@dataclass(frozen=True)
class Lessons:
    """Settings of a joint training.

    Attributes:
        mechanism: releases a round's sum.
        rounds: R; all except the last release a sum.
    """

    mechanism: Ttac | DpTtac
    rounds: int

    @property
    def rdp(self) -> Floats:
        """Return the cost of all sums to a record that one teacher has, at `ORDERS`."""
        each = [self.mechanism.worst_case(order, classes=CLASSES).answer for order in ORDERS]
        return (self.rounds - 1) * np.array(each)


def _recipe(**settings: float) -> Recipe:
    parameters = len(first_parameters(MODEL, SHAPE, CLASSES, seed=0))
    return Recipe.model_validate({"model": MODEL, "parameters": parameters, "batch_size": 32, **settings})


TTAC = Lessons(Ttac(recipe=_recipe(steps=5, learning_rate=0.05, decay=0.99)), rounds=150)
DP_TTAC = Lessons(
    DpTtac(recipe=_recipe(steps=10, learning_rate=0.05, average_rate=20.0), radius=2.0, sigma=23.5), rounds=30
)
"""Epsilon 2 at delta 1e-5; found, like TTAC's, with 3,000 of the records and proportional noise."""


def learn(lessons: Lessons, seed: int, held: Sequence[Records], X: NDArray[np.float32]) -> Votes:
    """Train a teacher on each part of `held`; return the classes (teachers, Q) of `X` (Q, ...)."""
    mechanism = lessons.mechanism
    model = lessons.mechanism.recipe.model
    parts = [Slice(part.X, part.y, (seed, row)) for row, part in enumerate(held)]
    teachers = JointTeachers(parts, model, CLASSES, TrainingConfig(teachers=len(parts)), mechanism.recipe)
    average = AveragedModel.starting_at(first_parameters(model, X.shape[1:], CLASSES, seed))
    variates = np.zeros((len(parts), len(average.theta)), np.float32)
    random = np.random.default_rng(seed)
    for _ in range(lessons.rounds - 1):
        update, variates = teachers.update(mechanism, _round(average), variates)
        average = average.after(
            mechanism,
            _release(update, mechanism, random),
            teachers_in=len(parts),
            teachers=len(parts),
            records=sum(len(part.y) for part in parts),
        )
    networks = Networks.of(model, X.shape[1:], teachers.finish(mechanism, _round(average), variates))
    return networks.predict(X.reshape(len(X), -1), VoteGuard(CLASSES)).astype(np.uint8)


def _round(average: AveragedModel) -> RoundInput:
    return RoundInput(average.theta.astype(np.float32), average.c.astype(np.float32), average.number)


def _release(
    update: NDArray[np.int64], mechanism: Ttac | DpTtac, random: np.random.Generator
) -> NDArray[np.int64]:
    """Return the sum with rounded NumPy noise, which is not for releases; unchanged without noise."""
    noise = sum((sigma * random.standard_normal(len(update)) for sigma in mechanism.sigmas), np.zeros(1))
    return update + np.rint(np.ldexp(noise, FRACTION_BITS)).astype(np.int64)
