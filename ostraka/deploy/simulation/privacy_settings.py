"""What a simulation is told of privacy: the mechanism, every party's budget, and how it is charged."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ostraka.client.run.asking_options import Adjacency
from ostraka.common.console.options import KEY, Completion
from ostraka.common.mechanism import BOUND
from ostraka.common.plan.choices import ENFORCE
from ostraka.common.planning.options import complete_mechanism
from ostraka.deploy.simulation.schemes import parse_numbers

NamedNumbers = Annotated[dict[str, float], BeforeValidator(parse_numbers)]
"""A table, or text like low=0.3,high=0.7."""


class PrivacySettings(BaseModel):
    """Settings of privacy.

    ``consent`` shares every party's records out over consent levels, whose budgets are ``levels`` or else
    parts of ``epsilon``; ``epsilons`` gives whole parties budgets of their own; ``variant`` says how budgets
    that differ are used.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    mechanism: Annotated[str, Completion(complete_mechanism)] = Field(
        default="confident",
        description="How votes become labels, such as gnmax:sigma=40; default confident, for several labels "
        "tau, with noise that suits the teachers. `ostraka mechanisms` lists all.",
    )
    adjacency: Adjacency = Field(
        default="record", description="Unit of privacy: record (DP), or label (label-DP)."
    )
    epsilon: float = Field(default=10.0, gt=0, description="Epsilon of every party's budget.")
    epsilons: NamedNumbers | None = Field(
        default=None,
        description="Epsilon of some parties' budgets: party-1=5,party-2=20; the others have --epsilon.",
    )
    delta: float = Field(default=1e-5, gt=0, lt=1, description="Delta of every party's budget.")
    enforce: ENFORCE = Field(
        default="worst_case",
        description="Costs that budgets enforce: worst_case or data_dependent.",
    )
    bound: Annotated[BOUND, KEY] = Field(
        default="exact", description="Bound of data-dependent costs; default exact."
    )
    consent: NamedNumbers | None = Field(
        default=None, description="Shares of records by consent level: low=0.3,medium=0.5,high=0.2."
    )
    levels: Annotated[NamedNumbers | None, KEY] = Field(
        default=None, description="Epsilon of each level: low=1,...; default parts of --epsilon."
    )
    variant: Literal["none", "upsampling", "vanishing", "weighting"] = Field(
        default="none",
        description="Use of differing budgets: none, upsampling, vanishing or weighting.",
    )
    on_exhaustion: Annotated[Literal["stop", "vanish"], KEY] = Field(
        default="stop",
        description="When a budget is exhausted: stop, or go on without its unit (vanish).",
    )
