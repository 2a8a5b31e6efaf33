"""TTAC without noise (Dodwadmath and Stich 2022)."""

from typing import ClassVar, Literal

from ostraka.common.mechanism.joint_training import JointTraining
from ostraka.common.mechanism.mechanism import Draw
from ostraka.common.privacy.worst_case import WorstCase

UPDATE_UNITS = 2.0**8
"""Number of units in a sum of `Ttac`, of 2^16 steps each, for a change of 1 in a parameter."""


class Ttac(JointTraining):
    """Release the sum of all teachers' updates, in `UPDATE_UNITS`, as it is: no formal guarantee."""

    together: ClassVar[str] = "ttac"
    guaranteed: ClassVar[bool] = False
    gaussian: ClassVar[bool] = True

    kind: Literal["ttac"] = "ttac"

    @property
    def unit(self) -> float:
        """The value of 1 in a sum, in parameters."""
        return 1 / UPDATE_UNITS

    @property
    def update_radius(self) -> None:
        """None: updates are not clipped."""

    @property
    def gradient_radius(self) -> None:
        """None: gradients are not clipped."""

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return no draws: there is no noise."""
        return []

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return no cost: the release has no guarantee that could be stated."""
        return WorstCase()
