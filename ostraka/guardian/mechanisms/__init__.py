"""Mechanisms: from a ring sum of ballots, or of updates, to answers and charges. Pure functions of arrays."""

from ostraka.common.mechanism import (
    L1,
    Binary,
    Confident,
    DpTtac,
    GnMax,
    Interactive,
    LnMax,
    NoiseCluster,
    Powerset,
    RandRes,
    RandResLabels,
    Tau,
    Ttac,
)
from ostraka.guardian.mechanisms.binary import PerLabelRule
from ostraka.guardian.mechanisms.charge import charge, charges, largest_charge, largest_charges
from ostraka.guardian.mechanisms.confident import ConfidentRule
from ostraka.guardian.mechanisms.gnmax import GnMaxRule
from ostraka.guardian.mechanisms.interactive import InteractiveRule
from ostraka.guardian.mechanisms.lnmax import LnMaxRule
from ostraka.guardian.mechanisms.noise_cluster import NoiseClusterRule
from ostraka.guardian.mechanisms.powerset import PowersetRule
from ostraka.guardian.mechanisms.rand_res import RandResRule
from ostraka.guardian.mechanisms.rand_res_labels import RandResLabelsRule
from ostraka.guardian.mechanisms.rule import (
    REFUSED,
    RULES,
    Answers,
    ChargeTerms,
    DataDependentRule,
    Rule,
    Sums,
    register,
    release,
    rule_of,
)
from ostraka.guardian.mechanisms.updates import UpdatesRule, released_updates

__all__ = [
    "REFUSED",
    "RULES",
    "Answers",
    "ChargeTerms",
    "DataDependentRule",
    "Rule",
    "Sums",
    "charge",
    "charges",
    "largest_charge",
    "largest_charges",
    "register",
    "release",
    "released_updates",
    "rule_of",
]

register(GnMax, GnMaxRule())
register(Confident, ConfidentRule())
register(Interactive, InteractiveRule())
register(LnMax, LnMaxRule())
register(Binary, PerLabelRule())
register(Tau, PerLabelRule())
register(L1, PerLabelRule())
register(Powerset, PowersetRule())
register(NoiseCluster, NoiseClusterRule())
register(RandRes, RandResRule())
register(RandResLabels, RandResLabelsRule())
register(Ttac, UpdatesRule())
register(DpTtac, UpdatesRule())
