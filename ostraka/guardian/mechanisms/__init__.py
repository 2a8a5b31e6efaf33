"""Mechanisms: from a ring sum, of ballots or other values, to answers and charges. Pure functions."""

from ostraka.common.mechanism import (
    L1,
    Binary,
    Bins,
    Boost,
    Confident,
    DistributedGnMax,
    DpTtac,
    GnMax,
    Gradients,
    Interactive,
    LnMax,
    Moments,
    NoiseCluster,
    Powerset,
    RandRes,
    RandResLabels,
    Statistics,
    Tau,
    Threshold,
    Ttac,
)
from ostraka.guardian.mechanisms.binary import PerLabelRule
from ostraka.guardian.mechanisms.charge import charge, charges, largest_charge, largest_charges
from ostraka.guardian.mechanisms.confident import ConfidentRule
from ostraka.guardian.mechanisms.distributed_gnmax import DistributedGnMaxRule
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
from ostraka.guardian.mechanisms.sums import SumsRule, release_sums
from ostraka.guardian.mechanisms.threshold import ThresholdRule

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
    "release_sums",
    "rule_of",
]

register(GnMax, GnMaxRule())
register(Confident, ConfidentRule())
register(Interactive, InteractiveRule())
register(LnMax, LnMaxRule())
register(Threshold, ThresholdRule())
register(DistributedGnMax, DistributedGnMaxRule())
register(Binary, PerLabelRule())
register(Tau, PerLabelRule())
register(L1, PerLabelRule())
register(Powerset, PowersetRule())
register(NoiseCluster, NoiseClusterRule())
register(RandRes, RandResRule())
register(RandResLabels, RandResLabelsRule())
register(Ttac, SumsRule())
register(DpTtac, SumsRule())
register(Moments, SumsRule())
register(Bins, SumsRule())
register(Boost, SumsRule())
register(Gradients, SumsRule())
register(Statistics, SumsRule())
