"""The student that learns by virtual adversarial training."""

from dataclasses import replace

from ostraka.client.students.minimizer import Minimizer
from ostraka.common.learning import vat
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.learning import Device, Learning
from ostraka.common.learning.networks import Kind
from ostraka.common.learning.objective import Objective
from ostraka.common.learning.shape import Shape


class Vat(Minimizer):
    """A network that says the same of an unlabeled record however the record changes a little.

    Args:
        shape: as `Neural`, and so are `classes`, `network`, `learning` and `seed`.
        classes: see `shape`.
        network: see `shape`.
        learning: see `shape`.
        seed: see `shape`.
        radius: length of a change, as the root mean square of a record's values in deviations.
        iterations: of the search for the worst change.
        weight: of what the worst change makes of a record.
        certainty: weight of the entropy of what the network says of unlabeled records.
        ramp: part of all steps over which both weights grow from 0.
    """

    default_learning = Learning(steps=3000)

    @classmethod
    def defaults(cls, device: Device = "auto") -> Learning:
        """Return a third of the steps where there is no GPU; docs/students.md says what all of them gain."""
        learning = super().defaults(device)
        return learning if learning.place.type == "cuda" else replace(learning, steps=learning.steps // 3)

    def __init__(
        self,
        shape: Shape | None = None,
        classes: int | None = None,
        *,
        network: Kind | str = "auto",
        learning: Learning | None = None,
        seed: int = 0,
        radius: float = 0.25,
        iterations: int = 1,
        weight: float = 1.0,
        certainty: float = 0.5,
        ramp: float = 0.25,
    ) -> None:
        """Take the parameters."""
        super().__init__(shape, classes, network=network, learning=learning, seed=seed)
        self.radius = radius
        self.iterations = iterations
        self.weight = weight
        self.certainty = certainty
        self.ramp = ramp

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Virtual adversarial training's loss, with minimal entropy."""
        return vat.VatObjective(
            views, multi_label, self.radius, self.iterations, self.weight, self.certainty, self.ramp
        )
