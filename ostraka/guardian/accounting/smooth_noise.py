"""Publishing a total with noise as wide as its smooth sensitivity asks, in the ledger's whole amounts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from ostraka.common.privacy import amount
from ostraka.guardian.accounting.bounds.smooth_sensitivity import discounted, sanitized_rdp
from ostraka.guardian.accounting.numerics.arguments import check_scalar

LEAST_SCALE = 2**20
"""Noise is at least so wide, in amounts: a discrete Gaussian then has the divergences of a continuous one to
far below a float's precision (docs/accounting-smooth.md)."""
_SLACK = 1e-9
"""By how much beta is charged wider, relative, and by a thousandth of it besides, for the rounding of the
noise's scale to doubles."""


@dataclass(frozen=True)
class SmoothNoise:
    """The two public parameters of a publication.

    Attributes:
        beta: the smooth sensitivity changes by a factor of at most exp(beta) from neighbour to neighbour.
        sigma: standard deviation of the noise, in smooth sensitivities.
    """

    beta: float
    sigma: float

    @classmethod
    def chosen(cls, order: float) -> Self:
        """Return the default where `order` is the largest of the units that pay.

        beta leaves the divergence half of what it is infinite beyond; sigma makes it about a quarter.
        Nothing but the order decides: parameters fitted to the votes would tell them.
        """
        return cls(math.log1p(1 / (2 * (order - 1))) / 2, 2 * math.sqrt(order))

    def cost(self, order: float) -> int:
        """Return what a unit pays whose budget has this order, in amounts.

        Raises:
            InputError: where beta or sigma is no finite number above 0, or beta is too large for the order.
        """
        wider = check_scalar("beta", self.beta) * (1 + _SLACK) + _SLACK / 1000
        rdp = float(sanitized_rdp(wider, self.sigma, [order])[0])
        return amount(check_scalar("beta", rdp))

    def publish(self, total: int, changes: Sequence[int], gaussian: Callable[[float], int]) -> int:
        """Return `total` with noise, in amounts; it may lie below 0.

        Args:
            total: what is to be published.
            changes: of it, by distance, as `VoteTotal.changes` of all batches added up.
            gaussian: draws a discrete Gaussian of a scale, in whole amounts.
        """
        return total + gaussian(max(self.sigma * discounted(changes, self.beta), float(LEAST_SCALE)))
