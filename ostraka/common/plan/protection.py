"""Protection level of teachers against a plan: whole records, or labels alone."""

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan


def check_protected(plan: Plan, site: str, *, shared_features: bool) -> None:
    """Raise `plan.invalid` where the teachers of `site` do not go with the adjacency of `plan`.

    Teachers that learned from features of records that all sites know move one vote by a label, and all votes
    by a record: they vote where labels are charged, and there nobody else does. Records that vote themselves
    need no teachers.
    """
    if plan.mechanism.by_record or shared_features == (plan.adjacency == "label"):
        return
    learned, other = (
        ("from features of records that all sites know", "label")
        if shared_features
        else ("from its own records alone", "record")
    )
    raise OstrakaError(
        ErrorCode.PLAN_INVALID,
        f"Teachers of party {site} learned {learned} and the plan's adjacency is {plan.adjacency}: set it to "
        f"{other}, or leave the party out of the plan.",
    )
