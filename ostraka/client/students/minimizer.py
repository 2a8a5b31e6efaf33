"""Students that minimise an objective over labelled and unlabeled records, in the shared training loop."""

from abc import abstractmethod
from typing import Self

import numpy as np
from torch import nn

from ostraka.client.students.models import require_learnable
from ostraka.client.students.neural import Features, Neural, check_records
from ostraka.common.learning.augmentation import Augmentation, augmentation
from ostraka.common.learning.data import Labelled, Standardization
from ostraka.common.learning.learning import TrainingHistory
from ostraka.common.learning.lesson import Lesson
from ostraka.common.learning.loop import learn
from ostraka.common.learning.objective import Objective
from ostraka.common.learning.training_run import UNWATCHED, TrainingRun


class Minimizer(Neural):
    """A network that minimises its algorithm's objective, on features standardized over all records."""

    @abstractmethod
    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Return the objective that the algorithm minimises."""

    def learn_from(
        self,
        labelled: Labelled,
        unlabeled: Features | None = None,
        validation: Labelled | None = None,
        run: TrainingRun = UNWATCHED,
    ) -> Self:
        """Learn from labelled records and, ignoring their labels, from all records.

        Raises what every student does, and what `ostraka.common.learning.loop.learn` raises.
        """
        shape = self.shape or (labelled.X.shape[1],)
        outputs = self._outputs(labelled)
        require_learnable(labelled.y)
        check_records(labelled, unlabeled, validation, shape, outputs)
        pool = labelled.X if unlabeled is None else np.concatenate([labelled.X, unlabeled])
        scaling = Standardization.of(pool, shape)
        net = self.make_network(shape, outputs)
        lesson = Lesson(
            objective=self.objective(augmentation(shape), multi_label=labelled.multi_label),
            labelled=_scale(labelled, scaling),
            unlabeled=scaling.apply(pool),
            validation=None if validation is None else _scale(validation, scaling),
            learning=self._learning,
            seed=self.seed,
        )
        history = self.train(net, lesson, run)
        return self.take(
            net.cpu(), scaling, multi_label=labelled.multi_label, outputs=outputs, history=history
        )

    def train(self, net: nn.Module, lesson: Lesson, run: TrainingRun = UNWATCHED) -> TrainingHistory:
        """Train a network on scaled records; `unlabeled` has all records, labelled first. See
        `learn_from`."""
        return learn(net, lesson, run)


def _scale(labelled: Labelled, scaling: Standardization) -> Labelled:
    return Labelled(scaling.apply(labelled.X), labelled.y, labelled.error)
