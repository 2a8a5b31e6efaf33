"""NoiseCluster: labels of clusters of records (Tang et al. 2022, section 4.1)."""

import math
from typing import ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.mechanism import Draw, Mechanism, Positive
from ostraka.common.privacy.argmax import argmax_rdp, argmax_reach
from ostraka.common.privacy.worst_case import WorstCase, check_rdp, gaussian_rdp
from ostraka.common.sharing.ballots import RecordCounts


class NoiseCluster(Mechanism):
    """Release each cluster's most frequent label after noise of `sigma` records.

    A query is a cluster, and parties count their labelled records in it by class. A cluster is given either
    by its centre, and then contains the records nearest to it, or by its members, whose features all sites
    know.
    """

    by_record: ClassVar[bool] = True
    party_setting = "label_counts"
    charged_as: ClassVar[str] = "one argmax, or the checks of two, for all clusters together"
    gaussian: ClassVar[bool] = True

    kind: Literal["noise_cluster"] = "noise_cluster"
    sigma: Positive = Field(description="Noise of every count, in records.")

    @property
    def ballot(self) -> RecordCounts:
        """Counts of labelled records of each class."""
        return RecordCounts()

    @property
    def reach(self) -> float:
        """The reach that the worst case of the argmax needs."""
        return argmax_reach(self.sigma)

    def draws(self, rows: int, classes: int) -> list[Draw]:
        """Return the noise of every count."""
        return [Draw.gaussian(self.sigma, rows, classes)]

    def cost(self, order: float, sensitivity: float, classes: int) -> WorstCase:
        """Return the cost of one argmax, or of the two that change if a record moves to another cluster.

        Proved for one record; several records are charged as if the counts were released
        (docs/accounting-argmax.md).
        """
        if sensitivity > 1:
            return WorstCase(batch=gaussian_rdp(order, math.sqrt(2) * sensitivity, self.sigma))
        relabelled = argmax_rdp(order, sensitivity, self.sigma, 2 * classes)
        return WorstCase(batch=max(relabelled, 2 * check_rdp(order, sensitivity, self.sigma)))
