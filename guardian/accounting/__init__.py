"""What a release cost: Renyi divergences from votes. Pure NumPy; see docs/accounting.md."""

from common.privacy import epsilon
from guardian.accounting.charge import charge
from guardian.accounting.checks import InputError
from guardian.accounting.confident import confident_rdp, threshold_rdp
from guardian.accounting.gnmax import gnmax_rdp

__all__ = ["InputError", "charge", "confident_rdp", "epsilon", "gnmax_rdp", "threshold_rdp"]
