"""Mechanisms: how a histogram becomes an answer, with parameters in votes, and bounds on what that costs."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from common.errors import ErrorCode, OstrakaError

BOUND = Literal["worst_case", "theorem6"]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def invalid_plan(problem: str) -> OstrakaError:
    """The error for a plan that cannot be run, in one sentence."""
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


class GnMax(Value):
    """Release the class with the most votes after noise of standard deviation `sigma` votes."""

    kind: Literal["gnmax"] = "gnmax"
    sigma: Positive

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Every noise scale the mechanism uses, in votes."""
        return (self.sigma,)


class Confident(Value):
    """Release GNMax with `sigma2` where the largest count and noise of `sigma1` reach `threshold` votes."""

    kind: Literal["confident"] = "confident"
    sigma1: Positive
    sigma2: Positive
    threshold: Positive

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Every noise scale the mechanism uses, in votes."""
        return (self.sigma1, self.sigma2)


Mechanism = Annotated[GnMax | Confident, Field(discriminator="kind")]
