"""Values of a plan: frozen, strict, and wrong in one sentence."""

from typing import Annotated, Any, Self

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
