"""The integer amounts of the ledger."""

import math
from fractions import Fraction

from ostraka.common.privacy.inputs import InputError

AMOUNT_UNIT = 1e-12
"""The rdp that one unit of the ledger's integer amounts stands for."""

_UNITS_PER_RDP = 10**12
"""1 / AMOUNT_UNIT as an integer, because no float is 1e-12 exactly."""


def amount(rdp: float) -> int:
    """Return a cost as an integer amount of AMOUNT_UNIT, rounded up so that no cost is lost."""
    return math.ceil(_exact(rdp) * _UNITS_PER_RDP)


def budget_amount(rdp: float) -> int:
    """Return a budget as an integer amount of AMOUNT_UNIT, rounded down so that none is gained."""
    return math.floor(_exact(rdp) * _UNITS_PER_RDP)


def _exact(rdp: float) -> Fraction:
    if not 0 <= rdp < math.inf:
        raise InputError("rdp", f"must be a finite number, 0 or more, is {rdp}")
    return Fraction(rdp)
