"""The student that learns from labelled records alone."""

from client.students.neural import Neural
from common.learning import supervised
from common.learning.augmentation import Augmentation
from common.learning.learning import Learning
from common.learning.objective import Objective


class Supervised(Neural):
    """A network of labelled records; unlabeled ones only set the scale of features."""

    default_learning = Learning(unlabeled_ratio=1)

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Cross-entropy of weak views."""
        return supervised.Supervised(views, multi_label)
