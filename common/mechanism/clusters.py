"""Mechanisms that answer for clusters of records."""

from typing import Literal

from common.mechanism.value import Parameters, Positive


class NoiseCluster(Parameters):
    """Release each cluster's most frequent label after noise of `sigma` records (001, section 4.1).

    A query is a cluster's centre; parties count their labelled records by nearest centre and class.
    """

    kind: Literal["noise_cluster"] = "noise_cluster"
    sigma: Positive

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviations of all noise, in records."""
        return (self.sigma,)
