"""Powerset voting on whole label sets (Dziedzic et al. 2023, appendix I.2)."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from ostraka.common.mechanism.error_rates import miss_probability
from ostraka.common.mechanism.mechanism import Draw, LabelSetMechanism, invalid_plan
from ostraka.common.privacy.argmax import argmax_rdp, argmax_reach
from ostraka.common.privacy.worst_case import WorstCase, check_rdp
from ostraka.common.sharing.ballots import LabelSetCounts
from ostraka.common.sharing.label_sets import MAX_SETS


class Powerset(LabelSetMechanism):
    """Release the label set with the most noisy votes, of at most `max_positives` labels."""

    charged_as: ClassVar[str] = "an argmax over label sets for every answer, a Gaussian for every check"
    gaussian: ClassVar[bool] = True

    kind: Literal["powerset"] = "powerset"
    max_positives: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Most positive labels in a set; without it, all."
    )

    @property
    def ballot(self) -> LabelSetCounts:
        """Votes for each label set."""
        return LabelSetCounts(self.max_positives)

    @property
    def reach(self) -> float:
        """The larger of the reach for the argmax's worst case and the reach for the check."""
        return max(super().reach, argmax_reach(self.sigma))

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of the checks and of every set's count."""
        return [*self.check_draws(rows), Draw.gaussian(self.sigma, rows, self.width(classes))]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of a check for every query, and of an argmax over sets for every answer."""
        whole = argmax_rdp(order, sensitivity, self.sigma, self.width(classes))
        check = 0.0 if self.check is None else check_rdp(order, sensitivity, self.check.sigma)
        return WorstCase(check=check, answer=whole, most=whole)

    def known_error(self, teachers: int, classes: int) -> float:
        """Bound the probability that noise changes one label by the probability that another set wins."""
        return min(
            miss_probability(self.votes_asked(teachers), teachers, self.width(classes), self.sigma), 0.5
        )

    def narrowed(self, labels: int) -> Self:
        """Lower the maximum number of positives to the number of labels."""
        most = None if self.max_positives is None else min(self.max_positives, labels)
        return self.model_copy(update={"max_positives": most})

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` for more positives than labels, or for more sets than a ballot can contain."""
        if self.max_positives is not None and self.max_positives > classes:
            raise invalid_plan(
                f"max_positives is {self.max_positives} and the task has {classes} labels; ask for fewer"
            )
        if self.width(classes) > MAX_SETS:
            raise invalid_plan(
                f"{classes} labels make more than the {MAX_SETS} label sets of a ballot; "
                "lower max_positives, or choose mechanism tau"
            )
