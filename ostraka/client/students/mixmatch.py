"""The student that learns by MixMatch."""

from dataclasses import dataclass

from ostraka.client.students.minimizer import Minimizer
from ostraka.common.learning import mixmatch
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.objective import Objective


@dataclass(eq=False, repr=False, kw_only=True)
class MixMatch(Minimizer):
    """A network that learns mixtures of labelled records and of records whose labels it guesses."""

    default_learning = Learning(steps=3000)

    guesses: int = 2
    """Views over which a guess is the mean."""
    temperature: float = 0.5
    """Temperature of sharpening; 1 leaves guesses as they are."""
    mixing: float = 0.75
    """Both parameters of the Beta distribution of a mixture's weights."""
    weight: float = 1.0
    """Weight of the guessed labels' loss, once it is reached."""
    ramp: float = 0.25
    """Part of all steps over which that weight grows from 0."""

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """MixMatch's loss, of classes or of labels."""
        return mixmatch.MixMatchObjective(
            views, multi_label, self.guesses, self.temperature, self.mixing, self.weight, self.ramp
        )
