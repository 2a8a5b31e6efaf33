"""Options that say what a search looks for, and on which votes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from ostraka.common.console.options import KEY, settings_keys
from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    from ostraka.common.planning.search.floor import Floor
    from ostraka.common.planning.search.forecast import Forecaster
    from ostraka.common.planning.search.vote_sample import VoteSample

KEPT = 0.95
"""The default minimum accuracy of labels, as a share of the accuracy of votes without noise."""


class SearchOptions(BaseModel):
    """Whether a search is requested, and its criteria."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    search: bool = Field(
        default=False,
        description="Search for the mechanism, noise, threshold and order that give the most correct labels.",
    )
    teacher_accuracy: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="With --search: assumed accuracy of a teacher, if no votes are given.",
    )
    positives: Annotated[float | None, KEY] = Field(
        default=None,
        gt=0,
        description="With --search: positive labels that a record has on average, to assume votes of a "
        "multi-label task.",
    )
    least_accuracy: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="With --search: smallest share of correct labels, balanced over yes and no "
        f"for several labels. Default: {KEPT} of the share without noise.",
    )

    own_accuracy: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="With --search: accuracy of this site's own model, which the labels must "
        "exceed. Give the balanced accuracy if one class has more than four fifths of the records.",
    )

    def check(self) -> None:
        """Raise `config.invalid` for options of a search if no search is requested."""
        for name in ("teacher_accuracy", "positives", "least_accuracy", "own_accuracy"):
            if not self.search and getattr(self, name) is not None:
                is_key = name in settings_keys(SearchOptions)
                option = name if is_key else f"--{name.replace('_', '-')}"
                raise _invalid(f"{option} works only with --search: add it, or leave {option} out.")

    def sample(
        self, votes: Path | None, classes: int, teachers: int | None, *, several: bool | None
    ) -> tuple["VoteSample", int | None]:
        """Return the votes to search on, and the number of queries in a file or None; raise `config.invalid`.

        Args:
            votes: a file of public or simulated votes.
            classes: number of classes, or of labels.
            teachers: number of teachers, if it is known.
            several: whether a query has several labels; None: the other options decide.
        """
        from ostraka.common.planning.search.vote_sample import assume_classes, assume_labels, read_sample

        if votes is not None:
            if self.teacher_accuracy is not None:
                raise _invalid("Both --votes and --teacher-accuracy are given: leave one of them out.")
            return read_sample(votes, classes, teachers, several=several)
        if self.teacher_accuracy is None:
            raise _invalid(
                "A search judges by votes: give public or simulated ones with --votes, assume some with "
                "--teacher-accuracy, or give query plan own records with --labelled."
            )
        if teachers is None:
            raise _invalid("The number of teachers is missing: give --teachers.")
        if several or (several is None and self.positives is not None):
            return assume_labels(classes, teachers, self._above_chance(2), self._positives(classes)), None
        return assume_classes(classes, teachers, self._above_chance(classes)), None

    def least(self, forecaster: "Forecaster") -> float:
        """Return the minimum accuracy of labels."""
        if self.least_accuracy is not None:
            return self.least_accuracy
        return KEPT * forecaster.noiseless()

    def floor(self, sample: "VoteSample") -> "Floor":
        """Return the accuracy that labels must exceed."""
        from ostraka.common.planning.search.floor import Floor

        return Floor.of(sample, self.own_accuracy, assumed=self.teacher_accuracy is not None)

    def _positives(self, labels: int) -> float:
        if self.positives is None:
            raise _invalid(
                "The average number of labels of a record is missing: give positives in --settings."
            )
        if self.positives >= labels:
            raise _invalid(
                f"positives {self.positives:g} must be below the number of labels, {labels}; give a mean."
            )
        return self.positives

    def _above_chance(self, classes: int) -> float:
        accuracy = self.teacher_accuracy or 0.0
        if accuracy * classes <= 1:
            raise _invalid(
                f"--teacher-accuracy {accuracy:g} is no better than guessing one of {classes}; "
                "train better teachers first."
            )
        return accuracy


def _invalid(sentence: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, sentence)
