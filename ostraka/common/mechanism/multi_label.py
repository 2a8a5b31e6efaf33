"""What mechanisms share that answer with a set of labels, and may have a check."""

from typing import ClassVar

from pydantic import Field

from ostraka.common.mechanism.mechanism import Check, Draw, Mechanism, Votes


class LabelSetMechanism(Mechanism):
    """A mechanism that answers with a set of labels, from noise of `sigma`; with a check, if there is one."""

    multi_label: ClassVar[bool] = True

    sigma: Votes = Field(description="Noise of every count of an answer, in votes.")
    check: Check | None = None

    @property
    def noisy_check(self) -> Check | None:
        """The check that a plan may name."""
        return self.check

    def check_draws(self, *shape: int) -> list[Draw]:
        """Return the noise of the checks, none without."""
        return [] if self.check is None else [Draw.gaussian(self.check.sigma, *shape)]

    def votes_asked(self, teachers: int) -> float:
        """Return the votes that an answer takes: those of the check, or all."""
        return teachers if self.check is None else self.check.threshold
