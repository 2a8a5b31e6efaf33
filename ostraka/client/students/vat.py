"""The student that learns by virtual adversarial training."""

from dataclasses import dataclass, replace

from ostraka.client.students.minimizer import Minimizer
from ostraka.common.learning import vat
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.learning import Device, Learning
from ostraka.common.learning.objective import Objective


@dataclass(eq=False, repr=False, kw_only=True)
class Vat(Minimizer):
    """A network that says the same of an unlabeled record however the record changes a little."""

    default_learning = Learning(steps=3000)

    radius: float = 0.25
    """Length of a change, as the root mean square of a record's values in deviations."""
    iterations: int = 1
    """Iterations of the search for the worst change."""
    weight: float = 1.0
    """Weight of what the worst change makes of a record."""
    certainty: float = 0.5
    """Weight of the entropy of what the network says of unlabeled records."""
    ramp: float = 0.25
    """Part of all steps over which both weights grow from 0."""

    @classmethod
    def defaults(cls, device: Device = "auto") -> Learning:
        """Return a third of the steps where there is no GPU; docs/students.md says what all of them gain."""
        learning = super().defaults(device)
        return learning if learning.place.type == "cuda" else replace(learning, steps=learning.steps // 3)

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Virtual adversarial training's loss, with minimal entropy."""
        return vat.VatObjective(
            views, multi_label, self.radius, self.iterations, self.weight, self.certainty, self.ramp
        )
