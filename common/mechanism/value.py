"""Values of a plan: frozen, strict, and wrong in one sentence."""

import math
from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from ostraka.common.errors import ErrorCode, OstrakaError

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def invalid_plan(problem: str) -> OstrakaError:
    """Return the error for a plan that cannot be run, in one sentence."""
    return OstrakaError(ErrorCode.PLAN_INVALID, f"The plan is invalid: {problem}.")


class Value(BaseModel):
    """A frozen value whose construction fails with `plan.invalid`, never with pydantic's own error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _one_sentence(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as exc:
            first = exc.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            problem = first["msg"].removeprefix("Value error, ")
            raise invalid_plan(f"{where}: {problem}" if where else problem) from exc


class Parameters(Value, ABC):
    """What every mechanism tells about itself; noise scales, thresholds and clipping radii are in votes."""

    multi_label: ClassVar[bool] = False
    by_record: ClassVar[bool] = False
    """Whether labelled records answer, each at most once in a batch that asks all queries, not teachers."""

    @property
    @abstractmethod
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviations of all noise that the mechanism draws, in votes."""

    @property
    def reach(self) -> float:
        """How far noise may carry a count, or the difference of two, in votes: twelve deviations."""
        return 12 * math.sqrt(2) * max(self.sigmas, default=0.0)

    def width(self, classes: int) -> int:
        """Ring values of a ballot for one query."""
        return classes

    def answers(self, classes: int) -> int:
        """Answers to one query: a class, or one bit for each label."""
        return classes if self.multi_label else 1

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` where the parameters make no sense for this many classes or labels."""
