"""Input of advice: the sites, their budget, and the querying party's own records."""

from pydantic import Field

from ostraka.common.validation import FrozenModel

MAX_PARTIES = 1000
"""More sites than any federation with releases of this size; each costs at least one training per split."""


class AdviceOptions(FrozenModel):
    """The federation to advise on.

    Attributes:
        parties: number of sites that would answer.
        epsilon: of each site's budget, for one replaced record, at delta 1e-5.
        rows_per_party: records of a site; None: an equal part of what the table has left.
        own: labelled records of the querying party; None: a tenth of the table, at most 200.
        pool: its unlabelled records; None: a fifth of the table, at most 2,000.
        skew: Dirichlet concentration by which sites' classes differ; None: all sites are alike.
        curve: whether to try other epsilons as well, for a plot.
        seed: of all random draws.
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
