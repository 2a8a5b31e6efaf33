"""Command-line options that say by which mechanisms rounds ask."""

from pydantic import Field

from ostraka.common.mechanism import Interactive, invalid_plan
from ostraka.common.planning.mechanism_options import CheckedMechanismOptions


class RoundsMechanismOptions(CheckedMechanismOptions):
    """The mechanism of the first round, and what is different in later ones, which ask by interactive."""

    mechanism: str = Field(
        default="confident", description="Mechanism of the first round: confident or gnmax."
    )
    later_sigma1: float | None = Field(
        default=None, description="Noise of the check in later rounds; default as --sigma1."
    )
    later_sigma2: float | None = Field(
        default=None, description="Noise of the answer in later rounds; default --sigma2, else --sigma."
    )
    later_threshold: float | None = Field(
        default=None, description="Votes required by the check in later rounds; default as --threshold."
    )
    confidence: float = Field(
        default=0.9, description="Later rounds: confidence threshold for the student's own label."
    )

    def later(self) -> Interactive:
        """Return the mechanism of later rounds; raise `plan.invalid` naming what is missing."""
        noise = {
            "sigma1": self.sigma1 if self.later_sigma1 is None else self.later_sigma1,
            "sigma2": (self.sigma2 or self.sigma) if self.later_sigma2 is None else self.later_sigma2,
            "threshold": self.threshold if self.later_threshold is None else self.later_threshold,
        }
        for name, value in noise.items():
            if value is None:
                raise invalid_plan(
                    f"later rounds ask by interactive, which takes {', '.join(noise)}; give --later-{name}"
                )
        return Interactive.model_validate({"confidence": self.confidence, **noise})
