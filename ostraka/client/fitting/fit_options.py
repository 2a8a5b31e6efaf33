"""Options of a fit: which learner, how much of every party's budget, and who takes part."""

from typing import Annotated, Literal

from pydantic import Field

from ostraka.client.run.asking_options import MAX_VERIFIED_SUM, Names
from ostraka.common.console.options import KEY
from ostraka.common.plan.choices import BALLOTS, VARIANT
from ostraka.common.validation import FrozenModel

LEARNERS = Literal["auto", "moments", "bins", "boost", "gradients", "network"]
MAX_EPSILON = 1e6
"""Of a fit: far beyond what promises anything, and far below where sums have no noise at all."""


class FitOptions(FrozenModel):
    """What a fit asks for; an `encoder` of "" is none, None that of the site's configuration."""

    learner: LEARNERS = Field(
        default="auto",
        description="Learner: moments (least squares of one sum), bins, boost (tables of many records), "
        "gradients (images, rare classes), network (a small one), or auto, which chooses by public rules and "
        "says why.",
    )
    epsilon: float = Field(
        default=1.0,
        gt=0,
        le=MAX_EPSILON,
        description="Epsilon of this fit alone for every party, at its delta, worst case.",
    )
    quorum: int | None = Field(
        default=None, ge=1, description="Least number of parties released together; default a majority."
    )
    parties: Names | None = Field(
        default=None, description="Parties that answer, as a,b,c; default all in site.toml."
    )
    variant: VARIANT = Field(
        default="none",
        description="Effect of smaller budgets: weighting (records count less) or vanishing (fewer rounds).",
    )
    ballots: Annotated[BALLOTS | None, KEY] = Field(
        default=None,
        description="Sums: verified (guardian and querying party check, unseen, that no party's is longer "
        "than its records allow) or unverified; default verified where a sum has at most "
        f"{MAX_VERIFIED_SUM} values.",
    )
    encoder: Annotated[str | None, KEY] = Field(
        default=None,
        description="Public feature encoder of all sites, module:factory; default: as in site.toml.",
    )
    tell_pool: Annotated[bool, KEY] = Field(
        default=True,
        description="Whether parties may be told the mean of the pool and how far its records lie from it.",
    )
