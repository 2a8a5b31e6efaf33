"""Mechanisms that answer for clusters of records."""

from typing import ClassVar, Literal

from ostraka.common.mechanism.value import Parameters, Positive


class NoiseCluster(Parameters):
    """Release each cluster's most frequent label after noise of `sigma` records (001, section 4.1).

    A query is a cluster: parties count their labelled records in it by class. Either it is told by its centre
    and has the records that are nearest to it, or by its members, whose features all sites know.
    """

    by_record: ClassVar[bool] = True

    kind: Literal["noise_cluster"] = "noise_cluster"
    sigma: Positive

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviations of all noise, in records."""
        return (self.sigma,)
