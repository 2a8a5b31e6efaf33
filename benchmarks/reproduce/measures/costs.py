"""Costs as epsilons, by the papers' conversion and by Ostraka's."""

import math

from ostraka.common.privacy import epsilon
from ostraka.guardian.accounting.numerics.arguments import Floats


def classic(rdp: Floats, orders: Floats, delta: float) -> float:
    """Return the least rdp + log(1/delta)/(order - 1) of an rdp (R,): Mironov 2017, Proposition 3."""
    return float((rdp + math.log(1 / delta) / (orders - 1)).min())


def tight(rdp: Floats, orders: Floats, delta: float) -> float:
    """Return the least epsilon of an rdp (R,), as the ledger converts it."""
    return epsilon(rdp.tolist(), orders.tolist(), delta)
