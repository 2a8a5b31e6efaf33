"""Guarantees behind every epsilon of a report, in words."""

from typing import Literal, TypeAlias

from ostraka.client.run.options import Adjacency
from ostraka.common.mechanism import BOUND, Mechanism
from ostraka.common.privacy.guarantees import NO_GUARANTEE, NOTIONS
from ostraka.common.sharing.ballots import BallotFormat, RandomizedLabels, RandomizedLabelSets

Guarantee: TypeAlias = Adjacency | Literal["none"]
"""What an epsilon protects: a record, its label alone, or nothing where teachers learned by ttac."""
WORST_CASE = "worst-case (holds whatever the votes were)"
DATA_DEPENDENT: dict[BOUND, str] = {
    "worst_case": WORST_CASE,
    "theorem6": "data-dependent (theorem6, one direction: it bounds D(M(D)||M(D')) for the votes that were "
    "cast, not D(M(D')||M(D)), and is itself private)",
    "exact": "data-dependent (exact, both directions: the largest divergence between the votes that were "
    "cast and any neighbour of them, and is itself private)",
}


def notions(
    bound: BOUND, guarantee: Guarantee
) -> dict[Literal["epsilon_worst_case", "epsilon_data_dependent"], str]:
    """Return what each epsilon of the report means, in words."""
    promise = promise_words(guarantee)
    if guarantee == "none":
        promise = f"if one record changed one vote: {promise}"
    return {
        "epsilon_worst_case": f"{WORST_CASE}, {promise}",
        "epsilon_data_dependent": f"{DATA_DEPENDENT[bound]}, {promise}",
    }


def promise_words(guarantee: Guarantee) -> str:
    """Return what stands next to every epsilon."""
    return NO_GUARANTEE if guarantee == "none" else NOTIONS[guarantee]


def notion(bound: BOUND) -> str:
    """Return the name of epsilons by a bound; by worst_case they equal what every page calls worst-case."""
    return "charged" if bound == "worst_case" else "data-dependent"


def bound_words(bound: BOUND) -> str:
    """Return a bound's name with the directions that it covers."""
    directions = {"exact": "both directions", "theorem6": "one direction", "worst_case": "any votes"}
    return f"{bound}, {directions[bound]}"


def guarantee_words(guarantee: Guarantee, mechanism: Mechanism) -> str:
    """Return what the guarantee covers and what it does not, in sentences."""
    if guarantee == "none":
        return "No epsilon here protects a record: one can change every vote, and an epsilon counts one."
    if guarantee == "label":
        return (
            "Every epsilon is of label-DP: it protects the labels of records alone, and their features count "
            f"as known to all sites. It is no guarantee of DP for records.{_pure(mechanism.ballot)}"
        )
    return "Every epsilon is of DP for records: it protects a record's features and labels together."


def _pure(ballot: BallotFormat) -> str:
    """Return what a record's randomised answer promises by itself; nothing for other ballots."""
    match ballot:
        case RandomizedLabels(epsilon=epsilon):
            return f" A randomised label is by itself label-DP of epsilon {epsilon:g} with delta 0."
        case RandomizedLabelSets(epsilon=epsilon):
            return (
                f" All randomised labels of a record together are label-DP of epsilon {epsilon:g}, delta 0."
            )
    return ""
