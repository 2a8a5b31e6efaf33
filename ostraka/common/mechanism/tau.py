"""Tau voting: binary voting on ballots clipped to an L2 norm (Dziedzic et al. 2023, section 3.2)."""

import math
from typing import ClassVar, Literal, Self

from pydantic import Field

from ostraka.common.mechanism.binary import PerLabel, check_radius
from ostraka.common.mechanism.mechanism import Positive
from ostraka.common.sharing.ballots import LabelCounts


class Tau(PerLabel):
    """Binary on ballots scaled down to an L2 norm of at most `tau`."""

    charged_as: ClassVar[str] = "as binary, and at most a Gaussian on a whole ballot of L2 norm tau"
    gaussian: ClassVar[bool] = True

    kind: Literal["tau"] = "tau"
    tau: Positive = Field(description="L2 norm that each ballot is clipped to.")

    @property
    def ballot(self) -> LabelCounts:
        """Votes for each label, each ballot scaled down."""
        return LabelCounts(self.tau, norm=2)

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` for a radius that clips no ballot of that many labels."""
        check_radius("tau", self.tau, math.sqrt(classes), classes)

    def narrowed(self, labels: int) -> Self:
        """Lower the radius to the largest norm of a ballot of that many labels."""
        return self.model_copy(update={"tau": min(self.tau, math.sqrt(labels))})
