"""Base class of values that are read from outside, or written for others to read."""

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """A value that never changes, and refuses fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")
