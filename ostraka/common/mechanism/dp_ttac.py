"""TTAC with noise on clipped updates (own derivation, docs/accounting.md)."""

import math
from typing import ClassVar, Literal

from ostraka.common.mechanism.joint_training import JointTraining
from ostraka.common.mechanism.mechanism import Draw, Positive
from ostraka.common.privacy.worst_case import WorstCase, gaussian_rdp
from ostraka.common.sharing import FRACTION_BITS


class DpTtac(JointTraining):
    """Release the sum of clipped updates with noise of `sigma` radii on each parameter.

    Attributes:
        recipe: how all teachers learn.
        clip: "record": a round is one step of the average along the sum of all records' gradients, each
            clipped to `radius`; "party": the joint update of a party's teachers is clipped to `radius`.
        radius: the L2 norm to which values are clipped, in parameters.
        sigma: the noise, in radii.
    """

    together: ClassVar[str] = "dp-ttac"
    gaussian: ClassVar[bool] = True

    kind: Literal["dp_ttac"] = "dp_ttac"
    clip: Literal["record", "party"] = "record"
    radius: Positive
    sigma: Positive

    @property
    def unit(self) -> float:
        """The value of 1 in a sum, in parameters: the radius."""
        return self.radius

    @property
    def update_radius(self) -> float:
        """The radius; with `clip` "record" a party sums clipped gradients instead of updates."""
        return self.radius

    @property
    def gradient_radius(self) -> float | None:
        """The radius if `clip` is "record", else None."""
        return self.radius if self.clip == "record" else None

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of every parameter."""
        return [Draw.gaussian(self.sigma, rows, self.width(classes))]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of Gaussian noise on a sum that a unit moves by `_shift`."""
        return WorstCase(answer=gaussian_rdp(order, self._shift(sensitivity), self.sigma))

    def _shift(self, sensitivity: float) -> float:
        """Return how far a unit moves a round's sum of updates, as an L2 norm in radii.

        Each of `sensitivity` gradients is replaced by another within the radius, and rounding their sum moves
        each parameter by less than one more step. With clip "party" a whole update is replaced, which was
        rounded within the radius (own derivation, docs/accounting.md).
        """
        if self.clip == "party":
            return 2.0
        return 2 * sensitivity + math.ldexp(math.sqrt(self.recipe.parameters), -FRACTION_BITS)
