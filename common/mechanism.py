"""Mechanisms: how a histogram becomes an answer, with their parameters in votes."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from common.errors import ErrorCode, OstrakaError
from protos.ostraka.v1 import common_pb2

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


def from_message(message: common_pb2.Mechanism) -> GnMax | Confident:
    """Reads a mechanism; raises `plan.invalid` where it is none or its parameters are off."""
    match message.WhichOneof("kind"):
        case "gnmax":
            return GnMax(sigma=message.gnmax.sigma)
        case "confident":
            asked = message.confident
            return Confident(sigma1=asked.sigma1, sigma2=asked.sigma2, threshold=asked.threshold)
        case _:
            raise invalid_plan("it names no mechanism; choose gnmax or confident")


def to_message(mechanism: GnMax | Confident) -> common_pb2.Mechanism:
    """The mechanism as it travels in a plan."""
    parameters = mechanism.model_dump(exclude={"kind"})
    if isinstance(mechanism, GnMax):
        return common_pb2.Mechanism(gnmax=common_pb2.GnMax(**parameters))
    return common_pb2.Mechanism(confident=common_pb2.Confident(**parameters))
