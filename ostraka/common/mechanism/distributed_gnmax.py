"""GNMax with noise that each party draws, so that no site sees counts without noise."""

import math
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism.gnmax import GnMax
from ostraka.common.mechanism.mechanism import Draw, Mechanism, Votes, invalid_plan
from ostraka.common.privacy.summed_noise import is_close, rdp_of_sum, share_sigma
from ostraka.common.privacy.worst_case import WorstCase
from ostraka.common.sharing.ballots import ClassCounts

MAX_HONEST = 10_000
"""Maximum number of parties that a plan names."""


class DistributedGnMax(Mechanism):
    """Release the class with the most votes after noise of all parties, `sigma` votes by `honest` of them."""

    blind: ClassVar[bool] = True
    charged_as: ClassVar[str] = "all noisy counts of every query, which the guardian sees"
    gaussian: ClassVar[bool] = True

    kind: Literal["distributed_gnmax"] = "distributed_gnmax"
    sigma: Votes = Field(description="Noise of every count by the honest parties together, in votes.")
    honest: Annotated[int, Field(ge=1, le=MAX_HONEST)] = Field(
        description="Parties whose noise counts: the quorum, minus the colluding parties and one."
    )

    @model_validator(mode="after")
    def _require_proof(self) -> Self:
        if not is_close(self.sigma, self.honest):
            raise invalid_plan(
                f"noise of sigma {self.sigma:g} by {self.honest} parties is less than a few steps of ballots"
                " each; ask for more noise"
            )
        return self

    @property
    def ballot(self) -> ClassCounts:
        """Votes for each class."""
        return ClassCounts()

    @property
    def sigmas(self) -> tuple[float, ...]:
        """The noise that the proof relies on; the guardian draws none."""
        return (self.sigma,)

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return no draws: the noise is already in the ballots."""
        return []

    @property
    def relied_on(self) -> int:
        """Number of parties whose noise makes up `sigma`."""
        return self.honest

    def party_draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of every count of one party's ballots."""
        return [Draw.gaussian(share_sigma(self.sigma, self.honest), rows, classes)]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of all noisy counts of every query: the adding sites see more than the argmax."""
        return WorstCase(answer=rdp_of_sum(order, math.sqrt(2) * sensitivity, self.sigma, self.honest))


def distribute(mechanism: Mechanism, quorum: int, colluders: int) -> DistributedGnMax:
    """Return the mechanism with noise from the parties instead of the guardian.

    Raises:
        OstrakaError: `quorum.too_small` if the quorum leaves no party whose noise can be relied on;
            `plan.invalid` as in `require_distributable`, or for a negative number of colluders.
    """
    if isinstance(mechanism, DistributedGnMax) and mechanism.honest == quorum - colluders - 1:
        return mechanism
    made = require_distributable(mechanism)
    if colluders < 0:
        raise invalid_plan(f"{colluders} parties cannot collude; let colluders be 0 or more")
    if quorum < colluders + 2:
        raise OstrakaError(
            ErrorCode.QUORUM_TOO_SMALL,
            f"A quorum of {quorum} leaves no party whose noise is relied on where {colluders} may collude and"
            " one may be the querying party's own: ask for a quorum of at least"
            f" {colluders + 2}, or for the guardian's noise.",
        )
    return DistributedGnMax(sigma=made.sigma, honest=quorum - colluders - 1)


def require_distributable(mechanism: Mechanism) -> GnMax:
    """Return a mechanism whose noise parties can draw; raise `plan.invalid`, naming it, for any other."""
    if isinstance(mechanism, DistributedGnMax):
        raise invalid_plan("its noise is that of other parties already; leave out noise, or name gnmax")
    # A subclass may release something else.
    if type(mechanism) is not GnMax:
        raise invalid_plan(
            f"parties draw noise for mechanism gnmax alone, and {mechanism.kind} needs another draw than one"
            " for every count; choose gnmax, or noise guardian"
        )
    return mechanism
