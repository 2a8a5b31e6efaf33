"""Rounds of questions, until all are answered or the source stops."""

from dataclasses import dataclass, field

from ostraka.client.learners.fit import ask_numbers
from ostraka.client.sums.source import STOPS, NoisySum, SumSource
from ostraka.common.errors import OstrakaError
from ostraka.common.sums.questions import AnyQuestion


@dataclass
class Rounds:
    """Counts answers; the first question must be answered, and after one that is not, none is asked.

    Attributes:
        source: of the answers.
        answered: how many there were.
        last: the last answer.
        stopped: why there was none, None as long as there was one.
    """

    source: SumSource
    answered: int = 0
    last: NoisySum | None = field(default=None, repr=False)
    stopped: OstrakaError | None = None

    @property
    def records(self) -> float:
        """Of the last answer."""
        return 0.0 if self.last is None else self.last.records

    @property
    def parties(self) -> tuple[str, ...]:
        """Of the last answer."""
        return () if self.last is None else self.last.parties

    def ask(self, question: AnyQuestion) -> NoisySum | None:
        """Return the answer, None where there are no more.

        Raises OstrakaError as the first question does, and what needs somebody at any: asked again, the
        source answers what it answered before.
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
        """Return where the training ended, if it ended before its plan."""
        if self.stopped is None:
            return ()
        return (
            f"The rounds ended after {self.answered} of {planned}, and the model was fitted to these: "
            f"{self.stopped.message}",
        )
