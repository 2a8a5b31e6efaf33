"""The interface that learners ask: sums with noise."""

from dataclasses import dataclass, field
from typing import Protocol

from ostraka.client.session.recovery import SESSION_OVER
from ostraka.common.errors import ErrorCode
from ostraka.common.sums.feature_map import Floats
from ostraka.common.sums.questions import AnyQuestion

STOPS = SESSION_OVER | {ErrorCode.BUDGET_TOO_SMALL}
"""Errors that end a run but keep its sums so far: a learner of several rounds makes a model from them."""


@dataclass(frozen=True)
class NoisySum:
    """The answer to a question.

    Attributes:
        blocks: of the question, flat, float64, in units.
        sigmas: of the Gaussian noise on each value of a block, in units.
        records: number of records in the sum, each counted with its weight; public.
        parties: the parties of these records.
    """

    blocks: tuple[Floats, ...] = field(repr=False)
    sigmas: tuple[float, ...]
    records: float
    parties: tuple[str, ...]


class SumSource(Protocol):
    """Answers questions; each answer is paid for."""

    def ask(self, question: AnyQuestion) -> NoisySum:
        """Return the noisy sum over all records.

        Raises OstrakaError, with a code that stops a run, if no more questions are answered.
        """
