"""Options of `ostraka party train`: what is trained, where, and with whom."""

from typing import Literal

from pydantic import Field

from ostraka.common.validation import FrozenModel

Together = Literal["ttac", "dp-ttac"]
"""How teachers learn with those of other parties: without any formal guarantee, or with noise."""
Where = Literal["here", "ray"]
"""Where teachers are trained."""


class TeacherOptions(FrozenModel):
    """What overrides table training of site.toml, with which it is checked."""

    teachers: int | None = Field(
        default=None,
        ge=0,
        description="Number of teachers; 0, as for tasks of numbers: records answer sums alone.",
    )
    model: str | None = Field(
        default=None,
        description="logistic, mlp, cnn, random_forest, ... or module:function, or file:path.",
    )
    head: str | None = Field(
        default=None,
        description="Model that also votes on encrypted queries: linear, or square (at most 64 features); or "
        "square-mlp or square-cnn, which one batch of dishonest queries gives away.",
    )
    epochs: int | None = Field(default=None, ge=1, description="Epochs of a network over its slice.")
    balanced: bool | None = Field(
        default=None, description="Have the classes of a slice weigh the same, however rare."
    )
    seed: int | None = Field(default=None, ge=0, description="Seed of the slices and of training.")
    variant: str | None = Field(
        default=None,
        description="Use of consent levels: none, upsampling, vanishing or weighting; their epsilons are in "
        "[training.consent] of site.toml.",
    )
