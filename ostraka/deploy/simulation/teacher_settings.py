"""Teacher settings of a simulation: models, and joint training."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ostraka.common.console.options import KEY
from ostraka.common.plan.choices import ENCODING
from ostraka.deploy.simulation.defaults import JOINT_TRAINING_MODEL
from ostraka.services.teachers.config import Tuning

Head = Literal["linear", "square-mlp", "square-cnn"]
"""Kinds of teachers that answer encrypted queries."""

Training = Literal["conventional", "ttac", "dp-ttac"]
"""Whether teachers learn apart, or together with those of other parties."""


class TeacherSettings(BaseModel):
    """Settings of teachers.

    ``thresholds`` says how teachers of several labels choose from which score on they say yes. Teachers
    that vote on encrypted queries, where ``encoding`` is ckks, have a ``head``, linear where none is
    named. ``training`` other than conventional has the teachers of all parties learn together for
    ``rounds`` rounds, led by the first party, at ``learning_rate``; under dp-ttac with noise of
    ``training_sigma`` on each sum.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    teachers: int = Field(default=10, ge=1, le=1000, description="Teachers of each party.")
    encoding: ENCODING = Field(
        default="plain",
        description="Encoding of queries: plain (default), or ckks (encrypted), which all policies then "
        "allow: whoever may ask is trusted with the models.",
    )
    head: Annotated[Head | None, KEY] = Field(
        default=None,
        description="Teachers that answer encrypted queries: linear, square-mlp or square-cnn.",
    )
    model: str | None = Field(default=None, description="Model of the teachers; default suits the data.")
    thresholds: Annotated[Tuning, KEY] = Field(
        default="none",
        description="Thresholds of teachers of several labels: none (one half), global or per_label.",
    )
    training: Training = Field(
        default="conventional",
        description="Training of teachers: conventional (default, each alone), or jointly over all parties: "
        "dp-ttac or ttac.",
    )
    rounds: Annotated[int, KEY] = Field(default=20, ge=2, description="dp-ttac, ttac: rounds; default 20.")
    learning_rate: Annotated[float, KEY] = Field(
        default=0.2, gt=0, description="dp-ttac, ttac: learning rate of teachers; default 0.2."
    )
    training_sigma: Annotated[float, KEY] = Field(
        default=10.0, gt=0, description="dp-ttac: noise of each parameter, in radii; default 10."
    )

    @model_validator(mode="after")
    def _model_answers_as_asked(self) -> "TeacherSettings":
        if self.head is not None and self.model is not None:
            raise ValueError(f"head {self.head} and model {self.model} exclude each other; give one of them")
        if self.encoding == "ckks" and self.model is not None:
            raise ValueError(
                f"encoding ckks needs teachers with a head; give head instead of model {self.model}"
            )
        return self

    @property
    def joint_training(self) -> bool:
        """Whether teachers of several parties learn together."""
        return self.training != "conventional"

    @property
    def teachers_model(self) -> str | None:
        """The model of every teacher: as asked, else what suits training together; None as suits the data."""
        suiting = JOINT_TRAINING_MODEL if self.joint_training and self.teachers_head is None else None
        return self.model or suiting

    @property
    def teachers_head(self) -> Head | None:
        """The head of every teacher: as asked, else linear where queries are encrypted."""
        return "linear" if self.head is None and self.encoding == "ckks" else self.head
