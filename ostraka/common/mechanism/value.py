"""Values of a plan: frozen, strict, and wrong in one sentence."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.validation import problem_text

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A parameter above zero, and finite."""

INVALID_PLAN = "The plan is invalid: "
"""What errors of plans begin with."""


def invalid_plan(problem: str) -> OstrakaError:
    """Return the error for a plan that cannot be run, in one sentence."""
    return OstrakaError(ErrorCode.PLAN_INVALID, f"{INVALID_PLAN}{problem}.")


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
            problem = problem_text(first)
            raise invalid_plan(f"{where}: {problem}" if where else problem) from exc
