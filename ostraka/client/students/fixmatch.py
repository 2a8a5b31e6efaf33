"""The student that learns by FixMatch."""

from dataclasses import dataclass

from ostraka.client.students.minimizer import Minimizer
from ostraka.common.learning import fixmatch
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.objective import Objective


@dataclass(eq=False, repr=False, kw_only=True)
class FixMatch(Minimizer):
    """FixMatch: trains on strong views of unlabeled records, with confident predictions for their weak
    views."""

    default_learning = Learning(steps=3000)

    threshold: float = 0.95
    """Probability from which a prediction counts as confident."""
    weight: float = 1.0
    """Weight of the loss of pseudo-labels, relative to that of known labels."""

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Return FixMatch's loss."""
        return fixmatch.FixMatchObjective(views, multi_label, self.threshold, self.weight)
