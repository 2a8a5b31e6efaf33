"""Base class of a report's parts."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A part of a report: it never changes, and has no fields but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")
