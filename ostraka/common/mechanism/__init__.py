"""Mechanisms: how a histogram becomes an answer, with parameters in votes and bounds on its cost.

Two mechanisms instead release what the teachers of all parties learned together, with parameters in radii.
Five release sums over the records of all parties. Each mechanism has a file here, and one in
`ostraka.guardian.mechanisms` for its release and charges.
"""

from ostraka.common.mechanism.binary import Binary, PerLabel
from ostraka.common.mechanism.bins import Bins
from ostraka.common.mechanism.boost import Boost
from ostraka.common.mechanism.confident import CheckedArgmax, Confident
from ostraka.common.mechanism.distributed_gnmax import DistributedGnMax, distribute
from ostraka.common.mechanism.dp_ttac import DpTtac
from ostraka.common.mechanism.gnmax import GnMax
from ostraka.common.mechanism.gradients import Gradients
from ostraka.common.mechanism.interactive import Interactive
from ostraka.common.mechanism.joint_training import JointTraining, Recipe
from ostraka.common.mechanism.l1 import L1
from ostraka.common.mechanism.lnmax import LnMax
from ostraka.common.mechanism.mechanism import (
    MECHANISMS,
    Check,
    Draw,
    Mechanism,
    PerVote,
    Positive,
    Value,
    Votes,
    invalid_plan,
    known_mechanism,
    labelling,
    mechanism_names,
    register,
)
from ostraka.common.mechanism.moments import Moments
from ostraka.common.mechanism.noise_cluster import NoiseCluster
from ostraka.common.mechanism.powerset import Powerset
from ostraka.common.mechanism.rand_res import RandRes
from ostraka.common.mechanism.rand_res_labels import RandResLabels
from ostraka.common.mechanism.record_sums import RecordSums
from ostraka.common.mechanism.statistics import Statistics
from ostraka.common.mechanism.tau import Tau
from ostraka.common.mechanism.threshold import Threshold
from ostraka.common.mechanism.ttac import Ttac
from ostraka.common.privacy.guarantees import BOUND

__all__ = [
    "BOUND",
    "L1",
    "MECHANISMS",
    "Binary",
    "Bins",
    "Boost",
    "Check",
    "CheckedArgmax",
    "Confident",
    "DistributedGnMax",
    "DpTtac",
    "Draw",
    "GnMax",
    "Gradients",
    "Interactive",
    "JointTraining",
    "LnMax",
    "Mechanism",
    "Moments",
    "NoiseCluster",
    "PerLabel",
    "PerVote",
    "Positive",
    "Powerset",
    "RandRes",
    "RandResLabels",
    "Recipe",
    "RecordSums",
    "Statistics",
    "Tau",
    "Threshold",
    "Ttac",
    "Value",
    "Votes",
    "distribute",
    "invalid_plan",
    "known_mechanism",
    "labelling",
    "mechanism_names",
    "register",
]

register(
    *(GnMax, Confident, Interactive, LnMax, Threshold, DistributedGnMax),
    *(Binary, Tau, L1, Powerset),
    *(NoiseCluster, RandRes, RandResLabels),
    *(Ttac, DpTtac),
    *(Moments, Bins, Boost, Gradients, Statistics),
)
