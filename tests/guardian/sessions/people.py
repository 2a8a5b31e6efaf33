"""Cohorts, attendances and payers for tests of the parts of a session."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ostraka.common.privacy import Influence
from ostraka.guardian.ledger import Budget, UnitKey
from ostraka.guardian.sessions.cohorts import ONE_VOTE_STEPS, Attendance, Cohort


def cohort(
    site: str, group: str = "g", voters: int = 10, weight: int = ONE_VOTE_STEPS, votes: int = 1
) -> Cohort:
    influence = Influence(votes, weight / ONE_VOTE_STEPS)
    return Cohort(site, ((group, influence),), voters, weight)


def everybody(cohorts: Sequence[Cohort], queries: int) -> Attendance:
    return Attendance(tuple(cohorts), np.ones((len(cohorts), queries), dtype=np.bool_))


def budget(site: str, group: str = "g", adjacency: str = "record", **changes: Any) -> Budget:
    values: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "order": 8.0,
        "enforce": "worst_case",
        "budget": 10**12,
        "spent": 0,
        "reserved": 0,
    }
    return Budget(UnitKey(site, group, adjacency), **values | changes)
