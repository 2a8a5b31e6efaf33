"""The number of a party's voters on a query."""

from collections.abc import Iterable

from ostraka.common.plan.plan import Plan
from ostraka.protos.ostraka.v1 import common_pb2


def count_voters(plan: Plan, cohorts: Iterable[common_pb2.Cohort]) -> int:
    """Return the number of voters in some cohorts: teachers, or records if records vote."""
    if plan.mechanism.by_record:
        return sum(sum(cohort.records) for cohort in cohorts)
    return sum(cohort.teachers for cohort in cohorts)
