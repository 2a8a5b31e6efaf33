"""The student that learns by FixMatch."""

from dataclasses import dataclass

from ostraka.client.students.minimizer import Minimizer
from ostraka.common.learning import fixmatch
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.objective import Objective


@dataclass(eq=False, repr=False, kw_only=True)
class FixMatch(Minimizer):
    """FixMatch: trains strong views of unlabeled records on confident predictions for their weak views."""

    default_learning = Learning(steps=3000)

    threshold: float = 0.95
    """Probability from which the network is sure."""
    weight: float = 1.0
    """Weight of the guessed labels' loss beside that of the known ones."""

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """FixMatch's loss."""
        return fixmatch.FixMatchObjective(views, multi_label, self.threshold, self.weight)
