"""Options of `ostraka party train`: what is trained, where, and with whom."""

from typing import Literal

from pydantic import Field

from ostraka.common.validation import FrozenModel

Together = Literal["ttac", "dp-ttac"]
"""How teachers learn with other parties' teachers: without any formal guarantee, or with noise."""
Where = Literal["here", "ray"]
"""Where teachers are trained."""


class TeacherOptions(FrozenModel):
    """Options that override the table [training] of site.toml; both are validated together."""

    teachers: int | None = Field(
        default=None,
        ge=0,
        description="Number of teachers. 0, as for a numeric target: the records answer only sums.",
    )
    model: str | None = Field(
        default=None,
        description="Model of a teacher: logistic, mlp, cnn, random_forest, ..., "
        "module:function, or file:path.",
    )
    head: str | None = Field(
        default=None,
        description="Model that also votes on encrypted queries: linear, square (at most 64 features), "
        "square-mlp or square-cnn. One batch of dishonest queries reveals a square-mlp or "
        "square-cnn.",
    )
    epochs: int | None = Field(
        default=None, ge=1, description="Passes of a network's training over its slice."
    )
    balanced: bool | None = Field(
        default=None, description="Give all classes of a slice the same weight, however rare."
    )
    seed: int | None = Field(default=None, ge=0, description="Seed of the slices and of the training.")
    variant: str | None = Field(
        default=None,
        description="How consent levels are used: none, upsampling, vanishing or weighting. "
        "Their epsilons are in "
        "[training.consent] of site.toml.",
    )
