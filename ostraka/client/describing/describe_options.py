"""Options of statistics: columns, conditions, epsilon, and parties."""

from typing import Annotated, Any

import typer
from pydantic import BeforeValidator, Field

from ostraka.client.run.asking_options import MAX_VERIFIED_SUM, Names
from ostraka.common.console.options import KEY
from ostraka.common.plan.choices import BALLOTS, VARIANT
from ostraka.common.validation import FrozenModel

MAX_EPSILON = 1e6
"""The same as for a fit."""


def _conditions(value: Any) -> Any:
    """Split `a>=1 and b=c` into conditions; return other types unchanged."""
    return tuple(part.strip() for part in value.split(" and ")) if isinstance(value, str) else value


Conditions = Annotated[tuple[str, ...], BeforeValidator(_conditions)]
"""Conditions that must all be true, or text such as a>=1 and b=c."""


class DescribeOptions(FrozenModel):
    """Options of statistics."""

    columns: Annotated[
        Names | None,
        typer.Argument(help="Columns, as a,b,c. Default: all columns of a table, and the label."),
    ] = None
    where: Conditions | None = Field(
        default=None,
        description='Count only records that meet this condition, such as "age>=60 and sex=female".',
    )
    epsilon: float = Field(
        default=0.1,
        gt=0,
        le=MAX_EPSILON,
        description="Worst-case epsilon that this release costs every party, at the delta of its budget.",
    )
    quorum: int | None = Field(
        default=None,
        ge=1,
        description="Smallest number of parties whose answers are released together. Default: a majority.",
    )
    parties: Names | None = Field(
        default=None, description="Answering parties, as a,b,c. Default: all in site.toml."
    )
    variant: VARIANT = Field(
        default="none",
        description="How records with smaller budgets take part: weighting (they count less) or vanishing.",
    )
    ballots: Annotated[BALLOTS | None, KEY] = Field(
        default=None,
        description="Counts: verified (guardian and querying party check, without seeing a "
        "party's counts, that its records allow them) or unverified. Default: "
        f"verified up to {MAX_VERIFIED_SUM} counts.",
    )
