"""Groups of records that share a budget, and the teachers that take part together."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ostraka.common.datasets.consent import Level

GROUP = "all"
"""Name of the one group of records without consent levels."""
ALL = slice(None)
"""Every teacher's row."""
_Count = Annotated[int, Field(ge=1)]


class GroupRecord(BaseModel):
    """The records of one consent level in words.

    Attributes:
        name: the level, or `all`.
        records: how many.
        teachers: how many were trained on them; where teachers are mixed, all of the party's.
        copies: how many teachers each record of the group was given to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Level
    records: _Count
    teachers: _Count
    copies: _Count = 1


@dataclass(frozen=True)
class TeacherCohort:
    """Teachers that vote on the same queries, and the groups whose records they were trained on.

    Attributes:
        groups: names.
        rows: the teachers' rows in a matrix of votes (teachers, Q).
    """

    groups: tuple[str, ...]
    rows: slice
