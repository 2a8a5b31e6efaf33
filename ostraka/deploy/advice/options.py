"""Input of advice: the sites, their budget, and the querying party's own records."""

from pydantic import Field

from ostraka.common.validation import FrozenModel

MAX_PARTIES = 1000
"""More sites than any federation of this size of release has; each costs a training or more a split."""


class AdviceOptions(FrozenModel):
    """The federation that advice is asked for.

    Attributes:
        parties: sites that would answer.
        epsilon: of each site's budget, for one record replaced, at delta 1e-5.
        rows_per_party: records of a site; None: what the table leaves for each.
        own: labelled records that the querying party has; None: a tenth of the table, at most 200.
        pool: unlabelled records that it has; None: a fifth of the table, at most 2,000.
        skew: Dirichlet concentration by which sites' classes differ; None: all sites are alike.
        curve: whether other epsilons are tried as well, for a plot.
        seed: of all that is drawn.
    """

    parties: int = Field(ge=1, le=MAX_PARTIES, description="Number of sites that would answer.")
    epsilon: float = Field(
        gt=0,
        allow_inf_nan=False,
        description="Epsilon of each site's budget, with delta 1e-5, for one replaced record.",
    )
    rows_per_party: int | None = Field(
        default=None,
        ge=1,
        description="Records of a site. Default: an equal part of what the table has left.",
    )
    own: int | None = Field(
        default=None, ge=0, description="Your own labelled records. Default: a tenth of the table, up to 200."
    )
    pool: int | None = Field(
        default=None, ge=1, description="Your unlabelled records. Default: a fifth of the table, up to 2000."
    )
    skew: float | None = Field(
        default=None,
        ge=1e-3,
        le=1e6,
        description="Dirichlet concentration of classes over sites; the smaller, the more sites differ. "
        "Default: sites are alike.",
    )
    curve: bool = Field(default=False, description="Also try other epsilons, for --json; --page always does.")
    seed: int = Field(default=0, ge=0, description="Seed of all random draws.")
