"""Privacy guarantees of an epsilon, in words."""

from collections.abc import Mapping
from typing import Literal

from ostraka.common.errors import ErrorCode, OstrakaError

NOTIONS: Mapping[str, str] = {"record": "DP for records", "label": "label-DP"}
"""Guarantee by adjacency: neighbours differ in a whole record, or only in its label."""
PERSONS = "DP for persons"
"""Guarantee for records if every party distinguished them by person."""
BOUND = Literal["worst_case", "theorem6", "exact"]
"""How the cost of a release is computed (docs/accounting.md)."""
DELTA = 1e-5
"""The delta of Papernot et al. 2018 for about 10^4 records (MNIST, Adult): below one over their number."""
NO_GUARANTEE = "no formal guarantee"
"""Said instead of a guarantee if teachers learned together by ttac.

An epsilon then counts labels and protects nobody.
"""


def notion(adjacency: str) -> str:
    """Return the guarantee of epsilons with this adjacency; raise `message.invalid` for an unknown one."""
    if adjacency not in NOTIONS:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Budgets and charges are of adjacency {' or '.join(NOTIONS)}, not '{adjacency}': use the same"
            " version everywhere.",
        )
    return NOTIONS[adjacency]


def plan_notion(adjacency: str, *, whole_persons: bool) -> str:
    """Return the guarantee of a plan's epsilons: for persons if all parties distinguished them."""
    return PERSONS if adjacency == "record" and whole_persons else notion(adjacency)
