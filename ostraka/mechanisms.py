"""Mechanisms: how votes become an answer. Ostraka's own, and what it takes to write another.

A mechanism of another package has two classes. A `Mechanism` says everything public about it (ballots, noise,
worst case), and is registered among the entry points `ostraka.mechanisms` under its `kind`; a `Rule` releases
it at the guardian, and is registered under the same name among `ostraka.rules`.
"""

from ostraka.common.mechanism import (
    L1,
    Binary,
    Bins,
    Boost,
    Check,
    Confident,
    DistributedGnMax,
    DpTtac,
    Draw,
    GnMax,
    Gradients,
    Interactive,
    LnMax,
    Mechanism,
    Moments,
    NoiseCluster,
    PerVote,
    Positive,
    Powerset,
    RandRes,
    RandResLabels,
    Statistics,
    Tau,
    Threshold,
    Ttac,
    Votes,
    known_mechanism,
)
from ostraka.common.privacy import WorstCase, pure_rdp
from ostraka.common.sharing.ballots import BallotFormat, ClassCounts, LabelCounts, LabelSetCounts
from ostraka.guardian.mechanisms import Answers, ChargeTerms, DataDependentRule, Rule, Sums, register
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.votes import release_votes
from ostraka.guardian.noise import LATTICE, ExactNoise, NoiseSource

__all__ = [
    "L1",
    "LATTICE",
    "Answers",
    "BallotFormat",
    "Binary",
    "Bins",
    "Boost",
    "ChargeTerms",
    "Check",
    "ClassCounts",
    "Confident",
    "DataDependentRule",
    "DistributedGnMax",
    "DpTtac",
    "Draw",
    "ExactNoise",
    "GnMax",
    "Gradients",
    "Interactive",
    "LabelCounts",
    "LabelSetCounts",
    "LnMax",
    "Mechanism",
    "Moments",
    "NoiseCluster",
    "NoiseSource",
    "PerVote",
    "Positive",
    "Powerset",
    "RandRes",
    "RandResLabels",
    "Rule",
    "Statistics",
    "Sums",
    "Tau",
    "Threshold",
    "Ttac",
    "Votes",
    "WorstCase",
    "known_mechanism",
    "noisy_argmax",
    "pure_rdp",
    "register",
    "release_votes",
]
