"""Binary voting on each label (Dziedzic et al. 2023, section 3.1)."""

from dataclasses import replace
from typing import ClassVar, Literal

from ostraka.common.mechanism.error_rates import miss_probability
from ostraka.common.mechanism.mechanism import Draw, LabelSetMechanism, invalid_plan
from ostraka.common.privacy.worst_case import WorstCase, label_bits, label_checks
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.ballots import LabelCounts


class PerLabel(LabelSetMechanism):
    """A mechanism that decides on each label by noisy votes for and against it."""

    blind: ClassVar[bool] = True

    @property
    def ballot(self) -> LabelCounts:
        """Votes for each label."""
        return LabelCounts()

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of each label's check, and of the votes for and against each label."""
        return [*self.check_draws(rows, classes), Draw.gaussian(self.sigma, 2, rows, classes)]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of a check and of a bit for each label."""
        radius = self.ballot.l2_radius
        answer, most = label_bits(order, sensitivity, self.sigma, classes, radius)
        cost = WorstCase(answer=answer, most=most)
        if self.check is None:
            return cost
        return replace(cost, check=label_checks(order, sensitivity, self.check.sigma, classes, radius))

    def known_error(self, teachers: int, classes: int) -> float:
        """Bound the probability that noise reverses one label's decision."""
        return miss_probability(self.votes_asked(teachers), teachers, 2, self.sigma)


class Binary(PerLabel):
    """Release each label that has more noisy votes for it than against it."""

    charged_as: ClassVar[str] = "a Gaussian for every label and, with a check, for every label's check"
    gaussian: ClassVar[bool] = True

    kind: Literal["binary"] = "binary"


def check_radius(name: str, radius: float, largest: float, classes: int) -> None:
    """Raise `plan.invalid` for a radius that clips no ballot of that many labels, or clips it to nothing."""
    if radius > largest:
        raise invalid_plan(
            f"{name} is {radius:g}, which clips nothing: a ballot of {classes} labels has a norm of at most "
            f"{largest:g}; lower it, or choose mechanism binary"
        )
    if radius < 2.0**-FRACTION_BITS:
        raise invalid_plan(f"clipping ballots to {radius:g} leaves nothing of them; ask for more")
