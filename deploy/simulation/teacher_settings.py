"""What a simulation is told of its teachers: which models they are, and whether they learn together."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ostraka.common.plan import ENCODING
from ostraka.deploy.simulation.defaults import TOGETHER_MODEL
from ostraka.services.teachers.config import Tuning

Head = Literal["linear", "square-mlp", "square-cnn"]
"""Kinds of teachers that answer encrypted queries."""

Training = Literal["conventional", "ttac", "dp-ttac"]
"""Whether teachers learn apart, or together with those of other parties."""


class Teaching(BaseModel):
    """Settings of teachers.

    ``thresholds`` says how teachers of several labels choose from which score on they say yes. Teachers
    that vote on encrypted queries, where ``encoding`` is ckks, have a ``head``, linear where none is
    named. ``training`` other than conventional has the teachers of all parties learn together for
    ``rounds`` rounds, led by the first party, at ``learning_rate``; under dp-ttac with noise of
    ``training_sigma`` on each sum.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    teachers: int = Field(default=10, ge=1, le=1000)
    encoding: ENCODING = "plain"
    head: Head | None = None
    model: str | None = None
    thresholds: Tuning = "none"
    training: Training = "conventional"
    rounds: int = Field(default=20, ge=2)
    learning_rate: float = Field(default=0.2, gt=0)
    training_sigma: float = Field(default=10.0, gt=0)

    @model_validator(mode="after")
    def _model_answers_as_asked(self) -> "Teaching":
        if self.head is not None and self.model is not None:
            raise ValueError(f"head {self.head} and model {self.model} exclude each other; give one of them")
        if self.encoding == "ckks" and self.model is not None:
            raise ValueError(
                f"encoding ckks needs teachers with a head; give head instead of model {self.model}"
            )
        return self

    @property
    def together(self) -> bool:
        """Whether teachers of several parties learn together."""
        return self.training != "conventional"

    @property
    def teachers_model(self) -> str | None:
        """The model of every teacher: as asked, else what suits training together; None as suits the data."""
        suiting = TOGETHER_MODEL if self.together and self.teachers_head is None else None
        return self.model or suiting

    @property
    def teachers_head(self) -> Head | None:
        """The head of every teacher: as asked, else linear where queries are encrypted."""
        return "linear" if self.head is None and self.encoding == "ckks" else self.head
