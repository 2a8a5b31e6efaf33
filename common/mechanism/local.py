"""Mechanisms whose noise is drawn where the label is."""

import math
from typing import Literal

from common.mechanism.value import Parameters, Positive


class RandRes(Parameters):
    """Release labels that their parties randomised, each `epsilon`-label-DP (001, section 4.2.1).

    A query is a record that all sites know the features of. Whoever holds its label answers with one that
    was drawn anew: the true one with probability `truth`, else any other.
    """

    kind: Literal["rand_res"] = "rand_res"
    epsilon: Positive

    @property
    def sigmas(self) -> tuple[float, ...]:
        """None: the guardian draws nothing."""
        return ()

    def truth(self, classes: int) -> float:
        """Probability of the true label, e^epsilon / (e^epsilon + classes - 1) (001, Equation 6)."""
        return 1 / (1 + (classes - 1) * math.exp(-self.epsilon))
