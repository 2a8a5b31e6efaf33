"""The student that learns by MixMatch."""

from ostraka.client.students.minimizer import Minimizer
from ostraka.common.learning import mixmatch
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.networks import Kind
from ostraka.common.learning.objective import Objective
from ostraka.common.learning.shape import Shape


class MixMatch(Minimizer):
    """A network that learns mixtures of labelled records and of records whose labels it guesses.

    Args:
        shape: as `Neural`, and so are `classes`, `network`, `learning` and `seed`.
        classes: see `shape`.
        network: see `shape`.
        learning: see `shape`.
        seed: see `shape`.
        guesses: views over which a guess is the mean.
        temperature: of sharpening; 1 leaves guesses as they are.
        mixing: both parameters of the Beta distribution of a mixture's weights.
        weight: of the guessed labels' loss, once it is reached.
        ramp: part of all steps over which that weight grows from 0.
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
        guesses: int = 2,
        temperature: float = 0.5,
        mixing: float = 0.75,
        weight: float = 1.0,
        ramp: float = 0.25,
    ) -> None:
        """Take the parameters."""
        super().__init__(shape, classes, network=network, learning=learning, seed=seed)
        self.guesses = guesses
        self.temperature = temperature
        self.mixing = mixing
        self.weight = weight
        self.ramp = ramp

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """MixMatch's loss, of classes or of labels."""
        return mixmatch.MixMatchObjective(
            views, multi_label, self.guesses, self.temperature, self.mixing, self.weight, self.ramp
        )
