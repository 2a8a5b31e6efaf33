"""The federation's policy, which the guardian holds every session to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from common.config import load_section
from common.mechanism import BOUND
from common.plan import ENFORCE

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, lt=2**32)]


class Policy(BaseModel):
    """Limits on sessions, read from the table `[policy]` of the guardian's site.toml.

    Attributes:
        enforce: which costs stop a session, "worst_case" or "data_dependent".
        bound: how data-dependent costs are computed. Under worst_case enforcement they go into the
            confidential report alone.
        min_quorum: the fewest parties whose ballots may be released together.
        min_sigma: the smallest noise scale a plan may ask for, in votes.
        max_batch: the most queries in a batch.
        max_queries: the most queries in a session.
        delta: the delta of budgets that name none.
        grant_ttl_s: how long a grant is valid, in seconds.
        allowed_skew_s: how far clocks of other sites may be off, in seconds.
        freeze_after_s: how long a batch waits for missing shares, in seconds.
        parties: sites that may answer; empty stands for every certified party.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    enforce: ENFORCE = "worst_case"
    bound: BOUND = "exact"
    min_quorum: Count = 2
    min_sigma: Positive = 1.0
    max_batch: Count = 10_000
    max_queries: Count = 1_000_000
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5
    grant_ttl_s: Positive = 86_400.0
    allowed_skew_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 60.0
    freeze_after_s: Positive = 30.0
    parties: tuple[str, ...] = ()

    def allows(self, site: str) -> bool:
        """Say whether `site` may answer in this federation."""
        return not self.parties or site in self.parties


def load_policy(folder: Path) -> Policy:
    """Read the table `[policy]` of `folder`/site.toml; defaults stand for what it leaves out.

    Raises:
        OstrakaError: `config.invalid` for an unknown key or a value out of range.
    """
    return load_section(folder, "policy", Policy)
