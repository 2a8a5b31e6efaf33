"""Accounting of releases: Renyi divergences from votes. Pure NumPy; see docs/accounting.md."""

from ostraka.common.privacy import Influence, InputError, epsilon
from ostraka.guardian.accounting.bounds.confident_rdp import confident_rdp, threshold_rdp
from ostraka.guardian.accounting.bounds.gnmax_rdp import gnmax_rdp
from ostraka.guardian.accounting.bounds.interactive_rdp import interactive_rdp
from ostraka.guardian.accounting.bounds.lnmax_rdp import lnmax_rdp
from ostraka.guardian.accounting.bounds.multilabel_rdp import (
    binary_and_check_rdp,
    binary_rdp,
    multilabel_check_rdp,
)
from ostraka.guardian.accounting.bounds.noise_cluster_rdp import noise_cluster_rdp
from ostraka.guardian.accounting.bounds.powerset_rdp import powerset_and_check_rdp, powerset_rdp
from ostraka.guardian.accounting.bounds.smooth_sensitivity import publication_rdp, smooth_sensitivity
from ostraka.guardian.accounting.tally import Tally

__all__ = [
    "Influence",
    "InputError",
    "Tally",
    "binary_and_check_rdp",
    "binary_rdp",
    "confident_rdp",
    "epsilon",
    "gnmax_rdp",
    "interactive_rdp",
    "lnmax_rdp",
    "multilabel_check_rdp",
    "noise_cluster_rdp",
    "powerset_and_check_rdp",
    "powerset_rdp",
    "publication_rdp",
    "smooth_sensitivity",
    "threshold_rdp",
]
