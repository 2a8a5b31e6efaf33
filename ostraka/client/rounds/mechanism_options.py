"""Command-line options that say by which mechanisms rounds ask."""

from typing import ClassVar

from pydantic import Field

from ostraka.common.mechanism import Interactive, Mechanism, invalid_plan, known_mechanism
from ostraka.common.mechanism.arguments import make_mechanism
from ostraka.common.plan.fields import TALLY
from ostraka.common.planning.mechanism_options import VotingMechanismOptions

BEFORE_INTERACTIVE = ("confident", "gnmax")
"""Mechanisms of a first round after which later ones ask by interactive."""


class RoundsMechanismOptions(VotingMechanismOptions):
    """The mechanism of the first round, and what is different in later ones."""

    mechanism: str = Field(
        default="confident",
        description="Mechanism of the first round. Later ones ask by interactive after confident or gnmax, "
        "unless the tally is blind, and else by the same.",
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

    FIRST: ClassVar[tuple[str, ...]] = tuple(
        name for name in VotingMechanismOptions.PARAMETERS if name != "confidence"
    )

    def make(self) -> Mechanism:
        """Return the mechanism of the first round; raise `plan.invalid` as `make_mechanism` does."""
        known = known_mechanism(self.mechanism)
        if known is not None:
            check_rounds(known)
        return make_mechanism(self.mechanism, **self._first())

    def later(self, tally: TALLY) -> Mechanism:
        """Return the mechanism of later rounds; raise `plan.invalid` naming what is missing."""
        answer = "sigma2" if self.sigma is None else "sigma"
        changed = {
            "sigma1": self.later_sigma1,
            answer: self.later_sigma2,
            "threshold": self.later_threshold,
        }
        values = self._first() | {name: value for name, value in changed.items() if value is not None}
        if self.mechanism not in BEFORE_INTERACTIVE or tally == "blind":
            return make_mechanism(self.mechanism, **values)
        noise = {"sigma1": values["sigma1"], "sigma2": values[answer], "threshold": values["threshold"]}
        for name, value in noise.items():
            if value is None:
                raise invalid_plan(
                    f"later rounds ask by interactive, which takes {', '.join(noise)}; give --later-{name}"
                )
        return Interactive.model_validate({"confidence": self.confidence, **noise})

    def _first(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in self.FIRST}


def check_rounds(mechanism: Mechanism | type[Mechanism]) -> None:
    """Raise `plan.invalid` for a mechanism that no first round asks by."""
    if mechanism.takes_scores:
        raise invalid_plan(
            "interactive asks a student, and before the first round there is none; begin with confident"
        )
    if mechanism.by_record:
        raise invalid_plan(
            "by this mechanism a part of the pool costs as much as all of it, so that rounds gain nothing; "
            "label it at once by `ostraka query label`"
        )
