"""The student that learns from labelled records alone."""

from ostraka.client.students.minimizer import Minimizer
from ostraka.common.learning import objective
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.objective import Objective


class Supervised(Minimizer):
    """A network trained on labelled records; unlabeled ones only affect the scale of features."""

    default_learning = Learning(unlabeled_ratio=1)

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Return cross-entropy on weak views."""
        return objective.SupervisedObjective(views, multi_label)
