"""What a release cost: Renyi divergences from votes. Pure NumPy; see docs/accounting.md."""

from common.privacy import Influence, InputError, epsilon
from guardian.accounting.binary import binary_rdp, checked_binary_rdp
from guardian.accounting.charge import charge, charges, largest_charge, largest_charges
from guardian.accounting.confident import confident_rdp, threshold_rdp
from guardian.accounting.gnmax import gnmax_rdp
from guardian.accounting.interactive import interactive_rdp
from guardian.accounting.lnmax import lnmax_rdp
from guardian.accounting.multilabel_check import multilabel_check_rdp
from guardian.accounting.noise_cluster import noise_cluster_rdp
from guardian.accounting.powerset import checked_powerset_rdp, powerset_rdp
from guardian.accounting.smooth_sensitivity import sanitized, sanitized_rdp, smooth_sensitivity
from guardian.accounting.tally import Tally

__all__ = [
    "Influence",
    "InputError",
    "Tally",
    "binary_rdp",
    "charge",
    "charges",
    "checked_binary_rdp",
    "checked_powerset_rdp",
    "confident_rdp",
    "epsilon",
    "gnmax_rdp",
    "interactive_rdp",
    "largest_charge",
    "largest_charges",
    "lnmax_rdp",
    "multilabel_check_rdp",
    "noise_cluster_rdp",
    "powerset_rdp",
    "sanitized",
    "sanitized_rdp",
    "smooth_sensitivity",
    "threshold_rdp",
]
