"""A mechanism for some of the labels that it was chosen for."""

import math

from ostraka.common.mechanism import L1, AnyMechanism, Powerset, Tau


def narrowed(mechanism: AnyMechanism, labels: int) -> AnyMechanism:
    """Fit the mechanism to this many labels: lower a radius, or a number of positives, that clips nothing.

    Ballots of `labels` labels are counted alike by both: their norm is never above the lower radius.
    """
    match mechanism:
        case Tau(tau=tau):
            return mechanism.model_copy(update={"tau": min(tau, math.sqrt(labels))})
        case L1(tau1=tau1):
            return mechanism.model_copy(update={"tau1": min(tau1, float(labels))})
        case Powerset(max_positives=int(most)):
            return mechanism.model_copy(update={"max_positives": min(most, labels)})
    return mechanism
