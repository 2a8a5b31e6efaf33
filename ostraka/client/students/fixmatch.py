"""The student that learns by FixMatch."""

from ostraka.client.students.minimizer import Minimizer
from ostraka.common.learning import fixmatch
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.networks import Kind
from ostraka.common.learning.objective import Objective
from ostraka.common.learning.shape import Shape


class FixMatch(Minimizer):
    """A network that learns in strong views of unlabeled records what it is sure of in weak ones.

    Args:
        shape: as `Neural`, and so are `classes`, `network`, `learning` and `seed`.
        classes: see `shape`.
        network: see `shape`.
        learning: see `shape`.
        seed: see `shape`.
        threshold: probability from which the network is sure.
        weight: of the guessed labels' loss beside that of the known ones.
    """

    default_learning = Learning(steps=3000)

    def __init__(
        self,
        shape: Shape | None = None,
        classes: int | None = None,
        *,
        network: Kind | str = "auto",
        learning: Learning | None = None,
        seed: int = 0,
        threshold: float = 0.95,
        weight: float = 1.0,
    ) -> None:
        """Take the parameters."""
        super().__init__(shape, classes, network=network, learning=learning, seed=seed)
        self.threshold = threshold
        self.weight = weight

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """FixMatch's loss."""
        return fixmatch.FixMatchObjective(views, multi_label, self.threshold, self.weight)
