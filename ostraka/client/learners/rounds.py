"""Rounds of questions, until all are answered or the source stops."""

from dataclasses import dataclass, field

from ostraka.client.learners.fit import ask_numbers
from ostraka.client.sums.source import STOPS, NoisySum, SumSource
from ostraka.common.errors import OstrakaError
from ostraka.common.sums.questions import AnyQuestion


@dataclass
class Rounds:
    """Counts answers; the first question must be answered, and the first unanswered one ends the rounds.

    Attributes:
        source: gives the answers.
        answered: number of answers.
        last: the last answer.
        stopped: why the last question was not answered; None if it was.
    """

    source: SumSource
    answered: int = 0
    last: NoisySum | None = field(default=None, repr=False)
    stopped: OstrakaError | None = None

    @property
    def records(self) -> float:
        """Number of records in the last answer."""
        return 0.0 if self.last is None else self.last.records

    @property
    def parties(self) -> tuple[str, ...]:
        """Parties of the last answer."""
        return () if self.last is None else self.last.parties

    def ask(self, question: AnyQuestion) -> NoisySum | None:
        """Return the answer, or None if the source has stopped.

        Raises OstrakaError if the first question fails, or if somebody has to act; after that, the source
        repeats its earlier answers.
        """
        try:
            noisy = ask_numbers(self.source, question)
        except OstrakaError as error:
            if self.last is None or error.code not in STOPS:
                raise
            self.stopped = error
            return None
        self.answered += 1
        self.last = noisy
        return noisy

    def notes(self, planned: int) -> tuple[str, ...]:
        """Return a note if the training ended before its plan."""
        if self.stopped is None:
            return ()
        return (
            f"The rounds ended after {self.answered} of {planned}, and the model was fitted to these: "
            f"{self.stopped.message}",
        )
