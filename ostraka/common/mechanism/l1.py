"""Binary voting on ballots clipped to an L1 norm: Private-kNN's rule, the baseline."""

from typing import ClassVar, Literal, Self

from pydantic import Field

from ostraka.common.mechanism.binary import PerLabel, check_radius
from ostraka.common.mechanism.mechanism import Positive
from ostraka.common.sharing.ballots import LabelCounts


class L1(PerLabel):
    """Binary on ballots scaled down to an L1 norm of at most `tau1`."""

    charged_as: ClassVar[str] = "as tau, with the L2 norm that tau1 implies"
    gaussian: ClassVar[bool] = True

    kind: Literal["l1"] = "l1"
    tau1: Positive = Field(description="L1 norm that each ballot is clipped to.")

    @property
    def ballot(self) -> LabelCounts:
        """Votes for each label, each ballot scaled down."""
        return LabelCounts(self.tau1, norm=1)

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` for a radius that clips no ballot of that many labels."""
        check_radius("tau1", self.tau1, float(classes), classes)

    def narrowed(self, labels: int) -> Self:
        """Lower the radius to the largest norm of a ballot of that many labels."""
        return self.model_copy(update={"tau1": min(self.tau1, float(labels))})
