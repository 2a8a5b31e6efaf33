"""Privacy guarantees of an epsilon, in words."""

from collections.abc import Mapping
from typing import Literal

from ostraka.common.errors import ErrorCode, OstrakaError

NOTIONS: Mapping[str, str] = {"record": "DP for records", "label": "label-DP"}
"""By the adjacency that was charged: a whole record may differ, or its label alone."""
PERSONS = "DP for persons"
"""Of records, where every party told them apart by whose they are."""
BOUND = Literal["worst_case", "theorem6", "exact"]
"""How the cost of a release is computed (docs/accounting.md)."""
DELTA = 1e-5
"""That of Papernot et al. 2018 for some 10^4 records (MNIST, Adult): less than one in their number."""
NO_GUARANTEE = "no formal guarantee"
"""In place of either, where teachers learned together by ttac: an epsilon then counts labels and protects
nobody."""


def notion(adjacency: str) -> str:
    """Return what epsilons of an adjacency promise; raise `message.invalid` for one that there is not."""
    if adjacency not in NOTIONS:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Budgets and charges are of adjacency {' or '.join(NOTIONS)}, not '{adjacency}': use the same"
            " version everywhere.",
        )
    return NOTIONS[adjacency]


def plan_notion(adjacency: str, *, whole_persons: bool) -> str:
    """Return what epsilons of a plan promise, to persons where all parties told them apart."""
    return PERSONS if adjacency == "record" and whole_persons else notion(adjacency)
