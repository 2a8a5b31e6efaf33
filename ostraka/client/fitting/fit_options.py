"""Options of a fit: the learner, its epsilon, and the parties."""

from typing import Annotated, Literal

from pydantic import Field

from ostraka.client.run.asking_options import MAX_VERIFIED_SUM, Names
from ostraka.common.console.options import KEY
from ostraka.common.plan.choices import BALLOTS, VARIANT
from ostraka.common.validation import FrozenModel

LEARNERS = Literal["auto", "moments", "bins", "boost", "gradients", "network"]
MAX_EPSILON = 1e6
"""Maximum epsilon of a fit: far beyond any meaningful guarantee, and far below sums without any noise."""


class FitOptions(FrozenModel):
    """Options of a fit; an `encoder` of "" means none, None the one in the site's configuration."""

    learner: LEARNERS = Field(
        default="auto",
        description="Learner: moments (least squares from one sum), bins (the same with numbers put into "
        "bins), boost (tables of many records), gradients (images, rare classes), network (a small "
        "neural network), or auto, which chooses by public rules and says why.",
    )
    epsilon: float = Field(
        default=1.0,
        gt=0,
        le=MAX_EPSILON,
        description="Worst-case epsilon that this fit costs every party, at the delta of its budget.",
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
        description="How records with smaller budgets take part: weighting (they count less) or "
        "vanishing (in fewer rounds).",
    )
    ballots: Annotated[BALLOTS | None, KEY] = Field(
        default=None,
        description="Sums: verified (guardian and querying party check, without seeing a party's "
        "sum, that its norm is one that the party's records allow) or unverified. "
        f"Default: verified if a sum has at most {MAX_VERIFIED_SUM} values.",
    )
    encoder: Annotated[str | None, KEY] = Field(
        default=None,
        description="Public feature encoder of all sites, module:factory. Default: the one in site.toml.",
    )
    tell_pool: Annotated[bool, KEY] = Field(
        default=True,
        description="Whether parties may be told the mean of the pool and how far its records lie from it.",
    )
